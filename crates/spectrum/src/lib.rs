//! Power spectra.
//!
//! The Fourier transform is a crate of its own because the compiler makes a copy of the whole library in each crate
//! that names it.
//!
//! ```
//! // Two turns of a cosine in eight values.
//! let values: Vec<f32> = [1.0, 0.0, -1.0, 0.0].repeat(2);
//! assert_eq!(tagq_spectrum::power(values), [0.0, 0.0, 16.0, 0.0, 0.0]);
//! ```

use std::sync::{Mutex, PoisonError};

use realfft::{RealFftPlanner, num_complex::Complex};

/// Plans are made once for each length.
static PLANNER: Mutex<Option<RealFftPlanner<f32>>> = Mutex::new(None);

/// Returns the squared magnitudes of the lines of `values`, from no turn to `values.len() / 2` turns, in the same memory:
/// new memory costs more time than a transform. The result has the square of their unit.
pub fn power(mut values: Vec<f32>) -> Vec<f32> {
    let transform = {
        let mut planner = PLANNER.lock().unwrap_or_else(PoisonError::into_inner);
        planner.get_or_insert_with(RealFftPlanner::new).plan_fft_forward(values.len())
    };
    let mut lines = transform.make_output_vec();
    // The lengths are those of the plan.
    let done = transform.process(&mut values, &mut lines);
    debug_assert!(done.is_ok(), "{done:?}");
    values.clear();
    values.extend(lines.iter().map(Complex::norm_sqr));
    values
}
