//! The tags to write, and the result of writing those of a run.

use std::path::Path;

use tagq_ingest::write::{Output, Times};
use tagq_store::Recording;

use super::selection::TagSelection;
use crate::{Run, input::Input};

/// Tags to write.
#[derive(Debug, Clone, Copy)]
pub enum TagOrigin<'a> {
    /// A file of tags, in file order.
    File(&'a Path),
    /// A buffered stream, in stream order.
    Input(&'a Input),
    /// Tags of a run, in time order.
    Run(&'a Run, &'a TagSelection),
}

impl TagOrigin<'_> {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Run(run, _) => run.path(),
            Self::File(path) => path,
            Self::Input(stream) => stream.path(),
        }
    }
}

/// The tags of a run that are written.
#[derive(Debug)]
pub struct TagsOfRun<'a> {
    /// The run.
    pub run: &'a Run,
    /// Which of its tags.
    pub selection: &'a TagSelection,
    /// The units of times, as the form states them.
    pub times: Times,
    /// The facts of the recording.
    pub recording: &'a Recording,
    /// Threads that encode; one a core when 0.
    pub threads: usize,
    /// How messages call the file.
    pub shown: &'a Path,
}

/// The result of writing tags of a run.
pub struct Wrote {
    /// The output, at its end.
    pub out: Box<dyn Output>,
    /// Number of tags.
    pub tags: u64,
    /// Number of tags whose float does not identify their tick.
    pub lost: u64,
}
