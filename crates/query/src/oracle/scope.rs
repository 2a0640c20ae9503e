//! The delayed time of a tag, and whether it is selected.

/// Returns the time of a tag after the delay of its channel.
pub(super) fn delayed(time: i64, channel: u16, delays: &[(u16, i64)]) -> i128 {
    let mut delayed = i128::from(time);
    for &(of_channel, delay) in delays {
        if of_channel == channel {
            delayed += i128::from(delay);
        }
    }
    delayed
}

pub(super) fn is_within(time: i128, from: Option<i64>, to: Option<i64>) -> bool {
    from.is_none_or(|from| time >= i128::from(from)) && to.is_none_or(|to| time < i128::from(to))
}
