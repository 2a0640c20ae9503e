//! The numbers of a column in a group of rows, as the crate `parquet` decodes them page by page.

use std::{ops::Range, sync::Arc};

use ::parquet::{
    basic::{Compression, ConvertedType, LogicalType, Type},
    column::{page::PageReader, reader::ColumnReaderImpl},
    data_type::{DataType, DoubleType, FloatType, Int32Type, Int64Type},
    file::{
        metadata::{ColumnChunkMetaData, RowGroupMetaData},
        reader::SerializedPageReader,
    },
    schema::types::ColumnDescriptor,
};

use super::guard::Guard;
use crate::formats::tables::{
    fault::{TableFault, damaged, guarded, no_numbers},
    values::{ReadColumn, TableColumn, ValueKind, Values},
};

/// Returns the kind of numbers of a column. Refuses a column without numbers.
pub(super) fn kind(column: &ColumnDescriptor) -> Result<ValueKind, TableFault> {
    use ConvertedType as Old;

    let refused = |kind: &str| Err(no_numbers(column.name(), kind));
    if column.max_rep_level() > 0 {
        return refused("lists");
    }
    let is_unsigned = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(int)), _) => !int.is_signed,
        (None, Old::NONE | Old::INT_8 | Old::INT_16 | Old::INT_32 | Old::INT_64) => false,
        (None, Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64) => true,
        (None, Old::UTF8) | (Some(LogicalType::String), _) => return refused("texts"),
        _ => return refused("dates, decimals or the like"),
    };
    match column.physical_type() {
        Type::INT32 | Type::INT64 if is_unsigned => Ok(ValueKind::Unsigned),
        Type::INT32 | Type::INT64 => Ok(ValueKind::Signed),
        Type::FLOAT | Type::DOUBLE => Ok(ValueKind::Float),
        Type::BOOLEAN => refused("truth values"),
        Type::INT96 => refused("dates, decimals or the like"),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => refused("texts or bytes"),
    }
}

/// Returns the bytes of a column in a group of rows; `None` if they are impossible.
pub(super) fn place(chunk: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let (start, len) = (u64::try_from(start).ok()?, u64::try_from(chunk.compressed_size()).ok()?);
    Some(start..start.checked_add(len)?)
}

/// Opens a column of a group of rows by the number of the column.
pub(super) fn open(
    guard: &Guard,
    group: &RowGroupMetaData,
    number: usize,
) -> Result<TableColumn<'static>, TableFault> {
    let Some(chunk) = group.columns().get(number) else {
        return damaged("a group of rows lacks a column");
    };
    let column = chunk.column_descr();
    let (name, kind) = (column.name().to_owned(), kind(column)?);
    // The other compressions do not stop at the size that the header of a page states.
    match chunk.compression() {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::ZSTD(_)
        | Compression::LZ4_RAW => {}
        other => {
            let other = format!("{other:?}");
            let codec = other.split('(').next().unwrap_or_default().to_ascii_lowercase();
            return Err(TableFault::Refused(format!(
                "the column `{}` is compressed by {codec}; write it with Zstandard, Snappy, LZ4_RAW or no \
                 compression",
                name.escape_debug()
            )));
        }
    }
    let rows = usize::try_from(group.num_rows()).ok();
    let Some(rows) = rows.filter(|_| chunk.num_values() == group.num_rows()) else {
        return damaged("a column has another number of rows than its group");
    };
    if place(chunk).is_none() {
        return damaged("a column begins before the file");
    }
    let pages = guarded(|| {
        SerializedPageReader::new(Arc::new(guard.clone()), chunk, rows, None)
            .map_err(|error| guard.fault(&error))
    })?;
    let pages: Box<dyn PageReader> = Box::new(pages);
    let is_unsigned = kind == ValueKind::Unsigned;
    let reader: Box<dyn ReadColumn> = match column.physical_type() {
        Type::INT32 if is_unsigned => numbers::<Int32Type>(guard, group, number, pages, |value| {
            i64::from(value.cast_unsigned())
        }),
        Type::INT32 => numbers::<Int32Type>(guard, group, number, pages, i64::from),
        Type::FLOAT => numbers::<FloatType>(guard, group, number, pages, |value| {
            f64::from(value).to_bits().cast_signed()
        }),
        Type::DOUBLE => numbers::<DoubleType>(guard, group, number, pages, |value| {
            value.to_bits().cast_signed()
        }),
        _ => numbers::<Int64Type>(guard, group, number, pages, |value| value),
    };
    Ok(TableColumn { name, kind, reader })
}

fn numbers<T: DataType>(
    guard: &Guard,
    group: &RowGroupMetaData,
    number: usize,
    pages: Box<dyn PageReader>,
    bits: fn(T::T) -> i64,
) -> Box<dyn ReadColumn>
where
    T::T: Copy,
{
    let column = group.column(number).column_descr_ptr();
    let level = column.max_def_level();
    let pages = ColumnReaderImpl::new(column, pages);
    let (values, levels) = (Vec::new(), Vec::new());
    Box::new(Numbers::<T> { guard: guard.clone(), pages, level, values, levels, bits })
}

/// The numbers of a column.
struct Numbers<T: DataType> {
    guard: Guard,
    pages: ColumnReaderImpl<T>,
    /// The level of values that are there.
    level: i16,
    values: Vec<T::T>,
    levels: Vec<i16>,
    bits: fn(T::T) -> i64,
}

impl<T: DataType> ReadColumn for Numbers<T>
where
    T::T: Copy,
{
    fn read(&mut self, rows: usize, out: &mut Values) -> Result<(), TableFault> {
        let Self { guard, pages, level, values, levels, bits } = self;
        values.clear();
        levels.clear();
        let (records, _, _) = guarded(|| {
            let read = pages.read_records(rows, Some(levels), None, values);
            read.map_err(|error| guard.fault(&error))
        })?;
        let mut values = values.iter().copied().map(*bits);
        if records != rows {
            return damaged("a column ends before its last row");
        }
        if *level == 0 {
            out.bits.extend(values);
            return Ok(());
        }
        for is_there in levels.iter().map(|found| found == level) {
            let value = if is_there { values.next() } else { Some(0) };
            out.bits.extend(value);
            out.is_there.push(is_there);
        }
        Ok(())
    }
}
