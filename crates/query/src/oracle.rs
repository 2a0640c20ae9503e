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

// Rates and histograms.

/// The tags of `channel` whose delayed time lies in `from..to`, open where absent.
pub fn singles(
    sources: &[Vec<(i64, u16)>],
    channel: u16,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> u64 {
    let mut count = 0;
    for &(time, of_channel) in sources.iter().flatten() {
        if of_channel == channel && is_within(delayed(time, channel, delays), from, to) {
            count += 1;
        }
    }
    count
}

/// Live ticks: last minus first undelayed time of each source, cut to `from..to`, summed.
pub fn live(sources: &[Vec<(i64, u16)>], [from, to]: [Option<i64>; 2]) -> i128 {
    let mut live = 0;
    for tags in sources {
        if let (Some(&(first, _)), Some(&(last, _))) = (tags.first(), tags.last()) {
            let first = i128::from(first).max(from.map_or(i128::MIN, i128::from));
            let last = i128::from(last).min(to.map_or(i128::MAX, i128::from));
            if last > first {
                live += last - first;
            }
        }
    }
    live
}

fn is_within(time: i128, from: Option<i64>, to: Option<i64>) -> bool {
    from.is_none_or(|from| time >= i128::from(from)) && to.is_none_or(|to| time < i128::from(to))
}
