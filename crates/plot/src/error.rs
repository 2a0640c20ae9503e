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
    /// The pixels could not be compressed.
    #[error("the picture cannot be written as PNG")]
    Png(#[source] Box<dyn std::error::Error + Send + Sync>),
}
