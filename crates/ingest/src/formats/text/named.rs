//! Text whose header names its columns; some of them hold the tags.

use tagq_store::{Tag, format::MICRO_NONE};

use super::{
    fields::LineFault,
    line::{NumberFault, WrongLine, ticks, whole},
};
use crate::{
    formats::{
        columns::{ColumnNames, NoColumns, Places},
        times::ToTicks,
    },
    payload::cut::LINE_BYTES_MAX,
};

/// The columns of a text with a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedColumns {
    /// The names of the columns of tags.
    pub names: ColumnNames,
    places: Places,
    /// Fields of each line.
    count: usize,
    separator: Separator,
    /// The header, which is skipped where files were put together.
    header: Vec<u8>,
}

/// The separator of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    Blanks,
}

/// A tag with its micro time.
type Row = (Tag, Option<u32>);

impl NamedColumns {
    /// The columns in a header; `None` if the line is no header: one field, or a number among them.
    pub fn of_header(line: &[u8], wanted: &ColumnNames) -> Option<Result<Self, NoColumns>> {
        let header = line.trim_ascii();
        if header.len() > LINE_BYTES_MAX || header.starts_with(b"#") {
            return None;
        }
        let separator = Separator::of(header);
        let mut fields = Vec::new();
        split(header, separator, &mut fields).ok()?;
        let names: Option<Vec<String>> = fields.iter().map(|field| name(field)).collect();
        let names = names.filter(|names| names.len() > 1)?;
        Some(wanted.find(&names).map(|places| Self {
            names: ColumnNames::at(places, &names),
            places,
            count: names.len(),
            separator,
            header: header.to_vec(),
        }))
    }

    /// The columns in the header with which a text begins, after a byte order mark.
    pub fn of_start(start: &[u8], wanted: &ColumnNames) -> Option<Self> {
        let mut lines = start.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let line = lines.find(|line| !matches!(line.first(), None | Some(b'#')))?;
        Self::of_header(line, wanted)?.ok()
    }

    /// Appends the tags of `lines`, which end with line feeds. Returns the number of lines.
    pub fn parse(
        &self,
        lines: &[u8],
        to_ticks: Option<ToTicks>,
        tags: &mut Vec<Tag>,
        micros: &mut Vec<u32>,
    ) -> Result<u64, WrongLine> {
        let mut count = 0;
        let mut fields = Vec::new();
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            count += 1;
            let row = self.row(line, to_ticks, &mut fields);
            if let Some((tag, micro)) = row.map_err(|fault| WrongLine::new(count, fault, line))? {
                tags.push(tag);
                micros.extend(micro);
            }
        }
        Ok(count)
    }

    /// The tag of one line that ends before anything follows, for the end of a file.
    pub fn parse_one(
        &self,
        line: &[u8],
        to_ticks: Option<ToTicks>,
    ) -> Result<Option<Row>, LineFault> {
        self.row(line, to_ticks, &mut Vec::new())
    }

    /// The tag of a line without its line feed; `None` when it is blank, a comment, or the header once more.
    fn row<'l>(
        &self,
        line: &'l [u8],
        to_ticks: Option<ToTicks>,
        fields: &mut Vec<&'l [u8]>,
    ) -> Result<Option<Row>, LineFault> {
        if line.len() > LINE_BYTES_MAX {
            return Err(LineFault::TooLong);
        }
        let words = line.trim_ascii();
        if words.is_empty() || words.starts_with(b"#") || words == self.header {
            return Ok(None);
        }
        fields.clear();
        split(line, self.separator, fields)?;
        if fields.len() != self.count {
            return Err(LineFault::FieldCount);
        }
        let field = |place: usize| fields.get(place).copied().unwrap_or_default();
        let channel = whole(field(self.places.channel)).map_err(NumberFault::of_channel)?;
        let time = ticks(field(self.places.time), to_ticks)?;
        let micro = self.places.micro.map(field).map(|field| match field {
            b"" => Ok(MICRO_NONE),
            field => whole::<u32>(field)
                .ok()
                .filter(|&micro| micro != MICRO_NONE)
                .ok_or(LineFault::Micro),
        });
        Ok(Some((Tag { time, channel }, micro.transpose()?)))
    }
}

impl Separator {
    /// The mark that occurs most often in a header outside of quotes; blanks if none does.
    fn of(header: &[u8]) -> Self {
        let count = |mark: u8| {
            let mut is_quoted = false;
            let marks = header.iter().filter(|&&byte| {
                is_quoted ^= byte == b'"';
                byte == mark && !is_quoted
            });
            marks.count()
        };
        // Of equal ones, the last.
        let most = [b';', b',', b'\t'].into_iter().max_by_key(|&mark| count(mark));
        most.filter(|&mark| count(mark) > 0).map_or(Self::Blanks, Self::Byte)
    }

    fn is(self, byte: u8) -> bool {
        match self {
            Self::Byte(mark) => byte == mark,
            Self::Blanks => byte == b' ' || byte == b'\t',
        }
    }
}

/// The name in a field of a header; `None` for a number or nothing.
fn name(field: &[u8]) -> Option<String> {
    let name = String::from_utf8_lossy(field).replace("\"\"", "\"");
    (!name.is_empty() && name.parse::<f64>().is_err()).then_some(name)
}

/// Appends the fields of a line, without quotes and the blanks around them.
fn split<'l>(
    line: &'l [u8],
    separator: Separator,
    fields: &mut Vec<&'l [u8]>,
) -> Result<(), LineFault> {
    let mut rest = match separator {
        Separator::Byte(_) => line.strip_suffix(b"\r").unwrap_or(line),
        Separator::Blanks => line.trim_ascii(),
    };
    loop {
        let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
        rest = &rest[blanks..];
        let field;
        if let Some(quoted) = rest.strip_prefix(b"\"") {
            let end = quote_end(quoted).ok_or(LineFault::Quote)?;
            field = &quoted[..end];
            rest = &quoted[end + 1..];
            if let Separator::Byte(_) = separator {
                let blanks = rest.iter().take_while(|&&byte| byte == b' ').count();
                rest = &rest[blanks..];
            }
            if rest.first().is_some_and(|&byte| !separator.is(byte)) {
                return Err(LineFault::Quote);
            }
        } else {
            let end = rest.iter().position(|&byte| separator.is(byte)).unwrap_or(rest.len());
            field = rest[..end].trim_ascii();
            rest = &rest[end..];
        }
        fields.push(field);
        rest = match (rest, separator) {
            ([], _) => return Ok(()),
            ([_, rest @ ..], Separator::Byte(_)) => rest,
            (rest, Separator::Blanks) => rest.trim_ascii_start(),
        };
    }
}

/// Where a quoted field ends; two quotes are one of it.
fn quote_end(quoted: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += quoted[at..].iter().position(|&byte| byte == b'"')?;
        match quoted.get(at + 1) {
            Some(b'"') => at += 2,
            _ => return Some(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> Option<Result<NamedColumns, NoColumns>> {
        NamedColumns::of_header(header.as_bytes(), &ColumnNames::default())
    }

    fn rows(header: &str, lines: &str) -> Result<Vec<(i64, u64)>, LineFault> {
        let (mut tags, mut micros) = (Vec::new(), Vec::new());
        let columns = of(header).unwrap().unwrap();
        let parsed = columns.parse(lines.as_bytes(), None, &mut tags, &mut micros);
        parsed.map_err(|wrong| wrong.fault)?;
        Ok(tags.iter().map(|tag| (tag.time, tag.channel)).collect())
    }

    #[test]
    fn fields_stand_separator_the_mark_of_the_header() {
        for (header, lines) in [
            ("energy,t,ch", "1.5,-7,3\r\n\n# x\n\"a,b\", \"8\" ,4\nenergy,t,ch\n"),
            ("energy\tt\tch", "\t-7\t3\nx y\t8\t4\n"),
            ("\"the energy\";\"Time\";Detector", "1,5;-7;3\n;8;\"4\"\n"),
            ("note t  ch", "x -7 3\n  \"a b\"  8\t4 \n"),
        ] {
            assert_eq!(rows(header, lines), Ok(vec![(-7, 3), (8, 4)]), "{header}");
        }
    }

    #[test]
    fn lines_that_are_no_tags_are_refused() {
        for (line, fault) in [
            ("1,2\n", LineFault::FieldCount),
            ("1,2,3,4\n", LineFault::FieldCount),
            ("1,2.5,3\n", LineFault::TimeNotWhole),
            ("1,,3\n", LineFault::TimeNoNumber),
            ("1,2,-3\n", LineFault::ChannelRange),
            ("1,2,x\n", LineFault::ChannelNoNumber),
            ("\"1,2,3\n", LineFault::Quote),
            ("\"1\"x,2,3\n", LineFault::Quote),
        ] {
            assert_eq!(rows("energy,time,channel", line), Err(fault), "{line}");
        }
    }

    #[test]
    fn a_header_has_names_only() {
        assert!(of("1,2,3").is_none() && of("time").is_none() && of("# time ch x").is_none());
        assert!(of("time,ch,1.5").is_none() && of("time,,ch").is_none());
        assert!(of("dead,time").unwrap().is_err());
        let (mut tags, mut micros) = (Vec::new(), Vec::new());
        let columns = of("micro,time,channel").unwrap().unwrap();
        columns.parse(b"5,1,2\n,3,4\n", None, &mut tags, &mut micros).unwrap();
        assert_eq!(micros, [5, MICRO_NONE]);
        assert_eq!(columns.parse_one(b"4294967295,1,2", None), Err(LineFault::Micro));
    }
}
