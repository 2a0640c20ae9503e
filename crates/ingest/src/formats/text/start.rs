//! The beginning of a text: comments, blank lines and a header, up to the first tag.
//!
//! A comment is a header if the first tag has as many fields as it has names: `# time,ch` above `100,1`. A text that is
//! read for the first time and one that is continued must get the same layout, so nothing after the first tag is looked
//! at, except for the words of an error.

use super::{
    columns::TextColumns,
    fields::{LineFault, comment},
    hint,
    layout::{Fields, HeaderLine, NamesLine, SoughtColumns, TextLayout, TimesInUnit},
    line::{WrongLine, parse_one, whole},
    stated::Stated,
    stopped::TextStopped,
};
use tagq_store::{Tick, TimeUnit};

use crate::{
    formats::columns::{ChosenColumns, ColumnNames, Columns, NoColumns},
    payload::cut::{Block, Cutter},
    settings::Settings,
};

/// Number of lines that are searched for the first tag after a line that is no tag.
const LINES_LOOKED_AT: usize = 1_000;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a text begins like this: a byte order mark, or printable characters of UTF-8 in the first four bytes. A
/// Cap'n Proto stream begins with a number below 511 in four bytes, of which two are zero.
pub(super) fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4)];
    let rest = match start.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => rest,
        None if BYTE_ORDER_MARK.starts_with(start) => return !start.is_empty(),
        None => start,
    };
    // The last character may be cut.
    let whole = match str::from_utf8(rest) {
        Ok(whole) => whole,
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_printable = |letter: char| {
        letter.is_ascii_graphic() || letter.is_ascii_whitespace() || letter.is_alphabetic()
    };
    let has_some = !start.is_empty() && (rest.is_empty() || !whole.is_empty());
    has_some && whole.chars().all(is_printable)
}

/// The text up to the first tag.
pub(super) struct Start {
    pub layout: TextLayout,
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
        begun: Option<TextLayout>,
        named: Option<u16>,
    ) -> Result<Self, TextStopped> {
        let mut finder = Finder::new(settings, named);
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
    /// The channel that the name of the file states, for a text of times alone.
    named: Option<u16>,
    /// Lines that are still to be skipped.
    skip: u64,
    /// The tick or the unit of times that comments state.
    pub stated: Option<Stated>,
    /// A later comment that states another length, and its line.
    contradiction: Option<(u64, Stated)>,
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
    pub(super) fn new(settings: &'s Settings, named: Option<u16>) -> Self {
        Self {
            settings,
            named,
            skip: settings.skip_lines(),
            stated: None,
            contradiction: None,
            order: None,
            header: None,
            comment: None,
            lines: 0,
        }
    }

    /// Returns the layout that the beginning of a text makes, where its tags begin, and the tick that it states; `None`
    /// if it has no tag.
    pub(super) fn of_start(
        settings: &'s Settings,
        start: &[u8],
        named: Option<u16>,
    ) -> Result<Option<(TextLayout, usize, Option<Tick>)>, TextStopped> {
        let mut finder = Self::new(settings, named);
        let mut at = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        while let Some(len) = start[at..].iter().position(|&byte| byte == b'\n') {
            if let Some(layout) = finder.line(&start[at..at + len])? {
                let stated = match finder.stated {
                    Some(Stated::Tick(tick)) => Some(tick),
                    Some(Stated::Unit(_)) | None => None,
                };
                let tick = layout.tick().or(stated);
                return Ok(Some((layout, at, tick)));
            }
            at += len + 1;
        }
        Ok(None)
    }

    /// Takes the next line. Returns the layout if it is the first tag.
    fn line(&mut self, line: &[u8]) -> Result<Option<TextLayout>, TextStopped> {
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
        self.check_stated()?;
        self.check_channel()?;
        Ok(Some(self.layout(line)))
    }

    fn comment(&mut self, comment: &[u8]) -> Result<(), TextStopped> {
        if let Some(stated) = Stated::of(comment) {
            self.state(stated);
            return Ok(());
        }
        if let Some(order) = TextColumns::of_header(comment) {
            self.set_order(order)
        } else if let Some(Ok(header)) = HeaderLine::of(comment, self.wanted()) {
            self.comment = Some(header);
            Ok(())
        } else {
            Ok(())
        }
    }

    /// Takes the statement of a comment. The tick that is given chooses among several.
    fn state(&mut self, stated: Stated) {
        let given = self.settings.tick;
        match self.stated {
            None => self.stated = Some(stated),
            Some(before) if before.length() == stated.length() => {}
            Some(before) if given == Some(before.length()) => {}
            Some(_) if given == Some(stated.length()) => self.stated = Some(stated),
            Some(_) => {
                self.contradiction.get_or_insert((self.lines + 1, stated));
            }
        }
    }

    /// Checks that comments and the name of the column of times do not contradict each other, in a text that was never
    /// read before.
    fn check_stated(&self) -> Result<(), TextStopped> {
        let Some(stated) = self.stated.filter(|_| self.settings.columns_before.is_none()) else {
            return Ok(());
        };
        let of_name = self.header.as_ref().and_then(|header| header.places.time_unit);
        if let Some((line, other)) = self.contradiction.filter(|_| of_name.is_none()) {
            let (first, paste) = (stated.length(), stated.length().paste());
            return Err(TextStopped::Named(format!(
                "line {line} says that times are in units of {}, and a line before it {}; give the right one, as in \
                 `--tick {paste}`",
                other.length().exact(),
                first.exact()
            )));
        }
        match (stated, of_name) {
            (Stated::Unit(unit), Some(of_name)) if unit != of_name && !self.has_stated_times() => {
                Err(TextStopped::Named(format!(
                    "a comment says that times are in {}, and the name of their column says {}; give the right one, as \
                     in --columns time=:{}",
                    unit.name(),
                    of_name.name(),
                    of_name.name()
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that one column of times has a channel.
    fn check_channel(&self) -> Result<(), TextStopped> {
        let channel = self.channel().or(self.named);
        match self.times() {
            Some(ChosenColumns::Times(1)) if channel.is_none() => Err(TextStopped::Named(
                "its lines are times without a channel; add `--channel 1`, or the number that their channel has".into(),
            )),
            _ => Ok(()),
        }
    }

    /// Whether the columns that are given say which unit times have.
    fn has_stated_times(&self) -> bool {
        self.settings.columns.as_ref().is_some_and(|columns| columns.time_unit.is_some())
    }

    /// Whether a line is a header. Columns that are given by name must be in it.
    fn is_header(&mut self, line: &[u8]) -> Result<bool, TextStopped> {
        let number = self.lines + 1;
        if self.header.is_some() {
            return Ok(false);
        }
        let has_names = self.names().is_some() || self.wanted().times.is_some();
        if !has_names && let Some(order) = TextColumns::of_header(line) {
            return self.set_order(order).map(|()| true);
        }
        let is_given = self.settings.columns.as_ref().is_some_and(|columns| {
            matches!(columns.chosen, ChosenColumns::Named(_) | ChosenColumns::NamedTimes(_))
        });
        match HeaderLine::of(line, self.wanted()) {
            Some(Ok(header)) => {
                self.header = Some(header);
                Ok(true)
            }
            // The lines below say which option reads it.
            Some(Err(NoColumns { is_missing: true, .. })) if !is_given => Ok(false),
            Some(Err(NoColumns { what, is_header, .. })) if is_given || is_header => {
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

    fn wanted(&self) -> SoughtColumns<'s> {
        const USUAL: ColumnNames = ColumnNames { time: None, channel: None, micro: None };
        let times = match self.times() {
            Some(ChosenColumns::NamedTimes(names)) => Some(&**names),
            _ => None,
        };
        let channel = self.channel();
        SoughtColumns { names: self.names().unwrap_or(&USUAL), times, channel }
    }

    /// The channel of all tags, or of the first column of times.
    fn channel(&self) -> Option<u16> {
        let Settings { columns, columns_before, .. } = self.settings;
        Columns::channel(columns.as_ref(), columns_before.as_ref())
    }

    /// The columns that each have the times of a channel, if these are chosen.
    fn times(&self) -> Option<&'s ChosenColumns> {
        let Settings { columns, columns_before, .. } = self.settings;
        Columns::times(columns.as_ref(), columns_before.as_ref())
    }

    /// The columns of times and the channel of the first one, in a text without a header: if they are chosen, and
    /// otherwise one column, if the channel is given, or if the name of the file states it and the line is a time.
    fn times_without_header(&self, first: &[u8]) -> Option<(usize, Option<u16>)> {
        let channel = self.channel();
        match self.times() {
            Some(ChosenColumns::Times(1)) => Some((1, channel.or(self.named))),
            Some(ChosenColumns::Times(count)) => Some((*count, channel)),
            _ if channel.is_some() => Some((1, channel)),
            _ => {
                let is_time = whole::<i64>(first.trim_ascii()).is_ok();
                self.named.filter(|_| is_time && self.order.is_none()).map(|named| (1, Some(named)))
            }
        }
    }

    /// The order of the columns where no header says it. A text whose reading is continued keeps its order.
    fn given_order(&self) -> Option<TextColumns> {
        let order = |columns: &Option<Columns>| columns.as_ref().and_then(Columns::order);
        let (given, before) = (order(&self.settings.columns), order(&self.settings.columns_before));
        if self.settings.start_byte > 0 { before.or(given) } else { given.or(before) }
    }

    /// The layout of a text whose first tag is this line; of an empty line, as far as the header says it.
    pub(super) fn layout(&mut self, first: &[u8]) -> TextLayout {
        let comment = self.comment.take().filter(|header| header.fits(first));
        let header = self.header.take().or(comment);
        let of_name = header.as_ref().and_then(|header| header.places.time_unit);
        let times = self.time_unit(of_name).and_then(|unit| {
            let (tick, to_ticks) =
                (self.settings.tick_in_unit(None), self.settings.to_ticks(Some(unit), None)?);
            Some(TimesInUnit { unit, tick, to_ticks })
        });
        if let Some(header) = header {
            return TextLayout::Fields(Fields::below(header, times, first).into());
        }
        if let Some((count, channel)) = self.times_without_header(first) {
            return TextLayout::Fields(Fields::of_times(count, channel, times, first).into());
        }
        let stated = self.order.or_else(|| self.given_order());
        let order = stated.unwrap_or_default();
        let fields = Fields::in_order(order, times, first);
        let has_names = stated.is_some() && fields.has_names;
        if times.is_some() || has_names {
            TextLayout::Fields(fields.into())
        } else {
            TextLayout::Two(order)
        }
    }

    /// The unit of times: by the columns, the name of the column, or a comment. An order that is given without a unit
    /// leaves the unit to a comment.
    fn time_unit(&self, of_name: Option<TimeUnit>) -> Option<TimeUnit> {
        let stated = match self.stated {
            Some(Stated::Unit(unit)) => Some(unit),
            Some(Stated::Tick(_)) | None => None,
        };
        let Settings { columns, columns_before, .. } = self.settings;
        let columns = [columns, columns_before].into_iter().flatten();
        let chosen = columns.into_iter().find(|columns| columns.chosen != ChosenColumns::Usual);
        let has_order = chosen.is_some_and(|columns| {
            let is_order =
                matches!(columns.chosen, ChosenColumns::Order(_) | ChosenColumns::Times(_));
            is_order && columns.time_unit.is_none()
        });
        if has_order && self.settings.start_byte == 0 {
            return stated;
        }
        self.settings.time_unit(of_name.or(stated))
    }

    /// Checks that the first tag of a text without a header is one, and says where tags begin if it is not.
    fn check(&self, layout: &TextLayout, lines: &[u8]) -> Result<(), TextStopped> {
        let TextLayout::Two(order) = layout else { return Ok(()) };
        let mut lines = lines.split_inclusive(|&byte| byte == b'\n').take(LINES_LOOKED_AT);
        let is_tag = |line: &[u8]| matches!(parse_one(line, *order), Ok(Some(_)));
        let Some(first) = lines.next().filter(|first| !is_tag(first)) else { return Ok(()) };
        // Names of columns that are not understood are no lines to skip.
        let names = NamesLine::of(first).filter(|_| self.order.is_none());
        if let Some(names) = names {
            let is_several = names.names.len() > 1;
            let is_blank = |line: &&[u8]| line.trim_ascii().is_empty() || comment(line).is_some();
            let below = lines.clone().find(|line| !is_blank(line));
            let fields = below.and_then(|line| names.fields_of(line));
            let fields = fields.filter(|fields| fields.iter().any(|field| hint::is_number(field)));
            let option = fields
                .and_then(|fields| hint::of_header(&names.names, &fields, self.wanted().names));
            let refused = names.find(self.wanted()).err();
            if let Some(NoColumns { what, is_header, .. }) =
                refused.filter(|_| option.is_some() || is_several)
            {
                let number = self.lines + 1;
                match option {
                    Some(option) => {
                        return Err(TextStopped::Named(format!(
                            "line {number}: {what}; `{option}` reads it"
                        )));
                    }
                    None if is_header => {
                        return Err(TextStopped::Named(format!("line {number}: {what}")));
                    }
                    None => return Ok(()),
                }
            }
        }
        let is_start = |line: &[u8]| {
            let header = HeaderLine::of(line, self.wanted());
            is_tag(line) || matches!(header, Some(Ok(_))) || TextColumns::of_header(line).is_some()
        };
        match lines.position(is_start) {
            Some(after) if self.order.is_none() => {
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
        for text in [
            "3\t17",
            "# x",
            "\r\n\r\n",
            "chan",
            "\u{feff}3",
            "\u{feff}",
            "3",
            "\n",
            "Dé",
            "Dét",
            "时间",
        ] {
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
