//! What each query counts, said as plainly as code can: slow, and right by inspection.
//!
//! These functions share nothing with the engine. They follow docs/queries.md sentence by sentence
//! and compute in `i128`, where nothing overflows.

/// Pairs by rule `all`: every way to take one tag of channel `a` and one of channel `b` of one
/// source whose delayed times differ by at most `window` ticks.
///
/// `sources` holds the (time, channel) of every tag, `delays` the (channel, ticks) of the delayed
/// channels. Cost: the square of the tags.
pub fn pairs(
    sources: &[Vec<(i64, u16)>],
    a: u16,
    b: u16,
    window: i64,
    delays: &[(u16, i64)],
) -> u64 {
    let mut count = 0;
    for tags in sources {
        for &(time_a, channel_a) in tags {
            for &(time_b, channel_b) in tags {
                let difference =
                    delayed(time_b, channel_b, delays) - delayed(time_a, channel_a, delays);
                if channel_a == a && channel_b == b && difference.abs() <= i128::from(window) {
                    count += 1;
                }
            }
        }
    }
    count
}

/// The time of a tag after the delay of its channel.
fn delayed(time: i64, channel: u16, delays: &[(u16, i64)]) -> i128 {
    let mut delayed = i128::from(time);
    for &(of_channel, delay) in delays {
        if of_channel == channel {
            delayed += i128::from(delay);
        }
    }
    delayed
}
