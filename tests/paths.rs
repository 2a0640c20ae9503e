//! Paths of every form, and ends of lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{command, fixture_copy, output, tagq};

/// Other forms of an absolute path to the same folder.
fn forms_of(run: &Path) -> Vec<PathBuf> {
    let mut forms = vec![run.to_path_buf(), run.join("."), run.join("x").join("..")];
    if cfg!(windows) {
        let text = run.to_str().unwrap();
        forms.push(text.replace('\\', "/").into());
        forms.push(format!(r"\\?\{text}").into());
        // Letters of either case are the same there.
        forms.push(text.to_lowercase().into());
    }
    forms
}

#[test]
fn a_run_is_found_by_any_form_of_its_path() {
    let around = tempfile::tempdir().unwrap();
    // More than 260 characters, which is the limit of older programs on Windows, and letters of other scripts.
    let mut folder = dunce::canonicalize(around.path()).unwrap();
    while folder.as_os_str().len() < 320 {
        folder.push("Messung Größe 測定 it's (1) & more");
    }
    fs::create_dir_all(&folder).unwrap();
    let run = fixture_copy(&folder);
    fs::create_dir(run.join("x")).unwrap();
    fs::write(
        run.join("tagq.toml"),
        "[channels]\r\n1 = \"Alice\"\r\n\r\n[coincidences]\r\nwindow = \"2ns\"\r\n",
    )
    .unwrap();
    for form in forms_of(&run) {
        let counted = tagq(["coincidences".as_ref(), "Alice,2".as_ref(), form.as_os_str()]).json();
        assert_eq!(counted["rows"][0]["count"], 1_976, "{}", form.display());
        // The store was made once.
        assert_eq!(counted["run"]["commit"], 1, "{}", form.display());
    }
}

/// On every system the sources of nested folders have one name, so that a run can be moved.
#[test]
fn nested_sources_have_the_same_names_on_every_system() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::create_dir_all(run.join("day 1").join("a")).unwrap();
    fs::rename(run.join("2.tags.zst"), run.join("day 1").join("a").join("2.tags.zst")).unwrap();
    let counted = |args: &[&str]| {
        let counted = output(command().args(["rates", "--json"]).args(args).arg(&run));
        counted.json()["run"]["tags"].clone()
    };
    let ingested = output(command().args(["ingest", "-q", "--recursive"]).arg(&run));
    assert_eq!(ingested.code, 0, "{}", ingested.stderr);
    let manifest = fs::read_to_string(run.join(".tagq/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let names: Vec<_> =
        manifest["sources"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["1.tags.zst", "day 1/a/2.tags.zst"]);
    assert_eq!(counted(&[]), 19_350);
    let verified = output(command().args(["verify", "--sources"]).arg(&run));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
}

#[test]
fn lines_end_with_a_line_feed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    fs::write(folder.path().join("tags.csv"), "channel,time\r\n1,5\r\n2,7\r\n").unwrap();
    for args in [
        &["coincidences", "--window", "2ns", "run"][..],
        &["coincidences", "--window", "2ns", "run", "--format", "csv"],
        &["coincidences", "--window", "2ns", "run", "--format", "table"],
        &["g2", "1,2", "--range", "20ns", "run", "--plot", "g2.svg"],
        &["cat", "tags.csv"],
        &["info", "run", "--format", "table"],
        &["completions", "powershell"],
        &["init", "run"],
        &["formats"],
        &["--help"],
    ] {
        let said = output(command().args(args).current_dir(folder.path()));
        assert_eq!(said.code, 0, "{args:?}: {}", said.stderr);
        assert!(!said.stdout.contains(&b'\r') && !said.stderr.contains('\r'), "{args:?}");
    }
    for file in ["g2.svg", "run/tagq.toml", "run/.tagq/manifest.json"] {
        assert!(!fs::read(folder.path().join(file)).unwrap().contains(&b'\r'), "{file}");
    }
    drop(run);
}
