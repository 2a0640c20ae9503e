//! The intervals of a gate, and those from one tag of a channel to the next: a division of the time of a run.
//!
//! Tags of a channel at 10, 25 and 40 begin the intervals 10 to 25, 25 to 40, and 40 to the end of the source; the last
//! one is marked as cut.

use tagq_derived::{LabelledOrigin, LabelledTags, Origin};
use tagq_query::TimeInterval;

use super::{
    derivation::Derivation,
    evaluation::Evaluation,
    feed::{Feed, Start},
    sources::{SourceEvaluation, read_ahead},
};
use crate::{
    Run,
    error::{Error, RequestError},
    progress::Progress,
    setup::arguments::Channel,
    setup::experiment::Setup,
};

/// The labels of tags that begin intervals, and of those that end them.
const BEGINS: u16 = 0;
const ENDS: u16 = 1;

/// Returns the intervals in which the gate `by` is open, or those from each tag of the channel `by` to the next one,
/// with the definitions, delays and sources of `of`; in order, in delayed time.
pub fn intervals_by(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    by: &str,
    (threads, progress): (usize, &dyn Progress),
) -> Result<Vec<TimeInterval>, Error> {
    let (gates, channels) = match named(setup, of, by.trim())? {
        Named::Gate(gate) => (vec![gate], Vec::new()),
        Named::Channel(channel) => (Vec::new(), vec![channel]),
    };
    let of = Derivation { gates, channels: channels.clone(), ..of.clone() };
    let mut evaluation = Evaluation::new(run, setup, &of)?;
    evaluation.threads = threads;
    evaluation.is_kept.fill(false);
    let gate = evaluation.gate.map(|gate| &evaluation.definitions.list()[gate]);
    let origins = match (gate, &channels[..]) {
        (Some(gate), _) if gate.is_from_tag_to_tag() => gate.operands.clone(),
        (None, [channel]) => match &evaluation.derived[..] {
            [derived, ..] => vec![derived.origin],
            [] => vec![Origin::Channel(setup.channel(channel)?)],
        },
        _ => Vec::new(),
    };
    let labelled = origins.into_iter().zip([BEGINS, ENDS]);
    evaluation.derived = labelled.map(|(origin, label)| LabelledOrigin { origin, label }).collect();
    if !evaluation.derived.is_empty() {
        (evaluation.gate, evaluation.markers) = (None, Vec::new());
    }
    evaluation.intervals(progress)
}

/// A gate or a channel that divides a run into intervals.
enum Named {
    Gate(String),
    Channel(Channel),
}

/// Returns the gate or the channel of this name, which may be quoted, or the gate that the text states.
fn named(setup: &Setup, of: &Derivation, by: &str) -> Result<Named, Error> {
    let quoted = by.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = quoted.map_or_else(|| by.to_owned(), |name| name.replace("\"\"", "\""));
    let derived = of.definitions(setup);
    let mut channels =
        setup.names.iter().map(|(_, name)| name).chain(derived.iter().map(|of| &of.0));
    if setup.gates.iter().any(|(other, _)| *other == name) {
        return Ok(Named::Gate(name));
    }
    if channels.any(|other| *other == name) {
        return Ok(Named::Channel(Channel::Name(name)));
    }
    if by.contains(char::is_whitespace) {
        return Ok(Named::Gate(by.to_owned()));
    }
    match by.parse::<Channel>() {
        Ok(channel @ Channel::Number(_)) => Ok(Named::Channel(channel)),
        Ok(Channel::Name(_)) | Err(_) => {
            let listed = |names: Vec<&str>| {
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            };
            let channels = setup.names.iter().map(|(_, name)| name.as_str());
            let channels = listed(channels.chain(derived.iter().map(|of| of.0.as_str())).collect());
            let gates = listed(setup.gates.iter().map(|(name, _)| name.as_str()).collect());
            Err(RequestError::options(&["by"], format!(
                "`by`: `{by}` is neither one channel nor a gate; names of channels: {channels}; gates: {gates}; or write a gate, \
                 such as `1 .. 2`"
            )).into())
        }
    }
}

impl Evaluation<'_> {
    fn intervals(&self, progress: &dyn Progress) -> Result<Vec<TimeInterval>, Error> {
        let needed = self.needed();
        // An interval between tags of two channels is known when both tags are. Other gates, and derived channels,
        // depend on all tags before its end.
        let is_plain = |of: &LabelledOrigin| matches!(of.origin, Origin::Channel(_));
        let are_plain = !self.derived.is_empty() && self.derived.iter().all(is_plain);
        self.run.store().guarded(|store| {
            let mut intervals = Vec::new();
            for part in self.parts(store) {
                let Some((first, last)) = part.span else { continue };
                let mut evaluation = SourceEvaluation::new(self)?;
                let from = (Start::FIRST, evaluation.rows_at_once());
                let feed = Feed::new(store, part.rows.clone(), &needed, &self.is_kept, from);
                let feed = if are_plain { feed.drained() } else { feed };
                let mut spans = TagSpans { begun: None, all: Vec::new() };
                read_ahead(feed, self.threads, |piece| {
                    progress.check()?;
                    evaluation.advance(piece.batch(), piece.until)?;
                    let LabelledTags { times, labels, .. } = std::mem::take(&mut evaluation.out);
                    spans.add(&times, &labels, self.derived.len() == 1);
                    Ok(true)
                })?;
                let spans = if self.gate.is_some() {
                    evaluation.open[0].iter().collect()
                } else {
                    spans.finish()
                };
                let after = last.saturating_add(1);
                let interval = |(begin, end)| interval(begin, end, first, after);
                intervals.extend(spans.into_iter().map(interval));
            }
            Ok(intervals)
        })?
    }
}

/// The intervals from tag to tag.
struct TagSpans {
    /// The tag that began the last one.
    begun: Option<i64>,
    all: Vec<(i64, Option<i64>)>,
}

impl TagSpans {
    /// Adds tags in order of time. Those of one channel both end an interval and begin the next one.
    fn add(&mut self, times: &[i64], labels: &[u16], is_one: bool) {
        if is_one {
            for &time in times {
                self.all.extend(self.begun.replace(time).map(|begun| (begun, Some(time))));
            }
            return;
        }
        let mut rest = labels;
        for together in times.chunk_by(|a, b| a == b) {
            let (time, labels) = (together[0], &rest[..together.len()]);
            rest = &rest[together.len()..];
            // An interval that begins where one ends is another one; one that is open is not begun again.
            if let Some(begun) = self.begun.take_if(|_| labels.contains(&ENDS)) {
                self.all.push((begun, Some(time)));
            }
            if labels.contains(&BEGINS) {
                self.begun.get_or_insert(time);
            }
        }
    }

    /// Returns all of them. The last one has no end if no tag ended it.
    fn finish(mut self) -> Vec<(i64, Option<i64>)> {
        self.all.extend(self.begun.map(|begun| (begun, None)));
        self.all
    }
}

/// Returns an interval of a source between two times. Without a begin or an end, the source is all of it.
fn interval(begin: i64, end: Option<i64>, first: i64, after: i64) -> TimeInterval {
    let is_cut = begin == i64::MIN || end.is_none();
    let begin = if begin == i64::MIN { first } else { begin };
    TimeInterval { begin, end: end.unwrap_or(after).max(begin), is_cut }
}
