//! The writer of a run's store.

use std::io;

use tagq_store::{Creation, Error as StoreError, Store, Tick, Writer};

use crate::{error::Error, options::Options, place::Place};

/// Opens the writer of the store of the run, and creates the store if needed.
pub(crate) fn open_writer(place: &Place, options: &Options) -> Result<Writer, Error> {
    Writer::open(&place.store, &creation(options)).map_err(|error| match error {
        StoreError::Io { source, .. }
            if is_not_writable(&source) && !Store::is_at(&place.store) =>
        {
            Error::NotWritable { store: place.store.clone(), reason: source.to_string() }
        }
        error => error.into(),
    })
}

/// Returns the parameters of a new store.
pub(crate) fn creation(options: &Options) -> Creation {
    Creation {
        tick: options.tick.unwrap_or(Tick::DEFAULT),
        tick_assumed: options.tick.is_none(),
        run_id: options.run_id,
    }
}

/// Whether a folder is not writable, for any reason.
pub(crate) fn is_not_writable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge
            | io::ErrorKind::InvalidFilename
    )
}
