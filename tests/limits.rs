//! Queries that are too large: refused before counting, or announced with a note.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::support::{Killed, command, interruptible, output};

/// Writes two tags of each of two channels, 10^15 ticks from the first to the last.
fn long(folder: &Path) -> PathBuf {
    let run = folder.join("long.tsv");
    fs::write(folder.join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    fs::write(&run, "1\t0\n2\t5\n1\t999999999999990\n2\t1000000000000000\n").unwrap();
    run
}

#[test]
fn what_takes_more_memory_than_there_is_is_refused_with_what_would_work() {
    let folder = tempfile::tempdir().unwrap();
    let run = long(folder.path());
    for args in [
        "rates --bin 1t",
        "rates --bin 1000t",
        "coincidences --window 1ns --bin 1000t",
        "coincidences --window 1ns --rule cluster --bin 1000t",
        "coincidences --window 1ns --errors blocks --bin 10000000000t",
        "rates --errors blocks --bin 100000000t",
        "histogram --start 1 --stop 2 --bin 1t --range 1000000000000t",
        "histogram --start 1 --stop 2 --bin 1t --range 0t..1000000000000t",
        "g2 1,2 --bin 1t --range 67000000t",
    ] {
        let refused = output(command().args(args.split_whitespace()).arg(&run));
        assert_eq!(refused.code, 2, "{args}: {}", refused.stderr);
        let said = &refused.stderr;
        assert!(
            said.contains(" bins would take ") && said.contains(" GiB of memory"),
            "{args}: {said}"
        );
        assert!(said.contains(": --bin ") && said.contains(" would work"), "{args}: {said}");
    }
    // The error proposes a bin width with which the query is accepted.
    let refused =
        output(command().args(["coincidences", "--window", "1ns", "--bin", "1000t"]).arg(&run));
    let bin = refused.stderr.split("--bin ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let planned = output(
        command().args(["g2", "1,2", "--explain", "--range", "1us", "--bin", &bin]).arg(&run),
    );
    assert_eq!(planned.code, 0, "{bin}: {}", planned.stderr);
}

#[test]
fn too_many_shifts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = long(folder.path());
    for counts in ["10001", "4294967295", "1000000000000"] {
        let how = format!("shifted:{counts}");
        let refused = output(
            command().args(["coincidences", "--window", "1ns", "--accidentals", &how]).arg(&run),
        );
        assert_eq!(refused.code, 2, "{counts}: {}", refused.stderr);
        assert!(refused.stderr.contains("at most 10000 counts"), "{}", refused.stderr);
    }
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn rows_are_written_as_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("sparse.tsv");
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    // 400,000 bins of 2,500 ticks.
    fs::write(&run, "1\t0\n2\t5\n1\t999999990\n2\t1000000000\n").unwrap();
    let program = env!("CARGO_BIN_EXE_tagq");
    let ingested = output(command().args(["rates", "-q"]).arg(&run));
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    for format in ["json", "csv", "arrow", "table"] {
        // The bins of two channels, in JSON with their totals (more than 200 MB), in a table with a row for each bin; 200 MB
        // of address space suffice for the program, its threads and its counts.
        let script = format!(
            "ulimit -v 200000; {program} rates --bin 2500t --threads 1 --format {format} '{}' | wc -l",
            run.display()
        );
        let counted = output(Command::new("bash").args(["-o", "pipefail", "-c", &script]));
        assert_eq!(counted.code, 0, "{format}: {}", counted.stderr);
        let lines: u64 = counted.text().trim().parse().unwrap();
        let rows = match format {
            "table" => 400_000,
            "csv" => 800_000,
            _ => 1_200_000,
        };
        assert!(format == "arrow" || lines > rows, "{format}: {lines}");
    }
}

#[test]
#[cfg(unix)]
fn long_work_is_announced_and_ctrl_c_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = long(folder.path());
    // 1,000 bins, each counted 10,001 times: 10^7 scans of 10 us are 100 s.
    let args = "coincidences --window 1ns --accidentals shifted:10000 --bin 1000000000000t";
    let mut child = interruptible();
    let child = child.args(args.split_whitespace()).arg(&run);
    let mut child = Killed(child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let stderr = BufReader::new(child.0.stderr.take().unwrap());
    let note = stderr.lines().map(Result::unwrap).find(|line| line.contains("this may take about"));
    assert!(note.is_some_and(|note| note.contains("scans") && note.contains("Ctrl-C ends it")));
    let id = child.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let ended = child.0.wait().unwrap();
    assert!(
        ended.code() == Some(130)
            || std::os::unix::process::ExitStatusExt::signal(&ended) == Some(2),
        "{ended:?}"
    );
}

#[test]
#[cfg(unix)]
fn more_than_a_day_of_work_is_refused_unless_it_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("bright.tags");
    let light = "simulate -q --coherent --channels 1,2,3 --rate 100kHz";
    let made = output(command().args(light.split(' ')).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    // 10^15 triples.
    let args = ["histogram2d", "1,2,3", "--range", "1h"];
    let refused = output(command().args(args).arg(&run));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for said in ["would take about", " days: ", "triples", "--long"] {
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
    }
    let explained = output(command().args(args).args(["--explain", "--json"]).arg(&run)).json();
    let plan = &explained["plan"];
    assert!(plan["estimated_s"].as_f64().unwrap() > 86_400.0, "{plan}");
    let near = plan["pairs"].as_f64().unwrap() / 1e15;
    assert!((0.9..1.1).contains(&near), "{plan}");
    let mut child = interruptible();
    let child = child.args(args).arg("--long").arg(&run);
    let mut child = Killed(child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let stderr = BufReader::new(child.0.stderr.take().unwrap());
    let note = stderr.lines().map(Result::unwrap).find(|line| line.contains("this may take about"));
    assert!(note.is_some_and(|note| note.contains("days")));
    let id = child.0.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert!(!child.0.wait().unwrap().success());

    let endless = ["simulate", "--duration", "4611686018427387904t"];
    let never = folder.path().join("never.tags.zst");
    let refused = output(command().args(endless).arg(&never));
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--long"), "{}", refused.stderr);
    assert!(!never.exists());
}
