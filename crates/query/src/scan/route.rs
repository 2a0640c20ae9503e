//! The routes of a scan, and the costs that decide between them (docs/decisions.md says which limits were measured).
//!
//! A scan compares each row with the rows before it in the columns as stored, which is fast while few rows lie within
//! reach; or it extracts the channels in use, which costs a pass over all rows, and counts many pairs in one step of
//! a merge. A reach of 2,000 ticks reads gaps of 16 bits; one of 100,000 reads 32 bits in a compact store, else
//! times. Every route gives the same counts.

use std::ops::Range;

use tagq_store::format::GAP_MAX;

use crate::{
    kernels::simd::{Level, Simd},
    run::recording::Source,
    scan::{column::StoredColumn, morsels::Execution},
};

/// Rows of a morsel that is read from the columns: 2.25 MiB.
pub(crate) const COLUMN_ROWS: usize = 1 << 18;
/// Rows of a morsel that goes through buffers, chosen so that they stay in a core's cache.
pub(crate) const BUFFER_ROWS: usize = 1 << 16;
/// Steps per row from which on window counts are faster than walking through the window of each tag.
const GROUP_STEPS: usize = 2;
/// The mean number of rows within reach up to which the differences of the pairs of many channels are counted together.
pub(crate) const DIFFERENCES_WITHIN: f64 = 10.0;
/// The cost of a pair that is counted by its difference, in steps of a merge of bin edges (benches/histogram.rs).
const PAIR_STEPS: u64 = 4;
/// The cost of such a pair, in cycles (AVX-512; 2.5 in 625 M pairs).
const PAIR_CYCLES: f64 = 2.5;

/// A way to count, as a plan names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Counts tags of each channel by their labels alone, in the blocks that a range cuts.
    Labels,
    /// Adds up gaps in place of times.
    Gaps,
    /// Compares rows with their neighbours in the column of times.
    Columns(Work),
    /// Extracts the channels in use.
    Lists(Work),
    /// Extracts starts and stops into one list and compares neighbours there.
    OneList,
    /// Extracts starts and stops to find the neighbour of each.
    Nearest,
    /// Extracts three channels.
    Triples,
    /// Reads micro times.
    MicroTimes,
    /// Finds the pixels of photons.
    Pixels,
    /// Computes the times of sync pulses.
    SyncPulses,
}

/// The kind of count that a route serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// The coincidences of one pair.
    Pair,
    /// The coincidences of the pairs of many channels.
    Pairs,
    /// The differences of the pairs of many channels.
    PairsInBins,
    /// The coincidences of groups of three or more channels.
    Groups {
        /// The number of channels of the smallest group.
        fewest: usize,
        amount: Amount,
    },
    /// Coincidences with a herald.
    Heralds {
        /// Whether each herald counts once.
        once: bool,
    },
    /// Coincidences that use tags up.
    Matches,
    /// The differences of all pairs of a start and a stop.
    Differences,
}

/// The cost of larger groups where windows are crowded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    /// One group of up to four channels: one product for each row.
    One,
    /// Up to four groups: a vector of products.
    Few,
    /// Vectors of products.
    Many,
    /// So many channels that there are no vectors of products.
    Large,
}

/// The data of a row that a route reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    Labels,
    Gaps,
    Times,
}

/// Where neighbours can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompareIn {
    /// Gaps of all channels, 16 or 32 at once.
    Gaps,
    /// Gaps of 32 bits of all channels, decoded, eight or 16 at once.
    WideGaps,
    /// Times of all channels, four or eight at once.
    Times,
    /// Times of the channels in use.
    List,
}

impl Route {
    /// Returns the name that a plan shows.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Labels => "labels of cut blocks",
            Self::Gaps => "sums of gaps",
            Self::Columns(work) => work.names()[0],
            Self::Lists(work) => work.names()[1],
            Self::OneList => "pairs, neighbours among starts and stops taken out",
            Self::Nearest => "neighbours, starts and stops taken out",
            Self::Triples => "triples, lists of three channels",
            Self::MicroTimes => "micro times",
            Self::Pixels => "pixels of photons",
            Self::SyncPulses => "sync pulses",
        }
    }

    /// Returns the data that it reads, besides the labels.
    pub(crate) fn reads(self) -> Reads {
        match self {
            Self::Labels => Reads::Labels,
            Self::Gaps => Reads::Gaps,
            Self::Columns(_)
            | Self::Lists(_)
            | Self::OneList
            | Self::Nearest
            | Self::Triples
            | Self::MicroTimes
            | Self::Pixels
            | Self::SyncPulses => Reads::Times,
        }
    }
}

impl Work {
    /// Returns the names of the routes in the columns and by lists.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Pair => ["pair, neighbours in the columns", "pair, two lists by rank"],
            Self::Pairs => ["pairs, neighbours in the columns", "pairs, channels taken out"],
            Self::PairsInBins => [
                "differences of pairs, neighbours in the columns",
                "differences of pairs, channels taken out",
            ],
            Self::Groups { .. } => ["groups, in the columns", "groups, channels taken out"],
            Self::Heralds { once: false } => ["heralds", "heralds, channels taken out"],
            Self::Heralds { once: true } => {
                ["heralds, each once", "heralds, each once, channels taken out"]
            }
            Self::Matches => ["tags used up", "tags used up, channels taken out"],
            Self::Differences => {
                ["pairs, neighbours in the columns", "pairs, lists of starts and stops"]
            }
        }
    }

    /// Returns the mean number of rows within reach from which on neighbours are not compared.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(unused_variables, reason = "plain code is as fast with delays")
    )]
    pub(crate) fn crowded(self, rows: CompareIn, simd: Simd, has_delays: bool) -> f64 {
        match (self, rows) {
            // Ranks count a pair in a few steps, however many others lie between its tags.
            (Self::Pair, CompareIn::Gaps) => match simd.level() {
                Level::Scalar => 1.0,
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 if has_delays => 5.0,
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 | Level::Avx512 | Level::Vbmi2 => 20.0,
            },
            (Self::Pair | Self::Pairs, CompareIn::WideGaps) => match simd.level() {
                Level::Scalar => 1.0,
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 | Level::Avx512 | Level::Vbmi2 => 2.0,
            },
            // Only rows with as many others before them as the smallest group needs are visited, and then each of the
            // groups that they close.
            (Self::Groups { fewest, amount }, CompareIn::Gaps | CompareIn::List) => {
                let fewest = fewest as f64;
                match (amount, rows) {
                    (Amount::Large, _) => fewest,
                    (Amount::Many, _) if fewest < 5.0 => 0.4,
                    (Amount::Many, _) => 1.0,
                    (Amount::Few, CompareIn::List) => 0.3 * fewest,
                    (Amount::One, CompareIn::List) => 0.14 * fewest,
                    (Amount::Few | Amount::One, _) => 0.16 * fewest,
                }
            }
            // Most rows are in long chains from half a row within the window on.
            (Self::Heralds { .. }, CompareIn::Gaps) => 0.4,
            (Self::PairsInBins, _) => DIFFERENCES_WITHIN,
            (Self::Differences, CompareIn::Gaps) => 4.0,
            // Of these rows, starts and stops alone count.
            (Self::Differences, CompareIn::Times | CompareIn::List) => 9.0,
            // In all other cases, from one row on.
            (Self::Differences, CompareIn::WideGaps)
            | (Self::Pair, CompareIn::Times | CompareIn::List)
            | (Self::Groups { .. }, CompareIn::WideGaps | CompareIn::Times)
            | (Self::Pairs | Self::Heralds { .. } | Self::Matches, _) => 1.0,
        }
    }
}

impl StoredColumn<'_> {
    /// Returns where neighbours are compared if this column is read.
    pub(crate) fn rows(self) -> CompareIn {
        match self {
            StoredColumn::Gaps(_) => CompareIn::Gaps,
            StoredColumn::WideGaps(_) => CompareIn::WideGaps,
            StoredColumn::Times(_) => CompareIn::Times,
        }
    }
}

/// Returns the column that is read to compare rows up to `reach` ticks apart. Gaps have a quarter of the bytes of
/// times, and are taken if they are exact up to this distance. Where times have no column, gaps of 32 bits are
/// decoded in less time than times, and compared faster.
pub(crate) fn column<'a>(source: &Source<'a>, reach: i64) -> StoredColumn<'a> {
    match source.gaps {
        Some(gaps) if reach < GAP_MAX.into() => StoredColumn::Gaps(gaps),
        _ if source.tags.time.column().is_none() && reach < u32::MAX.into() => {
            StoredColumn::WideGaps(source.tags.time)
        }
        _ => StoredColumn::Times(source.tags.time),
    }
}

/// Returns the rows of a morsel that is read from the columns; fewer, if buffers are filled for them.
pub(crate) fn column_rows(execution: &Execution, has_buffers: bool) -> usize {
    let rows = if has_buffers { BUFFER_ROWS } else { COLUMN_ROWS };
    execution.morsel_rows.unwrap_or(rows).max(1)
}

/// Returns how many rows may be walked through for the groups of these rows before window counts are faster.
pub(crate) fn group_steps(rows: &Range<usize>) -> usize {
    GROUP_STEPS * rows.len()
}

/// Returns how many pairs cost as much as one merge of a bin edge, for lists with this number of tags.
pub(crate) fn pairs_per_edge(tags: usize) -> u64 {
    tags as u64 / PAIR_STEPS
}

/// Returns the cycles to count so many pairs by their differences.
pub(crate) fn cycles_of_pairs(pairs: u64) -> f64 {
    PAIR_CYCLES * pairs as f64
}
