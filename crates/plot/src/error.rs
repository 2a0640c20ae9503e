//! What can go wrong in drawing.

/// Why a picture was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A picture of points cannot be so large.
    #[error("a picture of {width} × {height} points does not fit in memory; write it as .svg")]
    Size {
        /// Points from left to right.
        width: u32,
        /// Points from top to bottom.
        height: u32,
    },
    /// The points could not be compressed.
    #[error("the picture cannot be written as PNG")]
    Png(#[source] Box<dyn std::error::Error + Send + Sync>),
}
