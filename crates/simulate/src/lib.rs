//! Simulated single-photon time tags: seeded, in time order, in bounded memory whatever the duration.
//!
//! A [`Simulation`] says which [`Light`] falls on which [`Detector`]s and for how long. [`Simulation::tags`] checks
//! it and gives [`SimulatedTags`], which makes the tags slab by slab. All times are integers in ticks, all rates are in events
//! per tick; the caller decides how long a tick is.
//!
//! Photon pairs on channels 1 and 2, at a tick of 156.25 ps: 100,000 pairs a second, 40 % efficiency,
//! 1,000 dark counts a second, 2 ticks of jitter, 30 ns of dead time, for 10 ms:
//!
//! ```
//! use tagq_simulate::{Detector, Light, Simulation};
//!
//! let second = 6.4e9; // ticks
//! let detector = |channel, delay| Detector {
//!     channel,
//!     efficiency: 0.4,
//!     dark_rate: 1_000.0 / second,
//!     jitter: 2.0,
//!     delay,
//!     dead_time: 192,
//! };
//! let simulation = Simulation {
//!     light: Light::Pairs { rate: 1e5 / second, pulse_period: None, beam_splitter: false },
//!     detectors: vec![detector(1, 0.0), detector(2, 12.0)],
//!     drift: None,
//!     clock: None,
//!     start: 0,
//!     duration: 64_000_000,
//!     seed: 7,
//! };
//! let mut tags = simulation.tags()?;
//! let mut singles = 0;
//! while let Some(slab) = tags.next_slab() {
//!     assert!(slab.is_sorted_by_key(|tag| tag.time));
//!     singles += slab.len();
//! }
//! // 2 detectors x (100,000 x 0.4 + 1,000) / s x 10 ms = 820, give or take its square root.
//! assert!((700..940).contains(&singles));
//! # Ok::<(), tagq_simulate::Error>(())
//! ```
//!
//! # The model
//!
//! Light is emitted; a photon survives with the detector's efficiency; the detector's delay and a jitter are
//! added; dark counts are mixed in; the time is rounded down to a tick; what lies in
//! `start..start + duration` is kept; a detection within the dead time of the last recorded one is lost.
//! The source has always been on: tags whose light was emitted before `start` are there.
//!
//! # How they are made
//!
//! Every light here is a Poisson process, and choosing at random among its events gives independent Poisson
//! processes. So survival and beam splitters are not played photon by photon: pairs on two
//! detectors are three processes (both photons detected, only the first, only the second) at the product of
//! the rates, and the cost is that of the tags, not of the lost photons. The law is exactly the same.
//!
//! The photons of a scan are those of the pulses that light the area of their species. A photon that comes after its pixel
//! was left is in the next one, as in a recording.
//!
//! Pulsed light with a Poisson number of photons in each pulse is the same process with each event moved to
//! the start of its pulse period; empty pulses cost nothing.

mod error;
mod scan;
mod simulation;

pub mod live;
mod write;

mod check;
mod comb;
mod lane;
mod moment;
mod plan;
mod process;
mod raster;
mod seeds;
mod signal;
mod tags;

pub use error::Error;
pub use scan::{Area, Markers, Pixel, Scan};
pub use simulation::{Clock, Detector, Drift, Light, Simulation, Species};
pub use tagq_store::Tag;
pub use tags::{SLAB_TAGS, SimulatedTags};
pub use write::{WriteError, write};
