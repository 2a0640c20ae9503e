//! The errors between a question and an answer.

use std::path::PathBuf;

use tagq_run::RequestError;
use tagq_store::pasted;

/// An error from asking a question.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The run cannot be opened or read, or the request is invalid.
    #[error(transparent)]
    Run(#[from] tagq_run::Error),
    /// A run has no micro times whose unit is known.
    #[error(
        "{} has no micro times, or their unit is not known; files of mode T3 have them, and \
         `tagq ingest --rebuild --micro-tick 4ps {}`, with your unit, takes those of files that do not say it",
        run.display(), pasted(run)
    )]
    NoMicroTimes {
        /// The run.
        run: PathBuf,
    },
    /// An answer cannot be serialized.
    #[error("the answer cannot be written down: {0}")]
    Answer(#[from] serde_json::Error),
    /// The receiver of a list returned an error.
    #[error("cannot write the list: {0}")]
    Output(#[source] std::io::Error),
}

tagq_run::from_lower_errors!(Error::Run: RequestError, tagq_ingest::Error, tagq_query::Error, tagq_store::Error, tagq_store::UnitError);

impl Error {
    /// Returns the error of the run or of the request, if it is one.
    pub fn run(&self) -> Option<&tagq_run::Error> {
        match self {
            Self::Run(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the exit code: that of [`tagq_run::Error::exit_code`].
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Run(error) => error.exit_code(),
            Self::NoMicroTimes { .. } => 2,
            Self::Answer(_) | Self::Output(_) => 1,
        }
    }
}
