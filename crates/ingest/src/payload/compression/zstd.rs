//! Zstandard. Its frames say where they end.

use std::{fs::File, io, ops::Range};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

use super::interface::{
    AnyDecompressor, Compression, Decompressor, Step, WINDOW_LOG_MAX, unsupported,
};
use crate::payload::frames::{FrameWalk, is_frame_start};

pub(crate) struct Zstd;

impl Compression for Zstd {
    fn suffix(&self) -> &'static str {
        ".zst"
    }

    fn member(&self) -> &'static str {
        "frame"
    }

    fn members(&self) -> &'static str {
        "Zstandard frames"
    }

    fn is_start(&self, bytes: &[u8]) -> bool {
        is_frame_start(bytes)
    }

    fn decompressor(&self) -> io::Result<AnyDecompressor> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        Ok(Box::new(Frames(decoder)))
    }

    fn walk<'a>(&self, file: &'a File, bytes: Range<u64>) -> Option<FrameWalk<'a>> {
        Some(FrameWalk::new(file, bytes))
    }
}

struct Frames(Decoder<'static>);

impl Decompressor for Frames {
    fn begin(&mut self) -> io::Result<()> {
        self.0.reinit()
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        let mut input = InBuffer::around(input);
        let mut output = OutBuffer::around(output);
        let hint = self.0.run(&mut input, &mut output).map_err(named)?;
        Ok(Step { used: input.pos(), written: output.pos(), is_end: hint == 0 })
    }
}

/// Tells a frame that asks for more than it gets from one that is damaged.
fn named(error: io::Error) -> io::Error {
    let text = error.to_string();
    let is_beyond = ["requires too much memory", "Dictionary mismatch"]
        .iter()
        .any(|reason| text.contains(reason));
    if !is_beyond {
        return error;
    }
    unsupported(format!(
        "wants a window above 128 MiB or a dictionary ({text}); compress the file again: \
         `zstd -dc --long=31 FILE | zstd > NEW` (with `-D` if it has a dictionary)"
    ))
}
