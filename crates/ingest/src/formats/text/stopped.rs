//! Why a text was not read to its end.

use std::io::{self, Read as _};

use super::{
    columns::TextColumns,
    fields::LineFault,
    line::{WrongLine, shown},
};
use crate::{
    error::{Error, io_error},
    payload::{
        Payload,
        cut::{CutFault, Cutter},
        input::{INPUT_BYTES, Member},
        input_error,
    },
    settings::Settings,
};

/// Why no more was handed on.
pub(super) enum TextStopped {
    /// A line is no tag; lines are counted from where reading began.
    Line(WrongLine),
    /// The header says otherwise than the settings.
    Columns {
        line: u64,
        header: TextColumns,
        given: TextColumns,
    },
    /// The columns given are not in the text; why.
    Named(String),
    Input {
        source: io::Error,
        member: Option<Member>,
    },
    Sink(Error),
}

impl From<Error> for TextStopped {
    fn from(error: Error) -> Self {
        Self::Sink(error)
    }
}

impl TextStopped {
    pub(super) fn cut(fault: CutFault, lines: u64, cutter: &Cutter<'_>) -> Self {
        match fault {
            CutFault::Input(source) => Self::Input { source, member: cutter.input.member() },
            CutFault::TooLong(start) => {
                Self::Line(WrongLine::new(lines + 1, LineFault::TooLong, &start))
            }
        }
    }

    /// The error for the file of `payload`.
    pub(super) fn name(self, payload: &Payload<'_>, settings: &Settings) -> Error {
        let path = payload.path.to_path_buf();
        match self {
            Self::Sink(error) => error,
            Self::Columns { line, header, given } => Error::Columns { path, line, header, given },
            Self::Named(what) => Error::Table { path, what },
            Self::Input { source, member } => input_error(payload.path, source, member),
            Self::Line(WrongLine { line, fault, start, fix }) => {
                let text = shown(&start);
                match lines_before(payload, settings.start_byte) {
                    Ok(before) => {
                        let (line, fix) = (before + line, fix.unwrap_or_default());
                        Error::Line { path, line, text, fault, fix }
                    }
                    Err(error) => error,
                }
            }
        }
    }
}

/// Lines before byte `end` of the file.
fn lines_before(payload: &Payload<'_>, end: u64) -> Result<u64, Error> {
    let mut input = payload.input(0..end, 0, &Settings::default())?;
    let mut buffer = vec![0; INPUT_BYTES];
    let mut lines = 0;
    loop {
        let n = input.read(&mut buffer).map_err(io_error(payload.path, "read"))?;
        if n == 0 {
            return Ok(lines);
        }
        lines += buffer[..n].iter().map(|&byte| u64::from(byte == b'\n')).sum::<u64>();
    }
}
