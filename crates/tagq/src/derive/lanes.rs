//! Tags and gates of a stretch of time, one below the other: what a definition does is seen before it is trusted.

use serde_json::json;
use tagq_query::TimeRange;
use tagq_store::Tags;

use super::{derivation::Derivation, evaluation::Evaluation, intervals::intervals_by, view};
use crate::{
    answer::{Answer, RunFacts},
    error::Error,
    figure::FigureKind,
    progress::Progress,
    provenance::{CountedRun, Provenance},
    run::Run,
    setup::{arguments::Channel, experiment::Setup},
    table::{Column, Table, Unit},
};

/// The columns of time of a lane of tags.
const COLUMNS: i64 = 240;
/// The largest number of lanes of channels.
const CHANNELS_MAX: usize = 12;
/// The intervals of a gate, or the tags of a derived channel, that are shown if no times are asked for.
const SHOWN: usize = 4;

/// A lane: a channel, or a gate.
struct Lane {
    name: String,
    /// The times of its tags.
    tags: Vec<i64>,
    /// The times between which it is open.
    open: Vec<(i64, i64)>,
}

/// Returns the tags of the channels that `of` has or that its definitions are made from, and all gates, in a range of time; by
/// default around the first intervals of a gate or the first tags of a derived channel.
///
/// # Errors
/// Those of [`super::derive`].
pub fn lanes(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    range: TimeRange,
    progress: &dyn Progress,
) -> Result<Answer, Error> {
    let tick = run.store().manifest().tick;
    let Some((first, last)) = run.store().manifest().span() else {
        return Err(Error::Request(format!("{}: no tags to show", run.path().display())));
    };
    let gates = gates(run, setup, of, progress)?;
    let derived = derived(run, setup, of, progress)?;
    let range = match (range.from, range.to) {
        (None, None) => shown(&gates, &derived).unwrap_or((first, last.saturating_add(1))),
        (from, to) => (from.unwrap_or(first), to.unwrap_or_else(|| last.saturating_add(1))),
    };
    let (from, to) = range;
    if from >= to {
        return Err(Error::Request("there is no time between the start and the end".into()));
    }
    let number = gates.len();
    let mut all = recorded(run, setup, of, range)?;
    all.extend(derived);
    all.extend(gates);
    let rows = rows(&all, range, first);
    let delayed = if of.delays(setup, tick)?.is_empty() { "" } else { " at delayed times" };
    let header = format!("tags and gates{delayed}; tick {tick}");
    let names = all.into_iter().map(|lane| lane.name).collect();
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
            gates: number,
        }),
    })
}

/// Returns the gates of the setup and those of the derivation.
fn gates(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    progress: &dyn Progress,
) -> Result<Vec<Lane>, Error> {
    let mut names: Vec<&str> = setup.gates.iter().map(|(name, _)| name.as_str()).collect();
    for gate in of.gates.iter().map(String::as_str) {
        if !names.contains(&gate) {
            names.push(gate);
        }
    }
    let plain = Derivation { gates: Vec::new(), ..of.clone() };
    let lane = |name: &&str| {
        let open = intervals_by(run, setup, &plain, name, (0, progress))?;
        let open = open.iter().map(|interval| (interval.begin, interval.end)).collect();
        Ok(Lane { name: (*name).to_owned(), tags: Vec::new(), open })
    };
    names.iter().map(lane).collect()
}

/// Returns the derived channels, with all their tags.
fn derived(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    progress: &dyn Progress,
) -> Result<Vec<Lane>, Error> {
    let names = of.definitions(setup).into_iter().map(|(name, _)| Channel::Name(name));
    let channels: Vec<Channel> = names.collect();
    if channels.is_empty() {
        return Ok(Vec::new());
    }
    let only = Derivation { channels, gates: Vec::new(), ..of.clone() };
    let evaluation = Evaluation::new(run, setup, &only)?;
    let view = view::open(&evaluation, progress)?;
    let lane = |(label, name): (u16, String)| {
        view.store().guarded(|store| {
            let tags = store.tags();
            let tags = tags_between(&tags, (i64::MIN, i64::MAX), |of| of == label);
            Lane { name, tags: tags.into_iter().map(|(time, _)| time).collect(), open: Vec::new() }
        })
    };
    evaluation.derived_names().map(lane).map(|lane| Ok(lane?)).collect()
}

/// Returns the channels of the run in a range of time: those that are named, those that definitions need, or all.
fn recorded(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    range: (i64, i64),
) -> Result<Vec<Lane>, Error> {
    let gates = setup.gates.iter().map(|(name, _)| name).chain(&of.gates).cloned().collect();
    let evaluation = Evaluation::new(run, setup, &Derivation { gates, ..of.clone() })?;
    let of_run = run.store().manifest().channels.iter().map(|of| of.channel);
    let needed: Vec<u16> = evaluation.needed().channels.iter().map(|of| of.0).collect();
    let is_wanted = |channel: &u16| match (&of.channels[..], &needed[..]) {
        ([], []) => true,
        ([], needed) => needed.contains(channel),
        (_, needed) => evaluation.is_kept[usize::from(*channel)] || needed.contains(channel),
    };
    let channels: Vec<u16> = of_run.filter(is_wanted).take(CHANNELS_MAX).collect();
    let lane = |&channel: &u16| {
        // At the times that definitions see.
        let of = evaluation.delays.iter().find(|of| of.0 == channel);
        let delay = of.map_or(0, |(_, delay)| *delay);
        let recorded = (range.0.saturating_sub(delay), range.1.saturating_sub(delay));
        let found = run
            .store()
            .guarded(|store| tags_between(&store.tags(), recorded, |other| other == channel))?;
        let tags = found.into_iter().map(|(time, _)| time.saturating_add(delay)).collect();
        Ok(Lane { name: setup.name_of(channel), tags, open: Vec::new() })
    };
    channels.iter().map(lane).collect()
}

/// Returns the tags of some channels in a range of time.
fn tags_between(
    tags: &Tags<'_>,
    (from, to): (i64, i64),
    is_wanted: impl Fn(u16) -> bool,
) -> Vec<(i64, u16)> {
    let begin = tags.time.partition_point(|time| time < from);
    let end = tags.time.partition_point(|time| time < to).max(begin);
    let tags = tags.rows(begin..end);
    let mut times = Vec::new();
    let mut found = Vec::new();
    for piece in tags.time.pieces() {
        let labels = tags.rows(piece.clone()).channels;
        let times = tags.time.read(piece, &mut times);
        let all = times.iter().enumerate().map(|(row, &time)| (time, labels.label(row)));
        found.extend(all.filter(|&(_, label)| is_wanted(label)));
    }
    found
}

/// Returns the times around the first intervals of a gate, or the first tags of a derived channel.
fn shown(gates: &[Lane], derived: &[Lane]) -> Option<(i64, i64)> {
    let of_gate = |lane: &Lane| {
        let last = lane.open.len().min(SHOWN).checked_sub(1)?;
        Some((lane.open[0].0, lane.open[last].1))
    };
    let of_tags = |lane: &Lane| {
        let last = lane.tags.len().min(2 * SHOWN).checked_sub(1)?;
        Some((lane.tags[0], lane.tags[last]))
    };
    let (from, to) = gates.iter().find_map(of_gate).or_else(|| derived.iter().find_map(of_tags))?;
    let around = (to.saturating_sub(from) / 20).max(10);
    Some((from.saturating_sub(around), to.saturating_add(around)))
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

fn table(rows: &[Row], tick: tagq_store::Tick) -> Table {
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
