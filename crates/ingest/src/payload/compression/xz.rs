//! xz. Its streams may be followed by padding of four zeros each.

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

    fn decompressor(&self) -> io::Result<AnyDecompressor> {
        Ok(Box::new(Streams(None)))
    }
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
