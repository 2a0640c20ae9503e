//! A fit asks whether to stop, and then has no result.

use std::cell::Cell;

use tagq_fit::{Error, Intervals, Settings, fit};

use super::{simulated::Random, structure};

/// With the structure and without it, and with intervals, the search for a minimum, the simulations, the upper limit and the profiles
/// all run. A result of a fit that was stopped would have wrong intervals, so the last question counts, too.
#[test]
fn fits_stop_at_each_time_that_they_ask() {
    let settings = Settings { intervals: Intervals::All, ..Settings::default() };
    for case in structure::cases() {
        for factor in [0.0, case.five] {
            let data = (case.data)(&mut Random(7), factor);
            let model = (case.model)(&data);
            let fitted = |stop_at: u64| {
                let asked = Cell::new(0);
                let stop = || {
                    asked.set(asked.get() + 1);
                    asked.get() >= stop_at
                };
                (fit(&*model, &data, &settings, &stop), asked.get())
            };
            let (whole, asks) = fitted(u64::MAX);
            whole.unwrap();
            assert!(asks > 100, "{}: {asks}", case.name);
            for part in 0..=2 {
                let at = (asks * part / 2).max(1);
                let (stopped, after) = fitted(at);
                assert_eq!(stopped.err(), Some(Error::Cancelled), "{} at {at}", case.name);
                // The rest of the fit is skipped.
                assert!(after < at + 100, "{} at {at}: {after}", case.name);
            }
        }
    }
}
