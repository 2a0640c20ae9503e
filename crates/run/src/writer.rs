//! The writer of a run's store, with the columns that a new store gets.

use std::io;

use tagq_store::{Creation, Error as StoreError, Store, Tick, Writer};

use super::{location::RunLocation, options::OpenOptions};
use crate::error::Error;

/// Opens the writer of the store of the run, and creates the store if needed.
pub(crate) fn open_writer(location: &RunLocation, options: &OpenOptions) -> Result<Writer, Error> {
    let mut writer =
        Writer::open(&location.store, &creation(options)).map_err(|error| match error {
            StoreError::Io { source, .. }
                if is_not_writable(&source) && !Store::is_at(&location.store) =>
            {
                Error::NotWritable { store: location.store.clone(), reason: source.to_string() }
            }
            error => error.into(),
        })?;
    if let Err(error) = choose_columns(&mut writer, options) {
        writer.discard();
        return Err(error);
    }
    Ok(writer)
}

/// Works like [`open_writer`], for a store that replaces the one that is there.
pub(crate) fn open_writer_for_rebuild(
    location: &RunLocation,
    options: &OpenOptions,
) -> Result<Writer, Error> {
    if !Store::is_at(&location.store) {
        return open_writer(location, options);
    }
    Ok(Writer::open_for_rebuild(&location.store, &creation(options))?)
}

/// Gives a store that was never committed the columns of these options: gaps and far distances, the sums of which are
/// the times; with `times`, times and gaps; without `gaps`, times alone. Other stores keep their columns.
pub(crate) fn choose_columns(writer: &mut Writer, options: &OpenOptions) -> Result<(), Error> {
    let OpenOptions { gaps, times, .. } = *options;
    if writer.manifest().commit > 0 || !gaps {
        return Ok(());
    }
    Ok(if times { writer.make_gaps() } else { writer.drop_times() }?)
}

/// Returns the parameters of a new store.
pub(crate) fn creation(options: &OpenOptions) -> Creation {
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
