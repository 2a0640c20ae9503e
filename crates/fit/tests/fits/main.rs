//! Fits of light that is simulated photon by photon: the truth is found, and quoted errors cover it.

mod cases;
mod coverage;
mod outside;
mod simulated;
