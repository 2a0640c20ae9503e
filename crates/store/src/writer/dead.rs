//! The file of dead spans: written with the commit whose manifest would list too many of them.
//!
//! One source with 5,000 spans would list 4,999 besides its last one. These are more than 4,096, so they are written
//! into the file. If spans in the file have changed, it is written again under another name.

use super::Writer;
use crate::{
    Error,
    checksum::crc32c_append,
    files::FileKind,
    manifest::{
        DeadFile,
        dead::{LISTED_MAX, all_filed},
    },
};

/// Spans that are written at once.
const PIECE: usize = 65_536;

impl Writer {
    /// Appends the spans that the file does not have; writes it again, under another name, if it has others.
    pub(super) fn write_dead(&mut self) -> Result<(), Error> {
        let spans = all_filed(&self.sources).count();
        if !self.manifest.has(FileKind::Dead) {
            if spans <= LISTED_MAX {
                return Ok(());
            }
            self.renew_dead()?;
        }
        let has_others = || {
            let mut wanted = all_filed(&self.sources);
            !all_filed(&self.manifest.sources).all(|span| wanted.next() == Some(span))
        };
        if self.manifest.dead.is_some_and(|dead| dead.spans > 0) && has_others() {
            self.renew_dead()?;
        }
        let mut written = self.manifest.dead.unwrap_or_default();
        #[expect(clippy::cast_possible_truncation, reason = "spans in memory")]
        let rest: Vec<(i64, i64)> = all_filed(&self.sources).skip(written.spans as usize).collect();
        for piece in rest.chunks(PIECE) {
            let bytes: Vec<u8> = piece
                .iter()
                .flat_map(|&(first, last)| [first, last])
                .flat_map(i64::to_le_bytes)
                .collect();
            written.crc = crc32c_append(written.crc, &bytes);
            written.spans += piece.len() as u64;
            if let Some(file) = &mut self.files[FileKind::Dead] {
                file.append(&bytes)?;
            }
        }
        self.manifest.dead = Some(written);
        Ok(())
    }

    fn renew_dead(&mut self) -> Result<(), Error> {
        let (entry, file) = self.create_file(FileKind::Dead, 16)?;
        self.replace_file(FileKind::Dead, entry, file);
        self.manifest.dead = Some(DeadFile::default());
        Ok(())
    }
}
