//! xz. Its streams may be followed by padding of four zeros each.
//!
//! The size of the dictionary in the first block header decides how many files may be decompressed at once: the byte
//! 0x16 stands for 8 MiB.

use std::io;

use liblzma::stream::{Action, Error, Status, Stream};

use super::interface::{
    AnyDecompressor, Compression, Decompressor, Step, WINDOW_LOG_MAX, begins, damaged, no_memory,
    unsupported,
};

const MAGIC: &[u8] = b"\xfd7zXZ\0";
const PADDING: [u8; 4] = [0; 4];
/// A dictionary, and less than 1 MiB around it.
const MEMORY_MAX: u64 = (1 << WINDOW_LOG_MAX) + (1 << 20);

pub(super) struct Xz;

impl Compression for Xz {
    fn suffix(&self) -> &'static str {
        ".xz"
    }

    fn member(&self) -> &'static str {
        "xz stream"
    }

    fn members(&self) -> &'static str {
        "xz streams"
    }

    fn is_start(&self, bytes: &[u8]) -> bool {
        begins(bytes, MAGIC)
    }

    fn is_next(&self, bytes: &[u8]) -> bool {
        self.is_start(bytes) || begins(bytes, &PADDING)
    }

    /// The header of a stream has the kind of its checksums after its magic number.
    fn is_checksummed(&self, start: &[u8]) -> bool {
        start.get(MAGIC.len() + 1).is_some_and(|kind| kind & 0x0f != 0)
    }

    fn window(&self, start: &[u8]) -> u64 {
        dictionary(start).unwrap_or(0)
    }

    fn decompressor(&self) -> io::Result<AnyDecompressor> {
        Ok(Box::new(Streams(None)))
    }
}

/// Returns the bytes of the dictionary of the first block (The .xz File Format 1.2.1, sections 3.1 and 5.3.1).
fn dictionary(start: &[u8]) -> Option<u64> {
    const STREAM_HEADER: usize = 12;
    const LZMA2: u8 = 0x21;
    let mut header = start.get(STREAM_HEADER + 1..)?.iter().copied();
    let flags = header.next()?;
    // Compressed and uncompressed size: the last byte of a number is below 128.
    for _ in 0..(flags & 0xc0).count_ones() {
        header.find(|byte| byte & 0x80 == 0)?;
    }
    for _ in 0..=flags & 3 {
        let (filter, properties) = (header.next()?, header.next()?);
        if filter == LZMA2 {
            let bits = header.next()? & 0x3f;
            return Some((2 | u64::from(bits & 1)) << (bits / 2 + 11));
        }
        for _ in 0..properties {
            header.next()?;
        }
    }
    None
}

struct Streams(Option<Stream>);

impl Decompressor for Streams {
    fn begin(&mut self) -> io::Result<()> {
        self.0 = None;
        Ok(())
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        if self.0.is_none() && input.first() == Some(&0) {
            let used = input.len().min(PADDING.len());
            return Ok(Step { used, written: 0, is_end: used == PADDING.len() });
        }
        let stream = match &mut self.0 {
            Some(stream) => stream,
            none => none.insert(Stream::new_stream_decoder(MEMORY_MAX, 0).map_err(named)?),
        };
        let before = (stream.total_in(), stream.total_out());
        let status = stream.process(input, output, Action::Run).map_err(named)?;
        let after = (stream.total_in(), stream.total_out());
        Ok(Step::between(before, after, status == Status::StreamEnd))
    }
}

/// Tells a stream that asks for more than it gets from one that is damaged.
fn named(error: Error) -> io::Error {
    let what = match error {
        Error::MemLimit => "a dictionary above 128 MiB",
        Error::Options => "filters that liblzma does not know",
        Error::Mem => return no_memory(),
        Error::Data | Error::Format | Error::Program | Error::NoCheck | Error::UnsupportedCheck => {
            return damaged(error);
        }
    };
    unsupported(format!("wants {what}; compress the file again: `xz -dc FILE | xz > NEW`"))
}

#[cfg(test)]
mod tests {
    use liblzma::stream::{Check, Filters, LzmaOptions};

    use super::*;

    #[test]
    fn the_dictionary_stands_in_the_first_block() {
        for (preset, kib) in [(0, 256), (1, 1 << 10), (6, 8 << 10), (9, 64 << 10)] {
            let options = LzmaOptions::new_preset(preset).unwrap();
            for is_filtered in [false, true] {
                let mut filters = Filters::new();
                if is_filtered {
                    filters.delta_properties(&[7]).unwrap();
                }
                let mut stream =
                    Stream::new_stream_encoder(filters.lzma2(&options), Check::Crc32).unwrap();
                let mut start = Vec::with_capacity(1 << 10);
                stream.process_vec(b"tags", &mut start, Action::Finish).unwrap();
                assert_eq!(Xz.window(&start), kib << 10, "{preset}");
                for end in 0..24 {
                    assert!([0, Xz.window(&start)].contains(&Xz.window(&start[..end])));
                }
            }
        }
    }
}
