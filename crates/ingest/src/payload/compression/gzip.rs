//! gzip (RFC 1952). Only decompression shows where a member ends.

use std::io;

use flate2::{Decompress, FlushDecompress, Status};

use super::interface::{AnyDecompressor, Compression, Decompressor, Step, begins, damaged};

/// Logarithm of the largest window, which every member may use.
const WINDOW_BITS: u8 = 15;

pub(crate) struct Gzip;

impl Compression for Gzip {
    fn suffix(&self) -> &'static str {
        ".gz"
    }

    fn member(&self) -> &'static str {
        "gzip member"
    }

    fn members(&self) -> &'static str {
        "gzip members"
    }

    fn is_start(&self, bytes: &[u8]) -> bool {
        begins(bytes, b"\x1f\x8b\x08")
    }

    fn decompressor(&self) -> io::Result<AnyDecompressor> {
        Ok(Box::new(Members(Decompress::new_gzip(WINDOW_BITS))))
    }
}

struct Members(Decompress);

impl Decompressor for Members {
    fn begin(&mut self) -> io::Result<()> {
        // The wrapper of gzip stays, whatever this is given.
        self.0.reset(true);
        Ok(())
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> io::Result<Step> {
        let before = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(input, output, FlushDecompress::None).map_err(damaged)?;
        let after = (self.0.total_in(), self.0.total_out());
        Ok(Step::between(before, after, status == Status::StreamEnd))
    }
}
