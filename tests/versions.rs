//! Files of every version so far open (docs/stability.md). A version without a fixture here fails.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{command, fixture_copy, output, root, tagq};

/// A kind of file that has versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A store.
    Store,
    /// A partial result of one query.
    Partial,
    /// A plan. It belongs to the version of tagq that made it.
    Plan,
    /// A partial result of a plan.
    PartOfPlan,
    /// An answer in JSON.
    Answer,
}

/// Where the newest version of each kind is defined, and the oldest that is read. Plans of tagq before 0.1 had partial
/// results of the versions 1 and 2; answers before version 3 do not say what was counted.
const KINDS: [(Kind, &str, &str, u32); 5] = [
    (Kind::Store, "crates/store/src/format.rs", "VERSION", 1),
    (Kind::Partial, "crates/query/src/partial/bytes.rs", "VERSION", 1),
    (Kind::Plan, "crates/study/src/plan/file.rs", "VERSION", 1),
    (Kind::PartOfPlan, "crates/study/src/plan/parts.rs", "VERSION", 3),
    (Kind::Answer, "crates/ask/src/answer.rs", "SCHEMA_VERSION", 3),
];

/// Each kind and version, and a file of it, below data/fixtures. Files are never made again.
const FIXTURES: [(Kind, u32, &str); 13] = [
    (Kind::Store, 1, "store-v1"),
    (Kind::Store, 2, "store-v2"),
    (Kind::Store, 2, "store-v2-gaps"),
    (Kind::Store, 3, "store-v3"),
    (Kind::Store, 4, "store-v4"),
    (Kind::Partial, 1, "partials/once.v1"),
    (Kind::Plan, 1, "plans/pairs.plan.v1.json"),
    (Kind::PartOfPlan, 3, "plans/pairs.0.v3"),
    (Kind::PartOfPlan, 3, "plans/pairs.1.v3"),
    (Kind::Answer, 3, "answers/pairs.v3.json"),
    (Kind::Answer, 3, "answers/g2.v3.json"),
    (Kind::Answer, 3, "answers/delays.v3.json"),
    (Kind::Answer, 4, "answers/pairs.v4.json"),
];

/// Tags of the stores (data/fixtures/README.md).
const TAGS: [(&str, u64); 5] = [
    ("store-v1", 65_600),
    ("store-v2", 65_600),
    ("store-v2-gaps", 19_350),
    ("store-v3", 19_350),
    ("store-v4", 8_694),
];

fn fixture(name: &str) -> PathBuf {
    root().join("data/fixtures").join(name)
}

/// Returns the number that a constant has in a file.
fn version_in(file: &str, constant: &str) -> u32 {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let start = format!("const {constant}: u32 = ");
    let rest = text.split(&start).nth(1).unwrap_or_else(|| panic!("{file} has no {constant}"));
    rest.split(';').next().unwrap().parse().unwrap()
}

#[test]
fn every_version_has_a_fixture() {
    for (kind, file, constant, oldest) in KINDS {
        let newest = version_in(file, constant);
        for version in oldest..=newest {
            let is_of = |(of, number, _): &&(Kind, u32, &str)| (*of, *number) == (kind, version);
            assert!(FIXTURES.iter().any(|of| is_of(&of)), "no fixture of {kind:?} {version}");
        }
        assert!(FIXTURES.iter().all(|(of, version, _)| *of != kind || *version <= newest));
    }
}

#[test]
fn every_fixture_says_its_version_and_opens() {
    for (kind, version, name) in FIXTURES {
        let path = fixture(name);
        let little = |bytes: &[u8]| u32::from_le_bytes(bytes[8..12].try_into().unwrap());
        let json = |path: &Path, key: &str| {
            let text = fs::read(path).unwrap();
            let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
            u32::try_from(value[key].as_u64().unwrap()).unwrap()
        };
        let found = match kind {
            Kind::Store => {
                opens_store(name);
                json(&path.join("manifest.json"), "version")
            }
            Kind::Partial => {
                let bytes = fs::read(&path).unwrap();
                tagq::query::Partial::from_bytes(&bytes).unwrap();
                little(&bytes)
            }
            Kind::Plan => {
                merges_or_is_refused(&path);
                json(&path, "version")
            }
            Kind::PartOfPlan => {
                let bytes = fs::read(&path).unwrap();
                tagq::Parts::from_bytes(&bytes).unwrap();
                little(&bytes)
            }
            Kind::Answer => {
                is_reproduced(&path);
                json(&path, "schema_version")
            }
        };
        assert_eq!(found, version, "{name}");
    }
}

fn opens_store(name: &str) {
    let path = fixture(name);
    let verified = output(command().args(["verify", "-q"]).arg(&path));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let rates = output(command().args(["rates", "-q", "--json"]).arg(&path)).json();
    let (_, tags) = TAGS.into_iter().find(|(of, _)| *of == name).unwrap();
    assert_eq!((&rates["run"]["tags"], &rates["total"][0]["count"]), (&tags.into(), &tags.into()));
}

/// The same tags give the same lines and answers, with a column of times and without it.
#[test]
fn a_store_without_times_has_the_tags_of_the_one_with_times() {
    let of = |args: &str, name: &str| {
        let said = output(command().args(args.split(' ')).arg(fixture(name)));
        assert_eq!(said.code, 0, "{}", said.stderr);
        said
    };
    let [with, without] = ["store-v2-gaps", "store-v3"];
    assert!(of("cat -q", with).stdout == of("cat -q", without).stdout);
    let rows =
        |name| of("coincidences -q --no-cache --window 20us --json", name).json()["rows"].clone();
    assert_eq!(rows(with), rows(without));
}

/// Each of 4,797 gates of 1 µs is open for 6,400 ticks, but for those that overlap or begin near the end of their file.
#[test]
fn dead_spans_in_a_file_are_no_live_time() {
    let info = output(command().args(["info", "--format", "json"]).arg(fixture("store-v4"))).json();
    let live = info["live_s"].as_f64().unwrap();
    assert!((live - 0.004_762_234_531_25).abs() < 1e-12 && live < 4_797e-6, "{live}");
}

/// A plan is finished by the version of tagq that made it. Its counts are those of the README.
fn merges_or_is_refused(plan: &Path) {
    let text: serde_json::Value = serde_json::from_slice(&fs::read(plan).unwrap()).unwrap();
    let parts = ["plans/pairs.0.v3", "plans/pairs.1.v3"].map(fixture);
    let merged = output(command().args(["merge", "--format", "json"]).arg(plan).args(parts));
    if text["tagq"] == env!("CARGO_PKG_VERSION") {
        assert_eq!(merged.json()["rows"][0]["count"], 1_976);
    } else {
        assert_eq!(merged.code, 2);
        assert!(merged.stderr.contains("make the plan again"), "{}", merged.stderr);
    }
}

fn is_reproduced(answer: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let done = tagq(["reproduce".as_ref(), answer.as_os_str(), run.as_os_str()]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let rows = serde_json::from_slice::<serde_json::Value>(&fs::read(answer).unwrap()).unwrap();
    let rows = rows["rows"].as_array().unwrap().len();
    let said = format!("reproduced: {rows} row{} equal", if rows == 1 { "" } else { "s" });
    assert!(done.text().starts_with(&said), "{said}: {}", done.text());
}

/// A fit from before version 4 found structure in noise; it says that the definition is another one.
#[test]
fn an_older_fit_says_that_its_definition_changed() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let answer = fixture("answers/fit.v3.json");
    let done = tagq(["reproduce".as_ref(), answer.as_os_str(), run.as_os_str()]);
    assert_eq!(done.code, 1, "{}", done.stderr);
    assert!(done.stderr.contains("fits are defined otherwise since version 4"), "{}", done.stderr);
}
