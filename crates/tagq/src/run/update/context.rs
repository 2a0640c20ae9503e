//! The run that is updated, as every step of an update sees it.

use crate::{
    progress::Progress,
    run::{location::RunLocation, options::OpenOptions},
};

/// The run that is updated.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub location: &'a RunLocation,
    pub options: &'a OpenOptions,
    pub progress: &'a dyn Progress,
}
