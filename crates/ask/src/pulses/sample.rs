//! Differences of two channels in short places of a run.
//!
//! A run of 1,000,000 rows is sampled in its first 524,288, and in the same ones until it has 1,048,576: an answer
//! about a growing run does not change with each new tag. Tags are left out by a hash of their rows, so that equal rows
//! give equal samples.

use std::{f64::consts::PI, ops::Range};

use tagq_query::{Recording, Source};
use tagq_store::{LabelReader, TimeReader};

/// Number of places in the run that are sampled; fewer if differences are long.
const PLACES: usize = 64;
/// Partners per tag. If more are within reach, tags are discarded at random.
const PARTNERS: f64 = 4.0;
/// Maximum number of differences per tag of a place: a burst of light is thinned further.
const PAIRS: usize = 16;
/// Rows that are read per tag: others may have other channels.
const ROWS: usize = 8;
/// From this distance of rows on, times are read one by one.
const FAR: usize = 256;

/// How many tags are read for each length of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Takes milliseconds, as a part of a query.
    Small,
    /// For a search that itself takes longer.
    Full,
}

/// The half of the places that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Even,
    Odd,
    Both,
}

/// Differences t_b − t_a, each up to a reach in ticks; for a single channel, the later minus the
/// earlier.
#[derive(Debug)]
pub(super) struct Sample {
    differences: Vec<i64>,
    reach: i64,
}

impl Sample {
    pub(super) fn take(
        recording: &Recording<'_>,
        channels: [u16; 2],
        reach: i64,
        half: Half,
        effort: Effort,
    ) -> Self {
        // Tags of all places together.
        let tags: usize = match effort {
            Effort::Small => 1 << 15,
            Effort::Full => 1 << 17,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let differences = Vec::with_capacity(tags * PARTNERS as usize);
        let mut sample = Self { differences, reach };
        // A growing run keeps its sample until its size has doubled.
        let rows = 1 << recording.rows().max(1).ilog2();
        let spans = recording.sources.iter().filter_map(|source| source.span());
        let live: f64 = spans.map(|(first, last)| last as f64 - first as f64).sum();
        // Each of the two halves needs a place, and a place holds the longest difference twice.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few")]
        let places = ((live / (2.0 * reach as f64)) as usize).clamp(2, PLACES);
        let place_rows = (rows / places).max(1);
        let mut before: usize = 0;
        for source in &recording.sources {
            let len = source.tags.len().min(rows - before);
            // Places that start in this source.
            for place in before.div_ceil(place_rows)..(before + len).div_ceil(place_rows) {
                let is_taken = match half {
                    Half::Even => place % 2 == 0,
                    Half::Odd => place % 2 == 1,
                    Half::Both => true,
                };
                if is_taken {
                    let from = place * place_rows - before;
                    let to = (from + place_rows).min(len);
                    sample.take_place(source, channels, from..to, tags / places);
                }
            }
            before += len;
        }
        sample
    }

    pub(super) fn joined(&self, other: &Self) -> Self {
        let differences = [&self.differences[..], &other.differences[..]].concat();
        Self { differences, reach: self.reach }
    }

    pub(super) fn differences(&self) -> &[i64] {
        &self.differences
    }

    /// Iterates over the differences and their weights; a weight and its first derivative vanish at
    /// zero and at the reach.
    pub(super) fn weighted(&self) -> impl Iterator<Item = (i64, f64)> {
        let reach = self.reach as f64;
        self.differences
            .iter()
            .map(move |&difference| (difference, libm::sin(PI * difference as f64 / reach).powi(2)))
    }

    /// Returns the number of differences in each bin of `bin` ticks from −reach to reach.
    pub(super) fn histogram(&self, bin: i64) -> Vec<u32> {
        let bins = usize::try_from(2 * self.reach / bin).unwrap_or(0);
        let mut counts = vec![0; bins];
        for difference in &self.differences {
            let at = (difference + self.reach).div_euclid(bin);
            if let Some(count) = usize::try_from(at).ok().and_then(|at| counts.get_mut(at)) {
                *count += 1;
            }
        }
        counts
    }

    fn take_place(
        &mut self,
        source: &Source<'_>,
        [a, b]: [u16; 2],
        Range { start: from, end: to }: Range<usize>,
        most: usize,
    ) {
        let tags = source.tags;
        let mut labels = LabelReader::new(tags.channels);
        let mut start_of = |row: usize| {
            let label = labels.at(row);
            (label == a || label == b).then_some(label == a)
        };
        let probe = (from + most).min(to - 1);
        let mut times = TimeReader::new(tags.time);
        let span = times.at(probe).saturating_sub(times.at(from)).max(1);
        let share = (from..probe).filter(|&row| start_of(row).is_some()).count();
        let partners = share as f64 / span as f64 * self.reach as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small")]
        let mut step = ((partners / PARTNERS).ceil() as usize).clamp(1, ((to - from) / 64).max(1));
        let begun = self.differences.len();
        loop {
            let mut taken: Vec<SampledTag> = Vec::with_capacity(most);
            for turn in 0..ROWS * most {
                let row = from + turn * step;
                let row = row + scattered(row, step);
                if row >= to || taken.len() == most {
                    break;
                }
                if let Some(is_start) = start_of(row) {
                    // Rows between those that are read are not decoded.
                    let time = if step < FAR { times.at(row) } else { tags.time.at(row) };
                    taken.push(SampledTag { time, is_start });
                }
            }
            if self.take_pairs(&taken, a == b, begun + PAIRS * most) {
                return;
            }
            self.differences.truncate(begun);
            step *= 2;
        }
    }

    /// Adds all pairs of the tags; returns `false` if there are more than `most`.
    fn take_pairs(&mut self, taken: &[SampledTag], is_one: bool, most: usize) -> bool {
        for (at, &SampledTag { time, is_start }) in taken.iter().enumerate() {
            for later in &taken[at + 1..] {
                let difference = later.time.saturating_sub(time);
                if difference >= self.reach {
                    break;
                }
                if is_one || is_start && !later.is_start {
                    self.differences.push(difference);
                } else if !is_start && later.is_start {
                    self.differences.push(-difference);
                }
            }
            if self.differences.len() > most {
                return false;
            }
        }
        true
    }
}

/// A tag of a sample.
struct SampledTag {
    time: i64,
    /// Whether it is a start; else it is a stop.
    is_start: bool,
}

/// Returns a pseudo-random number below `step`: the row mixed with `SplitMix64`.
fn scattered(row: usize, step: usize) -> usize {
    if step == 1 {
        return 0;
    }
    let mixed = (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    #[expect(clippy::cast_possible_truncation, reason = "below step")]
    let below = ((mixed ^ (mixed >> 31)) % step as u64) as usize;
    below
}
