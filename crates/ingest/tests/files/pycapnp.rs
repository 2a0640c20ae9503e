//! A file written by another program: lists of odd sizes, by pycapnp (data/fixtures/pycapnp/write.py).

use std::{fs, path::Path, process::Command};

use tagq_ingest::{Settings, read_tags};
use tagq_store::Tag;

use crate::support::skipped;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fixtures/pycapnp");

#[test]
fn lists_of_odd_sizes_that_pycapnp_wrote_are_read() {
    let mut tags: Vec<Tag> = Vec::new();
    let path = Path::new(FOLDER).join("odd_lists.tags");
    let summary = read_tags(&path, &Settings::default(), |piece| {
        tags.extend_from_slice(piece);
        Ok(())
    })
    .unwrap();
    // 0 + 1 + 3 + 0, nothing, 511 + 513 + 1 + 2047 + 0 + 7 tags in three messages.
    assert_eq!((summary.messages, summary.tags, summary.torn), (3, 3_083, None));
    for (tag, i) in tags.iter().zip(0_i64..) {
        assert_eq!(*tag, Tag { time: 7 * i, channel: 1 + i.unsigned_abs() % 5 });
    }
}

#[test]
fn pycapnp_still_writes_the_fixture() {
    let has_pycapnp = Command::new("python3")
        .args(["-c", "import capnp"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_pycapnp {
        return skipped("pycapnp is not installed");
    }
    // Into a folder of the same depth, because the script finds the schema by a relative path.
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("data/fixtures/pycapnp");
    fs::create_dir_all(&at).unwrap();
    fs::copy(Path::new(FOLDER).join("write.py"), at.join("write.py")).unwrap();
    let schema = folder.path().join("crates/ingest/schema");
    fs::create_dir_all(&schema).unwrap();
    let of_project = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/tags.capnp");
    fs::copy(of_project, schema.join("tags.capnp")).unwrap();
    let output = Command::new("python3").arg(at.join("write.py")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = fs::read(at.join("odd_lists.tags")).unwrap();
    assert!(written == fs::read(Path::new(FOLDER).join("odd_lists.tags")).unwrap());
}
