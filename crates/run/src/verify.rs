//! Verifies the checksums of a store and of its sources.

use std::sync::{Arc, atomic::AtomicBool};

use tagq_ingest::{Settings, is_intact};

use crate::{Run, cache, derive::verify_views, error::Error, location::RunLocation};

/// Result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Number of blocks of rows, all intact.
    pub blocks: usize,
    /// Number of rows in them.
    pub rows: u64,
    /// Number of sources whose hash was compared.
    pub sources: usize,
    /// Number of sources that were not compared: files that are gone, or that an older version ingested
    /// piece by piece.
    pub sources_unknown: usize,
    /// Number of views in the store, all intact.
    pub views: usize,
    /// Number of cached results in the store, all intact.
    pub results: usize,
}

impl Run {
    /// Verifies the checksums of every block of the store, of its views and cached results, and with `sources` the hash
    /// of every source that still exists. Reads all rows. After each block, `done` receives the number of blocks done
    /// and the total; it is stopped by `cancelled`.
    ///
    /// # Errors
    /// [`tagq_ingest::Error::Cancelled`];
    /// [`tagq_store::Error::Damaged`] with the first block that differs from the committed one;
    /// [`Error::KeptDamaged`]; [`Error::SourceDamaged`].
    pub fn verify(
        &self,
        sources: bool,
        cancelled: Option<Arc<AtomicBool>>,
        done: &mut dyn FnMut(usize, usize),
    ) -> Result<Verified, Error> {
        let settings = Settings { cancelled, ..Settings::default() };
        let store = self.store();
        let blocks = store.blocks()?;
        store.guarded(|store| {
            for (i, block) in blocks.iter().enumerate() {
                store.check_block(block)?;
                done(i + 1, blocks.len());
                settings.check_wanted()?;
            }
            Ok::<_, Error>(())
        })??;
        let mut verified = Verified {
            blocks: blocks.len(),
            rows: store.manifest().rows,
            sources: 0,
            sources_unknown: 0,
            views: 0,
            results: 0,
        };
        if sources {
            self.verify_sources(&mut verified, &settings)?;
        }
        verified.views = verify_views(store.folder())?;
        verified.results = cache::verify(store.folder())?;
        Ok(verified)
    }

    fn verify_sources(&self, verified: &mut Verified, settings: &Settings) -> Result<(), Error> {
        let files = self.files();
        for source in &self.store().manifest().sources {
            let name = &source.facts.name;
            // Of a store that the user named, the files are where its manifest says.
            let named = || RunLocation::file_named(self.store().folder(), name);
            let path = files.get(name).cloned().or_else(named).filter(|path| path.exists());
            let Some(path) = path else {
                verified.sources_unknown += 1;
                continue;
            };
            match is_intact(&source.facts, &path, settings)? {
                Some(true) => verified.sources += 1,
                Some(false) => {
                    return Err(Error::SourceDamaged { path, run: self.path().into() });
                }
                None => verified.sources_unknown += 1,
            }
        }
        Ok(())
    }
}
