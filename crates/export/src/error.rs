//! What can go wrong on the way into another program's form.

use std::io;

use arrow_schema::ArrowError;

/// An error of making or writing Arrow.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run refused.
    #[error(transparent)]
    Run(#[from] tagq::Error),
    /// The index of the run refused.
    #[error(transparent)]
    Store(#[from] tagq::store::Error),
    /// Columns that do not make a table.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A Parquet file could not be written.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A text could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What describes an answer could not be written down.
    #[error("the description of the answer cannot be written down: {0}")]
    Description(#[from] serde_json::Error),
    /// Lists have no place in a line of text.
    #[error("a column of {0} cannot be written as text; write .arrow or .parquet")]
    NoText(arrow_schema::DataType),
}

impl Error {
    /// Whether a reader of a pipe has seen enough.
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
