//! Histograms of micro times, compared with a plain count.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;
use tagq::{
    Cell, NewStore, OpenOptions, Run, Silent,
    requests::{QueryContext, Request, Setup},
    store::format::MICRO_NONE,
};
use tagq_sampling::random_cases;

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

/// Returns these columns of the answer, row by row.
fn asked<const N: usize>(
    runs: &[&Run],
    options: &serde_json::Value,
    columns: [&str; N],
) -> Result<Vec<[i64; N]>, String> {
    let request = Request::of_options("micro", options.as_object().unwrap().clone());
    let request = request.map_err(|error| error.to_string())?;
    let (setup, pool) =
        (Setup::default(), rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    let context = QueryContext::new(&setup, &pool, &Silent);
    let runs: Vec<_> = runs.iter().map(|&run| (run, &context)).collect();
    let answer = request.sum(&runs).map_err(|error| error.to_string())?;
    let cells = columns.map(|name| &answer.rows.get(name).unwrap().cells);
    let value = |cell| match cell {
        Cell::Channel(channel) => channel.into(),
        Cell::Flag(flag) => flag.into(),
        Cell::Count(count) => i64::try_from(count).unwrap(),
        Cell::Integer(value) => value,
        Cell::Float(_) | Cell::Missing | Cell::Name(_) | Cell::List(_) => panic!("a whole number"),
    };
    Ok((0..answer.rows.len()).map(|row| cells.map(|cells| value(cells.at(row)))).collect())
}

/// Returns the lower edge and the count of each bin.
fn counted(runs: &[&Run], options: &serde_json::Value) -> Result<Vec<(i64, u64)>, String> {
    let rows = asked(runs, options, ["first_tick", "count"])?;
    Ok(rows.into_iter().map(|[low, count]| (low, count as u64)).collect())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let micro = prop_oneof![4 => 0..40_u32, 1 => Just(70_000), 1 => Just(MICRO_NONE)];
    let rows = prop::collection::vec((0..1_000_i64, 0..3_u16, micro), 1..200);
    let has_micro = |rows: &Vec<Row>| rows.iter().any(|row| row.2 != MICRO_NONE);
    rows.prop_filter("a run with micro times", has_micro).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.0);
        rows
    })
}

proptest! {
    #![proptest_config(random_cases(60))]

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
            "channels": [1], "bin": format!("{width}t"), "range": format!("{low}t..{high}t"),
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

    #[test]
    fn a_trace_has_the_bins_of_each_channel_and_interval(
        [first, second] in [rows(), rows()],
        delay in -300..300_i64,
        interval in 1..700_i64,
        is_sum: bool,
    ) {
        let runs = [run(&first), run(&second)];
        let runs: Vec<&Run> = runs.iter().take(1 + usize::from(is_sum)).collect();
        let found = asked(&runs, &json!({
            "channels": [2, 0], "bin": "10t", "range": "0t..40t", "trace": format!("{interval}t"),
            "delays": [["2", format!("{delay}t")]],
        }), ["start_ticks", "channel", "first_tick", "count"]).unwrap();
        let mut expected = BTreeMap::new();
        for rows in [&first, &second].into_iter().take(runs.len()) {
            let origin = rows[0].0;
            // Tags that the delay puts less than an interval before the first one belong to it.
            let first = delay.min(0) / interval;
            let number = |time: i64| (time - origin).div_euclid(interval).max(first);
            let times = || rows.iter().map(|&(time, ..)| time);
            let delayed = |&(time, channel, micro): &Row| {
                (time + if channel == 2 { delay } else { 0 }, channel, micro)
            };
            let used = || rows.iter().map(delayed).filter(|row| row.1 != 1);
            // Every interval from the first tag to the last one, and those of tags that a delay put outside.
            let inside = [number(origin), number(times().max().unwrap())];
            let outside = used().map(|(time, ..)| number(time));
            let all: Vec<i64> = inside.into_iter().chain(outside).collect();
            for part in *all.iter().min().unwrap()..=*all.iter().max().unwrap() {
                for (place, channel) in [2, 0].into_iter().enumerate() {
                    for low in [0, 10, 20, 30] {
                        let is_in = |&(time, of, micro): &Row| {
                            number(time) == part
                                && of == channel
                                && (low..low + 10).contains(&i64::from(micro))
                        };
                        let count = i64::try_from(used().filter(is_in).count()).unwrap();
                        let key = (part * interval, place, i64::from(channel), low);
                        *expected.entry(key).or_insert(0) += count;
                    }
                }
            }
        }
        let expected: Vec<[i64; 4]> = expected
            .into_iter()
            .map(|((start, _, channel, low), count)| [start, channel, low, count])
            .collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn many_rows_and_several_runs_add_up() {
    let rows: Vec<Row> = (0..700_000_u32).map(|i| (i.into(), (i % 3) as u16, i % 101)).collect();
    let run = run(&rows);
    let found = counted(&[&run, &run], &json!({"channels": [2]})).unwrap();
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
    let error = counted(&[&without], &json!({"channels": [1]})).unwrap_err();
    assert!(error.contains("has no micro times"), "{error}");
    let run = run(&[(1, 1, 5)]);
    let error = counted(&[&run], &json!({"channels": [1], "range": "5ns"})).unwrap_err();
    assert!(error.contains("two ends"), "{error}");
    let error =
        counted(&[&run], &json!({"channels": [1], "range": "0s..1s", "bin": "1t"})).unwrap_err();
    assert!(error.contains("bins"), "{error}");
}
