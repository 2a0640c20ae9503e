//! How the lines of a text are read: as two whole numbers, or as fields, some of which hold the time and the channel.
//!
//! Below the header `id;time_ns;ch` the line `7;12,5;3` is a tag of channel 3 at 12.5 ns: where commas do not separate
//! fields, they are decimal commas. The lines up to the first tag decide the layout alone, so a text is read in one way
//! however often it grows.

use tagq_store::{Tag, Tick, TimeUnit, format::MICRO_NONE};

use super::{
    columns::TextColumns,
    fields::{LineFault, comment},
    labels::{self, ChannelNames},
    line::{NumberFault, WrongLine, plain_line, whole},
    split::{Separator, split},
};
use crate::{
    formats::{
        columns::{ChosenColumns, ColumnNames, ColumnPlaces, Columns, NoColumns},
        naming::{Meaning, Name, Quantity},
        times::{InTicks, TimeFault, ToTicks},
    },
    payload::cut::LINE_BYTES_MAX,
};

/// Which columns the lines of a text have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextLayout {
    /// Channel and time in this order, both whole numbers.
    Two(TextColumns),
    /// Fields of any kind.
    Fields(Box<Fields>),
}

impl TextLayout {
    fn chosen(&self) -> ChosenColumns {
        match self {
            Self::Two(order) => ChosenColumns::Order(*order),
            Self::Fields(fields) => fields.chosen.clone(),
        }
    }

    /// The columns by which lines are read.
    pub(super) fn columns(&self) -> Columns {
        let columns = Columns { channel: self.channel(), ..Columns::default() };
        Columns { chosen: self.chosen(), time_unit: self.time_unit(), ..columns }
    }

    /// The unit of times; `None` if they are ticks.
    pub(super) fn time_unit(&self) -> Option<TimeUnit> {
        match self {
            Self::Two(_) => None,
            Self::Fields(fields) => fields.times.as_ref().map(|times| times.unit),
        }
    }

    /// The tick that times in a unit get.
    pub(super) fn tick(&self) -> Option<Tick> {
        match self {
            Self::Two(_) => None,
            Self::Fields(fields) => fields.times.as_ref().map(|times| times.tick),
        }
    }

    /// Whether channels are names.
    pub(super) fn has_names(&self) -> bool {
        matches!(self, Self::Fields(fields) if fields.has_names)
    }

    /// The channel of all tags, or of the first column of times, if channels have no column.
    fn channel(&self) -> Option<u16> {
        match self {
            Self::Two(_) => None,
            Self::Fields(fields) => fields.times_of.first().map(|&(_, channel)| channel),
        }
    }

    /// The names of channels that each have a column of times.
    pub(super) fn channel_names(&self) -> Vec<(u16, String)> {
        let Self::Fields(fields) = self else { return Vec::new() };
        let ChosenColumns::NamedTimes(names) = &fields.chosen else { return Vec::new() };
        let named = fields.times_of.iter().zip(names).filter_map(|(&(_, channel), name)| {
            let before = name.split(['[', '(']).next().unwrap_or(name).trim();
            labels::name(before.as_bytes()).ok().map(|name| (channel, name.to_owned()))
        });
        named.collect()
    }
}

/// The columns of a text whose lines have fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    chosen: ChosenColumns,
    /// The unit of times; `None` if they are ticks.
    times: Option<TimesInUnit>,
    places: ColumnPlaces,
    /// Columns with the times of one channel each, in place of a column of channels.
    times_of: Vec<(usize, u16)>,
    /// Fields of each line.
    count: usize,
    separator: Separator,
    /// The header, which is skipped where files were put together.
    header: Vec<u8>,
    /// Whether channels are names.
    pub has_names: bool,
}

/// Times in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimesInUnit {
    pub unit: TimeUnit,
    pub tick: Tick,
    pub to_ticks: ToTicks,
}

/// A tag with its micro time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub tag: Tag,
    pub micro: Option<u32>,
    /// Whether its time was between two ticks.
    pub is_rounded: bool,
}

/// The tags of lines.
#[derive(Debug, Default)]
pub(super) struct ParsedLines {
    pub tags: Vec<Tag>,
    pub micros: Vec<u32>,
    /// Times that were between two ticks.
    pub rounded: u64,
}

/// A header that names columns, the columns of tags among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderLine {
    names: Vec<String>,
    pub places: ColumnPlaces,
    times_of: Vec<(usize, u16)>,
    separator: Separator,
    line: Vec<u8>,
}

const TIME: Meaning = Meaning::Of(Quantity::Time);

/// The names in a header, whatever they mean.
pub(super) struct NamesLine {
    pub names: Vec<String>,
    separator: Separator,
    line: Vec<u8>,
}

/// The columns that are sought in a header.
#[derive(Clone, Copy)]
pub(super) struct SoughtColumns<'s> {
    pub names: &'s ColumnNames,
    /// Names of columns that each have the times of a channel.
    pub times: Option<&'s [String]>,
    /// The channel of all tags, or of the first one of these columns.
    pub channel: Option<u16>,
}

impl SoughtColumns<'_> {
    /// Finds the columns, and those that each have the times of a channel.
    fn find(self, names: &[String]) -> Result<(ColumnPlaces, Vec<(usize, u16)>), NoColumns> {
        let Some(times) = self.times else {
            let Some(channel) = self.channel else {
                return Ok((self.names.find(names)?, Vec::new()));
            };
            let places = self.names.find_time(names)?;
            return Ok((places, vec![(places.time, channel)]));
        };
        let mut times_of = Vec::new();
        let mut first = None;
        for (name, channel) in times.iter().zip(channels_from(self.channel)) {
            let of_one = ColumnNames { time: Some(name.clone()), ..ColumnNames::default() };
            let places = of_one.find_time(names)?;
            first = first.or(Some(places));
            times_of.push((places.time, channel));
        }
        let places = first.map_or_else(|| self.names.find(names), Ok)?;
        Ok((places, times_of))
    }
}

/// The channels of columns of times.
fn channels_from(first: Option<u16>) -> impl Iterator<Item = u16> {
    first.unwrap_or(1)..=u16::MAX
}

impl NamesLine {
    /// The names in a line; `None` if it has a number among them.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let header = line.trim_ascii();
        if header.len() > LINE_BYTES_MAX {
            return None;
        }
        let separator = Separator::of(header);
        let mut fields = Vec::new();
        split(header, separator, &mut fields).ok()?;
        while fields.last().is_some_and(|field| field.is_empty()) {
            fields.pop();
        }
        // A column of row numbers comes first and has no name.
        let is_name = |(at, field): (usize, &&[u8])| match *field {
            b"" if at == 0 => Some(String::new()),
            field => name(field),
        };
        let mut names = fields.iter().enumerate().map(is_name).collect::<Option<Vec<String>>>()?;
        if separator == Separator::Blanks {
            // One name of several words.
            let whole = name(header).filter(|whole| Name::of(whole).meaning == TIME);
            names = whole.map_or_else(|| with_units(names), |whole| vec![whole]);
        }
        (!names.is_empty()).then(|| Self { names, separator, line: header.to_vec() })
    }

    /// Finds the columns that are sought.
    pub(super) fn find(self, wanted: SoughtColumns<'_>) -> Result<HeaderLine, NoColumns> {
        let Self { names, separator, line } = self;
        let (places, times_of) = wanted.find(&names)?;
        Ok(HeaderLine { names, places, times_of, separator, line })
    }

    /// The fields of a line below, if it has as many.
    pub(super) fn fields_of<'l>(&self, line: &'l [u8]) -> Option<Vec<&'l [u8]>> {
        [self.separator].into_iter().chain(Separator::ALL).find_map(|separator| {
            let mut fields = Vec::new();
            split(line, separator, &mut fields).ok()?;
            has_count(&mut fields, self.names.len()).then_some(fields)
        })
    }
}

impl HeaderLine {
    /// The columns in a header; `None` if the line is no header: one field, or a number among them.
    pub(super) fn of(line: &[u8], wanted: SoughtColumns<'_>) -> Option<Result<Self, NoColumns>> {
        let names = NamesLine::of(line)?;
        // One column alone has times if their channel is known.
        if names.names.len() < 2 && wanted.channel.is_none() {
            return None;
        }
        Some(names.find(wanted))
    }

    /// Returns the separator of the fields of a line below the header: that of the header, or else the first one that
    /// gives as many fields.
    fn separator_of(&self, line: &[u8]) -> Option<Separator> {
        let fits = |separator: &Separator| {
            let mut fields = Vec::new();
            split(line, *separator, &mut fields).is_ok() && has_count(&mut fields, self.names.len())
        };
        [self.separator].into_iter().chain(Separator::ALL).find(fits)
    }

    /// Whether a line has as many fields as the header.
    pub(super) fn fits(&self, line: &[u8]) -> bool {
        self.separator_of(line).is_some()
    }
}

impl Fields {
    /// The fields below a header; `first` is the first line that is a tag.
    pub(super) fn below(header: HeaderLine, times: Option<TimesInUnit>, first: &[u8]) -> Self {
        let separator = header.separator_of(first).unwrap_or(header.separator);
        let HeaderLine { names, places, times_of, line, .. } = header;
        let chosen = match &times_of[..] {
            [] => ChosenColumns::Named(ColumnNames::at(places, &names)),
            [_] => {
                let of_time = ColumnNames { channel: None, ..ColumnNames::at(places, &names) };
                ChosenColumns::Named(of_time)
            }
            several => {
                let name = |&(place, _): &(usize, u16)| names.get(place).cloned();
                ChosenColumns::NamedTimes(several.iter().filter_map(name).collect())
            }
        };
        let (count, header) = (names.len(), line);
        let has_names = false;
        let fields = Self { chosen, times, places, times_of, count, separator, header, has_names };
        fields.with_names_as_in(first)
    }

    /// So many columns that each have the times of a channel; `first` is the first line that is a tag.
    pub(super) fn of_times(
        count: usize,
        channel: Option<u16>,
        times: Option<TimesInUnit>,
        first: &[u8],
    ) -> Self {
        let fits = |separator: &Separator| {
            let mut fields = Vec::new();
            split(first, *separator, &mut fields).is_ok() && has_count(&mut fields, count)
        };
        let separator = Separator::ALL.into_iter().find(fits);
        Self {
            chosen: ChosenColumns::Times(count),
            times,
            places: ColumnPlaces { time: 0, channel: 0, micro: None, time_unit: None },
            times_of: (0..count).zip(channels_from(channel)).collect(),
            count,
            separator: separator.unwrap_or_else(|| Separator::of(first)),
            header: Vec::new(),
            has_names: false,
        }
    }

    /// Two fields in an order; `first` is the first line that is a tag.
    pub(super) fn in_order(order: TextColumns, times: Option<TimesInUnit>, first: &[u8]) -> Self {
        let (time, channel) = match order {
            TextColumns::ChannelTime => (1, 0),
            TextColumns::TimeChannel => (0, 1),
        };
        let places = ColumnPlaces { time, channel, micro: None, time_unit: None };
        let fields = Self {
            chosen: ChosenColumns::Order(order),
            times,
            places,
            times_of: Vec::new(),
            count: 2,
            separator: Separator::Blanks,
            header: Vec::new(),
            has_names: false,
        };
        // Of a line that is no tag by any separator, two fields with a fault in one of them say most.
        let mut faulty = None;
        for separator in Separator::ALL {
            let fields = Self { separator, ..fields.clone() }.with_names_as_in(first);
            let row = fields.row(first, &mut ChannelNames::default(), &mut Vec::new());
            match row {
                Ok(Some(_)) => return fields,
                Ok(None) | Err(LineFault::FieldCount | LineFault::ManyFields) => {}
                Err(_) => faulty = faulty.or(Some(fields)),
            }
        }
        faulty.unwrap_or(fields)
    }

    /// Channels are names if the first line has one.
    fn with_names_as_in(mut self, first: &[u8]) -> Self {
        let mut fields = Vec::new();
        let is_split = split(first, self.separator, &mut fields).is_ok();
        let field = fields.get(self.places.channel).filter(|_| is_split);
        let has_channel = self.times_of.is_empty();
        self.has_names = has_channel && field.is_some_and(|field| labels::name(field).is_ok());
        self
    }

    /// Appends the tags of the lines in `bytes[at..len]`, as [`super::line::parse`] does.
    pub(super) fn parse(
        &self,
        bytes: &[u8],
        at: usize,
        len: usize,
        names: &mut ChannelNames,
        parsed: &mut ParsedLines,
    ) -> Result<u64, WrongLine> {
        match (self.places.time, self.plain()) {
            (0, Some(plain)) => {
                self.parse_lines::<true>(bytes, at..len, Some(plain), names, parsed)
            }
            (_, plain) => self.parse_lines::<false>(bytes, at..len, plain, names, parsed),
        }
    }

    /// The separator, and the ticks of the unit of times, if lines are two whole numbers that [`plain_line`] can read.
    fn plain(&self) -> Option<(u8, i64)> {
        let factor = self.times.map_or(Some(1), |times| times.to_ticks.factor())?;
        let has_two = self.count == 2 && self.times_of.is_empty();
        let is_plain = has_two && self.places.micro.is_none() && !self.has_names;
        let separator = match self.separator {
            Separator::Byte(mark) => mark,
            Separator::Blanks => b' ',
        };
        is_plain.then_some((separator, factor))
    }

    fn parse_lines<const TIME_FIRST: bool>(
        &self,
        bytes: &[u8],
        std::ops::Range { start: mut at, end: len }: std::ops::Range<usize>,
        plain: Option<(u8, i64)>,
        names: &mut ChannelNames,
        parsed: &mut ParsedLines,
    ) -> Result<u64, WrongLine> {
        let mut count = 0;
        let mut fields = Vec::new();
        while at < len {
            count += 1;
            if let Some((mark, factor)) = plain
                && let Some((tag, next)) = plain_line::<TIME_FIRST>(bytes, at, |byte| byte == mark)
                && let Some(time) = tag.time.checked_mul(factor)
            {
                parsed.tags.push(Tag { time, ..tag });
                at = next;
                continue;
            }
            let line = &bytes[at..len];
            let line = &line[..line.iter().position(|&byte| byte == b'\n').unwrap_or(line.len())];
            self.line(line, names, &mut fields, parsed)
                .map_err(|fault| WrongLine::new(count, fault, line))?;
            at += line.len() + 1;
        }
        Ok(count)
    }

    /// Appends the tags of a line without its line feed: one, or one for each column of times.
    pub(super) fn line<'l>(
        &self,
        line: &'l [u8],
        names: &mut ChannelNames,
        fields: &mut Vec<&'l [u8]>,
        parsed: &mut ParsedLines,
    ) -> Result<(), LineFault> {
        if self.times_of.is_empty() {
            let row = self.row(line, names, fields)?;
            if let Some(Row { tag, micro, is_rounded }) = row {
                parsed.tags.push(tag);
                parsed.micros.extend(micro);
                parsed.rounded += u64::from(is_rounded);
            }
            return Ok(());
        }
        if !self.split_line(line, fields)? {
            return Ok(());
        }
        for &(place, channel) in &self.times_of {
            let field = fields.get(place).copied().unwrap_or_default();
            // A column that is shorter than others ends in empty fields.
            if field.is_empty() && self.times_of.len() > 1 {
                continue;
            }
            let InTicks { ticks: time, is_rounded } = self.time(field)?;
            parsed.tags.push(Tag { time, channel: channel.into() });
            parsed.rounded += u64::from(is_rounded);
        }
        Ok(())
    }

    /// Splits a line into its fields. Returns false when it is blank, a comment, or the header once more.
    fn split_line<'l>(
        &self,
        line: &'l [u8],
        fields: &mut Vec<&'l [u8]>,
    ) -> Result<bool, LineFault> {
        if line.len() > LINE_BYTES_MAX {
            return Err(LineFault::TooLong);
        }
        let words = line.trim_ascii();
        if words.is_empty() || comment(words).is_some() || words == self.header {
            return Ok(false);
        }
        if let ChosenColumns::Order(order) = self.chosen
            && let Some(header) = TextColumns::of_header(words)
        {
            return if header == order { Ok(false) } else { Err(LineFault::OtherHeader) };
        }
        fields.clear();
        split(line, self.separator, fields)?;
        if has_count(fields, self.count) { Ok(true) } else { Err(LineFault::FieldCount) }
    }

    /// The tag of a line with a column of channels; `None` when it is blank, a comment, or the header once more.
    pub(super) fn row<'l>(
        &self,
        line: &'l [u8],
        names: &mut ChannelNames,
        fields: &mut Vec<&'l [u8]>,
    ) -> Result<Option<Row>, LineFault> {
        if !self.split_line(line, fields)? {
            return Ok(None);
        }
        let field = |place: usize| fields.get(place).copied().unwrap_or_default();
        let channel = field(self.places.channel);
        let channel =
            if self.has_names { names.label(channel)?.into() } else { self.number(channel)? };
        let InTicks { ticks: time, is_rounded } = self.time(field(self.places.time))?;
        let micro = self.places.micro.map(field).map(|field| match field {
            b"" => Ok(MICRO_NONE),
            field => whole::<u32>(field)
                .ok()
                .filter(|&micro| micro != MICRO_NONE)
                .ok_or(LineFault::Micro),
        });
        Ok(Some(Row { tag: Tag { time, channel }, micro: micro.transpose()?, is_rounded }))
    }

    /// The channel that a field holds. Where times are decimal numbers, so may channels be that are whole.
    fn number(&self, field: &[u8]) -> Result<u64, LineFault> {
        let fault = match whole(field) {
            Ok(channel) => return Ok(channel),
            Err(fault) => fault,
        };
        let decimal = matches!(fault, NumberFault::NotWhole)
            .then(|| ToTicks::WHOLE.of_decimal(field).ok())
            .flatten()
            .filter(|number| self.times.is_some() && !number.is_rounded)
            .and_then(|number| u64::try_from(number.ticks).ok());
        decimal.ok_or_else(|| fault.of_channel())
    }

    /// The time that a field holds, in ticks. Its fraction may begin with a comma.
    fn time(&self, field: &[u8]) -> Result<InTicks, LineFault> {
        let Some(times) = self.times else {
            let ticks = whole(field).map_err(|fault| {
                let is_decimal =
                    field.contains(&b',') && ToTicks::WHOLE.of_decimal(&with_point(field)).is_ok();
                let fault = if is_decimal { NumberFault::NotWhole } else { fault };
                fault.of_time()
            })?;
            return Ok(InTicks { ticks, is_rounded: false });
        };
        let with_point = field.contains(&b',').then(|| with_point(field));
        times.to_ticks.of_decimal(with_point.as_deref().unwrap_or(field)).map_err(|fault| {
            match fault {
                TimeFault::NoNumber => LineFault::TimeNoNumber,
                TimeFault::Range => LineFault::TimeRange,
            }
        })
    }
}

/// A decimal number with a point in place of its comma. One with a point as well stays as it is, and is no number.
pub(super) fn with_point(field: &[u8]) -> Vec<u8> {
    let is_decimal = !field.contains(&b'.');
    let point = |&byte: &u8| if byte == b',' && is_decimal { b'.' } else { byte };
    field.iter().map(point).collect()
}

/// Whether there are so many fields; empty ones at the end are left out for that.
fn has_count(fields: &mut Vec<&[u8]>, count: usize) -> bool {
    while fields.len() > count && fields.last().is_some_and(|field| field.is_empty()) {
        fields.pop();
    }
    fields.len() == count
}

/// The name in a field of a header; `None` for a number or nothing.
fn name(field: &[u8]) -> Option<String> {
    let name = String::from_utf8_lossy(field).replace("\"\"", "\"");
    (!name.is_empty() && name.parse::<f64>().is_err()).then_some(name)
}

/// Joins names and the units in brackets after them, which blanks separate.
fn with_units(names: Vec<String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for name in names {
        match joined.last_mut() {
            Some(before) if name.starts_with(['[', '(']) => *before = format!("{before} {name}"),
            _ => joined.push(name),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::cut::PADDING;

    fn of(header: &str) -> Option<Result<HeaderLine, NoColumns>> {
        const USUAL: ColumnNames = ColumnNames { time: None, channel: None, micro: None };
        HeaderLine::of(
            header.as_bytes(),
            SoughtColumns { names: &USUAL, times: None, channel: None },
        )
    }

    fn rows(header: &str, lines: &str) -> Result<Vec<(i64, u64)>, LineFault> {
        let header = of(header).unwrap().unwrap();
        let first = lines.lines().next().unwrap();
        let parsed = parse(&Fields::below(header, None, first.as_bytes()), lines)?;
        Ok(parsed.tags.iter().map(|tag| (tag.time, tag.channel)).collect())
    }

    fn parse(fields: &Fields, lines: &str) -> Result<ParsedLines, LineFault> {
        let mut parsed = ParsedLines::default();
        let padded = [lines.as_bytes(), &[0; PADDING]].concat();
        let names = &mut ChannelNames::default();
        let lines = fields.parse(&padded, 0, lines.len(), names, &mut parsed);
        lines.map(|_| parsed).map_err(|wrong| wrong.fault)
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
            ("1,2,3\n1,2,x\n", LineFault::ChannelNoNumber),
            ("\"1,2,3\n", LineFault::Quote),
            ("\"1\"x,2,3\n", LineFault::Quote),
        ] {
            assert_eq!(rows("energy,time,channel", line), Err(fault), "{line}");
        }
    }

    #[test]
    fn a_header_has_names_only() {
        assert!(of("1,2,3").is_none() && of("time").is_none());
        assert!(of("time,ch,1.5").is_none() && of("time,,ch").is_none());
        assert!(of("dead,time").unwrap().is_err());
        let fields = Fields::below(of("micro,time,channel").unwrap().unwrap(), None, b"5,1,2");
        assert_eq!(parse(&fields, "5,1,2\n,3,4\n").unwrap().micros, [5, MICRO_NONE]);
        assert_eq!(parse(&fields, "4294967295,1,2\n").err(), Some(LineFault::Micro));
    }
}
