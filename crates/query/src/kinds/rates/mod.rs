//! The query "rates": tags per channel, over a selection and in bins of time.

mod key;

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
};

use rayon::prelude::*;

use crate::{
    error::Error,
    kinds::kind::Additive,
    partial::{Counts, Left, Partial},
    run::{
        recording::{Acquisition, Recording},
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        plan::{Plan, PlannedScan, numbered},
        singles::{add_singles, bring, rows_read},
    },
};

/// How many bins are counted by one thread in turn, what they need brought from the disk at once.
const TOGETHER: usize = 16;
/// How many counts of a trace are kept at most: 1 GiB.
const COUNTS_MAX: u64 = 1 << 27;

/// Counts the tags of each channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// Which channels, delays and times.
    pub scope: Scope,
    /// Ticks of a bin of the trace; no trace without it.
    pub bin: Option<i64>,
}

/// The answer to [`Rates`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rated {
    /// The channels in use: as asked for, else ascending.
    pub channels: Vec<u16>,
    /// What each source gave to the selection.
    pub sources: Vec<SourceRates>,
    /// The same in bins of time.
    pub trace: Option<Trace>,
}

/// The tags of one source in a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRates {
    /// Live ticks: last minus first time over all its tags, cut to the range.
    pub live: i64,
    /// Tags of each channel in use.
    pub counts: Vec<u64>,
}

/// Tags in bins of time that follow each other without a gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Where bin 0 begins: the undelayed time of the run's first tag.
    pub origin: i64,
    /// Ticks of a bin.
    pub width: i64,
    /// The bins, from that of the range's begin, or of the first tag, to that of the last.
    pub bins: Vec<TraceBin>,
    /// The counts of bin after bin, in each those of the channels in use.
    pub counts: Vec<u64>,
}

/// One bin of a trace. It begins `number` times the width behind the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBin {
    /// Its number; negative before the origin, where delays can put tags.
    pub number: i64,
    /// Live ticks of all sources in it, cut to the range.
    pub live: i64,
    /// Whether the range leaves out a part of it.
    pub is_cut: bool,
    /// Whether it stays as it is when the run grows ([`Additive::frontier`]).
    pub is_final: bool,
}

impl Rated {
    /// Tags of each channel in use, over all sources.
    pub fn counts(&self) -> Vec<u64> {
        let of = |i: usize| self.sources.iter().map(|source| source.counts[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }

    /// Live ticks of all sources.
    pub fn live(&self) -> i128 {
        self.sources.iter().map(|source| i128::from(source.live)).sum()
    }
}

impl Rates {
    /// Counts over all sources of `recording`.
    ///
    /// Reads no row without a range and bins; else, where the recording comes from a store, those of
    /// the blocks that their edges cut, and all without one.
    ///
    /// # Errors
    /// For delays that leave 64 bits, and bins that mean nothing or are too many.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Rated, Error> {
        self.scope.check(&recording.sources)?;
        let channels = self.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let counting = Counting::new(&self.scope, &channels, execution);
        let of = |source: &Acquisition<'_>| counting.counts(source, self.scope.range);
        let counts = recording.sources.iter().map(of).collect();
        self.rated(recording, &counting, channels, counts)
    }

    /// The answer with these counts of each source.
    fn rated(
        &self,
        recording: &Recording<'_>,
        counting: &Counting<'_>,
        channels: Vec<u16>,
        counts: Vec<Vec<u64>>,
    ) -> Result<Rated, Error> {
        let live = recording.sources.iter().map(|source| self.scope.range.live_of(source));
        let sources = live.zip(counts).map(|(live, counts)| SourceRates { live, counts }).collect();
        let trace = self.bin.map(|width| self.trace(recording, counting, width)).transpose()?;
        Ok(Rated { channels, sources, trace })
    }

    /// What [`Rates::run`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query.
    pub fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.scope.check(&recording.sources)?;
        let channels = self.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let counting = Counting::new(&self.scope, &channels, execution);
        let mut plan = Plan::new(recording, execution);
        let mut whole = PlannedScan::new("totals, labels of blocks cut", channels.len());
        let mut trace = PlannedScan::new("bins, labels of blocks cut", channels.len());
        (whole.has_times, trace.has_times) = (false, false);
        let range = self.scope.range;
        counting.plan(recording, range, &mut whole);
        plan.push(whole);
        if let Some(width) = self.bin {
            if let Some(grid) = self.grid(recording, &counting, width)? {
                for number in grid.numbers.clone() {
                    trace.morsels += 1;
                    counting.plan(recording, grid.part(number), &mut trace);
                }
            }
            plan.push(trace);
        }
        Ok(plan)
    }

    /// The bins of a trace; nothing for a run without tags.
    fn grid(
        &self,
        recording: &Recording<'_>,
        counting: &Counting<'_>,
        width: i64,
    ) -> Result<Option<Grid>, Error> {
        if width < 1 {
            return Err(Error::BinWidth { width });
        }
        let frontier = |last| self.frontier(last);
        let grid = Grid::new(recording, self.scope.range, counting, width, frontier)?;
        let Some(grid) = grid else { return Ok(None) };
        let asked = u128::from(grid.numbers.end().abs_diff(*grid.numbers.start())) + 1;
        let max = COUNTS_MAX / (counting.channels as u64).max(1);
        if !grid.numbers.is_empty() && asked > u128::from(max) {
            return Err(Error::Bins { bins: asked, max });
        }
        Ok(Some(grid))
    }

    fn trace(
        &self,
        recording: &Recording<'_>,
        counting: &Counting<'_>,
        width: i64,
    ) -> Result<Trace, Error> {
        let Some(grid) = self.grid(recording, counting, width)? else {
            return Ok(Trace { origin: 0, width, bins: vec![], counts: vec![] });
        };
        let first = *grid.numbers.start();
        let len = grid.numbers.clone().count();
        // Without channels each bin has a place all the same, which nothing is put in.
        let stride = counting.channels.max(1);
        let empty = TraceBin { number: 0, live: 0, is_cut: false, is_final: false };
        let (mut bins, mut counts) = (vec![empty; len], vec![0; len * stride]);
        let pieces = bins.par_chunks_mut(TOGETHER).zip(counts.par_chunks_mut(TOGETHER * stride));
        pieces.enumerate().for_each(|(piece, (bins, counts))| {
            #[expect(clippy::cast_possible_wrap, reason = "below COUNTS_MAX")]
            let first = first + (piece * TOGETHER) as i64;
            let numbers: Vec<i64> = (first..).take(bins.len()).collect();
            grid.bring(&numbers, recording, counting);
            for ((bin, counts), number) in
                bins.iter_mut().zip(counts.chunks_mut(stride)).zip(numbers)
            {
                *bin = grid.bin(number, recording, counting, &mut counts[..counting.channels]);
            }
        });
        let needed = grid.needed(&bins, &counts);
        bins.truncate(needed.end);
        bins.drain(..needed.start);
        counts.truncate(needed.end * stride);
        counts.drain(..needed.start * stride);
        if counting.channels == 0 {
            counts.clear();
        }
        Ok(Trace { origin: grid.origin, width, bins, counts })
    }
}

impl Additive for Rates {
    type Answer = Rated;

    fn answer(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Rated, Error> {
        self.run(recording, execution)
    }

    fn partial(
        &self,
        recording: &Recording<'_>,
        interval: TimeRange,
        before: Option<&Partial>,
        execution: &Execution,
    ) -> Result<Partial, Error> {
        let query = self.words();
        Partial::check_before(before, &query, interval)?;
        self.scope.check(&recording.sources)?;
        let channels = self.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let counting = Counting::new(&self.scope, &channels, execution);
        let mut tags = BTreeMap::new();
        for (number, source) in (0..).zip(&recording.sources) {
            let counts = counting.counts(source, interval);
            let counts = channels.iter().zip(counts).filter(|&(_, count)| count > 0);
            tags.extend(counts.map(|(&channel, count)| ((number, channel), count)));
        }
        Ok(Partial { query, interval, counts: Counts::Tags(tags), left: Left::Nothing })
    }

    fn finish(
        &self,
        recording: &Recording<'_>,
        partial: &Partial,
        execution: &Execution,
    ) -> Result<Rated, Error> {
        self.scope.check(&recording.sources)?;
        partial.check_of(&self.words(), self.scope.range)?;
        let Counts::Tags(tags) = &partial.counts else {
            return Err(Error::PartialDamaged { what: "counts of another kind" });
        };
        let channels = self.scope.channels.clone().unwrap_or_else(|| recording.channels());
        let counting = Counting::new(&self.scope, &channels, execution);
        let of = |number: u32| {
            let of = |&channel: &u16| tags.get(&(number, channel)).copied().unwrap_or(0);
            channels.iter().map(of).collect()
        };
        let counts = (0..).zip(&recording.sources).map(|(number, _)| of(number)).collect();
        self.rated(recording, &counting, channels.clone(), counts)
    }

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn words(&self) -> String {
        self.key()
    }
}

/// The bins of a trace, and what cuts them.
struct Grid {
    origin: i64,
    width: i64,
    range: TimeRange,
    /// Before this nothing can come any more.
    frontier: Option<i64>,
    /// The bins that tags of the selection can be in.
    numbers: RangeInclusive<i64>,
    /// The bin of the last time recorded.
    last: i64,
}

impl Grid {
    /// Nothing for a run without tags.
    fn new(
        recording: &Recording<'_>,
        range: TimeRange,
        counting: &Counting<'_>,
        width: i64,
        frontier: impl Fn(i64) -> Option<i64>,
    ) -> Result<Option<Self>, Error> {
        let spans = || recording.sources.iter().filter_map(Acquisition::span);
        let firsts = spans().map(|(first, _)| first).min();
        let Some((origin, last)) = firsts.zip(spans().map(|(_, last)| last).max()) else {
            return Ok(None);
        };
        let delays = || counting.delays.iter().map(|(delay, _)| *delay);
        let smallest = delays().min().unwrap_or(0);
        let largest = delays().max().unwrap_or(0).max(0);
        // Each end of each source was checked with its delays, but not the run as a whole.
        let (begin, end) = (origin + smallest.min(0), last + largest);
        if end.checked_sub(begin).is_none() {
            return Err(Error::DelayRange { delay: largest, first: origin, last });
        }
        let begin = range.from.map_or(begin, |from| from.max(begin));
        let end = range.to.map_or(end, |to| end.min(to.saturating_sub(1)));
        let number = |time: i64| (time - origin).div_euclid(width);
        #[expect(clippy::reversed_empty_ranges, reason = "no bins")]
        let numbers = if begin <= end { number(begin)..=number(end) } else { 1..=0 };
        let (frontier, last) = (frontier(last), number(last));
        Ok(Some(Self { origin, width, range, frontier, numbers, last }))
    }

    /// Has the blocks that these bins cut brought into memory.
    fn bring(&self, numbers: &[i64], recording: &Recording<'_>, counting: &Counting<'_>) {
        let edges = || {
            let ends = numbers.iter().filter_map(|&number| self.end(number));
            numbers.first().and_then(|&first| self.start(first)).into_iter().chain(ends)
        };
        for source in &recording.sources {
            for &(delay, _) in &counting.delays {
                bring(source, edges(), delay);
            }
        }
    }

    fn bin(
        &self,
        number: i64,
        recording: &Recording<'_>,
        counting: &Counting<'_>,
        counts: &mut [u64],
    ) -> TraceBin {
        let part = self.part(number);
        let mut live = 0;
        for source in &recording.sources {
            live += part.live_of(source);
            counting.add(source, part, counts);
        }
        let (is_cut, is_final) = (self.is_cut(number), self.is_final(number));
        TraceBin { number, live, is_cut, is_final }
    }

    /// Delays can put tags before the first and behind the last one recorded: of the bins there only
    /// those up to the outermost tag are kept, where the range does not ask for them.
    fn needed(&self, bins: &[TraceBin], counts: &[u64]) -> Range<usize> {
        let of_bins = counts.chunks((counts.len() / bins.len().max(1)).max(1));
        let is_kept = |(bin, counts): (&TraceBin, &[u64])| {
            (self.range.from.is_some() && bin.number < 0)
                || (self.range.to.is_some() && bin.number > self.last)
                || (0..=self.last).contains(&bin.number)
                || counts.iter().any(|&count| count != 0)
        };
        let mut kept = bins.iter().zip(of_bins);
        let first = kept.clone().position(is_kept);
        match first.zip(kept.rposition(is_kept)) {
            Some((first, last)) => first..last + 1,
            None => 0..0,
        }
    }

    fn start(&self, number: i64) -> Option<i64> {
        number.checked_mul(self.width)?.checked_add(self.origin)
    }

    fn end(&self, number: i64) -> Option<i64> {
        self.start(number.checked_add(1)?)
    }

    /// The part of a bin that lies in the range. A begin or end beyond 64 bits is an open one.
    fn part(&self, number: i64) -> TimeRange {
        let bin = TimeRange { from: self.start(number), to: self.end(number) };
        bin.and(&self.range)
    }

    fn is_cut(&self, number: i64) -> bool {
        let (start, end) = (self.start(number), self.end(number));
        let cuts = |limit: Option<i64>| {
            limit.is_some_and(|limit| {
                start.is_none_or(|start| start < limit) && end.is_none_or(|end| limit < end)
            })
        };
        cuts(self.range.from) || cuts(self.range.to)
    }

    fn is_final(&self, number: i64) -> bool {
        self.start(number + 1).zip(self.frontier).is_some_and(|(end, frontier)| end <= frontier)
    }
}

/// How the channels in use are counted: those of one delay together.
struct Counting<'a> {
    execution: &'a Execution,
    channels: usize,
    /// A delay, its channels, and where the count of each belongs.
    delays: Vec<(i64, Vec<(u16, usize)>)>,
}

impl<'a> Counting<'a> {
    fn new(scope: &Scope, channels: &[u16], execution: &'a Execution) -> Self {
        let mut delays: Vec<(i64, Vec<(u16, usize)>)> = Vec::new();
        for (place, &channel) in channels.iter().enumerate() {
            let delay = scope.delay_of(channel);
            match delays.iter_mut().find(|(known, _)| *known == delay) {
                Some((_, channels)) => channels.push((channel, place)),
                None => delays.push((delay, vec![(channel, place)])),
            }
        }
        Self { execution, channels: channels.len(), delays }
    }

    fn counts(&self, source: &Acquisition<'_>, range: TimeRange) -> Vec<u64> {
        let mut counts = vec![0; self.channels];
        self.add(source, range, &mut counts);
        counts
    }

    /// Adds what counting in `range` takes.
    fn plan(&self, recording: &Recording<'_>, range: TimeRange, scan: &mut PlannedScan) {
        for (first, source) in numbered(recording) {
            for &(delay, _) in &self.delays {
                rows_read(source, delay, range, |rows| scan.take(first, rows));
            }
        }
    }

    fn add(&self, source: &Acquisition<'_>, range: TimeRange, counts: &mut [u64]) {
        for (delay, channels) in &self.delays {
            let labels: Vec<u16> = channels.iter().map(|&(channel, _)| channel).collect();
            let mut more = vec![0; labels.len()];
            add_singles(source, &labels, *delay, range, self.execution.simd, &mut more);
            for (&(_, place), more) in channels.iter().zip(more) {
                counts[place] += more;
            }
        }
    }
}
