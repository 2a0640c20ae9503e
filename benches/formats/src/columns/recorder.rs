//! `.tags.zst`, the files of a recorder, as tagq writes and reads them.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use tagq_ingest::{Settings, encode::Encoder, read_tags};
use tagq_store::Tag;

use crate::{
    Result,
    compression::Compression,
    format::{Access, Compressions, Format, Sink},
    source::TagReader,
};

/// Files of a recorder.
#[derive(Debug, Clone, Copy)]
pub struct TagsZst;

/// Tags of a frame with one message.
const FRAME_TAGS: usize = 1 << 20;

impl Format for TagsZst {
    fn name(&self) -> &'static str {
        "tags.zst"
    }

    fn settings(&self) -> String {
        "tagq-ingest: Cap'n Proto in frames of zstd 3, a message of 2^20 tags each; read on all cores".into()
    }

    fn compressions(&self) -> Compressions {
        Compressions { measured: &[Compression::Zstd(3)], reason: "the format has one compression" }
    }

    fn write(&self, path: &Path, _: Compression, tags: &mut TagReader) -> Result<()> {
        let mut encoder = Encoder::new(BufWriter::with_capacity(1 << 20, File::create(path)?));
        let mut frame: Vec<Tag> = Vec::new();
        while let Some(batch) = tags.next_batch()? {
            frame.extend_from_slice(batch);
            if frame.len() >= FRAME_TAGS {
                encoder.frame(frame.len() as u64, [&frame[..]])?;
                frame.clear();
            }
        }
        if !frame.is_empty() {
            encoder.frame(frame.len() as u64, [&frame[..]])?;
        }
        let mut out = encoder.into_inner();
        out.flush()?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(file.sync_all()?)
    }

    fn read(&self, path: &Path, _: Compression, sink: &mut Sink<'_>) -> Result<()> {
        let mut failure = None;
        let read = read_tags(path, &Settings::default(), |tags| {
            if failure.is_none() {
                failure = sink(tags).err();
            }
            Ok(())
        });
        read?;
        failure.map_or(Ok(()), Err)
    }

    fn access(&self) -> Access {
        Access::Refused("compressed; tagq makes a store of it")
    }
}
