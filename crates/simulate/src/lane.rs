//! From light to detections: delay, jitter, rounding to ticks.
//!
//! An event at 10.5, a delay of 2.25, no jitter: the detection is at tick 12. No detection is further than `reach`
//! from its event plus the delay, so a lane knows when all its detections before a tick were made.

use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::moment::{self, Moment};
use crate::process::Process;

/// Jitter is redrawn beyond this many standard deviations.
const JITTER_SIGMAS: f64 = 6.0;
/// The time to a photon is redrawn beyond this many lifetimes.
const LIFETIMES: f64 = 40.0;

/// The detections of one process at one detector.
///
/// A process that two detectors see has two lanes, each with its own copy of the process: each keeps up
/// with its own detector, and nothing is stored for the delay between them.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// Detections per tick, for the plan; the process has its own.
    pub(crate) rate: f64,
    /// Index of the detector.
    pub(crate) detector: u16,
    process: Process,
    /// The next event of the process.
    next: Moment,
    response: Response,
    jitter_rng: Xoshiro256PlusPlus,
}

/// How a detector moves detections in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response {
    pub(crate) delay: Moment,
    pub(crate) jitter: f64,
    /// Mean time from an event to its photon.
    lifetime: f64,
    /// No detection is farther than this many ticks from its event plus `delay.tick`.
    pub(crate) reach: i64,
}

impl Response {
    pub(crate) const NONE: Response =
        Response { delay: Moment { tick: 0, fraction: 0.0 }, jitter: 0.0, lifetime: 0.0, reach: 1 };

    pub(crate) fn new(delay: f64, jitter: f64, lifetime: f64) -> Response {
        // One tick more for the fractions of the event and of the delay, one for rounding.
        Response {
            delay: Moment::new(delay),
            jitter,
            lifetime,
            reach: moment::floor(JITTER_SIGMAS * jitter + LIFETIMES * lifetime) + 3,
        }
    }

    #[inline]
    fn tick(self, event: Moment, rng: &mut Xoshiro256PlusPlus) -> i64 {
        let mut fraction = event.fraction + self.delay.fraction;
        if self.jitter > 0.0 {
            fraction += self.jitter * normal(rng);
        }
        if self.lifetime > 0.0 {
            fraction += self.lifetime * exponential(rng);
        }
        // No overflow: the plan has checked that events plus delay and reach fit.
        event.tick + self.delay.tick + moment::floor(fraction)
    }
}

impl Lane {
    pub(crate) fn new(
        rate: f64,
        detector: u16,
        mut process: Process,
        response: Response,
        jitter_rng: Xoshiro256PlusPlus,
    ) -> Lane {
        let next = process.next();
        Lane { rate, detector, process, next, response, jitter_rng }
    }

    /// A tick before which no further detection of this lane lies.
    pub(crate) fn earliest(&self) -> i64 {
        self.next.tick.saturating_add(self.response.delay.tick).saturating_sub(self.response.reach)
    }

    /// Calls `detect` with the ticks of further detections, until none before tick `until` can follow. Some
    /// are later than that, by at most twice the reach.
    #[inline]
    pub(crate) fn detections(&mut self, until: i64, mut detect: impl FnMut(i64)) {
        let last_event =
            until.saturating_sub(self.response.delay.tick).saturating_add(self.response.reach);
        while self.next.tick < last_event {
            detect(self.response.tick(self.next, &mut self.jitter_rng));
            self.next = self.process.next();
        }
    }

    /// Mean number of detections that are made before their time because of jitter.
    pub(crate) fn carry(&self) -> f64 {
        2.0 * self.rate * self.response.reach as f64
    }
}

/// Returns a time in lifetimes.
#[inline]
fn exponential(rng: &mut Xoshiro256PlusPlus) -> f64 {
    loop {
        let sample: f64 = Exp1.sample(rng);
        if sample <= LIFETIMES {
            return sample;
        }
    }
}

#[inline]
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    loop {
        let sample: f64 = StandardNormal.sample(rng);
        if sample.abs() <= JITTER_SIGMAS {
            return sample;
        }
    }
}
