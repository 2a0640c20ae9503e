//! Times as floats in a unit chosen by the user, in addition to ticks.
//!
//! 156.25 ps are 5/32 ns: 32 ticks are the float 5.0. A float that does not lead back to its tick is counted as lost.

use tagq::store::{Duration, Tick, TimeUnit, UnitError};

/// `ticks` ticks are `units` units. Both are whole numbers, so that for ticks times units up to 2^53
/// only one division rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    ticks: f64,
    units: f64,
}

impl Scale {
    /// Returns the conversion from ticks of this length to floats of `unit`.
    pub fn of(unit: TimeUnit, tick: Tick) -> Result<Self, UnitError> {
        let unit: Duration = format!("1{}", unit.name()).parse()?;
        let (ticks, units) = unit.fraction(tick)?;
        Ok(Self { ticks: ticks as f64, units: units as f64 })
    }

    /// Converts `times` to units since `origin`; also returns the number of floats that do not identify
    /// their tick.
    pub fn floats(self, times: &[i64], origin: i64) -> (Vec<f64>, u64) {
        let mut lost = 0;
        let float = |&time: &i64| {
            // The span of a run fits in 63 bits.
            let ticks = time.wrapping_sub(origin);
            let float = ticks as f64 * self.units / self.ticks;
            let back = float * self.ticks / self.units;
            // 2^63 as a float is one more than the largest number of ticks.
            #[expect(clippy::cast_possible_truncation, reason = "no more than 2^64")]
            let is_lost = back.round() as i128 != i128::from(ticks);
            lost += u64::from(is_lost);
            float
        };
        let floats = times.iter().map(float).collect();
        (floats, lost)
    }

    /// Returns whether floats of times up to `end` do not always identify the tick. Only the latest
    /// times are checked, because the spacing between floats is largest there.
    pub fn blurs(self, origin: i64, end: i64) -> bool {
        let latest: Vec<i64> = (0..1024).map(|ticks| end.saturating_sub(ticks)).collect();
        self.floats(&latest, origin).1 > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_the_nearest_floats() {
        // 156.25 ps are 5/32 ns: 32 ticks are 5 ns.
        let scale = Scale::of(TimeUnit::Ns, Tick::DEFAULT).unwrap();
        let (floats, lost) = scale.floats(&[-7, -6, 25], -7);
        assert_eq!((floats, lost), (vec![0.0, 0.156_25, 5.0], 0));
        // 1/3 ps: three ticks are a picosecond.
        let scale = Scale::of(TimeUnit::Ps, "1/3ps".parse().unwrap()).unwrap();
        assert_eq!(scale.floats(&[1, 2, 3], 0).0, [1.0 / 3.0, 2.0 / 3.0, 1.0]);
    }

    #[test]
    fn what_a_float_cannot_tell_apart_is_counted() {
        let scale = Scale::of(TimeUnit::Ns, "1ps".parse().unwrap()).unwrap();
        // All whole numbers up to 2^53 = 9,007,199,254,740,992 are floats; above, only every second one.
        let edge = 1 << 53;
        assert_eq!(scale.floats(&[0, 1, edge / 8 + 1], 0).1, 0);
        let (floats, lost) = scale.floats(&[4 * edge + 1, 4 * edge + 2], 0);
        assert!(lost >= 1, "{floats:?}");
        assert_eq!(scale.floats(&[i64::MAX], 0).1, 1);
        assert!(scale.blurs(0, 4 * edge) && scale.blurs(-edge, 3 * edge));
        assert!(!scale.blurs(0, edge / 8) && !scale.blurs(4 * edge, 4 * edge + 5));
    }
}
