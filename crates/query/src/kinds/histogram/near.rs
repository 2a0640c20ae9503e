//! Pairs counted by comparing rows with the rows before them.
//!
//! A pair is counted at its later row: with rows at 0, 4 and 9 and a reach of 5, the row at 9 is compared with that
//! at 4. From the first row that has too many others within reach, lists count the rest: all pairs of the rows from
//! there on and of the rows that they reach, less the pairs of the latter.

use tagq_store::Channels;

use super::{
    bins::Binning,
    compared::{Compared, Crowded, Near, StoredRows},
    pairs::{PairScan, Scale, Thread},
    tally::{BinTally, Bucket},
};
use crate::{
    kernels::neighbours::{ComparedRows, PairDistances, REACH, TakeDifferences, differences},
    run::{recording::Source, time_range::TimeRange},
    scan::{
        column::StoredColumn,
        morsels::{Interval, rows_within_window},
        route::{self, Work},
    },
};

/// Pairs are found by their labels, and no number is needed.
const NUMBERS: [u8; 256] = [0; 256];

impl PairScan {
    /// Returns where to compare neighbours; `None` if too many lie within reach.
    pub(super) fn near<'r>(&self, source: &Source<'r>, range: TimeRange) -> Option<Near<'r>> {
        let Scale::Ticks = self.scale else { return None };
        let [start, stop] = self.ends;
        let crowded = |rows| Work::Differences.crowded(rows, self.simd, false);
        // With different delays, the delayed time of the later tag decides whether a pair is in the range, and it can
        // be of either row.
        let have_one_delay = start.delay == stop.delay;
        let stored = self.stored(source, range);
        if let Some(stored) = &stored
            && match stored.column {
                StoredColumn::Gaps(_) => stored.distances.are_16_bits(),
                StoredColumn::WideGaps(_) => stored.distances.are_32_bits(),
                StoredColumn::Times(_) => false,
            }
            && (have_one_delay || range == TimeRange::default())
            && rows_within_window(source.tags.time, stored.distances.reach())
                < crowded(stored.column.rows())
        {
            return Some(Near::Columns(stored.clone().into()));
        }
        let one = source.singles_of(start.label);
        let both =
            if start.label == stop.label { one } else { one + source.singles_of(stop.label) };
        let reach = self.sides(source).iter().map(|side| side.last).max()?;
        let (first, last) = source.span()?;
        let within = both as f64 * reach as f64 / (last - first).max(1) as f64;
        if within >= crowded(route::CompareIn::List) {
            return None;
        }
        let is_most = 2 * both >= source.tags.len() as u64;
        match stored {
            Some(stored) if is_most && have_one_delay => {
                let column = StoredColumn::Times(source.tags.time);
                Some(Near::Columns(StoredRows { column, ..stored }.into()))
            }
            _ => self.distances([0; 2]).map(Near::OneList),
        }
    }

    /// Returns the rows of the range in the columns of a source, if they can be compared there.
    fn stored<'r>(&self, source: &Source<'r>, range: TimeRange) -> Option<StoredRows<'r>> {
        let Channels::U8(labels) = source.tags.channels else { return None };
        let [start, stop] = self.ends;
        let delays = [start.delay, stop.delay];
        let distances = self.distances(delays)?;
        let inside = Interval { start: range.from.unwrap_or(i64::MIN), end: range.to };
        Some(StoredRows {
            column: route::column(source, distances.reach()),
            labels,
            rows: inside.rows(source.tags.time, start.delay),
            ends: [u8::try_from(start.label).ok()?, u8::try_from(stop.label).ok()?],
            delays,
            distances,
        })
    }

    /// Returns the distances that count of times without these delays of starts and stops.
    fn distances(&self, [start, stop]: [i64; 2]) -> Option<PairDistances> {
        let apart = i128::from(start) - i128::from(stop);
        let (low, high) = (self.bins.edge(0), self.bins.edge(self.bins.count()));
        let recorded = |difference: i128| i64::try_from(difference + apart).ok();
        PairDistances::between(recorded(low.into())?, recorded(i128::from(high) - 1)?)
    }

    /// Counts the pairs of these rows in the columns as stored; from a crowded row on, by lists.
    pub(super) fn count_columns(
        &self,
        source: &Source<'_>,
        stored: &StoredRows<'_>,
        thread: &mut Thread<'_>,
        counts: &mut [u64],
    ) {
        let StoredRows { labels, ref rows, ends, delays, distances, .. } = *stored;
        let time = source.tags.time;
        let first = rows.start.saturating_sub(REACH);
        match stored.column {
            // Damage was recorded, so the counts are rejected.
            StoredColumn::Gaps(gaps) if !gaps.is_right(first..rows.end) => return,
            // Differences could overflow 64 bits: record where rows are out of order.
            StoredColumn::Times(_) if !source.spans(time.rows(first..rows.end)) => {
                source.is_in_order(self.simd, first..rows.end);
                return;
            }
            StoredColumn::Gaps(_) | StoredColumn::WideGaps(_) | StoredColumn::Times(_) => {}
        }
        let mut decoded = std::mem::take(&mut thread.decoded);
        let labelled = (labels, &NUMBERS);
        let crowded = stored.column.parts(rows).find_map(|rows| {
            let (rows, first) = stored.column.compared(&rows, REACH, labelled, &mut decoded);
            let ComparedRows { column, labels, range: rows, .. } = rows;
            let compared = Compared { column, labels, rows, ends, distances };
            self.count_near(&compared, thread, counts).err().map(|crowded| first + crowded)
        });
        if let Some(crowded) = crowded {
            let head = stored.head(time, crowded);
            let ordered = match stored.column {
                StoredColumn::Gaps(_) | StoredColumn::WideGaps(_) => head,
                StoredColumn::Times(_) => head.min(first),
            };
            if source.is_in_order(self.simd, ordered..rows.end) {
                let rest = Crowded {
                    time: time.read(head..rows.end, &mut decoded.times),
                    labels: labels.read(head..rows.end),
                    row: crowded - head,
                    ends,
                    delays,
                };
                self.count_rest(source, &rest, thread, counts);
            }
        }
        thread.decoded = decoded;
    }

    /// Counts pairs by comparing rows. Returns as an error the first row whose pairs were not counted.
    pub(super) fn count_near(
        &self,
        compared: &Compared<'_>,
        thread: &mut Thread<'_>,
        counts: &mut [u64],
    ) -> Result<(), usize> {
        let &Compared { column, labels, ends, ref distances, .. } = compared;
        let range = compared.rows.clone();
        let rows = ComparedRows { column, labels, range, number_of: &NUMBERS };
        let Bucket { differences: buffers, tally, .. } = &mut thread.bucket;
        let take = Take { tally, binning: &self.binning, counts };
        differences(self.simd, &rows, ends, distances, buffers, take)
    }

    /// Counts the pairs of the rows from a crowded one on by lists: all pairs of these rows and of the rows within
    /// reach before them, less the pairs of the latter alone, which were counted.
    pub(super) fn count_rest(
        &self,
        source: &Source<'_>,
        crowded: &Crowded<'_>,
        Thread { lists, bucket, .. }: &mut Thread<'_>,
        counts: &mut [u64],
    ) {
        let mut take = |to: usize, counts: &mut [u64]| {
            lists.starts.clear();
            lists.starts.extend(crowded.delayed(0, to));
            lists.stops.clear();
            lists.stops.extend(crowded.delayed(1, to));
            self.count_sides(source, lists, i64::MIN, bucket, counts);
            bucket.tally.drain(counts);
        };
        take(crowded.time.len(), counts);
        let mut before = vec![0; counts.len()];
        take(crowded.row, &mut before);
        for (count, before) in counts.iter_mut().zip(before) {
            *count = count.wrapping_sub(before);
        }
    }
}

/// Counts differences in their bins.
struct Take<'t> {
    tally: &'t mut BinTally,
    binning: &'t Binning,
    counts: &'t mut [u64],
}

impl TakeDifferences for Take<'_> {
    fn narrow(&mut self, differences: &mut [u16]) {
        self.tally.add_narrow(self.binning, differences, self.counts);
    }

    fn wide(&mut self, differences: &[u64]) {
        self.tally.add(self.binning, differences, self.counts);
    }
}
