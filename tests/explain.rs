//! `--explain`: the reported plan, compared with the rows.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{cat, command, fixture_copy, output, tagq};

fn ask(args: &str, run: &Path) -> crate::support::Output {
    let args = args.split_whitespace().map(Into::into);
    tagq(args.chain([run.as_os_str().to_owned()]))
}

fn explain(args: &str, run: &Path) -> Value {
    ask(&format!("{args} --explain"), run).json()
}

/// Writes 400,000 tags in one file.
fn long(folder: &Path) -> PathBuf {
    let run = folder.join("run.tags.zst");
    let args = "simulate --rate 1MHz --channels 1,2,3,4 --duration 100ms --seed 3";
    let made = output(command().args(args.split_whitespace()).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    without_gaps(&run);
    run
}

/// Makes a store whose queries read times.
fn without_gaps(run: &Path) {
    let made = output(command().args(["ingest", "-q", "--no-gaps"]).arg(run));
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Of a store without times, gaps are read for short windows; for longer ones far distances and steps, too.
#[test]
fn times_without_a_column_are_read_from_gaps_far_distances_and_steps() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.tags.zst");
    let args = "simulate --rate 20kHz --channels 1,2 --duration 1s --seed 3";
    let made = output(command().args(args.split_whitespace()).arg(&run));
    assert_eq!(made.code, 0, "{}", made.stderr);
    let near = explain("coincidences --window 2ns", &run);
    let rows = near["run"]["tags"].as_u64().unwrap();
    assert_eq!((&near["plan"]["rows"], &near["plan"]["bytes"]), (&rows.into(), &(3 * rows).into()));
    // 65,534 ticks are 10.2 µs: gaps say no more.
    let far = explain("coincidences --window 20us", &run);
    let manifest = std::fs::read(folder.path().join("run.tags.zst.tagq/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest["far_entries"].as_u64().unwrap();
    assert!((rows / 3..rows / 2).contains(&entries), "{entries} of {rows}");
    let bytes = 3 * rows + 4 * entries + 16 * rows.div_ceil(1_024);
    assert_eq!((&far["plan"]["rows"], &far["plan"]["bytes"]), (&rows.into(), &bytes.into()));
}

#[test]
fn a_range_reads_its_rows_and_skips_the_other_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let run = long(folder.path());
    let times: Vec<i64> = cat(&run).iter().map(|tag| tag.0).collect();
    let all = explain("coincidences --window 20ns", &run);
    assert_eq!(all["plan"]["rows"], times.len());
    assert_eq!(all["plan"]["bytes"], 9 * times.len());
    assert_eq!(all["plan"]["blocks_skipped"], 0);
    assert_eq!(all["run"]["tags"], times.len());
    assert_eq!(all["query"]["window_ticks"], 128);
    assert!(all.get("rows").is_none(), "{all}");
    // 40 to 50 ms after the first tag, and the 128 ticks before: 6,400,000 ticks are 1 ms.
    let [from, to] = [40, 50].map(|ms| times[0] + ms * 6_400_000);
    let part = explain("coincidences --window 20ns --from 40ms --to 50ms", &run);
    assert_eq!(part["query"]["from_ticks"], from);
    let begin = times.partition_point(|&time| time < from - 128);
    let end = times.partition_point(|&time| time < to);
    let scanned = 9 * (end - begin) as u64;
    // Singles are counted in the smaller parts of the blocks that are cut, of which some rows are not in the
    // range: labels, one byte each.
    let bytes = part["plan"]["bytes"].as_u64().unwrap();
    assert!((scanned..=scanned + (1 << 16)).contains(&bytes), "{part}");
    assert_eq!(bytes - scanned, part["plan"]["rows"].as_u64().unwrap() - (end - begin) as u64);
    // Blocks of 65,536 rows.
    let blocks = times.len().div_ceil(1 << 16);
    let touched = (end - 1) / (1 << 16) - begin / (1 << 16) + 1;
    let skipped = &part["plan"]["blocks_skipped"];
    assert_eq!((&part["plan"]["blocks"], skipped), (&blocks.into(), &(blocks - touched).into()));
    assert!(blocks - touched > 3, "{part}");
}

#[test]
fn every_kind_of_question_says_what_it_would_read() {
    let folder = tempfile::tempdir().unwrap();
    let run = long(folder.path());
    let rows = |args: &str| explain(args, &run)["plan"]["rows"].as_u64().unwrap();
    let all = cat(&run).len() as u64;
    // The manifest contains the totals.
    assert_eq!(rows("rates"), 0);
    let binned = rows("rates --bin 10ms");
    assert!(binned > 0 && binned < all, "{binned}");
    for args in [
        "g2 1,2 --range 100ns",
        "histogram --start 1 --stop 2 --mode next",
        "coincidences --window 20ns --rule once --group 1,2",
        "coincidences --window 20ns --rule cluster",
    ] {
        assert_eq!(rows(args), all, "{args}");
        assert_eq!(explain(args, &run)["plan"]["at_least"], true, "{args}");
    }
    // One scan, and one for each of four shifts. Heralds need a scan, and one more for their pairs.
    let passes =
        |args: &str| format!("{:.0}", explain(args, &run)["plan"]["passes"].as_f64().unwrap());
    let pair = "coincidences --window 20ns --group 1,2";
    assert_eq!(passes(pair), "1");
    assert_eq!(passes(&format!("{pair} --accidentals shifted:4")), "5");
    let herald = "coincidences --window 20ns --group 1,2,3 --rule herald";
    assert_eq!(passes(herald), "2");
    assert_eq!(rows(&format!("{pair} --bin 10ms")), all);
    let threads = explain(&format!("{pair} --threads 3"), &run);
    assert_eq!(threads["plan"]["threads"], 3);
}

#[test]
fn a_plan_is_a_table_or_json_and_of_each_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    without_gaps(&run);
    let rows = cat(&run).len();
    let table = ask("coincidences --window 2ns --explain --format table", &run);
    let text = table.text();
    assert!(text.starts_with("rule all: |\u{394}t| \u{2264} 12 ticks"), "{text}");
    assert!(text.contains("pairs, neighbours in the columns"), "{text}");
    assert!(text.contains("blocks skipped") && text.contains("0 of 1"), "{text}");
    let files = ["1.tags.zst", "2.tags.zst"].map(|name| run.join(name).into_os_string());
    let two = output(command().args(["rates", "--explain"]).args(files));
    let two: Vec<Value> = two.json()["runs"].as_array().unwrap().clone();
    let tags = two.iter().map(|run| run["tags"].as_u64().unwrap()).sum::<u64>();
    assert_eq!((two.len(), tags), (2, rows as u64));
    assert!(two.iter().all(|run| run["plan"]["rows"] == 0), "{two:?}");
    let csv = ask("rates --explain --format csv", &run);
    assert_eq!(csv.code, 2);
    assert!(csv.stderr.contains("table or json"), "{}", csv.stderr);
    let meaningless = ask("coincidences --window 2ns --rule grid --choose 3 --explain", &run);
    assert_eq!(meaningless.code, 2, "{}", meaningless.stderr);
}
