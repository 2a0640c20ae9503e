//! The help: its pictures are counted, its examples are run, and completions and manual pages contain every
//! command.

use std::{
    env, fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{Output, command, fixture_copy, output, root, skipped, tagq};

/// Commands whose examples run at a time.
const AT_A_TIME: usize = 4;

fn help(words: &[&str]) -> String {
    let shown = tagq(words);
    assert_eq!(shown.code, 0, "{words:?}: {}", shown.stderr);
    shown.text().to_owned()
}

#[test]
#[cfg(unix)]
fn a_command_that_is_not_utf_8_is_refused() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

    let refused = output(command().arg(OsStr::from_bytes(b"\xff")));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(!refused.stderr.contains("panicked"), "{}", refused.stderr);
}

#[test]
fn other_words_for_commands_and_their_beginnings_answer() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let run = run.to_str().unwrap();
    let said = |words: &[&str]| {
        let asked = tagq(words.iter().copied().chain([run]));
        assert_eq!(asked.code, 0, "{words:?}: {}", asked.stderr);
        asked.text().to_owned()
    };
    for (words, same) in [
        (&["coinc", "--window", "2ns"][..], &["coincidences", "--window", "2ns"][..]),
        (&["count", "--window", "2e-9s"], &["coincidences", "--window", "2ns"]),
        (
            &["hist", "1,2", "--range", "10ns"],
            &["histogram", "--start", "1", "--stop", "2", "--range", "10ns"],
        ),
        (
            &["hist2d", "1,2,3", "--range", "10ns"],
            &["histogram2d", "--herald", "1", "--a", "2", "--b", "3", "--range", "10ns"],
        ),
        (&["correlate", "1,2", "--range", "0..1e1ns"], &["g2", "1,2", "--range", "0t..10ns"]),
        (&["singles", "1"], &["rates", "--channels", "1"]),
        (&["del", "1,2"], &["delays", "--channels", "1,2"]),
        (&["dump"], &["cat"]),
    ] {
        let (one, other) = (said(words), said(same));
        // The options are shown as they were written.
        let counted = |text: &str| {
            let asked = |line: &&str| {
                ["asked", "\"window\": \"", "\"range\": \""].iter().any(|word| line.contains(word))
            };
            text.lines().filter(|line| !asked(line)).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(counted(&one), counted(&other), "{words:?}");
    }
}

#[test]
fn words_of_the_field_are_explained() {
    for (word, part) in [
        ("CAR", "CAR is (C - A)/A"),
        ("accidentals", "--accidentals"),
        ("gates", "`A .. B` (from a tag of A to the next of B)"),
        ("units", "A duration is a number and a unit"),
        ("rule", "Which tags make a coincidence"),
        ("delay", "tagq delays"),
        ("Rules", "Which tags make a coincidence"),
    ] {
        let said = tagq(["help", word]);
        assert_eq!(said.code, 0, "{word}: {}", said.stderr);
        let text = said.text().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{word}: {text}");
    }
}

#[test]
fn the_options_of_a_query_and_of_its_command_stand_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let asked = |line: &str| {
        let words = line.split_whitespace();
        let asked = output(command().args(words).current_dir(folder.path()));
        assert_eq!(asked.code, 0, "{line}: {}", asked.stderr);
        asked.text().to_owned()
    };
    for lines in [
        &[
            "fit peak --between -5ns..8ns histogram 1,2 --bin 1ns --range 9ns -q --format csv run",
            "fit peak histogram --between -5ns..8ns 1,2 --bin 1ns --range 9ns -q --format csv run",
            "fit peak histogram 1,2 --bin 1ns --range 9ns -q --format csv run --between=-5ns..8ns",
            "fit peak --format csv -q histogram 1,2 --bin 1ns --range 9ns run --between=-5ns..8ns",
            "fit --format csv gauss --between -5ns..8ns -q histogram 1,2 --bin 1ns --range 9ns run",
        ][..],
        &[
            "fit peak scan coincidences 1,2 --window 2ns --delay 2=-9ns..1ns:9 -q --format csv run",
            "fit peak scan --window 2ns coincidences 1,2 --delay 2=-9ns..1ns:9 -q --format csv run",
            "fit --format csv peak --window 2ns scan --delay 2=-9ns..1ns:9 -q coincidences 1,2 run",
        ],
        &[
            "scan coincidences 1,2 --window 1ns..3ns:3 -q --format csv run",
            "scan --window 1ns..3ns:3 --format csv coincidences 1,2 -q run",
        ],
        &[
            "plan rates --parts 3 -o p.json --force run",
            "plan --parts 3 --force -o p.json rates run",
        ],
    ] {
        let first = asked(lines[0]);
        for line in &lines[1..] {
            assert_eq!(asked(line), first, "{line}");
        }
    }
}

/// Returns the commands that the program lists, without `help`.
fn commands() -> Vec<String> {
    let text = help(&["--help"]);
    let listed = text.lines().filter_map(|line| line.strip_prefix("  "));
    let names = listed.filter(|line| line.starts_with(char::is_alphabetic));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    names.filter(|name| !["help", "tagq"].contains(&name.as_str())).collect()
}

/// Returns the tags of a picture as text, one line each: a tag for each `o` of a channel.
fn drawn(picture: &[(u16, Vec<usize>)]) -> String {
    let mut tags: Vec<(usize, u16)> = picture
        .iter()
        .flat_map(|(channel, times)| times.iter().map(|&time| (time, *channel)))
        .collect();
    tags.sort_unstable();
    let lines: Vec<String> =
        tags.iter().map(|(time, channel)| format!("{channel}\t{time}\n")).collect();
    lines.concat()
}

/// Column of a picture that is tick 0.
const ORIGIN: usize = 17;

/// Parses a line of a picture, `channel 3   .o..`. Returns the columns of its tags.
fn channel(line: &str) -> Option<(u16, Vec<usize>)> {
    let rest = line.strip_prefix("    channel ")?;
    let number = rest.split_whitespace().next()?.parse().ok()?;
    let of = |(at, c): (usize, char)| (c == 'o').then(|| at - ORIGIN);
    Some((number, line.chars().enumerate().filter_map(of).collect()))
}

/// Returns the first and last column of each coincidence in a line.
fn spans(line: &str) -> Vec<(usize, usize)> {
    let is_drawing = |c: char| " \u{2502}\u{251c}\u{2500}\u{2524}".contains(c);
    if !line.chars().all(is_drawing) {
        return Vec::new();
    }
    let mut spans = Vec::new();
    let mut from = None;
    for (at, c) in line.chars().enumerate() {
        match c {
            '\u{2502}' => spans.push((at - ORIGIN, at - ORIGIN)),
            '\u{251c}' => from = Some(at - ORIGIN),
            '\u{2524}' => spans.push((from.take().unwrap(), at - ORIGIN)),
            _ => {}
        }
    }
    spans
}

/// Parses options and their count: `    --rule all      6`.
fn counted(line: &str) -> Option<(Vec<&str>, u64)> {
    let words: Vec<&str> = line.strip_prefix("    ")?.split_whitespace().collect();
    let (count, args) = words.split_last()?;
    Some((args.to_vec(), count.parse().ok()?)).filter(|(args, _)| args[0].starts_with("--"))
}

fn count(args: &[&str], tags: &Path) -> serde_json::Value {
    let given = ["-q", "--no-cache", "--tick", "156.25ps"];
    output(command().arg("coincidences").args(args).args(given).arg(tags)).json()
}

fn sum(answer: &serde_json::Value) -> u64 {
    answer["rows"].as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap()).sum()
}

#[test]
fn the_pictures_of_the_rules_show_what_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let text = help(&["help", "rules"]);
    let (mut picture, mut is_open) = (Vec::new(), false);
    let (mut shown, mut tried, mut compared) = (Vec::new(), 0, 0);
    for line in text.lines() {
        if let Some(of) = channel(line) {
            if !is_open {
                picture.clear();
            }
            picture.push(of);
            is_open = true;
            continue;
        }
        is_open = false;
        shown.extend(spans(line));
        let Some((args, expected)) = counted(line) else { continue };
        let tags = folder.path().join(format!("{tried}.tsv"));
        fs::write(&tags, drawn(&picture)).unwrap();
        let args = [&["--window", "3t"], &args[..]].concat();
        assert_eq!(sum(&count(&args, &tags)), expected, "{args:?}");
        tried += 1;
        if !shown.is_empty() {
            shown.sort_unstable();
            assert_eq!(listed(&args, &tags), shown, "{args:?}");
            compared += 1;
        }
        shown.clear();
    }
    assert_eq!((tried, compared), (8, 5));
}

/// Returns the coincidences of a query, each from its earliest tag to its latest.
fn listed(args: &[&str], tags: &Path) -> Vec<(usize, usize)> {
    let list = count(&[args, &["--list"]].concat(), tags);
    let mut found: Vec<(u64, Vec<usize>)> = Vec::new();
    for (number, row) in list["rows"].as_array().unwrap().iter().enumerate() {
        let row = row.as_object().unwrap();
        // Each tag of a cluster has its own row.
        let number = row.get("cluster").map_or(number as u64, |of| of.as_u64().unwrap());
        let times = row.iter().filter(|(key, _)| key.starts_with("time_"));
        let times = times.map(|(_, time)| usize::try_from(time.as_u64().unwrap()).unwrap());
        match found.iter_mut().find(|(of, _)| *of == number) {
            Some((_, all)) => all.extend(times),
            None => found.push((number, times.collect())),
        }
    }
    let ends = |times: &Vec<usize>| (*times.iter().min().unwrap(), *times.iter().max().unwrap());
    let mut spans: Vec<_> = found.iter().map(|(_, times)| ends(times)).collect();
    spans.sort_unstable();
    spans
}

#[test]
fn the_picture_of_a_window_shows_its_width() {
    const COLUMNS_OF_A_TICK: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let tags = folder.path().join("tags.tsv");
    let text = help(&["help", "windows"]);
    let mut picture: Vec<(u16, Vec<usize>)> = text.lines().filter_map(channel).collect();
    picture.iter_mut().flat_map(|(_, times)| times).for_each(|time| {
        assert_eq!(*time % COLUMNS_OF_A_TICK, 1);
        *time /= COLUMNS_OF_A_TICK;
    });
    fs::write(&tags, drawn(&picture)).unwrap();
    let mut tried = 0;
    for (args, expected) in text.lines().filter_map(counted) {
        assert_eq!(sum(&count(&args, &tags)), expected, "{args:?}");
        tried += 1;
    }
    assert_eq!(tried, 3);
    let run = fixture_copy(folder.path());
    let answer =
        output(command().args(["coincidences", "--window", "2ns", "--format", "table"]).arg(run));
    let said = text.lines().find(|line| line.contains("asked 2 ns")).unwrap();
    assert!(answer.text().contains(said.trim()), "{}", answer.text());
}

/// Creates a folder with all files that the examples name.
fn world(folder: &Path) {
    let here = |name: &str| folder.join(name);
    let common = ["simulate", "--duration", "20ms", "--channels", "1,2,3,15,4,16"];
    let simulate = |args: &[&str], out: &str| {
        let made = output(command().args(common).args(args).arg(here(out)));
        assert_eq!(made.code, 0, "{}", made.stderr);
    };
    simulate(&["--files", "2", "--gap", "10ms"], "run");
    simulate(&[], "run.tags.zst");
    simulate(&["--seed", "2"], "a.tags.zst");
    simulate(&["--seed", "3", "--start", "1s"], "b.tags.zst");
    simulate(&["--seed", "4"], "alice.ptu");
    simulate(&["--seed", "5"], "bob.ptu");
    for run in ["monday", "tuesday"] {
        fs::create_dir(here(run)).unwrap();
        fs::copy(here("b.tags.zst"), here(run).join("b.tags.zst")).unwrap();
    }
    for run in ["run", "run.tags.zst"] {
        assert_eq!(output(command().arg("ingest").arg(here(run))).code, 0);
    }
    fs::write(here("measured.txt"), "100,1\n200,2\n").unwrap();
    let gzip = Command::new("gzip").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut gzip.stdin.as_ref().unwrap(), b"1\t100\n2\t200\n").unwrap();
    fs::write(here("old.txt.gz"), gzip.wait_with_output().unwrap().stdout).unwrap();
    for folder in [".local/share/bash-completion/completions", ".zfunc", ".config/fish/completions"]
    {
        fs::create_dir_all(here(folder)).unwrap();
    }
}

/// Returns whether a program of an example is installed.
fn is_there(program: &str) -> bool {
    let tried = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    tried.is_ok_and(|output| output.status.success())
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the program timeout")]
fn every_command_has_two_examples_that_work() {
    // Some examples run for a second until they are ended.
    let names = commands();
    std::thread::scope(|scope| {
        for first in 0..AT_A_TIME {
            let names = names.iter().skip(first).step_by(AT_A_TIME);
            scope.spawn(|| names.for_each(|name| check_examples(name)));
        }
    });
}

/// Runs the examples in the help of a command.
fn check_examples(name: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_tagq"));
    let path = env::join_paths(
        [program.parent().unwrap().to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap())),
    );
    let path = path.unwrap();
    let folder = tempfile::tempdir().unwrap();
    world(folder.path());
    if ["partial", "merge"].contains(&name) {
        let plan = "tagq plan coincidences --window 2ns run/ --parts 3 -o plan.json";
        let parts = (0..3).map(|part| format!("tagq partial plan.json --index {part} -o p.{part}"));
        let script: Vec<String> = [plan.to_owned()].into_iter().chain(parts).collect();
        let mut made = Command::new("bash");
        made.args(["-ec", &script.join("\n")]).current_dir(folder.path()).env("PATH", &path);
        assert_eq!(output(&mut made).code, 0);
        for channel in 1..4 {
            fs::write(folder.path().join(format!("ch{channel}.csv")), "5\n77\n").unwrap();
        }
    }
    if name == "reproduce" {
        let mut made = Command::new(program);
        made.args(["rates", "run/", "-o", "answer.json"]).current_dir(folder.path());
        assert_eq!(output(&mut made).code, 0);
    }
    if name == "micro" {
        // Its examples want a run of mode T3.
        let run = folder.path().join("run");
        fs::remove_dir_all(&run).unwrap();
        fs::create_dir(&run).unwrap();
        let recorded = root().join("data/fixtures/picoquant/t3.ptu");
        fs::copy(recorded, run.join("t3.ptu")).unwrap();
    }
    let text = help(&[name, "--help"]);
    let examples = text.split("Examples:\n").nth(1).unwrap_or_default();
    let examples: Vec<&str> = examples.lines().map(str::trim).collect();
    assert!(examples.len() >= 2, "{name} has {} examples", examples.len());
    for example in examples {
        assert!(example.contains(&format!("tagq {name}")), "{name}: {example}");
        // Two spaces precede it, and a terminal of 80 columns would wrap a longer line.
        assert!(example.chars().count() <= 78, "{example}");
        if example.contains("jq") && !is_there("jq") {
            skipped(&format!("there is no jq: {example}"));
            continue;
        }
        // A command that runs until Ctrl-C gets SIGINT, and the other machine is replaced by this one.
        let goes_on =
            ["tagq watch", "tagq serve", "--follow", "--live"].iter().any(|w| example.contains(w));
        let (example, expected) = (example.replace("ssh lab ", ""), if goes_on { 130 } else { 0 });
        // Another program may have the port.
        let example = match example.split_once("tagq serve ") {
            Some((_, words)) if !words.contains("--bind") => {
                format!("tagq serve --bind 127.0.0.1:0 {words}")
            }
            _ => example.replace(":8417", ":0"),
        };
        let script = if goes_on {
            format!("timeout --preserve-status -s INT 1 {example}")
        } else {
            format!("set -o pipefail; {example}")
        };
        let ran = output(
            Command::new("bash")
                .args(["-c", &script])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("HOME", folder.path()),
        );
        let Output { code, stderr, .. } = &ran;
        // A reader may close the pipe early, as `head` does.
        assert_eq!(*code, expected, "{example}: {stderr}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn completions_and_manual_name_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let made = output(command().arg("man").arg(folder.path()));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let commands = commands();
    assert!(commands.len() > 14);
    for name in &commands {
        let of = page(&format!("tagq-{name}.1"));
        assert!(of.contains(".SH EXAMPLES") && of.contains(".SH SYNOPSIS"), "{name}");
        assert!(page("tagq.1").contains(&format!("tagq\\-{name}(1)")), "{name}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = help(&["completions", shell]);
        for name in &commands {
            assert!(text.contains(name.as_str()), "{shell}: {name}");
        }
        assert!(text.contains("full-width"), "{shell}");
    }
    // bash accepts the completions.
    let checked = Command::new("bash").arg("-n").arg("/dev/stdin").stdin(Stdio::piped()).spawn();
    let mut checked = checked.unwrap();
    let text = help(&["completions", "bash"]);
    std::io::Write::write_all(&mut checked.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(checked.wait().unwrap().success());
}

#[test]
fn the_list_of_commands_fits_80_columns() {
    let text = help(&["help"]);
    assert_eq!(text, help(&["--help"]));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let families = ["Ask:", "Watch:", "Stores:", "Files:", "Other:"];
    let places: Vec<_> = families.iter().map(|head| text.find(head).unwrap()).collect();
    assert!(places.is_sorted());
    assert_eq!(help(&["help", "rates"]), help(&["rates", "--help"]));
    assert!(!text.contains("tagq man"));
}

#[test]
fn what_is_misspelt_is_said_and_what_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let run = run.to_str().unwrap();
    for (args, meant) in [
        (&["help", "rulez"][..], "'rules'"),
        (&["help", "concidence"], "'coincidences'"),
        (&["ratse", run], "'rates'"),
        (&["rates", "--formt", "json", run], "'--format'"),
        (&["coincidences", "--window", "2ns", "--rule", "hearld", run], "'herald'"),
        (&["coincidences", "--window", "2nanosec", run], "did you mean 2ns?"),
        (&["coincidences", "--window", "2 nsec", run], "did you mean 2ns?"),
        (&["rates", "--tick", "4psec", run], "did you mean 4ps?"),
        (&["simulate", "--rate", "5 kcps", "x.tags.zst"], "did you mean 5kHz?"),
        (&["rates", "--tick", "4", run], "write 4ps"),
        (&["coincidences", "--window", "2e-9", run], "write 2e-9s"),
        (&["coincidences", "--window", "0..1ms", run], "as 1ms"),
        (&["coincidences", "2ns", run], "as --window 2ns"),
        (&["g2", "0ns..1ms", run], "as --range 0ns..1ms"),
        (&["g2", "1", "2", run], "as 1,2"),
        (&["g2", run], "channels 1,2,3,4: name 2 of them, as 1,2"),
        (&["histogram2d", "1,2", run], "write them as H,A,B"),
        (&["g2", "1,2"], "the run is missing after 1,2"),
        (&["delays", "1,2", run, run], "those of one run, and 2 are named"),
        (&["m", run], "'m'"),
        (
            &["coincidences"],
            "Example: tagq coincidences --window 2ns run/\nAll options: tagq coincidences --help",
        ),
        (&["singles", "--bni", "1s", run], "Example: tagq rates run/\n"),
        (&["delays"], "Example: tagq delays run/\n"),
        (&["convert", "a"], "Example: tagq convert "),
    ] {
        let refused = tagq(args);
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(meant), "{args:?}: {}", refused.stderr);
        let has_example = refused.stderr.contains("Example: ");
        assert!(!has_example || !refused.stderr.contains("For more information"), "{args:?}");
    }
}
