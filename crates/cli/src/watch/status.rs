//! The line about the state of the watched runs.
//!
//! After 2 s without new data it says `1,200 tags, 40.00 kHz recorded`, after 4 s `1,200 tags; newest data 4 s old`,
//! and from 10 s on `nothing new for 10 s`: a rate is shown only while data come.

use std::time::{Duration, Instant};

use tagq_export::report::table::quantities::{counted, hertz};

/// Age from which the line states that of the newest data.
const AGING: Duration = Duration::from_secs(3);
/// Age from which the line says that nothing new comes.
const STILL: Duration = Duration::from_secs(10);

/// The state of the watched runs at an update.
#[derive(Debug, Clone)]
pub(super) struct Status {
    /// Number of the update.
    pub number: u64,
    /// Time that it took.
    pub took: Duration,
    pub tags: u64,
    /// Tags recorded per second.
    pub rate: Option<f64>,
    /// When the newest data came.
    pub newest: Instant,
}

impl Status {
    /// Returns the line, as it is at `now`; `end` are its last words. The rate is that of data that come now.
    pub(super) fn line(&self, now: Instant, end: &str) -> String {
        let age = now.saturating_duration_since(self.newest);
        let seconds = age.as_secs();
        let state = match self.rate {
            _ if age >= STILL => format!("; nothing new for {}", long(seconds)),
            _ if age >= AGING => format!("; newest data {seconds} s old"),
            Some(rate) => format!(", {} recorded", hertz(rate)),
            None => String::new(),
        };
        let (tags, took) = (counted(self.tags, "tag"), self.took.as_millis());
        format!("{tags}{state}; update {} in {took} ms; {end}", self.number)
    }

    /// Returns a number that changes whenever the line does because of the time.
    pub(super) fn age(&self, now: Instant) -> Option<u64> {
        let age = now.saturating_duration_since(self.newest);
        (age >= AGING).then_some(age.as_secs())
    }
}

/// Returns a time in the largest unit that it has at least two of.
fn long(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_the_data_takes_the_place_of_the_rate() {
        let newest = Instant::now();
        let took = Duration::from_millis(7);
        let status = Status { number: 3, took, tags: 1_200, rate: Some(4e4), newest };
        let line = |seconds: u64| status.line(newest + Duration::from_secs(seconds), "Ctrl-C ends");
        assert_eq!(line(0), "1,200 tags, 40.00 kHz recorded; update 3 in 7 ms; Ctrl-C ends");
        assert_eq!(line(2), line(0));
        assert_eq!(line(4), "1,200 tags; newest data 4 s old; update 3 in 7 ms; Ctrl-C ends");
        assert_eq!(line(10), "1,200 tags; nothing new for 10 s; update 3 in 7 ms; Ctrl-C ends");
        assert!(line(3_600 * 3).contains("nothing new for 3 h;"));
        let ages = [0, 2, 3, 4].map(|seconds| status.age(newest + Duration::from_secs(seconds)));
        assert_eq!(ages, [None, None, Some(3), Some(4)]);
    }
}
