//! Values with their errors.
//!
//! 9 tags in 3 s are 3 ± 1 per second. A count of 0 has the error of a count of 1, so that no rate is known exactly.

/// A value with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub err: f64,
}

impl Measured {
    /// Computes tags per second: `count` tags in `live` ticks of `tick_s` seconds, with the error of a
    /// Poisson count. Returns `None` if there is no live time.
    pub fn rate_hz(count: u64, live: i128, tick_s: f64) -> Option<Self> {
        let live_s = live as f64 * tick_s;
        let err = (count.max(1) as f64).sqrt();
        (live > 0).then(|| Self { value: count as f64 / live_s, err: err / live_s })
    }
}

/// Returns the upper limit, with 95 % confidence, of a ratio whose count is 0 where `expected` would be counted at a
/// ratio of one: a Poisson number of mean −ln 0.05 = 3.0 is 0 with a probability of 5 %.
pub fn limit_of_none(expected: f64) -> f64 {
    -libm::log(0.05) / expected
}
