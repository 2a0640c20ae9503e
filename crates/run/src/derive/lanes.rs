//! Tags and gates of a range of time, so that a user sees what definitions do before relying on them.
//!
//! Without a range, it is the first four intervals of a gate, or the first eight tags of a derived channel.

use tagq_query::TimeRange;
use tagq_store::Tags;

use super::{derivation::Derivation, evaluation::Evaluation, intervals::intervals_by, view};
use crate::{
    error::{Error, RequestError},
    open::Run,
    progress::Progress,
    setup::{arguments::Channel, experiment::Setup},
};

/// The largest number of lanes of channels.
const CHANNELS_MAX: usize = 12;
/// The intervals of a gate, or the tags of a derived channel, that are shown if no times are asked for.
const SHOWN: usize = 4;

/// A lane: a channel, or a gate.
#[derive(Debug)]
pub struct Lane {
    /// Its name.
    pub name: String,
    /// The times of its tags.
    pub tags: Vec<i64>,
    /// The times between which it is open.
    pub open: Vec<(i64, i64)>,
}

/// The lanes of a stretch of time.
#[derive(Debug)]
pub struct Lanes {
    /// The channels of the run, the derived channels, and the gates, with the tags in the stretch, or more.
    pub lanes: Vec<Lane>,
    /// The number of gates, which come last.
    pub gates: usize,
    /// Begin and end of the stretch in ticks.
    pub times: (i64, i64),
    /// The first time of the run in ticks.
    pub first: i64,
    /// Whether channels are delayed.
    pub is_delayed: bool,
}

impl Lanes {
    /// Returns the tags of the channels that `of` has or that its definitions are made from, and all gates, in a range
    /// of time; by default around the first intervals of a gate or the first tags of a derived channel.
    ///
    /// # Errors
    /// Those of [`super::derive`].
    pub fn of(
        run: &Run,
        setup: &Setup,
        of: &Derivation,
        range: TimeRange,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let tick = run.store().manifest().tick;
        let Some((first, last)) = run.store().manifest().span() else {
            return Err(RequestError::Invalid(format!(
                "{}: no tags to show",
                run.path().display()
            ))
            .into());
        };
        let gates = gates(run, setup, of, progress)?;
        let derived = derived(run, setup, of, progress)?;
        let times = match (range.from, range.to) {
            (None, None) => shown(&gates, &derived).unwrap_or((first, last.saturating_add(1))),
            (from, to) => (from.unwrap_or(first), to.unwrap_or_else(|| last.saturating_add(1))),
        };
        if times.0 >= times.1 {
            return Err(RequestError::options(
                &["from", "to"],
                "there is no time between the start and the end".into(),
            )
            .into());
        }
        let number = gates.len();
        let mut lanes = recorded(run, setup, of, times)?;
        lanes.extend(derived);
        lanes.extend(gates);
        let is_delayed = !of.delays(setup, tick)?.is_empty();
        Ok(Self { lanes, gates: number, times, first, is_delayed })
    }
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
