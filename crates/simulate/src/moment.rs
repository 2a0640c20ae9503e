//! Points in time finer than a tick.
//!
//! 12.5 is tick 12 and fraction 0.5; −0.25 is tick −1 and fraction 0.75.

/// The point `tick + fraction`, with `0 <= fraction < 1`.
///
/// An `f64` alone would lose the fraction in long recordings: at 10^15 ticks it steps by 1/8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    pub(crate) tick: i64,
    pub(crate) fraction: f64,
}

impl Moment {
    /// The last moment; processes that reach it have ended.
    pub(crate) const END: Moment = Moment { tick: i64::MAX, fraction: 0.0 };

    /// The moment of `ticks`, which must be finite; beyond the range of `i64` it is clamped.
    pub(crate) fn new(ticks: f64) -> Moment {
        let tick = floor(ticks);
        Moment { tick, fraction: ticks - tick as f64 }
    }

    /// This moment moved later by `step >= 0`, or [`Moment::END`] where that passes the range of ticks.
    #[inline]
    pub(crate) fn later(self, step: f64) -> Moment {
        let fraction = self.fraction + step;
        // Not reached with any rate that matters; the comparison also catches infinity.
        if fraction >= i64::MAX as f64 {
            return Moment::END;
        }
        let whole = floor_positive(fraction);
        match self.tick.checked_add(whole) {
            Some(tick) => Moment { tick, fraction: fraction - whole as f64 },
            None => Moment::END,
        }
    }
}

/// The largest integer not above `x`, clamped to the range of `i64`.
///
/// `f64::floor` is a function call on baseline `x86_64`.
#[inline]
pub(crate) fn floor(x: f64) -> i64 {
    let towards_zero = floor_positive(x);
    towards_zero - i64::from((towards_zero as f64) > x)
}

/// [`floor`] of an `x` that is not negative.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding down is meant, and the cast saturates"
)]
fn floor_positive(x: f64) -> i64 {
    x as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floor_rounds_down_on_both_sides_of_zero() {
        for (x, expected) in [
            (0.0, 0),
            (0.9, 0),
            (2.0, 2),
            (-0.1, -1),
            (-1.0, -1),
            (-1.5, -2),
            (1e15 + 0.5, 10i64.pow(15)),
        ] {
            assert_eq!(floor(x), expected, "{x}");
        }
    }

    #[test]
    fn later_keeps_the_fraction_at_large_times() {
        let mut moment = Moment { tick: 4_000_000_000_000_000_000, fraction: 0.0 };
        for _ in 0..1_000 {
            moment = moment.later(0.25);
        }
        assert_eq!(moment, Moment { tick: 4_000_000_000_000_000_250, fraction: 0.0 });
    }

    #[test]
    fn later_ends_instead_of_overflowing() {
        for tick in [i64::MIN, -1, 0, i64::MAX - 1] {
            let moment = Moment { tick, fraction: 0.5 };
            assert_eq!(moment.later(f64::INFINITY), Moment::END);
            assert_eq!(moment.later(1e300), Moment::END);
        }
        assert_eq!(Moment { tick: i64::MAX - 1, fraction: 0.5 }.later(2.0), Moment::END);
    }

    #[test]
    fn new_splits_negative_numbers_downwards() {
        assert_eq!(Moment::new(-0.25), Moment { tick: -1, fraction: 0.75 });
        assert_eq!(Moment::new(12.5), Moment { tick: 12, fraction: 0.5 });
    }
}
