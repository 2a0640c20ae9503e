//! Results that are kept: files, or folders of files, with names of 32 hexadecimal digits in one folder. They are
//! bounded in number and size; the least recently used are removed first.
//!
//! The name is the xxh3 (128 bits) of the key. Readers also compare the key itself. A file gets its name when it is
//! complete, so a reader finds the old one or the new one.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use xxhash_rust::xxh3::xxh3_128;

use crate::{
    Entry, Error, Folder, RowsId, RunId, Store, format::BLOCK_ROWS, manifest::identity::Crc,
    sealed::Reader,
};

/// Number of digits of a name.
const DIGITS: usize = 32;
/// Number of digits of the names that earlier versions gave. Such files are removed.
const DIGITS_BEFORE: usize = 16;
/// Suffix of the name of a file that is being written; random digits come before it.
const UNFINISHED: &str = ".new";
/// Unfinished files older than this are abandoned: no process is writing them any more.
const ABANDONED: Duration = Duration::from_mins(10);
/// Minimum time between two updates of the modification time of a result that is used.
const USED: Duration = Duration::from_mins(1);

/// A folder of results that are kept.
#[derive(Debug)]
pub struct KeptFolder(Folder);

/// How much is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptLimits {
    /// Results at most.
    pub number: usize,
    /// Bytes of all of them at most.
    pub bytes: u64,
}

/// How [`KeptFolder::tidy`] treats an entry of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptEntry {
    /// It stays, whatever the limits are: it is something else.
    Stays,
    /// It stays, and counts: it is in use.
    InUse {
        /// Bytes of its files.
        bytes: u64,
    },
    /// It is removed.
    Stale,
    /// It counts, and is removed if others were used later.
    Counts {
        /// When it was used last.
        used: SystemTime,
        /// Bytes of its files.
        bytes: u64,
    },
}

impl KeptFolder {
    /// Opens the folder of this name in another one, if it exists and is not a link.
    ///
    /// # Errors
    /// Those of [`Folder::open_folder`].
    pub fn open(around: &Path, name: &str) -> Result<Self, Error> {
        Folder::open(around)?.open_folder(name).map(Self)
    }

    /// Opens the same, which is made if it is not there; the other one is not.
    ///
    /// # Errors
    /// Those of [`Folder::make_folder`].
    pub fn make(around: &Path, name: &str) -> Result<Self, Error> {
        Folder::open(around)?.make_folder(name).map(Self)
    }

    /// Opens the folder at `path`, which a person named.
    ///
    /// # Errors
    /// Those of [`Folder::open`].
    pub fn at(path: &Path) -> Result<Self, Error> {
        Folder::open(path).map(Self)
    }

    /// Returns the name under which the result of a key is kept.
    pub fn name_of(key: &str) -> String {
        format!("{:0DIGITS$x}", xxh3_128(key.as_bytes()))
    }

    /// Whether something that is kept has this name.
    pub fn is_name(name: &str) -> bool {
        is_hex(name, DIGITS)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Folder {
        &self.0
    }

    /// Returns the path of an entry.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns what is kept, in no order: files, folders, and what else has such a name.
    ///
    /// # Errors
    /// Those of [`Folder::entries`].
    pub fn entries(&self) -> Result<Vec<Entry>, Error> {
        self.0.entries(Self::is_name)
    }

    /// Returns the bytes of a file of at most `len_max` bytes, and notes that it is used; `None` if there is none.
    pub fn read(&self, name: &str, len_max: u64) -> Option<Vec<u8>> {
        let bytes = self.0.read(name, len_max).ok()?;
        touch(&self.0.open_file(name).ok()?);
        Some(bytes)
    }

    /// Writes a file, under its name at once; one of this name is replaced. It is not made durable: what is torn after
    /// a power loss has no checksum.
    ///
    /// # Errors
    /// Those of [`Folder::replace`].
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0.replace(name, UNFINISHED, bytes)
    }

    /// Removes files that were abandoned while they were written, what `entry` says is stale, and the least recently
    /// used entries while those that count are over the limits. `remove` removes an entry, and returns whether it did.
    pub fn tidy(
        &self,
        limits: KeptLimits,
        entry: impl Fn(&Entry) -> KeptEntry,
        remove: impl Fn(&str) -> bool,
    ) {
        let Ok(entries) = self.0.entries(|_| true) else { return };
        let now = SystemTime::now();
        let mut all: Vec<(SystemTime, u64, String)> = Vec::new();
        let (mut left, mut left_bytes) = (0, 0_u64);
        for of in entries {
            let is_abandoned = of.is_file()
                && of.name.strip_suffix(UNFINISHED).is_some_and(|digits| is_hex(digits, DIGITS))
                && now.duration_since(of.modified).is_ok_and(|age| age > ABANDONED);
            let is_before = of.is_file() && is_hex(&of.name, DIGITS_BEFORE);
            if is_abandoned || is_before {
                drop(self.0.remove(&of.name));
                continue;
            }
            match entry(&of) {
                KeptEntry::Stays => {}
                KeptEntry::Stale => drop(remove(&of.name)),
                KeptEntry::InUse { bytes } => {
                    (left, left_bytes) = (left + 1, left_bytes.saturating_add(bytes));
                }
                KeptEntry::Counts { used, bytes } => {
                    (left, left_bytes) = (left + 1, left_bytes.saturating_add(bytes));
                    all.push((used, bytes, of.name));
                }
            }
        }
        all.sort_unstable();
        for (_, bytes, name) in all {
            if left <= limits.number && left_bytes <= limits.bytes {
                break;
            }
            if remove(&name) {
                left -= 1;
                left_bytes -= bytes;
            }
        }
    }
}

/// Notes that a file is used. In a read-only folder nothing is removed.
pub fn touch(file: &File) {
    let now = SystemTime::now();
    let modified = file.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
    if age.is_none_or(|age| age > USED) {
        drop(file.set_modified(now));
    }
}

fn is_hex(name: &str, digits: usize) -> bool {
    name.len() == digits && name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The first rows of a run, from which something that is kept was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRows {
    /// The run.
    pub run: RunId,
    /// The rows.
    pub rows: RowsId,
}

impl Default for RunRows {
    fn default() -> Self {
        let rows = RowsId { rows: 0, chain: Crc(0), sources: Crc(0) };
        Self { run: RunId([0; 16]), rows }
    }
}

impl RunRows {
    /// Returns all rows of a store.
    pub fn all(store: &Store) -> Self {
        let manifest = store.manifest();
        Self { run: manifest.run_id, rows: manifest.rows_id() }
    }

    /// Returns the rows up to the end of a full block; `None` if none ends there.
    ///
    /// # Errors
    /// A damaged index.
    pub fn to_mark(store: &Store, rows: u64) -> Result<Option<Self>, Error> {
        let manifest = store.manifest();
        let mark = store.mark(rows)?;
        Ok(mark.map(|mark| Self {
            run: manifest.run_id,
            rows: RowsId {
                rows: mark.rows,
                chain: Crc(mark.chain),
                sources: Crc(manifest.sources_before(mark.rows)),
            },
        }))
    }

    /// Returns the rows that were opened, with the others of their last block.
    ///
    /// # Errors
    /// A damaged index.
    pub fn opened(store: &Store) -> Result<Self, Error> {
        let full = (store.opened().end as u64).next_multiple_of(BLOCK_ROWS as u64);
        Ok(Self::to_mark(store, full)?.unwrap_or_else(|| Self::all(store)))
    }

    /// Returns the same rows, whatever sources they are divided into.
    #[must_use]
    pub fn joined(self) -> Self {
        Self { rows: RowsId { sources: Crc(0), ..self.rows }, ..self }
    }

    /// Appends its bytes.
    pub fn put(&self, out: &mut Vec<u8>) {
        let RowsId { rows, chain, sources } = self.rows;
        out.extend(self.run.0);
        out.extend(rows.to_le_bytes());
        out.extend(chain.0.to_le_bytes());
        out.extend(sources.0.to_le_bytes());
    }

    /// Reads the bytes of [`RunRows::put`].
    pub fn read(input: &mut Reader<'_>) -> Option<Self> {
        let run = RunId(input.array()?);
        let (rows, chain, sources) = (input.u64()?, Crc(input.u32()?), Crc(input.u32()?));
        Some(Self { run, rows: RowsId { rows, chain, sources } })
    }
}
