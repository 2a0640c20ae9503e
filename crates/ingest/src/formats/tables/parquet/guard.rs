//! The file as the crate `parquet` reads it: lengths are checked before memory is taken for them.
//!
//! The library reads the header of a page first. It gets an error instead of the header if the page would have more
//! than 32 MiB.

use std::{
    fs::File,
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use ::parquet::{
    errors::{ParquetError, Result},
    file::reader::{ChunkReader, Length},
};
use bytes::Bytes;
use tagq_store::os::read_at;

use super::thrift::{PAGE_BYTES_MAX, check_page};
use crate::{
    formats::tables::fault::TableFault,
    payload::input::{Stopped, clamp},
};

/// No header of a page of numbers is longer.
const PAGE_HEAD_BYTES: usize = 4096;

/// A file whose length is known.
#[derive(Clone)]
pub(super) struct Guard {
    file: Arc<File>,
    size: u64,
    /// The fault that stopped the library, which passes on only its text.
    fault: Arc<Mutex<Option<TableFault>>>,
}

impl Guard {
    pub fn new(file: &File, size: u64) -> io::Result<Self> {
        Ok(Self { file: Arc::new(file.try_clone()?), size, fault: Arc::default() })
    }

    /// The fault that `error` of the library stands for.
    pub fn fault(&self, error: &ParquetError) -> TableFault {
        let own = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        own.unwrap_or_else(|| TableFault::Damaged(error.to_string()))
    }

    /// Reads `len` bytes from byte `at` on.
    fn read(&self, at: u64, len: usize) -> std::result::Result<Vec<u8>, TableFault> {
        if len as u64 > self.size.saturating_sub(at) || len as u64 > PAGE_BYTES_MAX {
            let what = format!("it points to {len} bytes at byte {at}, which are not there");
            return Err(TableFault::Damaged(what));
        }
        let (mut bytes, mut filled) = (vec![0; len], 0);
        while filled < len {
            match read_at(&self.file, &mut bytes[filled..], at + filled as u64)? {
                0 => return Err(TableFault::Io(Stopped::Shrunk.into())),
                n => filled += n,
            }
        }
        Ok(bytes)
    }

    fn note(&self, fault: TableFault) -> io::Error {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
        io::Error::other("the file cannot be read on")
    }
}

impl Length for Guard {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for Guard {
    type T = PageHead;

    /// The library reads the headers of pages by this, one byte after the other.
    fn get_read(&self, start: u64) -> Result<PageHead> {
        Ok(PageHead { guard: self.clone(), at: start, bytes: None, used: 0 })
    }

    /// The library reads the pages by this.
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let bytes = self.read(start, length).map_err(|fault| self.note(fault))?;
        Ok(bytes.into())
    }
}

/// The header of a page, which is checked when its first byte is read.
pub(super) struct PageHead {
    guard: Guard,
    at: u64,
    bytes: Option<Vec<u8>>,
    used: usize,
}

impl Read for PageHead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Self { guard, at, bytes, used } = self;
        let bytes = if let Some(bytes) = bytes {
            bytes
        } else {
            let len = clamp(PAGE_HEAD_BYTES, guard.size.saturating_sub(*at));
            let head = guard.read(*at, len);
            let head = head.and_then(|head| check_page(&head).map(|()| head));
            bytes.insert(head.map_err(|fault| guard.note(fault))?)
        };
        let rest = &bytes[*used..];
        // Without this error the library would continue to skip bytes after the end.
        if rest.is_empty() && !out.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        *used += len;
        Ok(len)
    }
}
