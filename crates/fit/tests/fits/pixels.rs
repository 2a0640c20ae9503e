//! Pixels of known truth: decays convolved with a response and folded by the period, with background.

use tagq_fit::{
    Data, Noise,
    lifetimes::{Lifetimes, ResponseOf},
    models::Response,
};

use super::simulated::{Random, bins, decay_photon, histogram};

/// The bins of an image of a PicoHarp: 133 in a period of 12.9 ns.
pub(crate) const WIDTH: f64 = 0.096_97;
pub(crate) const BINS: usize = 133;
pub(crate) const PERIOD: f64 = WIDTH * 133.0;
/// The part of the photons that are background.
pub(crate) const BACKGROUND: f64 = 0.05;

/// Draws when a pulse excites.
pub(crate) type Pulse = dyn Fn(&mut Random) -> f64 + Sync;
/// The lifetime of each pixel.
pub(crate) type Taus = dyn Fn(usize) -> f64 + Sync;

/// A jitter of 0.08 around 2.0.
pub(crate) fn sharp(random: &mut Random) -> f64 {
    0.08f64.mul_add(random.gaussian(), 2.0)
}

fn drawn(places: impl Iterator<Item = f64>) -> Data {
    histogram(bins(0.0, WIDTH, BINS), places)
}

pub(crate) fn measured(pulse: &Pulse) -> ResponseOf {
    let mut random = Random(77);
    let places: Vec<f64> = (0..1_000_000).map(|_| pulse(&mut random).rem_euclid(PERIOD)).collect();
    ResponseOf::Measured(Box::new(Response::new(&drawn(places.into_iter())).unwrap()))
}

/// Draws pixels with a Poisson number of photons each.
pub(crate) fn pixels(
    random: &mut Random,
    count: usize,
    photons: f64,
    pulse: &Pulse,
    tau: &Taus,
) -> Vec<Vec<f64>> {
    let pixel = |pixel: usize| {
        let count = random.poisson(photons) as usize;
        let mut place = || {
            if random.uniform() < BACKGROUND {
                return random.uniform() * PERIOD;
            }
            decay_photon(random, &[(1.0, tau(pixel))], pulse, PERIOD)
        };
        let places: Vec<f64> = (0..count).map(|_| place()).collect();
        drawn(places.into_iter()).values
    };
    (0..count).map(pixel).collect()
}

pub(crate) fn added(pixels: &[Vec<f64>]) -> Data {
    let mut values = vec![0.0; BINS];
    for pixel in pixels {
        values.iter_mut().zip(pixel).for_each(|(sum, of)| *sum += of);
    }
    Data { bins: bins(0.0, WIDTH, BINS), values, noise: Noise::Poisson, exposure: None }
}

pub(crate) fn lifetimes(pixels: &[Vec<f64>], response: &ResponseOf) -> Lifetimes {
    let count = pixels.len() as f64;
    Lifetimes::new(&added(pixels), count, response, Some(PERIOD), &|| false).unwrap()
}
