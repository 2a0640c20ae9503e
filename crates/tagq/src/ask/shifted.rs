//! Accidentals measured: counts with channels moved by more than any correlation is long.

use tagq_query::{
    Coincidences as Query, Delay, Execution, GroupCount, Groups, Measured, Recording, TimeRange,
};
use tagq_store::{Duration, Tick};

use crate::{Error, cache::Kept};

/// Standard deviations of the scatter of a steady source beyond which a warning is due.
const SCATTER: f64 = 5.0;

/// By how much channels are moved, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shift {
    counts: u32,
    /// Ticks as a fraction: a pulsed source's period need not be whole.
    numerator: i128,
    denominator: i128,
}

/// Accidentals, and what a person should know of them.
pub(crate) struct Found {
    pub accidentals: Measured,
    pub note: Option<String>,
}

/// A count with channels moved, and the live time in which they overlap.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    count: f64,
    /// Live ticks, and those of them in which the channels, moved so, overlap.
    live: f64,
    overlap: f64,
}

impl Moved {
    /// Adds the same of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.live += other.live;
        self.overlap += other.overlap;
    }

    /// What it stands for; nothing where the channels do not overlap.
    fn scaled(&self) -> Option<f64> {
        (self.overlap > 0.0).then(|| self.count * self.live / self.overlap)
    }
}

/// Live ticks, and those in which the channels, moved so, overlap.
fn overlap(recording: &Recording<'_>, range: TimeRange, moves: &[i64]) -> (f64, f64) {
    let (mut live, mut overlap) = (0.0, 0.0);
    for source in &recording.sources {
        let Some((first, last)) = source.span() else { continue };
        live += range.live_of(source) as f64;
        let latest = moves.iter().copied().max().unwrap_or(0).max(0);
        let earliest = moves.iter().copied().min().unwrap_or(0).min(0);
        // Every tag was recorded between the first and the last, and the latest lies in the range.
        let from =
            (i128::from(first) + i128::from(latest)).max(range.from.map_or(i128::MIN, i128::from));
        let to =
            (i128::from(last) + i128::from(earliest)).min(range.to.map_or(i128::MAX, i128::from));
        overlap += (to - from).max(0) as f64;
    }
    (live, overlap)
}

impl Shift {
    pub(crate) fn new(
        counts: u32,
        shift: Option<&Duration>,
        window: i64,
        tick: Tick,
    ) -> Result<Self, Error> {
        if counts == 0 {
            return Err(Error::Question("--accidentals shifted:K wants at least one count".into()));
        }
        let (numerator, denominator) = if let Some(shift) = shift {
            shift.fraction(tick)?
        } else {
            let microsecond = "1us".parse::<Duration>()?.ceil(tick)?;
            (i128::from(microsecond).max(10 * (2 * i128::from(window) + 1)), 1)
        };
        if numerator <= 0 {
            return Err(Error::Question("--shift 0 moves nothing; give a longer time".into()));
        }
        Ok(Self { counts, numerator, denominator })
    }

    /// The shift in ticks.
    pub(crate) fn ticks(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The shifts: ±1, ±2, … times the shift, each rounded to whole ticks.
    fn each(self) -> impl Iterator<Item = i64> {
        (0..self.counts).filter_map(move |i| {
            let multiple = i128::from(i / 2 + 1) * if i % 2 == 0 { 1 } else { -1 };
            let doubled = 2 * multiple * self.numerator;
            // Half away from zero.
            let rounded = (doubled + doubled.signum() * self.denominator) / (2 * self.denominator);
            i64::try_from(rounded).ok()
        })
    }

    /// The moves whose counts give the accidentals of a group of so many channels: of a pair its second
    /// channel; of three all apart, then each alone, shift by shift. None for more.
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

    /// The counts of a group with its channels moved, one for each of the moves.
    pub(crate) fn counts(
        self,
        recording: &Recording<'_>,
        query: &Query,
        row: &GroupCount,
        kept: &Kept<'_>,
    ) -> Result<Vec<Moved>, tagq_query::Error> {
        self.counts_by(recording, query, &row.channels, &|query| {
            let counted = kept.answer(query, recording, &Execution::best())?;
            Ok(counted.rows[0].count)
        })
    }

    /// The same for the group of `channels`, each count as `ask` gives it.
    pub(crate) fn counts_by(
        self,
        recording: &Recording<'_>,
        query: &Query,
        channels: &[u16],
        ask: &dyn Fn(&Query) -> Result<u64, tagq_query::Error>,
    ) -> Result<Vec<Moved>, tagq_query::Error> {
        let count = |moves: &Vec<i64>| {
            let (live, overlap) = overlap(recording, query.scope.range, moves);
            if overlap <= 0.0 {
                return Ok(Moved { count: 0.0, live, overlap });
            }
            let mut scope = query.scope.clone();
            scope.delays.clear();
            for (&channel, &moved) in channels.iter().zip(moves) {
                let ticks = query.scope.delay_of(channel).saturating_add(moved);
                scope.delays.push(Delay { channel, ticks });
            }
            let others = query.scope.delays.iter();
            scope.delays.extend(others.filter(|d| !channels.contains(&d.channel)));
            let groups = Groups::Listed(vec![channels.to_vec()]);
            let query = Query { groups, scope, ..query.clone() };
            Ok(Moved { count: ask(&query)? as f64, live, overlap })
        };
        self.moves(channels.len()).iter().map(count).collect()
    }
}

/// The accidentals of a group of so many channels: of a pair the mean of its counts; of three those
/// with one moved alone, less those where all are apart, which every one of these holds.
pub(crate) fn found(channels: usize, moved: &[Moved]) -> Option<Found> {
    match channels {
        2 => mean(moved),
        3 => {
            let (mut value, mut variance, mut counts) = (0.0, 0.0, 0.0);
            for of_shift in moved.chunks_exact(4) {
                // Where all overlap moved apart, they do with one moved alone.
                let Some(apart) = of_shift[0].scaled() else { continue };
                value -= 2.0 * apart;
                variance += 4.0 * of_shift[0].count;
                for alone in &of_shift[1..] {
                    value += alone.scaled().unwrap_or(0.0);
                    variance += alone.count;
                }
                counts += 1.0;
            }
            if counts == 0.0 {
                return None;
            }
            let accidentals = Measured { value: value / counts, err: variance.sqrt() / counts };
            Some(Found { accidentals, note: None })
        }
        _ => None,
    }
}

/// The mean of counts, its error, and whether they scatter more than those of a steady source; nothing
/// where the channels never overlap.
fn mean(moved: &[Moved]) -> Option<Found> {
    let moved: Vec<(f64, f64)> =
        moved.iter().filter_map(|moved| Some((moved.count, moved.scaled()?))).collect();
    if moved.is_empty() {
        return None;
    }
    let counts = moved.len() as f64;
    let value = moved.iter().map(|(_, scaled)| scaled).sum::<f64>() / counts;
    let sum: f64 = moved.iter().map(|(count, _)| count).sum();
    let (err, plain) = (sum.sqrt() / counts, sum / counts);
    let scatter: f64 =
        moved.iter().map(|(count, _)| (count - plain).powi(2) / plain.max(1.0)).sum();
    let free = counts - 1.0;
    let is_steady = scatter <= free + SCATTER * (2.0 * free).sqrt();
    let note = (!is_steady).then(|| {
        "the counts with a channel moved scatter more than those of a steady source: is it pulsed, or \
         slowly correlated? Give its period with --shift"
            .to_owned()
    });
    Some(Found { accidentals: Measured { value, err }, note })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shifts_are_multiples_rounded_one_by_one() {
        let shift = Shift { counts: 5, numerator: 25, denominator: 2 };
        assert_eq!(shift.each().collect::<Vec<_>>(), [13, -13, 25, -25, 38]);
        let least = Shift::new(10, None, 12, Tick::DEFAULT).unwrap();
        // 1 µs is 6,400 ticks; ten full widths of 1,001 ticks are more.
        assert_eq!((least.numerator, least.each().count()), (6_400, 10));
        let wide = Shift::new(1, None, 500, Tick::DEFAULT).unwrap();
        assert_eq!((wide.numerator, wide.denominator), (10_010, 1));
        assert!(Shift::new(0, None, 1, Tick::DEFAULT).is_err());
        assert!(Shift::new(1, Some(&"-1ns".parse().unwrap()), 1, Tick::DEFAULT).is_err());
    }

    #[test]
    fn counts_that_scatter_are_noted() {
        let moved = |counts: &[f64]| {
            let moved = counts.iter().map(|&count| Moved { count, live: 1.0, overlap: 1.0 });
            mean(&moved.collect::<Vec<_>>()).unwrap()
        };
        let steady = moved(&[100.0, 108.0, 93.0, 99.0]);
        assert_eq!((steady.accidentals.value, steady.accidentals.err), (100.0, 5.0));
        assert!(steady.note.is_none());
        assert!(moved(&[100.0, 0.0, 200.0, 0.0]).note.is_some());
    }
}
