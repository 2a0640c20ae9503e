//! Tables as sources: tags that were exported come back as they were, with their tick and micro times.

use std::{fs, path::Path};

use crate::support::{Output, command, fixture_copy, output, root};

const FORMS: [&str; 3] = ["a.parquet", "a.arrow", "a.stream"];

fn run(args: &[&str], path: &Path) -> Output {
    output(command().args(args).arg(path))
}

/// Exports `run` into a folder of its own and returns the file.
fn exported(run: &Path, folder: &Path, name: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    let made = if name == "a.stream" {
        let made = output(command().args(["export", "-q", "--format", "arrow"]).arg(run));
        fs::write(&path, &made.stdout).unwrap();
        made
    } else {
        output(command().args(["export", "-q", "--force", "-o"]).arg(&path).arg(run))
    };
    assert_eq!(made.code, 0, "{}", made.stderr);
    path
}

#[test]
fn tags_that_were_exported_come_back_with_tick_and_micro_times() {
    let folder = tempfile::tempdir().unwrap();
    for run_of in [fixture_copy(folder.path()), root().join("data/fixtures/store-v2")] {
        let rows = run(&["export", "-q", "--format", "csv"], &run_of);
        assert_eq!(rows.code, 0, "{}", rows.stderr);
        let before = run(&["info", "--format", "json"], &run_of).json();
        for name in FORMS {
            let table = exported(&run_of, folder.path(), name);
            let again = run(&["export", "-q", "--format", "csv"], &table);
            assert_eq!(again.code, 0, "{name}: {}", again.stderr);
            assert!(again.stdout == rows.stdout, "{name}");
            let info = run(&["info", "--format", "json"], &table).json();
            for key in ["tick", "tick_assumed", "micro_tick", "rows"] {
                assert_eq!(info[key], before[key], "{name}: {key}");
            }
            let verified = run(&["verify"], &table);
            assert_eq!(verified.code, 0, "{name}: {}", verified.stderr);
            fs::remove_dir_all(folder.path().join(format!("{name}.tagq"))).unwrap();
        }
    }
}

#[test]
fn a_table_keeps_its_columns_and_a_changed_one_is_another_source() {
    let folder = tempfile::tempdir().unwrap();
    let run_of = fixture_copy(folder.path());
    let table = exported(&run_of, folder.path(), "a.parquet");
    let given = run(&["info", "--columns", "time=time,channel=channel"], &table);
    assert_eq!(given.code, 0, "{}", given.stderr);
    let other = run(&["info", "--columns", "time=channel"], &table);
    assert_eq!(other.code, 2, "{}", other.stderr);
    assert!(other.stderr.contains("time=time,channel=channel"), "{}", other.stderr);
    let missing = run(&["ingest", "--rebuild", "--columns", "time=start"], &table);
    assert_eq!(missing.code, 1, "{}", missing.stderr);
    assert!(missing.stderr.contains("no column `start`"), "{}", missing.stderr);
    // Another table under the same name is another source.
    fs::copy(exported(&root().join("data/fixtures/store-v2"), folder.path(), "b.parquet"), &table)
        .unwrap();
    let changed = run(&["rates"], &table);
    assert_ne!(changed.code, 0);
    assert!(changed.stderr.contains("--rebuild"), "{}", changed.stderr);
}
