//! Fits of models to answers (docs/estimates.md, section "Fits").
//!
//! A fit counts nothing itself: it takes the answer of a query, whose rows become the [`Data`](tagq_fit::Data) of
//! `tagq_fit`, and returns an answer whose rows are the fitted parameters. `fit_type` is the list of models with their
//! options, `request` a fit as a user states it, `observed` the data of an answer, `fitted` the fits as rows and as they are drawn,
//! `answer` the answer of a fit, and `ask` asks runs, also for the response of an instrument.

mod answer;
mod ask;
mod fit_type;
mod fitted;
mod methods;
mod observed;
mod request;

pub use answer::OwnModel;
pub use fit_type::{FIT_TYPES, FitType};
pub use request::Fit;
