//! Histograms of micro times, compared with a plain count.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test says so by failing"
)]

use proptest::prelude::*;
use serde_json::json;
use tagq::{
    NewStore, OpenOptions, Run, Silent,
    requests::{QueryContext, Request, Setup},
    store::format::MICRO_NONE,
};

/// Time, channel and micro time.
type Row = (i64, u16, u32);

fn run(rows: &[Row]) -> Run {
    let mut store = NewStore::create(None, Some("1ps".parse().unwrap())).unwrap();
    store.set_micro_tick("25ps".parse().unwrap()).unwrap();
    let times: Vec<i64> = rows.iter().map(|row| row.0).collect();
    let channels: Vec<u16> = rows.iter().map(|row| row.1).collect();
    let micro: Vec<u32> = rows.iter().map(|row| row.2).collect();
    store.append_with_micro(&times, &channels, &micro).unwrap();
    store.finish("made", &OpenOptions::default()).unwrap()
}

/// Returns the lower edge and the count of each bin.
fn counted(runs: &[&Run], options: &serde_json::Value) -> Result<Vec<(i64, u64)>, String> {
    let request = Request::of_options("micro", options.as_object().unwrap().clone());
    let request = request.map_err(|error| error.to_string())?;
    let (setup, pool) =
        (Setup::default(), rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    let context = QueryContext { setup: &setup, pool: &pool, progress: &Silent };
    let runs: Vec<_> = runs.iter().map(|&run| (run, &context)).collect();
    let answer = request.sum(&runs).map_err(|error| error.to_string())?;
    let numbers = |name: &str| -> Vec<f64> {
        let cells = &answer.rows.get(name).unwrap().cells;
        cells.iter().map(|cell| cell.number().unwrap()).collect()
    };
    let rows = numbers("delay_ticks").into_iter().zip(numbers("count"));
    Ok(rows.map(|(low, count)| (low as i64, count as u64)).collect())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let micro = prop_oneof![4 => 0..40_u32, 1 => Just(70_000), 1 => Just(MICRO_NONE)];
    prop::collection::vec((0..1_000_i64, 0..3_u16, micro), 1..200).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.0);
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn bins_hold_the_tags_of_the_channel_in_the_selection(
        rows in rows(),
        (from, len) in (0..900_i64, 1..500_i64),
        delay in -300..300_i64,
        width in 1..9_i64,
        (low, bins) in (0..20_i64, 1..9_i64),
    ) {
        let run = run(&rows);
        let high = low + bins * width;
        let found = counted(&[&run], &json!({
            "channel": 1, "bin": format!("{width}t"), "range": format!("{low}t..{high}t"),
            "from": format!("@{from}t"), "to": format!("@{}t", from + len), "delays": [["1", format!("{delay}t")]],
        })).unwrap();
        let expected: Vec<(i64, u64)> = (0..bins).map(|k| {
            let edge = low + k * width;
            let is_in = |&&(time, channel, micro): &&Row| {
                channel == 1
                    && (from..from + len).contains(&(time + delay))
                    && (edge..edge + width).contains(&i64::from(micro))
            };
            (edge, rows.iter().filter(is_in).count() as u64)
        }).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn many_rows_and_several_runs_add_up() {
    let rows: Vec<Row> = (0..700_000_u32).map(|i| (i.into(), (i % 3) as u16, i % 101)).collect();
    let run = run(&rows);
    let found = counted(&[&run, &run], &json!({"channel": 2})).unwrap();
    let expected: Vec<(i64, u64)> = (0..101)
        .map(|d| (d.into(), 2 * rows.iter().filter(|row| row.1 == 2 && row.2 == d).count() as u64))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn what_has_no_micro_times_is_refused() {
    let mut store = NewStore::create(None, None).unwrap();
    store.append(&[1, 2], &[1, 1]).unwrap();
    let without = store.finish("made", &OpenOptions::default()).unwrap();
    let error = counted(&[&without], &json!({"channel": 1})).unwrap_err();
    assert!(error.contains("has no micro times"), "{error}");
    let run = run(&[(1, 1, 5)]);
    let error = counted(&[&run], &json!({"channel": 1, "range": "5ns"})).unwrap_err();
    assert!(error.contains("two ends"), "{error}");
    let error =
        counted(&[&run], &json!({"channel": 1, "range": "0s..1s", "bin": "1t"})).unwrap_err();
    assert!(error.contains("bins"), "{error}");
}
