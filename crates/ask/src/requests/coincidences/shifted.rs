//! Measured accidentals: counts with channels moved by more than any correlation time.
//!
//! A shift of 12.5 ticks moves the second channel by 13, −13, 25, −25 and 38 ticks: each multiple is rounded by itself,
//! so that errors do not add up. A shift is never shorter than the full width, or true pairs would count as
//! accidentals. A count is scaled to the time that the moved channels share.

use tagq_query::{Coincidences as Query, Delay, Facts, Groups, LiveTime, Measured, Rule, Shifted};
use tagq_run::RequestError;
use tagq_store::{Duration, Tick};

use crate::{error::Error, requests::limits::SHIFTS_MAX};

/// A warning is due if the scatter exceeds that of a steady source by this many standard deviations.
const SCATTER: f64 = 5.0;

/// The shift of channels, and the number of shifts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    counts: u32,
    /// Ticks as a fraction: the period of a pulsed source need not be whole.
    numerator: i128,
    denominator: i128,
}

/// Accidentals, and a note for the user.
pub(crate) struct ShiftedAccidentals {
    pub shifted: Shifted,
    pub note: Option<String>,
}

/// A count with channels moved, and the live time in which the channels can have coincidences.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    count: f64,
    /// With the delays of the query, and with the moves: ΣL(0) and ΣL(s).
    live: f64,
    overlap: f64,
}

impl Moved {
    /// Adds the count of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.live += other.live;
        self.overlap += other.overlap;
    }

    /// Returns the count without a part of the time.
    pub(crate) fn without(&self, part: &Self) -> Self {
        Self {
            count: self.count - part.count,
            live: self.live - part.live,
            overlap: self.overlap - part.overlap,
        }
    }

    /// Returns the factor that scales the count; `None` if the channels do not overlap.
    fn scale(&self) -> Option<f64> {
        (self.overlap > 0.0).then(|| self.live / self.overlap)
    }
}

impl Shift {
    pub fn new(
        counts: u32,
        shift: Option<&Duration>,
        (rule, window): (Rule, i64),
        tick: Tick,
    ) -> Result<Self, Error> {
        if counts == 0 {
            return Err(RequestError::options(
                &["accidentals"],
                "`accidentals` shifted:K wants at least one count".into(),
            )
            .into());
        }
        if counts > SHIFTS_MAX {
            return Err(RequestError::options(&["accidentals"], format!(
                "`accidentals` shifted:{counts}: at most {SHIFTS_MAX} counts are made, which leave no error \
                 but that of the singles; try shifted:100"
            )).into());
        }
        let full_width = rule.full_width(window);
        let (numerator, denominator) = if let Some(shift) = shift {
            shift.fraction(tick)?
        } else {
            let microsecond = "1us".parse::<Duration>()?.ceil(tick)?;
            (i128::from(microsecond).max(10 * full_width), 1)
        };
        if numerator < full_width.saturating_mul(denominator) {
            let asked = shift.map_or("", Duration::asked);
            return Err(RequestError::options(&["shift"], format!(
                "`shift` {asked} is shorter than the full width of the window, {}, so that true \
                 coincidences would count as accidentals; the smallest shift is {full_width}t, for \
                 pulsed light the next multiple of its period",
                crate::requests::header::in_ticks(full_width, tick)
            )).into());
        }
        Ok(Self { counts, numerator, denominator })
    }

    /// Returns the shift in ticks.
    pub(crate) fn ticks(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// Returns the longest shift.
    pub(crate) fn longest(self) -> i128 {
        self.each().map(|by| i128::from(by).abs()).max().unwrap_or(0)
    }

    /// Returns the number of scans for the accidentals of a group of this many channels.
    pub(crate) fn scans(self, channels: usize) -> u64 {
        let of_shift = match channels {
            2 => 1,
            3 => 4,
            _ => 0,
        };
        u64::from(self.counts) * of_shift
    }

    /// Iterates over the shifts: ±1, ±2, … times the shift, each rounded to whole ticks.
    fn each(self) -> impl Iterator<Item = i64> {
        (0..self.counts).filter_map(move |i| {
            let multiple = i128::from(i / 2 + 1) * if i % 2 == 0 { 1 } else { -1 };
            let doubled = 2 * multiple * self.numerator;
            // Half away from zero.
            let rounded = (doubled + doubled.signum() * self.denominator) / (2 * self.denominator);
            i64::try_from(rounded).ok()
        })
    }

    /// Returns the moves whose counts give the accidentals of a group of this many channels: for a
    /// pair, its second channel; for three, all apart, then each alone, shift by shift. Empty for
    /// larger groups.
    fn moves(self, channels: usize) -> Vec<Vec<i64>> {
        let of_shift = |by: i64| match channels {
            2 => vec![vec![0, by]],
            3 => {
                let apart = vec![by, 0, by.saturating_neg()];
                vec![apart, vec![by, 0, 0], vec![0, by, 0], vec![0, 0, by]]
            }
            _ => Vec::new(),
        };
        self.each().flat_map(of_shift).collect()
    }

    /// Returns the counts of the group of `channels` for each of these moves, obtained from `ask`.
    pub(crate) fn counts_by(
        self,
        facts: &Facts,
        query: &Query,
        channels: &[u16],
        ask: &dyn Fn(&Query) -> Result<u64, tagq_query::Error>,
    ) -> Result<Vec<Moved>, tagq_query::Error> {
        let count = |moves: &Vec<i64>| {
            let delays: Vec<i64> = channels.iter().map(|&c| query.scope.delay_of(c)).collect();
            let moved = delays.iter().zip(moves).map(|(delay, moved)| delay.saturating_add(*moved));
            let moved: Vec<i64> = moved.collect();
            let range = query.scope.range;
            let shared = |moves: &[i64]| -> f64 {
                let near = |live: &LiveTime| {
                    let (&[a, b], window) = (moves, query.pair_window()?) else { return None };
                    let near = live.ticks_near([a, b], window, range)?;
                    Some(near as f64 / (2.0 * window as f64 + 1.0))
                };
                let of = |live: &LiveTime| {
                    near(live).unwrap_or_else(|| live.overlap(moves, range) as f64)
                };
                facts.iter().map(|source| of(source.live())).sum()
            };
            let (live, overlap) = (shared(&delays), shared(&moved));
            if overlap <= 0.0 {
                return Ok(Moved { count: 0.0, live, overlap });
            }
            let mut scope = query.scope.clone();
            scope.delays.clear();
            let own = channels.iter().zip(moved);
            scope.delays.extend(own.map(|(&channel, ticks)| Delay { channel, ticks }));
            let others = query.scope.delays.iter();
            scope.delays.extend(others.filter(|d| !channels.contains(&d.channel)));
            let groups = Groups::Listed(vec![channels.to_vec()]);
            let query = Query { groups, scope, ..query.clone() };
            Ok(Moved { count: ask(&query)? as f64, live, overlap })
        };
        self.moves(channels.len()).iter().map(count).collect()
    }
}

/// Returns the accidentals of a group of this many channels: for a pair, the mean of its counts; for
/// three, the counts with one channel moved alone, minus those with all apart, which each of the former
/// includes.
pub(crate) fn found(channels: usize, moved: &[Moved]) -> ShiftedAccidentals {
    match channels {
        2 => of_pair(moved),
        3 => {
            ShiftedAccidentals { shifted: of_three(moved).unwrap_or(Shifted::Nowhere), note: None }
        }
        _ => ShiftedAccidentals { shifted: Shifted::Nowhere, note: None },
    }
}

/// Returns the Poisson variance of counts, each multiplied by its weight and scaled; at least that of
/// one count.
fn poisson(counts: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut variance, mut least) = (0.0, f64::INFINITY);
    for (count, scale) in counts {
        variance += count * scale * scale;
        least = f64::min(least, scale * scale);
    }
    if least.is_finite() { variance.max(least) } else { variance }
}

fn of_three(moved: &[Moved]) -> Option<Shifted> {
    let (mut value, mut terms) = (0.0, Vec::new());
    let mut counts = 0.0;
    for of_shift in moved.chunks_exact(4) {
        // If all channels overlap when moved apart, they also overlap with one moved alone.
        let Some(apart) = of_shift[0].scale() else { continue };
        value -= 2.0 * apart * of_shift[0].count;
        terms.push((of_shift[0].count, 2.0 * apart));
        for alone in &of_shift[1..] {
            let scale = alone.scale().unwrap_or(0.0);
            value += scale * alone.count;
            terms.push((alone.count, scale));
        }
        counts += 1.0;
    }
    if counts == 0.0 {
        return None;
    }
    let is_empty = terms.iter().all(|&(count, _)| count == 0.0);
    let err = poisson(terms.into_iter()).sqrt() / counts;
    let mean = Measured { value: value / counts, err };
    Some(Shifted::Counted { mean, exposures: None, is_empty })
}

/// Returns the mean of the counts, its error, and whether they scatter more than those of a steady
/// source; no value if the channels never overlap.
fn of_pair(moved: &[Moved]) -> ShiftedAccidentals {
    let moved: Vec<(f64, f64)> =
        moved.iter().filter_map(|moved| Some((moved.count, moved.scale()?))).collect();
    if moved.is_empty() {
        return ShiftedAccidentals { shifted: Shifted::Nowhere, note: None };
    }
    let counts = moved.len() as f64;
    let value = moved.iter().map(|(count, scale)| count * scale).sum::<f64>() / counts;
    let err = poisson(moved.iter().copied()).sqrt() / counts;
    let sum: f64 = moved.iter().map(|(count, _)| count).sum();
    let plain = sum / counts;
    let scatter: f64 =
        moved.iter().map(|(count, _)| (count - plain).powi(2) / plain.max(1.0)).sum();
    let free = counts - 1.0;
    let is_steady = scatter <= free + SCATTER * (2.0 * free).sqrt();
    let note = (!is_steady).then(|| {
        "the counts with a channel moved scatter more than those of a steady source: it is slowly correlated, or it is \
         pulsed, and `shift` is not its period, or the window ends in a pulse"
            .to_owned()
    });
    let exposures = moved.iter().map(|(_, scale)| 1.0 / scale).sum();
    let shifted = Shifted::Counted {
        mean: Measured { value, err },
        exposures: Some(exposures),
        is_empty: sum == 0.0,
    };
    ShiftedAccidentals { shifted, note }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_multiples_rounded_one_by_one() {
        let shift = Shift { counts: 5, numerator: 25, denominator: 2 };
        assert_eq!(shift.each().collect::<Vec<_>>(), [13, -13, 25, -25, 38]);
        let least = Shift::new(10, None, (Rule::All, 12), Tick::DEFAULT).unwrap();
        // 1 µs is 6,400 ticks; ten full widths of 1,001 ticks are more.
        assert_eq!((least.numerator, least.each().count()), (6_400, 10));
        let wide = Shift::new(1, None, (Rule::All, 500), Tick::DEFAULT).unwrap();
        assert_eq!((wide.numerator, wide.denominator), (10_010, 1));
        assert!(Shift::new(0, None, (Rule::All, 1), Tick::DEFAULT).is_err());
        assert!(Shift::new(SHIFTS_MAX + 1, None, (Rule::All, 1), Tick::DEFAULT).is_err());
        assert_eq!([2, 3, 4].map(|channels| least.scans(channels)), [10, 40, 0]);
        let shifted = |text: &str, rule| {
            Shift::new(1, Some(&text.parse().unwrap()), (rule, 12), Tick::DEFAULT)
        };
        assert!(shifted("-1ns", Rule::All).is_err() && shifted("0t", Rule::All).is_err());
        // 2·12 + 1 ticks.
        let refused = shifted("24t", Rule::All).unwrap_err().to_string();
        assert!(refused.contains("the smallest shift is 25t"), "{refused}");
        assert!(shifted("25t", Rule::All).is_ok());
        assert!(shifted("11t", Rule::Grid).is_err() && shifted("12t", Rule::Grid).is_ok());
    }

    fn moved(counts: &[f64]) -> Vec<Moved> {
        counts.iter().map(|&count| Moved { count, live: 1.0, overlap: 1.0 }).collect()
    }

    #[test]
    fn counts_that_scatter_are_noted() {
        let steady = of_pair(&moved(&[100.0, 108.0, 93.0, 99.0]));
        let mean = Measured { value: 100.0, err: 5.0 };
        let exposures = Some(4.0);
        assert_eq!(steady.shifted, Shifted::Counted { mean, exposures, is_empty: false });
        assert!(steady.note.is_none());
        assert!(of_pair(&moved(&[100.0, 0.0, 200.0, 0.0])).note.is_some());
    }

    #[test]
    fn no_count_at_all_is_less_than_one_in_all_counts() {
        let mean = Measured { value: 0.0, err: 0.1 };
        let exposures = Some(10.0);
        let empty = of_pair(&moved(&[0.0; 10])).shifted;
        assert_eq!(empty, Shifted::Counted { mean, exposures, is_empty: true });
        assert_eq!(of_pair(&[]).shifted, Shifted::Nowhere);
    }
}
