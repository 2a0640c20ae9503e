//! The models: one file each.

mod comb;
mod correlation;
mod decay;
mod diffusion;
mod dip;
mod flat;
mod function;
mod gaussian;
mod peak;
mod pile_up;
mod response;
mod sine;

pub use comb::{Comb, PeakShape};
pub use correlation::{Correlation, Emission};
pub use decay::{Decay, EXPONENTIALS_MAX};
pub use diffusion::{Diffusion, KAPPA};
pub use dip::{Dip, DipShape};
pub use flat::Flat;
pub use function::Function;
pub use peak::{Peak, PeakOver};
pub use pile_up::first_photons;
pub use response::Response;
pub use sine::Sine;
