//! The store of format version 1 in data/fixtures/store-v1. Every later version must open it, and a writer of
//! version 1 must still create the same bytes.

use std::{fs, path::Path};

use tagq::{
    OpenOptions, Silent,
    files::encode::Encoder,
    ingest,
    store::{RunId, Tag, Tick},
};

use crate::support::{command, output, root, tagq};

const ROWS: i64 = 65_600;
const FILES: [&str; 4] = ["time.col", "channel.1.col", "blocks.1.idx", "counts.idx"];

/// A full block and a part of one; the last label makes the column wide.
fn tags() -> Vec<Tag> {
    let channel = |i: i64| if i + 1 == ROWS { 300 } else { 1 + i.unsigned_abs() % 5 };
    (0..ROWS).map(|i| Tag { time: 640 * i + i * i % 7 - 5_000, channel: channel(i) }).collect()
}

/// Creates the store in `folder` again, with the original commands.
fn make(folder: &Path) -> std::path::PathBuf {
    let source = folder.join("golden.tags.zst");
    let mut encoder = Encoder::new(fs::File::create(&source).unwrap()).checksum(true);
    let tags = tags();
    encoder.frame(tags.len() as u64, [&tags[..]]).unwrap();
    let store = folder.join("store-v1");
    let options = OpenOptions {
        store: Some(store.clone()),
        tick: Some(Tick::DEFAULT),
        gaps: false,
        run_id: Some(RunId(*b"tagq golden v1 !")),
        ..OpenOptions::default()
    };
    ingest(&source, &options, &Silent).unwrap();
    store
}

#[test]
fn a_store_of_version_1_opens_for_ever() {
    let golden = root().join("data/fixtures/store-v1");
    if std::env::var_os("TAGQ_WRITE_GOLDEN").is_some() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(folder.path());
        fs::create_dir_all(&golden).unwrap();
        for name in FILES.iter().chain(&["manifest.json"]) {
            fs::copy(made.join(name), golden.join(name)).unwrap();
        }
    }
    let verified = output(command().args(["verify", "-q"]).arg(&golden));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let text = output(command().args(["cat", "-q"]).arg(&golden));
    let mut lines = text.text().lines();
    for tag in tags() {
        assert_eq!(lines.next(), Some(&*format!("{}\t{}", tag.channel, tag.time)));
    }
    assert_eq!(lines.next(), None);
    // Each tag of 2 is followed by one of 3 after 640 ± 6 ticks; there are 13,120 of each.
    let args = ["coincidences", "--window", "650t", "--group", "2,3", "-q"].map(Into::into);
    let answer = tagq(args.into_iter().chain([golden.as_os_str().to_owned()])).json();
    assert_eq!(answer["rows"][0]["count"], 13_120);
    assert_eq!(answer["run"]["tick_assumed"], false);
}

#[test]
fn a_writer_of_version_1_makes_the_same_bytes() {
    let golden = root().join("data/fixtures/store-v1");
    let folder = tempfile::tempdir().unwrap();
    let made = make(folder.path());
    for name in FILES {
        let same = fs::read(golden.join(name)).unwrap() == fs::read(made.join(name)).unwrap();
        assert!(same, "{name} is not what version 1 is");
    }
}
