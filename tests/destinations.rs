//! No command writes over a file that is needed: neither over a recording, nor over a file of a store, nor, without
//! `--force`, over any other file.

use std::{fs, path::Path};

use crate::support::{Place, fixture_copy, tagq};

/// The commands that write a file, with `OUT` in its place. `PLAN` and `PART` are a plan and its partial result.
const WRITING: &[&str] = &[
    "coincidences --window 2ns run --format json -o OUT",
    "coincidences --window 2ns run --list --format csv -o OUT",
    "histogram --start 1 --stop 2 --range 5ns run --explain --format json -o OUT",
    "image --line 3 --pixels 4 --lines 4 run --format tiff -o OUT",
    "histogram2d 1,2,3 --bin 100ns --range 1us run --format csv -o OUT",
    "micro 1 flim.ptu --format json -o OUT",
    "g2 1,2 --range 100ns run --format parquet -o OUT",
    "rates run --format arrow -o OUT",
    "rates run --plot OUT.svg",
    "delays --channels 1,2 run --format json -o OUT",
    "info --fast run --format json -o OUT",
    "init run -o OUT",
    "formats --format json -o OUT",
    "runs . --format json -o OUT",
    "plan rates run -o OUT",
    "partial PLAN --index 0 -o OUT",
    "merge PLAN PART --format json -o OUT",
    "merge PLAN PART --partial OUT",
    "merge run.tags later.tags --channels-b 10 -o OUT",
    "derive run.tags -o OUT",
    "convert run OUT.csv",
    "export run --format csv -o OUT",
    "simulate --duration 1ms OUT.tags",
];

/// Returns a folder with a run, and a plan and part of it.
fn made() -> Place {
    let place = Place::new();
    fixture_copy(&place.path(""));
    for (name, start) in [("run.tags", "0s"), ("later.tags", "1s")] {
        place.done(&format!("simulate -q --duration 1ms --start {start} {name}"));
    }
    for line in ["plan rates run -o PLAN", "partial PLAN --index 0 -o PART"] {
        place.done(line);
    }
    place
}

/// Runs a command that must be refused with these words, and leave the file as it is.
fn refused(place: &Place, line: &str, file: &str, words: &str) {
    let before = fs::read(place.path(file)).unwrap();
    let refused = place.tagq(line);
    assert_eq!(refused.code, 1, "{line}: {}{}", refused.stderr, refused.text());
    assert!(refused.stderr.contains(words), "{line}: {}", refused.stderr);
    assert!(refused.stdout.is_empty(), "{line}");
    assert_eq!(fs::read(place.path(file)).unwrap(), before, "{line}");
}

/// Returns the line with `out` in the place of `OUT` and of the ending that a name there needs, and this name.
fn with_out(line: &str, out: &str) -> (String, String) {
    let word = line.split_whitespace().find(|word| word.starts_with("OUT")).unwrap();
    let name = word.replace("OUT", out);
    (line.replace(word, &name), name)
}

/// Returns the commands that write a file, by their help.
fn commands_that_write() -> Vec<String> {
    let text = tagq(["--help"]).text().to_owned();
    let listed = text.lines().filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter(|line| line.starts_with(char::is_alphabetic));
    let names = listed.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    let is_writing = |name: &String| {
        // The plan has the queries below it.
        let words: &[&str] = if name == "plan" { &["plan", "rates"] } else { &[name] };
        let help = tagq(words.iter().chain(&["--help"])).text().to_owned();
        ["--output <", "<OUT>"].iter().any(|part| help.contains(part))
    };
    names.filter(|name| name != "help" && name != "tagq").filter(is_writing).collect()
}

#[test]
fn every_command_that_writes_is_tried() {
    let tried = |name: &String| {
        WRITING.iter().any(|line| line.split_whitespace().next() == Some(name.as_str()))
    };
    let names = commands_that_write();
    assert!(names.len() >= 15, "{names:?}");
    for name in names {
        assert!(tried(&name), "{name} is not among those that are tried");
    }
}

#[test]
fn a_file_is_replaced_only_if_asked_for() {
    let place = made();
    for line in WRITING {
        let (line, name) = with_out(line, "there");
        fs::write(place.path(&name), "precious").unwrap();
        refused(&place, &line, &name, "is there already");
        // A new store replaces nothing at all.
        if line.starts_with("derive run") {
            continue;
        }
        if line.starts_with("merge run") {
            refused(&place, &format!("{line} --force"), &name, "is there already");
            continue;
        }
        // There is no recording with micro times here.
        if line.starts_with("micro") {
            continue;
        }
        let replaced = place.tagq(&format!("{line} --force"));
        assert_eq!(replaced.code, 0, "{line}: {}", replaced.stderr);
        assert_ne!(fs::read(place.path(&name)).unwrap(), b"precious", "{line}");
        assert!(fs::metadata(place.path(&name)).unwrap().len() > 0, "{line}");
        fs::remove_file(place.path(&name)).unwrap();
    }
}

#[test]
fn nothing_is_written_into_a_store() {
    let place = made();
    let ingested = place.tagq("ingest --store night.tagq run.tags");
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    fs::rename(place.path("night.tagq"), place.path("night")).unwrap();
    // Also in a store under any name, and a file that is not there yet.
    for (store, file) in
        [("run/.tagq", "channel.col"), ("run/.tagq", "manifest.json"), ("night", "channel.col")]
    {
        let whole = fs::read(place.path(store).join(file)).unwrap();
        for line in WRITING {
            for out in [format!("{store}/{file}"), format!("{store}/new")] {
                let (line, name) = with_out(line, &out);
                for force in ["", " --force"] {
                    if line.starts_with("derive") && !force.is_empty() {
                        continue;
                    }
                    let refused = place.tagq(&format!("{line}{force}"));
                    assert_eq!(refused.code, 1, "{line}: {}", refused.stderr);
                    assert!(refused.stderr.contains("lies in the store"), "{}", refused.stderr);
                }
                assert!(out.ends_with(file) || !place.path(&name).exists(), "{line}");
            }
        }
        assert!(fs::read(place.path(store).join(file)).unwrap() == whole, "{store}/{file}");
    }
    let made = tagq(["man".into(), "--force".into(), place.path("run/.tagq").into_os_string()]);
    assert_eq!(made.code, 1, "{}", made.stderr);
}

#[test]
#[cfg(unix)]
fn a_source_that_is_read_is_never_replaced() {
    let place = made();
    let elsewhere = place.path("lab");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(place.path("run.tags"), elsewhere.join("1.tags")).unwrap();
    fs::copy(place.path("later.tags"), elsewhere.join("2.tags")).unwrap();
    let ingested = place.tagq("ingest --store both.tagq lab/1.tags lab/2.tags");
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    // A link to a source of the run, as a folder of links has them.
    fs::create_dir(place.path("links")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("1.tags"), place.path("links/1.tags")).unwrap();
    for (run, source) in [
        ("run", "run/1.tags.zst"),
        ("run.tags", "run.tags"),
        ("both.tagq", "lab/2.tags"),
        ("lab/1.tags --store both.tagq", "lab/2.tags"),
        ("links", "lab/1.tags"),
    ] {
        for query in [
            "rates --format json -o",
            "g2 1,2 --range 1us --list --format csv -o",
            "rates --explain --format json -o",
            "info --format json -o",
            "export --format csv -o",
            "delays --channels 1,2 --format json -o",
            "plan rates -o",
        ] {
            let line = format!("{query} {source} --force {run}");
            refused(&place, &line, source, "is a file to read");
        }
    }
    refused(&place, "convert --force run.tags run.tags", "run.tags", "is a file to read");
    refused(&place, "convert --force both.tagq lab/2.tags", "lab/2.tags", "is a file to read");
    refused(&place, "partial PLAN --index 0 --force -o PLAN", "PLAN", "is a file to read");
    refused(&place, "merge PLAN PART --force --partial PLAN", "PLAN", "is a file to read");
    refused(&place, "merge PLAN PART --force --format csv -o PLAN", "PLAN", "is a file to read");
}

#[test]
fn a_job_that_runs_twice_replaces_its_own_result_alone() {
    let place = made();
    let planned = place.tagq("plan rates --parts 2 run -o two");
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    for _ in 0..2 {
        assert_eq!(place.tagq("partial two --index 0 -o two.0").code, 0);
    }
    refused(&place, "partial two --index 1 -o two.0", "two.0", "is there already");
    refused(&place, "partial PLAN --index 0 -o two.0", "two.0", "is there already");
    refused(&place, "partial two --index 0 -o run.tags", "run.tags", "is there already");
    fs::write(place.path("cut"), &fs::read(place.path("two.0")).unwrap()[..20]).unwrap();
    refused(&place, "partial two --index 0 -o cut", "cut", "is there already");
}

#[test]
fn a_recorder_writes_into_no_store() {
    let place = made();
    let file: &Path = &place.path("run/.tagq/channel.col");
    let whole = fs::read(file).unwrap();
    for out in ["run/.tagq/channel.col", "run/.tagq/2.tags.zst"] {
        let line = format!("simulate --live 1kHz --rate 1kHz --duration 1ms --force {out}");
        let refused = place.tagq(&line);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("lies in the store"), "{}", refused.stderr);
    }
    assert!(fs::read(file).unwrap() == whole);
}
