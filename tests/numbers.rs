//! Numbers of parts, threads and the like at the ends of their ranges: bounded or refused at once.

use std::{path::Path, process::Command};

use crate::support::{Output, fixture_copy, output};

/// Runs `tagq` with at most 60 s of processor time, and 4 GB of address space.
fn bounded(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Output {
    let script = "ulimit -t 60; ulimit -v 4000000; exec \"$@\"";
    // Windows has no such limits.
    let mut command = Command::new(if cfg!(unix) { "bash" } else { env!("CARGO_BIN_EXE_tagq") });
    if cfg!(unix) {
        command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_tagq")]);
    }
    command.envs(variables.iter().copied()).current_dir(folder);
    output(command.args(line.split_whitespace()))
}

const NUMBERS: [&str; 9] = [
    "0",
    "-7",
    "1000000000",
    "4000000000",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
];

#[test]
fn any_number_is_answered_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let planned = bounded(folder.path(), "plan rates run -o plan", &[]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    for number in NUMBERS {
        for line in [
            "plan rates run --force -o p --parts=N",
            "plan rates run --force -o p --part-tags=N",
            "plan coincidences --window 2ns --rule once run --force -o p --parts=N",
            "partial plan --force -o p.0 --index=N",
            "coincidences --window 2ns --errors blocks:N run",
            "coincidences --window 2ns --accidentals shifted:N run",
            "coincidences --window 2ns --choose=N run",
            "g2 1,2 --log=N --range 1ns..1us run",
            "g2 1,2 --range 1us --errors blocks:N --covariance run",
            "rates --bin Nt run",
            "cat run --at 0s --tags=N",
            "simulate --force --duration 1ms --frames=N f.tags.zst",
            "simulate --force --duration 1ms --files=N light",
        ] {
            let line = line.replace('N', number);
            let done = bounded(folder.path(), &line, &[]);
            let is_said = done.code == 0 || done.code == 2 && !done.stderr.is_empty();
            assert!(is_said, "{line}: {} {}", done.code, done.stderr);
            assert!(!done.stderr.contains("panicked"), "{line}: {}", done.stderr);
        }
    }
    for (line, words) in [
        (
            "plan rates run -o q --parts 4000000000",
            "a plan, which has at most 1000000: --parts 1000000",
        ),
        ("partial plan -o p.7 --index 7", "the plan has no part 7; its only part is 0"),
    ] {
        let refused = bounded(folder.path(), line, &[]);
        assert_eq!(refused.code, 2, "{line}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{line}: {}", refused.stderr);
    }
}

#[test]
fn any_number_of_threads_counts_the_same() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let expected = bounded(folder.path(), "rates --no-cache --threads 1 run", &[]).json();
    let same = |line: &str, variables: &[(&str, &str)]| {
        let done = bounded(folder.path(), line, variables);
        assert_eq!(done.json()["rows"], expected["rows"], "{line} {variables:?}");
    };
    for number in ["0", "20000", "99999999", "18446744073709551615"] {
        same(&format!("rates --no-cache --threads {number} run"), &[]);
        same("rates --no-cache run", &[("SLURM_CPUS_PER_TASK", number)]);
        same("rates --no-cache run", &[("RAYON_NUM_THREADS", number)]);
        let ingest = format!("ingest --rebuild --threads {number} run");
        assert_eq!(bounded(folder.path(), &ingest, &[]).code, 0);
    }
    for wrong in ["-7", "many", "18446744073709551616"] {
        same("rates --no-cache run", &[("SLURM_CPUS_PER_TASK", wrong)]);
    }
}

#[test]
fn a_job_of_an_array_has_a_number_that_is_one() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    assert_eq!(bounded(folder.path(), "plan rates run -o plan", &[]).code, 0);
    for (number, words) in [
        ("-7", "$SLURM_ARRAY_TASK_ID is -7, and parts have the numbers 0, 1, 2"),
        ("x", "$SLURM_ARRAY_TASK_ID is x"),
        ("4294967296", "$SLURM_ARRAY_TASK_ID is 4294967296"),
        ("1", "its only part is 0"),
    ] {
        let line = "partial plan -o p";
        let refused = bounded(folder.path(), line, &[("SLURM_ARRAY_TASK_ID", number)]);
        assert_eq!(refused.code, 2, "{number}: {}", refused.stderr);
        assert!(refused.stderr.contains(words), "{number}: {}", refused.stderr);
    }
    let done = bounded(folder.path(), "partial plan -o p", &[("SLURM_ARRAY_TASK_ID", "0")]);
    assert_eq!(done.code, 0, "{}", done.stderr);
}
