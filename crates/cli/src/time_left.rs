//! The time that a job still takes.
//!
//! After 200 of 1,000 tags at once and then 10 in a second, 790 are left at 10 per second: 79 s. The estimate never
//! rises within a pass, and the burst at the beginning, when buffers are filled, does not count as speed.

use std::time::Duration;

/// Time after which the speed is known well enough.
const KNOWN_AFTER: Duration = Duration::from_secs(1);

/// Estimates the time left of a job with a constant speed. Within a job it never rises.
#[derive(Debug, Default)]
pub(crate) struct TimeLeft {
    /// The first time and position. A job may begin with a burst, because buffers are filled first.
    first: Option<(Duration, u64)>,
    position: u64,
    /// The time that was returned last, in seconds.
    seconds: Option<f64>,
}

impl TimeLeft {
    /// Returns the time left after `elapsed`, in whole seconds; `None` while the speed is not known.
    pub(crate) fn at(&mut self, elapsed: Duration, position: u64, of: u64) -> Option<Duration> {
        if position < self.position {
            // Another pass.
            *self = Self::default();
        }
        self.position = position;
        let (begun, from) = *self.first.get_or_insert((elapsed, position));
        let since = elapsed.saturating_sub(begun);
        if since < KNOWN_AFTER || position == from {
            return None;
        }
        let per_second = (position - from) as f64 / since.as_secs_f64();
        let seconds = (of.saturating_sub(position) as f64 / per_second).ceil();
        let seconds = self.seconds.map_or(seconds, |before| before.min(seconds));
        self.seconds = Some(seconds);
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(left: &mut TimeLeft, tenths: u64, position: u64) -> Option<u64> {
        left.at(Duration::from_millis(tenths * 100), position, 1_000).map(|left| left.as_secs())
    }

    #[test]
    fn it_falls_to_zero_whatever_the_speed_does() {
        let mut left = TimeLeft::default();
        // 200 at once, then 10 in a second, so that 790 are left after the first one.
        assert_eq!(at(&mut left, 1, 200), None);
        assert_eq!(at(&mut left, 6, 205), None);
        assert_eq!(at(&mut left, 11, 210), Some(79));
        // Half as fast: 780 are left, at 20 in 3 s these would take 117 s.
        assert_eq!(at(&mut left, 31, 220), Some(79));
        // 200 in 8 s: 600 take 24 s.
        assert_eq!(at(&mut left, 81, 400), Some(24));
        assert_eq!(at(&mut left, 100, 1_000), Some(0));
    }

    #[test]
    fn each_pass_begins_from_scratch() {
        let mut left = TimeLeft::default();
        at(&mut left, 0, 0);
        // 900 in 9 s: 100 take 1 s.
        assert_eq!(at(&mut left, 90, 900), Some(1));
        assert_eq!(at(&mut left, 100, 0), None);
        // 100 in 2 s: 900 take 18 s.
        assert_eq!(at(&mut left, 120, 100), Some(18));
    }
}
