//! Queries that name derived channels and gates: views in the store of a run.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    thread,
};

use serde_json::Value;
use tagq_sampling::some;

use crate::support::{Output, command, output};

/// Makes 0.2 s of four channels in pairs, from `start` tenths of a second on.
fn tags(folder: &Path, start: u32) -> Vec<u8> {
    let at = folder.join(format!("{start}.tags"));
    let made = output(
        command()
            .args(["simulate", "-q", "--rate", "50kHz", "--channels", "1,2,3,4"])
            .args(["--efficiency", "0.6", "--dark", "2kHz", "--duration", "200ms"])
            .args(["--seed", &start.to_string(), "--start", &format!("{}ms", 200 * start)])
            .arg(&at),
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let bytes = fs::read(&at).unwrap();
    fs::remove_file(&at).unwrap();
    bytes
}

const SETUP: &str = r#"
[channels]
1 = "Alice"
[delays]
2 = "1ns"
[derived]
Pair = "Alice & 2 within 2ns"
Any = "Alice | 3"
Quiet = "3 unless 4 in -5us..20us"
Tenth = "4 / 10"
[gates]
near = "4 for 10us"
far = "not near"
"#;

/// Makes a run of so many pieces in one file.
fn recorded(folder: &Path, pieces: u32) -> PathBuf {
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    fs::write(run.join("tagq.toml"), SETUP).unwrap();
    (0..pieces).for_each(|piece| append(&run.join("a.tags"), &tags(folder, piece)));
    run
}

fn append(file: &Path, bytes: &[u8]) {
    OpenOptions::new().create(true).append(true).open(file).unwrap().write_all(bytes).unwrap();
}

fn ask(args: &[&str], run: &Path) -> Output {
    output(command().args(args).arg(run).args(["--format", "json"]))
}

/// Returns rows, singles, facts of the run and the query of an answer.
fn counted(asked: &Output) -> Value {
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let answer = asked.json();
    serde_json::json!([answer["rows"], answer["singles"], answer["run"], answer["query"]])
}

/// The folders of views, with the commit of each.
fn views(run: &Path) -> Vec<(PathBuf, String, u64)> {
    let Ok(entries) = fs::read_dir(run.join(".tagq/views")) else { return Vec::new() };
    let mut views = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        let manifest = fs::read(path.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_slice(&manifest).unwrap();
        let (run, commit) = (&manifest["run_id"], &manifest["commit"]);
        views.push((path, run.to_string(), commit.as_u64().unwrap()));
    }
    views.sort();
    views
}

/// Questions, and the channels that each counts.
const QUESTIONS: [(&[&str], &str); 9] = [
    (&["rates", "--channels", "Pair,Any,2"], "Pair,Any,2"),
    (&["rates", "--gate", "near"], "1,2,3,4"),
    (&["rates", "--derive", "Two = 2 | 3", "--gate", "far", "--gate", "1 for 30us"], "1,2,3,4,Two"),
    (&["coincidences", "Quiet,2", "--window", "5us"], "Quiet,2"),
    (&["coincidences", "--window", "2ns", "--gate", "4 .. 3", "--delay", "4=3ns"], "1,2,3,4"),
    (&["g2", "Any,4", "--range", "1us", "--bin", "10ns"], "Any,4"),
    (&["histogram", "Tenth,3", "--range", "10us", "--bin", "1us", "--gate", "near"], "Tenth,3"),
    (&["rates", "--bin", "50ms", "--channels", "Quiet,Tenth"], "Quiet,Tenth"),
    (
        &[
            "coincidences",
            "Pair,3",
            "--window",
            "1us",
            "--join",
            "--derive",
            "Pair = 1 & 4 within 3ns",
        ],
        "Pair,3",
    ),
];

#[test]
fn a_view_answers_as_a_store_that_was_derived() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 2);
    append(&run.join("b.tags"), &tags(folder.path(), 3));
    for (at, (question, channels)) in QUESTIONS.iter().enumerate() {
        let kept = counted(&ask(question, &run));
        assert_eq!(kept, counted(&ask(question, &run)), "{question:?}");
        let temporary = counted(&ask(&[question, &["--no-cache"][..]].concat(), &run));
        assert_eq!(kept, temporary, "{question:?}");
        // The same from a store that `tagq derive` made, without the options that it used.
        let (mut of_store, mut of_query) = (vec!["--channels", channels], Vec::new());
        let mut words = question.iter();
        while let Some(&word) = words.next() {
            match word {
                "--derive" => of_store.push(*words.next().unwrap()),
                "--gate" => of_store.extend([word, words.next().unwrap()]),
                "--delay" => {
                    let delay = words.next().unwrap();
                    of_store.extend([word, delay]);
                    of_query.extend([word, delay]);
                }
                "--join" => {
                    of_store.push(word);
                    of_query.push(word);
                }
                word => of_query.push(word),
            }
        }
        let store = folder.path().join(format!("{at}.tagq"));
        let made =
            output(command().args(["derive", "-q", "-o"]).arg(&store).arg(&run).args(of_store));
        assert_eq!(made.code, 0, "{}", made.stderr);
        let setup = folder.path().join("plain.toml");
        fs::write(&setup, "[delays]\n2 = \"1ns\"\n").unwrap();
        let setup = setup.to_str().unwrap();
        let alone = ask(&[&of_query[..], &["--setup", setup]].concat(), &store);
        assert_eq!(alone.code, 0, "{}", alone.stderr);
        let alone = alone.json();
        let rows = kept[0].as_array().unwrap();
        assert!(rows.iter().any(|row| row["count"].as_u64() > Some(0)), "{question:?}");
        assert_eq!(kept[0], alone["rows"], "{question:?}");
        assert_eq!(kept[2]["live_s"], alone["run"]["live_s"], "{question:?}");
    }
    assert_eq!(views(&run).len(), QUESTIONS.len());
    assert!(views(&run).iter().all(|(.., commit)| *commit == 1));
}

#[test]
fn views_continue_as_their_run_grows() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let (mut continued, mut again) = (0, 0);
    let mut before: Vec<(PathBuf, String, u64)> = Vec::new();
    for piece in 1..6 {
        for (question, _) in QUESTIONS {
            let kept = counted(&ask(question, &run));
            let scratch = counted(&ask(&[question, &["--no-cache"][..]].concat(), &run));
            assert_eq!(kept, scratch, "{piece} {question:?}");
        }
        let now = views(&run);
        for (path, run_id, commit) in &now {
            let Some((_, of, earlier)) = before.iter().find(|(other, ..)| other == path) else {
                continue;
            };
            let is_same: bool = of == run_id;
            assert!(commit > earlier);
            continued += usize::from(is_same);
            again += usize::from(!is_same);
        }
        before = now;
        // Within a file, and by files that follow.
        let to = if piece < 3 { "a.tags" } else { "b.tags" };
        append(&run.join(to), &tags(folder.path(), piece));
    }
    assert_eq!(before.len(), QUESTIONS.len());
    assert!(continued > 20 && again == 0, "{continued} continued, {again} made again");
}

#[test]
#[cfg(unix)]
fn a_view_that_cannot_be_kept_is_temporary() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let question = ["rates", "--channels", "Pair,2"];
    let first = ask(&["rates"], &run);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let views_folder = run.join(".tagq/views");
    // A link leads nowhere, and nothing is written through it.
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, &views_folder).unwrap();
    let linked = ask(&question, &run);
    assert!(linked.stderr.contains("the view is not kept for the next time"), "{}", linked.stderr);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(&views_folder).unwrap();
    let kept = ask(&question, &run);
    assert!(!kept.stderr.contains("not kept"), "{}", kept.stderr);
    assert_eq!(counted(&kept), counted(&linked));
    let [(view, ..)] = &views(&run)[..] else { panic!("one view") };
    // Damage of its own files and of its state is noticed.
    for name in ["view", "manifest.json", "gap.1.col", "lock"] {
        let Some(name) = fs::read_dir(view).unwrap().find_map(|entry| {
            let found = entry.unwrap().file_name().into_string().unwrap();
            (found == name || name.starts_with("gap") && found.starts_with("gap")).then_some(found)
        }) else {
            panic!("no {name}")
        };
        let file = view.join(&name);
        let len = fs::metadata(&file).unwrap().len();
        File::options().write(true).open(&file).unwrap().set_len(len / 2).unwrap();
        assert_eq!(counted(&ask(&question, &run)), counted(&kept), "{name}");
    }
    fs::remove_dir_all(view).unwrap();
    fs::create_dir(view).unwrap();
    fs::write(view.join("notes.txt"), "of another program").unwrap();
    let other = ask(&question, &run);
    assert_eq!(counted(&other), counted(&kept));
    // A store of somebody else, moved here.
    let other = recorded(&folder.path().join("run"), 1);
    assert_eq!(ask(&question, &other).code, 0);
    let [(moved, ..)] = &views(&other)[..] else { panic!("one view") };
    fs::remove_dir_all(view).unwrap();
    fs::rename(moved, view).unwrap();
    assert_eq!(counted(&ask(&question, &run)), counted(&kept));
}

#[test]
fn processes_that_make_one_view_at_once_agree() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 3);
    assert_eq!(ask(&["rates"], &run).code, 0);
    let question = QUESTIONS[3].0;
    let scratch = counted(&ask(&[question, &["--no-cache"][..]].concat(), &run));
    thread::scope(|scope| {
        let asked: Vec<_> = (0..6).map(|_| scope.spawn(|| counted(&ask(question, &run)))).collect();
        for one in asked {
            assert_eq!(one.join().unwrap(), scratch);
        }
    });
    assert_eq!(views(&run).len(), 1);
}

#[test]
fn few_views_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    for ns in 1..=66 {
        let derive = format!("X = 1 dead {ns}ns");
        assert_eq!(ask(&["rates", "--channels", "X", "--derive", &derive], &run).code, 0);
    }
    assert_eq!(views(&run).len(), 64);
    // Those of a run that was made again are of no use.
    let again = output(command().args(["ingest", "-q", "--rebuild"]).arg(&run));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(ask(&["rates", "--channels", "Pair"], &run).code, 0);
    assert_eq!(views(&run).len(), 1);
}

#[test]
fn what_a_view_cannot_do_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let plan = folder.path().join("plan.json");
    let plan = plan.to_str().unwrap();
    for (question, reason) in [
        (&["rates", "--channels", "Pair", "--delay", "Pair=1ns"][..], "has no delay of its own"),
        (&["rates", "--derive", "X = 1 | X"], "X → X"),
        (&["rates", "--derive", "1 | 2"], "NAME = DEFINITION"),
        (&["rates", "--derive", "Alice = 1 | 2"], "Alice"),
        (&["rates", "--gate", "nera"], "no gate is called `nera`"),
        (&["rates", "--gate", "Pair .. nothing"], "nothing"),
        (
            &["coincidences", "Pair,3", "--window", "2ns", "--delay", "auto"],
            "delays are found between channels of the run",
        ),
        (&["coincidences", "Pairs,3", "--window", "2ns"], "did you mean"),
        (
            &["plan", "rates", "--channels", "Pair", "--parts", "2", "-o", plan],
            "tagq derive RUN -o NEW.tagq",
        ),
        (&["delays", "Pair,3"], "tagq derive RUN -o NEW.tagq"),
    ] {
        let refused = output(command().args(question).arg(&run));
        assert_eq!(refused.code, 2, "{question:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{question:?}: {}", refused.stderr);
    }
}

/// Definitions that double the tags are refused by name before they fill disk and memory; the option raises the limit.
#[test]
fn a_view_has_a_bounded_number_of_tags() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let ask = |levels: usize, more: &[&str]| {
        let mut words = vec!["rates".to_owned(), "--channels".into(), format!("a{levels}")];
        for level in 0..=levels {
            let of =
                |name: &str| if level == 0 { name.into() } else { format!("{name}{}", level - 1) };
            let [a, b] = if level == 0 { ["1", "2"] } else { ["a", "b"] }.map(of);
            let texts = [format!("a{level} = {a} | {b}"), format!("b{level} = {b} | {a}")];
            words.extend(texts.into_iter().flat_map(|text| ["--derive".into(), text]));
        }
        output(command().args(words).args(more).arg(&run).args(["--format", "json"]))
    };
    for (levels, reason) in [
        (7, "the view would have more than"),
        (30, "definitions hold more than"),
        (400, "definitions hold more than"),
    ] {
        let refused = ask(levels, &[]);
        assert_eq!(refused.code, 2, "{levels}: {}", refused.stderr);
        assert!(refused.stderr.contains(reason), "{levels}: {}", refused.stderr);
        let has_name = ["`a", "`b"].iter().any(|name| refused.stderr.contains(name));
        assert!(has_name, "{levels}: {}", refused.stderr);
    }
    let raised = ask(7, &["--view-factor", "200"]);
    let once = ask(0, &[]);
    let count = |of: &Output| of.json()["rows"][0]["count"].as_u64().unwrap();
    assert_eq!(count(&raised), 128 * count(&once));
}

#[test]
fn a_gate_that_is_given_twice_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let once = ask(&["rates", "--gate", "near", "--gate", "1 for 30us"], &run);
    let twice = ask(&["rates", "--gate", "near", "--gate", "1 for 30us", "--gate", "near"], &run);
    assert_eq!(counted(&once), counted(&twice));
}

#[test]
fn an_answer_of_a_view_is_reproduced() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let saved = folder.path().join("answer.json");
    let question =
        ["coincidences", "Pair,X", "--window", "1us", "--derive", "X = 3 | 4", "--gate", "near"];
    let asked = output(command().args(question).arg(&run).arg("-o").arg(&saved));
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let answer: Value = serde_json::from_slice(&fs::read(&saved).unwrap()).unwrap();
    let provenance = &answer["provenance"];
    assert_eq!(provenance["options"]["derive"], serde_json::json!(["X = 3 | 4"]));
    assert_eq!(provenance["options"]["gates"], serde_json::json!(["near"]));
    // Also after the run has grown and the setup was edited.
    append(&run.join("a.tags"), &tags(folder.path(), 1));
    fs::write(run.join("tagq.toml"), SETUP.replace("2ns", "5ns")).unwrap();
    let again = output(command().arg("reproduce").arg(&saved));
    assert_eq!(again.code, 0, "{}\n{}", String::from_utf8_lossy(&again.stdout), again.stderr);
}

#[test]
fn a_list_names_derived_channels() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let question = ["coincidences", "Pair,3", "--window", "1us"];
    let count = counted(&ask(&question, &run))[0][0]["count"].as_u64().unwrap();
    let listed = output(command().args(question).arg("--list").arg(&run).args(["--format", "csv"]));
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("row_255"), "{}", &listed[..200]);
    let rows = listed.lines().filter(|line| !line.starts_with('#')).count() - 1;
    assert_eq!(rows as u64, count);
}

/// Questions by interval: the options of the query, and by what.
const BY: [(&[&str], &str); 10] = [
    (&["rates"], "4"),
    (&["rates", "--errors", "blocks:3", "--channels", "1,Pair"], "Tenth"),
    (&["rates", "--from", "5ms", "--to", "90ms"], "near"),
    (&["coincidences", "Alice,2", "--window", "2ns"], "near"),
    (&["coincidences", "--window", "2ns", "--gate", "4 .. 3"], "3"),
    (&["coincidences", "--window", "30us", "--rule", "cluster"], "Tenth"),
    (&["histogram", "Alice,2", "--bin", "1ns", "--range", "-5ns..5ns"], "Tenth .. Pair"),
    (&["coincidences", "1,3", "2,3", "--window", "5us", "--rule", "once", "--join"], "not near"),
    (&["g2", "Alice,2", "--bin", "1us", "--range", "-5us..5us"], "Tenth"),
    (&["g2", "2,2", "--bin", "20us", "--range", "-100us..100us", "--join"], "not near"),
];

#[test]
fn a_row_of_an_interval_is_that_of_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 2);
    append(&run.join("b.tags"), &tags(folder.path(), 5));
    for (query, by) in BY {
        let all = ask(&[query, &["--by", by]].concat(), &run);
        assert_eq!(all.code, 0, "{query:?}: {}", all.stderr);
        let rows = all.json()["rows"].as_array().unwrap().clone();
        let number = |row: &Value| row["interval"].as_u64().unwrap();
        let (first, last) = (number(&rows[0]), number(rows.last().unwrap()));
        assert!(last > first + 20, "{query:?}: {first} to {last}");
        let query: Vec<&str> = query.iter().copied().take_while(|word| *word != "--from").collect();
        for at in some([first, first + 1, first + 20, last - 1, last]) {
            let own: Vec<&Value> = rows.iter().filter(|row| number(row) == at).collect();
            // A cluster may have no row.
            let Some(start) = own.first().map(|row| row["start_ticks"].as_i64().unwrap()) else {
                continue;
            };
            let end = start + own[0]["length_ticks"].as_i64().unwrap();
            let (from, to) = (format!("{start}t"), format!("{end}t"));
            // The selection may cut the first one and the last one.
            if all.json()["query"]["from_ticks"].is_i64() && own[0]["partial"] == true {
                continue;
            }
            let alone = ask(&[&query[..], &["--from", &from, "--to", &to]].concat(), &run);
            let alone = alone.json();
            let alone = alone["rows"].as_array().unwrap().iter().map(without_no_limit);
            let own = own.into_iter().map(|row| without_no_limit(&without_place(row)));
            let (own, alone): (Vec<Value>, Vec<Value>) = (own.collect(), alone.collect());
            assert_eq!(own, alone, "{query:?} by {by}, interval {at}");
        }
    }
}

/// Markers that a negative delay moves away from the end divide the time there, too.
#[test]
fn intervals_reach_the_end_of_a_source_whatever_the_delays_of_their_markers() {
    let folder = tempfile::tempdir().unwrap();
    let mut tags: Vec<(i64, u16)> = (0..=30).map(|at| (100 * at, 1)).collect();
    tags.extend([(1000, 7), (1900, 8), (2500, 7), (2950, 8)]);
    tags.sort_unstable();
    let mut lines = String::new();
    for (time, channel) in tags {
        let _ = writeln!(lines, "{channel}\t{time}");
    }
    fs::write(folder.path().join("m.tsv"), lines).unwrap();
    for (delay, expected) in [
        ("8=0t", [[1000, 900, 9], [2500, 450, 5]]),
        ("8=-200t", [[1000, 700, 7], [2500, 250, 3]]),
        ("7=-600t", [[400, 1500, 15], [1900, 1050, 11]]),
        // The gate that nothing closes ends with the source.
        ("8=-900t", [[1000, 1050, 11], [2500, 501, 6]]),
    ] {
        let words =
            ["rates", "--tick", "1ps", "--channels", "1", "--by", "7 .. 8", "--delay", delay];
        let asked = output(
            command().args(words).args(["--format", "json", "m.tsv"]).current_dir(folder.path()),
        );
        let rows = asked.json()["rows"].as_array().unwrap().clone();
        let number = |row: &Value, name: &str| row[name].as_i64().unwrap();
        let found: Vec<[i64; 3]> = rows
            .iter()
            .map(|row| ["start_ticks", "length_ticks", "count"].map(|name| number(row, name)))
            .collect();
        assert_eq!(found, expected, "{delay}");
        let is_open = delay == "8=-900t";
        assert_eq!(
            (&rows[0]["partial"], &rows[1]["partial"]),
            (&false.into(), &(is_open || delay == "7=-600t").into()),
            "{delay}"
        );
    }
}

#[test]
fn names_divide_a_run_however_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    let setup = SETUP.replace("Alice", "Alice B.").replace("near =", "\"so near\" =");
    let setup = setup
        .replace("\"Alice B. ", "\"\\\"Alice B.\\\" ")
        .replace("not near", "not \\\"so near\\\"");
    fs::write(run.join("tagq.toml"), setup).unwrap();
    let rows = |by: &str| {
        let asked = ask(&["rates", "--channels", "2", "--by", by], &run);
        assert_eq!(asked.code, 0, "{by}: {}", asked.stderr);
        asked.json()["rows"].as_array().unwrap().len()
    };
    assert_eq!(rows("Alice B."), rows("1"));
    assert_eq!(rows("\"Alice B.\""), rows("1"));
    assert_eq!(rows("so near"), rows("4 for 10us"));
    assert_eq!(rows("\"Alice B.\" .. 4"), rows("1 .. 4"));
    // No interval at all, also where it is drawn.
    for query in ["rates", "histogram", "coincidences"] {
        let args = [query, "1,2", "--by", "9 .. 1"];
        let window: &[&str] = if query == "coincidences" { &["--window", "2ns"] } else { &[] };
        let none = ask(&[&args[..], window].concat(), &run);
        assert_eq!(none.code, 0, "{}", none.stderr);
        assert_eq!(none.json()["rows"].as_array().map(Vec::len), Some(0));
        let drawn = output(command().args(args).args(window).arg("--plot").arg(&run));
        assert!(
            drawn.code == 0 && drawn.text().contains("no value is defined"),
            "{}",
            drawn.text()
        );
    }
    // An option of the setup gives way.
    let setup = fs::read_to_string(run.join("tagq.toml")).unwrap();
    fs::write(run.join("tagq.toml"), format!("{setup}[rates]\nbin = \"1ms\"\n")).unwrap();
    assert_eq!(rows("4 for 10us"), rows("so near"));
}

/// Returns a row without the columns that say where its interval lies.
fn without_place(row: &Value) -> Value {
    let mut row = row.clone();
    let columns = row.as_object_mut().unwrap();
    for name in ["interval", "start_s", "start_ticks", "length_s", "length_ticks", "partial"] {
        assert!(columns.remove(name).is_some(), "{name}");
    }
    row
}

/// Returns a row without the limit of g2 that it does not have: there is a column of it if any row has one.
fn without_no_limit(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut().unwrap().retain(|name, value| name != "g2_max" || !value.is_null());
    row
}

#[test]
fn what_cannot_be_divided_by_tags_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = recorded(folder.path(), 1);
    for (words, said) in [
        (&["rates", "--by", "4", "--bin", "1ms"][..], "--bin"),
        (&["rates", "--by", "nowhere"], "neither one channel nor a gate"),
        (&["rates", "--by", "1,2"], "neither one channel nor a gate"),
        (&["rates", "--by", "4 .. nowhere"], "nowhere"),
        (&["histogram", "1,2", "--by", "4", "--g2", "--errors", "blocks"], "errors by formula"),
        (&["g2", "1,2", "--by", "4", "--pulsed", "10ns"], "--pulsed"),
        (&["coincidences", "--window", "2ns", "--by", "4", "--list"], "--by"),
        (&["rates", "--by", "4", "--last", "1ms"], "--last"),
    ] {
        let asked = ask(words, &run);
        assert!(asked.code == 2 && asked.stderr.contains(said), "{words:?}: {}", asked.stderr);
    }
}
