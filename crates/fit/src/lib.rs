//! Fits of models to counts by maximum likelihood: decays, g2, dips, fringes and peaks.
//!
//! A [`Model`] predicts the value of each bin from its parameters. [`fit`] finds the parameters with the largest
//! likelihood of the counts, with the Levenberg–Marquardt method on deviance residuals, and errors from the Fisher
//! information (docs/estimates.md, section "Fits").
//!
//! ```
//! use tagq_fit::{Bin, Data, Noise, Settings, fit, models::Peak};
//!
//! // Ten bins of width 1 with a peak of 200 counts at 5.0, over 10 counts a bin.
//! let counts = [10.0, 9.0, 11.0, 37.0, 84.0, 82.0, 38.0, 10.0, 11.0, 8.0];
//! let bins = (0..10).map(|k| Bin { from: f64::from(k), to: f64::from(k + 1) }).collect();
//! let data = Data { bins, values: counts.to_vec(), noise: Noise::Poisson, exposure: None };
//! let fitted = fit(&Peak::of(&data), &data, &Settings::default(), &|| false)?;
//! let centre = fitted.get("centre").unwrap();
//! assert!((centre.value - 5.0).abs() < 3.0 * centre.err.unwrap());
//! # Ok::<(), tagq_fit::Error>(())
//! ```

mod data;
mod error;
mod estimate;
mod fit;
mod information;
pub mod lifetimes;
mod model;
pub mod models;
mod problem;
mod profile;
mod residual;
mod special;
mod structure;

pub use data::{Bin, Data, Noise};
pub use error::Error;
pub use estimate::{CLEAR, Estimate, FOUND, Fitted, Intervals, Search, Settings, Significance};
pub use fit::{derived_nearby, fit};
pub use model::{Derived, Model, Parameter, Quantity, Structure};
pub use problem::Stop;
