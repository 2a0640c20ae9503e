//! Tags and answers into files and pipes.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tagq::{Answer, Run, requests::Listing};

use crate::{
    BatchWriter, Error, Form, Selection, Touched,
    answers::{batch, batches_of, schema_of, schema_of_answers},
    batches::{BATCH_BLOCKS, Maker},
    plan,
};

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Tags.
    pub tags: u64,
    /// Tags of which the float column does not say which tick it was.
    pub lost: u64,
}

/// Writes the selected tags of `run` to `out`, and gives it back. Memory holds a million tags or so,
/// however many there are. A column that is cut short meanwhile is an error, not a crash.
///
/// # Errors
/// Those of reading the columns and of `out`.
pub fn write_tags<W: Write + Send>(
    run: &Run,
    selection: &Selection,
    out: W,
    form: Form,
) -> Result<(W, Written), Error> {
    write_tags_telling(run, selection, out, form, &mut |_, _| ())
}

/// The same, and tells `done` again and again how many rows of how many are through.
///
/// # Errors
/// As [`write_tags`].
pub fn write_tags_telling<W: Write + Send>(
    run: &Run,
    selection: &Selection,
    out: W,
    form: Form,
    done: &mut dyn FnMut(u64, u64),
) -> Result<(W, Written), Error> {
    let maker = Maker::new(run, selection)?;
    let touched = Touched::default();
    let written = run.store().guarded(|store| {
        let stretches = plan::stretches(store, store.tags(), selection)?;
        let mut writer = BatchWriter::new(out, form, &maker.schema)?;
        let rows: u64 = stretches.iter().map(|stretch| stretch.rows.len() as u64).sum();
        let (mut tags, mut through) = (0, 0);
        for piece in stretches.into_iter().flat_map(|stretch| stretch.pieces(BATCH_BLOCKS)) {
            through += piece.rows.len() as u64;
            let batch = maker.picked(store.tags().rows(piece.rows), &touched)?;
            tags += batch.num_rows() as u64;
            writer.push(&batch)?;
            done(through, rows);
        }
        Ok::<_, Error>((writer.finish()?, Written { tags, lost: touched.lost() }))
    });
    written.map_err(Error::from)?
}

/// Writes answers as one table to `out`, batch by batch, and gives it back.
///
/// # Errors
/// Those of [`schema_of_answers`] and of `out`.
pub fn write_answers<W: Write + Send>(of: &[Answer], out: W, form: Form) -> Result<W, Error> {
    let schema = schema_of_answers(of)?;
    let mut writer = BatchWriter::new(out, form, &schema)?;
    for batch in of.iter().flat_map(|answer| batches_of(&schema, answer)) {
        writer.push(&batch?)?;
    }
    writer.finish()
}

/// Writes lists as one table to `out`, batch by batch as they are found, and gives it back. The columns
/// are those of the heads of all lists; what one lacks is null.
///
/// # Errors
/// Those of the queries and of `out`.
pub fn write_listings<W: Write + Send>(
    listings: &[Listing<'_>],
    out: W,
    form: Form,
) -> Result<W, Error> {
    let schema = schema_of_listings(listings)?;
    let mut writer = BatchWriter::new(out, form, &schema)?;
    for listing in listings {
        stream_listing(listing, &schema, &mut |batch| writer.push(&batch))?;
    }
    writer.finish()
}

/// The columns of lists, each once, in the order they first come in; what was asked is in the metadata.
///
/// # Errors
/// [`Error::Description`].
pub fn schema_of_listings(listings: &[Listing<'_>]) -> Result<SchemaRef, Error> {
    let heads: Vec<&Answer> = listings.iter().map(Listing::head).collect();
    schema_of(&heads)
}

/// Gives the rows of a list to `take`, in batches of this schema, as they are found. Stops at its first
/// error.
///
/// # Errors
/// Those of the query and of `take`.
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
