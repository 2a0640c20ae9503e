//! Predicts the rows that a query reads: the code that cuts a scan into morsels says which rows each of them needs.
//!
//! Decisions that a kernel makes when it sees the tags are not known beforehand; such a plan is marked as
//! reading at least this much. Planning reads only the index and a few rows.
//!
//! Rows 0 to 9 of one route and 5 to 19 of another are 25 rows taken, but the bytes of 20 rows.

use std::ops::Range;

use tagq_store::Channels;

use crate::{
    kernels::simd::Simd,
    run::{
        recording::{Recording, Source},
        scope::Scope,
    },
    scan::{
        morsels::Execution,
        route::{Reads, Route},
        singles::rows_read,
    },
};

/// The rows that a query would read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadPlan {
    /// The level of vector instructions.
    pub level: Simd,
    /// The threads that share the morsels.
    pub threads: usize,
    /// Whether rows may have to be read again, or additional rows.
    pub is_at_least: bool,
    /// Bytes of a label in the channel column, and of a micro time if those are read, too.
    label_bytes: u64,
    /// If times are decoded: the bytes that are read for a row besides its gap, as a mean over the recording.
    beside_gap: Option<f64>,
    /// The rows that each route reads, numbered over all sources, in any order.
    taken: Vec<(Route, Range<u64>)>,
}

impl ReadPlan {
    /// Returns a plan that reads nothing.
    pub fn new(recording: &Recording<'_>, execution: &Execution) -> Self {
        let is_wide = |source: &Source<'_>| matches!(source.tags.channels, Channels::U16(_));
        Self {
            level: execution.simd,
            threads: rayon::current_num_threads(),
            is_at_least: false,
            label_bytes: if recording.sources.iter().any(is_wide) { 2 } else { 1 },
            // All sources have the columns of one store.
            beside_gap: recording
                .sources
                .first()
                .and_then(|source| source.tags.time.bytes_beside_gap()),
            taken: Vec::new(),
        }
    }

    /// Adds the rows of each source that are read, each by its route.
    pub(crate) fn read<'r, I: IntoIterator<Item = (Route, Range<usize>)>>(
        &mut self,
        recording: &'r Recording<'r>,
        rows_of: impl Fn(&'r Source<'r>) -> I,
    ) {
        let mut first = 0;
        for source in &recording.sources {
            let taken = rows_of(source).into_iter();
            self.taken.extend(
                taken.map(|(route, rows)| {
                    (route, first + rows.start as u64..first + rows.end as u64)
                }),
            );
            first += source.tags.len() as u64;
        }
    }

    /// Adds the rows that counting the tags of `channels` in the scope reads, one channel after the other.
    pub(crate) fn read_singles(
        &mut self,
        recording: &Recording<'_>,
        channels: &[u16],
        scope: &Scope,
    ) {
        self.read(recording, |source| {
            let of = |&channel| rows_read(source, scope.delay_of(channel), scope.range);
            channels.iter().flat_map(of).map(|rows| (Route::Labels, rows))
        });
    }

    /// Reads the micro times of the rows, too, of `bytes` bytes each.
    pub(crate) fn read_micro(&mut self, bytes: u64) {
        self.label_bytes += bytes;
    }

    /// Adds the plan of another query that belongs to the same request.
    pub fn add(&mut self, other: Self) {
        self.is_at_least |= other.is_at_least;
        self.taken.extend(other.taken);
    }

    /// Returns how the scans count, and from which data, in the order of the scans.
    pub fn kernels(&self) -> Vec<&'static str> {
        let mut kernels = Vec::new();
        for (route, _) in &self.taken {
            if !kernels.contains(&route.name()) {
                kernels.push(route.name());
            }
        }
        kernels
    }

    /// Returns the rows that are read, numbered over all sources, each once, ascending.
    pub fn rows(&self) -> Vec<Range<u64>> {
        merged(self.taken.iter().map(|(_, rows)| rows.clone()).collect())
    }

    /// Returns the number of rows read; rows that several morsels or lists read count each time.
    pub fn rows_taken(&self) -> u64 {
        self.taken.iter().map(|(_, rows)| rows.end - rows.start).sum()
    }

    /// Returns the bytes of the columns that are read, each once: times or gaps, and labels. Where times are decoded,
    /// that is gaps, far distances and steps; the last two are not evenly distributed, and are counted by their mean.
    pub fn bytes(&self) -> u64 {
        let rows_of = |is_read: fn(Reads) -> bool| {
            let read = self.taken.iter().filter(|(route, _)| is_read(route.reads()));
            let rows = merged(read.map(|(_, rows)| rows.clone()).collect());
            rows.iter().map(|rows| rows.end - rows.start).sum::<u64>()
        };
        let times = rows_of(|reads| reads == Reads::Times);
        let labels = rows_of(|_| true) * self.label_bytes;
        let Some(beside_gap) = self.beside_gap else {
            let gaps = rows_of(|reads| reads == Reads::Gaps);
            return times * size_of::<i64>() as u64 + gaps * size_of::<u16>() as u64 + labels;
        };
        let gaps = rows_of(|reads| reads != Reads::Labels);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of files"
        )]
        let beside_gaps = (times as f64 * beside_gap).round() as u64;
        gaps * size_of::<u16>() as u64 + beside_gaps + labels
    }
}

/// Merges ranges so that they are in order and do not touch.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use tagq_store::{Block, ChannelRows, Tags, format::PerFile};

    use super::*;
    use crate::{
        Bins, Coincidences, Groups, Histogram, Kind as _, Mode, Rates, Rule, TimeRange, Veto,
    };

    /// 1,000 rows, one each 10 ticks, of channels 0 to 3 in turn, in blocks of 100 rows; the second of two
    /// sources begins with row 600.
    fn recording() -> Recording<'static> {
        let time: &[i64] = (0..1_000).map(|row| 10 * row).collect::<Vec<_>>().leak();
        let labels: &[u8] = (0..4_u8).cycle().take(1_000).collect::<Vec<_>>().leak();
        let block = |rows: Range<usize>| Block {
            rows: rows.start as u64..rows.end as u64,
            time_min: time[rows.start],
            time_max: time[rows.end - 1],
            channels: (0..4).map(|channel| ChannelRows { channel, rows: 25 }).collect(),
            checksums: PerFile::default(),
        };
        let blocks: Vec<Block> = (0..10).map(|i| block(100 * i..100 * (i + 1))).collect();
        let all = Tags { time: time.into(), channels: Channels::U8(labels.into()) };
        let source = |rows: Range<usize>| {
            let first = rows.start as u64;
            Recording::from_tags(all.rows(rows))
                .sources
                .remove(0)
                .with_blocks(blocks.clone(), first)
        };
        Recording::new(vec![source(0..600), source(600..1_000)])
    }

    /// All morsels have 100 rows.
    const EXECUTION: fn() -> Execution =
        || Execution { simd: Simd::best(), morsel_rows: Some(100) };

    fn scope(from: i64, to: i64) -> Scope {
        Scope { range: TimeRange { from: Some(from), to: Some(to) }, ..Scope::default() }
    }

    #[test]
    fn whole_blocks_are_counted_from_the_index() {
        let plan = |scope, bin: Option<i64>| {
            let trace = bin.map(crate::TimeDivision::Width);
            Rates { scope, trace }.plan(&recording(), &EXECUTION()).unwrap()
        };
        // Of blocks 1 and 2, which are cut, the smaller parts are read: rows before 130 and before 220.
        let part = plan(scope(1_300, 2_200), None);
        assert_eq!(part.rows(), [100..130, 200..220]);
        assert_eq!((part.rows_taken(), part.bytes(), part.is_at_least), (50, 50, false));
        assert_eq!(part.kernels(), [Route::Labels.name()]);
        assert_eq!(plan(Scope::default(), None).rows(), []);
        // Each bin is half a block.
        let trace = plan(Scope::default(), Some(500));
        assert_eq!((trace.rows(), trace.rows_taken()), (vec![0..1_000; 1], 1_000));
    }

    #[test]
    fn a_range_that_ends_before_it_begins_has_no_rows() {
        let recording = recording();
        for (from, to) in [(8_500, 1_300), (9_990, -5), (3_000, 3_000), (i64::MAX, i64::MIN)] {
            let range = TimeRange { from: Some(from), to: Some(to) };
            for source in &recording.sources {
                let rows = source.rows_in(range);
                assert!(rows.start == rows.end, "{rows:?} between {from} and {to}");
            }
        }
    }

    #[test]
    fn each_morsel_looks_back_over_one_window() {
        let (groups, scope) = (Groups::EveryPair, scope(6_505, 8_500));
        let query = Coincidences { groups, rule: Rule::All, window: 9, veto: None, scope };
        let plan = query.plan(&recording(), &EXECUTION()).unwrap();
        assert_eq!(plan.kernels(), ["pairs, neighbours in the columns", Route::Labels.name()]);
        // No row is within the window before either morsel, rows 651..751 and 751..850.
        // Singles of each of four channels read rows 651..700 and 800..850.
        assert_eq!((plan.rows(), plan.bytes()), (vec![651..850; 1], 199 * 9));
        assert_eq!((plan.rows_taken(), plan.is_at_least), (199 + 4 * 99, true));
        // Rule `once` begins at the time of the range, and also looks for a gap before it.
        let query = Coincidences { rule: Rule::Once, ..query };
        let plan = query.plan(&recording(), &EXECUTION()).unwrap();
        assert_eq!((plan.rows(), plan.is_at_least), (vec![650..850; 1], true));
    }

    #[test]
    fn every_list_reads_its_own_rows() {
        let groups = Groups::Listed(vec![vec![0, 1, 2]]);
        let veto = Some(Veto { channels: vec![3], guard: 10 });
        let (rule, scope) = (Rule::Herald, scope(6_500, 8_500));
        let query = Coincidences { groups, rule, window: 20, veto, scope: scope.clone() };
        let plan = query.plan(&recording(), &EXECUTION()).unwrap();
        assert_eq!(plan.kernels(), ["heralds, channels taken out", Route::Labels.name()]);
        // Morsels of 50, 100 and 50 rows look back over four rows; for vetoes they read one more row on both sides.
        assert_eq!((plan.rows(), plan.bytes()), (vec![645..851; 1], 206 * 9));
        assert_eq!(plan.rows_taken(), (54 + 104 + 54) + (56 + 106 + 56) + 3 * 100);
        assert!(!plan.is_at_least);
        let bins = Bins::Linear { low: -20, width: 4, count: 10 };
        let query = Histogram { start: 0, stop: 1, bins, mode: Mode::All, fold: None, scope };
        let plan = query.plan(&recording(), &EXECUTION()).unwrap();
        assert_eq!(plan.kernels(), ["pairs, neighbours in the columns", Route::Labels.name()]);
        // Two rows are in reach of the first row of each morsel; there are two of 100 rows.
        assert_eq!((plan.rows(), plan.rows_taken()), (vec![648..850; 1], 102 + 102 + 2 * 100));
        let query = Histogram { mode: Mode::Next, ..query };
        assert!(query.plan(&recording(), &EXECUTION()).unwrap().is_at_least);
    }
}
