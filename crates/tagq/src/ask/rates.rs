//! The question "rates".

use std::sync::Arc;

use rayon::prelude::*;
use serde::Serialize;
use tagq_query::{
    Error as QueryError, Execution, Rated, Rates as Query, Recording, Scope, TimeRange, TraceBin,
    jackknife,
};
use tagq_store::Tick;

use super::{
    Asking, BinWidth, Errors, Explained, Selection, SelectionUsed, blocks, explain, header_end,
    limits, select::Selected, sum,
};
use crate::{Answer, Cells, Column, Error, FigureKind, Run, RunFacts, Table, Unit};

/// Bytes of a bin of a trace beside its counts.
const BIN_BYTES: u64 = 24;

/// How many tags, channel by channel (docs/queries.md, section "Rates").
#[derive(Debug, Clone, Default)]
pub struct Rates {
    /// Of which tags.
    pub selection: Selection,
    /// In bins of this width.
    pub bin: Option<BinWidth>,
    /// How errors are found.
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

impl Rates {
    /// Asks `run`.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn ask(&self, run: &Run, asking: &Asking<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, asking)])
    }

    /// Asks several runs, and adds up what they hold. Bins of a trace are added that begin as long after
    /// the first tag of their run.
    ///
    /// # Errors
    /// As [`Rates::ask`]; unless there is a run, and the words mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &Asking<'_>)]) -> Result<Answer, Error> {
        let &[(run, asking), ..] = runs else { return Err(sum::nothing()) };
        let tick = run.store().manifest().tick;
        let mut queries = Vec::new();
        for &(run, asking) in runs {
            queries.push(self.query(run, asking)?);
        }
        let tick_of = |run: &Run| run.store().manifest().tick;
        sum::check_alike(
            runs.iter()
                .zip(&queries)
                .map(|((run, _), (query, _))| (*run, (tick_of(run), query.scope.delays.clone()))),
        )?;
        for (&(run, asking), (query, _)) in runs.iter().zip(&queries) {
            let Some(width) = query.bin else { continue };
            let is_joined = self.selection.join;
            let (span, channels) = run.count_as(is_joined, None, |tags| {
                Ok((limits::span(tags, query.scope.range), tags.channels().len()))
            })?;
            let channels = query.scope.channels.as_ref().map_or(channels, Vec::len).max(1) as u64;
            // Sums hold the bins of two runs while they are added up.
            let copies = if runs.len() > 1 { 3 } else { 1 };
            let blocks = u64::from(self.errors.blocks().unwrap_or(0));
            let bytes = BIN_BYTES + 8 * channels + blocks * (BIN_BYTES + 8 * channels);
            limits::check_bins(span, width, copies, bytes, tick)?;
            let scans = span as f64 / width as f64 * (blocks + 1) as f64;
            limits::note_long(asking, scans / 4.0, 0.0);
        }
        let mut tallied = Tallied::default();
        for (&(run, asking), (query, _)) in runs.iter().zip(&queries) {
            let (rated, blocks) = run.count_as(self.selection.join, None, |tags| {
                asking.pool.install(|| {
                    let rated = query.run(tags, &Execution::best())?;
                    let blocks = self.in_blocks(tags, query, &rated)?;
                    Ok((rated, blocks))
                })
            })?;
            tallied.add(rated, blocks);
        }
        let (Query { bin, .. }, selected) = &queries[0];
        let bin = *bin;
        let live_s = selected.live_s.unwrap_or_else(|| tick.seconds_of(tallied.live()));
        let mut used = self.used(bin, selected, tick);
        used.selection.sums_up(runs.len());
        let binned = bin.map_or(String::new(), |bin| {
            format!("; bins of {}", super::in_ticks(bin.into(), tick))
        });
        let live = match selected.live_s {
            Some(seconds) => format!("{seconds} s (given)"),
            None => tick.format(tallied.live()),
        };
        let header = format!(
            "rates{binned}{}{}; {}",
            self.errors.words(),
            used.selection.words(asking.setup, tick),
            header_end(run, &live)
        );
        let query = serde_json::to_value(used)?;
        let facts = RunFacts::sum(runs.iter().map(|(run, asking)| asking.facts(run)));
        let rows = tallied.table(bin, live_s, tick);
        let figure = match bin {
            Some(width) => FigureKind::Trace {
                title: ["Rate of", "Rates"],
                label: "rate",
                width_s: tick.seconds_of(width.into()),
                says_width: false,
            },
            None => FigureKind::Rates,
        };
        Ok(Answer { header, query, run: facts, singles: None, rows, figure: Some(figure) })
    }

    /// What [`Rates::ask`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn explain(&self, run: &Run, asking: &Asking<'_>) -> Result<Explained, Error> {
        let tick = run.store().manifest().tick;
        let (query, selected) = self.query(run, asking)?;
        let plan = explain::planned(run, asking, self.selection.join, |tags| {
            query.plan(tags, &Execution::best())
        })?;
        let used = self.used(query.bin, &selected, tick);
        let words = used.selection.words(asking.setup, tick);
        let header = format!("rates{words}; tick {tick}");
        let query = serde_json::to_value(used)?;
        Ok(Explained { header, query, run: asking.facts(run), plan })
    }

    /// The query in ticks and labels.
    fn query(&self, run: &Run, asking: &Asking<'_>) -> Result<(Query, Selected), Error> {
        if self.bin.is_some() && self.selection.live_time.is_some() {
            return Err(Error::Question(super::LIVE_TIME_OF_BINS.into()));
        }
        let tick = run.store().manifest().tick;
        let bin = self.bin.as_ref().map(|bin| bin.ticks(tick)).transpose()?;
        let selected = self.selection.of_bins(run, asking.setup, bin)?;
        selected.notes.iter().for_each(|note| asking.progress.note(note));
        let scope = selected.scope.clone();
        asking.note_dark(run, scope.channels.clone().unwrap_or_default());
        Ok((Query { scope, bin }, selected))
    }

    fn used(&self, bin: Option<i64>, selected: &Selected, tick: Tick) -> Used {
        Used {
            kind: "rates",
            bin_ticks: bin,
            bin_s: bin.map(|bin| tick.seconds_of(bin.into())),
            error_blocks: self.errors.blocks(),
            selection: SelectionUsed::of(selected, self.selection.join, tick),
        }
    }
}

impl Rates {
    /// What each block of time has: of the whole, or of each bin of the trace.
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

/// What was counted, of one run or of several.
#[derive(Default)]
struct Tallied {
    /// In the order of the rows: as asked for, or as they were found, ascending.
    channels: Vec<u16>,
    /// Of the whole selection.
    whole: Bins,
    /// Of the bins of a trace.
    bins: Bins,
}

/// Bins that follow each other, or the whole as one of them.
#[derive(Default)]
struct Bins {
    each: Vec<TalliedBin>,
    /// The counts of bin after bin, in each those of the channels.
    counts: Vec<u64>,
    /// What the blocks of time of each bin have; none without block errors.
    blocks: Vec<Vec<Block>>,
}

/// A bin of a trace.
#[derive(Clone, Copy, Default)]
struct TalliedBin {
    number: i64,
    live: i128,
    is_partial: bool,
}

/// What a block of time has of a bin.
#[derive(Clone)]
struct Block {
    /// Tags of each channel.
    counts: Vec<u64>,
    live: i128,
}

impl Tallied {
    fn add(&mut self, rated: Rated, blocks: Vec<Vec<Block>>) {
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
        if self.channels.is_empty() && self.whole.each.is_empty() {
            *self = Self { channels: rated.channels, whole, bins };
            return;
        }
        let mut channels = self.channels.clone();
        channels.extend(rated.channels.iter().filter(|channel| !self.channels.contains(channel)));
        if channels.len() > self.channels.len() {
            // Found, not asked for: in ascending order again.
            channels.sort_unstable();
        }
        let sum = |own: &Bins, other: &Bins| {
            added(&channels, [(&self.channels, own), (&rated.channels, other)])
        };
        let (whole, bins) = (sum(&self.whole, &whole), sum(&self.bins, &bins));
        *self = Self { channels, whole, bins };
    }

    /// The recorded ticks of the selection.
    fn live(&self) -> i128 {
        self.whole.each.iter().map(|bin| bin.live).sum()
    }

    /// A row for each channel and one for all of them; with bins, for each bin.
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
                        // As many seconds a tick as the whole has.
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

/// The count of the channel at `place`; the sum of all channels if `place` is after the last one.
fn of_channel(counts: &[u64], place: usize) -> u64 {
    counts.get(place).copied().unwrap_or_else(|| counts.iter().sum())
}

/// The error of a rate in tags a tick, from the blocks of `live` ticks in which `count` tags are.
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

/// The counts of the channels `of`, put in the order of `channels`.
fn spread(channels: &[u16], of: &[u16], counts: &[u64]) -> Vec<u64> {
    let count = |channel: &u16| of.iter().position(|known| known == channel).map(|at| counts[at]);
    channels.iter().map(|channel| count(channel).unwrap_or(0)).collect()
}

/// The bins of both, with what they hold added up.
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
        // Bins that neither of them has are no rows.
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
