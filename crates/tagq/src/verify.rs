//! Holding a store, and its sources, against their checksums.

use tagq_ingest::{Settings, is_intact};

use crate::{error::Error, run::Run};

/// What was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// Blocks of rows, all of them intact.
    pub blocks: usize,
    /// Rows in them.
    pub rows: u64,
    /// Sources whose hash was compared.
    pub sources: usize,
    /// Sources that were not compared: files that are gone, or were taken piece by piece into an older
    /// store.
    pub sources_unknown: usize,
}

impl Run {
    /// Holds every block of the store against its checksums, and with `sources` every source that
    /// is still there against the hash that it had. Reads all rows. `done` is told after each block
    /// how many of how many are done.
    ///
    /// # Errors
    /// [`tagq_store::Error::Damaged`] naming the first block that is not what was committed;
    /// [`Error::SourceDamaged`].
    pub fn verify(
        &self,
        sources: bool,
        done: &mut dyn FnMut(usize, usize),
    ) -> Result<Verified, Error> {
        let store = self.store();
        let blocks = store.blocks()?;
        store.guarded(|store| {
            for (i, block) in blocks.iter().enumerate() {
                store.check_block(block)?;
                done(i + 1, blocks.len());
            }
            Ok::<_, tagq_store::Error>(())
        })??;
        let mut verified = Verified {
            blocks: blocks.len(),
            rows: store.manifest().rows,
            sources: 0,
            sources_unknown: 0,
        };
        if sources {
            self.verify_sources(&mut verified)?;
        }
        Ok(verified)
    }

    fn verify_sources(&self, verified: &mut Verified) -> Result<(), Error> {
        let files = self.files();
        for source in &self.store().manifest().sources {
            let path = files.get(&source.facts.name);
            let intact = path.map(|path| is_intact(&source.facts, path, &Settings::default()));
            match intact.transpose()?.flatten() {
                Some(true) => verified.sources += 1,
                Some(false) => {
                    return Err(Error::SourceDamaged {
                        path: path.cloned().unwrap_or_default(),
                        run: self.path().into(),
                    });
                }
                None => verified.sources_unknown += 1,
            }
        }
        Ok(())
    }
}
