//! An array of NumPy: a description in the words of Python, and its items. Of an array of 1,000 × 2 integers of 64
//! bits, the second column begins 8 bytes after the description, 16 bytes apart (order C), or 8,000 bytes after it, 8
//! bytes apart (order Fortran).
//!
//! Source: NumPy, `numpy.lib.format`.

use std::io::Read;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr};

use crate::{
    formats::{
        columns::{ChosenColumns, ColumnNames, ColumnPlaces, Columns},
        tables::{
            fault::{TableFault, damaged, guarded, no_numbers},
            values::{Number, ValueKind, read_exact},
        },
        text::columns::TextColumns,
    },
    settings::Settings,
};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest description.
const DESCRIPTION_BYTES_MAX: u32 = 64 * 1024;
/// Lists in lists of a description.
const DEPTH_MAX: u32 = 16;
/// The largest item.
const ITEM_BYTES_MAX: usize = 1 << 20;

/// The description of an array.
pub(super) struct Array {
    /// Bytes before its items.
    pub head_bytes: u64,
    pub shape: Vec<u64>,
    pub of: DType,
    pub item_bytes: usize,
    pub items: u64,
    pub order: Order,
}

/// Where the numbers of a column are: the bytes `offset` of each `stride` bytes, from byte `start` of the array on.
pub(super) struct Place {
    pub name: String,
    pub number: Number,
    pub start: u64,
    pub stride: usize,
    pub offset: usize,
}

impl Array {
    /// Reads a description; `len` bytes are there of the array.
    pub fn read(input: &mut impl Read, len: u64) -> Result<Self, TableFault> {
        let mut bytes = vec![0; 10];
        read_exact(input, &mut bytes)?;
        let is_long = bytes.get(6) != Some(&1);
        if is_long {
            bytes.resize(12, 0);
            read_exact(input, &mut bytes[10..])?;
        }
        let (lens, head) = (&bytes[8..], bytes.len());
        let len_of = lens.iter().rev().fold(0_u32, |len, &byte| len << 8 | u32::from(byte));
        if len_of > DESCRIPTION_BYTES_MAX {
            return damaged(format!("an array has a description of {len_of} bytes"));
        }
        bytes.resize(head + len_of as usize, 0);
        read_exact(input, &mut bytes[head..])?;
        let mut depth = 0_u32;
        for byte in &bytes[head..] {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEPTH_MAX {
                return damaged("the description of an array has too many lists in lists");
            }
        }
        let header = guarded(|| {
            NpyHeader::from_reader(&bytes[..]).map_err(|error| {
                TableFault::Damaged(format!("the description of an array: {error}"))
            })
        })?;
        let (of, shape) = (header.dtype(), header.shape().to_vec());
        let Some(item_bytes) = of.num_bytes() else {
            return Err(TableFault::Refused(
                "it holds Python objects; write arrays of numbers".into(),
            ));
        };
        if item_bytes > ITEM_BYTES_MAX {
            return Err(TableFault::Refused(format!(
                "its items have {item_bytes} bytes; write the columns of tags into an array of their own"
            )));
        }
        let items = shape.iter().try_fold(1_u64, |items, &len| items.checked_mul(len));
        let head_bytes = bytes.len() as u64;
        let end = items.and_then(|items| items.checked_mul(item_bytes as u64));
        let end = end.and_then(|bytes| bytes.checked_add(head_bytes));
        match items {
            Some(items) if end == Some(len) => {
                Ok(Self { head_bytes, shape, of, item_bytes, items, order: header.order() })
            }
            _ if end.is_some_and(|end| end < len) => Err(TableFault::Refused(
                "bytes follow its array; if these are several arrays, write them by numpy.savez"
                    .into(),
            )),
            _ => damaged("its data end before its last row"),
        }
    }

    /// The columns of tags, and the names or the order by which they were chosen.
    pub fn columns(
        &self,
        settings: &Settings,
    ) -> Result<(ChosenColumns, [Option<Place>; 3]), TableFault> {
        match &self.of {
            DType::Record(_) => self.fields(&settings.column_names()),
            DType::Plain(of) => {
                let columns = [&settings.columns, &settings.columns_before];
                let order = columns.into_iter().flatten().find_map(Columns::order);
                self.by_position(of, order)
            }
            DType::Array(..) => damaged("the items of an array are arrays"),
        }
    }

    fn fields(
        &self,
        wanted: &ColumnNames,
    ) -> Result<(ChosenColumns, [Option<Place>; 3]), TableFault> {
        let DType::Record(fields) = &self.of else { return damaged("it has no fields") };
        if self.shape.len() != 1 {
            return Err(TableFault::Refused(format!(
                "its array has {} dimensions; a row of a structured array is a tag",
                self.shape.len()
            )));
        }
        let names: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
        let places = wanted.find(&names)?;
        let place = |at: usize| -> Result<Place, TableFault> {
            let before = fields[..at].iter().filter_map(|field| field.dtype.num_bytes());
            let (name, offset) = (names[at].clone(), before.sum());
            let number = number(&fields[at].dtype, &name)?;
            Ok(Place { name, number, start: self.head_bytes, stride: self.item_bytes, offset })
        };
        let ColumnPlaces { time, channel, micro, .. } = places;
        let chosen = [Some(time), Some(channel), micro];
        let [time, channel, micro] = chosen.map(|at| at.map(place).transpose());
        let columns = ChosenColumns::Named(ColumnNames::at(places, &names));
        Ok((columns, [time?, channel?, micro?]))
    }

    fn by_position(
        &self,
        of: &TypeStr,
        order: Option<TextColumns>,
    ) -> Result<(ChosenColumns, [Option<Place>; 3]), TableFault> {
        let &[rows, count @ (2 | 3)] = &self.shape[..] else {
            let shape: Vec<String> = self.shape.iter().map(ToString::to_string).collect();
            return Err(TableFault::Refused(format!(
                "its array has the shape ({}); tags are a structured array, or rows of two or three integers, \
                 or arrays in one .npz file",
                shape.join(", ")
            )));
        };
        if of.type_char() == TypeChar::Float {
            return Err(TableFault::Refused(
                "its array of two dimensions holds floats, and channels are integers; write the columns as arrays of \
                 their own, numpy.savez(NEW, time=a[:, 0], channel=a[:, 1].astype(\"u2\")), and say the unit of \
                 times, as in --columns time=:ns"
                    .into(),
            ));
        }
        let Some(order) = order else {
            return Err(TableFault::Refused(format!(
                "its {count} columns have no names; say their order by --columns time,channel or --columns \
                 channel,time{}",
                if count == 3 { " (micro times are the third)" } else { "" }
            )));
        };
        let place = |name: &str, at: u64| -> Result<Place, TableFault> {
            let number = number(&DType::Plain(of.clone()), name)?;
            let width = number.bytes as u64;
            let (start, stride, offset) = match self.order {
                Order::C => (0, count * width, at * width),
                Order::Fortran => (at * rows * width, width, 0),
            };
            let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
            let (start, stride, offset) = (self.head_bytes + start, bytes(stride), bytes(offset));
            Ok(Place { name: name.into(), number, start, stride, offset })
        };
        let (time, channel) = match order {
            TextColumns::TimeChannel => (0, 1),
            TextColumns::ChannelTime => (1, 0),
        };
        let micro = if count == 3 { Some(place("micro", 2)?) } else { None };
        let places = [Some(place("time", time)?), Some(place("channel", channel)?), micro];
        Ok((ChosenColumns::Order(order), places))
    }

    /// Rows of the array.
    pub fn rows(&self) -> u64 {
        self.shape.first().copied().unwrap_or(1)
    }
}

/// The number that items of this type are, in the column `name`.
pub(super) fn number(of: &DType, name: &str) -> Result<Number, TableFault> {
    let DType::Plain(of) = of else { return Err(no_numbers(name, "lists")) };
    if of.endianness() == Endianness::Big {
        return Err(TableFault::Refused(format!(
            "the column `{}` holds big-endian numbers ({of}); write it with astype(\"{}\")",
            name.escape_debug(),
            of.to_string().replace('>', "<"),
        )));
    }
    let kind = match (of.type_char(), of.size_field()) {
        (TypeChar::Int, 1 | 2 | 4 | 8) => ValueKind::Signed,
        (TypeChar::Uint, 1 | 2 | 4 | 8) => ValueKind::Unsigned,
        (TypeChar::Float, 4 | 8) => ValueKind::Float,
        _ => return Err(no_numbers(name, &format!("items of the type {of}"))),
    };
    let bytes = of.num_bytes().unwrap_or(0);
    Ok(Number { bytes, kind })
}
