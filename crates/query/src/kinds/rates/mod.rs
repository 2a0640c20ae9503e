//! The query "rates": tags per channel, over a selection and in bins of time.

use std::{
    collections::BTreeMap,
    ops::{Range, RangeInclusive},
};

use rayon::prelude::*;

use crate::{
    error::Error,
    kinds::kind::Kind,
    partial::{
        Partial, State,
        keys::{channels, delays},
    },
    run::{
        counts::Counts,
        recording::{Recording, Source},
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        plan::{LABELS, Plan},
        singles::{add_singles, bring, rows_read},
    },
};

/// The number of bins that a thread counts in turn; the blocks they need are prefetched from the disk
/// together.
const TOGETHER: usize = 16;
/// The largest number of counts of a trace held in memory: 1 GiB.
const COUNTS_MAX: u64 = 1 << 27;

/// Counts the tags of each channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// The channels, delays and times that the query covers.
    pub scope: Scope,
    /// The width of a bin of the trace in ticks; `None` for no trace.
    pub bin: Option<i64>,
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
    /// Live ticks: last minus first time over all its tags, cut to the range.
    pub live: i64,
    /// The number of tags of each channel in use.
    pub counts: Vec<u64>,
}

/// Tags in contiguous bins of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The start of bin 0: the undelayed time of the run's first tag.
    pub origin: i64,
    /// The width of a bin in ticks.
    pub width: i64,
    /// The bins: from the bin of the range's start, or of the first tag, to the bin of the range's end, or of
    /// the last tag.
    pub bins: Vec<TraceBin>,
    /// The counts of all bins, one after the other; each bin holds one count per channel in use.
    pub counts: Vec<u64>,
}

/// One bin of a trace. It begins at the origin plus `number` times the width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceBin {
    /// The number of the bin; negative before the origin, where delays can put tags.
    pub number: i64,
    /// Live ticks of all sources in the bin, cut to the range.
    pub live: i64,
    /// Whether the range leaves out a part of the bin.
    pub is_cut: bool,
    /// Whether the bin stays unchanged when the run grows ([`Kind::frontier`]).
    pub is_final: bool,
}

impl Trace {
    /// Returns the times of a bin. A start or end beyond 64 bits is open.
    pub fn range_of(&self, bin: &TraceBin) -> TimeRange {
        let edge = |number: i128| {
            i64::try_from(i128::from(self.origin) + number * i128::from(self.width)).ok()
        };
        let number = i128::from(bin.number);
        TimeRange { from: edge(number), to: edge(number + 1) }
    }
}

impl Rated {
    /// Returns the number of tags of each channel in use, over all sources.
    pub fn counts(&self) -> Vec<u64> {
        let of = |i: usize| self.sources.iter().map(|source| source.counts[i]).sum();
        (0..self.channels.len()).map(of).collect()
    }

    /// Returns the live ticks of all sources.
    pub fn live(&self) -> i128 {
        self.sources.iter().map(|source| i128::from(source.live)).sum()
    }
}

impl Rates {
    fn channels(&self, recording: &Recording<'_>) -> Vec<u16> {
        self.scope.channels.clone().unwrap_or_else(|| recording.channels())
    }

    /// Returns the bins of a trace; `None` if the run has no tags.
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
        // Without channels, each bin still has one place, which stays empty.
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
        // A part does not know in which of the outer bins others have tags.
        let needed = if recording.is_part() { 0..len } else { grid.needed(&bins, &counts) };
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

/// Reads no row if there is neither a range nor bins. Otherwise it reads the blocks that their edges cut, if
/// the recording comes from a store, or all rows if it does not.
impl Kind for Rates {
    type Answer = Rated;

    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn over(&self, range: TimeRange) -> Self {
        Self { scope: self.scope.over(range), ..*self }
    }

    /// A trace has no partial, so its bins are not part of the key.
    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { scope, bin: _ } = self;
        let delays = delays(scope, scope.channels.as_deref());
        format!("rates; {}{delays}", channels(scope))
    }

    fn check(&self, recording: &Recording<'_>) -> Result<(), Error> {
        self.scope.check(&recording.sources)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let channels = self.channels(recording);
        let counting = Counting::new(&self.scope, &channels, execution);
        let mut tags = BTreeMap::new();
        for (number, source) in (0..).zip(&recording.sources) {
            let mut counts = vec![0; channels.len()];
            counting.add(source, self.scope.range, &mut counts);
            let counts = channels.iter().zip(counts).filter(|&(_, count)| count > 0);
            tags.extend(counts.map(|(&channel, count)| ((number, channel), count)));
        }
        Ok((Counts::Tags(tags), State::Nothing))
    }

    fn answer(
        &self,
        recording: &Recording<'_>,
        counts: Counts,
        execution: &Execution,
    ) -> Result<Rated, Error> {
        let tags = counts.tags()?;
        let channels = self.channels(recording);
        let of_source = |(number, source): (u32, &Source<'_>)| {
            let of = |&channel: &u16| tags.get(&(number, channel)).copied().unwrap_or(0);
            let counts = channels.iter().map(of).collect();
            SourceRates { live: source.live().ticks_in(self.scope.range), counts }
        };
        let sources = (0..).zip(&recording.sources).map(of_source).collect();
        let counting = Counting::new(&self.scope, &channels, execution);
        let trace = self.bin.map(|width| self.trace(recording, &counting, width)).transpose()?;
        Ok(Rated { channels, sources, trace })
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        plan: &mut Plan,
    ) -> Result<(), Error> {
        let counting = Counting::new(&self.scope, &self.channels(recording), execution);
        counting.plan(recording, self.scope.range, plan);
        if let Some(width) = self.bin
            && let Some(grid) = self.grid(recording, &counting, width)?
        {
            for number in grid.numbers.clone() {
                counting.plan(recording, grid.part(number), plan);
            }
        }
        Ok(())
    }
}

/// The bins of a trace, and the limits that cut them.
struct Grid {
    origin: i64,
    width: i64,
    range: TimeRange,
    /// No future tag can lie before this time.
    frontier: Option<i64>,
    /// The bins that tags of the selection can be in.
    numbers: RangeInclusive<i64>,
    /// The bin of the last recorded time.
    last: i64,
}

impl Grid {
    /// Returns `None` if the run has no tags.
    fn new(
        recording: &Recording<'_>,
        range: TimeRange,
        counting: &Counting<'_>,
        width: i64,
        frontier: impl Fn(i64) -> Option<i64>,
    ) -> Result<Option<Self>, Error> {
        let spans = || recording.sources.iter().filter_map(Source::span);
        let firsts = spans().map(|(first, _)| first).min();
        let Some((origin, last)) = firsts.zip(spans().map(|(_, last)| last).max()) else {
            return Ok(None);
        };
        let delays = || counting.delays.iter().map(|(delay, _)| *delay);
        let smallest = delays().min().unwrap_or(0);
        let largest = delays().max().unwrap_or(0).max(0);
        // The ends of each source were checked with its delays, but not the run as a whole.
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

    /// Prefetches the blocks that these bins cut.
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
            live += source.live().ticks_in(part);
            counting.add(source, part, counts);
        }
        let (is_cut, is_final) = (self.is_cut(number), self.is_final(number));
        TraceBin { number, live, is_cut, is_final }
    }

    /// Delays can put tags before the first recorded time and after the last one. Of the bins there, only
    /// those up to the outermost tag are returned, unless the range asks for them.
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

    /// Returns the part of a bin that lies in the range. A start or end beyond 64 bits is open.
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

/// How the channels in use are counted: channels with the same delay together.
struct Counting<'a> {
    execution: &'a Execution,
    channels: usize,
    /// A delay, its channels, and the index of the count of each.
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

    /// Adds the rows that counting in `range` reads.
    fn plan(&self, recording: &Recording<'_>, range: TimeRange, plan: &mut Plan) {
        plan.read(recording, |source| {
            let of = |(delay, _): &(i64, _)| rows_read(source, *delay, range);
            self.delays.iter().flat_map(of).map(|rows| (LABELS, rows))
        });
    }

    fn add(&self, source: &Source<'_>, range: TimeRange, counts: &mut [u64]) {
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
