//! Light whose rates change together, from a bounded sample of the tags.
//!
//! Accidentals by formula have the product of mean rates. Where the rates of two channels rise and fall together, the
//! mean of their product is larger. It is measured in bins, which lie in short places all over the run:
//!
//! ```text
//! for bins from short ones to whole places:
//!     Σ (a_i − ā)·(b_j − b̄) over bins i and j that are two apart, in both orders
//!     against its standard deviation for independent channels
//! ```
//!
//! True pairs, afterpulses and dead times are shorter than a bin, so that bins two apart have none in common.

use rayon::prelude::*;
use tagq_query::{Recording, Source, TimeRange};
use tagq_run::Run;
use tagq_store::{LabelReader, TimeReader};

/// Places that are sampled.
const PLACES: usize = 128;
/// Tags of all channels in a place, on average.
const ROWS: usize = 1 << 10;
/// Places with more tags than on average by this factor are thinned.
const CROWDED: usize = 16;
/// Bins in a place, as a number of bins and as a factor of ticks.
const BINS: usize = 64;
const PLACE_BINS: i64 = 64;
/// Numbers of bins that are added up to a wider one.
const WIDER: [usize; 3] = [1, 8, BINS];
/// Covariances above this many standard deviations are not due to chance …
const SIGMAS: f64 = 6.0;
/// … if products of counts have about a normal distribution: if so many are expected.
const PRODUCTS: f64 = 25.0;
/// The shortest bin, in seconds and in full widths of the window.
const SHORTEST_S: f64 = 1e-6;
const SHORTEST_WIDTHS: f64 = 10.0;

/// Advises on formula accidentals if the rates of two channels change together in `range` and the share of pairs by
/// chance that the formula misses `matters`; returns `None` if they do not.
///
/// Reads a bounded sample of the run.
pub(crate) fn note(
    run: &Run,
    channels: [u16; 2],
    full_width: i128,
    range: TimeRange,
    matters: impl Fn(f64) -> bool,
) -> Option<String> {
    let tick = run.store().manifest().tick;
    let shortest = (SHORTEST_S / tick.seconds()).max(SHORTEST_WIDTHS * full_width as f64);
    let find = || run.count(|recording| Ok(excess(recording, channels, range, shortest)));
    let arguments = (channels, range.from, range.to, shortest);
    let found = run.memo().get(&arguments, || find().map(Excess)).ok().and_then(|found| found.0);
    let excess = found.filter(|&excess| matters(excess.abs()))?;
    Some(format!(
        "the light is not steady: there are about {:.1} % {} pairs by chance than accidentals by formula, which \
         are those of steady light; measure them with `accidentals` shifted",
        100.0 * excess.abs(),
        if excess > 0.0 { "more" } else { "fewer" },
    ))
}

/// The result of [`excess`].
#[derive(Debug, Clone, Copy)]
struct Excess(Option<f64>);

/// Returns the pairs by chance of two channels beyond those of steady light, as a share of these; `None` if they may be
/// due to chance.
fn excess(
    recording: &Recording<'_>,
    channels: [u16; 2],
    range: TimeRange,
    shortest: f64,
) -> Option<f64> {
    let (starts, bin) = starts(recording, range, shortest)?;
    let place = |&(source, start): &(usize, i64)| {
        Place::of(recording.sources.get(source)?, channels, start, bin).map(|place| (source, place))
    };
    let places: Vec<(usize, Place)> = starts.par_iter().filter_map(place).collect();
    let of_source = places.chunk_by(|(a, _), (b, _)| a == b);
    let sources: Vec<Deviations> = of_source.map(Deviations::of).collect();
    // Short bins show all that longer ones do, and those show less of it.
    let long_enough = WIDER.iter().filter(|&&wider| (wider as f64) * bin as f64 >= shortest);
    let mut found = long_enough.filter_map(|&wider| {
        let mut sum = Sum::default();
        for source in &sources {
            source.add(wider, &mut sum);
        }
        sum.excess()
    });
    found.next()
}

/// Returns the number of the source and the first tick of each place, and the ticks of a bin.
fn starts(
    recording: &Recording<'_>,
    range: TimeRange,
    shortest: f64,
) -> Option<(Vec<(usize, i64)>, i64)> {
    let selected = |(number, source): (usize, &Source<'_>)| {
        let (first, last) = source.span()?;
        let from = range.from.map_or(first, |from| from.max(first));
        let to = range.to.map_or(last, |to| to.min(last));
        (from < to).then_some((number, from, to))
    };
    let selected: Vec<(usize, i64, i64)> =
        recording.sources.iter().enumerate().filter_map(selected).collect();
    let ticks = |from: i64, to: i64| to as f64 - from as f64;
    let length: f64 = selected.iter().map(|&(_, from, to)| ticks(from, to)).sum();
    let spans = recording.sources.iter().filter_map(|source| source.span());
    let recorded: f64 = spans.map(|(first, last)| ticks(first, last)).sum();
    // A place has the average number of tags, but no more than its share of the time.
    let share = length / PLACES as f64;
    let average = recorded * ROWS as f64 / recording.rows().max(1) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "a part of the run")]
    let bin = (average.max(shortest).min(share) / BINS as f64) as i64;
    if bin < 1 || share < shortest {
        return None;
    }
    let place = bin * PLACE_BINS;
    let mut starts = Vec::with_capacity(PLACES);
    let mut before = 0.0;
    for (number, from, to) in selected {
        let own = ticks(from, to);
        // Those whose middle is in this source.
        let is_own = |middle: &f64| (before..before + own).contains(middle);
        let middles = (0..PLACES).map(|at| (at as f64 + 0.5) * share).filter(is_own);
        #[expect(clippy::cast_possible_truncation, reason = "within the source")]
        let start = |middle: f64| from.saturating_add((middle - before) as i64 - place / 2);
        let last = to.saturating_sub(place);
        starts.extend(middles.map(|middle| (number, start(middle).clamp(from, last.max(from)))));
        before += own;
    }
    Some((starts, bin))
}

/// The tags of both channels in the bins of a place.
struct Place([[f64; 2]; BINS]);

impl Place {
    /// Returns `None` if the instrument did not record all of it.
    fn of(source: &Source<'_>, channels: [u16; 2], start: i64, bin: i64) -> Option<Self> {
        let end = start.checked_add(bin * PLACE_BINS)?;
        let taken = TimeRange { from: Some(start), to: Some(end) };
        if source.live().ticks_in(taken) < end - start {
            return None;
        }
        let tags = source.tags;
        let rows = source.rows_in(taken);
        let step = rows.len() / (CROWDED * ROWS) + 1;
        let mut counts = [[0.0; 2]; BINS];
        let (mut times, mut labels) = (TimeReader::new(tags.time), LabelReader::new(tags.channels));
        // The bin of the last tag, and its end.
        let (mut at, mut bin_end) = (0, start + bin);
        for row in rows.step_by(step) {
            let label = labels.at(row);
            let Some(of) = channels.iter().position(|&channel| channel == label) else { continue };
            let time = times.at(row);
            // Damaged times, which may be out of order, stay in the bin before.
            while time >= bin_end && at + 1 < BINS {
                at += 1;
                bin_end += bin;
            }
            counts[at][of] += step as f64;
        }
        Some(Self(counts))
    }
}

/// The places of one source, each count less the mean of its channel.
struct Deviations {
    places: Vec<Place>,
    /// Means of a bin.
    means: [f64; 2],
}

impl Deviations {
    fn of(places: &[(usize, Place)]) -> Self {
        let bins = || places.iter().flat_map(|(_, place)| &place.0);
        let number = bins().count().max(1) as f64;
        let means = [0, 1].map(|of| bins().map(|bin| bin[of]).sum::<f64>() / number);
        let less = |bin: [f64; 2]| [bin[0] - means[0], bin[1] - means[1]];
        let places = places.iter().map(|(_, place)| Place(place.0.map(less))).collect();
        Self { places, means }
    }

    /// Adds the products of bins that are two apart, each as wide as `wider` bins of a place.
    fn add(&self, wider: usize, sum: &mut Sum) {
        let expected = self.means[0] * self.means[1] * (wider as f64).powi(2);
        let total = |bins: &[[f64; 2]]| [0, 1].map(|of| bins.iter().map(|bin| bin[of]).sum());
        let within = |place: &Place| place.0.chunks(wider).map(total).collect();
        let within: Vec<Vec<[f64; 2]>> = self.places.iter().map(within).collect();
        // Places follow each other like bins.
        let series = if wider == BINS { vec![within.concat()] } else { within };
        for bins in &series {
            for (one, other) in bins.iter().zip(bins.iter().skip(2)) {
                sum.add(one[0] * other[1], expected);
                sum.add(one[1] * other[0], expected);
            }
        }
    }
}

/// Sums over products of deviations.
#[derive(Default)]
struct Sum {
    products: f64,
    squares: f64,
    /// The sum of products of the means; it is also the variance of `products` for independent channels.
    expected: f64,
}

impl Sum {
    fn add(&mut self, product: f64, expected: f64) {
        self.products += product;
        self.squares += product * product;
        self.expected += expected;
    }

    /// Returns the mean of the products in units of the product of means, if it is not due to chance.
    fn excess(&self) -> Option<f64> {
        // Fluctuations of one channel alone add to the variance.
        let sigmas = self.products.abs() / self.squares.max(self.expected).sqrt();
        (self.expected >= PRODUCTS && sigmas > SIGMAS).then_some(self.products / self.expected)
    }
}

#[cfg(test)]
mod tests {
    use tagq_store::{Channels, Tags};

    use super::*;

    /// 1 µs in ticks of 156.25 ps.
    const SHORTEST: f64 = 6_400.0;
    /// Ticks of 156.25 ps in 2 s.
    const LENGTH: f64 = 1.28e10;

    /// Returns 20,000 tags on average of each of two channels, with a rate that is `rate` of the time, at most 1, times
    /// the highest one; each has a partner on the other channel with this probability.
    fn light(seed: u64, pairs: f64, rate: impl Fn(f64) -> f64) -> Recording<'static> {
        let mut state = seed;
        let mut random = move || {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / 2_f64.powi(53)
        };
        let mut tags: Vec<(i64, u8)> = Vec::new();
        let mut time = 0.0;
        while time < LENGTH {
            time -= (1.0 - random()).ln() * LENGTH / 40_000.0;
            if random() < rate(time) {
                let channel = 1 + u8::from(random() < 0.5);
                #[expect(clippy::cast_possible_truncation, reason = "a time")]
                let tick = time as i64;
                tags.push((tick, channel));
                if random() < pairs {
                    tags.push((tick + 26, 3 - channel));
                }
            }
        }
        tags.sort_unstable();
        let (time, label): (Vec<i64>, Vec<u8>) = tags.into_iter().unzip();
        // The leak is acceptable because a test is short.
        Recording::from_tags(Tags {
            time: (&*time.leak()).into(),
            channels: Channels::U8((&*label.leak()).into()),
        })
    }

    fn found(recording: &Recording<'_>) -> Option<f64> {
        excess(recording, [1, 2], TimeRange::default(), SHORTEST)
    }

    #[test]
    fn steady_light_and_steady_pairs_are_steady() {
        for seed in 0..100 {
            for pairs in [0.0, 0.5, 1.0] {
                assert_eq!(found(&light(seed, pairs, |_| 1.0)), None, "{seed}, {pairs}");
            }
        }
    }

    #[test]
    fn light_that_blinks_or_drifts_has_the_excess_of_its_rates() {
        // Half of the time dark, in turns of 64 ms, and of 1 s: the mean square is twice the squared mean.
        let blinking =
            |period: f64| move |time: f64| f64::from(u8::from((time / period).fract() < 0.5));
        // Rates that rise from 0 to 1: 1/3 over 1/4.
        let rising = |time: f64| time / LENGTH;
        for seed in 0..10 {
            for (excess, tolerance, recording) in [
                (1.0, 0.2, light(seed, 0.0, blinking(LENGTH / 31.0))),
                (1.0, 0.2, light(seed, 0.0, blinking(LENGTH))),
                (1.0, 0.2, light(seed, 0.5, blinking(LENGTH / 2.0))),
                (1.0 / 3.0, 0.05, light(seed, 0.0, rising)),
            ] {
                let found = found(&recording);
                assert!(
                    found.is_some_and(|found| (found - excess).abs() < tolerance),
                    "{seed}: {found:?}"
                );
            }
        }
    }

    #[test]
    fn only_the_selection_counts() {
        // A fifth in the second half: 0.52 over 0.6².
        let recording = light(1, 0.0, |time| if time < LENGTH / 2.0 { 1.0 } else { 0.2 });
        let all = found(&recording);
        assert!(all.is_some_and(|found| (found - 0.444).abs() < 0.1), "{all:?}");
        #[expect(clippy::cast_possible_truncation, reason = "a time")]
        let range = TimeRange { from: None, to: Some((0.499 * LENGTH) as i64) };
        assert_eq!(excess(&recording, [1, 2], range, SHORTEST), None);
    }
}
