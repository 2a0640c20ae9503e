//! The run that is updated, as every step of an update sees it.

use crate::{location::RunLocation, options::OpenOptions, progress::Progress};

/// The run that is updated.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub location: &'a RunLocation,
    pub options: &'a OpenOptions,
    pub progress: &'a dyn Progress,
}
