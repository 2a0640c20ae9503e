//! The time that work is estimated to take. It is said before the work begins.
//!
//! A scan of 2,000,000,000 tags on 10 threads takes about 1 s.

use std::{fmt, ops::Add};

use crate::{
    error::{Error, RequestError},
    progress::Progress,
};

/// Work that takes longer than this many seconds is announced.
const LONG_S: f64 = 10.0;
/// Work that takes longer than this many seconds is refused, unless it is allowed.
const DAY_S: f64 = 86_400.0;

/// An estimate of what a query does.
#[derive(Debug, Clone, Copy, Default)]
pub struct Work {
    /// Tags that scans take, each as often as it is taken.
    pub rows: f64,
    /// Pairs and triples that are counted one by one.
    pub pairs: f64,
    /// Bytes of counts and of the text of their rows.
    pub bytes: f64,
    /// Parts of the run that are counted one after the other.
    pub scans: f64,
}

/// Tags a second and thread. A simple pair is faster.
const ROWS_PER_S: f64 = 2e8;
/// Pairs a second and thread.
const PAIRS_PER_S: f64 = 5e8;
/// Bytes of counts a second: they are made, added up and written.
const BYTES_PER_S: f64 = 1e9;
/// Seconds that a scan of few tags takes.
const SCAN_S: f64 = 1e-5;

impl Work {
    /// Returns the seconds that it takes about, on so many threads.
    pub fn seconds(self, threads: usize) -> f64 {
        let Self { rows, pairs, bytes, scans } = self;
        (rows / ROWS_PER_S + pairs / PAIRS_PER_S) / threads.max(1) as f64
            + bytes / BYTES_PER_S
            + scans * SCAN_S
    }
}

/// Announces work that takes long. Rejects more than a day, unless `is_long` allows it.
pub fn check(
    seconds: f64,
    what: &impl fmt::Display,
    is_long: bool,
    progress: &dyn Progress,
) -> Result<(), Error> {
    if seconds <= LONG_S {
        return Ok(());
    }
    let about = about(seconds);
    if seconds > DAY_S && !is_long {
        return Err(RequestError::TooLong { about, what: what.to_string() }.into());
    }
    progress.note_long(&format!("this may take about {about}: {what}"));
    Ok(())
}

impl Add for Work {
    type Output = Self;

    fn add(self, more: Self) -> Self {
        Self {
            rows: self.rows + more.rows,
            pairs: self.pairs + more.pairs,
            bytes: self.bytes + more.bytes,
            scans: self.scans + more.scans,
        }
    }
}

/// Names the tags, the pairs if they are more, and the scans if there are several.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, pairs, scans, .. } = self;
        write!(f, "{} tags are read", short(*rows))?;
        if *pairs > *rows {
            write!(f, ", {} pairs or triples counted", short(*pairs))?;
        }
        if *scans > 1.5 {
            write!(f, ", in {} scans", short(*scans))?;
        }
        Ok(())
    }
}

/// Formats a large number briefly.
fn short(number: f64) -> String {
    if number < 1e6 { format!("{number:.0}") } else { format!("{number:.1e}") }
}

/// Formats seconds briefly.
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6_000.0 => format!("{:.0} min", s / 60.0),
        s if s < 180_000.0 => format!("{:.0} h", s / 3_600.0),
        s if s < 4e7 => format!("{:.0} days", s / DAY_S),
        s => format!("{} years", short(s / (365.25 * DAY_S))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_all_work_and_said_briefly() {
        let rows = Work { rows: ROWS_PER_S * 20.0, ..Work::default() };
        let pairs = Work { pairs: PAIRS_PER_S * 4.0, ..Work::default() };
        let bytes = Work { bytes: BYTES_PER_S, scans: 2.0 / SCAN_S, ..Work::default() };
        let all = rows + pairs + bytes;
        assert!((all.seconds(1) - 27.0).abs() < 1e-9 && (all.seconds(4) - 9.0).abs() < 1e-9);
        let said = [8.0, 1_020.0, 90_000.0, 900_000.0, 1e12].map(about);
        assert_eq!(said, ["8 s", "17 min", "25 h", "10 days", "31688 years"]);
        assert_eq!(rows.to_string(), "4.0e9 tags are read");
        assert_eq!((rows + bytes).to_string(), "4.0e9 tags are read, in 200000 scans");
    }
}
