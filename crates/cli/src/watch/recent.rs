//! The rate of each row over the last minutes.
//!
//! Rates of 100, 200, 400 and 800 Hz in four seconds are four bars on 80 columns, and two bars, 150 and 600 Hz, on two.
//! A count that falls, as after a reset, begins a new interval and has no rate: no difference is taken across it.

use std::{
    collections::{HashMap, VecDeque},
    time::{Duration, Instant},
};

use tagq_export::report::table::quantities::hertz;

/// Length of the history.
const SPAN: Duration = Duration::from_mins(5);
/// Length of an interval that has a rate of its own.
const INTERVAL: Duration = Duration::from_secs(1);

/// The histories of all rows, by their keys.
#[derive(Debug, Default)]
pub(super) struct Recent(HashMap<String, History>);

/// The history of one row.
#[derive(Debug, Default)]
struct History {
    /// The beginning of the interval that is not over.
    begun: Option<CountAt>,
    intervals: VecDeque<Interval>,
}

/// A count, with the live time in which it was counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountAt {
    pub at: Instant,
    pub count: u64,
    pub live_s: f64,
}

/// An interval of a second or more, with its count and its live time.
#[derive(Debug, Clone, Copy)]
struct Interval {
    begin: Instant,
    end: Instant,
    count: u64,
    live_s: f64,
}

impl Recent {
    /// Adds the count of a row at an update. A count that falls begins a new interval.
    pub(super) fn add(&mut self, key: &str, now: CountAt) {
        let history = self.0.entry(key.to_owned()).or_default();
        let before = *history.begun.get_or_insert(now);
        if now.count < before.count || now.live_s < before.live_s {
            history.begun = Some(now);
            return;
        }
        if now.at.saturating_duration_since(before.at) < INTERVAL {
            return;
        }
        let (count, live_s) = (now.count - before.count, now.live_s - before.live_s);
        history.intervals.push_back(Interval { begin: before.at, end: now.at, count, live_s });
        history.begun = Some(now);
        while history.intervals.front().is_some_and(|of| now.at - of.end > SPAN) {
            history.intervals.pop_front();
        }
    }

    /// Begins new intervals, because the next counts are of another time of the run.
    pub(super) fn restart(&mut self) {
        self.0.values_mut().for_each(|history| history.begun = None);
    }

    /// Forgets the rows whose key begins with `query`, because they are of another query now.
    pub(super) fn forget(&mut self, query: &str) {
        self.0.retain(|key, _| !key.starts_with(query));
    }

    /// Returns the rate in the newest interval.
    pub(super) fn newest(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.intervals.back().and_then(|of| rate(of.count as f64, of.live_s))
    }

    /// Returns the rates over the last minutes: their lowest, highest and span in words, and a line of at most
    /// `columns` characters; `None` before the first interval is over.
    pub(super) fn lines(&self, key: &str, now: Instant, columns: usize) -> Option<[String; 2]> {
        let intervals = &self.0.get(key)?.intervals;
        let oldest = intervals.front()?.begin;
        let span = now.saturating_duration_since(oldest).max(INTERVAL);
        let slots = usize::try_from(span.as_secs()).unwrap_or(1).clamp(1, columns.max(1));
        let place = |at: Instant| {
            let since = at.saturating_duration_since(oldest);
            since.as_secs_f64() / span.as_secs_f64() * slots as f64
        };
        // An interval is part of each slot that it overlaps.
        let mut sums = vec![(0.0, 0.0); slots];
        for of in intervals {
            let (begin, end) = (place(of.begin), place(of.end));
            for (slot, sum) in sums.iter_mut().enumerate() {
                let overlap = end.min(slot as f64 + 1.0) - begin.max(slot as f64);
                let part = (overlap / (end - begin)).max(0.0);
                *sum = (sum.0 + part * of.count as f64, sum.1 + part * of.live_s);
            }
        }
        let rates: Vec<Option<f64>> = sums.iter().map(|&(count, live)| rate(count, live)).collect();
        let known = || rates.iter().flatten().copied();
        let (low, high) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
        let words = format!("{} to {} in the last {}", hertz(low), hertz(high), seconds(span));
        Some([words, rates.iter().map(|&rate| bar(rate, low, high)).collect()])
    }
}

fn rate(count: f64, live_s: f64) -> Option<f64> {
    (live_s > 1e-9).then(|| count / live_s)
}

fn seconds(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

/// Returns a bar of one to eight eighths; a blank for no rate.
fn bar(rate: Option<f64>, low: f64, high: f64) -> char {
    const BARS: [char; 8] = [
        '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
        '\u{2588}',
    ];
    let Some(rate) = rate else { return ' ' };
    // Equal rates are half high, also if they differ by rounding.
    let part = if high - low > 1e-9 * high { (rate - low) / (high - low) } else { 0.5 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 8")]
    let eighths = (part * 8.0) as usize;
    BARS[eighths.min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of one row, with an update each second.
    fn recent(rates: &[u64]) -> (Recent, Instant) {
        let (begin, mut recent, mut count) = (Instant::now(), Recent::default(), 0);
        let mut at = begin;
        recent.add("0/1,2", CountAt { at, count, live_s: 0.0 });
        for (seconds, rate) in (1..).zip(rates) {
            at = begin + Duration::from_secs(seconds);
            count += rate;
            recent.add("0/1,2", CountAt { at, count, live_s: seconds as f64 });
        }
        (recent, at)
    }

    #[test]
    fn each_second_has_a_bar_until_the_line_is_full() {
        let (of, now) = recent(&[100, 200, 400, 800]);
        let [words, line] = of.lines("0/1,2", now, 80).unwrap();
        assert_eq!(words, "100.0 Hz to 800.0 Hz in the last 4 s");
        // One eighth is 87.5: 100 and 200 are the first and second, 400 the fourth, 800 the last.
        assert_eq!(line, "\u{2581}\u{2582}\u{2584}\u{2588}");
        assert_eq!(of.newest("0/1,2"), Some(800.0));
        // Two seconds share a bar: 150 and 600 per second.
        let [words, line] = of.lines("0/1,2", now, 2).unwrap();
        assert_eq!(words, "150.0 Hz to 600.0 Hz in the last 4 s");
        assert_eq!(line, "\u{2581}\u{2588}");
        // Nothing came for two seconds.
        let [words, line] = of.lines("0/1,2", now + Duration::from_secs(2), 80).unwrap();
        assert_eq!(words, "100.0 Hz to 800.0 Hz in the last 6 s");
        assert_eq!(line, "\u{2581}\u{2582}\u{2584}\u{2588}  ");
        assert_eq!(of.lines("0/1,3", now, 80), None);
    }

    #[test]
    fn only_the_last_minutes_stay() {
        let mut rates = vec![5; 100];
        rates.extend([7; 301]);
        let (of, now) = recent(&rates);
        let [words, line] = of.lines("0/1,2", now, 60).unwrap();
        assert_eq!(words, "7.000 Hz to 7.000 Hz in the last 5 min");
        assert_eq!(line, "\u{2585}".repeat(60));
    }

    #[test]
    fn a_reset_and_another_query_give_no_false_rate() {
        let (mut of, at) = recent(&[100, 200]);
        let later = |seconds, count, live_s| {
            let at = at + Duration::from_secs(seconds);
            CountAt { at, count, live_s }
        };
        // The count begins at zero again, and the live time goes on.
        of.restart();
        of.add("0/1,2", later(1, 0, 3.0));
        of.add("0/1,2", later(2, 300, 4.0));
        let [words, line] = of.lines("0/1,2", at + Duration::from_secs(2), 80).unwrap();
        assert_eq!(words, "100.0 Hz to 300.0 Hz in the last 4 s");
        assert_eq!(line, "\u{2581}\u{2585} \u{2588}");
        of.add("0/1,2", later(3, 10, 5.0));
        assert_eq!(of.newest("0/1,2"), Some(300.0), "a count that falls has no rate");
        of.forget("0/");
        assert_eq!(of.newest("0/1,2"), None);
    }
}
