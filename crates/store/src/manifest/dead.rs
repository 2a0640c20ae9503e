//! Dead spans of sources that are too many for the manifest: they are in a file of their own, all but the last one of
//! each source, which may still grow.
//!
//! Of a source with 5,000 spans, 4,999 are in the file and one is in the manifest. The file only grows as long as spans
//! do not change.

use std::borrow::Cow;

use super::{DeadFile, Manifest, source::Source};
use crate::{Error, Folder, checked::CheckedFile, checksum::crc32c, files::FileKind};

/// A store whose manifest would list more spans has the file.
pub(crate) const LISTED_MAX: usize = 4_096;

/// Returns the spans of a source that belong into the file.
pub(crate) fn filed(source: &Source) -> &[(i64, i64)] {
    let dead = source.facts.recording.as_ref().map_or(&[][..], |recording| &recording.dead);
    dead.split_last().map_or(&[], |(_, filed)| filed)
}

/// Returns those of all sources: first and last times in ticks as recorded.
pub(crate) fn all_filed(sources: &[Source]) -> impl Iterator<Item = (i64, i64)> {
    sources.iter().flat_map(filed).copied()
}

impl Manifest {
    /// Returns the manifest as it is written: without the spans that are in the file.
    pub(super) fn without_filed(&self) -> Cow<'_, Self> {
        if self.dead.is_none() {
            return Cow::Borrowed(self);
        }
        let without = |source: &Source| {
            let in_file = filed(source).len();
            let Some(recording) = &source.facts.recording else { return source.clone() };
            let mut facts = source.facts.clone();
            let mut recording = recording.clone();
            recording.dead.drain(..in_file);
            recording.dead_in_file = in_file as u64;
            facts.recording = Some(recording);
            Source { facts, ..source.clone() }
        };
        let sources = self.sources.iter().map(without).collect();
        Cow::Owned(Self { sources, ..self.clone() })
    }

    /// Reads the spans that are in the file.
    ///
    /// # Errors
    /// Those of opening the file, and [`Error::Damaged`] if it has not the spans that the manifest states.
    pub(super) fn read_dead(&mut self, folder: &Folder) -> Result<(), Error> {
        let path = folder.path().join(self.name_of(FileKind::Dead));
        let damaged = |what: &str, expected: u64, found: u64| Error::Damaged {
            path: path.clone(),
            what: what.into(),
            expected: expected.to_string(),
            found: found.to_string(),
        };
        let recordings = self.sources.iter().filter_map(|source| source.facts.recording.as_ref());
        let stated = recordings.map(|of| of.dead_in_file).fold(0, u64::saturating_add);
        let DeadFile { spans, crc } = self.dead.unwrap_or_default();
        if stated != spans {
            return Err(damaged("the number of dead spans of all sources", spans, stated));
        }
        let committed = self.committed().find(|committed| committed.kind == FileKind::Dead);
        let Some(committed) = committed else { return Ok(()) };
        let file = folder.open_file(&committed.file.name)?;
        let values = CheckedFile::new(folder, file, &committed, self.run_id)?.copy()?;
        let found = crc32c(&values);
        if found != crc {
            return Err(damaged("the checksum of its dead spans", crc.into(), found.into()));
        }
        let mut times = values.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes));
        let mut spans = std::iter::from_fn(|| Some((times.next()?, times.next()?)));
        for source in &mut self.sources {
            let Some(recording) = &mut source.facts.recording else { continue };
            let in_file = std::mem::take(&mut recording.dead_in_file);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "at most the spans of the file, which was read"
            )]
            let mut dead: Vec<(i64, i64)> = spans.by_ref().take(in_file as usize).collect();
            dead.append(&mut recording.dead);
            recording.dead = dead;
        }
        Ok(())
    }

    /// Returns the manifest of a store without the file, which lists all spans.
    pub(crate) fn with_all_dead(mut self) -> Self {
        (self.dead, self.files[FileKind::Dead]) = (None, None);
        self.set_version();
        self
    }
}
