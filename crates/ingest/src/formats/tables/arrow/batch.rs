//! The numbers of a record batch.
//!
//! 1,000 rows of a column of 64 bits are in a buffer of 8,000 bytes, and 125 bytes say which of them are null. A
//! compressed buffer may have at most twice the bytes of its values and 1 KiB, because all of it is decompressed for
//! its checksum.

use std::{
    io::{self, Read},
    ops::Range,
};

use arrow_ipc::{CompressionType, RecordBatch};

use super::schema::{Buffers, Schema};
use crate::{
    formats::tables::{
        bytes::Bytes,
        fault::{TableFault, damaged},
        values::{Number, ReadColumn, TableColumn, Values, read_exact},
    },
    payload::input::clamp,
};

/// Bytes that any buffer may have after its values.
const SPARE_BYTES: u64 = 1 << 10;

/// A record batch: its rows, and where the buffers of its columns stand.
pub(super) struct Batch<'a> {
    file: Bytes<'a>,
    pub rows: u64,
    of: RecordBatch<'a>,
    /// How its buffers are compressed.
    codec: Option<CompressionType>,
    /// Of each column of the table, the first of its nodes and buffers.
    places: Vec<(usize, usize)>,
    body: Range<u64>,
}

impl<'a> Batch<'a> {
    /// The batch `of` a message; its buffers stand in the bytes `body` of the file.
    pub fn new(
        file: Bytes<'a>,
        schema: &Schema,
        of: RecordBatch<'a>,
        body: Range<u64>,
    ) -> Result<Self, TableFault> {
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
    pub fn column(&self, place: usize, schema: &Schema) -> Result<TableColumn<'a>, TableFault> {
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
        Ok(TableColumn { name: field.name.clone(), kind: number.kind, reader })
    }

    /// The first `len` bytes of a buffer, decompressed.
    fn buffer(&self, number: usize, len: u64) -> Result<Box<dyn Read + 'a>, TableFault> {
        let buffers = self.of.buffers().filter(|buffers| number < buffers.len());
        let Some(buffer) = buffers.map(|buffers| *buffers.get(number)) else {
            return damaged("a batch lacks a buffer");
        };
        let start = u64::try_from(buffer.offset()).ok();
        let start = start.and_then(|start| self.body.start.checked_add(start));
        let (Some(start), Ok(bytes)) = (start, u64::try_from(buffer.length())) else {
            return damaged("a buffer begins before its batch");
        };
        if start.checked_add(bytes).is_none_or(|end| end > self.body.end) {
            return damaged(format!("the buffer at byte {start} ends after its batch"));
        }
        let short = || damaged(format!("the buffer at byte {start} is too short"));
        if len == 0 {
            return Ok(Box::new(io::empty()));
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
        // A buffer may be longer than its values, but not by much.
        let most = len.saturating_mul(2).saturating_add(SPARE_BYTES);
        let unpacked = match i64::from_le_bytes(unpacked) {
            // Not compressed.
            -1 if bytes - 8 < len => return short(),
            -1 => return Ok(Box::new(section.take(len))),
            unpacked => match u64::try_from(unpacked) {
                Ok(unpacked) if (len..=most).contains(&unpacked) => unpacked,
                Ok(unpacked) if unpacked > most => {
                    return damaged(format!(
                        "the buffer at byte {start} has {unpacked} bytes for {len}"
                    ));
                }
                _ => return short(),
            },
        };
        let input: Box<dyn Read + 'a> = match codec {
            CompressionType::LZ4_FRAME => Box::new(lz4_flex::frame::FrameDecoder::new(section)),
            CompressionType::ZSTD => {
                let mut input = zstd::stream::read::Decoder::new(section)?;
                input.window_log_max(27)?;
                Box::new(input)
            }
            _ => {
                return Err(TableFault::Refused(
                    "its buffers are compressed in an unknown way; write it with Zstandard, LZ4 or no \
                     compression"
                        .into(),
                ));
            }
        };
        Ok(Box::new(Unpacked { input, wanted: len, rest: unpacked - len }))
    }
}

/// The first bytes of a compressed buffer. After the last of them the rest is decompressed, too: a checksum stands at
/// its end.
struct Unpacked<R> {
    input: R,
    wanted: u64,
    rest: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let len = clamp(bytes.len(), self.wanted);
        let n = self.input.read(&mut bytes[..len])?;
        self.wanted -= n as u64;
        if n > 0 && self.wanted == 0 {
            let rest = io::copy(&mut self.input.by_ref().take(self.rest + 1), &mut io::sink())?;
            if rest != self.rest {
                let what = "it has another length than it says";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        }
        Ok(n)
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
    fn read(&mut self, rows: usize, values: &mut Values) -> Result<(), TableFault> {
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    type Open = fn(&[u8]) -> Box<dyn Read + '_>;

    /// The checksum of a frame stands after its last value. Any flipped bit gives an error or the same bytes.
    #[test]
    fn the_checksum_of_a_buffer_is_verified() {
        let values: Vec<u8> = (0_u32..4_000).flat_map(|i| (i * i).to_le_bytes()).collect();
        let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
        let mut lz4 = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
        lz4.write_all(&values).unwrap();
        let mut zstd = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        zstd.include_checksum(true).unwrap();
        zstd.write_all(&values).unwrap();
        let of_lz4: Open = |frame| Box::new(lz4_flex::frame::FrameDecoder::new(frame));
        let of_zstd: Open =
            |frame| Box::new(zstd::stream::read::Decoder::with_buffer(frame).unwrap());
        for (frame, open) in [(lz4.finish().unwrap(), of_lz4), (zstd.finish().unwrap(), of_zstd)] {
            let read = |frame: &[u8], wanted: usize| {
                let rest = (values.len() - wanted) as u64;
                let mut read = vec![0; wanted];
                let mut input = Unpacked { input: open(frame), wanted: wanted as u64, rest };
                input.read_exact(&mut read).map(|()| read)
            };
            for wanted in [values.len(), values.len() - 8] {
                assert_eq!(read(&frame, wanted).unwrap(), values[..wanted]);
                let mut errors = 0;
                for at in (0..frame.len()).step_by(7) {
                    let mut flipped = frame.clone();
                    flipped[at] ^= 1 << (at % 8);
                    match read(&flipped, wanted) {
                        Ok(read) => assert_eq!(read, values[..wanted], "byte {at}"),
                        Err(_) => errors += 1,
                    }
                }
                assert!(errors > frame.len() / 8, "{errors}");
            }
        }
    }
}
