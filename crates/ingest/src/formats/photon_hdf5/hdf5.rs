//! HDF5 files: arrays, numbers and texts by their paths, through the crate `hdf5-pure`. No file makes it take more
//! memory than a chunk of each array and an index of the size of the file.

use std::{
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use hdf5_pure::{
    ChunkCacheConfig, DType, Dataset, Error, File, FileAccessProperties, FormatError, Layout,
    Source, VlenStringReadOptions,
};
use tagq_store::os::read_at;

/// First bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
/// The largest chunk that is read, decompressed.
const CHUNK_BYTES_MAX: u64 = 16 << 20;
const CHUNK_SLOTS: usize = 64;
/// An index has at least so many bytes for each chunk.
const CHUNK_ENTRY_BYTES: u64 = 4;
/// Longer texts are left out.
const TEXT_BYTES_MAX: u16 = 1 << 15;
const TEXTS_MAX: u64 = 1 << 12;

/// Filters that are read: deflate, shuffle, Fletcher-32 and LZF.
const FILTERS: [u16; 4] = [1, 2, 3, 32_000];
/// Names of other filters.
const OTHER_FILTERS: [(u16, &str); 9] = [
    (4, "SZIP"),
    (5, "N-bit"),
    (6, "scale-offset"),
    (32_001, "Blosc"),
    (32_004, "LZ4"),
    (32_008, "Bitshuffle"),
    (32_013, "ZFP"),
    (32_015, "Zstandard"),
    (32_026, "Blosc2"),
];
/// The way for arrays of any kind.
pub(super) const ARRAYS: &str =
    "in Python, tagq.from_arrays(time, channel, tick=\"1ps\") makes a run of its arrays";
const REPACK: &str = "write it again: h5repack -f GZIP=4 -l CHUNK=65536 FILE NEW";

/// Why a file cannot be read.
#[derive(Debug)]
pub(super) enum Hdf5Fault {
    Damaged(String),
    /// Its kind, in words, and the fix.
    Refused(String, &'static str),
}

/// An open file.
pub(super) struct Hdf5 {
    file: File,
    size: u64,
}

/// An array of integers of one dimension.
pub(super) struct Array {
    dataset: Dataset,
    path: String,
    pub rows: u64,
    is_unsigned: bool,
}

/// A file, from which the library reads bytes at any place.
struct Bytes {
    file: fs::File,
    size: u64,
}

impl Hdf5 {
    /// Opens `file`, which has `size` bytes.
    pub(super) fn open(file: fs::File, size: u64) -> Result<Self, Hdf5Fault> {
        #[expect(clippy::cast_possible_truncation, reason = "16 MiB")]
        let cache = ChunkCacheConfig::new()
            .with_max_bytes(CHUNK_BYTES_MAX as usize)
            .with_max_slots(CHUNK_SLOTS);
        let properties = FileAccessProperties::new().with_chunk_cache(cache);
        let file =
            guarded(|| Ok(File::from_source_with_options(Bytes { file, size }, properties)?))?;
        let end = file.superblock().eof_address;
        if end > size {
            return damaged(format!("it ends at byte {size} and says that it has {end}"));
        }
        Ok(Self { file, size })
    }

    /// Whether the file has a group of this name that is in no other group.
    pub(super) fn has_group(&self, name: &str) -> Result<bool, Hdf5Fault> {
        guarded(|| match self.file.root().group(name) {
            Ok(_) => Ok(true),
            Err(Error::Format(FormatError::PathNotFound(_))) => Ok(false),
            Err(error) => Err(error.into()),
        })
    }

    /// The array at `path`, if there is one.
    pub(super) fn array(&self, path: &str) -> Result<Option<Array>, Hdf5Fault> {
        guarded(|| {
            let Some(dataset) = self.dataset(path)? else { return Ok(None) };
            let dtype = dataset.dtype()?;
            let is_unsigned = match dtype {
                DType::I8 | DType::I16 | DType::I32 | DType::I64 => false,
                DType::U8 | DType::U16 | DType::U32 | DType::U64 => true,
                other => {
                    return unlike(&format!("`{path}` has values of type {other}, no integers"));
                }
            };
            let rows = match *dataset.shape()? {
                [rows] => rows,
                ref shape => return unlike(&format!("`{path}` has {} dimensions", shape.len())),
            };
            let array = Array { dataset, path: path.into(), rows, is_unsigned };
            array.check(self.size)?;
            Ok(Some(array))
        })
    }

    /// The number at `path`, if there is one.
    pub(super) fn number(&self, path: &str) -> Result<Option<f64>, Hdf5Fault> {
        guarded(|| {
            let Some(dataset) = self.dataset(path)? else { return Ok(None) };
            Ok(dataset.read_f64_rows(0, 1)?.first().copied())
        })
    }

    /// The texts at `path`; none if there are none.
    pub(super) fn texts(&self, path: &str) -> Result<Vec<String>, Hdf5Fault> {
        guarded(|| {
            let Some(dataset) = self.dataset(path)? else { return Ok(Vec::new()) };
            let count = dataset.shape()?.iter().try_fold(1, |sum: u64, &len| sum.checked_mul(len));
            let bytes = count.and_then(|count| count.checked_mul(dataset.element_size().ok()?));
            let is_long = bytes.is_none_or(|bytes| bytes > TEXT_BYTES_MAX.into());
            if is_long || count.is_none_or(|count| count > TEXTS_MAX) {
                return Ok(Vec::new());
            }
            Ok(match dataset.dtype()? {
                DType::String => dataset.read_string()?,
                DType::VariableLengthString => {
                    let options =
                        VlenStringReadOptions::new().with_max_payload_bytes(TEXT_BYTES_MAX.into());
                    dataset.read_vlen_strings(options)?
                }
                _ => Vec::new(),
            })
        })
    }

    /// The text at `path`, if there is one and it is not blank.
    pub(super) fn text(&self, path: &str) -> Result<Option<String>, Hdf5Fault> {
        let text = self.texts(path)?.into_iter().next();
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    fn dataset(&self, path: &str) -> Result<Option<Dataset>, Hdf5Fault> {
        match self.file.dataset(path) {
            Ok(dataset) => Ok(Some(dataset)),
            Err(Error::Format(FormatError::PathNotFound(_))) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Array {
    /// Checks that the file stores all values, in a way that is read.
    fn check(&self, size: u64) -> Result<(), Hdf5Fault> {
        let Self { dataset, path, rows, .. } = self;
        for filter in dataset.filters() {
            if FILTERS.contains(&filter) {
                continue;
            }
            let name = OTHER_FILTERS.iter().find(|(other, _)| *other == filter);
            let name = name.map_or_else(|| format!("filter {filter}"), |(_, name)| (*name).into());
            let kind = format!("an HDF5 file whose array `{path}` is compressed by {name}");
            return Err(Hdf5Fault::Refused(kind, REPACK));
        }
        let is_stored = match dataset.layout()? {
            Layout::Compact { .. } => true,
            Layout::Contiguous { address, .. } => address.is_some() || *rows == 0,
            Layout::Chunked { chunk_shape, .. } => {
                let &[chunk_rows] = &*chunk_shape else {
                    return damaged(format!("the chunks of `{path}` have another shape"));
                };
                let bytes = chunk_rows.checked_mul(dataset.element_size()?);
                if bytes.is_none_or(|bytes| bytes > CHUNK_BYTES_MAX) {
                    let kind = format!("an HDF5 file with chunks above 16 MiB in `{path}`");
                    return Err(Hdf5Fault::Refused(kind, REPACK));
                }
                let chunks = rows.div_ceil(chunk_rows.max(1));
                chunks <= size / CHUNK_ENTRY_BYTES && dataset.chunks()?.len() as u64 >= chunks
            }
            _ => {
                let kind = format!("an HDF5 file whose array `{path}` stands in other files");
                return Err(Hdf5Fault::Refused(kind, REPACK));
            }
        };
        if is_stored { Ok(()) } else { damaged(format!("`{path}` is not stored completely")) }
    }

    /// Reads the values of `rows` rows, from row `start` on, into `values`.
    pub(super) fn read(
        &self,
        start: u64,
        rows: usize,
        values: &mut Vec<i64>,
    ) -> Result<(), Hdf5Fault> {
        let Self { dataset, path, is_unsigned, .. } = self;
        guarded(|| {
            if *is_unsigned {
                let read = dataset.read_u64_rows(start, rows as u64)?;
                let signed: Result<_, _> = read.into_iter().map(i64::try_from).collect();
                *values = signed.or_else(|_| unlike(&format!("`{path}` has values above 2^63")))?;
            } else {
                *values = dataset.read_i64_rows(start, rows as u64)?;
            }
            if values.len() != rows {
                return damaged(format!("`{path}` is shorter than it says"));
            }
            Ok(())
        })
    }
}

impl Source for Bytes {
    fn len(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, mut bytes: &mut [u8]) -> Result<(), FormatError> {
        let mut at = offset;
        while !bytes.is_empty() {
            let read = match read_at(&self.file, bytes, at) {
                Ok(0) => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                read => read,
            };
            let read = read.map_err(|error| FormatError::Source(error.to_string()))?;
            bytes = &mut bytes[read..];
            at += read as u64;
        }
        Ok(())
    }
}

impl From<Error> for Hdf5Fault {
    fn from(error: Error) -> Self {
        Self::Damaged(format!("{error}; if other programs read it: h5repack OLD NEW"))
    }
}

/// Calls the library. A panic of it, which its authors did not foresee, is a damaged file.
fn guarded<T>(call: impl FnOnce() -> Result<T, Hdf5Fault>) -> Result<T, Hdf5Fault> {
    let result = catch_unwind(AssertUnwindSafe(call));
    result.unwrap_or_else(|_| damaged("the reader of HDF5 cannot follow it".into()))
}

fn damaged<T>(what: String) -> Result<T, Hdf5Fault> {
    Err(Hdf5Fault::Damaged(what))
}

/// The fault of a file that is complete, and not as Photon-HDF5 says.
pub(super) fn unlike<T>(what: &str) -> Result<T, Hdf5Fault> {
    let kind = format!("an HDF5 file, but not as Photon-HDF5 says: {what}");
    Err(Hdf5Fault::Refused(kind, ARRAYS))
}
