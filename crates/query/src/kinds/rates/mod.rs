//! The query "rates": tags per channel, over a selection and in bins of time.
//!
//! Tags at 0, 4 and 12 in bins of 5 ticks: 2, 0 and 1. Blocks that lie wholly in a bin are counted from the index, so
//! the index and the rows must agree.

use std::{collections::BTreeMap, sync::Arc};

use rayon::prelude::*;

use crate::{
    counters::{
        Countable, Ledger, Needs, Scan,
        time_bins::{TimeBin, TimeBins, TimeDivision},
    },
    error::Error,
    kinds::kind::Kind,
    partial::{
        Partial, State,
        keys::{channels, delays},
    },
    run::{
        counts::Counts,
        facts::{Facts, SourceFacts},
        recording::Recording,
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{morsels::Execution, plan::ReadPlan, route::Route, singles::rows_read},
};

/// The number of bins that a thread counts in turn; the blocks they need are prefetched from the disk
/// together.
const TOGETHER: usize = 16;

/// Counts the tags of each channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// The channels, delays and times that the query covers.
    pub scope: Scope,
    /// The bins of the trace; `None` for no trace.
    pub trace: Option<TimeDivision>,
}

/// The result of [`Rates`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rated {
    /// The channels in use: in the order of the query if it names them, else ascending.
    pub channels: Vec<u16>,
    /// The counts of each source in the selection.
    pub sources: Vec<SourceRates>,
    /// The counts in bins of time.
    pub trace: Option<Trace>,
}

/// The tags of one source in a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRates {
    /// The live time in ticks: from the first to the last of all its tags, without dead spans, cut to the range.
    pub live: i64,
    /// The number of tags of each channel in use.
    pub counts: Vec<u64>,
    /// The ticks of the range in which tags of each channel can be: the live time, moved by the delay of the channel.
    pub live_of: Vec<i64>,
}

/// Tags in contiguous bins of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The bins: from the bin of the range's start, or of the first tag, to the bin of the range's end, or of
    /// the last tag.
    pub bins: Vec<TraceBin>,
    /// The counts of all bins, one after the other; each bin holds one count per channel in use.
    pub counts: Vec<u64>,
    /// For each bin and channel in use, in the same order, the ticks of the bin, cut to the range, in which tags of a
    /// channel can be: the live time of all sources, moved by the delay of the channel.
    pub live: Vec<i64>,
}

/// One bin of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBin {
    /// The bin.
    pub of: TimeBin,
    /// Live ticks of all sources in the bin, cut to the range.
    pub live: i64,
}

impl Rated {
    /// Returns the number of tags of each channel in use, over all sources.
    pub fn counts(&self) -> Vec<u64> {
        let of = |i: usize| self.sources.iter().map(|source| source.counts[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }

    /// Returns the ticks in which tags of each channel in use can be, over all sources.
    pub fn live_of(&self) -> Vec<i128> {
        let of = |i: usize| self.sources.iter().map(|source| i128::from(source.live_of[i])).sum();
        (0..self.channels.len()).map(of).collect()
    }

    /// Returns the live ticks of all sources.
    pub fn live(&self) -> i128 {
        self.sources.iter().map(|source| i128::from(source.live)).sum()
    }
}

impl Rates {
    /// Returns the bins of its trace; `None` if the run has no tags.
    ///
    /// # Errors
    /// See [`TimeBins::of`].
    pub fn time_bins(
        &self,
        facts: &Facts,
        division: &TimeDivision,
    ) -> Result<Option<TimeBins>, Error> {
        TimeBins::of(facts, &self.scope, division, |last| self.frontier(last))
    }

    fn trace(
        &self,
        ledger: &Ledger<'_>,
        channels: &[u16],
        division: &TimeDivision,
    ) -> Result<Trace, Error> {
        let counting = Counting::new(&self.scope, channels);
        let all = self.time_bins(ledger.facts(), division)?;
        let Some(all) = all.filter(|all| !all.numbers().is_empty()) else {
            return Ok(Trace { bins: vec![], counts: vec![], live: vec![] });
        };
        let first = *all.numbers().start();
        let len = all.numbers().count();
        // Without channels, each bin still has one place, which stays empty.
        let stride = counting.channels.max(1);
        let mut bins = vec![TraceBin { of: all.bin(first), live: 0 }; len];
        let mut counts = vec![(0, 0); len * stride];
        let pieces = bins.par_chunks_mut(TOGETHER).zip(counts.par_chunks_mut(TOGETHER * stride));
        pieces.enumerate().for_each(|(piece, (bins, counts))| {
            #[expect(clippy::cast_possible_wrap, reason = "below 2^27")]
            let first = first + (piece * TOGETHER) as i64;
            let numbers: Vec<i64> = (first..).take(bins.len()).collect();
            expect_bins(&all, &numbers, ledger, &counting);
            for ((bin, counts), number) in
                bins.iter_mut().zip(counts.chunks_mut(stride)).zip(numbers)
            {
                let of = all.bin(number);
                *bin = TraceBin { of, live: 0 };
                let mut tags = vec![0; counting.channels];
                for (number, source) in ledger.facts().iter().enumerate() {
                    bin.live += source.live().ticks_in(of.range);
                    for (delay, channels) in &counting.delays {
                        let live = source.live().overlap(&[*delay], of.range);
                        for &(_, place) in channels {
                            counts[place].1 += live;
                        }
                    }
                    counting.add(ledger, number, of.range, &mut tags);
                }
                counts.iter_mut().zip(tags).for_each(|((count, _), tags)| *count = tags);
            }
        });
        let has_tags = counts.chunks(stride).map(|of| of.iter().any(|&(count, _)| count != 0));
        let needed = all.needed_of(has_tags);
        let bins = bins[needed.clone()].to_vec();
        let stride = counting.channels;
        let (counts, live) =
            counts[needed.start * stride..needed.end * stride].iter().copied().unzip();
        Ok(Trace { bins, counts, live })
    }
}

/// Announces the edges of the bins that are counted next, so that their blocks are prefetched together.
fn expect_bins(all: &TimeBins, numbers: &[i64], ledger: &Ledger<'_>, counting: &Counting) {
    let edges = || {
        let of = |&number: &i64| [all.start(number), all.end(number)];
        numbers.iter().flat_map(of).flatten()
    };
    for source in 0..ledger.facts().len() {
        for &(delay, _) in &counting.delays {
            ledger.expect_ends(source, delay, edges());
        }
    }
}

impl Countable for Rates {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    /// A trace has no partial, so its bins are not part of the key.
    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { scope, trace: _ } = self;
        let delays = delays(scope, scope.channels.as_deref());
        format!("rates; {}{delays}", channels(scope))
    }

    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn nothing(&self) -> Counts {
        Counts::Tags(BTreeMap::new())
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let scan = Scan::new(recording, execution);
        let ledger = Ledger::of(&scan);
        let channels = self.scope.in_use(ledger.facts());
        let counting = Counting::new(&self.scope, &channels);
        let mut tags = BTreeMap::new();
        for (number, source) in (0..).zip(0..recording.sources.len()) {
            let mut counts = vec![0; channels.len()];
            counting.add(&ledger, source, range, &mut counts);
            let counts = channels.iter().zip(counts).filter(|&(_, count)| count > 0);
            tags.extend(counts.map(|(&channel, count)| ((number, channel), count)));
        }
        Ok((Counts::Tags(tags), State::Nothing))
    }
}

/// Reads no row if there is neither a range nor bins. Otherwise it reads the blocks that their edges cut, if
/// the recording comes from a store, or all rows if it does not.
impl Kind for Rates {
    type Answer = Rated;

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), trace: self.trace.clone() }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
        self.scope.check(facts)
    }

    fn answer(&self, ledger: &Ledger<'_>, counts: Counts) -> Result<Rated, Error> {
        let tags = counts.tags()?;
        let channels = self.scope.in_use(ledger.facts());
        let of_source = |(number, source): (u32, &Arc<SourceFacts>)| {
            let of = |&channel: &u16| tags.get(&(number, channel)).copied().unwrap_or(0);
            let counts = channels.iter().map(of).collect();
            let (live, range) = (source.live(), self.scope.range);
            let live_of = |&channel| live.overlap(&[self.scope.delay_of(channel)], range);
            let live_of = channels.iter().map(live_of).collect();
            SourceRates { live: live.ticks_in(range), counts, live_of }
        };
        let sources = (0..).zip(ledger.facts().iter()).map(of_source).collect();
        let trace = self.trace.as_ref().map(|of| self.trace(ledger, &channels, of)).transpose()?;
        Ok(Rated { channels, sources, trace })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        _: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        let facts = &recording.facts();
        let counting = Counting::new(&self.scope, &self.scope.in_use(facts));
        counting.plan(recording, self.scope.range, plan);
        if let Some(division) = &self.trace
            && let Some(all) = self.time_bins(facts, division)?
        {
            for bin in all.bins() {
                counting.plan(recording, bin.range, plan);
            }
        }
        Ok(())
    }
}

/// How the channels in use are counted: channels with the same delay together.
struct Counting {
    channels: usize,
    /// A delay, its channels, and the index of the count of each.
    delays: Vec<(i64, Vec<(u16, usize)>)>,
}

impl Counting {
    fn new(scope: &Scope, channels: &[u16]) -> Self {
        let of_delay = |(delay, places): (i64, Vec<usize>)| {
            (delay, places.into_iter().map(|place| (channels[place], place)).collect())
        };
        let delays = scope.by_delay(channels).into_iter().map(of_delay).collect();
        Self { channels: channels.len(), delays }
    }

    /// Adds the rows that counting in `range` reads.
    fn plan(&self, recording: &Recording<'_>, range: TimeRange, plan: &mut ReadPlan) {
        plan.read(recording, |source| {
            let of = |(delay, _): &(i64, _)| rows_read(source, *delay, range);
            self.delays.iter().flat_map(of).map(|rows| (Route::Labels, rows))
        });
    }

    fn add(&self, ledger: &Ledger<'_>, source: usize, range: TimeRange, counts: &mut [u64]) {
        for (delay, channels) in &self.delays {
            let labels: Vec<u16> = channels.iter().map(|&(channel, _)| channel).collect();
            let mut more = vec![0; labels.len()];
            ledger.add_tags(source, &labels, *delay, range, &mut more);
            for (&(_, place), more) in channels.iter().zip(more) {
                counts[place] += more;
            }
        }
    }
}
