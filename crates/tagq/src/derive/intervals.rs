//! The intervals of a gate, and those from one tag of a channel to the next: a division of the time of a run.

use tagq_query::TimeInterval;
use tagq_views::{LabelledOrigin, LabelledTags, Origin};

use super::{
    derivation::Derivation,
    evaluation::Evaluation,
    feed::{Feed, Start},
    sources::{SourceEvaluation, read_ahead},
};
use crate::{
    error::Error,
    run::Run,
    setup::{arguments::Channel, experiment::Setup},
};

/// Returns the intervals in which the gate `by` is open, or those from each tag of the channel `by` to the next one, with the
/// definitions, delays and sources of `of`; in order, in delayed time.
pub(crate) fn intervals_by(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    by: &str,
) -> Result<Vec<TimeInterval>, Error> {
    let by = by.trim();
    let is_gate =
        by.contains(char::is_whitespace) || setup.gates.iter().any(|(name, _)| name == by);
    let (gates, channels) = if is_gate {
        (vec![by.to_owned()], Vec::new())
    } else {
        (Vec::new(), vec![by.parse::<Channel>().map_err(Error::Request)?])
    };
    let mut evaluation = Evaluation::new(
        run,
        setup,
        &Derivation { gates, channels: channels.clone(), ..of.clone() },
    )?;
    evaluation.is_kept.fill(false);
    if is_gate {
        evaluation.derived.clear();
    } else if let ([], [channel]) = (&evaluation.derived[..], &channels[..]) {
        let label = setup.channel(channel)?;
        let origin = Origin::Channel(label);
        evaluation.derived.push(LabelledOrigin { origin, label });
    }
    evaluation.intervals()
}

impl Evaluation<'_> {
    fn intervals(&self) -> Result<Vec<TimeInterval>, Error> {
        let needed = self.needed();
        self.run.store().guarded(|store| {
            let mut intervals = Vec::new();
            for part in self.parts(store) {
                let Some((first, last)) = part.span else { continue };
                let mut evaluation = SourceEvaluation::new(self)?;
                let feed =
                    Feed::new(store, part.rows.clone(), &needed, &self.is_kept, Start::FIRST);
                let mut times = Vec::new();
                read_ahead(feed, |piece| {
                    evaluation.advance(piece.batch(), piece.until)?;
                    let LabelledTags { times: more, .. } = std::mem::take(&mut evaluation.out);
                    times.extend(more);
                    Ok(true)
                })?;
                let after = last.saturating_add(1);
                if self.gate.is_none() {
                    let ends = times.iter().skip(1).copied().map(Some).chain([None]);
                    let bounds = times.iter().copied().zip(ends);
                    intervals.extend(bounds.map(|(begin, end)| interval(begin, end, first, after)));
                } else {
                    let [open] = &evaluation.open;
                    intervals
                        .extend(open.iter().map(|(begin, end)| interval(begin, end, first, after)));
                }
            }
            Ok(intervals)
        })?
    }
}

/// Returns an interval of a source between two times. Without a begin or an end, the source is all of it.
fn interval(begin: i64, end: Option<i64>, first: i64, after: i64) -> TimeInterval {
    let is_cut = begin == i64::MIN || end.is_none();
    let begin = if begin == i64::MIN { first } else { begin };
    TimeInterval { begin, end: end.unwrap_or(after).max(begin), is_cut }
}
