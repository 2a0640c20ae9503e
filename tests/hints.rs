//! Commands and options that notes and errors give to paste: each is run as it is printed, and must do what it promises. A
//! hint in the sources without a line here fails the test.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Output, Place, command, output, root};

/// The way in which a hint is tested.
enum Hint {
    /// It appears after these steps and is pasted. Then `after` is asked, which must succeed and not print `gone`.
    Pasted(Pasted),
    /// It names a command or an option without what is needed to run it, or a test elsewhere pastes it.
    Named(&'static str),
}

struct Pasted {
    /// Commands that must succeed, and changes of files: `write FILE TEXT`, `cut FILE BYTES`, `remove PATH`.
    steps: &'static [&'static str],
    /// The command that prints the hint.
    asked: &'static str,
    /// The words before what is pasted, up to its end.
    between: [&'static str; 2],
    /// The command without the option that the hint gives, or nothing if it is a whole command.
    with: &'static str,
    after: &'static str,
    gone: &'static str,
}

/// The start of each hint: a run in a folder whose name has a space.
const RUN: &str = "simulate --rate 20kHz --duration 50ms --delay 2=5ns 'a b/1.tags.zst'";

const fn pasted(
    steps: &'static [&'static str],
    asked: &'static str,
    after: &'static str,
    gone: &'static str,
) -> Hint {
    Hint::Pasted(Pasted { steps, asked, between: ["`", "`"], with: "", after, gone })
}

const fn option(
    steps: &'static [&'static str],
    asked: &'static str,
    between: [&'static str; 2],
    gone: &'static str,
) -> Hint {
    Hint::Pasted(Pasted { steps, asked, between, with: asked, after: "", gone })
}

/// Each hint as the sources write it.
const HINTS: &[(&str, Hint)] = &[
    ("tagq info {}", pasted(&[RUN], "runs 'a b/1.tags.zst'", "", "")),
    (
        "tagq rates {}",
        Hint::Pasted(Pasted {
            steps: &[RUN],
            asked: "image 'a b'",
            between: ["not scanned; `", "`"],
            with: "",
            after: "",
            gone: "",
        }),
    ),
    ("tagq micro {}", Hint::Named("a point with micro times; tests/image.rs")),
    (
        "tagq ingest {run}",
        pasted(&[RUN], "rates --no-ingest 'a b'", "rates --no-ingest 'a b'", "nothing"),
    ),
    (
        "tagq set {run} --times on",
        pasted(&[RUN, "ingest 'a b'"], "set --gaps off 'a b'", "set --gaps off 'a b'", "error"),
    ),
    (
        "tagq set {run} --tick {paste}",
        pasted(
            &[RUN, "ingest --tick 1/3ps 'a b'"],
            "ingest --tick 9696969697/100as 'a b'",
            "ingest --tick 9696969697/100as 'a b'",
            "error",
        ),
    ),
    (
        "tagq set --tick {paste} {path}",
        pasted(
            &[
                RUN,
                "write 'a b/tagq.toml' 'tick = \"156.25ps\" # as the recorder says'",
                "ingest 'a b'",
            ],
            "rates --tick 9696969697/100as 'a b'",
            "rates --tick 9696969697/100as 'a b'",
            "in place of",
        ),
    ),
    (
        "tagq ingest --rebuild {run}",
        pasted(
            &[
                RUN,
                "ingest 'a b'",
                "remove 'a b/1.tags.zst'",
                "simulate --duration 20ms 'a b/1.tags.zst'",
            ],
            "rates 'a b'",
            "rates 'a b'",
            "changed",
        ),
    ),
    (
        "tagq ingest --rebuild --columns {given} {run}",
        pasted(
            &["write 'a b/t.csv' '1,10\n2,20'", "ingest --tick 1ps 'a b/t.csv'"],
            "rates --columns time,channel 'a b/t.csv'",
            "rates --columns time,channel 'a b/t.csv'",
            "was taken",
        ),
    ),
    (
        "tagq ingest --rebuild --tick {} {run}",
        pasted(
            &["write 'a b/t.csv' 'time [ps],channel\n10,1\n20,2'", "ingest --tick 1ps 'a b/t.csv'"],
            "set --tick 2ps 'a b/t.csv'",
            "rates --tick 2ps 'a b/t.csv'",
            "converted",
        ),
    ),
    (
        "tagq ingest --rebuild --tick {finer} RUN",
        pasted(
            &["write 'a b/t.csv' 'time [ps],channel\n1.5,1\n2.25,2'"],
            "ingest --tick 1ps 'a b/t.csv'",
            "rates 'a b/t.csv'",
            "rounded",
        ),
    ),
    (
        "tagq {name}",
        Hint::Pasted(Pasted {
            steps: &[RUN, "simulate --seed 2 --duration 50ms 'a b/2.tags.zst'"],
            asked: "rates 'a b'",
            between: ["a counter began again, `", "`"],
            with: "",
            after: "rates 'a b'",
            gone: "begins at",
        }),
    ),
    (
        "tagq ingest --salvage RUN",
        pasted(
            &["simulate --duration 1s --frames 2 'a b/1.tags.zst'", "cut 'a b/1.tags.zst' 100"],
            "rates 'a b'",
            "rates 'a b'",
            "salvage",
        ),
    ),
    (
        "tagq ingest --rebuild {}",
        pasted(
            &[
                "write 'a b/t.tsv' '1\t10\n2\t20\n1\t30\n'",
                "ingest --tick 1ps 'a b'",
                "write 'a b/t.tsv' '1\t10\n2\t20\n1\t30\n1\t15\n'",
            ],
            "rates 'a b'",
            "rates 'a b'",
            "ingests it again",
        ),
    ),
    (
        "tagq reproduce {} {runs}",
        pasted(
            &[RUN, "rates 'a b' -o 'a b/answer.json'", "remove 'a b/.tagq'"],
            "reproduce 'a b/answer.json'",
            "reproduce 'a b/answer.json'",
            "error",
        ),
    ),
    (
        "tagq derive RUN -o NEW.tagq",
        pasted(
            &[RUN, "write 'a b/tagq.toml' '[derived]\nP = \"1 & 2 within 10ns\"'", "ingest 'a b'"],
            "delays P,1 'a b'",
            "delays P,1 NEW.tagq",
            "derived channel of the setup",
        ),
    ),
    ("tagq help derive", Hint::Named("is whole, and tested with all topics in tests/help.rs")),
    (
        "`errors` blocks",
        option(
            &[RUN],
            "rates --derive 'P = 1 & 2 within 10ns' 'a b'",
            ["with --", " they come"],
            "do not scatter",
        ),
    ),
    ("`window` {}", option(&[RUN], "coincidences 1,2 'a b'", ["try --", ";"], "error")),
    ("tagq ingest - --store DIR", Hint::Named("DIR is a name of choice")),
    ("tagq image", Hint::Named("a command by its name")),
    ("tagq set --tick", Hint::Named("the tick is what only the user knows")),
    ("tagq QUERY --json", Hint::Named("documentation of the server")),
    ("tagq set --gaps off {store}", Hint::Named("a damaged column; tests/gaps.rs")),
    ("tagq set --gaps on {store}", Hint::Named("a damaged column; tests/gaps.rs")),
    ("tagq verify {store}", Hint::Named("shows damage, and mends nothing")),
    ("tagq ingest", Hint::Named("a command by its name")),
    (
        "tagq ingest --rebuild --micro-tick 4ps {}",
        pasted(
            &[
                "write 'a b/t.csv' 'channel,time,micro\n1,10,5\n1,20,6\n'",
                "ingest --tick 1ns 'a b/t.csv'",
            ],
            "micro 1 'a b/t.csv'",
            "micro 1 'a b/t.csv'",
            "error",
        ),
    ),
    ("tagq formats", Hint::Named("a command by its name")),
    (
        "tagq ingest --rebuild --source-format {given} {run}",
        Hint::Named("a file that two formats take, as of Swabian and quTAG"),
    ),
    ("tagq ingest --rebuild RUN", Hint::Named("a damaged store, which does not know its run")),
    ("tagq plan", Hint::Named("a command by its name")),
    ("tagq delays", Hint::Named("a command by its name")),
    ("tagq init", Hint::Named("a command by its name")),
    ("tagq delays RUN --write FILE", Hint::Named("a comment in a new tagq.toml")),
    (
        "`accidentals` shifted",
        Hint::Named("pulsed and unsteady light; tests/pulsed.rs, tests/notes.rs"),
    ),
    ("`shift` {}", Hint::Named("tests/notes.rs pastes it")),
    ("`delays` {name}={}", Hint::Named("tests/notes.rs pastes it")),
    ("`delays` {stop}={}", Hint::Named("tests/pulsed.rs pastes it")),
    ("`delays` {b}={}", Hint::Named("tests/notes.rs pastes it")),
    ("`bin` {}", Hint::Named("results of 1 GiB; tests/limits.rs")),
    ("`{option}` {}", Hint::Named("results of 1 GiB; tests/limits.rs")),
    ("`parts` {PARTS_MAX}", Hint::Named("a plan of the most parts; tests/parts.rs")),
    ("`part_tags` {fewest}", Hint::Named("a plan of the most parts; tests/parts.rs")),
    ("`from` {}", Hint::Named("a time of two recordings; tests/sources.rs")),
    ("`to` {}", Hint::Named("a time of two recordings; tests/sources.rs")),
    ("`shift` {asked}", Hint::Named("says what was asked")),
    ("`irf` {}", Hint::Named("says what was asked")),
    ("`mask` {reason}", Hint::Named("says what was asked")),
    ("tagq micro {run}", Hint::Named("tests/held.rs pastes it")),
    ("tagq image {run}", Hint::Named("tests/held.rs has its answer")),
    ("`{name}` {what}", Hint::Named("says what was read")),
];

/// Runs a line as a shell does.
fn line(place: &Place, words: &str) -> Output {
    let tagq = command();
    let mut shell = std::process::Command::new("sh");
    shell.arg("-c").arg(format!("tagq() {{ \"$TAGQ\" \"$@\"; }}; {words}"));
    output(shell.env("TAGQ", tagq.get_program()).current_dir(place.path("")))
}

/// Does a step: a change of a file, or a command that must succeed.
fn step(place: &Place, words: &str) {
    let quoted = |text: &str| text.trim_matches('\'').to_owned();
    if let Some((name, text)) = words.strip_prefix("write ").and_then(|of| of.split_once("' '")) {
        return fs::write(place.path(&quoted(name)), quoted(text)).unwrap();
    }
    if let Some((name, bytes)) = words.strip_prefix("cut ").and_then(|of| of.split_once("' ")) {
        let mut all = fs::read(place.path(&quoted(name))).unwrap();
        all.truncate(all.len() - bytes.parse::<usize>().unwrap());
        return fs::write(place.path(&quoted(name)), all).unwrap();
    }
    if let Some(name) = words.strip_prefix("remove ") {
        let path = place.path(&quoted(name));
        return if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .unwrap();
    }
    let done = line(place, &format!("tagq {words}"));
    assert_eq!(done.code, 0, "{words}: {}", done.stderr);
}

/// Makes a hint appear, pastes it, and asks again.
#[cfg(unix)]
fn paste(name: &str, hint: &Pasted) {
    let place = Place::new();
    fs::create_dir(place.path("a b")).unwrap();
    hint.steps.iter().for_each(|words| step(&place, words));
    let asked = line(&place, &format!("tagq {}", hint.asked)).stderr;
    let [start, to] = hint.between;
    // The first words of a command, up to what is filled in.
    let known = name.split(['{', 'R']).next().unwrap().trim_end();
    let known = if hint.with.is_empty() { known } else { "" };
    let at = asked.find(&format!("{start}{known}"));
    let at = at.unwrap_or_else(|| panic!("{name}: it was not said: {asked}"));
    let rest = &asked[at + start.len()..];
    let said = &rest[..rest.find(to).unwrap()];
    let words = if hint.with.is_empty() {
        said.replace(" RUN ", " 'a b' ")
    } else {
        format!("tagq {} --{said}", hint.with)
    };
    let done = line(&place, &words);
    assert_eq!(done.code, 0, "{name}: {words}: {}", done.stderr);
    let again =
        if hint.after.is_empty() { done } else { line(&place, &format!("tagq {}", hint.after)) };
    assert_eq!(again.code, 0, "{name}: {words}: {}", again.stderr);
    let is_gone = hint.gone.is_empty() || !again.stderr.contains(hint.gone);
    assert!(is_gone, "{name}: {words}: {}", again.stderr);
}

#[test]
#[cfg(unix)]
fn what_is_pasted_does_what_was_promised() {
    let fails = |(name, hint): &&(&str, Hint)| match hint {
        // The panic has printed the reason.
        Hint::Pasted(hint) => std::panic::catch_unwind(|| paste(name, hint)).is_err(),
        Hint::Named(why) => why.is_empty(),
    };
    let failed: Vec<&str> = HINTS.iter().filter(fails).map(|(name, _)| *name).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Adds the Rust sources below a folder, without the help of the command, whose examples have tests of their own.
fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "args" && name != "tests" {
            sources(&path, all);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" {
            all.push(path);
        }
    }
}

/// Returns the hints in a source: commands in backquotes, and options with what follows them.
fn hints_of(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap().lines();
    let code: Vec<&str> = code.filter(|line| !line.trim_start().starts_with("//")).collect();
    // Texts go on after a backslash at the end of a line.
    let joined: Vec<&str> = code.join("\n").leak().split("\\\n").collect();
    let first = joined[0].to_owned();
    let code = joined[1..].iter().fold(first, |text, more| text + more.trim_start());
    let mut found = Vec::new();
    for (at, _) in code.match_indices('`') {
        let Some((inside, after)) = code[at + 1..].split_once('`') else { continue };
        if inside.starts_with("tagq ") && !inside.contains('"') {
            found.push(inside.to_owned());
        }
        let is_name = |of: &str| {
            !of.is_empty() && of.chars().all(|c| c.is_ascii_lowercase() || "_{}".contains(c))
        };
        let Some(after) = after.strip_prefix(' ').filter(|_| is_name(inside)) else { continue };
        let value = after.split(['"', ' ', ',', ';']).next().unwrap();
        let value = value.split(':').next().unwrap();
        let is_value = value.starts_with('{') && value.ends_with('}');
        if is_value || value.starts_with("shifted") || value == "blocks" {
            found.push(format!("`{inside}` {value}"));
        }
    }
    found
}

#[test]
fn every_hint_in_the_sources_has_a_line() {
    let mut files = Vec::new();
    for each in fs::read_dir(root().join("crates")).unwrap() {
        let folder = each.unwrap().path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut files);
        }
    }
    let all = files.iter().flat_map(|path| hints_of(&fs::read_to_string(path).unwrap()));
    let all: BTreeSet<String> = all.collect();
    let known: BTreeSet<String> = HINTS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let missing: Vec<&String> = all.difference(&known).collect();
    assert!(missing.is_empty(), "without a line in tests/hints.rs: {missing:?}");
    let gone: Vec<&String> = known.difference(&all).collect();
    assert!(gone.is_empty(), "no longer in the sources: {gone:?}");
}
