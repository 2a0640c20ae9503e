//! Text as a source: in folders, as a named file, growing, and on standard input.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::Stdio,
};

use tagq::{
    files::{Settings, SourcePart, ingest},
    store::{Creation, Tick, Writer},
};

use crate::support::{Output, cat, coincidences, command, fixture_copy, output, slashed, tagq};

/// Runs the program with these bytes on standard input.
fn piped(args: &[&str], bytes: &[u8]) -> Output {
    let mut child = command()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program does not read its input if it refuses the arguments.
    drop(child.stdin.take().unwrap().write_all(bytes));
    let output = child.wait_with_output().unwrap();
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn text_of(path: &Path) -> String {
    let lines: Vec<String> =
        cat(path).iter().map(|(time, channel)| format!("{channel}\t{time}\n")).collect();
    lines.concat()
}

fn info(run: &Path) -> serde_json::Value {
    tagq(["info".as_ref(), "--no-ingest".as_ref(), run.as_os_str()]).json()
}

#[test]
fn a_folder_of_text_is_the_run_it_was_made_from() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let expected = coincidences("--window 2ns", &run);
    let texts = folder.path().join("texts");
    fs::create_dir(&texts).unwrap();
    let first = text_of(&run.join("1.tags.zst")).replace('\n', "\r\n");
    fs::write(texts.join("1.tsv.zst"), zstd::encode_all(first.as_bytes(), 3).unwrap()).unwrap();
    let second: Vec<String> = cat(&run.join("2.tags.zst"))
        .iter()
        .map(|(time, channel)| format!("{time}, {channel}\n"))
        .collect();
    fs::write(texts.join("2.csv"), format!("Time, Channel\n{}", second.concat())).unwrap();
    fs::write(texts.join("notes.txt"), "nothing for you").unwrap();
    assert_eq!(coincidences("--window 2ns --tick 156.25ps", &texts)["rows"], expected["rows"]);
    assert_eq!(info(&texts)["tags"], info(&run)["tags"]);
    // A named file may have any name.
    let named = texts.join("notes.txt");
    fs::write(&named, &first).unwrap();
    assert_eq!(info(&texts)["sources"].as_array().unwrap().len(), 2);
    let alone = coincidences("--window 2ns --tick 156.25ps", &named);
    assert_eq!(alone["rows"], coincidences("--window 2ns", &run.join("1.tags.zst"))["rows"]);
}

#[test]
fn the_columns_of_a_text_are_asked_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let path = run.join("a.csv");
    fs::write(&path, "100 1\n101 2\n").unwrap();
    let tick = ["--tick", "1ps"];
    let wrong = output(command().args(["coincidences", "--window", "1t"]).args(tick).arg(&run));
    // Read as channel and time, these are channels 100 and 101, which cannot be detected as wrong.
    assert_eq!(wrong.json()["run"]["channels"][0]["channel"], 100);
    let asked = ["--columns", "time,channel"];
    let other = output(command().args(["coincidences", "--window", "1t"]).args(asked).arg(&run));
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("--rebuild --columns time,channel"), "{}", other.stderr);
    let rebuilt = output(command().args(["ingest", "--rebuild"]).args(asked).arg(&run));
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.stderr);
    assert_eq!(cat(&run), [(100, 1), (101, 2)]);
    // Later calls need no option, for growing files and a rebuild.
    File::options().append(true).open(&path).unwrap().write_all(b"102 1\n").unwrap();
    assert_eq!(cat(&run), [(100, 1), (101, 2), (102, 1)]);
    let again = output(command().args(["ingest", "--rebuild"]).arg(&run));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(cat(&run), [(100, 1), (101, 2), (102, 1)]);
    // A header needs no option, and must not contradict it.
    fs::write(run.join("b.csv"), "channel,time\n1,200\n").unwrap();
    assert_eq!(cat(&run).last(), Some(&(200, 1)));
    fs::write(run.join("c.csv"), "channel,time\n1,300\n").unwrap();
    let refused = output(command().arg("ingest").args(tick).args(asked).arg(run.join("c.csv")));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("line 1: the header says channel,time"), "{}", refused.stderr);
}

#[test]
fn a_text_that_grows_is_continued_and_its_half_line_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tsv");
    fs::write(&path, "1\t10\n2\t1").unwrap();
    let tick = ["--tick", "1ps"];
    let half = output(command().args(["coincidences", "--window", "5t"]).args(tick).arg(&path));
    assert_eq!(half.json()["run"]["tags"], 1);
    assert!(half.stderr.contains("no line end"), "{}", half.stderr);
    File::options().append(true).open(&path).unwrap().write_all(b"2\n").unwrap();
    let whole = output(command().args(["coincidences", "--window", "5t"]).arg(&path));
    assert_eq!(whole.json()["rows"][0]["count"], 1);
    assert!(!whole.stderr.contains("no line end"), "{}", whole.stderr);
    // A last line without a line end is ingested only with --salvage, and the source is closed.
    File::options().append(true).open(&path).unwrap().write_all(b"1\t13").unwrap();
    let salvaged = output(command().args(["ingest", "--salvage"]).arg(&path));
    assert_eq!(salvaged.code, 0, "{}", salvaged.stderr);
    let store = folder.path().join("a.tsv.tagq");
    assert_eq!(cat(&store), [(10, 1), (12, 2), (13, 1)]);
    File::options().append(true).open(&path).unwrap().write_all(b"7\n").unwrap();
    let closed = output(command().arg("ingest").arg(&path));
    assert!(closed.code == 1 && closed.stderr.contains("--rebuild"), "{}", closed.stderr);
}

#[test]
fn text_that_is_no_tags_is_named_by_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        (
            "3\t17\n3\t1.5e3\n",
            &["line 2: \"3\\t1.5e3\"", "times are whole ticks", "--columns channel,time:ns"][..],
        ),
        ("3\t17\n\n# x\n3\n", &["line 4", "one field"]),
        ("585950217716\t3\n", &["channel 585950217716 is above 65535", "--columns time,channel"]),
        ("-5\t3\n", &["line 1", "--columns time,channel"]),
        ("channel,count,rate_hz\n1,2,3\n", &["line 1: no column is named `time`", "time=NAME"]),
        ("dead time\n1,2\n", &["line 1: no column is named `channel`", "channel=NAME"]),
        ("dead count\n1,2\n", &["line 1: no column is named `time`", "channel=count"]),
        ("dead count\n", &["line 1: \"dead count\"", "header has the words channel and time"]),
    ] {
        let path = folder.path().join("a.csv");
        fs::write(&path, text).unwrap();
        let args = ["coincidences", "--window", "2ns", "--tick", "1ps"];
        let refused = output(command().args(args).arg(&path));
        assert!([1, 3].contains(&refused.code), "{text}: {}", refused.stderr);
        for word in words {
            let word = slashed(word);
            assert!(refused.stderr.contains(&word), "{text}: no `{word}` in {}", refused.stderr);
        }
        let left = fs::read_dir(folder.path().join("a.csv.tagq")).map_or(0, Iterator::count);
        assert!(left <= 1, "{text}");
    }
    let refused = tagq(["cat", "--columns", "tick,channel", "a.csv"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("channel,time or time,channel"), "{}", refused.stderr);
}

#[test]
fn standard_input_is_a_run_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let path = run.join("2.tags.zst");
    let expected = coincidences("--window 2ns", &path);
    let bytes = fs::read(&path).unwrap();
    let text = text_of(&path);
    let plain = zstd::decode_all(&bytes[..]).unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    for bytes in [&bytes, &plain, &text.clone().into_bytes()] {
        let mut child = command()
            .args(["coincidences", "--window", "2ns", "--tick", "156.25ps", "-"])
            .env("TMPDIR", &temporary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["rows"], expected["rows"]);
        assert_eq!(answer["run"]["path"], "-");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "nothing is left");
    }
    assert_eq!(piped(&["cat", "-"], &bytes).text(), text);
    let none = piped(&["coincidences", "--window", "2ns", "-"], b"");
    assert_eq!(none.json()["run"]["tags"], 0);
    let wrong = piped(&["rates", "--tick", "1ps", "-"], b"3\tx\n");
    assert_eq!(wrong.code, 3);
    assert!(wrong.stderr.contains("standard input: line 1"), "{}", wrong.stderr);
    let wrong = piped(&["cat", "-"], b"3\tx\n");
    assert!(wrong.stderr.contains("standard input: line 1"), "{}", wrong.stderr);
    for args in [
        &["ingest", "-"][..],
        &["info", "-", "-"],
        &["info", "--no-ingest", "-"],
        &["info", "--store", "x", "-"],
    ] {
        let refused = piped(args, b"3\t5\n");
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn standard_input_is_added_to_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("night.tagq");
    let args = ["ingest", "-", "--tick", "1ps", "--store", store.to_str().unwrap()];
    for (text, code, tags, names) in [
        ("1\t10\n2\t20\n", 0, 2, &["stdin-1"][..]),
        ("1\t30\n", 0, 3, &["stdin-1", "stdin-2"]),
        // Repeated input changes nothing, and input that continues the last one adds the rest.
        ("1\t30\n", 0, 3, &["stdin-1", "stdin-2"]),
        ("1\t30\n2\t31\n", 0, 4, &["stdin-1", "stdin-2"]),
        ("1\t15\n", 1, 4, &["stdin-1", "stdin-2"]),
    ] {
        let added = piped(&args, text.as_bytes());
        assert_eq!(added.code, code, "{}", added.stderr);
        assert!(!added.stderr.contains("/proc"), "{}", added.stderr);
        let info = info(&store);
        assert_eq!(info["tags"], tags);
        let sources = info["sources"].as_array().unwrap();
        assert!(sources.iter().map(|source| &source["name"]).eq(names), "{info}");
    }
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
#[cfg(unix)]
fn a_signal_leaves_nothing_of_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command()
        .args(["coincidences", "--window", "2ns", "-"])
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"1\t10\n").unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_pipe_gives_the_answer_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let path = run.join("1.tags.zst");
    let expected = coincidences("--window 1us --delay 4=-10ns", &path);
    let mut cat = command().arg("cat").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let output = command()
        .args(["coincidences", "--window", "1us", "--delay", "4=-10ns", "--tick", "156.25ps", "-"])
        .stdin(cat.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(cat.wait().unwrap().success());
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["rows"], expected["rows"]);
}

#[test]
fn the_tick_of_a_text_is_asked_for_once() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("1.tsv"), "1\t10\n2\t12\n").unwrap();
    let missing = output(command().args(["coincidences", "--window", "5t"]).arg(&run));
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert_eq!(missing.stdout, b"");
    let command_to_paste = format!("`tagq ingest --tick 1ps {}`", run.display());
    for word in ["1.tsv", "tick", "--tick 1ps", &command_to_paste] {
        let word = slashed(word);
        assert!(missing.stderr.contains(&word), "no `{word}` in {}", missing.stderr);
    }
    assert!(!run.join(".tagq").exists(), "nothing is made");
    // The same with --follow.
    let followed = output(command().args(["ingest", "--follow"]).arg(&run));
    assert_eq!(followed.code, 2, "{}", followed.stderr);
    assert_eq!(piped(&["rates", "-"], b"1\t10\n").code, 2);
    let framed = zstd::encode_all(&b"1\t10\n"[..], 3).unwrap();
    assert_eq!(piped(&["rates", "-"], &framed).code, 2);
    // Files without content are not text yet.
    fs::write(run.join("1.tsv"), "").unwrap();
    assert_eq!(info_of(&run, &[]).code, 0);
    fs::write(run.join("1.tsv"), "1\t10\n2\t12\n").unwrap();
    assert_eq!(info_of(&run, &[]).code, 2);
    // Given once, the tick stays exactly as given, and applies to later files.
    let given = output(command().args(["info", "--tick", "1/3ns"]).arg(&run));
    assert!(
        given.stderr.contains("the files do not say their tick; the store keeps 1/3 ns"),
        "{}",
        given.stderr
    );
    let given = given.json();
    assert_eq!((&given["tick"], &given["tick_assumed"]), (&"1000000000/3".into(), &false.into()));
    fs::write(run.join("2.tsv"), "1\t20\n").unwrap();
    let kept = info_of(&run, &[]).json();
    assert_eq!((&kept["tick"], &kept["tags"]), (&"1000000000/3".into(), &3.into()));
    // Another tick holds for one query.
    assert_eq!(info_of(&run, &["--tick", "1ns"]).json()["tick"], "1000000000/1");
    assert_eq!(info_of(&run, &[]).json()["tick"], "1000000000/3");
    // A recorder's files have the assumed tick, and texts in the same folder use it.
    let around = folder.path().join("mixed");
    fs::create_dir(&around).unwrap();
    let mixed = fixture_copy(&around);
    fs::write(mixed.join("9.tsv"), "1\t9000000000000\n").unwrap();
    let info = info_of(&mixed, &[]).json();
    assert_eq!((&info["tick"], &info["tick_assumed"]), (&"156250000/1".into(), &true.into()));
    // From tagq.toml.
    let setup = folder.path().join("setup");
    fs::create_dir(&setup).unwrap();
    fs::write(setup.join("1.tsv"), "1\t10\n").unwrap();
    fs::write(setup.join("tagq.toml"), "tick = '2ps'\n").unwrap();
    assert_eq!(info_of(&setup, &[]).json()["tick"], "2000000/1");
}

fn info_of(run: &Path, args: &[&str]) -> Output {
    output(command().args(["info", "-q", "--format", "json"]).args(args).arg(run))
}

/// As older versions wrote them.
#[test]
fn a_store_of_text_with_an_assumed_tick_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("a.tsv"), folder.path().join("a.tsv.tagq"));
    fs::write(&path, "1\t10\n2\t12\n").unwrap();
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(&store, &creation).unwrap();
    let (part, settings) = (SourcePart::Whole { rebase: None }, Settings::default());
    ingest(&path, "a.tsv", part, &settings, &mut writer).unwrap();
    writer.commit().unwrap();
    drop(writer);
    File::options().append(true).open(&path).unwrap().write_all(b"1\t13\n").unwrap();
    let answer = output(command().args(["coincidences", "--window", "5t"]).arg(&path)).json();
    assert_eq!((&answer["run"]["tick_assumed"], &answer["run"]["tags"]), (&true.into(), &3.into()));
    let table = output(command().args(["rates", "--format", "table"]).arg(&path));
    assert!(table.text().contains("tick 156.25 ps (assumed)"), "{}", table.text());
    let rebuilt = output(command().args(["ingest", "--rebuild"]).arg(&path));
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.stderr);
}

/// 1.5 ns and 2.25 ns are 6 and 9 ticks of 250 ps.
#[test]
fn times_in_a_unit_become_ticks_that_only_a_rebuild_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.csv");
    fs::write(&path, "time,channel\n1.5,3\n2.25,4\n").unwrap();
    let run = |args: &[&str]| output(command().args(args).arg(&path));
    let without = run(&["cat", "-q", "--columns", "time=:ns"]);
    assert_eq!(without.text(), "3\t1500\n4\t2250\n");
    let printed = run(&["cat", "-q", "--columns", "time=:ns", "--tick", "250ps"]);
    assert_eq!(printed.text(), "3\t6\n4\t9\n");
    let out = folder.path().join("out.tsv");
    let converted = output(
        command()
            .args(["convert", "-q", "--columns", "time=:ns", "--tick", "250ps"])
            .args([&path, &out]),
    );
    assert_eq!((converted.code, fs::read_to_string(&out).unwrap()), (0, "3\t6\n4\t9\n".into()));

    let times = || {
        let rows = run(&["export", "-q", "--format", "csv"]);
        rows.text().lines().skip(1).map(|line| line.split(',').next().unwrap().to_owned()).collect()
    };
    let taken = run(&["ingest", "-q", "--columns", "time=:ns", "--tick", "250ps"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    let found: Vec<String> = times();
    assert_eq!(found, ["6", "9"]);
    let set = run(&["set", "--tick", "1ps"]);
    assert_eq!(set.code, 2, "{}", set.stderr);
    assert!(set.stderr.contains("tagq ingest --rebuild --tick 1ps"), "{}", set.stderr);
    let again = run(&["ingest", "-q", "--rebuild", "--tick", "1ps"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let found: Vec<String> = times();
    assert_eq!(found, ["1500", "2250"]);
    let other = run(&["rates", "--columns", "time=:us"]);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("time=time:ns"), "{}", other.stderr);
}

/// The first lines, the unit and the names are known again when the file grows and when it is ingested again.
#[test]
fn a_text_of_another_program_keeps_its_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("night.csv");
    fs::write(&path, "Run 7\n\nChannel;Time [ns]\nBob;1,5\n").unwrap();
    let run = |args: &[&str]| output(command().args(args).arg(&path));
    let refused = run(&["rates"]);
    assert!(refused.stderr.contains("line 1: \"Run 7\""), "{}", refused.stderr);
    assert!(refused.stderr.contains("--skip-lines 2"), "{}", refused.stderr);
    let counts = |args: &[&str]| {
        let answer = run(args).json();
        let rows = answer["run"]["channels"].as_array().unwrap().clone();
        let row = |row: &serde_json::Value| {
            (row["name"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap())
        };
        assert_eq!(answer["run"]["tick"], "1000000/1");
        rows.iter().map(row).collect::<Vec<_>>()
    };
    let taken = run(&["ingest", "-q", "--skip-lines", "2"]);
    assert_eq!(taken.code, 0, "{}", taken.stderr);
    assert_eq!(counts(&["rates"]), [("Bob".to_owned(), 1)]);
    File::options().append(true).open(&path).unwrap().write_all(b"Alice;2,25\nBob;3\n").unwrap();
    assert_eq!(run(&["ingest", "-q"]).code, 0);
    let expected = [("Bob".to_owned(), 2), ("Alice".to_owned(), 1)];
    assert_eq!(counts(&["rates"]), expected);
    let rebuilt = run(&["ingest", "-q", "--rebuild"]);
    assert_eq!(rebuilt.code, 0, "{}", rebuilt.stderr);
    assert_eq!(counts(&["rates"]), expected);
    // 0.75 ns after Bob comes Alice.
    let pairs = run(&["coincidences", "--window", "1ns", "--group", "Bob,Alice"]).json();
    assert_eq!(pairs["rows"][0]["count"], 2);
    let other = run(&["rates", "--skip-lines", "1"]);
    assert!(other.code == 2 && other.stderr.contains("skip=2"), "{}", other.stderr);
}

/// A text that states its tick needs no option; a store that was made before keeps its tick and grows.
#[test]
fn a_tick_that_a_text_states_is_that_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = "# Unit Time Tag: 80.955ps\n# Time Tag ; Channel\n 1000 ; 2\n 1777 ; 3\n";
    let file = |name: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let stated = file("stated.txt");
    assert_eq!(facts_of(&stated)["tick"], "80955000/1");
    // Another tick than the one that the file states is refused.
    let other = output(command().args(["ingest", "--tick", "1ps"]).arg(file("other.txt")));
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(
        other.stderr.contains("its tick is 80.955 ps, and that of the run is 1 ps"),
        "{}",
        other.stderr
    );
    // A store of a text that stated nothing grows, whatever the text says by then.
    let grown = file("grown.txt");
    fs::write(&grown, text.replace("Unit Time Tag", "Unit in the file")).unwrap();
    let begun = output(command().args(["ingest", "--tick", "1ps"]).arg(&grown));
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    let before = facts_of(&grown);
    File::options().append(true).open(&grown).unwrap().write_all(b" 2000 ; 2\n").unwrap();
    let after = facts_of(&grown);
    assert_eq!((&before["tick"], &after["tick"]), (&after["tick"], &"1000000/1".into()));
    assert_eq!((before["tags"].as_u64(), after["tags"].as_u64()), (Some(2), Some(3)));
}

fn facts_of(run: &Path) -> serde_json::Value {
    tagq(["info".as_ref(), run.as_os_str()]).json()
}

/// Options that an error prints for times without channels are pasted; every command that ingests takes them.
#[test]
fn times_of_one_channel_are_read_by_the_option_that_the_error_prints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arrivals.txt");
    fs::write(&path, "1000\n1777\n2554\n").unwrap();
    let run = |args: &[&str]| output(command().args(args).arg(&path));
    let refused = run(&["rates", "--tick", "1ps"]);
    assert_eq!(refused.code, 3);
    assert!(
        refused.stderr.contains("--channel 1 reads them as those of channel 1"),
        "{}",
        refused.stderr
    );
    let without_tick = run(&["rates", "--channel", "1"]);
    assert_eq!(without_tick.code, 2);
    assert!(
        without_tick.stderr.contains("`tagq ingest --tick 1ps --columns channel:1 "),
        "{}",
        without_tick.stderr
    );
    let tags = [(1_000, 7), (1_777, 7), (2_554, 7)];
    let converted = run(&["cat", "--channel", "7"]);
    assert_eq!(converted.text(), "7\t1000\n7\t1777\n7\t2554\n");
    assert_eq!(run(&["ingest", "--tick", "1ps", "--channel", "7"]).code, 0);
    assert_eq!(cat(&folder.path().join("arrivals.txt.tagq")), tags);
    let rates = run(&["rates"]).json();
    assert_eq!(rates["rows"][0]["channel"], 7);
    let other = run(&["rates", "--channel", "8"]);
    assert!(other.stderr.contains("was taken with the columns time,channel:7"), "{}", other.stderr);
}

/// Columns with the times of one channel each need not be in step: the run is in order of time.
#[test]
fn a_column_for_each_channel_is_a_run_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("detectors.csv");
    fs::write(&path, "det1;det2\n100;10\n200;20\n300;\n").unwrap();
    let refused = output(command().args(["rates", "--tick", "1ps"]).arg(&path));
    assert!(
        refused.stderr.contains("`--columns time=det1,time=det2` reads it"),
        "{}",
        refused.stderr
    );
    let args = ["ingest", "--tick", "1ps", "--columns", "time=det1,time=det2"];
    let ingested = output(command().args(args).arg(&path));
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    let store = folder.path().join("detectors.csv.tagq");
    assert_eq!(cat(&store), [(10, 2), (20, 2), (100, 1), (200, 1), (300, 1)]);
    let names = output(command().args(["rates", "det2"]).arg(&path)).json();
    assert_eq!(names["rows"][0]["count"], 2, "{names}");
}

/// Times that the tick rounds are counted where left-out facts are: in the note, in `tagq info` and in JSON.
#[test]
fn times_that_a_tick_rounds_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rounded.csv");
    fs::write(&path, "time (ns);ch\n1.5;1\n2.25;2\n3;2\n").unwrap();
    let ingested = output(command().args(["ingest", "--tick", "1ns"]).arg(&path));
    let words = "2 of 3 times have digits below 1 ns and were rounded";
    assert!(ingested.stderr.contains(words), "{}", ingested.stderr);
    let answer = output(command().arg("rates").arg(&path)).json();
    assert!(answer["run"].to_string().contains(words), "{}", answer["run"]);
    assert!(facts_of(&path).to_string().contains(words));
}
