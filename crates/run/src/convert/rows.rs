//! The tags of a run, passed on chunk by chunk: 16,384 rows at a time.
//!
//! A chunk in which damage was met is not passed on.

use std::{io, ops::Range};

use tagq_ingest::write::TagSink;
use tagq_store::{Tag, format::MICRO_NONE};

use super::{
    RowsDone,
    stretches::stretches,
    tags::{TagsOfRun, Wrote},
};
use crate::error::{Error, RequestError};

/// Rows that are passed on at once.
const CHUNK_ROWS: usize = 16_384;
/// Bytes per row, for progress displays.
pub(super) const ROW_BYTES: u64 = 9;

/// Passes the selected tags of a run to `sink`, without those that were read from a damaged block.
pub(super) fn write(
    sink: io::Result<Box<dyn TagSink>>,
    of: &TagsOfRun<'_>,
    done: &mut RowsDone<'_>,
) -> Result<Wrote, Error> {
    let TagsOfRun { run, selection, recording, shown, .. } = of;
    let io_error = |source| Error::Io { path: (*shown).into(), action: "write", source };
    if selection.is_of_tables() {
        return Err(RequestError::options(&["columns", "time"], 
            "only tables have chosen columns and times as floats; write .parquet, .arrow, .csv or .tsv".into(),
        ).into());
    }
    let mut sink = sink.map_err(io_error)?;
    sink.describe(recording);
    for &(first, last) in &recording.dead {
        sink.dead(first, last);
    }
    let written = run.store().guarded(|store| {
        let (all, column) = (store.tags(), store.micro());
        let stretches = stretches(store, all, selection)?;
        let total: u64 = stretches.iter().map(|stretch| stretch.rows.len() as u64).sum();
        let (mut tags, mut micro, mut buffer) = (Vec::new(), Vec::new(), Vec::new());
        let (mut written, mut through) = (0, 0);
        let undamaged = store.damage_met();
        for piece in stretches.into_iter().flat_map(|stretch| stretch.of_rows(CHUNK_ROWS)) {
            let times = all.time.read(piece.rows.clone(), &mut buffer);
            let labels = all.channels.read(piece.rows.clone());
            tags.clear();
            micro.clear();
            let rows = 0..times.len();
            let wanted = selection.channels.as_ref().filter(|_| !piece.is_whole).map(|wanted| {
                let is_wanted = |&row: &usize| wanted.contains(&labels.label(row));
                rows.clone().filter(is_wanted).collect::<Vec<usize>>()
            });
            extend(&mut tags, rows.clone(), wanted.as_deref(), |row| Tag {
                time: times[row],
                channel: labels.label(row).into(),
            });
            if let Some(column) = &column {
                let of_rows = column.read(piece.rows.clone());
                let of = |row| of_rows.get(row).unwrap_or(MICRO_NONE);
                extend(&mut micro, rows, wanted.as_deref(), of);
            }
            if store.damage_met() != undamaged {
                // The guard returns the error of the damage.
                break;
            }
            sink.push(&tags, &micro)?;
            written += tags.len() as u64;
            through += piece.rows.len() as u64;
            done(through, total).map_err(WriteError::Told)?;
        }
        Ok::<_, WriteError>((sink.finish()?, written))
    });
    let (out, tags) = written?.map_err(|error| match error {
        WriteError::Io(source) => io_error(source),
        WriteError::Store(error) => error.into(),
        WriteError::Told(error) => error,
    })?;
    Ok(Wrote { out, tags, lost: 0 })
}

/// Appends a value for each of `rows`, or only for those that are `wanted`.
fn extend<T>(
    to: &mut Vec<T>,
    rows: Range<usize>,
    wanted: Option<&[usize]>,
    of: impl Fn(usize) -> T,
) {
    match wanted {
        Some(wanted) => to.extend(wanted.iter().map(|&row| of(row))),
        None => to.extend(rows.map(of)),
    }
}

enum WriteError {
    Io(io::Error),
    Store(tagq_store::Error),
    /// The error of the receiver of the progress.
    Told(Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<tagq_store::Error> for WriteError {
    fn from(error: tagq_store::Error) -> Self {
        Self::Store(error)
    }
}
