//! The beginning of a text: comments, blank lines and a header.

use super::{columns::TextColumns, named::NamedColumns, stopped::TextStopped};
use crate::{
    formats::columns::{ChosenColumns, ColumnNames, Columns, NoColumns},
    payload::cut::{Block, Cutter},
    settings::Settings,
};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a text begins like this: a byte order mark, or printable characters in the first four bytes. A
/// Cap'n Proto stream begins with a number below 511 in four bytes, of which two are zero.
pub(super) fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4)];
    let rest = match start.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest,
        None if BYTE_ORDER_MARK.starts_with(start) => return !start.is_empty(),
        None => start,
    };
    !start.is_empty()
        && rest.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Which columns the lines of a text have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Layout {
    /// Channel and time in this order.
    Two(TextColumns),
    /// Those that a header names.
    Named(NamedColumns),
}

impl Layout {
    pub fn chosen(&self) -> ChosenColumns {
        match self {
            Self::Two(order) => ChosenColumns::Order(*order),
            Self::Named(columns) => ChosenColumns::Named(columns.names.clone()),
        }
    }
}

/// The text up to the first tag.
pub(super) struct Start {
    pub layout: Layout,
    /// Lines before the first tag.
    pub lines: u64,
    /// The block in which the tags begin; `None` when the text has none.
    pub block: Option<Block>,
}

/// The order of the columns where no header says it. A text that was begun goes on as it began.
fn columns_of(settings: &Settings) -> TextColumns {
    let order = |columns: &Option<Columns>| columns.as_ref().and_then(Columns::order);
    let (given, before) = (order(&settings.columns), order(&settings.columns_before));
    let columns = if settings.start_byte > 0 { before.or(given) } else { given.or(before) };
    columns.unwrap_or_default()
}

/// The names by which columns are chosen, if they are.
fn names_of(settings: &Settings) -> Option<&ColumnNames> {
    settings.columns.as_ref().or(settings.columns_before.as_ref()).and_then(Columns::named)
}

impl Start {
    /// Reads up to the first line that is no comment, no blank line and no header. `begun` holds the columns of a text
    /// whose reading is continued.
    pub(super) fn read(
        cutter: &mut Cutter<'_>,
        settings: &Settings,
        begun: Option<NamedColumns>,
    ) -> Result<Self, TextStopped> {
        let layout = begun.map_or_else(|| Layout::Two(columns_of(settings)), Layout::Named);
        let mut start = Self { layout, lines: 0, block: None };
        let mut is_first = true;
        let mut block = Block::default();
        loop {
            match cutter.next(&mut block) {
                Ok(true) => {}
                Ok(false) => return Ok(start),
                Err(fault) => return Err(TextStopped::cut(fault, start.lines, cutter)),
            }
            if settings.start_byte > 0 {
                return Ok(Self { block: Some(block), ..start });
            }
            if std::mem::take(&mut is_first) && block.parts().starts_with(BYTE_ORDER_MARK) {
                block.start = BYTE_ORDER_MARK.len();
            }
            while block.start < block.len() {
                let rest = &block.parts()[block.start..];
                let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                let line = &rest[..len];
                let is_line = !matches!(line.trim_ascii_start().first(), None | Some(b'#'));
                if is_line && let Some(layout) = named(line, start.lines + 1, settings)? {
                    start.layout = layout;
                    start.lines += 1;
                    block.start += len + 1;
                    return Ok(Self { block: Some(block), ..start });
                } else if let Some(header) = TextColumns::of_header(line) {
                    if let Some(given) = settings
                        .columns
                        .as_ref()
                        .and_then(Columns::order)
                        .filter(|&given| given != header)
                    {
                        let line = start.lines + 1;
                        return Err(TextStopped::Columns { line, header, given });
                    }
                    start.layout = Layout::Two(header);
                } else if is_line {
                    return Ok(Self { block: Some(block), ..start });
                }
                start.lines += 1;
                block.start += len + 1;
            }
        }
    }
}

/// The columns that the first line of a text names, if it is a header of others than channel and time. Columns that
/// are given by name must be in it.
fn named(line: &[u8], number: u64, settings: &Settings) -> Result<Option<Layout>, TextStopped> {
    let wanted = names_of(settings);
    if wanted.is_none() && TextColumns::of_header(line).is_some() {
        return Ok(None);
    }
    let usual = ColumnNames::default();
    let is_given = settings.columns.as_ref().and_then(Columns::named).is_some();
    match NamedColumns::of_header(line, wanted.unwrap_or(&usual)) {
        Some(Ok(columns)) => Ok(Some(Layout::Named(columns))),
        Some(Err(NoColumns { what, is_several })) if is_given || is_several => {
            Err(TextStopped::Named(format!("line {number}: {what}")))
        }
        None if is_given => Err(TextStopped::Named(format!(
            "line {number} is no header of names; of text without one, --columns says the order: time,channel or \
             channel,time"
        ))),
        Some(Err(_)) | None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_known_by_its_first_bytes() {
        for text in ["3\t17", "# x", "\r\n\r\n", "chan", "\u{feff}3", "\u{feff}", "3", "\n"] {
            let start = &text.as_bytes()[..text.len().min(4)];
            assert!(is_text(start), "{text:?}");
        }
        // A message begins with its number of segments less one, and so does what is there of one.
        for last in [0_u32, 1, 9, 32, 51, 255, 256, 307, 510] {
            let start = last.to_le_bytes();
            assert!(!is_text(&start), "{last}");
            assert!(!is_text(&start[..2]), "{last}");
        }
        for bytes in
            [&b""[..], b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\xff\xfe3\0", b"\xef\xbb\xbe3"]
        {
            assert!(!is_text(bytes), "{bytes:?}");
        }
    }
}
