//! The channels that are counted if none is named: those of detectors.

use tagq_query::Scope;

use crate::{error::Error, requests::context::QueryContext, run::Run, setup::arguments::Channel};

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
    let manifest = run.store().manifest();
    let recordings = manifest.sources.iter().filter_map(|source| source.facts.recording.as_ref());
    let names: Vec<&(u16, String)> = recordings.flat_map(|of| &of.channel_names).collect();
    let present = || manifest.channels.iter().map(|of| of.channel).collect();
    let mut kept: Vec<u16> = in_use.clone().unwrap_or_else(present);
    let mut left_out = Vec::new();
    for (role, least) in [(MARKER, 0), (SYNC, 2)] {
        let has_role = |channel: u16| {
            let is_it =
                |(number, name): &&(u16, String)| *number == channel && name.starts_with(role);
            !named.contains(&channel) && names.iter().any(is_it)
        };
        let (of_role, others): (Vec<u16>, Vec<u16>) = kept.iter().partition(|&&c| has_role(c));
        if others.len() >= least {
            kept = others;
            left_out.extend(of_role);
        }
    }
    if left_out.is_empty() {
        return in_use;
    }
    let left_out: Vec<String> = left_out.into_iter().map(|c| context.setup.name_of(c)).collect();
    context.progress.note(&format!("not counted without being named: {}", left_out.join(", ")));
    Some(kept)
}

/// Returns the channels in use that are neither markers nor sync inputs of instruments, nor one of `markers`.
pub(super) fn photons(run: &Run, in_use: Vec<u16>, markers: &[u16]) -> Vec<u16> {
    let sources = &run.store().manifest().sources;
    let recordings = || sources.iter().filter_map(|source| source.facts.recording.as_ref());
    let has_role = |channel: u16| {
        recordings().flat_map(|of| &of.channel_names).any(|(number, name)| {
            *number == channel && (name.starts_with(MARKER) || name.starts_with(SYNC))
        })
    };
    let is_photon = |channel: &u16| !markers.contains(channel) && !has_role(*channel);
    in_use.into_iter().filter(is_photon).collect()
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
            let missing = || Error::Request(format!("`{name}` is missing"));
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
        Error::Request(format!(
            "{} has channels {}: name {N} of them, as {example}",
            run.path().display(),
            listed(&all)
        ))
    })
}
