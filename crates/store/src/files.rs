//! The files of a store: the one list of them. A file that is added here is made, named in the manifest, opened,
//! committed, widened, verified and removed as all others.
//!
//! The list says how many values a file must have. In a store of 200,000 rows `channel.col` has 200,000 values,
//! `blocks.idx` 3 (one for each full block of 65,536 rows) and `steps.N.idx` 196 (one for each 1,024 rows that have
//! begun).

use std::{
    fmt,
    ops::{Index, IndexMut},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap as _,
};

use crate::{Error, Folder};

/// The contents of a file of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Times: i64 ticks.
    Time,
    /// Channels: u8, or u16 once a label above 255 appeared.
    Channel,
    /// Block entries.
    Blocks,
    /// Rows of each channel in each block.
    Counts,
    /// Micro times: u16, or u32 once a value above 65,534 appeared.
    Micro,
    /// Gaps: u16 ticks, at most [`GAP_MAX`](crate::format::GAP_MAX).
    Gap,
    /// Checksums of the gaps of each full block: u32; in a store with far distances and steps, those of these, too.
    GapBlocks,
    /// The distances of rows whose gap is [`GAP_MAX`](crate::format::GAP_MAX): u32, or u64 once one needs it.
    Far,
    /// The time of the first of each [`STEP_ROWS`](crate::format::STEP_ROWS) rows, and the far distances before it.
    Steps,
    /// Times during which nothing was recorded, where they are too many for the manifest: pairs of first and last time.
    Dead,
}

/// The facts about one file of a store (docs/format.md).
pub(crate) struct Layout {
    pub kind: FileKind,
    /// The beginning of its name, and its key in the manifest: `time` of `time.col` and `time.3.col`.
    pub key: &'static str,
    pub extension: &'static str,
    /// The code of the file in its header.
    pub code: u8,
    /// 1: signed integer, 2: unsigned integer, 3: record.
    pub class: u8,
    /// The version of the format in which such files began.
    pub version: u32,
    /// The types that its values may have, and their bytes. A new file has the first of them.
    pub values: &'static [(&'static str, u16)],
    pub one_per: OnePer,
    /// Whether stores without it are complete.
    pub is_optional: bool,
    /// Where the checksum of a full block of its values is.
    pub checksum: Checksum,
}

/// How many values a file has: one for each of these. The manifest says how many of them are committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnePer {
    Row,
    FullBlock,
    /// A pair of a full block and a channel with rows in it.
    Count,
    /// A row with the gap 65,535, whose distance is in the file of far distances.
    FarRow,
    /// 1,024 rows; the last step may have fewer.
    Step,
    /// A time during which nothing was recorded. The last one of each source is in the manifest, because it may still
    /// grow.
    DeadSpan,
}

/// Where the checksum of a full block of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// In the entry of the block, at this byte.
    InEntry(usize),
    /// In a file with the checksums of each full block, at this byte of them.
    InFile(FileKind, usize),
    /// The chain of the entries covers the values, they are checksums themselves, or the manifest has their checksum.
    NotNeeded,
}

const FILES: usize = 10;

/// All files, in the order of [`FileKind`] and of the manifest.
static LAYOUTS: [Layout; FILES] = [
    Layout {
        kind: FileKind::Time,
        key: "time",
        extension: "col",
        code: 1,
        class: 1,
        version: 1,
        values: &[("i64", 8)],
        one_per: OnePer::Row,
        // Without it, times are sums of distances.
        is_optional: true,
        checksum: Checksum::InEntry(28),
    },
    Layout {
        kind: FileKind::Channel,
        key: "channel",
        extension: "col",
        code: 2,
        class: 2,
        version: 1,
        values: &[("u8", 1), ("u16", 2)],
        one_per: OnePer::Row,
        is_optional: false,
        checksum: Checksum::InEntry(32),
    },
    Layout {
        kind: FileKind::Blocks,
        key: "blocks",
        extension: "idx",
        code: 3,
        class: 3,
        version: 1,
        values: &[("block", 64)],
        one_per: OnePer::FullBlock,
        is_optional: false,
        checksum: Checksum::NotNeeded,
    },
    Layout {
        kind: FileKind::Counts,
        key: "counts",
        extension: "idx",
        code: 4,
        class: 3,
        version: 1,
        values: &[("count", 6)],
        one_per: OnePer::Count,
        is_optional: false,
        checksum: Checksum::NotNeeded,
    },
    Layout {
        kind: FileKind::Micro,
        key: "micro",
        extension: "col",
        code: 5,
        class: 2,
        version: 2,
        values: &[("u16", 2), ("u32", 4)],
        one_per: OnePer::Row,
        is_optional: true,
        checksum: Checksum::InEntry(40),
    },
    Layout {
        kind: FileKind::Gap,
        key: "gap",
        extension: "col",
        code: 6,
        class: 2,
        version: 2,
        values: &[("u16", 2)],
        one_per: OnePer::Row,
        is_optional: true,
        checksum: Checksum::InFile(FileKind::GapBlocks, 0),
    },
    Layout {
        kind: FileKind::GapBlocks,
        key: "gaps",
        extension: "idx",
        code: 7,
        class: 2,
        version: 2,
        values: &[("u32", 4), ("u32x3", 12)],
        one_per: OnePer::FullBlock,
        is_optional: true,
        checksum: Checksum::NotNeeded,
    },
    Layout {
        kind: FileKind::Far,
        key: "far",
        extension: "col",
        code: 8,
        class: 2,
        version: 3,
        values: &[("u32", 4), ("u64", 8)],
        one_per: OnePer::FarRow,
        is_optional: true,
        checksum: Checksum::InFile(FileKind::GapBlocks, 4),
    },
    Layout {
        kind: FileKind::Steps,
        key: "steps",
        extension: "idx",
        code: 9,
        class: 3,
        version: 3,
        values: &[("step", 16)],
        one_per: OnePer::Step,
        is_optional: true,
        checksum: Checksum::InFile(FileKind::GapBlocks, 8),
    },
    Layout {
        kind: FileKind::Dead,
        key: "dead",
        extension: "idx",
        code: 10,
        class: 3,
        version: 4,
        values: &[("span", 16)],
        one_per: OnePer::DeadSpan,
        is_optional: true,
        checksum: Checksum::NotNeeded,
    },
];

impl FileKind {
    pub(crate) fn layout(self) -> &'static Layout {
        &LAYOUTS[self as usize]
    }

    /// Returns all kinds, in the order of the manifest.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        LAYOUTS.iter().map(|layout| layout.kind)
    }

    /// Returns the kinds of files with a value for each row.
    pub(crate) fn columns() -> impl Iterator<Item = Self> {
        Self::all().filter(|kind| kind.is_column())
    }

    /// Returns whether files of this kind have a value for each row.
    pub(crate) fn is_column(self) -> bool {
        self.layout().one_per == OnePer::Row
    }

    /// Returns the byte of a block entry where the checksum of these values is.
    pub(crate) fn at_in_entry(self) -> Option<usize> {
        match self.layout().checksum {
            Checksum::InEntry(at) => Some(at),
            Checksum::InFile(..) | Checksum::NotNeeded => None,
        }
    }
}

impl Layout {
    /// Returns the type of values of `width` bytes, or `None` if there is none.
    pub(crate) fn type_of(&self, width: u16) -> Option<&'static str> {
        self.values.iter().find(|(_, bytes)| *bytes == width).map(|(name, _)| *name)
    }

    /// Returns whether a writer may give a file of this kind such a name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let between =
            name.strip_prefix(self.key).and_then(|rest| rest.strip_suffix(self.extension));
        let number = match between {
            Some(".") => return true,
            Some(between) => between.strip_prefix('.').and_then(|rest| rest.strip_suffix('.')),
            None => None,
        };
        number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    }

    /// Returns the first such name, with a number from `from` on, that nothing in `folder` has.
    pub(crate) fn unused_name(&self, folder: &Folder, from: u64) -> Result<String, Error> {
        let taken: Vec<String> =
            folder.entries(|_| true)?.into_iter().map(|entry| entry.name).collect();
        let names = (from..).map(|number| format!("{}.{number}.{}", self.key, self.extension));
        let mut unused = names.filter(|name| !taken.contains(name));
        unused.next().map_or_else(|| unreachable!("a folder has fewer names"), Ok)
    }

    /// Returns the entry of a new file with values of this type.
    pub(crate) fn entry(&self, name: String, width: u16) -> FileName {
        let kind = self.type_of(width).unwrap_or_default().into();
        FileName { name, kind, width }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, extension, .. } = self;
        write!(f, "{key}.{extension} or {key}.N.{extension}")
    }
}

/// The name, type of values and their width of a file, as the manifest lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileName {
    pub name: String,
    pub kind: String,
    pub width: u16,
}

/// A value for each kind of file of a store, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerFile<T>([T; FILES]);

impl<T> PerFile<T> {
    pub(crate) fn from_fn(value: impl FnMut(FileKind) -> T) -> Self {
        Self(LAYOUTS.each_ref().map(|layout| layout.kind).map(value))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (FileKind, &T)> {
        FileKind::all().zip(&self.0)
    }
}

impl<T> PerFile<Option<T>> {
    /// Returns the kinds that have a value, with it.
    pub(crate) fn present(&self) -> impl Iterator<Item = (FileKind, &T)> {
        self.iter().filter_map(|(kind, value)| value.as_ref().map(|value| (kind, value)))
    }
}

impl<T> Index<FileKind> for PerFile<T> {
    type Output = T;

    fn index(&self, kind: FileKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<FileKind> for PerFile<T> {
    fn index_mut(&mut self, kind: FileKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

impl Serialize for PerFile<Option<FileName>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        by_key(self, "", serializer)
    }
}

impl<'de> Deserialize<'de> for PerFile<Option<FileName>> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let files: Self = of_keys("", deserializer)?;
        let missing =
            FileKind::all().find(|&kind| !kind.layout().is_optional && files[kind].is_none());
        match missing {
            Some(kind) => Err(D::Error::missing_field(kind.layout().key)),
            None => Ok(files),
        }
    }
}

/// Checksums of columns as fields of the last block: `crc_time`, `crc_channel` and so on.
pub(crate) mod checksums {
    use serde::{Deserializer, Serializer};

    use super::{PerFile, by_key, of_keys};

    const PREFIX: &str = "crc_";

    pub(crate) fn serialize<S: Serializer>(
        checksums: &PerFile<Option<u32>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        by_key(checksums, PREFIX, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PerFile<Option<u32>>, D::Error> {
        of_keys(PREFIX, deserializer)
    }
}

/// Writes the values that are there as a map. A key is the prefix and the key of the file: `crc_time`.
fn by_key<T: Serialize, S: Serializer>(
    values: &PerFile<Option<T>>,
    prefix: &str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    for (kind, value) in values.present() {
        map.serialize_entry(&format!("{prefix}{}", kind.layout().key), value)?;
    }
    map.end()
}

/// Reads what [`by_key`] writes, and refuses other keys.
fn of_keys<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    prefix: &str,
    deserializer: D,
) -> Result<PerFile<Option<T>>, D::Error> {
    let entries = std::collections::BTreeMap::<String, T>::deserialize(deserializer)?;
    let mut values = PerFile::from_fn(|_| None);
    for (key, value) in entries {
        let named = key.strip_prefix(prefix);
        let kind = FileKind::all().find(|kind| named == Some(kind.layout().key));
        let kind = kind.ok_or_else(|| D::Error::custom(format!("unknown field `{key}`")))?;
        values[kind] = Some(value);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_kinds_and_no_two_files_are_alike() {
        for (at, layout) in LAYOUTS.iter().enumerate() {
            assert_eq!(layout.kind as usize, at);
            for other in &LAYOUTS[..at] {
                assert_ne!(layout.code, other.code);
                assert_ne!(layout.key, other.key);
            }
            let is_optional = layout.version > 1 || layout.kind == FileKind::Time;
            assert_eq!(layout.is_optional, is_optional, "{}", layout.key);
            let is_of_rows = [OnePer::Row, OnePer::FarRow, OnePer::Step].contains(&layout.one_per);
            assert_eq!(layout.checksum != Checksum::NotNeeded, is_of_rows, "{}", layout.key);
            if let Checksum::InFile(file, at) = layout.checksum {
                assert_eq!(file.layout().one_per, OnePer::FullBlock);
                assert!(
                    file.layout().values.iter().any(|&(_, width)| usize::from(width) >= at + 4)
                );
            }
        }
    }
}
