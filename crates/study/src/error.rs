//! The errors of fits, scans, plans and comparisons with saved answers.

use std::path::PathBuf;

use tagq_run::RequestError;

/// Any error between a name on a command line and an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A question was not answered.
    #[error(transparent)]
    Ask(#[from] tagq_ask::Error),
    /// A file is no answer that can be counted again.
    #[error("{path}: cannot be reproduced: {reason}", path = path.display())]
    NotAnAnswer {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A run has fewer rows than were counted.
    #[error(
        "{path}: the answer is of {expected} tags, and {present} are there; name the run that was counted, or put its \
         files back",
        path = path.display()
    )]
    RowsMissing {
        /// The run.
        path: PathBuf,
        /// The number of rows that were counted.
        expected: u64,
        /// The number of rows that are there.
        present: u64,
    },
    /// A run does not begin with the rows that were counted.
    #[error(
        "{path}: its first {rows} tags are not those that were counted: {what}; it is another run, files were changed \
         or came in between when the store was made again, or a column is wider now (channels above 255, micro times)",
        path = path.display()
    )]
    RowsChanged {
        /// The run.
        path: PathBuf,
        /// The number of rows that were counted.
        rows: u64,
        /// The difference.
        what: String,
    },
    /// A model cannot be fitted.
    #[error("cannot fit: {0}")]
    Fit(#[from] tagq_fit::Error),
    /// A file is no plan that this version can use.
    #[error("{path}: {reason}", path = path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A partial result does not fit a plan or other partial results.
    #[error("{reason}")]
    Parts {
        /// The reason.
        reason: String,
    },
    /// Parts of a plan were not given.
    #[error("parts of the plan are missing: {missing}")]
    PartsMissing {
        /// Their numbers, as `sbatch --array=` takes them.
        missing: String,
    },
}

tagq_run::from_lower_errors!(Error::Ask: RequestError, tagq_run::Error, tagq_query::Error, tagq_store::Error, tagq_store::UnitError, serde_json::Error);

impl Error {
    /// Returns the error of the run or of the request, if it is one.
    pub fn run(&self) -> Option<&tagq_run::Error> {
        match self {
            Self::Ask(error) => error.run(),
            _ => None,
        }
    }

    /// Whether the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Fit(tagq_fit::Error::Cancelled))
            || self.run().is_some_and(tagq_run::Error::is_cancelled)
    }

    /// Whether another process is writing the store.
    pub fn is_busy(&self) -> bool {
        self.run().is_some_and(tagq_run::Error::is_busy)
    }

    /// Whether the text names options in backticks: `live_time`. Other texts have words of files in them.
    pub fn names_options(&self) -> bool {
        self.run().is_some_and(tagq_run::Error::names_options)
    }

    /// Returns the exit code of a program that ends with this error: 1 failure, 2 invalid request, 3
    /// damaged data, 4 another process is writing, 5 parts are missing.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Ask(error) => error.exit_code(),
            Self::Plan { .. } | Self::NotAnAnswer { .. } => 2,
            Self::Parts { .. } => 3,
            Self::PartsMissing { .. } => 5,
            Self::RowsMissing { .. } | Self::RowsChanged { .. } | Self::Fit(_) => 1,
        }
    }
}
