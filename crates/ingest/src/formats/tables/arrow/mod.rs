//! Arrow's IPC format: messages with a schema and batches of columns. A file of it (Feather, version 2) has the same
//! messages between a magic number and a footer, which says where the batches stand. The messages of a stream are read
//! one after the other.
//!
//! The library `arrow-ipc` verifies and decodes the messages. Its reader takes memory for a whole batch, and many
//! programs write a whole table as one batch: so the columns of a batch are read and decompressed here piece by
//! piece. Of each batch, its description (at most 16 MiB) is in memory.
//!
//! Source: Apache Arrow, Columnar.html.

mod batch;
mod schema;

use std::sync::Arc;

use arrow_ipc::{
    Message as MessageOf, MessageHeader, RecordBatch, root_as_footer, root_as_message,
};
use batch::Batch;
use schema::Schema;

use super::{
    bytes::{Bytes, check_apart},
    check_plain,
    fault::{TableFault, damaged},
    notes,
    reading::{Begin, Reading, TableRows},
};
use crate::{
    error::Error,
    formats::{
        columns::{ChosenColumns, ColumnNames, ColumnPlaces},
        format::{Format, FormatFacts, Header, Reader, Sink, Summary},
    },
    payload::Payload,
    settings::Settings,
};

const NAME: &str = "arrow";
const KIND: &str = "an Arrow file";
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The length of the footer and the magic number stand at the end of a file.
const TAIL_BYTES: u64 = 10;
/// The longest description of a batch, and the longest footer.
const MESSAGE_BYTES_MAX: u32 = 16 << 20;

/// The end of a stream that was cut after a batch, or to which batches may still come.
const NO_END: &str = "the stream has no end mark, so batches may be missing after its last one";

/// Files and streams of Arrow.
pub(crate) struct Arrow;

impl Format for Arrow {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME, "feather"],
            suffixes: &[],
            recognised: "bytes ARROW1; a stream: ff ff ff ff and a length; only where the file is named",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        // A stream begins with a marker and the length of its schema. Messages of tags have no such length.
        let len = start.strip_prefix(&CONTINUATION).and_then(|rest| rest.first_chunk());
        let len = len.map_or(0, |len| u32::from_le_bytes(*len));
        start.starts_with(MAGIC) || (1..=MESSAGE_BYTES_MAX).contains(&len)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for Arrow {
    fn header(&self, payload: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        check_plain(payload, KIND)?;
        let (schema, _) = Messages::open(payload).map_err(|fault| fault.name(payload))?;
        let notes = schema.notes.iter().map(|(key, value)| (&**key, &**value));
        Ok(notes::read(notes).0)
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        check_plain(payload, KIND)?;
        let begun = begin(payload, settings).map_err(|fault| fault.name(payload))?;
        let Begun { mut messages, schema, places, names, rows } = begun;
        let notes = schema.notes.iter().map(|(key, value)| (&**key, &**value));
        let (Header { tick, micro_tick, .. }, recording) = notes::read(notes);
        let micro_tick = micro_tick.filter(|_| places.micro.is_some());
        let chosen = ChosenColumns::Named(names);
        let facts = Begin { format: NAME, chosen, rows_max: rows, tick, micro_tick, recording };
        let mut reading = Reading::begin(facts, payload, settings, sink)?;
        while let Some(message) = messages.next().map_err(|fault| fault.name(payload))? {
            let part = part(&message, messages.file, &schema, places);
            if let Some(part) = part.map_err(|fault| fault.name(payload))? {
                reading.part(part)?;
            }
        }
        let torn = (!messages.is_ended).then(|| NO_END.to_owned());
        Ok(Summary { torn, ..reading.finish()? })
    }
}

/// The notes in a schema that stands alone, in a message; `None` if there is no schema.
pub(super) fn notes(message: &[u8]) -> Option<Vec<(String, String)>> {
    let rest = message.strip_prefix(&CONTINUATION).unwrap_or(message);
    // A copy, because numbers in it stand at multiples of their length.
    let bytes = rest.get(4..)?.to_vec();
    Some(schema::notes(root_as_message(&bytes).ok()?.header_as_schema()?))
}

struct Begun<'a> {
    messages: Messages<'a>,
    schema: Schema,
    places: ColumnPlaces,
    names: ColumnNames,
    /// Rows of all batches.
    rows: u64,
}

fn begin<'a>(payload: &Payload<'a>, settings: &Settings) -> Result<Begun<'a>, TableFault> {
    let (schema, messages) = Messages::open(payload)?;
    let names: Vec<String> = schema.columns.iter().map(|column| column.name.clone()).collect();
    let places = settings.column_names().find(&names)?;
    for place in [Some(places.time), Some(places.channel), places.micro].into_iter().flatten() {
        schema.columns[place].number()?;
    }
    let mut ahead = messages.clone();
    let (mut rows, mut places_of) = (0_u64, Vec::new());
    while let Some(message) = ahead.next()? {
        if let Some(batch) = message.batch()? {
            rows = rows.saturating_add(batch.length().unsigned_abs());
        }
        places_of.push(message.start..message.end);
    }
    check_apart(places_of, "batches")?;
    Ok(Begun { messages, names: ColumnNames::at(places, &names), schema, places, rows })
}

/// The columns of tags in a message; `None` if it is no batch of rows.
fn part<'a>(
    message: &'a Message,
    file: Bytes<'a>,
    schema: &Schema,
    places: ColumnPlaces,
) -> Result<Option<TableRows<'a>>, TableFault> {
    let Some(batch) = message.batch()? else { return Ok(None) };
    let batch = Batch::new(file, schema, batch, message.body..message.end)?;
    Ok(Some(TableRows {
        rows: batch.rows,
        time: batch.column(places.time, schema)?,
        channel: batch.column(places.channel, schema)?,
        micro: places.micro.map(|place| batch.column(place, schema)).transpose()?,
    }))
}

/// The messages after the schema.
#[derive(Clone)]
struct Messages<'a> {
    file: Bytes<'a>,
    /// Where the next message of a stream begins.
    at: u64,
    /// Of a file, where each batch begins that was not read, and the length of its description; the next one last.
    blocks: Option<Vec<(u64, u64)>>,
    /// Whether the end of a stream was read; a file has its footer.
    is_ended: bool,
}

/// A message.
struct Message {
    bytes: Vec<u8>,
    start: u64,
    /// Where the buffers after it begin.
    body: u64,
    /// Where they end.
    end: u64,
}

impl<'a> Messages<'a> {
    /// Reads the schema.
    fn open(payload: &Payload<'a>) -> Result<(Schema, Self), TableFault> {
        let file = Bytes::of(payload);
        let start = file.read(0, file.size.min(MAGIC.len() as u64))?;
        let mut messages = Self { file, at: 0, blocks: None, is_ended: start == MAGIC };
        if start != MAGIC {
            let Some(message) = messages.next()? else { return damaged("it has no schema") };
            return match message.verified()?.header_as_schema() {
                Some(schema) => Ok((Schema::of(schema)?, messages)),
                None => damaged("it does not begin with a schema"),
            };
        }
        let footer = footer(file)?;
        let Ok(footer) = root_as_footer(&footer) else {
            return damaged("its footer is impossible");
        };
        let Some(schema) = footer.schema() else { return damaged("it has no schema") };
        let mut blocks = Vec::new();
        for block in footer.recordBatches().into_iter().flatten().rev() {
            let len = u64::try_from(block.metaDataLength());
            let (Ok(at), Ok(len)) = (u64::try_from(block.offset()), len) else {
                return damaged("a batch begins before the file");
            };
            blocks.push((at, len));
        }
        messages.blocks = Some(blocks);
        Ok((Schema::of(schema)?, messages))
    }

    /// Reads the next message; `None` after the last one.
    fn next(&mut self) -> Result<Option<Message>, TableFault> {
        if let Some(blocks) = &mut self.blocks {
            let Some((at, len)) = blocks.pop() else { return Ok(None) };
            self.at = at;
            let mut head = 4;
            if self.len()?.to_le_bytes() == CONTINUATION {
                head = 8;
            }
            self.at = at.saturating_add(head);
            return self.message(len.saturating_sub(head)).map(Some);
        }
        if self.at == self.file.size {
            return Ok(None);
        }
        let mut len = self.len()?;
        // Older writers have no marker.
        if len.to_le_bytes() == CONTINUATION {
            len = self.len()?;
        }
        if len > 0 {
            return self.message(len.into()).map(Some);
        }
        self.is_ended = true;
        if self.at == self.file.size { Ok(None) } else { damaged("bytes follow its end") }
    }

    /// Reads a message of `len` bytes.
    fn message(&mut self, len: u64) -> Result<Message, TableFault> {
        if len > u64::from(MESSAGE_BYTES_MAX) {
            return damaged(format!("it has a message of {len} bytes at byte {}", self.at));
        }
        let (start, body) = (self.at, self.at + len);
        let mut message = Message { bytes: self.file.read(start, len)?, start, body, end: body };
        let Ok(body_bytes) = u64::try_from(message.verified()?.bodyLength()) else {
            return damaged("a message has a negative length");
        };
        self.file.section(body, body_bytes)?;
        message.end = body + body_bytes;
        self.at = message.end;
        Ok(message)
    }

    /// Reads a length.
    fn len(&mut self) -> Result<u32, TableFault> {
        let bytes = self.file.read(self.at, 4)?;
        self.at += 4;
        Ok(bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }
}

/// Reads the footer of a file.
fn footer(file: Bytes<'_>) -> Result<Vec<u8>, TableFault> {
    let tail = file.size.saturating_sub(TAIL_BYTES);
    let bytes = file.read(tail, file.size - tail)?;
    let Some((len, MAGIC)) = bytes.split_first_chunk() else {
        return damaged("it does not end as an Arrow file does; is it complete?");
    };
    let len = u64::from(u32::from_le_bytes(*len));
    if len > u64::from(MESSAGE_BYTES_MAX) || len > tail {
        return damaged(format!("its footer says that it has {len} bytes"));
    }
    file.read(tail - len, len)
}

impl Message {
    fn verified(&self) -> Result<MessageOf<'_>, TableFault> {
        root_as_message(&self.bytes)
            .map_err(|_| TableFault::Damaged("a message in it is impossible".into()))
    }

    /// The batch of rows in the message, if it has one.
    fn batch(&self) -> Result<Option<RecordBatch<'_>>, TableFault> {
        let message = self.verified()?;
        match message.header_type() {
            MessageHeader::RecordBatch => match message.header_as_record_batch() {
                Some(batch) => Ok(Some(batch)),
                None => damaged("a batch has no description"),
            },
            MessageHeader::DictionaryBatch => Ok(None),
            _ => damaged("a message is neither a batch nor a dictionary"),
        }
    }
}
