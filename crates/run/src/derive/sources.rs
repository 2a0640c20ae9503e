//! Evaluation of the sources of a run, one after the other, each piece by piece.
//!
//! The state to continue from is taken before the tags at the last time of the last source, because more tags of this
//! time can come when the source grows.

use std::{ops::Range, sync::mpsc, thread};

use tagq_derived::{
    Error as ViewError, Frontier, GateNetwork, Intervals, LabelledTags, Network, Origin,
    WAITING_MAX,
};
use tagq_store::{Recording, Source, SourceFacts, Store, Writer};

use super::{
    evaluation::Evaluation,
    feed::{Feed, Piece, Start},
    merged::{ExpectedRows, Merged},
};
use crate::{
    error::{Error, RequestError},
    progress::Progress,
};

/// The largest number of spans outside of gates in all sources: the evaluation, and every reader of the view, has them
/// in memory.
const SPANS_MAX: usize = 1 << 22;

/// The keys of facts of a source that state definitions.
pub(super) const DERIVED_CHANNEL: &str = "derived channel";
pub(super) const GATE: &str = "gate";

/// Pieces that are read before they are evaluated.
const PIECES_AHEAD: usize = 4;

/// The fewest and the most rows that are read at once.
const ROWS_MIN: usize = 1 << 8;
const ROWS_MAX: usize = 1 << 16;

/// The number of tags that a view may have in any case, for runs of few tags.
const VIEW_TAGS: u64 = 1 << 20;

/// The evaluation of the last source before its end, to go on when the source has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvaluationState {
    /// The number of the source.
    pub source: usize,
    /// The delayed and the recorded time before which tags were evaluated.
    pub start: Start,
    /// The rows of the view that were written for the source by then.
    pub rows: u64,
    pub network: Vec<u8>,
    pub gate: Vec<u8>,
    /// The bounds of the gate.
    pub bounds: Vec<i64>,
}

/// A state, and the rows that were written after it.
pub(super) struct Resumed {
    pub state: EvaluationState,
    pub expected: ExpectedRows,
}

/// The result of an evaluation.
pub(super) enum Evaluated {
    /// The rows are written; with the state of the last source.
    Written(Option<EvaluationState>),
    /// The writer had rows that it should not have.
    Other,
}

/// A part of the run that nothing spans: a source, or all sources if they are joined.
pub(super) struct InputSource<'a> {
    source: &'a Source,
    pub rows: Range<usize>,
    /// Its first and last time.
    pub span: Option<(i64, i64)>,
    dead: Vec<(i64, i64)>,
}

impl Evaluation<'_> {
    /// Evaluates all sources, from a state on, and ends them in the writer; nothing is committed.
    pub(super) fn evaluate(
        &self,
        resumed: Option<Resumed>,
        writer: &mut Writer,
        progress: &dyn Progress,
    ) -> Result<Evaluated, Error> {
        let evaluate = |store: &Store| self.evaluate_in(store, resumed, writer, progress);
        self.run.store().guarded(evaluate)?
    }

    fn evaluate_in(
        &self,
        store: &Store,
        mut resumed: Option<Resumed>,
        writer: &mut Writer,
        progress: &dyn Progress,
    ) -> Result<Evaluated, Error> {
        let parts = self.parts(store);
        writer.set_threads(tagq_store::threads(self.threads));
        let first = resumed.as_ref().map_or(0, |resumed| resumed.state.source);
        let needed = self.needed();
        let (mut last, mut moved_out) = (None, 0);
        let mut left = self.most_tags();
        for (number, part) in parts.iter().enumerate().skip(first) {
            let is_last = number + 1 == parts.len();
            let mut evaluation = SourceEvaluation::new(self)?;
            let (mut start, mut before, mut expected) = (Start::FIRST, 0, ExpectedRows::default());
            if let Some(Resumed { state, expected: rows }) = resumed.take() {
                evaluation = evaluation.restored(self, &state)?;
                (start, before, expected) = (state.start, state.rows, rows);
                writer.continue_source();
            } else {
                writer.begin_source();
            }
            let rows = evaluation.rows_at_once();
            let feed = Feed::new(store, part.rows.clone(), &needed, &self.is_kept, (start, rows));
            let mut merged = Merged::new(writer, store, part.span, expected);
            let mut reached = Start::FIRST;
            let evaluated = read_ahead(feed, self.threads, |mut piece| {
                progress.check()?;
                if piece.is_end && is_last {
                    last = Some(evaluation.state(number, reached, before + merged.written()));
                }
                let done = evaluation.advance(piece.batch(), piece.until)?;
                merged.add_of_run(&mut piece.kept);
                merged.add_derived(&mut evaluation.out);
                merged.write(done, &evaluation.open[0])?;
                evaluation.check_waiting(merged.waiting() + piece.waiting)?;
                if evaluation.open[0].len() > SPANS_MAX {
                    return Err(self.too_many_spans().into());
                }
                if before + merged.written() > left {
                    return Err(self.too_many_tags(&evaluation).into());
                }
                reached = Start { delayed: piece.until, recorded: done };
                Ok(!merged.is_other())
            });
            if !evaluated? || !merged.has_expected() {
                return Ok(Evaluated::Other);
            }
            merged.flush()?;
            moved_out += merged.moved_out();
            left -= (before + merged.written()).min(left);
            let facts =
                self.facts(part, &evaluation.open[0], reached.recorded, writer.sources())?;
            writer.finish_source(facts);
        }
        if moved_out > 0 {
            progress.note(&format!(
                "{moved_out} derived tags are left out: delays move them out of the time of their file"
            ));
        }
        Ok(Evaluated::Written(last))
    }

    /// Returns the most tags that the view may have.
    fn most_tags(&self) -> u64 {
        let tags = self.run.store().manifest().rows;
        VIEW_TAGS.max(tags.saturating_mul(self.run.bounds().view_factor.into()))
    }

    fn too_many_spans(&self) -> RequestError {
        let gate = self.gate.map_or("", |gate| &*self.definitions.list()[gate].name);
        RequestError::TooLarge(format!(
            "`{gate}` leaves more than {SPANS_MAX} spans of time out, which is the largest number; take a gate that opens and closes less \
             often"
        ))
    }

    fn too_many_tags(&self, evaluation: &SourceEvaluation) -> RequestError {
        let name = evaluation.network.growth().1.unwrap_or_default();
        RequestError::TooLarge(format!(
            "the view would have more than {} tags, where at most {} times those of the run are written: `{name}` makes the most; \
             take fewer definitions, or a larger `view_factor`",
            self.most_tags(),
            self.run.bounds().view_factor
        ))
    }

    /// Returns the parts of the run.
    pub(super) fn parts<'s>(&self, store: &'s Store) -> Vec<InputSource<'s>> {
        let manifest = store.manifest();
        let part = |(source, rows): (&'s Source, Range<usize>)| InputSource {
            source,
            rows,
            span: source.span(),
            dead: source.dead(),
        };
        let parts = store.sources().map(part);
        if !self.is_joined {
            return parts.collect();
        }
        let joined = parts.reduce(|mut all, part| {
            all.rows.end = part.rows.end;
            all.span = manifest.span();
            all.dead.extend(part.dead);
            all
        });
        joined.into_iter().collect()
    }

    /// Returns the facts of a source of the derived run, which ends before `end` and follows `earlier` ones.
    fn facts(
        &self,
        part: &InputSource<'_>,
        gate: &Intervals,
        end: i64,
        earlier: &[Source],
    ) -> Result<SourceFacts, Error> {
        let source = part.source;
        let of = source.facts.recording.clone().unwrap_or_default();
        let moved = source.facts.rebased.unwrap_or(0);
        let last = end.saturating_sub(1);
        let span = part.span.map(|(first, to)| (first, last.clamp(first, to)));
        let mut dead = part.dead.clone();
        dead.reserve(gate.len());
        if let Some((first, last)) = span {
            for (begin, end) in gate.gaps() {
                let span = (begin.max(first), end.unwrap_or(last).min(last));
                dead.extend(Some(span).filter(|(begin, end)| begin < end));
            }
        }
        let recorded = earlier.iter().filter_map(|source| source.facts.recording.as_ref());
        let spans = recorded.map(|recording| recording.dead.len()).sum::<usize>() + dead.len();
        if spans > SPANS_MAX {
            return Err(self.too_many_spans().into());
        }
        let recorded = |time: i64| time.saturating_sub(moved);
        let dead = dead.into_iter().map(|(begin, end)| (recorded(begin), recorded(end)));
        let mut facts = of.facts;
        for (kind, origins) in [
            (DERIVED_CHANNEL, self.derived.iter().map(|output| output.origin).collect()),
            (GATE, self.gate.map(Origin::Definition).into_iter().collect::<Vec<_>>()),
        ] {
            for origin in origins {
                if let Origin::Definition(at) = origin {
                    let definition = &self.definitions.list()[at];
                    let text = format!("{} = {}", definition.name, definition.expression);
                    facts.push((kind.into(), text));
                }
            }
        }
        let recording = Recording {
            format: "derived".into(),
            channel_names: self.names(),
            facts,
            dead: dead.collect(),
            dead_since: None,
            stated: None,
            ..of
        };
        Ok(SourceFacts {
            rebased: source.facts.rebased,
            recording: Some(recording),
            recorded: span,
            ..SourceFacts::named(&source.facts.name)
        })
    }
}

/// Reads pieces, on another thread unless there is to be only one, and passes each to `take` until it returns `false`.
/// Returns whether it took all.
pub(super) fn read_ahead(
    feed: Feed<'_>,
    threads: usize,
    mut take: impl FnMut(Piece) -> Result<bool, Error>,
) -> Result<bool, Error> {
    if threads == 1 {
        for piece in feed {
            if !take(piece)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    thread::scope(|scope| {
        let (send, receive) = mpsc::sync_channel(PIECES_AHEAD);
        // If the receiver has stopped, nothing more is read.
        scope.spawn(move || feed.map_while(|piece| send.send(piece).ok()).for_each(drop));
        for piece in receive {
            if !take(piece)? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// The evaluation of one source.
pub(super) struct SourceEvaluation {
    network: Network,
    gate: Option<GateNetwork>,
    /// The times at which the gate is open, as far as it was evaluated.
    pub open: [Intervals; 1],
    markers: Vec<u16>,
    /// Derived tags that were not written yet.
    pub out: LabelledTags,
}

impl SourceEvaluation {
    pub(super) fn new(of: &Evaluation<'_>) -> Result<Self, Error> {
        let gate = of.gate_network()?;
        Ok(Self {
            network: of.network()?,
            open: [if gate.is_some() { Intervals::never() } else { Intervals::always() }],
            gate,
            markers: of.markers.iter().map(|marker| marker.label).collect(),
            out: LabelledTags::default(),
        })
    }

    fn restored(mut self, of: &Evaluation<'_>, state: &EvaluationState) -> Result<Self, Error> {
        self.network = of.network()?.restored(&state.network)?;
        if let Some(gate) = of.gate_network()? {
            self.gate = Some(gate.restored(&state.gate)?);
            let open = Intervals::from_bounds(state.bounds.clone());
            self.open = [open.ok_or(ViewError::Damaged)?];
        }
        Ok(self)
    }

    /// Takes the tags before `until`. Returns the time before which the output is complete, whatever follows.
    pub(super) fn advance(
        &mut self,
        batch: tagq_derived::TagBatch<'_>,
        until: i64,
    ) -> Result<i64, Error> {
        let done = self.network.advance(batch, Frontier::Before(until), &mut self.out)?;
        if let Some(gate) = &mut self.gate {
            gate.advance(&self.out.times, &self.out.labels, done, &mut self.open)?;
            self.out.retain(|label| !self.markers.contains(&label));
        }
        let Frontier::Before(done) = done else { return Ok(until) };
        Ok(done)
    }

    /// Returns how many rows are read at once, so that what definitions make of them is far below [`WAITING_MAX`].
    pub(super) fn rows_at_once(&self) -> usize {
        let rows = WAITING_MAX as f64 / 4.0 / self.network.growth().0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let rows = rows.clamp(ROWS_MIN as f64, ROWS_MAX as f64) as usize;
        rows
    }

    /// Rejects too many tags that wait, `others` of them outside of the network.
    fn check_waiting(&self, others: usize) -> Result<(), Error> {
        if self.network.waiting().saturating_add(others) <= WAITING_MAX {
            return Ok(());
        }
        let name = self.network.slowest().unwrap_or_default().into();
        Err(ViewError::Waiting { name, most: WAITING_MAX }.into())
    }

    fn state(&mut self, source: usize, start: Start, rows: u64) -> EvaluationState {
        let gate = self.gate.as_ref().map(GateNetwork::save);
        let bounds = if gate.is_some() { self.open[0].bounds().to_vec() } else { Vec::new() };
        let (network, gate) = (self.network.save(), gate.unwrap_or_default());
        EvaluationState { source, start, rows, network, gate, bounds }
    }
}
