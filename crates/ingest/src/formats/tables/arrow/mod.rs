//! Arrow's IPC format: messages with a schema and batches of columns. A file of it (Feather, version 2) has the same
//! messages between a magic number and a footer. They are read one after the other, and the footer tells whether all
//! are there.
//!
//! The library `arrow-ipc` verifies and decodes the messages. Its reader takes memory for a whole batch, and many
//! programs write a whole table as one batch: so the columns of a batch are read and decompressed here piece by
//! piece. Of each batch, its description (at most 16 MiB) is in memory.
//!
//! Source: Apache Arrow, Columnar.html.

mod batch;
mod schema;

use arrow_ipc::{
    Message as MessageOf, MessageHeader, RecordBatch, root_as_footer, root_as_message,
};
use batch::Batch;
use schema::Schema;

use super::{
    bytes::Bytes,
    check_plain,
    fault::{Fault, damaged},
    notes,
    reading::{Begin, Part, Reading},
};
use crate::{
    error::Error,
    formats::{
        columns::{ColumnNames, Columns, Places},
        format::{Format, Header, Sink, Summary},
    },
    payload::Payload,
    settings::Settings,
};

const NAME: &str = "arrow";
const KIND: &str = "an Arrow file";
const MAGIC: &[u8] = b"ARROW1";
/// Zeros fill the magic number of a file up to a multiple of 8 bytes; at most this one.
const FILLED_BYTES_MAX: u64 = 256;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The length of the footer and the magic number stand at the end of a file.
const TAIL_BYTES: u64 = 10;
/// The longest description of a batch, and the longest footer.
const MESSAGE_BYTES_MAX: u32 = 16 << 20;

/// Files and streams of Arrow.
pub(crate) struct Arrow;

impl Format for Arrow {
    fn names(&self) -> &'static [&'static str] {
        &[NAME, "feather"]
    }

    fn recognised(&self) -> &'static str {
        "bytes ARROW1; a stream: ff ff ff ff and a length; only where the file is named"
    }

    fn suffixes(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_start(&self, start: &[u8]) -> bool {
        // A stream begins with a marker and the length of its schema. Messages of tags have no such length.
        let len = start.strip_prefix(&CONTINUATION).and_then(|rest| rest.first_chunk());
        let len = len.map_or(0, |len| u32::from_le_bytes(*len));
        start.starts_with(MAGIC) || (1..=MESSAGE_BYTES_MAX).contains(&len)
    }

    fn header(&self, payload: &Payload<'_>) -> Result<Option<Header>, Error> {
        check_plain(payload, KIND)?;
        let schema = Messages::new(payload).schema().map_err(|fault| fault.name(payload))?;
        let notes = schema.notes.iter().map(|(key, value)| (&**key, &**value));
        Ok(Some(notes::header(notes)))
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
        let micro_tick = notes::header(notes).micro_tick.filter(|_| places.micro.is_some());
        let facts = Begin { format: NAME, rows_max: rows, micro_tick };
        let mut reading = Reading::begin(facts, payload, settings, sink)?;
        while let Some(message) = messages.next().map_err(|fault| fault.name(payload))? {
            let part = part(&message, messages.file, &schema, places);
            if let Some(part) = part.map_err(|fault| fault.name(payload))? {
                reading.part(part)?;
            }
        }
        reading.finish(Columns::Named(names))
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
    places: Places,
    names: ColumnNames,
    /// Rows of all batches.
    rows: u64,
}

fn begin<'a>(payload: &Payload<'a>, settings: &Settings) -> Result<Begun<'a>, Fault> {
    let mut messages = Messages::new(payload);
    let schema = messages.schema()?;
    let names: Vec<String> = schema.columns.iter().map(|column| column.name.clone()).collect();
    let wanted = Columns::names(settings.columns.as_ref(), settings.columns_before.as_ref());
    let places = wanted.find(&names).map_err(Fault::Refused)?;
    for place in [Some(places.time), Some(places.channel), places.micro].into_iter().flatten() {
        schema.columns[place].number()?;
    }
    let first = messages.at;
    let (mut rows, mut batches) = (0_u64, 0);
    while let Some(message) = messages.next()? {
        if let Some(batch) = message.batch()? {
            rows = rows.saturating_add(batch.length().unsigned_abs());
            batches += 1;
        }
    }
    messages.check_end(batches)?;
    messages.at = first;
    Ok(Begun { messages, names: ColumnNames::at(places, &names), schema, places, rows })
}

/// The columns of tags in a message; `None` if it is no batch of rows.
fn part<'a>(
    message: &'a Message,
    file: Bytes<'a>,
    schema: &Schema,
    places: Places,
) -> Result<Option<Part<'a>>, Fault> {
    let Some(batch) = message.batch()? else { return Ok(None) };
    let batch = Batch::new(file, schema, batch, message.body)?;
    Ok(Some(Part {
        rows: batch.rows,
        time: batch.column(places.time, schema)?,
        channel: batch.column(places.channel, schema)?,
        micro: places.micro.map(|place| batch.column(place, schema)).transpose()?,
    }))
}

/// The messages of a file.
struct Messages<'a> {
    file: Bytes<'a>,
    /// Where the messages of a file begin; those of a stream begin at 0.
    begin: u64,
    at: u64,
}

/// A message.
struct Message {
    bytes: Vec<u8>,
    /// Where the buffers after it begin.
    body: u64,
}

impl<'a> Messages<'a> {
    fn new(payload: &Payload<'a>) -> Self {
        let file = Bytes::of(payload);
        let first = file.read(0, file.size.min(FILLED_BYTES_MAX)).unwrap_or_default();
        let filled = first.strip_prefix(MAGIC).map_or(0, |rest| {
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            (MAGIC.len() + zeros) / 8 * 8
        });
        Self { file, begin: filled as u64, at: filled as u64 }
    }

    /// Checks that these are all batches, after the last message was read.
    fn check_end(&self, batches: usize) -> Result<(), Fault> {
        let Self { file, begin, at } = *self;
        if begin == 0 {
            return if at == file.size { Ok(()) } else { damaged("bytes follow its end") };
        }
        let ends = || damaged("it does not end as an Arrow file does; is it complete?");
        let Some(tail) = file.size.checked_sub(TAIL_BYTES).filter(|&tail| tail >= at) else {
            return ends();
        };
        let bytes = file.read(tail, TAIL_BYTES)?;
        let Some((len, MAGIC)) = bytes.split_first_chunk() else {
            return ends();
        };
        let len = u64::from(u32::from_le_bytes(*len));
        if len > u64::from(MESSAGE_BYTES_MAX) || len > tail - at {
            return damaged(format!("its footer says that it has {len} bytes"));
        }
        let footer = file.read(tail - len, len)?;
        let Ok(footer) = root_as_footer(&footer) else {
            return damaged("its footer is impossible");
        };
        if footer.recordBatches().map_or(0, |blocks| blocks.len()) != batches {
            return damaged("its footer names another number of batches");
        }
        Ok(())
    }

    /// The schema, with which the messages begin.
    fn schema(&mut self) -> Result<Schema, Fault> {
        match self.next()? {
            Some(message) => match message.verified()?.header_as_schema() {
                Some(schema) => Schema::of(schema),
                None => damaged("it does not begin with a schema"),
            },
            None => damaged("it has no schema"),
        }
    }

    /// Reads the next message; `None` after the last one.
    fn next(&mut self) -> Result<Option<Message>, Fault> {
        if self.at == self.file.size {
            return Ok(None);
        }
        let mut len = self.len()?;
        // Older writers have no marker.
        if len.to_le_bytes() == CONTINUATION {
            len = self.len()?;
        }
        if len == 0 {
            return Ok(None);
        }
        if len > MESSAGE_BYTES_MAX {
            return damaged(format!("it has a message of {len} bytes at byte {}", self.at));
        }
        let mut message = Message { bytes: self.file.read(self.at, len.into())?, body: 0 };
        message.body = self.at + u64::from(len);
        let Ok(body_bytes) = u64::try_from(message.verified()?.bodyLength()) else {
            return damaged("a message has a negative length");
        };
        self.file.section(message.body, body_bytes)?;
        self.at = message.body + body_bytes;
        Ok(Some(message))
    }

    /// Reads a length.
    fn len(&mut self) -> Result<u32, Fault> {
        let bytes = self.file.read(self.at, 4)?;
        self.at += 4;
        Ok(bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)))
    }
}

impl Message {
    fn verified(&self) -> Result<MessageOf<'_>, Fault> {
        root_as_message(&self.bytes)
            .map_err(|_| Fault::Damaged("a message in it is impossible".into()))
    }

    /// The batch of rows in the message, if it has one.
    fn batch(&self) -> Result<Option<RecordBatch<'_>>, Fault> {
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
