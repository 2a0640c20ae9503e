//! The beginning of a text: comments, blank lines and a header.

use super::{
    columns::TextColumns,
    fields::{LineFault, comment},
    layout::{Fields, HeaderLine, Layout, TimesInUnit},
    line::{WrongLine, parse_one},
    stopped::TextStopped,
};
use crate::{
    formats::columns::{ColumnNames, Columns, NoColumns},
    payload::cut::{Block, Cutter},
    settings::Settings,
};

/// Number of lines that are searched for the first tag after a line that is no tag.
const LINES_LOOKED_AT: usize = 1_000;

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

/// The text up to the first tag.
pub(super) struct Start {
    pub layout: Layout,
    /// Lines before the first tag.
    pub lines: u64,
    /// The block in which the tags begin; `None` when the text has none.
    pub block: Option<Block>,
}

impl Start {
    /// Reads up to the first line that is no comment, no blank line and no header. `begun` holds the layout of a text
    /// whose reading is continued.
    pub(super) fn read(
        cutter: &mut Cutter<'_>,
        settings: &Settings,
        begun: Option<Layout>,
    ) -> Result<Self, TextStopped> {
        let mut finder = Finder::new(settings);
        let mut is_first = true;
        let mut block = Block::default();
        loop {
            match cutter.next(&mut block) {
                Ok(true) => {}
                Ok(false) => {
                    let layout = begun.unwrap_or_else(|| finder.layout(b""));
                    return Ok(Self { layout, lines: finder.lines, block: None });
                }
                Err(fault) => return Err(TextStopped::cut(fault, finder.lines, cutter)),
            }
            if settings.start_byte > 0 {
                let layout = begun.unwrap_or_else(|| finder.layout(b""));
                return Ok(Self { layout, lines: 0, block: Some(block) });
            }
            if std::mem::take(&mut is_first) && block.parts().starts_with(BYTE_ORDER_MARK) {
                block.start = BYTE_ORDER_MARK.len();
            }
            while block.start < block.len() {
                let rest = &block.parts()[block.start..];
                let len = rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
                if let Some(layout) = finder.line(&rest[..len])? {
                    finder.check(&layout, rest)?;
                    return Ok(Self { layout, lines: finder.lines, block: Some(block) });
                }
                block.start += len + 1;
            }
        }
    }
}

/// Finds how the lines of a text are read from its lines up to the first tag. These decide alone, so a text is read in
/// the same way however long it was when it was found.
pub(super) struct Finder<'s> {
    settings: &'s Settings,
    /// Lines that are still to be skipped.
    skip: u64,
    /// The order of two columns, if a header says it.
    order: Option<TextColumns>,
    /// A header that names columns.
    header: Option<HeaderLine>,
    /// A comment that may be such a header: one, if the first tag has as many fields.
    comment: Option<HeaderLine>,
    /// Lines so far.
    pub lines: u64,
}

impl<'s> Finder<'s> {
    pub(super) fn new(settings: &'s Settings) -> Self {
        let skip = settings.skip_lines();
        Self { settings, skip, order: None, header: None, comment: None, lines: 0 }
    }

    /// Returns the layout that the beginning of a text makes, and where its tags begin; `None` if it has no tag.
    pub(super) fn of_start(
        settings: &'s Settings,
        start: &[u8],
    ) -> Result<Option<(Layout, usize)>, TextStopped> {
        let mut finder = Self::new(settings);
        let mut at = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        while let Some(len) = start[at..].iter().position(|&byte| byte == b'\n') {
            if let Some(layout) = finder.line(&start[at..at + len])? {
                return Ok(Some((layout, at)));
            }
            at += len + 1;
        }
        Ok(None)
    }

    /// Takes the next line. Returns the layout if it is the first tag.
    fn line(&mut self, line: &[u8]) -> Result<Option<Layout>, TextStopped> {
        let is_before = if self.skip > 0 {
            self.skip -= 1;
            true
        } else if let Some(comment) = comment(line) {
            self.comment(comment)?;
            true
        } else {
            line.trim_ascii().is_empty() || self.is_header(line)?
        };
        if is_before {
            self.lines += 1;
            return Ok(None);
        }
        Ok(Some(self.layout(line)))
    }

    fn comment(&mut self, comment: &[u8]) -> Result<(), TextStopped> {
        if let Some(order) = TextColumns::of_header(comment) {
            self.set_order(order)
        } else if let Some(Ok(header)) = HeaderLine::of(comment, self.wanted()) {
            self.comment = Some(header);
            Ok(())
        } else {
            Ok(())
        }
    }

    /// Whether a line is a header. Columns that are given by name must be in it.
    fn is_header(&mut self, line: &[u8]) -> Result<bool, TextStopped> {
        let number = self.lines + 1;
        if self.header.is_some() {
            return Ok(false);
        }
        let has_names = self.names().is_some();
        if !has_names && let Some(order) = TextColumns::of_header(line) {
            return self.set_order(order).map(|()| true);
        }
        let is_given = self.settings.columns.as_ref().and_then(Columns::named).is_some();
        match HeaderLine::of(line, self.wanted()) {
            Some(Ok(header)) => {
                self.header = Some(header);
                Ok(true)
            }
            Some(Err(NoColumns { what, is_header })) if is_given || is_header => {
                Err(TextStopped::Named(format!("line {number}: {what}")))
            }
            None if is_given && self.comment.is_none() => Err(TextStopped::Named(format!(
                "line {number} is no header of names; of text without one, --columns says the order: time,channel \
                 or channel,time; if the header is further down, --skip-lines N says where"
            ))),
            Some(Err(_)) | None => Ok(false),
        }
    }

    fn set_order(&mut self, header: TextColumns) -> Result<(), TextStopped> {
        let given = self.settings.columns.as_ref().and_then(Columns::order);
        if let Some(given) = given.filter(|&given| given != header) {
            return Err(TextStopped::Columns { line: self.lines + 1, header, given });
        }
        self.order = Some(header);
        Ok(())
    }

    /// The names by which columns are chosen, if they are.
    fn names(&self) -> Option<&'s ColumnNames> {
        let Settings { columns, columns_before, .. } = self.settings;
        columns.as_ref().or(columns_before.as_ref()).and_then(Columns::named)
    }

    fn wanted(&self) -> &'s ColumnNames {
        const USUAL: ColumnNames = ColumnNames { time: None, channel: None, micro: None };
        self.names().unwrap_or(&USUAL)
    }

    /// The order of the columns where no header says it. A text that was begun goes on as it began.
    fn given_order(&self) -> Option<TextColumns> {
        let order = |columns: &Option<Columns>| columns.as_ref().and_then(Columns::order);
        let (given, before) = (order(&self.settings.columns), order(&self.settings.columns_before));
        if self.settings.start_byte > 0 { before.or(given) } else { given.or(before) }
    }

    /// The layout of a text whose first tag is this line; of an empty line, as far as the header says it.
    pub(super) fn layout(&mut self, first: &[u8]) -> Layout {
        let comment = self.comment.take().filter(|header| header.fits(first));
        let header = self.header.take().or(comment);
        let of_name = header.as_ref().and_then(|header| header.places.time_unit);
        let times = self.settings.time_unit(of_name).and_then(|unit| {
            let (tick, to_ticks) =
                (self.settings.tick_in_unit(None), self.settings.to_ticks(Some(unit), None)?);
            Some(TimesInUnit { unit, tick, to_ticks })
        });
        if let Some(header) = header {
            return Layout::Fields(Fields::below(header, times, first).into());
        }
        let stated = self.order.or_else(|| self.given_order());
        let order = stated.unwrap_or_default();
        let fields = Fields::in_order(order, times, first);
        let has_names = stated.is_some() && fields.has_names;
        if times.is_some() || has_names {
            Layout::Fields(fields.into())
        } else {
            Layout::Two(order)
        }
    }

    /// Checks that the first tag of a text without a header is one, and says where tags begin if it is not.
    fn check(&self, layout: &Layout, lines: &[u8]) -> Result<(), TextStopped> {
        let Layout::Two(order) = layout else { return Ok(()) };
        let mut lines = lines.split_inclusive(|&byte| byte == b'\n').take(LINES_LOOKED_AT);
        let is_tag = |line: &[u8]| matches!(parse_one(line, *order), Ok(Some(_)));
        let Some(first) = lines.next().filter(|first| !is_tag(first)) else { return Ok(()) };
        let is_start = |line: &[u8]| {
            let header = HeaderLine::of(line, self.wanted());
            is_tag(line) || matches!(header, Some(Ok(_))) || TextColumns::of_header(line).is_some()
        };
        // Names of columns that are not understood are no lines to skip.
        let are_names = HeaderLine::of(first, self.wanted()).is_some();
        match lines.position(is_start) {
            Some(after) if self.order.is_none() && !are_names => {
                let skip = self.lines + 1 + after as u64;
                let (line, fault) = (self.lines + 1, LineFault::Preamble { skip });
                Err(TextStopped::Line(WrongLine::new(line, fault, first)))
            }
            _ => Ok(()),
        }
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
