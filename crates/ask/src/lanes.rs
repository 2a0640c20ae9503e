//! The figure of tags and gates of a stretch of time, one below the other.
//!
//! A stretch of 2,400 ticks has columns of 10 ticks: tags in one column are one row with their number.

use serde_json::json;
use tagq_query::TimeRange;
use tagq_run::{Derivation, Lane, Lanes, Progress, Run, Setup};
use tagq_store::Tick;

use crate::{
    answer::{Answer, RunFacts},
    error::Error,
    figure::FigureKind,
    provenance::{CountedRun, Provenance},
    table::{Column, Table, Unit},
};

/// The columns of time of a lane of tags.
const COLUMNS: i64 = 240;

/// Returns the answer with the lanes of [`Lanes::of`].
///
/// # Errors
/// Those of [`Lanes::of`].
pub fn lanes(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    range: TimeRange,
    progress: &dyn Progress,
) -> Result<Answer, Error> {
    let tick = run.store().manifest().tick;
    let Lanes { lanes, gates, times, first, is_delayed } =
        Lanes::of(run, setup, of, range, progress)?;
    let rows = rows(&lanes, times, first);
    let delayed = if is_delayed { " at delayed times" } else { "" };
    let header = format!("tags and gates{delayed}; tick {tick}");
    let names = lanes.into_iter().map(|lane| lane.name).collect();
    let (from, to) = times;
    Ok(Answer {
        header,
        query: json!({"from_ticks": from, "to_ticks": to}),
        run: RunFacts::named(run, setup),
        singles: None,
        rows: table(&rows, tick),
        total: None,
        provenance: Provenance::of(
            "derive",
            serde_json::Map::new(),
            vec![CountedRun::of(run, setup)],
        ),
        figure: Some(FigureKind::Lanes {
            names,
            times_s: [from, to].map(|time| tick.seconds_of(i128::from(time) - i128::from(first))),
            gates,
        }),
    })
}

/// A row: the lane, its start after the first tag of the run and its length in ticks, the tags in it, and the share of it in
/// which a gate is open.
type Row = (i64, i64, i64, u64, f64);

fn rows(lanes: &[Lane], (from, to): (i64, i64), first: i64) -> Vec<Row> {
    let width = (to.saturating_sub(from) / COLUMNS).max(1);
    let mut rows = Vec::new();
    for (number, lane) in (0..).zip(lanes) {
        let mut tags =
            lane.tags.iter().copied().filter(|time| (from..to).contains(time)).peekable();
        while let Some(time) = tags.next() {
            let start = from + (time - from) / width * width;
            let mut count = 1;
            while tags.next_if(|time| *time < start + width).is_some() {
                count += 1;
            }
            rows.push((number, start.saturating_sub(first), width, count, 0.0));
        }
        let open = lane.open.iter().map(|&(begin, end)| (begin.max(from), end.min(to)));
        let open: Vec<(i64, i64)> = open.filter(|(begin, end)| begin < end).collect();
        if i64::try_from(open.len()).is_ok_and(|open| open <= COLUMNS) {
            let row = |&(begin, end): &(i64, i64)| {
                (number, begin.saturating_sub(first), end - begin, 0, 1.0)
            };
            rows.extend(open.iter().map(row));
            continue;
        }
        for start in (from..to).step_by(usize::try_from(width).unwrap_or(usize::MAX)) {
            let end = start.saturating_add(width).min(to);
            let before = open.partition_point(|of| of.1 <= start);
            let inside = open[before..].iter().take_while(|of| of.0 < end);
            let ticks: i64 = inside.map(|of| of.1.min(end) - of.0.max(start)).sum();
            let share = ticks as f64 / (end - start) as f64;
            rows.push((number, start.saturating_sub(first), end - start, 0, share));
        }
    }
    rows
}

fn table(rows: &[Row], tick: Tick) -> Table {
    let ticks = |of: fn(&Row) -> i64| rows.iter().map(of).collect::<Vec<i64>>();
    let seconds = |of: fn(&Row) -> i64| {
        rows.iter().map(|row| Some(tick.seconds_of(of(row).into()))).collect::<Vec<_>>()
    };
    let counts: Vec<u64> = rows.iter().map(|row| row.3).collect();
    let open: Vec<Option<f64>> = rows.iter().map(|row| Some(row.4)).collect();
    Table::default()
        .with(Column::integers("lane", ticks(|row| row.0).into()))
        .with(Column::floats("start_s", seconds(|row| row.1).into()).unit(Unit::Seconds))
        .with(Column::floats("length_s", seconds(|row| row.2).into()).unit(Unit::Seconds))
        .with(Column::counts("count", counts.into()))
        .with(Column::floats("open", open.into()))
}
