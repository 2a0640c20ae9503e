//! The rates request.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use tagq_query::{
    Error as QueryError, Execution, Plan, Rated, Rates as Query, Recording, Scope, TimeRange,
    TraceBin, jackknife,
};
use tagq_store::Tick;

use super::{
    blocks::{self, Errors},
    context::QueryContext,
    header::{header_end, in_ticks},
    kind::{Finished, Kind, Resolved},
    limits,
    selection::{Selected, Selection},
    used::{LIVE_TIME_OF_BINS, SelectionUsed},
};
use crate::setup::arguments::{BinWidth, Channel};
use crate::{
    cells::Cells,
    error::Error,
    figure::FigureKind,
    run::Run,
    table::{Column, Table, Unit},
};

/// Bytes of a bin of a trace in addition to its counts.
const BIN_BYTES: u64 = 24;

/// Counts the tags of each channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// The tags that are used.
    pub selection: Selection,
    /// Return a trace with bins of this width.
    pub bin: Option<BinWidth>,
    /// Method for errors.
    pub errors: Errors,
}

/// The query as it was counted.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_blocks: Option<u32>,
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl Kind for Rates {
    type Query = Query;
    type Counts = Tallied;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        Vec::new()
    }

    fn bin_of_trace(&self) -> Option<&BinWidth> {
        self.bin.as_ref()
    }

    fn errors(&self) -> Errors {
        self.errors
    }

    fn check(&self) -> Result<(), Error> {
        if self.bin.is_some() && self.selection.live_time.is_some() {
            return Err(Error::Question(LIVE_TIME_OF_BINS.into()));
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        _: Option<&Query>,
    ) -> Result<Query, Error> {
        let tick = run.store().manifest().tick;
        let bin = self.bin.as_ref().map(|bin| bin.ticks(tick)).transpose()?;
        let scope = selected.scope.clone();
        context.note_dark(run, scope.channels.clone().unwrap_or_default());
        Ok(Query { scope, bin })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        one.scope.delays == other.scope.delays
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(), Error> {
        let Resolved { run, context, query, .. } = resolved;
        let Some(width) = query.bin else { return Ok(()) };
        let is_joined = self.selection.join;
        let (span, channels) = run.count_as(is_joined, None, |tags| {
            Ok((limits::span(tags, query.scope.range), tags.channels().len()))
        })?;
        let channels = query.scope.channels.as_ref().map_or(channels, Vec::len).max(1) as u64;
        // Sums hold the bins of two runs and of their sum.
        let copies = if runs > 1 { 3 } else { 1 };
        let blocks = u64::from(self.errors.blocks().unwrap_or(0));
        let bytes = BIN_BYTES + 8 * channels + blocks * (BIN_BYTES + 8 * channels);
        limits::check_bins(span, width, copies, bytes, resolved.tick())?;
        let scans = span as f64 / width as f64 * (blocks + 1) as f64;
        limits::note_long(context, scans / 4.0, 0.0);
        Ok(())
    }

    fn count(&self, resolved: &Resolved<'_, Query>) -> Result<Tallied, Error> {
        let Resolved { run, context, query, .. } = resolved;
        let (rated, blocks) = run.count_as(self.selection.join, None, |tags| {
            context.pool.install(|| {
                let rated = query.run(tags, &Execution::best())?;
                let blocks = self.in_blocks(tags, query, &rated)?;
                Ok((rated, blocks))
            })
        })?;
        Ok(Tallied::of(rated, blocks))
    }

    fn add(&self, _: &[Resolved<'_, Query>], counts: Vec<Tallied>) -> Result<Tallied, Error> {
        Ok(counts.into_iter().reduce(|sum, more| sum.added(&more)).unwrap_or_default())
    }

    fn finish(&self, all: &[Resolved<'_, Query>], tallied: Tallied) -> Result<Finished, Error> {
        let first = &all[0];
        let (tick, bin) = (first.tick(), first.bin);
        let live_s = first.selected.live_s;
        let mut used = self.used(first);
        used.selection.sums_up(all.len());
        let binned =
            bin.map_or(String::new(), |bin| format!("; bins of {}", in_ticks(bin.into(), tick)));
        let live = match live_s {
            Some(seconds) => format!("{seconds} s (given)"),
            None => tick.format(tallied.live()),
        };
        let header = format!(
            "rates{binned}{}{}; {}",
            self.errors.words(),
            used.selection.words(first.context.setup, tick),
            header_end(first.run, &live)
        );
        let live_s = live_s.unwrap_or_else(|| tick.seconds_of(tallied.live()));
        let figure = match first.bin_s() {
            Some(width_s) => FigureKind::Trace {
                title: ["Rate of", "Rates"],
                label: "rate",
                width_s,
                says_width: false,
            },
            None => FigureKind::Rates,
        };
        let (query, rows) = (serde_json::to_value(used)?, tallied.table(bin, live_s, tick));
        Ok(Finished { header, query, singles: None, rows, figure })
    }

    fn plan(
        &self,
        query: &Query,
        _: Option<i64>,
        _: Tick,
        recording: &Recording<'_>,
    ) -> Result<Plan, QueryError> {
        query.plan(recording, &Execution::best())
    }

    fn described(
        &self,
        resolved: &Resolved<'_, Query>,
    ) -> Result<(String, serde_json::Value), Error> {
        let used = self.used(resolved);
        let tick = resolved.tick();
        let words = used.selection.words(resolved.context.setup, tick);
        Ok((format!("rates{words}; tick {tick}"), serde_json::to_value(used)?))
    }
}

impl Rates {
    fn used(&self, resolved: &Resolved<'_, Query>) -> Used {
        Used {
            kind: "rates",
            bin_ticks: resolved.bin,
            bin_s: resolved.bin_s(),
            error_blocks: self.errors.blocks(),
            selection: SelectionUsed::of(&resolved.selected, self.selection.join, resolved.tick()),
        }
    }

    /// Counts each block of time: of the whole selection, or of each bin of the trace.
    fn in_blocks(
        &self,
        recording: &Recording<'_>,
        query: &Query,
        rated: &Rated,
    ) -> Result<Vec<Vec<Block>>, QueryError> {
        let Some(blocks) = self.errors.blocks() else { return Ok(Vec::new()) };
        let ranges = match &rated.trace {
            None => vec![query.scope.range],
            Some(trace) => {
                let own = |bin: &TraceBin| {
                    let from =
                        i128::from(trace.origin) + i128::from(bin.number) * i128::from(trace.width);
                    let to = i64::try_from(from + i128::from(trace.width)).ok();
                    TimeRange { from: i64::try_from(from).ok(), to }.and(&query.scope.range)
                };
                trace.bins.iter().map(own).collect()
            }
        };
        let block = |ranges: Vec<TimeRange>| {
            let mut block = Block { counts: vec![0; rated.channels.len()], live: 0 };
            for (s, range) in ranges.into_iter().enumerate() {
                let channels = Some(rated.channels.clone());
                let scope = Scope { channels, range, ..query.scope.clone() };
                let query = Query { scope, bin: None };
                let rated = query.run(&recording.of_source(s), &Execution::best())?;
                add_to(&mut block.counts, &rated.counts());
                block.live += rated.live();
            }
            Ok(block)
        };
        let of_range = |&range: &TimeRange| {
            blocks::ranges(recording, range, blocks).into_iter().map(block).collect()
        };
        ranges.par_iter().map(of_range).collect()
    }
}

/// The counts of one run or of several.
#[derive(Default)]
pub(super) struct Tallied {
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
    each: Vec<TalliedBin>,
    /// The counts bin by bin, with those of all channels in each.
    counts: Vec<u64>,
    /// The blocks of time of each bin; empty without block errors.
    blocks: Vec<Vec<Block>>,
}

/// A bin of a trace.
#[derive(Clone, Copy, Default)]
struct TalliedBin {
    number: i64,
    live: i128,
    is_partial: bool,
}

/// The part of a bin in one block of time.
#[derive(Clone)]
struct Block {
    /// Tags of each channel.
    counts: Vec<u64>,
    live: i128,
}

impl Tallied {
    fn of(rated: Rated, blocks: Vec<Vec<Block>>) -> Self {
        let whole = TalliedBin { number: 0, live: rated.live(), is_partial: false };
        let (whole_blocks, bins_blocks) =
            if rated.trace.is_none() { (blocks, Vec::new()) } else { (Vec::new(), blocks) };
        let whole = Bins { each: vec![whole], counts: rated.counts(), blocks: whole_blocks };
        let bins = rated.trace.map_or_else(Bins::default, |trace| {
            let bin = |of: &TraceBin| TalliedBin {
                number: of.number,
                live: of.live.into(),
                is_partial: of.is_cut || !of.is_final,
            };
            let each = trace.bins.iter().map(bin).collect();
            Bins { each, counts: trace.counts, blocks: bins_blocks }
        });
        Self { channels: rated.channels, whole, bins }
    }

    fn added(&self, other: &Self) -> Self {
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
    fn live(&self) -> i128 {
        self.whole.each.iter().map(|bin| bin.live).sum()
    }

    /// Returns one row per channel and one for all channels together; with bins, for each bin.
    fn table(self, bin: Option<i64>, live_s: f64, tick: Tick) -> Table {
        let Self { channels, whole, bins } = self;
        let Bins { each: bins, counts, blocks } = if bin.is_some() { bins } else { whole };
        let rows_of_bin = channels.len() + 1;
        let rows = bins.len() * rows_of_bin;
        let bins = Arc::new(bins);
        let bin_of = move |row: usize| bins[row / rows_of_bin];
        let live_of = {
            let bin_of = bin_of.clone();
            move |row| match bin {
                Some(_) => tick.seconds_of(bin_of(row).live),
                None => live_s,
            }
        };
        let number_of_channels = channels.len();
        let counts = Arc::new(counts);
        let count_of = move |row: usize| {
            let bin = row / rows_of_bin;
            of_channel(&counts[bin * number_of_channels..][..number_of_channels], row % rows_of_bin)
        };
        let rate = {
            let (live_of, count_of) = (live_of.clone(), count_of.clone());
            move |row| {
                let live_s = live_of(row);
                (live_s > 0.0).then(|| count_of(row) as f64 / live_s)
            }
        };
        let blocks = Arc::new(blocks);
        let rate_err = {
            let (live_of, count_of, bin_of) = (live_of, count_of.clone(), bin_of.clone());
            move |row: usize| {
                let (live_s, count) = (live_of(row), count_of(row));
                let is_live = live_s > 0.0;
                match blocks.get(row / rows_of_bin).filter(|_| is_live) {
                    None => is_live.then(|| (count.max(1) as f64).sqrt() / live_s),
                    Some(blocks) => {
                        let live = bin_of(row).live;
                        // With the same seconds per tick as the whole selection.
                        error_of(blocks, row % rows_of_bin, count, live)
                            .map(|per_tick| per_tick * live as f64 / live_s)
                    }
                }
            }
        };
        let mut table = Table::default();
        if let Some(width) = bin {
            let bin_of = bin_of.clone();
            let start = move |row| bin_of(row).number.saturating_mul(width);
            let start_s = {
                let start = start.clone();
                move |row| Some(tick.seconds_of(start(row).into()))
            };
            let starts = Column::floats("start_s", Cells::made(rows, start_s));
            table = table
                .with(starts.heading("from").unit(Unit::Seconds))
                .with(Column::integers("start_ticks", Cells::made(rows, start)).hidden());
        }
        let channel = move |row: usize| channels.get(row % rows_of_bin).copied();
        let rates = Column::floats("rate_hz", Cells::made(rows, rate));
        table = table
            .with(Column::channels("channel", Cells::made(rows, channel)).key())
            .with(Column::counts("count", Cells::made(rows, count_of)).compared())
            .with(rates.heading("rate").unit(Unit::Hertz).err("rate_err_hz").compared())
            .with(Column::floats("rate_err_hz", Cells::made(rows, rate_err)).hidden().compared());
        if bin.is_none() {
            return table;
        }
        table.with(Column::flags("partial", Cells::made(rows, move |row| bin_of(row).is_partial)))
    }
}

/// Returns the count of the channel at `place`; the sum of all channels if `place` is after the last
/// one.
fn of_channel(counts: &[u64], place: usize) -> u64 {
    counts.get(place).copied().unwrap_or_else(|| counts.iter().sum())
}

/// Returns the error of a rate in tags per tick, from the blocks of `live` ticks that contain `count`
/// tags.
fn error_of(blocks: &[Block], place: usize, count: u64, live: i128) -> Option<f64> {
    let without = |block: &Block| {
        let left = live - block.live;
        let count = count.saturating_sub(of_channel(&block.counts, place));
        [(left > 0).then(|| count as f64 / left as f64)]
    };
    let [err] = jackknife(&blocks.iter().map(without).collect::<Vec<_>>());
    err
}

fn add_to(counts: &mut [u64], more: &[u64]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

/// Reorders the counts of the channels `of` to the order of `channels`.
fn spread(channels: &[u16], of: &[u16], counts: &[u64]) -> Vec<u64> {
    let count = |channel: &u16| of.iter().position(|known| known == channel).map(|at| counts[at]);
    channels.iter().map(|channel| count(channel).unwrap_or(0)).collect()
}

/// Returns the bins of both parts, with their counts added.
fn added(channels: &[u16], parts: [(&Vec<u16>, &Bins); 2]) -> Bins {
    let ends = |bins: &Bins| Some((bins.each.first()?.number, bins.each.last()?.number));
    let all = parts.iter().filter_map(|(_, bins)| ends(bins));
    let Some((first, last)) = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Bins::default();
    };
    let mut sum = Bins::default();
    for number in first..=last {
        let mut bin = TalliedBin { number, ..TalliedBin::default() };
        let mut of_bin = vec![0; channels.len()];
        let mut of_blocks: Vec<Block> = Vec::new();
        let mut is_there = false;
        for (of, bins) in parts {
            let Ok(at) = bins.each.binary_search_by_key(&number, |bin| bin.number) else {
                continue;
            };
            is_there = true;
            bin.live += bins.each[at].live;
            bin.is_partial |= bins.each[at].is_partial;
            let counts = &bins.counts[at * of.len()..][..of.len()];
            add_to(&mut of_bin, &spread(channels, of, counts));
            let blocks = bins.blocks.get(at).map_or(&[][..], Vec::as_slice);
            let nothing = Block { counts: vec![0; channels.len()], live: 0 };
            of_blocks.resize(of_blocks.len().max(blocks.len()), nothing);
            for (block, more) in of_blocks.iter_mut().zip(blocks) {
                add_to(&mut block.counts, &spread(channels, of, &more.counts));
                block.live += more.live;
            }
        }
        // Bins that are in neither part have no row.
        if is_there {
            sum.each.push(bin);
            sum.counts.extend(of_bin);
            sum.blocks.push(of_blocks);
        }
    }
    if sum.blocks.iter().all(Vec::is_empty) {
        sum.blocks.clear();
    }
    sum
}
