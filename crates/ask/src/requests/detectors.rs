//! The channels that are counted if none is named: those of detectors, without markers and sync inputs of instruments.
//!
//! Of the channels 1, 2 and `sync`, the sync input is left out; of 1 and `sync` alone it stays, because it is a
//! detector then. The roles follow from the names that the instrument gave, not from those of the setup. A channel that
//! is left out has a note.

use std::collections::HashSet;

use tagq_query::Scope;
use tagq_run::{Channel, RequestError, Run};

use crate::{error::Error, requests::context::QueryContext};

/// The beginnings of the names that instruments give to their sync input and their markers.
const SYNC: &str = "sync";
const MARKER: &str = "marker";

/// Returns the channels in use without markers and sync inputs of instruments, with a note; `in_use` are all channels if
/// `None`. Channels in `named` stay, and the sync if fewer than two others do: then it is a detector.
pub(crate) fn detectors(
    run: &Run,
    in_use: Option<Vec<u16>>,
    named: &[u16],
    context: &QueryContext<'_>,
) -> Option<Vec<u16>> {
    let present = || run.store().manifest().channels.iter().map(|of| of.channel).collect();
    let mut kept: Vec<u16> = in_use.clone().unwrap_or_else(present);
    let mut left_out = Vec::new();
    for (role, least) in [(MARKER, 0), (SYNC, 2)] {
        let with_role = with_role(run, role);
        let has_role = |channel: &&u16| !named.contains(channel) && with_role.contains(channel);
        let (of_role, others): (Vec<u16>, Vec<u16>) = kept.iter().partition(has_role);
        if others.len() >= least {
            kept = others;
            left_out.extend(of_role);
        }
    }
    if left_out.is_empty() {
        return in_use;
    }
    note_left_out(left_out, context);
    Some(kept)
}

/// Notes the channels that are left out because no channel is named.
fn note_left_out(channels: Vec<u16>, context: &QueryContext<'_>) {
    let names: Vec<String> = channels.into_iter().map(|c| context.setup.name_of(c)).collect();
    context.progress.note(&format!("not counted without being named: {}", names.join(", ")));
}

/// Returns the channels in use that have micro times, those of photons, with a note on the others.
pub(super) fn with_micro_times(
    run: &Run,
    in_use: Vec<u16>,
    context: &QueryContext<'_>,
) -> Vec<u16> {
    let photons = photons(run, in_use.clone(), run.derived_labels());
    let left_out: Vec<u16> = in_use.into_iter().filter(|of| !photons.contains(of)).collect();
    if !left_out.is_empty() {
        note_left_out(left_out, context);
    }
    photons
}

/// Returns the channels in use that are neither markers nor sync inputs of instruments, nor one of `markers`.
pub(super) fn photons(run: &Run, in_use: Vec<u16>, markers: &[u16]) -> Vec<u16> {
    let [others, syncs] = [MARKER, SYNC].map(|role| with_role(run, role));
    let is_other = |channel: &u16| {
        markers.contains(channel) || others.contains(channel) || syncs.contains(channel)
    };
    in_use.into_iter().filter(|channel| !is_other(channel)).collect()
}

/// Whether a channel with tags is a marker of an instrument.
pub(super) fn has_markers(run: &Run) -> bool {
    let markers = with_role(run, MARKER);
    run.store().manifest().channels.iter().any(|of| markers.contains(&of.channel))
}

/// Returns the channels whose names, as instruments gave them, begin like this.
fn with_role(run: &Run, role: &str) -> HashSet<u16> {
    let sources = run.store().manifest().sources.iter();
    let recordings = sources.filter_map(|source| source.facts.recording.as_ref());
    let named =
        recordings.flat_map(|of| &of.channel_names).filter(|(_, name)| name.starts_with(role));
    named.map(|&(channel, _)| channel).collect()
}

/// Returns the N channels of a request; if none of them is named, the detectors of the run, if it has exactly N.
///
/// `names` are the options that name them.
pub(super) fn named_or_all<const N: usize>(
    named: [Option<&Channel>; N],
    names: [&str; N],
    run: &Run,
    scope: &Scope,
    context: &QueryContext<'_>,
) -> Result<[u16; N], Error> {
    let mut channels = [0; N];
    if named.iter().any(Option::is_some) {
        for ((channel, named), name) in channels.iter_mut().zip(named).zip(names) {
            let missing = || RequestError::missing(name, "");
            *channel = context.setup.channel(named.ok_or_else(missing)?)?;
        }
        return Ok(channels);
    }
    let facts = run.facts(false);
    let delayed: Vec<u16> = scope.delays.iter().map(|delay| delay.channel).collect();
    let all = detectors(run, scope.channels.clone(), &delayed, context);
    let all = all.unwrap_or_else(|| scope.in_use(&facts));
    <[u16; N]>::try_from(&*all).map_err(|_| {
        let listed = |channels: &[u16]| {
            let named = channels.iter().map(|&channel| context.setup.name_of(channel));
            named.collect::<Vec<_>>().join(",")
        };
        let example =
            if all.len() > N { listed(&all[..N]) } else { ["1", "2", "3"][..N].join(",") };
        RequestError::options(
            &["channels"],
            format!(
                "{} has channels {}: name {N} of them, as {example}",
                run.path().display(),
                listed(&all)
            ),
        )
        .into()
    })
}
