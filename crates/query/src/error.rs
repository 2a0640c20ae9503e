//! The errors of queries.

use crate::run::time_range::TimeRange;

/// The reason why a query cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Rows are not in order of time: the column is damaged.
    #[error("row {row}, in block {block}, is out of order of time: the column of times is damaged")]
    Unordered {
        /// The row of the recording that is before its preceding row, or outside of its source.
        row: u64,
        /// The block of 65,536 rows that contains it.
        block: u64,
    },
    /// A column does not have the checksum of a block: it is damaged. [`Store::guarded`](tagq_store::Store::guarded)
    /// says which.
    #[error("a column does not have the checksum of block {block}: it is damaged")]
    Damaged {
        /// The block of 65,536 rows.
        block: u64,
    },
    /// The window is negative, but it is a distance.
    #[error(
        "a window of {window} ticks is negative; it is the largest time difference allowed, 0 or more"
    )]
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
    /// A channel has two delays.
    #[error("channel {channel} has two delays, {first} and {second} ticks; give one")]
    TwoDelays {
        /// The channel.
        channel: u16,
        /// The first delay in ticks.
        first: i64,
        /// The second delay in ticks.
        second: i64,
    },
    /// Times plus delays do not fit in 64 bits.
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
        /// The number of its channels.
        size: usize,
    },
    /// A group names a channel that the query excludes.
    #[error(
        "channel {channel} stands in a group and not among the channels in use; add it to \
         `channels`, or leave the group out"
    )]
    NotInUse {
        /// The channel.
        channel: u16,
    },
    /// The query has more groups than one query can count.
    #[error(
        "{groups} groups in one query, and at most {most} are counted; name some with `groups`, or \
             fewer channels with `channels`"
    )]
    TooManyGroups {
        /// The number of groups.
        groups: u128,
        /// The largest possible number of groups.
        most: usize,
    },
    /// Rule `grid` was used with a larger group.
    #[error("rule grid counts pairs, and {channels:?} is not one; use rule all")]
    GridGroup {
        /// The channels of the group.
        channels: Vec<u16>,
    },
    /// The cells have no width.
    #[error("rule grid divides times by the window, which is 0 ticks; use 1 or more")]
    GridWindow,
    /// A delay would split cells.
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
    /// There are more channels than rule `cluster` can distinguish.
    #[error("rule cluster over {channels} channels, and at most {most}; name some with `channels`")]
    ClusterChannels {
        /// The number of channels.
        channels: usize,
        /// The largest possible number of channels.
        most: usize,
    },
    /// The rule does not support a veto.
    #[error("rule {rule} takes no veto; these rules do: {}", others.join(", "))]
    VetoRule {
        /// The rule.
        rule: &'static str,
        /// The rules that take one.
        others: Vec<&'static str>,
    },
    /// A veto channel that is also counted.
    #[error("channel {channel} is a veto and stands in a group; leave it out of one of them")]
    VetoInGroup {
        /// The channel.
        channel: u16,
    },
    /// The guard is negative, but it is a distance.
    #[error(
        "a guard of {guard} ticks is negative; it is the distance that a veto reaches, 0 or more"
    )]
    NegativeGuard {
        /// The guard in ticks.
        guard: i64,
    },
    /// The window is too wide for a veto.
    #[error("a window of {window} ticks with a veto; at most {most} are possible")]
    VetoWindow {
        /// The window in ticks.
        window: i64,
        /// The largest possible window in ticks.
        most: i64,
    },
    /// The number of coincidences does not fit in 64 bits.
    #[error("2^64 or more coincidences of channels {channels:?}; use a smaller window")]
    CountRange {
        /// The channels.
        channels: Vec<u16>,
    },
    /// The query was cancelled: [`crate::ScanProgress::cancel`].
    #[error("the query was cancelled")]
    Cancelled,
    /// The bin is less than one tick wide.
    #[error("a bin of {width} ticks; it must be at least 1 tick wide")]
    BinWidth {
        /// Its width in ticks.
        width: i64,
    },
    /// A channel is named twice where different channels are needed.
    #[error(
        "channel {channel} is named twice; a triple has one tag of each of three different channels"
    )]
    ChannelTwice {
        /// The channel.
        channel: u16,
    },
    /// There are more bins than fit in memory.
    #[error("{bins} bins, and at most {max} are kept; use wider bins or a smaller range")]
    Bins {
        /// The requested number of bins.
        bins: u128,
        /// The largest possible number of bins.
        max: u64,
    },
    /// The upper edge of the bins is not above the lower one.
    #[error(
        "a range of differences from {low} to {high} ticks is empty; the first must be below the second"
    )]
    EmptyRange {
        /// The lower edge in ticks.
        low: i64,
        /// The upper edge, which is not above the lower one.
        high: i64,
    },
    /// The last edge does not fit in 64 bits.
    #[error("{bins} bins of {width} ticks from {low} ticks on leave the range of 64-bit ticks")]
    BinRange {
        /// The lower edge in ticks.
        low: i64,
        /// The width of a bin in ticks.
        width: i64,
        /// The number of bins.
        bins: u64,
    },
    /// The range does not suit logarithmic bins: they need 0 < `low` < `high`.
    #[error(
        "a logarithmic range from {low} to {high} ticks; it must begin above 0 and end above that"
    )]
    LogRange {
        /// The lower edge in ticks.
        low: i64,
        /// The upper edge in ticks.
        high: i64,
    },
    /// The number of bins per decade is out of range.
    #[error("{per_decade} bins a decade; 1 to 1000 are possible")]
    PerDecade {
        /// The requested number of bins per decade.
        per_decade: u32,
    },
    /// Sync pulses that are not tags were used for what needs tags.
    #[error(
        "the sync pulses are not recorded as tags: they can be the start of a histogram with mode all or \
         last, without g2, period and sync divider"
    )]
    Pulses,
    /// Rule `grid` was used with logarithmic bins, but all cells have one width.
    #[error("rule grid has cells of one width; logarithmic bins have many")]
    GridOfEdges,
    /// A delay or an edge of the range is not a multiple of the cell width.
    #[error("{ticks} ticks are no multiple of the cell of {width} ticks that rule grid counts in")]
    OffGrid {
        /// The delay or edge in ticks.
        ticks: i64,
        /// The width of a cell in ticks.
        width: i64,
    },
    /// Folding was used with a mode that has more than one partner per tag.
    #[error("only the modes next and last fold differences by a period; choose one of them")]
    FoldedPairs,
    /// The period is zero, or its fraction contains a zero.
    #[error("a period of 0 ticks, or of a fraction with 0 in it")]
    Period,
    /// The sync channel gives no period.
    #[error("channel {channel} has no two tags to take a period from; give the period instead")]
    NoSync {
        /// The channel of the sync.
        channel: u16,
    },
    /// g2 was requested, but not all pairs were counted.
    #[error("g2 is defined for all pairs, not for the modes next and last or rule grid")]
    NoG2,
    /// An image has no pixels, or too many on a side, or the part of its sine is not from 0.1 % to 100 %.
    #[error(
        "an image has 1 to 65,535 pixels a line and lines, and covers 0.1 % to 100 % of a sine"
    )]
    Raster,
    /// The labels of an image are no regions of it.
    #[error(
        "regions of an image have a label for each of its pixels, 0 outside of them, and 1 to 65,535 labels other than 0"
    )]
    Regions,
    /// A partial was requested for a result that depends on the whole run.
    #[error(
        "the period of `sync_divider` is that of the whole run, so that no part of it can be counted \
         alone; give the period instead"
    )]
    NoPartial,
    /// A number that a question needs was not counted by any part.
    #[error(
        "the parts lack {what}: they were counted by another version of tagq, or for another question"
    )]
    PartMissing {
        /// The number.
        what: String,
    },
    /// The partial is of another query.
    #[error("a partial answer to `{found}` is none to `{expected}`")]
    PartialOf {
        /// The requested query.
        expected: String,
        /// The query of the partial.
        found: String,
    },
    /// Two partials are not consecutive.
    #[error(
        "a partial answer ends {} and the next one begins {}; they merge where one begins at the very \
         tick at which the other ends", tick_or(*ends, "never"), tick_or(*begins, "with all times")
    )]
    PartialGap {
        /// The end of the earlier one in ticks.
        ends: Option<i64>,
        /// The start of the later one.
        begins: Option<i64>,
    },
    /// The partial covers other times than requested.
    #[error("a partial answer covers {covered:?}, and {asked:?} was asked")]
    PartialRange {
        /// The covered range.
        covered: TimeRange,
        /// The requested range.
        asked: TimeRange,
    },
    /// The sum of two counts does not fit.
    #[error("the sum of two partial counts does not fit")]
    PartialSum,
    /// The bytes are not a partial.
    #[error("no partial answer: {what}")]
    PartialDamaged {
        /// The problem with the bytes.
        what: &'static str,
    },
    /// The partial has a newer format version.
    #[error(
        "a partial answer of version {version}, and this program reads version 1; use a newer one"
    )]
    PartialVersion {
        /// The version of the partial.
        version: u32,
    },
}

fn tick_or(tick: Option<i64>, without: &str) -> String {
    tick.map_or(without.to_owned(), |tick| format!("at {tick} ticks"))
}
