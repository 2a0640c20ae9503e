//! Batches of tags as Arrow has them: a column of times and a column of channels.

use std::sync::{Arc, OnceLock};

use arrow_array::{
    RecordBatch,
    cast::AsArray as _,
    types::{Int64Type, UInt8Type},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tagq_store::Tag;

use crate::{Result, framed::channel_byte};

/// Returns the schema of both columns.
pub fn schema() -> SchemaRef {
    static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
    let made = || {
        Arc::new(Schema::new(vec![
            Field::new("time", DataType::Int64, false),
            Field::new("channel", DataType::UInt8, false),
        ]))
    };
    Arc::clone(SCHEMA.get_or_init(made))
}

/// Returns a batch of these tags.
pub fn batch_of(tags: &[Tag]) -> Result<RecordBatch> {
    let time = arrow_array::Int64Array::from_iter_values(tags.iter().map(|tag| tag.time));
    let channel = arrow_array::UInt8Array::from_iter_values(tags.iter().map(channel_byte));
    Ok(RecordBatch::try_new(schema(), vec![Arc::new(time), Arc::new(channel)])?)
}

/// Returns the columns of a batch.
pub fn columns_of(batch: &RecordBatch) -> Result<(&[i64], &[u8])> {
    let wrong = "a column of another type";
    let time = batch.column(0).as_primitive_opt::<Int64Type>().ok_or(wrong)?;
    let channel = batch.column(1).as_primitive_opt::<UInt8Type>().ok_or(wrong)?;
    Ok((time.values(), channel.values()))
}

/// Appends the tags of a batch.
pub fn append(batch: &RecordBatch, tags: &mut Vec<Tag>) -> Result<()> {
    let (time, channel) = columns_of(batch)?;
    let rows = time.iter().zip(channel);
    tags.extend(rows.map(|(&time, &channel)| Tag { time, channel: channel.into() }));
    Ok(())
}

/// Returns the tag of a row.
pub fn tag_at((time, channel): (&[i64], &[u8]), row: usize) -> Tag {
    Tag { time: time[row], channel: channel[row].into() }
}
