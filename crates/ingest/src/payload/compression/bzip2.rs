//! bzip2. Only decompression shows where a stream ends.

use std::io;

use bzip2::{Decompress, Status};

use super::interface::{
    AnyDecompressor, Compression, Decompressor, Step, begins, damaged, no_memory,
};

pub(super) struct Bzip2;

impl Compression for Bzip2 {
    fn suffix(&self) -> &'static str {
        ".bz2"
    }

    fn member(&self) -> &'static str {
        "bzip2 stream"
    }

    fn members(&self) -> &'static str {
        "bzip2 streams"
    }

    fn is_start(&self, bytes: &[u8]) -> bool {
        begins(bytes, b"BZh") && bytes.get(3).is_none_or(|size| (b'1'..=b'9').contains(size))
    }

    fn decompressor(&self) -> io::Result<AnyDecompressor> {
        Ok(Box::new(Streams(Decompress::new(false))))
    }
}

struct Streams(Decompress);

impl Decompressor for Streams {
    fn begin(&mut self) -> io::Result<()> {
        self.0 = Decompress::new(false);
        Ok(())
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(input, output).map_err(damaged)?;
        if status == Status::MemNeeded {
            return Err(no_memory());
        }
        let after = (self.0.total_in(), self.0.total_out());
        Ok(Step::between(before, after, status == Status::StreamEnd))
    }
}
