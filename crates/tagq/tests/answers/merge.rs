//! Runs merged into one, compared with a sort of all tags.

use std::path::Path;

use proptest::prelude::*;
use tagq::{Alignment, NewStore, OpenOptions, Run, Silent, merge, store::format::MICRO_NONE};
use tagq_sampling::random_cases;

/// Time, channel and micro time.
type Row = (i64, u16, u32);

fn run(rows: &[Row], tick: &str) -> Run {
    let mut store = NewStore::create(None, Some(tick.parse().unwrap())).unwrap();
    store.set_micro_tick("1ps".parse().unwrap()).unwrap();
    let times: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let channels: Vec<u16> = rows.iter().map(|row| row.1).collect();
    let micro: Vec<u32> = rows.iter().map(|row| row.2).collect();
    store.append_with_micro(&times, &channels, &micro).unwrap();
    store.finish("made", &OpenOptions::default()).unwrap()
}

fn rows_of(run: &Run) -> Vec<Row> {
    let (tags, micro) = (run.store().tags(), run.store().micro());
    let micro_of = |row| micro.and_then(|micro| micro.get(row)).unwrap_or(MICRO_NONE);
    let times = tags.time.to_vec();
    (0..tags.len()).map(|row| (times[row], tags.channels.label(row), micro_of(row))).collect()
}

fn alignment(offset: &str, drift: &str, channels: i32) -> Alignment {
    Alignment { offset: offset.parse().unwrap(), drift: drift.parse().unwrap(), channels }
}

fn merged(a: &Run, b: &Run, alignment: &Alignment, out: &Path) -> Result<Vec<Row>, String> {
    let merged =
        merge(a, &[(b, alignment.clone())], out, &Silent).map_err(|error| error.to_string())?;
    assert!(out.exists());
    Ok(rows_of(&merged.run))
}

fn rows(micro_max: u32) -> impl Strategy<Value = Vec<Row>> {
    let row = (0..3_000_i64, 0..4_u16, prop_oneof![0..=micro_max, Just(MICRO_NONE)]);
    prop::collection::vec(row, 1..300).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.0);
        // The runs overlap whatever the alignment below.
        rows.extend([(20_000, 1, 7)]);
        rows
    })
}

proptest! {
    #![proptest_config(random_cases(60))]

    #[test]
    fn a_merged_run_has_the_tags_of_all_in_order(
        a in rows(70_000),
        b in rows(100),
        c in rows(7),
        offset in -200..200_i64,
        drift in -900_000..900_000_i128,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("both.tagq");
        // Ticks of 4 ps and of 3 ps; the drift is in millionths of a part per million.
        let drift_text = format!("{}{}.{:06}", if drift < 0 { "-" } else { "" }, drift.abs() / 1_000_000, drift.abs() % 1_000_000);
        let alignment = alignment(&format!("{offset}t"), &drift_text, 100);
        let [run_a, run_b, run_c] = [(&a, "4ps"), (&b, "3ps"), (&c, "4ps")].map(|(rows, tick)| run(rows, tick));
        let of_c = self::alignment("1t", "0", 200);
        let others = [(&run_b, alignment), (&run_c, of_c)];
        let merged = merge(&run_a, &others, &out, &Silent).unwrap();
        let scale = 1_000_000_000_000;
        let moved = b.iter().map(|&(time, channel, micro)| {
            let time = (i128::from(time) * 3 * (scale + drift)).div_euclid(4 * scale);
            (i64::try_from(time).unwrap() + offset, channel + 100, micro)
        });
        let moved_c = c.iter().map(|&(time, channel, micro)| (time + 1, channel + 200, micro));
        let mut expected: Vec<Row> = a.iter().copied().chain(moved).chain(moved_c).collect();
        let of = |channels: std::ops::Range<u16>| {
            let times = expected.iter().filter(move |row| channels.contains(&row.1)).map(|row| row.0);
            (times.clone().min().unwrap(), times.max().unwrap())
        };
        let spans = [of(0..100), of(100..200), of(200..300)];
        let overlap = spans.into_iter().reduce(|a, b| (a.0.max(b.0), a.1.min(b.1))).filter(|(first, last)| first <= last);
        prop_assert_eq!(merged.overlap, overlap);
        expected.sort_by_key(|row| row.0);
        prop_assert_eq!(rows_of(&merged.run), expected);
    }
}

/// The offset is exact; only the moved time is rounded down. It was rounded to 0 and 10 ps before.
#[test]
fn the_offset_is_not_rounded_before_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("both.tagq");
    let (a, b) = (run(&[(0, 1, 5), (9, 1, 5)], "10ps"), run(&[(1, 2, 5), (3, 2, 5)], "5ps"));
    let found = merged(&a, &b, &alignment("4ps", "0", 0), &out).unwrap();
    // 5 + 4 = 9 ps are 0 ticks of 10 ps, 15 + 4 = 19 ps are 1.
    assert_eq!(found, [(0, 1, 5), (0, 2, 5), (1, 2, 5), (9, 1, 5)]);
    let later = folder.path().join("later.tagq");
    // 5 + 6 = 11 ps are 1 tick, 15 + 6 = 21 ps are 2.
    let found = merged(&a, &b, &alignment("6ps", "0", 0), &later).unwrap();
    assert_eq!(found, [(0, 1, 5), (1, 2, 5), (2, 2, 5), (9, 1, 5)]);
}

#[test]
fn what_cannot_be_merged_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("both.tagq");
    let a = run(&[(0, 1, 5), (1_000, 2, 5)], "1ps");
    let b = run(&[(500, 1, 5), (900, 3, 5)], "1ps");
    for (alignment, words) in [
        (alignment("0s", "0", 0), "run 1 and run 2 have tags on channel 1"),
        (alignment("0s", "0", 65_533), "channel 3 of run 2 leaves 0 to 65535"),
        (alignment("0s", "0", -2), "channel 1 of run 2 leaves 0 to 65535"),
        (
            alignment("501t", "0", 10),
            "run 1 does not overlap in time with another run; in the times of run 1: run 1 from 0 s to 1 ns, run 2 from 1.001 ns",
        ),
        (alignment("-901t", "0", 10), "does not overlap in time"),
        (alignment("9223372036854775807t", "0", 10), "leaves 64 bits"),
    ] {
        let error = merged(&a, &b, &alignment, &out).unwrap_err();
        assert!(error.contains(words), "{error}");
        assert!(!out.exists());
    }
    for drift in ["", "x", "1e3", "--1", "-1000000", "1.0000000001"] {
        assert!(drift.parse::<tagq::Drift>().is_err(), "{drift}");
    }
    assert!(merged(&a, &b, &alignment("0s", "0", 10), &out).is_ok());
    let there = merged(&a, &b, &alignment("0s", "0", 10), &out).unwrap_err();
    assert!(there.contains("is there already"), "{there}");
}
