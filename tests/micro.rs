//! Runs with micro times: the store of format version 2 in data/fixtures/store-v2, which every later version must
//! open, and what users see of it.

use std::{fs, path::Path};

use tagq::store::{Creation, RunId, SourceFacts, Tick, Writer, format::MICRO_NONE};

use crate::support::{command, output, root, tagq};

const ROWS: i64 = 65_600;
const FILES: [&str; 5] = ["time.col", "channel.col", "blocks.2.idx", "counts.idx", "micro.2.col"];

/// Time, channel and micro time of a row: a full block and a part of one. Every fifth tag is a marker of channel 5,
/// and the first 40,000 rows come from a source without micro times.
fn row(row: i64) -> (i64, u16, Option<u32>) {
    let channel = 1 + u16::try_from(row % 5).unwrap();
    let micro = u32::try_from(row * 7 % 4_096).unwrap();
    (640 * row, channel, (row >= 40_000 && channel < 5).then_some(micro))
}

/// Creates the store in `folder` again.
fn make(folder: &Path) {
    let run_id = Some(RunId(*b"tagq golden v2 !"));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id };
    for rows in [0..40_000, 40_000..ROWS] {
        let mut writer = Writer::open(folder, &creation).unwrap();
        writer.set_micro_tick("4ps".parse().unwrap()).unwrap();
        let name = if rows.start == 0 { "without" } else { "with" };
        let rows = || rows.clone().map(row);
        let time: Vec<i64> = rows().map(|(time, ..)| time).collect();
        let channel: Vec<u16> = rows().map(|(_, channel, _)| channel).collect();
        let micro: Vec<u32> = rows().map(|(.., micro)| micro.unwrap_or(MICRO_NONE)).collect();
        writer.begin_source();
        writer.append_with_micro(&time, &channel, &micro).unwrap();
        writer.finish_source(SourceFacts::named(name));
        writer.commit().unwrap();
    }
}

fn golden() -> std::path::PathBuf {
    root().join("data/fixtures/store-v2")
}

#[test]
fn a_store_of_version_2_opens_for_ever() {
    if std::env::var_os("TAGQ_WRITE_GOLDEN").is_some() {
        let made = tempfile::tempdir().unwrap();
        make(made.path());
        fs::create_dir_all(golden()).unwrap();
        for name in FILES.iter().chain(&["manifest.json"]) {
            fs::copy(made.path().join(name), golden().join(name)).unwrap();
        }
    }
    let verified = output(command().args(["verify", "-q"]).arg(golden()));
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let printed = output(command().args(["cat", "-q"]).arg(golden()));
    let exported = output(command().args(["export", "-q", "--format", "csv"]).arg(golden()));
    let (mut printed, mut exported) = (printed.text().lines(), exported.text().lines());
    assert_eq!(exported.next(), Some("time,channel,micro"));
    for (time, channel, micro) in (0..ROWS).map(row) {
        let micro = micro.map(|micro| micro.to_string()).unwrap_or_default();
        assert_eq!(printed.next(), Some(&*format!("{channel}\t{time}\t{micro}")));
        assert_eq!(exported.next(), Some(&*format!("{time},{channel},{micro}")));
    }
    assert_eq!((printed.next(), exported.next()), (None, None));
    // Each tag of 2 is followed by one of 3 after 640 ticks; there are 13,120 of each.
    let args =
        ["coincidences", "--window", "650t", "--group", "2,3", "-q", "--join"].map(Into::into);
    let answer = tagq(args.into_iter().chain([golden().into_os_string()])).json();
    assert_eq!(answer["rows"][0]["count"], 13_120);
}

#[test]
fn a_writer_of_version_2_makes_the_same_bytes() {
    let made = tempfile::tempdir().unwrap();
    make(made.path());
    for name in FILES {
        let [golden, made] = [&golden(), made.path()].map(|at| fs::read(at.join(name)).unwrap());
        assert!(golden == made, "{name} is not what version 2 is");
    }
}

#[test]
fn info_says_that_there_are_micro_times() {
    let info = output(command().args(["info", "-q", "--fast"]).arg(golden()));
    assert_eq!(info.json()["micro"], serde_json::json!({"tick": "4000000/1"}));
    let table = output(command().args(["info", "-q", "--fast", "--format", "table"]).arg(golden()));
    let said = "micro      the tags have micro times, in units of 4 ps\n";
    assert!(table.text().contains(said), "{}", table.text());
    let plain =
        output(command().args(["info", "-q", "--fast"]).arg(root().join("data/fixtures/store-v1")));
    assert_eq!(plain.json().get("micro"), None);
}

#[test]
fn damaged_micro_times_are_found_and_no_query_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let path = folder.path().join("micro.2.col");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096 + 70] ^= 1;
    fs::write(&path, bytes).unwrap();
    let verified = output(command().args(["verify", "-q"]).arg(folder.path()));
    assert_eq!(verified.code, 3, "{}", verified.stderr);
    assert!(verified.stderr.contains("micro.2.col"), "{}", verified.stderr);
    let counted = output(command().args(["rates", "-q", "--format", "csv"]).arg(folder.path()));
    assert_eq!(counted.code, 0, "{}", counted.stderr);
}
