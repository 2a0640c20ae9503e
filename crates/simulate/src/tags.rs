//! The tags of a simulation, slab by slab.
//!
//! A key holds time and detector: 3·2^16 + 1 is detector 1 at 3 ticks after the batch began, and sorts after detector
//! 0 at that time. Batches of any length give the same tags.

use crate::check::check;
use crate::error::Error;
use crate::lane::Lane;
use crate::plan;
use crate::signal::Signal;
use crate::simulation::Simulation;
use tagq_store::Tag;

/// The number of tags in each slab but the last, which has 1 to as many.
pub const SLAB_TAGS: usize = 65_536;

/// Bits of a key that name the detector; the time since the batch began stands above them.
const DETECTOR_BITS: u32 = 16;
/// Leaves room above it for the longest jitter in the 48 bits of a key's time.
const BATCH_TICKS_MAX: f64 = (1_i64 << 46) as f64;

/// The tags of a [`Simulation`] in time order; at equal times in the order of the detectors, then clock and markers.
///
/// Memory is a few megabytes, plus about 100 bytes for each detection that jitter keeps in flight (rate times 12
/// standard deviations, refused beyond a million), however long the recording and the delays are.
#[derive(Clone, Debug)]
pub struct SimulatedTags {
    lanes: Vec<Lane>,
    signals: Vec<Signal>,
    outputs: Vec<Output>,
    end: i64,
    /// Ticks of a batch, so that it holds about a slab.
    batch_ticks: i64,
    /// The batch being given out: detections from tick `from` to before `until`.
    from: i64,
    until: i64,
    /// Sorted keys of the batch, then of detections after it.
    keys: Vec<u64>,
    /// The part of `keys` that is given out.
    given: usize,
    /// The part of `keys` that belongs to the batch.
    complete: usize,
    slab: Vec<Tag>,
}

/// The channel and the dead time of a detector, applied to its detections in time order; or the channel of a signal.
#[derive(Clone, Copy, Debug)]
struct Output {
    channel: u64,
    dead_time: i64,
    /// The first tick at which it can record again.
    ready: i64,
}

impl Simulation {
    /// Returns the tags of this simulation, from the first; each call gives the same ones.
    ///
    /// Making them costs 30 to 60 ns a tag on one core, and hardly depends on the time between them or on how many
    /// photons are lost.
    ///
    /// # Errors
    ///
    /// A number outside its range, a channel given twice, a number of detectors that the light cannot
    /// serve, more than 0.5 detections per tick on a detector, or a jitter or pulses so large that
    /// too many detections would have to be held in memory at once. Nothing fails once the tags are being made.
    pub fn tags(&self) -> Result<SimulatedTags, Error> {
        SimulatedTags::new(self)
    }
}

impl SimulatedTags {
    fn new(simulation: &Simulation) -> Result<SimulatedTags, Error> {
        let end = check(simulation)?;
        let lanes = plan::lanes(simulation, end)?;
        let signals = Signal::all(simulation, simulation.detectors.len());
        let of_signals = Signal::channels(simulation).into_iter().map(|(channel, _)| (channel, 0));
        let outputs = simulation.detectors.iter().map(|of| (of.channel, of.dead_time));
        let outputs = outputs
            .chain(of_signals)
            .map(|(channel, dead_time)| Output { channel, dead_time, ready: i64::MIN })
            .collect();
        Ok(SimulatedTags {
            batch_ticks: batch_ticks(&lanes, &signals),
            lanes,
            signals,
            outputs,
            end,
            from: simulation.start,
            until: simulation.start,
            keys: Vec::new(),
            given: 0,
            complete: 0,
            slab: Vec::with_capacity(SLAB_TAGS),
        })
    }

    /// The next [`SLAB_TAGS`] tags, or those that are left; `None` after the last.
    pub fn next_slab(&mut self) -> Option<&[Tag]> {
        self.slab.clear();
        while self.slab.len() < SLAB_TAGS && (self.given < self.complete || self.next_batch()) {
            self.give();
        }
        if self.slab.is_empty() { None } else { Some(&self.slab) }
    }

    /// Moves keys of the batch to the slab, through the dead time, until one is empty or the other full.
    fn give(&mut self) {
        for &key in &self.keys[self.given..self.complete] {
            if self.slab.len() == SLAB_TAGS {
                break;
            }
            self.given += 1;
            let (time, detector) = unpack(key);
            let time = self.from + time;
            let output = &mut self.outputs[detector];
            if time >= output.ready {
                output.ready = time.saturating_add(output.dead_time);
                self.slab.push(Tag { time, channel: output.channel });
            }
        }
    }

    /// Makes the detections of the next batch that may have any; false after the last.
    fn next_batch(&mut self) -> bool {
        self.keys.drain(..self.complete);
        (self.given, self.complete) = (0, 0);
        let mut from = self.until;
        if self.keys.is_empty() {
            // Nothing happens before the first lane's next detection: a rare event costs one batch,
            // however long it took.
            let signals = self.signals.iter().map(Signal::next);
            let earliest = self.lanes.iter().map(Lane::earliest).chain(signals).min();
            from = from.max(earliest.unwrap_or(self.end));
        }
        if from >= self.end {
            return false;
        }
        let passed = key(from - self.from, 0);
        for key in &mut self.keys {
            *key -= passed;
        }
        self.from = from;
        self.until = from.saturating_add(self.batch_ticks).min(self.end);
        for lane in &mut self.lanes {
            let (keys, detector) = (&mut self.keys, lane.detector);
            lane.detections(self.until, |tick| {
                // Light that was emitted in time for another detector may come before the recording.
                if tick >= from {
                    keys.push(key(tick - from, detector));
                }
            });
        }
        for signal in &mut self.signals {
            let (keys, output) = (&mut self.keys, signal.output);
            signal.before(self.until, |tick| keys.push(key(tick - from, output)));
        }
        self.sort();
        let end = key(self.until - from, 0);
        self.complete = self.keys.partition_point(|&key| key < end);
        true
    }

    #[expect(
        clippy::stable_sort_primitive,
        reason = "it merges sorted runs, which most lanes are: up to 40 % faster"
    )]
    fn sort(&mut self) {
        self.keys.sort();
    }
}

#[inline]
fn key(time: i64, detector: u16) -> u64 {
    (time.cast_unsigned() << DETECTOR_BITS) | u64::from(detector)
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low 16 bits are meant")]
fn unpack(key: u64) -> (i64, usize) {
    ((key >> DETECTOR_BITS).cast_signed(), usize::from(key as u16))
}

/// Returns the ticks of a batch: about a slab of detections, or several times the detections that jitter carries over
/// to the next batch, so that sorting those again costs little.
fn batch_ticks(lanes: &[Lane], signals: &[Signal]) -> i64 {
    let signals = signals.iter().map(|signal| signal.rate);
    let rate: f64 = lanes.iter().map(|lane| lane.rate).chain(signals).sum();
    let carry: f64 = lanes.iter().map(Lane::carry).sum();
    let ticks = (SLAB_TAGS as f64).max(4.0 * carry) / rate;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding is meant, and no lanes clamp like the slowest"
    )]
    let ticks = ticks.clamp(1.0, BATCH_TICKS_MAX) as i64;
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, Drift, Light};

    fn detector(channel: u64, delay: f64) -> Detector {
        Detector { channel, efficiency: 0.5, dark_rate: 0.001, jitter: 9.0, delay, dead_time: 20 }
    }

    fn pairs(delays: &[f64]) -> Simulation {
        Simulation {
            light: Light::Pairs { rate: 0.02, pulse_period: None, beam_splitter: false },
            detectors: (1..)
                .zip(delays)
                .map(|(channel, &delay)| detector(channel, delay))
                .collect(),
            drift: None,
            clock: None,
            start: -20_000,
            duration: 100_000,
            seed: 3,
        }
    }

    fn collect(mut tags: SimulatedTags) -> Vec<Tag> {
        let mut all = Vec::new();
        while let Some(slab) = tags.next_slab() {
            all.extend_from_slice(slab);
        }
        assert_eq!(tags.next_slab(), None);
        all
    }

    /// Batches of any length give the same tags: nothing is lost, doubled or disordered at a seam.
    #[test]
    fn seams_do_not_show() {
        let pulsed = Light::Pairs { rate: 0.02, pulse_period: Some(33.4), beam_splitter: true };
        let drift = Some(Drift { relative_amplitude: 0.7, period: 5_000.0 });
        for simulation in [
            pairs(&[0.0, 0.0]),
            pairs(&[-123.4, 5_000.25, 0.0, 0.5]),
            Simulation { light: pulsed, drift, ..pairs(&[7.5, -300.0, 300.0]) },
        ] {
            let tags = SimulatedTags::new(&simulation).unwrap();
            let expected = collect(tags.clone());
            assert!(expected.len() > 500);
            assert!(expected.is_sorted_by_key(|tag| tag.time));
            for batch_ticks in [1, 2, 7, 50, 999, 40_000] {
                assert_eq!(
                    collect(SimulatedTags { batch_ticks, ..tags.clone() }),
                    expected,
                    "{batch_ticks} ticks"
                );
            }
        }
    }

    /// Neither a delay nor a jitter far longer than a batch makes memory grow.
    #[test]
    fn memory_is_bounded() {
        let mut simulation = pairs(&[0.0, 1e6]);
        simulation.duration = 4_000_000;
        let mut tags = SimulatedTags::new(&simulation).unwrap();
        tags.batch_ticks = 1_000;
        let mut keys_max = 0;
        while tags.next_batch() {
            keys_max = keys_max.max(tags.keys.len());
        }
        // A batch and the reach of the jitter on both sides, 1,114 ticks at 0.022 per tick: 25, error 5.
        assert!((25..60).contains(&keys_max), "{keys_max}");

        // In flight: 0.022 * 12 * 1,000,000 = 264,000; the batch is 4 times as long.
        for detector in &mut simulation.detectors {
            detector.jitter = 1e6;
        }
        simulation.duration = 100_000_000;
        let mut tags = SimulatedTags::new(&simulation).unwrap();
        assert!(tags.next_batch());
        assert!(tags.keys.len() < 5 * 270_000, "{}", tags.keys.len());
        assert!(tags.complete > 250_000, "{}", tags.complete);
    }

    #[test]
    fn rare_detections_cost_one_batch_each() {
        let mut simulation = pairs(&[0.0, 0.0]);
        simulation.light =
            Light::Coherent { rate: 2e-17, pulse_period: Some(12.5), beam_splitter: false };
        for detector in &mut simulation.detectors {
            detector.dark_rate = 1e-17;
        }
        simulation.duration = 4_000_000_000_000_000_000;
        // 4e18 ticks at 2 * (1e-17 + 1e-17): 160 tags, error 13. At 2^46 ticks a batch: 57,000 batches if none is
        // skipped.
        let mut tags = SimulatedTags::new(&simulation).unwrap();
        let mut batches = 0;
        while tags.next_batch() {
            batches += 1;
        }
        assert!((97..223).contains(&batches), "{batches}");
        let count = collect(SimulatedTags::new(&simulation).unwrap()).len();
        assert!((97..223).contains(&count), "{count}");
    }
}
