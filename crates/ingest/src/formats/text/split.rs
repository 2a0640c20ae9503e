//! The fields of a line and their separators.
//!
//! With commas between fields, `1, "a,b" ,2` has the fields `1`, `a,b` and `2`.

use super::fields::LineFault;

/// The separator of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Byte(u8),
    Blanks,
}

/// The marks that separate fields.
const MARKS: [u8; 4] = [b'|', b';', b',', b'\t'];

impl Separator {
    /// All separators, in the order in which they are tried.
    pub(super) const ALL: [Self; 5] =
        [Self::Byte(b'\t'), Self::Byte(b';'), Self::Byte(b'|'), Self::Byte(b','), Self::Blanks];

    /// The mark that occurs most often in a line outside of quotes; blanks if none does.
    pub(super) fn of(header: &[u8]) -> Self {
        let count = |mark: u8| {
            let mut is_quoted = false;
            let marks = header.iter().filter(|&&byte| {
                is_quoted ^= byte == b'"';
                byte == mark && !is_quoted
            });
            marks.count()
        };
        // Of equal ones, the last.
        let most = MARKS.into_iter().max_by_key(|&mark| count(mark));
        most.filter(|&mark| count(mark) > 0).map_or(Self::Blanks, Self::Byte)
    }

    pub(super) fn is(self, byte: u8) -> bool {
        match self {
            Self::Byte(mark) => byte == mark,
            Self::Blanks => byte == b' ' || byte == b'\t',
        }
    }
}

/// Appends the fields of a line, without quotes and the blanks around them.
pub(super) fn split<'l>(
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
