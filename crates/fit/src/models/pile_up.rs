//! Photons that a detector does not see because it saw an earlier one of the same pulse (pile-up).
//!
//! 1,000 pulses, 100 photons in the first bin and 90 in the second: the exposures are 1 − 50/1,000 = 0.95 and 1 −
//! 145/1,000 = 0.855. The photons of the bin itself count half: on average, half of them come before another one.

use crate::data::Data;

/// With more photons a pulse than this, the number of hidden photons cannot be computed.
const MOST: f64 = 0.9;

/// The first photon of a pulse hides all later ones: a bin can only have photons of pulses without an earlier one
/// (Coates, J. Phys. E 1, 878 (1968)). Returns the part of the pulses that each bin can have, which is the exposure
/// of a decay, and the photons a pulse; `None` if the bins are not those of one period, which begins at zero.
pub fn first_photons(data: &Data, pulses: f64, period: f64) -> Option<(Vec<f64>, f64)> {
    let (from, to) = data.ends();
    let width = data.width().ok()?;
    let photons: f64 = data.values.iter().sum();
    let per_pulse = photons / pulses;
    let is_one_period = from > -width && to - from < 1.01f64.mul_add(period, width);
    let can_be_known = pulses > 0.0 && per_pulse < MOST && data.exposure.is_none();
    if !(is_one_period && can_be_known) {
        return None;
    }
    let mut before = 0.0;
    let part = |count: &f64| {
        let part = 1.0 - (before + count / 2.0) / pulses;
        before += count;
        part
    };
    Some((data.values.iter().map(part).collect(), per_pulse))
}
