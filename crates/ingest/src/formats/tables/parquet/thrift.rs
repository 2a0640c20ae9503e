//! Checks of the structures that a Parquet file describes itself by, before the library reads them: it reserves memory
//! for as many items as a list says it has, and for pages as large as their headers say. A list of 2^30 items in a
//! footer of 1 KiB is refused here. Each new field by which the library reserves memory needs a check.
//!
//! Source: Apache Thrift, compact protocol; Apache Parquet, `parquet.thrift`.

use crate::formats::tables::fault::{TableFault, damaged};

/// Structures within structures.
const DEPTH_MAX: usize = 32;
/// Columns within columns.
const COLUMNS_DEPTH_MAX: usize = 64;
/// Columns, notes and the like.
const ITEMS_MAX: usize = 1 << 20;
/// Groups of rows have a number of 16 bits.
const GROUPS_MAX: usize = 1 << 15;
/// The largest page, decompressed. Of three columns, a page each is in memory, and one compressed.
pub(super) const PAGE_BYTES_MAX: u64 = 32 << 20;

/// A thing that the walk over a structure meets.
#[derive(Debug, Clone, Copy)]
enum Seen {
    /// A field of this type.
    Field(u8),
    Int(i64),
    /// A list of so many items.
    List(usize),
    /// The next structure of a list.
    Item,
}

/// Checks the footer of a file.
pub(super) fn check_footer(bytes: &[u8]) -> Result<(), TableFault> {
    // The children of each column, and of the table before them.
    let mut children: Vec<usize> = Vec::new();
    walk(bytes, &mut |path, seen| match (path, seen) {
        ([4], Seen::List(len)) if len > GROUPS_MAX => {
            damaged(format!("it has {len} groups of rows"))
        }
        (_, Seen::List(len)) if len > ITEMS_MAX => damaged(format!("it has a list of {len} items")),
        ([2], Seen::Item) => {
            children.push(0);
            Ok(())
        }
        ([2, 5], Seen::Int(count)) => match (usize::try_from(count), children.last_mut()) {
            (Ok(count), Some(last)) => {
                *last = count;
                Ok(())
            }
            _ => damaged("it has a negative number of columns"),
        },
        _ => Ok(()),
    })?;
    let mut open: Vec<usize> = Vec::new();
    for &count in &children {
        if count > children.len() || open.len() > COLUMNS_DEPTH_MAX {
            return damaged("it has more columns within columns than it lists");
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        open.push(count);
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

/// Checks the header of a page, with which `bytes` begin.
pub(super) fn check_page(bytes: &[u8]) -> Result<(), TableFault> {
    let (mut page_bytes, mut labels) = (0, 0);
    walk(bytes, &mut |path, seen| {
        match (path, seen) {
            // The library reads a field by its number, whatever type it says.
            (path, Seen::Field(kind)) if !is_of_page(path, kind) => {
                return damaged("the header of a page has a field of another type");
            }
            ([2 | 3], Seen::Int(len)) => page_bytes = page_bytes.max(len.unsigned_abs()),
            ([7, 1], Seen::Int(len)) => labels = labels.max(len.unsigned_abs()),
            _ => {}
        }
        Ok(())
    })?;
    if page_bytes > PAGE_BYTES_MAX {
        return Err(TableFault::Refused(format!(
            "it has a page of {page_bytes} bytes, or its header is damaged; write it with pages of at most \
             {PAGE_BYTES_MAX} bytes"
        )));
    }
    // A value of a dictionary has four bytes at least.
    if labels > page_bytes / 4 {
        return damaged(format!("it has a dictionary of {labels} values in {page_bytes} bytes"));
    }
    Ok(())
}

/// Whether a field of the header of a page may have this type: a number, a truth value or a structure.
fn is_of_page(path: &[i64], kind: u8) -> bool {
    let (numbers, truth, structures) = (kind == 5, matches!(kind, 1 | 2), kind == 12);
    match path {
        [1..=4] | [5, 1..=4] | [7, 1..=2] | [8, 1..=6] => numbers,
        [5..=8] | [5, 5] | [8, 8] => structures,
        [7, 3] | [8, 7] => truth,
        _ => true,
    }
}

/// Receives each part of a structure, with the numbers of the fields around it.
type See<'a> = dyn FnMut(&[i64], Seen) -> Result<(), TableFault> + 'a;

/// Walks over the structure at the beginning of `bytes`.
fn walk(bytes: &[u8], see: &mut See<'_>) -> Result<(), TableFault> {
    ThriftWalk { rest: bytes, path: Vec::new(), see }.structure()
}

struct ThriftWalk<'a, 's> {
    rest: &'a [u8],
    path: Vec<i64>,
    see: &'a mut See<'s>,
}

impl ThriftWalk<'_, '_> {
    fn structure(&mut self) -> Result<(), TableFault> {
        if self.path.len() >= DEPTH_MAX {
            return damaged("it has too many structures within structures");
        }
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            let (step, kind) = (head >> 4, head & 15);
            if kind == 0 {
                return Ok(());
            }
            field = match i64::from(step) {
                0 => self.int()?,
                step => field.saturating_add(step),
            };
            self.path.push(field);
            (self.see)(&self.path, Seen::Field(kind))?;
            // Truth values stand in the type of their field.
            if kind > 2 {
                self.value(kind)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Result<(), TableFault> {
        match kind {
            3 => self.skip(1),
            4..=6 => {
                let int = self.int()?;
                (self.see)(&self.path, Seen::Int(int))
            }
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            9 | 10 => self.list(),
            12 => self.structure(),
            _ => damaged(format!("it has a value of the unknown type {kind}")),
        }
    }

    fn list(&mut self) -> Result<(), TableFault> {
        let head = self.byte()?;
        let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // An item has a byte at least.
        let Some(len) = usize::try_from(len).ok().filter(|&len| len <= self.rest.len()) else {
            return damaged("it has a list that is longer than the file");
        };
        (self.see)(&self.path, Seen::List(len))?;
        // No header has a list of lists or of truth values. For a truth value some readers take one byte, and others
        // none.
        if matches!(head & 15, 9 | 10) {
            return damaged("it has a list of lists");
        }
        if len > 0 && matches!(head & 15, 1 | 2) {
            return damaged("it has a list of truth values");
        }
        for _ in 0..len {
            if head & 15 == 12 {
                (self.see)(&self.path, Seen::Item)?;
            }
            self.value(head & 15)?;
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, TableFault> {
        let Some((&byte, rest)) = self.rest.split_first() else {
            return damaged("a description in it ends early");
        };
        self.rest = rest;
        Ok(byte)
    }

    fn skip(&mut self, len: u64) -> Result<(), TableFault> {
        let rest = usize::try_from(len).ok().and_then(|len| self.rest.get(len..));
        match rest {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => damaged("a description in it ends early"),
        }
    }

    fn varint(&mut self) -> Result<u64, TableFault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        damaged("it has a number of more than 64 bits")
    }

    /// A number with a sign, which stands in its lowest bit.
    fn int(&mut self) -> Result<i64, TableFault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page header: type 0, so many bytes decompressed and compressed.
    fn page(bytes: u64) -> Vec<u8> {
        let mut header = vec![0x15, 0];
        for _ in 0..2 {
            header.push(0x15);
            let mut rest = bytes * 2;
            while rest > 127 {
                header.push(rest.to_le_bytes()[0] | 128);
                rest >>= 7;
            }
            header.push(rest.to_le_bytes()[0]);
        }
        header.push(0);
        header
    }

    #[test]
    fn pages_are_not_larger_than_they_may_be() {
        check_page(&page(PAGE_BYTES_MAX)).unwrap();
        assert!(matches!(check_page(&page(PAGE_BYTES_MAX + 1)), Err(TableFault::Refused(_))));
        // The size is named again, under its full number.
        let mut again = page(5);
        again.pop();
        again.extend([0x05, 4, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0]);
        assert!(matches!(check_page(&again), Err(TableFault::Refused(_))));
        // A dictionary of 100 values in 5 bytes.
        let mut labels = page(5);
        labels.pop();
        labels.extend([0x4c, 0x15, 200, 1, 0, 0]);
        assert!(matches!(check_page(&labels), Err(TableFault::Damaged(_))));
        for len in 0..labels.len() {
            check_page(&labels[..len]).unwrap_err();
        }
    }

    #[test]
    fn lists_of_a_footer_have_their_items() {
        // A list of 2^31 groups of rows.
        check_footer(&[0x49, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x08, 0]).unwrap_err();
        // One column that has a thousand, and one that has none.
        check_footer(&[0x29, 0x1c, 0x55, 0xd0, 0x0f, 0, 0]).unwrap_err();
        check_footer(&[0x29, 0x1c, 0x55, 0, 0, 0]).unwrap();
        // Each column has one, but the last.
        let nested = |depth: u8| {
            let mut bytes = vec![0x29, 0xfc, depth];
            bytes.extend([0x55, 2, 0].repeat(depth.into()));
            [bytes, vec![0]].concat()
        };
        check_footer(&nested(60)).unwrap();
        check_footer(&nested(100)).unwrap_err();
        // Structures within structures, in an unknown field.
        check_footer(&[vec![0x9c; 1_000], vec![0; 1_001]].concat()).unwrap_err();
    }
}
