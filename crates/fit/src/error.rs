//! The reasons why a model cannot be fitted.

/// The reason why a model cannot be fitted.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no bins.
    #[error("no bins to fit; widen the range of the fit")]
    Empty,
    /// There are fewer bins with a value than parameters.
    #[error(
        "{bins} bins cannot determine {parameters} parameters; fix some, or take narrower bins"
    )]
    TooFewBins {
        /// The bins.
        bins: usize,
        /// The parameters that are not fixed.
        parameters: usize,
    },
    /// All counts are zero.
    #[error("no counts to fit")]
    NoCounts,
    /// The lists of bins and values have different lengths.
    #[error("{bins} bins and {values} values; give one value, and one error or exposure, a bin")]
    Lengths {
        /// The bins.
        bins: usize,
        /// The values.
        values: usize,
    },
    /// A value is not a number.
    #[error("a value is not finite; leave its bin out")]
    NotFinite,
    /// A count is negative.
    #[error("a count is negative")]
    NegativeCounts,
    /// Values without standard errors.
    #[error("a value has no standard error, or one of zero; a fit needs one for each value")]
    NoErrors,
    /// The bins have different widths.
    #[error("the model needs bins of one width without gaps; count in linear bins")]
    UnequalBins,
    /// A parameter that the model does not have.
    #[error("`{name}` is no parameter of the model; its parameters are {known}")]
    UnknownParameter {
        /// Its name.
        name: String,
        /// The names of all parameters, with commas.
        known: String,
    },
    /// A start or a fixed value outside of the bounds of its parameter.
    #[error("`{name}` is {value}; it must be from {lower} to {upper}")]
    OutOfBounds {
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
        /// The lowest value.
        lower: f64,
        /// The highest value.
        upper: f64,
    },
    /// A model cannot be made of these numbers.
    #[error("{0}")]
    Model(String),
    /// A function of the caller that is the model failed.
    #[error("the model failed: {0}")]
    Callback(String),
    /// The caller cancelled the fit.
    #[error("cancelled")]
    Cancelled,
    /// The search for the largest likelihood did not end.
    #[error("the fit did not converge; give starting values, or fix parameters")]
    NoConvergence,
}
