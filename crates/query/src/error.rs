//! Queries that cannot be counted, and why.

use crate::run::time_range::TimeRange;

/// An error of a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Rows that are not in order of time: the column is damaged.
    #[error("row {row}, in block {block}, is out of order of time: the column of times is damaged")]
    Unordered {
        /// The row of the recording that is before the row in front of it, or outside of its source.
        row: u64,
        /// The block of 65,536 rows that it lies in.
        block: u64,
    },
    /// A window is a distance.
    #[error("a window of {window} ticks is negative; it is the largest time difference allowed")]
    NegativeWindow {
        /// The window in ticks.
        window: i64,
    },
    /// A group names a channel twice.
    #[error(
        "group {channel},{channel} names channel {channel} twice; a coincidence takes one tag of \
         each of two different channels"
    )]
    SameChannel {
        /// The channel.
        channel: u16,
    },
    /// A channel was given two delays.
    #[error("channel {channel} has two delays, {first} and {second} ticks; give one")]
    TwoDelays {
        /// The channel.
        channel: u16,
        /// One delay in ticks.
        first: i64,
        /// The other.
        second: i64,
    },
    /// Times plus delays do not fit.
    #[error(
        "a delay of {delay} ticks on times from {first} to {last} ticks leaves the range of 64-bit \
         ticks; use a smaller delay"
    )]
    DelayRange {
        /// The delay in ticks.
        delay: i64,
        /// First time of the source in ticks.
        first: i64,
        /// Last time of the source in ticks.
        last: i64,
    },
    /// A group is too small or too large.
    #[error("a group of {size} channels; a coincidence is counted between 2 to 16 of them")]
    GroupSize {
        /// Its channels.
        size: usize,
    },
    /// A group names a channel that the query leaves out.
    #[error(
        "channel {channel} stands in a group and not among the channels in use; add it to \
         --channels, or leave the group out"
    )]
    NotInUse {
        /// The channel.
        channel: u16,
    },
    /// More groups than one query counts.
    #[error(
        "{groups} groups in one query, and at most {most} are counted; name some with --group, or \
             fewer channels with --channels"
    )]
    TooManyGroups {
        /// How many.
        groups: u128,
        /// How many there may be.
        most: usize,
    },
    /// Rule `grid` for a larger group.
    #[error("rule grid counts pairs, and {channels:?} is not one; use rule all")]
    GridGroup {
        /// The group.
        channels: Vec<u16>,
    },
    /// Cells without a width.
    #[error("rule grid divides times by the window, which is 0 ticks; use 1 or more")]
    GridWindow,
    /// A delay that would part cells.
    #[error(
        "the delay of channel {channel}, {delay} ticks, is not a multiple of the window of {window} \
         ticks, as rule grid needs it; use such a delay, or rule all"
    )]
    GridDelay {
        /// The channel.
        channel: u16,
        /// Its delay in ticks.
        delay: i64,
        /// The window in ticks.
        window: i64,
    },
    /// More channels than rule `cluster` tells apart.
    #[error("rule cluster over {channels} channels, and at most {most}; name some with --channels")]
    ClusterChannels {
        /// How many.
        channels: usize,
        /// How many there may be.
        most: usize,
    },
    /// A veto where none can be.
    #[error("rule {rule} takes no veto; use all, herald or once")]
    VetoRule {
        /// The rule.
        rule: &'static str,
    },
    /// A veto channel that is also counted.
    #[error("channel {channel} is a veto and stands in a group; leave it out of one of them")]
    VetoInGroup {
        /// The channel.
        channel: u16,
    },
    /// A guard is a distance.
    #[error("a guard of {guard} ticks is negative; it is the distance that a veto reaches")]
    NegativeGuard {
        /// The guard in ticks.
        guard: i64,
    },
    /// A window that is too wide for a veto.
    #[error("a window of {window} ticks with a veto; at most {most} are possible")]
    VetoWindow {
        /// The window in ticks.
        window: i64,
        /// How wide it may be.
        most: i64,
    },
    /// The number of coincidences does not fit.
    #[error("2^64 or more coincidences of channels {channels:?}; use a smaller window")]
    CountRange {
        /// The channels.
        channels: Vec<u16>,
    },
    /// Nobody waits for the answer any more: [`crate::Course::cancel`].
    #[error("the query was cancelled")]
    Cancelled,
    /// A bin is a stretch of time.
    #[error("a bin of {width} ticks; it must be at least 1 tick wide")]
    BinWidth {
        /// Its width in ticks.
        width: i64,
    },
    /// More bins than are kept in memory.
    #[error("{bins} bins, and at most {max} are kept; use wider bins or a smaller range")]
    Bins {
        /// How many were asked for.
        bins: u128,
        /// How many there may be.
        max: u64,
    },
    /// Bins hold differences from a lower to a higher one.
    #[error(
        "a range of differences from {low} to {high} ticks is empty; the first must be below the second"
    )]
    EmptyRange {
        /// The lower edge in ticks.
        low: i64,
        /// The upper one, which is not above it.
        high: i64,
    },
    /// The last edge does not fit.
    #[error("{bins} bins of {width} ticks from {low} ticks on leave the range of 64-bit ticks")]
    BinRange {
        /// The lower edge in ticks.
        low: i64,
        /// Ticks of a bin.
        width: i64,
        /// How many.
        bins: u64,
    },
    /// Logarithms are of positive numbers.
    #[error(
        "a logarithmic range from {low} to {high} ticks; it must begin above 0 and end above that"
    )]
    LogRange {
        /// The lower edge in ticks.
        low: i64,
        /// The upper one.
        high: i64,
    },
    /// Bins a decade out of reason.
    #[error("{per_decade} bins a decade; 1 to 1000 are possible")]
    PerDecade {
        /// How many were asked for.
        per_decade: u32,
    },
    /// Cells are of one width.
    #[error("rule grid has cells of one width; logarithmic bins have many")]
    GridOfEdges,
    /// Cells lie at multiples of their width, and so must delays and the range.
    #[error("{ticks} ticks are no multiple of the cell of {width} ticks that rule grid counts in")]
    OffGrid {
        /// The delay or edge in ticks.
        ticks: i64,
        /// Ticks of a cell.
        width: i64,
    },
    /// Folding needs one partner for each tag.
    #[error("only the modes next and last fold differences by a period; choose one of them")]
    FoldedPairs,
    /// A period has to be longer than nothing.
    #[error("a period of 0 ticks, or of a fraction with 0 in it")]
    Period,
    /// The period was to come from the sync.
    #[error("channel {channel} has no two tags to take a period from; give the period instead")]
    NoSync {
        /// The channel of the sync.
        channel: u16,
    },
    /// Not all pairs were counted.
    #[error("g2 is defined for all pairs, not for the modes next and last or rule grid")]
    NoG2,
    /// Parts of an answer that depends on all of the run.
    #[error(
        "the period of --sync-divider is that of the whole run, so that no part of it can be counted \
         alone; give the period instead"
    )]
    NoPartial,
    /// A partial answer of another query.
    #[error("a partial answer to `{found}` is none to `{expected}`")]
    PartialOf {
        /// The query asked.
        expected: String,
        /// The one that was counted.
        found: String,
    },
    /// Two partial answers that do not follow each other.
    #[error(
        "a partial answer ends {} and the next one begins {}; they merge where one begins at the very \
         tick at which the other ends", tick_or(*ends, "never"), tick_or(*begins, "with all times")
    )]
    PartialGap {
        /// Where the earlier one ends, in ticks.
        ends: Option<i64>,
        /// Where the later one begins.
        begins: Option<i64>,
    },
    /// A partial answer of other times than those asked.
    #[error("a partial answer covers {covered:?}, and {asked:?} was asked")]
    PartialRange {
        /// What it covers.
        covered: TimeRange,
        /// What was asked.
        asked: TimeRange,
    },
    /// The sum of two counts does not fit.
    #[error("the sum of two partial counts does not fit")]
    PartialSum,
    /// Bytes that are no partial answer.
    #[error("no partial answer: {what}")]
    PartialDamaged {
        /// What is wrong with them.
        what: &'static str,
    },
    /// A partial answer in a newer form.
    #[error(
        "a partial answer of version {version}, and this program reads version 1; use a newer one"
    )]
    PartialVersion {
        /// Its version.
        version: u32,
    },
}

fn tick_or(tick: Option<i64>, without: &str) -> String {
    tick.map_or(without.to_owned(), |tick| format!("at {tick} ticks"))
}
