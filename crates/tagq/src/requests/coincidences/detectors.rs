//! The channels that are counted if none is named: those of detectors.

use crate::{requests::context::QueryContext, run::Run};

/// The beginnings of the names that instruments give to their sync input and their markers.
const SYNC: &str = "sync";
const MARKER: &str = "marker";

/// Returns the channels in use without markers and sync inputs of instruments, with a note; `in_use` are all channels if
/// `None`. Channels in `named` stay, and the sync if fewer than two others do: then it is a detector.
pub(super) fn detectors(
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
    context.progress.note(&format!(
        "not counted without being named: {}; `channels` or `groups` counts them",
        left_out.join(", ")
    ));
    Some(kept)
}
