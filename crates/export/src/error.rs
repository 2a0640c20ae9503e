//! The errors of an export.

use std::io;

use arrow_schema::ArrowError;

/// An error from creating or writing Arrow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run returned an error.
    #[error(transparent)]
    Run(#[from] tagq::Error),
    /// Columns that do not form a table.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A Parquet file could not be written.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A text file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The metadata of an answer could not be serialized.
    #[error("the description of the answer cannot be written down: {0}")]
    Description(#[from] serde_json::Error),
    /// Only one image can be written as TIFF.
    #[error(
        "a TIFF holds one image: what `tagq image` counts without a mask in one run or in a sum of runs; write another format"
    )]
    NoImage,
    /// An image without frames has no pages.
    #[error("a TIFF holds frames, and no line begins in this image; write another format")]
    NoFrame,
    /// A count is too large for a pixel of a TIFF.
    #[error(
        "a pixel counts {count}, and pixels of this TIFF hold counts below 2^{bits}; write .arrow or .parquet"
    )]
    Pixel {
        /// The count.
        count: u64,
        /// The digits of the largest count, in binary.
        bits: u32,
    },
    /// A count is too large for a column of Arrow.
    #[error("a count is {0}, and columns of counts hold numbers below 2^63")]
    Count(u64),
    /// Lists cannot be written as text.
    #[error("a column of {0} cannot be written as text; write .arrow or .parquet")]
    NoText(arrow_schema::DataType),
}

tagq::from_lower_errors!(Error::Run: tagq::AskError, tagq::RunError, tagq::RequestError, tagq::store::Error);

impl Error {
    /// Returns whether the reader of a pipe has closed it.
    pub fn is_closed_pipe(&self) -> bool {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            let io = match error.downcast_ref::<Self>() {
                Some(Self::Io(io) | Self::Arrow(ArrowError::IoError(_, io))) => Some(io),
                _ => error.downcast_ref(),
            };
            if io.is_some_and(|io: &io::Error| io.kind() == io::ErrorKind::BrokenPipe) {
                return true;
            }
            cause = error.source();
        }
        false
    }
}
