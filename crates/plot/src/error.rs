//! The errors of drawing.

/// An error from creating a picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The size of a bitmap is not supported.
    #[error("a picture of {width} × {height} points does not fit in memory; write it as .svg")]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// An axis cannot have these ends.
    #[error(
        "the axis cannot go from {low} to {high}: write --ylim LO..HI with LO below HI, and LO above zero with --log-y"
    )]
    Limits {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// An end of an axis has a unit of another quantity, or none.
    #[error("--ylim: `{text}` has {has}, and the axis {axis}")]
    LimitUnit {
        /// The end.
        text: String,
        /// Its unit in words, or `no unit`.
        has: String,
        /// The units of the axis.
        axis: String,
    },
    /// The figure has no axis of values that can be changed.
    #[error(
        "this figure has bars, which start at zero, or counts in cells: --log-y and --ylim are for values over an axis"
    )]
    NoAxis,
    /// A figure cannot be as small or as large as was asked for.
    #[error("a figure is {least} to {most} pixels wide and high; write its size as 1200x800")]
    PageSize {
        /// The least width and height.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// The answer has no column of this name that can be drawn.
    #[error("there is no quantity `{name}` in this answer; it has {all}")]
    NoQuantity {
        /// The name that was asked for.
        name: String,
        /// The names that it has.
        all: String,
    },
    /// The answer has no such figure.
    #[error("there is no figure `{name}` of this answer; it has {all}")]
    NoFigure {
        /// The name of the figure that was asked for.
        name: &'static str,
        /// The names of those that it has.
        all: String,
    },
    /// Only pixels of maps have a brightness.
    #[error("--brightness is for the map of an image")]
    NoBrightness,
    /// The pixels could not be compressed.
    #[error("the picture cannot be written as PNG")]
    Png(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns whether the request is wrong; otherwise drawing failed.
    #[must_use]
    pub fn is_of_options(&self) -> bool {
        !matches!(self, Self::Png(_))
    }
}
