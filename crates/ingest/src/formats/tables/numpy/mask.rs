//! A mask in an array of NumPy: two lines of three labels are an array of integers of the shape (2, 3).

use npyz::{DType, Endianness, Order, TypeChar};

use super::array::Array;
use crate::formats::tables::{
    bytes::Bytes,
    fault::TableFault,
    mask_size::{MaskSize, label},
    values::{Number, ValueKind, read_exact},
};

/// Items that are read at a time.
const ITEMS: usize = 1 << 16;

/// Reads the labels of a mask, line by line. Nothing is kept of an array of another size.
pub(crate) fn labels(file: Bytes<'_>, size: MaskSize) -> Result<Vec<u32>, TableFault> {
    let mut input = file.all();
    let array = Array::read(&mut input, file.size)?;
    let &[lines, pixels] = &array.shape[..] else {
        let shape: Vec<String> = array.shape.iter().map(ToString::to_string).collect();
        return Err(TableFault::Refused(format!(
            "its array has the shape ({}); a mask has lines and pixels, two dimensions",
            shape.join(", ")
        )));
    };
    size.check(lines, pixels)?;
    let number = number(&array.of)?;
    let len = size.len()?;
    let mut labels = vec![0_u32; len];
    let mut bytes = vec![0; ITEMS.min(len) * number.bytes];
    let mut values = Vec::with_capacity(ITEMS.min(len));
    let mut at = 0;
    while at < len {
        let some = ITEMS.min(len - at);
        let bytes = &mut bytes[..some * number.bytes];
        read_exact(&mut input, bytes)?;
        values.clear();
        number.decode(bytes, number.bytes, &mut values);
        for (item, &value) in (at..).zip(&values) {
            let value = match number.kind {
                ValueKind::Unsigned => i128::from(value.cast_unsigned()),
                ValueKind::Signed | ValueKind::Float => i128::from(value),
            };
            let place = match array.order {
                Order::C => item,
                Order::Fortran => size.transposed(item),
            };
            labels[place] = label(value)?;
        }
        at += some;
    }
    Ok(labels)
}

/// The integer that items of this type are.
fn number(of: &DType) -> Result<Number, TableFault> {
    let refused = |of: &str| {
        Err(TableFault::Refused(format!(
            "its items are {of}; labels are integers: write them by numpy.save(NEW, mask.astype(\"u4\"))"
        )))
    };
    let DType::Plain(of) = of else { return refused("no numbers") };
    let bytes = of.num_bytes().unwrap_or(0);
    let kind = match (of.type_char(), bytes) {
        _ if of.endianness() == Endianness::Big => return refused("big-endian"),
        (TypeChar::Bool, 1) | (TypeChar::Uint, 1 | 2 | 4 | 8) => ValueKind::Unsigned,
        (TypeChar::Int, 1 | 2 | 4 | 8) => ValueKind::Signed,
        (TypeChar::Float, _) => return refused("floats"),
        _ => return refused(&format!("of the type {of}")),
    };
    Ok(Number { bytes, kind })
}
