//! The compressions that whole files are measured with.

use std::{
    fmt,
    io::{self, BufReader, Read, Write},
    str::FromStr,
};

use crate::Failure;

const LZ4_HC_LEVEL: u32 = 3;

/// A compression of a whole file, or of the blocks of formats that compress their blocks themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// The bytes as the format writes them.
    None,
    /// LZ4 frames by lz4_flex, which has the fast method only.
    Lz4,
    /// LZ4 frames by the C library at level 3, the first of its high-compression (HC) method.
    Lz4Hc,
    /// Zstandard at a level.
    Zstd(i32),
}

impl Compression {
    /// All that are compared.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Lz4,
        Self::Lz4Hc,
        Self::Zstd(-5),
        Self::Zstd(1),
        Self::Zstd(3),
        Self::Zstd(19),
    ];

    /// Starts to compress into `out`. The stream must be finished with `finish`.
    pub fn compress<'a, W: Write + 'a>(self, out: W) -> io::Result<Compressor<'a, W>> {
        Ok(match self {
            Self::None => Compressor::None(out),
            Self::Lz4 => Compressor::Lz4(Box::new(lz4_flex::frame::FrameEncoder::new(out))),
            Self::Lz4Hc => {
                let encoder = lz4::EncoderBuilder::new().level(LZ4_HC_LEVEL).build(out)?;
                Compressor::Lz4Hc(Box::new(encoder))
            }
            Self::Zstd(level) => Compressor::Zstd(zstd::stream::Encoder::new(out, level)?),
        })
    }

    /// Decompresses what `input` holds.
    pub fn decompress<'a, R: Read + 'a>(self, input: R) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::None => Box::new(input),
            Self::Lz4 | Self::Lz4Hc => Box::new(lz4_flex::frame::FrameDecoder::new(input)),
            Self::Zstd(_) => Box::new(zstd::stream::Decoder::with_buffer(BufReader::new(input))?),
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Lz4Hc => f.write_str("lz4hc"),
            Self::Zstd(level) => write!(f, "zstd{level}"),
        }
    }
}

impl FromStr for Compression {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Self, Failure> {
        let of_name = Self::ALL.into_iter().find(|compression| compression.to_string() == name);
        of_name.ok_or_else(|| format!("no compression is called `{name}`").into())
    }
}

/// A stream that compresses.
pub enum Compressor<'a, W: Write + 'a> {
    /// Passes the bytes on.
    None(W),
    /// LZ4 frames with the settings of the library.
    Lz4(Box<lz4_flex::frame::FrameEncoder<W>>),
    /// LZ4 frames by the C library.
    Lz4Hc(Box<lz4::Encoder<W>>),
    /// One Zstandard frame.
    Zstd(zstd::stream::Encoder<'a, W>),
}

impl<W: Write> Compressor<'_, W> {
    /// Writes the end of the stream and hands back the output.
    pub fn finish(self) -> io::Result<W> {
        match self {
            Self::None(out) => Ok(out),
            Self::Lz4(encoder) => encoder.finish().map_err(io::Error::other),
            Self::Lz4Hc(encoder) => {
                let (out, finished) = encoder.finish();
                finished.map(|()| out)
            }
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Compressor<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None(out) => out.write(bytes),
            Self::Lz4(encoder) => encoder.write(bytes),
            Self::Lz4Hc(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None(out) => out.flush(),
            Self::Lz4(encoder) => encoder.flush(),
            Self::Lz4Hc(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
