//! The columns of an Arrow stream, and how many buffers each has in a batch: two for a column of integers, three for
//! one of texts. All are counted, also those of columns that are not read, to find the buffers of later columns.

use arrow_ipc::{Endianness, Field as FieldOf, Precision, Schema as SchemaOf, Type, UnionMode};

use crate::formats::tables::{
    fault::{TableFault, damaged, no_numbers},
    values::{Number, ValueKind},
};

/// Columns within columns.
const DEPTH_MAX: u32 = 32;
/// Columns of a file, with those within columns.
const COLUMNS_MAX: usize = 1 << 16;

/// The columns of an Arrow stream, and notes of its writer.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub columns: Vec<Field>,
    pub notes: Vec<(String, String)>,
}

/// A column of the table.
#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    of: Type,
    /// Its type, if that is a number.
    number: Option<Number>,
    /// The buffers of the column in a batch, in order: its own, then those of columns in it.
    pub parts: Vec<Buffers>,
}

/// The buffers of a column or of one within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffers {
    Count(usize),
    /// Two, and as many more as the batch says.
    Views,
}

impl Schema {
    /// Takes the columns of the schema of a message.
    pub fn of(schema: SchemaOf<'_>) -> Result<Self, TableFault> {
        if schema.endianness() != Endianness::Little {
            return Err(TableFault::Refused(
                "its numbers are big-endian; write it on another machine".into(),
            ));
        }
        let mut columns: Vec<Field> = Vec::new();
        let mut count = 0;
        for field in schema.fields().into_iter().flatten() {
            let mut parts = Vec::new();
            add_parts(field, 0, &mut parts)?;
            count += parts.len();
            if count > COLUMNS_MAX {
                return damaged(format!("it has more than {COLUMNS_MAX} columns"));
            }
            let is_plain = field.dictionary().is_none();
            columns.push(Field {
                name: field.name().unwrap_or_default().to_owned(),
                of: if is_plain { field.type_type() } else { Type::NONE },
                number: if is_plain { number(field)? } else { None },
                parts,
            });
        }
        Ok(Self { columns, notes: notes(schema) })
    }
}

/// The notes of the writer of a schema.
pub(super) fn notes(schema: SchemaOf<'_>) -> Vec<(String, String)> {
    let notes = schema.custom_metadata().into_iter().flatten();
    notes.filter_map(|note| Some((note.key()?.to_owned(), note.value()?.to_owned()))).collect()
}

impl Field {
    /// The type of a column of numbers.
    pub fn number(&self) -> Result<Number, TableFault> {
        self.number.ok_or_else(|| {
            let kind = match self.of {
                Type::NONE => "places in a dictionary",
                Type::FloatingPoint => "floats of 16 bits",
                Type::Bool => "truth values",
                Type::Utf8 | Type::LargeUtf8 | Type::Utf8View => "texts",
                Type::Binary | Type::LargeBinary | Type::BinaryView | Type::FixedSizeBinary => {
                    "bytes"
                }
                Type::Decimal
                | Type::Date
                | Type::Time
                | Type::Timestamp
                | Type::Interval
                | Type::Duration => "dates, decimals or the like",
                _ => "values of another type",
            };
            no_numbers(&self.name, kind)
        })
    }
}

/// The number that a column without a dictionary holds; `None` if it holds others.
fn number(field: FieldOf<'_>) -> Result<Option<Number>, TableFault> {
    if let Some(int) = field.type_as_int() {
        let bytes = match int.bitWidth() {
            8 => 1,
            16 => 2,
            32 => 4,
            64 => 8,
            bits => return damaged(format!("it has integers of {bits} bits")),
        };
        let kind = if int.is_signed() { ValueKind::Signed } else { ValueKind::Unsigned };
        return Ok(Some(Number { bytes, kind }));
    }
    Ok(field.type_as_floating_point().and_then(|float| match float.precision() {
        Precision::SINGLE => Some(Number { bytes: 4, kind: ValueKind::Float }),
        Precision::DOUBLE => Some(Number { bytes: 8, kind: ValueKind::Float }),
        _ => None,
    }))
}

/// Adds the buffers of a field and of the fields in it.
fn add_parts(field: FieldOf<'_>, depth: u32, parts: &mut Vec<Buffers>) -> Result<(), TableFault> {
    if depth > DEPTH_MAX || parts.len() > COLUMNS_MAX {
        return damaged("it has too many columns within columns");
    }
    // A dictionary stands elsewhere, and integers for its members here.
    let is_plain = field.dictionary().is_none();
    let own = match field.type_type() {
        _ if !is_plain => Buffers::Count(2),
        Type::Null | Type::RunEndEncoded => Buffers::Count(0),
        Type::Int
        | Type::FloatingPoint
        | Type::Bool
        | Type::Decimal
        | Type::Date
        | Type::Time
        | Type::Timestamp
        | Type::Interval
        | Type::FixedSizeBinary
        | Type::Duration
        | Type::List
        | Type::Map
        | Type::LargeList => Buffers::Count(2),
        Type::Binary
        | Type::Utf8
        | Type::LargeBinary
        | Type::LargeUtf8
        | Type::ListView
        | Type::LargeListView => Buffers::Count(3),
        Type::Struct_ | Type::FixedSizeList => Buffers::Count(1),
        Type::Union => {
            let mode = field.type_as_union().map(|union| union.mode());
            Buffers::Count(if mode == Some(UnionMode::Dense) { 2 } else { 1 })
        }
        Type::BinaryView | Type::Utf8View => Buffers::Views,
        other => return damaged(format!("it has a column of the unknown type {}", other.0)),
    };
    parts.push(own);
    if is_plain {
        for child in field.children().into_iter().flatten() {
            add_parts(child, depth + 1, parts)?;
        }
    }
    Ok(())
}
