//! A run whose file holds counts in place of tags.
//!
//! The counts are read from the file, not from the store, so a file that changed since it was ingested is refused.

use tagq_ingest::{HeldCounts, is_unchanged};
use tagq_store::os::FileStamp;

use super::open::Run;
use crate::error::{Error, RequestError};

impl Run {
    /// Whether one of its files holds counts in place of tags.
    pub fn holds_counts(&self) -> bool {
        let mut sources = self.store().manifest().sources.iter();
        sources.any(|source| source.facts.recording.as_ref().is_some_and(HeldCounts::are_in))
    }

    /// Rejects a run whose file holds counts, for what needs tags.
    ///
    /// # Errors
    /// [`Error::NoTags`].
    pub fn check_tags(&self) -> Result<(), Error> {
        if self.holds_counts() {
            return Err(Error::NoTags { path: self.path().into() });
        }
        Ok(())
    }

    /// Opens the counts that its file holds in place of tags; `None` for a run of tags.
    pub fn held_counts(&self) -> Result<Option<HeldCounts>, Error> {
        if !self.holds_counts() {
            return Ok(None);
        }
        let [source] = &self.store().manifest().sources[..] else {
            return Err(RequestError::Held(format!(
                "{}: a file of counts is a run by itself; ask each of its files alone",
                self.path().display()
            ))
            .into());
        };
        // As the notes of a recorder: a store from another user may name files anywhere.
        let name = &source.facts.name;
        let beside = || self.store().folder().with_file_name(name);
        let path = self.files().remove(name).unwrap_or_else(beside);
        let Ok(stamp) = FileStamp::of_path(&path) else {
            return Err(RequestError::Held(format!(
                "{}: not there, and the counts are in it, not in its store; put it there again",
                path.display()
            ))
            .into());
        };
        if !is_unchanged(&source.facts, stamp) {
            return Err(Error::Changed {
                path,
                run: self.path().into(),
                what: "its length or its time".into(),
            });
        }
        Ok(Some(HeldCounts::open(&path)?))
    }
}
