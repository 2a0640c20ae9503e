//! The two fields of a line, and why a line has no tag.

/// Why a line is no tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// One number, or none at all.
    #[error("one field; a line is a channel and a time in ticks, as in `3<tab>585950217716`")]
    OneField,
    /// More than two.
    #[error("more than two fields; a line is a channel and a time in ticks, and nothing else")]
    ManyFields,
    /// A time with a fraction or an exponent.
    #[error("times are whole ticks, digits only; say the unit of other times")]
    TimeNotWhole,
    /// A channel with a fraction or an exponent.
    #[error("channels are whole numbers, digits only")]
    ChannelNotWhole,
    /// A time that is no number at all.
    #[error(
        "its time is no number; a line is a channel and a time in whole ticks (a header has the words \
         channel and time, or --columns time=NAME,channel=NAME names its columns; --skip-lines N leaves out lines \
         before it)"
    )]
    TimeNoNumber,
    /// A channel that is no number at all.
    #[error(
        "its channel is no number; a line is a channel and a time in whole ticks (a header has the words \
         channel and time, or --columns time=NAME,channel=NAME names its columns; --skip-lines N leaves out lines \
         before it)"
    )]
    ChannelNoNumber,
    /// A time that 64 bits do not hold.
    #[error("its time is outside of 64 bits (-9223372036854775808 to 9223372036854775807)")]
    TimeRange,
    /// A channel that 64 bits do not hold, or a negative one.
    #[error("its channel is outside of 0 to 18446744073709551615")]
    ChannelRange,
    /// A number of a channel among names.
    #[error("its channel is a number, and those before it are names; write one of both for all")]
    ChannelNumber,
    /// A name of a channel that is empty, longer than 64 characters, without a letter, or with control characters.
    #[error("its channel is no name: 1 to 64 characters, a letter among them")]
    NoName,
    /// Names without end.
    #[error(
        "more than 1000 names of channels; is this the column of channels? --columns channel=NAME names it"
    )]
    ManyNames,
    /// A line before the tags.
    #[error(
        "the tags begin in line {}; leave out the lines before it by --skip-lines {skip}", skip + 1
    )]
    Preamble {
        /// The lines to skip.
        skip: u64,
    },
    /// A header that says otherwise than what came before.
    #[error("a second header, with the columns in another order; make these two files")]
    OtherHeader,
    /// A line of a text with a header of names.
    #[error("not as many fields as the header has names")]
    FieldCount,
    /// Quotes that are not closed, or that end inside a field.
    #[error("a quoted field does not end as it should; write fields without line ends")]
    Quote,
    /// A micro time that is no number, or too large.
    #[error("its micro time is no whole number of 0 to 4294967294, and not empty")]
    Micro,
    /// A line that has no end for long.
    #[error("more than 64 KiB without a line end")]
    TooLong,
}

/// The text of a line that is a comment; without its blanks.
pub(super) fn comment(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let marks: [&[u8]; 3] = [b"#", b"%", b"//"];
    marks.into_iter().find_map(|mark| line.strip_prefix(mark)).map(<[u8]>::trim_ascii)
}

/// The two fields of a line: a tab, comma, semicolon or bar between them, with blanks around it, or just
/// blanks.
pub(super) fn two_fields(line: &[u8]) -> Result<(&[u8], &[u8]), LineFault> {
    let is_blank = |byte: u8| byte == b' ' || byte == b'\t';
    let is_between = |byte: u8| is_blank(byte) || matches!(byte, b',' | b';' | b'|');
    let end = line.iter().position(|&byte| is_between(byte)).ok_or(LineFault::OneField)?;
    let (first, rest) = line.split_at(end);
    let rest = rest.trim_ascii_start();
    // One comma, semicolon or bar stands between, two make an empty field.
    let second = match rest {
        [b',' | b';' | b'|', second @ ..] => second,
        rest => rest,
    };
    let second = second.trim_ascii();
    if second.is_empty() || first.is_empty() {
        return Err(LineFault::OneField);
    }
    if second.iter().any(|&byte| is_between(byte)) {
        return Err(LineFault::ManyFields);
    }
    Ok((first, second))
}
