//! Writing tags and answers to files and pipes.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tagq::{Answer, RowsDone, Run, TagSelection, requests::Listing, stretches};

use crate::{
    BatchWriter, Error, TableForm, Touched,
    answers::{batch, batches_of, schema_of, schema_of_answers},
    batches::{BATCH_BLOCKS, Maker},
};

/// Result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of tags written.
    pub tags: u64,
    /// Number of tags whose float does not identify their tick.
    pub lost: u64,
}

/// Writes the selected tags of `run` to `out`, and returns `out`. At most about a million tags are in
/// memory at a time. If a column is truncated during the export, this is an error, not a crash.
///
/// # Errors
/// Errors from reading the columns and of `out`.
pub fn write_tags<W: Write + Send>(
    run: &Run,
    selection: &TagSelection,
    out: W,
    form: TableForm,
) -> Result<(W, Written), Error> {
    write_tags_telling(run, selection, out, form, &mut |_, _| Ok(()))
}

/// Works like [`write_tags`], and regularly calls `done` with the number of rows done and the total; an error of
/// `done` ends the export.
///
/// # Errors
/// Same as [`write_tags`].
pub fn write_tags_telling<W: Write + Send>(
    run: &Run,
    selection: &TagSelection,
    out: W,
    form: TableForm,
    done: &mut RowsDone<'_>,
) -> Result<(W, Written), Error> {
    let maker = Maker::new(run, selection)?;
    let touched = Touched::default();
    let written = run.store().guarded(|store| {
        let stretches = stretches(store, store.tags(), selection)?;
        let mut writer = BatchWriter::new(out, form, &maker.schema)?;
        let rows: u64 = stretches.iter().map(|stretch| stretch.rows.len() as u64).sum();
        let (mut tags, mut through) = (0, 0);
        let undamaged = store.damage_met();
        for piece in stretches.into_iter().flat_map(|stretch| stretch.pieces(BATCH_BLOCKS)) {
            through += piece.rows.len() as u64;
            let micro = store.micro().map(|micro| micro.rows(piece.rows.clone()));
            let batch = maker.picked(store.tags().rows(piece.rows), micro, &touched)?;
            if store.damage_met() != undamaged {
                // The guard reports the damage.
                break;
            }
            tags += batch.num_rows() as u64;
            writer.push(&batch)?;
            done(through, rows)?;
        }
        Ok::<_, Error>((writer.finish()?, Written { tags, lost: touched.lost() }))
    });
    written.map_err(Error::from)?
}

/// Writes answers as one table to `out`, in batches, and returns `out`.
///
/// # Errors
/// Errors of [`schema_of_answers`] and of `out`.
pub fn write_answers<W: Write + Send>(of: &[Answer], out: W, form: TableForm) -> Result<W, Error> {
    let schema = schema_of_answers(of)?;
    let mut writer = BatchWriter::new(out, form, &schema)?;
    for batch in of.iter().flat_map(|answer| batches_of(&schema, answer)) {
        writer.push(&batch?)?;
    }
    writer.finish()
}

/// Writes lists as one table to `out`, in batches as they are found, and returns `out`. The columns are
/// those of the heads of all lists; missing columns are null.
///
/// # Errors
/// Errors of the queries and of `out`.
pub fn write_listings<W: Write + Send>(
    listings: &[Listing<'_>],
    out: W,
    form: TableForm,
) -> Result<W, Error> {
    let schema = schema_of_listings(listings)?;
    let mut writer = BatchWriter::new(out, form, &schema)?;
    for listing in listings {
        stream_listing(listing, &schema, &mut |batch| writer.push(&batch))?;
    }
    writer.finish()
}

/// Returns the columns of lists, each once, in order of first appearance; the query is in the metadata.
///
/// # Errors
/// [`Error::Description`].
pub fn schema_of_listings(listings: &[Listing<'_>]) -> Result<SchemaRef, Error> {
    let heads: Vec<&Answer> = listings.iter().map(Listing::head).collect();
    schema_of(&heads)
}

/// Passes the rows of a list to `take`, in batches of this schema, as they are found. Stops at the
/// first error.
///
/// # Errors
/// Errors of the query and of `take`.
pub fn stream_listing(
    listing: &Listing<'_>,
    schema: &SchemaRef,
    take: &mut (dyn FnMut(RecordBatch) -> Result<(), Error> + Send),
) -> Result<(), Error> {
    let mut fault = None;
    let listed = listing.stream(&mut |rows| {
        let taken = batch(schema, &listing.head().run.path, &rows, 0..rows.len());
        let taken = taken.and_then(&mut *take);
        taken.map_err(|error| {
            fault = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    fault.map_or(Ok(()), Err)?;
    Ok(listed?)
}
