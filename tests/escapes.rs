//! Names of files, runs and channels that contain control characters, bidirectional marks or line ends: every
//! output escapes them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::support::{Output, command, output};

/// Clears the screen, sets its title, ends a line, reverses the text, and is an HTML tag.
const BAD: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\nb\u{202e}c\u{9b}1m<script>\u{2066}\u{7f}\"&,";
/// The same text, escaped.
const SHOWN: &str = r#"a\u{1b}[2J\u{1b}]0;x\u{7}\nb\u{202e}c\u{9b}1m<script>\u{2066}\u{7f}"&,"#;

/// Creates a run and a source with this name, and recorder notes that contain it.
fn run(folder: &Path) -> PathBuf {
    let run = folder.join(BAD);
    fs::create_dir(&run).unwrap();
    fs::write(run.join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    fs::write(run.join(format!("{BAD}.tsv")), "1\t0\n2\t3\n1\t50\n1\t100\n2\t101\n").unwrap();
    run
}

fn ask(words: &str, runs: &[&Path]) -> Output {
    output(command().args(words.split_whitespace()).args(runs))
}

/// Returns whether the text contains only line ends and printable characters.
fn is_harmless(text: &str) -> bool {
    let is_bad =
        |c: char| (c.is_control() && !"\n\t".contains(c)) || "\u{202e}\u{2066}".contains(c);
    !text.contains(is_bad)
}

#[test]
#[cfg_attr(windows, ignore = "no file may have such a name")]
fn no_output_obeys_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    let other = folder.path().join("other.tsv");
    fs::write(&other, "1\t0\n2\t5\n").unwrap();
    let mut texts = Vec::new();
    for format in ["table", "csv", "json"] {
        for words in [
            "info",
            "rates",
            "rates --bin 10t",
            "coincidences --window 5t",
            "coincidences --window 5t --list",
            "coincidences --window 5t --channels 1,9",
            "histogram --start 1 --stop 2 --range 10t",
            "delays --channels 1,2",
        ] {
            let words = format!("{words} --format {format}");
            texts.push((words.clone(), ask(&words, &[&run])));
            if !words.starts_with("delays") {
                texts.push((format!("{words} of two"), ask(&words, &[&run, &other])));
            }
        }
    }
    for words in ["rates --explain --format table", "rates --explain --format json", "rates --plot"]
    {
        texts.push((words.into(), ask(words, &[&run])));
    }
    for words in ["coincidences --window 5t --plot", "verify", "ingest", "cat", "name"] {
        texts.push((words.into(), ask(words, &[&run])));
    }
    for (words, said) in texts {
        assert_eq!(said.code, 0, "{words}: {}", said.stderr);
        let out = String::from_utf8(said.stdout).unwrap();
        assert!(
            is_harmless(&out) && is_harmless(&said.stderr),
            "{words}:\n{out:?}\n{:?}",
            said.stderr
        );
        if words.contains("csv") {
            // A comment and a row have one line each, for any name of the run.
            let is_line = |line: &str| line.starts_with('#') || line.matches(',').count() > 1;
            assert!(out.lines().all(is_line), "{words}:\n{out}");
        }
        if words.contains("json") {
            // Programs get the original name.
            let answer: Value = serde_json::from_str(&out).unwrap();
            let run = answer.get("runs").map_or(&answer["run"], |runs| &runs[0]);
            let path = [&answer["path"], &answer[0]["path"], &run["path"]];
            let path = path.into_iter().find_map(Value::as_str).unwrap();
            assert!(path.ends_with(BAD), "{words}: {path:?}");
        } else if words.contains("csv") || words.contains("info") || words.contains("of two") {
            assert!(out.contains(&SHOWN[..20]), "{words}:\n{out}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "no file may have such a name")]
fn no_message_obeys_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    // A torn end, which gives a note; a run that does not exist; an unreadable run; a setup.
    fs::write(run.join(format!("{BAD}.tags")), [0, 0, 0, 0, 9, 0, 0, 0, 1]).unwrap();
    let torn = ask("rates", &[&run]);
    let gone = ask("rates", &[&folder.path().join(format!("no{BAD}"))]);
    let unread = folder.path().join(format!("{BAD}.txt"));
    fs::write(&unread, "nothing\u{1b}[2J for you\n").unwrap();
    let unread = ask("rates", &[&unread]);
    let named = folder.path().join("named");
    fs::create_dir(&named).unwrap();
    fs::write(named.join("a.tsv"), "1\t0\n").unwrap();
    let setup = |text: &str| {
        fs::write(named.join("tagq.toml"), text).unwrap();
        ask("rates", &[&named])
    };
    let in_toml = setup("[channels]\n1 = \"a\\u001b[2J\"\n");
    let turned = setup("[channels]\n1 = 'a\u{202e}'\n");
    let no_toml = setup("tick = '1ns'\nd\u{1b}[2Jelays = 3\n");
    fs::remove_file(named.join("tagq.toml")).unwrap();
    let name = output(command().arg("name").arg(&named).arg("1=a\u{1b}[2Jb"));
    let line = output(command().arg("name").arg(&named).arg("1=a\nb"));
    assert!(!named.join("tagq.toml").exists());
    let unknown = output(command().arg("rates").arg(format!("--no{BAD}")).arg(&run));
    let value = output(command().args(["rates", "--bin"]).arg(BAD).arg(&run));
    let channel = output(command().args(["rates", "--channels"]).arg("\u{1b}[2J").arg(&run));
    assert_eq!(torn.code, 0, "{}", torn.stderr);
    for (at, said) in
        [&gone, &unread, &in_toml, &turned, &name, &line, &unknown, &value, &channel, &torn]
            .into_iter()
            .enumerate()
    {
        assert!(is_harmless(&said.stderr), "{at}: {:?}", said.stderr);
        let shown = if at == 5 { r"`a\nb`" } else { r"\u{" };
        assert!(said.stderr.contains(shown), "{at}: {:?}", said.stderr);
        assert_eq!(said.code == 0, at == 9, "{at}");
    }
    for said in [&in_toml, &turned] {
        assert!(said.stderr.contains("[channels]: ") && said.stderr.contains("cannot be a name"));
        assert_eq!((said.code, said.stderr.lines().count()), (2, 1), "{}", said.stderr);
    }
    assert!(is_harmless(&no_toml.stderr), "{:?}", no_toml.stderr);
    assert!(no_toml.stderr.contains("line 2: "), "{}", no_toml.stderr);
}

#[test]
#[cfg_attr(windows, ignore = "no file may have such a name")]
fn no_figure_obeys_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = run(folder.path());
    for name in ["a.svg", "a.html"] {
        let out = folder.path().join(name);
        let drawn = output(command().arg("rates").arg(&run).arg("--plot").arg(&out));
        assert_eq!(drawn.code, 0, "{}", drawn.stderr);
        let text = fs::read_to_string(&out).unwrap();
        assert!(is_harmless(&text), "{name}");
        let own = if name == "a.html" { 2 } else { 0 };
        assert_eq!(text.matches("<script").count(), own, "{name}");
        assert!(text.contains(r"a\u{1b}[2J"), "{name}");
    }
}
