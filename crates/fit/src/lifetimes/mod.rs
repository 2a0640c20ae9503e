//! Lifetimes of many decays with the same bins and response, as those of the pixels of an image.
//!
//! The decay of all together has photons enough to find the response and the background. For each of many lifetimes
//! the share of the photons in each bin follows from them, once; a single decay then costs microseconds.
//!
//! A decay of 300 photons in 133 bins: its mean arrival time is one number, and one lifetime of the table has it.

mod estimator;
mod exponential;
mod mean;
mod phasor;
mod pooled;
mod reference;
mod shapes;

pub use estimator::{FEW, Lifetime, Lifetimes};
pub use exponential::ExponentialLifetime;
pub use phasor::{Phasor, Phasors};
pub use pooled::{FoundResponse, ResponseOf, after_response};
pub use reference::Reference;
