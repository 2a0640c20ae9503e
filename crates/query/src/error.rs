//! Queries that cannot be counted, and why.

/// An error of a query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// More channels than one scan tells apart.
    #[error(
        "{channels} channels in one query, and at most 255 can be told apart; name some with --group"
    )]
    Channels {
        /// How many.
        channels: usize,
    },
    /// The number of coincidences does not fit.
    #[error("more than 2^64 coincidences of channels {a} and {b}; use a smaller window")]
    CountRange {
        /// One channel.
        a: u16,
        /// The other.
        b: u16,
    },
    /// A channel that the query leaves out was asked for.
    #[error("channel {channel} is not among the channels in use; add it to --channels")]
    NotInUse {
        /// The channel.
        channel: u16,
    },
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
}
