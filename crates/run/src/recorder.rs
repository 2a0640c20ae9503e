//! A store that a program writes while it records.
//!
//! Each opening begins a source of its own, `recorder-1`, `recorder-2` and so on, because nothing was recorded in
//! between.

use std::path::Path;

use tagq_store::{Creation, SourceFacts, Store, Tick, Writer};

use crate::{
    destination::check_outside_stores,
    error::{Error, RequestError},
    options::OpenOptions,
    writer::choose_columns,
};

/// Start of the names of the sources that recorders write; a number follows.
const NAME: &str = "recorder-";

/// Writes tags to a store, in commits that readers follow. It holds the store's lock until it is dropped; tags
/// since the last commit are gone then.
#[derive(Debug)]
pub struct Recorder {
    writer: Writer,
    facts: SourceFacts,
}

impl Recorder {
    /// Makes the store at `at`, or continues one that a recorder wrote: its tags get a source of their own, because
    /// nothing was recorded in between.
    ///
    /// # Errors
    /// [`Error::Request`] for a store of files, [`tagq_store::Error::TickGiven`] and
    /// [`tagq_store::Error::MicroTick`] for another tick, [`tagq_store::Error::Busy`], and errors of the disk.
    pub fn open(at: &Path, tick: Tick, micro_tick: Option<Tick>) -> Result<Self, Error> {
        if !Store::is_at(at) {
            check_outside_stores(at)?;
        }
        let creation = Creation { tick, tick_assumed: false, run_id: None };
        let mut writer = Writer::open(at, &creation)?;
        let sources = &writer.manifest().sources;
        if let Some(file) = sources.iter().find(|source| !source.facts.name.starts_with(NAME)) {
            return Err(RequestError::Invalid(format!(
                "{}: a store with tags of {}; a recorder writes a store of its own",
                at.display(),
                file.facts.name
            ))
            .into());
        }
        let facts = SourceFacts::named(&format!("{NAME}{}", sources.len() + 1));
        choose_columns(&mut writer, &OpenOptions::default())?;
        writer.set_tick(tick, false)?;
        if let Some(tick) = micro_tick {
            writer.set_micro_tick(tick)?;
        }
        writer.begin_source();
        let mut recorder = Self { writer, facts };
        // Readers can open it from now on.
        recorder.commit()?;
        Ok(recorder)
    }

    /// Appends tags, as [`NewStore::append_with_micro`](crate::NewStore::append_with_micro) does.
    ///
    /// # Errors
    /// [`tagq_store::Error::Unsorted`] and [`tagq_store::Error::Span`] before anything is written, and errors of the
    /// disk.
    ///
    /// # Panics
    /// Panics if the lengths differ.
    pub fn append(&mut self, times: &[i64], channels: &[u16], micro: &[u32]) -> Result<(), Error> {
        Ok(self.writer.append_with_micro(times, channels, micro)?)
    }

    /// Makes the tags so far durable and visible.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.writer.finish_source(self.facts.clone());
        self.writer.commit()?;
        self.writer.continue_source();
        Ok(())
    }

    /// Returns the number of tags since the last commit.
    pub fn uncommitted(&self) -> u64 {
        self.writer.uncommitted_rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpenOptions, Silent, open};

    #[test]
    fn readers_see_what_is_committed_and_a_second_recording_is_a_source_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("live.tagq");
        let tick: Tick = "1ns".parse().unwrap();
        let seen = || {
            let run = open(&at, &OpenOptions::default(), &Silent).unwrap();
            (run.store().tags().time.to_vec(), run.live_ticks())
        };
        let mut recorder = Recorder::open(&at, tick, None).unwrap();
        assert_eq!(seen(), (vec![], 0));
        recorder.append(&[10, 20], &[1, 300], &[]).unwrap();
        assert_eq!((seen(), recorder.uncommitted()), ((vec![], 0), 2));
        recorder.commit().unwrap();
        recorder.append(&[30], &[1], &[]).unwrap();
        assert_eq!(seen(), (vec![10, 20], 10));
        assert!(recorder.append(&[29], &[1], &[]).is_err());
        recorder.append(&[40], &[1], &[]).unwrap();
        recorder.commit().unwrap();
        assert_eq!(seen(), (vec![10, 20, 30, 40], 30));
        assert!(Recorder::open(&at, tick, None).unwrap_err().is_busy());
        drop(recorder);
        assert!(Recorder::open(&at, "2ns".parse().unwrap(), None).is_err());
        let mut again = Recorder::open(&at, tick, None).unwrap();
        again.append(&[100, 105], &[1, 2], &[]).unwrap();
        again.commit().unwrap();
        // The time between the two recordings is no live time.
        assert_eq!(seen(), (vec![10, 20, 30, 40, 100, 105], 35));
    }
}
