//! The counts of a rates request, and the table made from them.
//!
//! Two runs have 10 s each, and only the second one has tags of channel 3. The rate of channel 3 is its count over 20 s,
//! because both runs recorded it.

use std::{ops::Range, sync::Arc};

use tagq_query::{Rated, TimeDivision, TraceBin, jackknife};
use tagq_store::Tick;

use crate::{
    cells::Cells,
    requests::columns::{Place, with_places},
    table::{Column, Table, Unit},
};

/// The counts of one run or of several.
#[derive(Default)]
pub(crate) struct RateCounts {
    /// In row order: as requested, or ascending if the channels were found in the run.
    channels: Vec<u16>,
    /// Counts of the whole selection.
    whole: Bins,
    /// Counts of the bins of a trace.
    bins: Bins,
}

/// Consecutive bins, or the whole selection as one bin.
#[derive(Default)]
struct Bins {
    each: Vec<RateBin>,
    /// The counts bin by bin, with those of all channels in each.
    counts: Vec<u64>,
    /// Likewise the ticks in which tags of a channel can be.
    live: Vec<i128>,
    /// The blocks of time of each bin; empty without block errors.
    blocks: Vec<Vec<RateBlock>>,
}

/// A bin of a trace.
#[derive(Clone, Copy, Default)]
struct RateBin {
    place: Place,
    /// Recorded ticks.
    live: i128,
    is_partial: bool,
}

/// The part of a bin in one block of time.
#[derive(Clone)]
pub(super) struct RateBlock {
    /// Tags of each channel.
    pub counts: Vec<u64>,
    pub live: i128,
}

impl RateCounts {
    pub(super) fn of(rated: Rated, blocks: Vec<Vec<RateBlock>>) -> Self {
        let whole = RateBin { live: rated.live(), ..RateBin::default() };
        let (whole_blocks, bins_blocks) =
            if rated.trace.is_none() { (blocks, Vec::new()) } else { (Vec::new(), blocks) };
        let live = rated.live_of();
        let whole = Bins { each: vec![whole], counts: rated.counts(), live, blocks: whole_blocks };
        let bins = rated.trace.map_or_else(Bins::default, |trace| {
            let bin = |of: &TraceBin| RateBin {
                place: Place::of(&of.of),
                live: of.live.into(),
                is_partial: of.of.is_partial(),
            };
            let each = trace.bins.iter().map(bin).collect();
            let live = trace.live.into_iter().map(i128::from).collect();
            Bins { each, counts: trace.counts, live, blocks: bins_blocks }
        });
        Self { channels: rated.channels, whole, bins }
    }

    pub(super) fn added(&self, other: &Self) -> Self {
        let mut channels = self.channels.clone();
        channels.extend(other.channels.iter().filter(|channel| !self.channels.contains(channel)));
        if channels.len() > self.channels.len() {
            // Found in the run, not requested: ascending order again.
            channels.sort_unstable();
        }
        let sum = |own: &Bins, more: &Bins| {
            added(&channels, [(&self.channels, own), (&other.channels, more)])
        };
        let (whole, bins) = (sum(&self.whole, &other.whole), sum(&self.bins, &other.bins));
        Self { channels, whole, bins }
    }

    /// Returns the recorded ticks of the selection.
    pub(super) fn live(&self) -> i128 {
        self.whole.each.iter().map(|bin| bin.live).sum()
    }

    /// Returns a row for each channel, and the total of all channels; with bins, for each bin.
    pub(super) fn tables(
        self,
        trace: Option<&TimeDivision>,
        live_s: Option<f64>,
        tick: Tick,
    ) -> (Table, Table) {
        let Self { channels, whole, bins } = self;
        let bins = Arc::new(if trace.is_some() { bins } else { whole });
        let (len, trace) = (channels.len(), trace.cloned());
        let of = RateRows { channels: Arc::new(channels), bins, trace, live_s, tick };
        (of.table(0..len), of.table(len..len + 1))
    }
}

/// The numbers from which the cells of a row are computed when they are read.
#[derive(Clone)]
struct RateRows {
    channels: Arc<Vec<u16>>,
    bins: Arc<Bins>,
    /// The bins of a trace.
    trace: Option<TimeDivision>,
    /// The live time, if it is given.
    live_s: Option<f64>,
    tick: Tick,
}

impl RateRows {
    /// Returns a row for each bin and each of these places: those of the channels, then that of all channels together.
    fn table(&self, places: Range<usize>) -> Table {
        let rows = self.bins.each.len() * places.len();
        let is_total = places.start == self.channels.len();
        let at = move |row: usize| (row / places.len(), places.start + row % places.len());
        macro_rules! made {
            ($value:ident) => {{
                let (of, at) = (self.clone(), at.clone());
                Cells::made(rows, move |row| of.$value(at(row)))
            }};
        }
        let mut table = Table::default();
        if let Some(division) = &self.trace {
            table = with_places(table, &made!(place), division, self.tick);
        }
        if !is_total {
            table = table.with(Column::channels("channel", made!(channel)).key());
        }
        let rates = Column::floats("rate_hz", made!(rate));
        table = table
            .with(Column::counts("count", made!(count)).compared())
            .with(rates.heading("rate").unit(Unit::Hertz).err("rate_err_hz").compared())
            .with(Column::floats("rate_err_hz", made!(rate_err)).hidden().compared());
        if self.trace.is_none() {
            return table;
        }
        table.with(Column::flags("partial", made!(is_partial)))
    }

    fn place(&self, (bin, _): (usize, usize)) -> Place {
        self.bins.each[bin].place
    }

    fn channel(&self, (_, place): (usize, usize)) -> Option<u16> {
        self.channels.get(place).copied()
    }

    /// Returns the counts of the channel at `place`, or of each channel if it is after the last one, with their live ticks.
    fn counts(&self, (bin, place): (usize, usize)) -> impl Iterator<Item = (u64, i128)> {
        let len = self.channels.len();
        let places = if place < len { place..place + 1 } else { 0..len };
        let own = bin * len + places.start..bin * len + places.end;
        self.bins.counts[own.clone()].iter().copied().zip(self.bins.live[own].iter().copied())
    }

    fn count(&self, at: (usize, usize)) -> u64 {
        self.counts(at).map(|(count, _)| count).sum()
    }

    fn is_partial(&self, (bin, _): (usize, usize)) -> bool {
        self.bins.each[bin].is_partial
    }

    fn seconds_of(&self, live: i128) -> f64 {
        self.live_s.unwrap_or_else(|| self.tick.seconds_of(live))
    }

    /// Returns counts with their live time in seconds; counts with the same live time are added up.
    fn counts_of_times(&self, at: (usize, usize)) -> Vec<(u64, f64)> {
        let mut all: Vec<(u64, i128)> = Vec::new();
        for (count, live) in self.counts(at) {
            match all.iter_mut().find(|(_, known)| *known == live) {
                Some((known, _)) => *known += count,
                None => all.push((count, live)),
            }
        }
        let times = all.into_iter().map(|(count, live)| (count, self.seconds_of(live)));
        times.filter(|&(_, live_s)| live_s > 0.0).collect()
    }

    fn rate(&self, at: (usize, usize)) -> Option<f64> {
        let rates = self.counts_of_times(at).into_iter();
        rates.map(|(count, live_s)| count as f64 / live_s).reduce(|sum, rate| sum + rate)
    }

    fn rate_err(&self, at: (usize, usize)) -> Option<f64> {
        let Some(blocks) = self.bins.blocks.get(at.0) else {
            let err = |(count, live_s): (u64, f64)| (count.max(1) as f64).sqrt() / live_s;
            return self.counts_of_times(at).into_iter().map(err).reduce(f64::hypot);
        };
        let live = self.bins.each[at.0].live;
        let live_s = self.seconds_of(live);
        let per_tick = error_of(blocks, at.1, self.count(at), live).filter(|_| live_s > 0.0);
        // With the same seconds per tick as the whole selection.
        per_tick.map(|per_tick| per_tick * live as f64 / live_s)
    }
}

/// Returns the count of the channel at `place`; the sum of all channels if `place` is after the last
/// one.
fn of_channel(counts: &[u64], place: usize) -> u64 {
    counts.get(place).copied().unwrap_or_else(|| counts.iter().sum())
}

/// Returns the error of a rate in tags per tick, from the blocks of `live` ticks that contain `count`
/// tags.
fn error_of(blocks: &[RateBlock], place: usize, count: u64, live: i128) -> Option<f64> {
    let without = |block: &RateBlock| {
        let left = live - block.live;
        let count = count.saturating_sub(of_channel(&block.counts, place));
        [(left > 0).then(|| count as f64 / left as f64)]
    };
    let [err] = jackknife(&blocks.iter().map(without).collect::<Vec<_>>());
    // Blocks without any tag do not differ.
    if count == 0 { err.map(|err| err.max(1.0 / live as f64)) } else { err }
}

pub(super) fn add_to(counts: &mut [u64], more: &[u64]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

/// Reorders the values of the channels `of` to the order of `channels`; others have the value `none`.
fn spread<T: Copy>(channels: &[u16], of: &[u16], values: &[T], none: T) -> Vec<T> {
    let value = |channel: &u16| of.iter().position(|known| known == channel).map(|at| values[at]);
    channels.iter().map(|channel| value(channel).unwrap_or(none)).collect()
}

/// Returns the bins of both parts, with their counts added.
fn added(channels: &[u16], parts: [(&Vec<u16>, &Bins); 2]) -> Bins {
    let ends =
        |bins: &Bins| Some((bins.each.first()?.place.number, bins.each.last()?.place.number));
    let all = parts.iter().filter_map(|(_, bins)| ends(bins));
    let Some((first, last)) = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Bins::default();
    };
    let mut sum = Bins::default();
    for number in first..=last {
        let mut bin = RateBin::default();
        let (mut of_bin, mut live) = (vec![0; channels.len()], vec![0; channels.len()]);
        let mut of_blocks: Vec<RateBlock> = Vec::new();
        let mut is_there = false;
        for (of, bins) in parts {
            let Ok(at) = bins.each.binary_search_by_key(&number, |bin| bin.place.number) else {
                continue;
            };
            is_there = true;
            bin.place = bins.each[at].place;
            bin.live += bins.each[at].live;
            bin.is_partial |= bins.each[at].is_partial;
            let own = at * of.len()..(at + 1) * of.len();
            add_to(&mut of_bin, &spread(channels, of, &bins.counts[own.clone()], 0));
            // A channel without tags in one part was recorded there nevertheless.
            let more = spread(channels, of, &bins.live[own], bins.each[at].live);
            live.iter_mut().zip(more).for_each(|(live, more)| *live += more);
            let blocks = bins.blocks.get(at).map_or(&[][..], Vec::as_slice);
            let nothing = RateBlock { counts: vec![0; channels.len()], live: 0 };
            of_blocks.resize(of_blocks.len().max(blocks.len()), nothing);
            for (block, more) in of_blocks.iter_mut().zip(blocks) {
                add_to(&mut block.counts, &spread(channels, of, &more.counts, 0));
                block.live += more.live;
            }
        }
        // Bins that are in neither part have no row.
        if is_there {
            sum.each.push(bin);
            sum.counts.extend(of_bin);
            sum.live.extend(live);
            sum.blocks.push(of_blocks);
        }
    }
    if sum.blocks.iter().all(Vec::is_empty) {
        sum.blocks.clear();
    }
    sum
}
