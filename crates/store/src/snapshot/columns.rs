//! The columns of a store in memory: mapped, or copied when it is opened.
//!
//! A file is mapped twice: a guard may put zeros into the mapping that scans read, and never into the one for slices
//! that are handed out, where zeros would be taken for values.

use std::{io, ops::Range};

use crate::{
    Error,
    checked::CheckedFile,
    error::io_error,
    format::{HEADER_BYTES, Step},
    os::{self, Map},
};

/// How the columns come into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Mapped: nothing is read before it is used. A file that another program cuts short under the
    /// mapping stops the process.
    Mapped,
    /// Copied when the store is opened: for network file systems, and as the check on the other.
    Copied,
}

#[derive(Debug)]
pub(super) enum ColumnView<T> {
    Mapped {
        map: Map,
        /// The same bytes at another address, which no guard ever touches.
        unguarded: Map,
        rows: Range<usize>,
    },
    Copied(Vec<T>),
}

/// A column with values of the type that its file has.
#[derive(Debug)]
pub(super) enum TypedColumn {
    I64(ColumnView<i64>),
    U8(ColumnView<u8>),
    U16(ColumnView<u16>),
    U32(ColumnView<u32>),
    U64(ColumnView<u64>),
    Steps(ColumnView<Step>),
}

/// Which mapping of a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// A scan reads it, under a guard.
    Guarded,
    /// It may be read after a scan, and no guard touches it.
    Unguarded,
}

impl CheckedFile {
    /// Returns these rows of a column.
    pub(super) fn column<T: bytemuck::Pod>(
        self,
        access: Access,
        rows: Range<usize>,
    ) -> Result<ColumnView<T>, Error> {
        Ok(match access {
            Access::Mapped => ColumnView::Mapped {
                map: Map::new(&self.file, &self.path, self.bytes())?,
                unguarded: Map::new(&self.file, &self.path, self.bytes())?,
                rows,
            },
            Access::Copied => ColumnView::Copied(self.rows(rows)?),
        })
    }

    /// Reads these rows of a column.
    pub(super) fn rows<T: bytemuck::Pod>(&self, rows: Range<usize>) -> Result<Vec<T>, Error> {
        let mut values = vec![T::zeroed(); rows.len()];
        let begin = (HEADER_BYTES + rows.start * size_of::<T>()) as u64;
        os::read_exact_at(&self.file, bytemuck::cast_slice_mut(&mut values), begin)
            .map_err(io_error(&self.path, "read the rows"))?;
        Ok(values)
    }

    pub(crate) fn copy(self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let len = self.bytes() - HEADER_BYTES;
        // A file that somebody made may be larger than memory.
        let reserved = bytes.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory.into());
        reserved.map_err(io_error(&self.path, "hold the index in memory"))?;
        bytes.resize(len, 0);
        os::read_exact_at(&self.file, &mut bytes, HEADER_BYTES as u64)
            .map_err(io_error(&self.path, "read the index"))?;
        Ok(bytes)
    }
}

impl<T: bytemuck::Pod> ColumnView<T> {
    pub(super) fn values(&self, view: View) -> &[T] {
        match (self, view) {
            (Self::Mapped { map, rows, .. }, View::Guarded) => values_of(map, rows),
            (Self::Mapped { unguarded, rows, .. }, View::Unguarded) => values_of(unguarded, rows),
            (Self::Copied(values), _) => values,
        }
    }

    /// All bytes that a guard may touch; `None` for a copy.
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::Mapped { map, .. } => Some(map.bytes()),
            Self::Copied(_) => None,
        }
    }
}

/// Rows after the header page. A page is a multiple of every alignment, so that the cast cannot fail.
fn values_of<'a, T: bytemuck::Pod>(map: &'a Map, rows: &Range<usize>) -> &'a [T] {
    let bytes = rows.start * size_of::<T>()..rows.end * size_of::<T>();
    bytemuck::cast_slice(&map.bytes()[HEADER_BYTES..][bytes])
}

impl TypedColumn {
    /// Opens these rows of a column with values of the type `values`, as the manifest names it.
    pub(super) fn open(
        checked: CheckedFile,
        values: &str,
        access: Access,
        rows: Range<usize>,
    ) -> Result<Self, Error> {
        Ok(match values {
            "i64" => Self::I64(checked.column(access, rows)?),
            "u8" => Self::U8(checked.column(access, rows)?),
            "u16" => Self::U16(checked.column(access, rows)?),
            "u32" => Self::U32(checked.column(access, rows)?),
            "u64" => Self::U64(checked.column(access, rows)?),
            "step" => Self::Steps(checked.column(access, rows)?),
            other => unreachable!("no column has values of the type {other}"),
        })
    }

    /// All bytes that a guard may touch; `None` for a copy.
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        match self {
            Self::I64(column) => column.mapped(),
            Self::U8(column) => column.mapped(),
            Self::U16(column) => column.mapped(),
            Self::U32(column) => column.mapped(),
            Self::U64(column) => column.mapped(),
            Self::Steps(column) => column.mapped(),
        }
    }

    /// The bytes of these of the opened rows, or `None` if there are fewer.
    pub(super) fn bytes(&self, rows: Range<usize>) -> Option<&[u8]> {
        let view = View::Guarded;
        Some(match self {
            Self::I64(column) => bytemuck::cast_slice(column.values(view).get(rows)?),
            Self::U8(column) => column.values(view).get(rows)?,
            Self::U16(column) => bytemuck::cast_slice(column.values(view).get(rows)?),
            Self::U32(column) => bytemuck::cast_slice(column.values(view).get(rows)?),
            Self::U64(column) => bytemuck::cast_slice(column.values(view).get(rows)?),
            Self::Steps(column) => bytemuck::cast_slice(column.values(view).get(rows)?),
        })
    }
}
