//! The numbers of a record batch.

use std::io::Read;

use arrow_ipc::{CompressionType, RecordBatch};

use super::schema::{Buffers, Schema};
use crate::formats::tables::{
    bytes::Bytes,
    fault::{Fault, damaged},
    values::{Column, Number, ReadColumn, Values, read_exact},
};

/// A record batch: its rows, and where the buffers of its columns stand.
pub(super) struct Batch<'a> {
    file: Bytes<'a>,
    pub rows: u64,
    of: RecordBatch<'a>,
    /// How its buffers are compressed.
    codec: Option<CompressionType>,
    /// Of each column of the table, the first of its nodes and buffers.
    places: Vec<(usize, usize)>,
    body: u64,
}

impl<'a> Batch<'a> {
    /// The batch `of` a message; its buffers stand from byte `body` of the file on.
    pub fn new(
        file: Bytes<'a>,
        schema: &Schema,
        of: RecordBatch<'a>,
        body: u64,
    ) -> Result<Self, Fault> {
        let Ok(rows) = u64::try_from(of.length()) else {
            return damaged("a batch has a negative number of rows");
        };
        let codec = of.compression().map(|compression| compression.codec());
        let mut more = of.variadicBufferCounts().into_iter().flatten();
        let (mut node, mut buffer) = (0_usize, 0_usize);
        let mut places = Vec::with_capacity(schema.columns.len());
        for part in schema.columns.iter().map(|column| &column.parts) {
            places.push((node, buffer));
            node += part.len();
            for buffers in part {
                let count = match buffers {
                    Buffers::Count(count) => *count,
                    Buffers::Views => {
                        let more = more.next().and_then(|more| usize::try_from(more).ok());
                        more.unwrap_or(0).saturating_add(2)
                    }
                };
                buffer = buffer.saturating_add(count);
            }
        }
        Ok(Self { file, rows, of, codec, places, body })
    }

    /// The column at this place of the table.
    pub fn column(&self, place: usize, schema: &Schema) -> Result<Column<'a>, Fault> {
        let field = &schema.columns[place];
        let number = field.number()?;
        let (node, buffer) = self.places[place];
        let nodes = self.of.nodes().filter(|nodes| node < nodes.len());
        let Some(node) = nodes.map(|nodes| *nodes.get(node)) else {
            return damaged("a batch lacks a column");
        };
        if u64::try_from(node.length()) != Ok(self.rows) {
            return damaged("a column has another length than its batch");
        }
        let is_there: Option<Box<dyn Read + 'a>> = match node.null_count() {
            0 => None,
            _ => Some(self.buffer(buffer, self.rows.div_ceil(8))?),
        };
        let bytes = self.rows.saturating_mul(number.bytes as u64);
        let values = self.buffer(buffer.saturating_add(1), bytes)?;
        let reader = Box::new(Numbers { values, number, is_there, bytes: Vec::new() });
        Ok(Column { name: field.name.clone(), kind: number.kind, reader })
    }

    /// The first `len` bytes of a buffer, decompressed.
    fn buffer(&self, number: usize, len: u64) -> Result<Box<dyn Read + 'a>, Fault> {
        let buffers = self.of.buffers().filter(|buffers| number < buffers.len());
        let Some(buffer) = buffers.map(|buffers| *buffers.get(number)) else {
            return damaged("a batch lacks a buffer");
        };
        let start = u64::try_from(buffer.offset()).ok();
        let start = start.and_then(|start| self.body.checked_add(start));
        let (Some(start), Ok(bytes)) = (start, u64::try_from(buffer.length())) else {
            return damaged("a buffer begins before its batch");
        };
        let short = || damaged(format!("the buffer at byte {start} is too short"));
        if len == 0 {
            return Ok(Box::new(std::io::empty()));
        }
        let Some(codec) = self.codec else {
            return if bytes < len {
                short()
            } else {
                Ok(Box::new(self.file.section(start, len)?))
            };
        };
        if bytes < 8 {
            return short();
        }
        let mut section = self.file.section(start, bytes)?;
        let mut unpacked = [0; 8];
        read_exact(&mut section, &mut unpacked)?;
        match i64::from_le_bytes(unpacked) {
            // Not compressed.
            -1 if bytes - 8 < len => return short(),
            -1 => return Ok(Box::new(section)),
            unpacked if u64::try_from(unpacked).is_ok_and(|unpacked| unpacked >= len) => {}
            _ => return short(),
        }
        Ok(match codec {
            CompressionType::LZ4_FRAME => Box::new(lz4_flex::frame::FrameDecoder::new(section)),
            CompressionType::ZSTD => {
                let mut input = zstd::stream::read::Decoder::new(section)?;
                input.window_log_max(27)?;
                Box::new(input)
            }
            _ => {
                return Err(Fault::Refused(
                    "its buffers are compressed in an unknown way; write it with Zstandard, LZ4 or no \
                     compression"
                        .into(),
                ));
            }
        })
    }
}

/// Numbers and a bit for each that says whether it is there.
struct Numbers<'a> {
    values: Box<dyn Read + 'a>,
    number: Number,
    is_there: Option<Box<dyn Read + 'a>>,
    bytes: Vec<u8>,
}

impl ReadColumn for Numbers<'_> {
    /// All calls but the last one ask for whole bytes of bits.
    fn read(&mut self, rows: usize, values: &mut Values) -> Result<(), Fault> {
        self.bytes.resize(rows * self.number.bytes, 0);
        read_exact(&mut self.values, &mut self.bytes)?;
        self.number.decode(&self.bytes, self.number.bytes, &mut values.bits);
        let Some(is_there) = &mut self.is_there else { return Ok(()) };
        self.bytes.resize(rows.div_ceil(8), 0);
        read_exact(is_there, &mut self.bytes)?;
        let bytes = &self.bytes;
        values.is_there.extend((0..rows).map(|row| bytes[row / 8] >> (row % 8) & 1 == 1));
        Ok(())
    }
}
