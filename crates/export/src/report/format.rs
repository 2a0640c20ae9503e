//! The formats of answers and lists, by name and by the names of files.

use std::{io::Write, path::Path};

use tagq::{Answer, requests::Listing};

use super::{
    csv, json, list,
    table::{self, TableStyle},
};
use crate::{Error, TableForm, tiff::write_tiff, write_answers, write_listings};

/// How answers and lists are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned, for a person.
    Table,
    /// One object with the keys of docs/outputs.md.
    Json,
    /// One line for each row, after a comment.
    Csv,
    /// Arrow IPC.
    Arrow,
    /// Parquet.
    Parquet,
    /// OME-TIFF; of images alone.
    Tiff,
}

impl Format {
    /// All formats, each with its name, the ending of its files and a description in one line.
    pub const ALL: [(Self, &'static str, &'static str, &'static str); 6] = [
        (Self::Table, "table", "txt", "Aligned for a person"),
        (Self::Json, "json", "json", "One object; the page Outputs of the book has its keys"),
        (Self::Csv, "csv", "csv", "One line per row, after a comment line"),
        (Self::Arrow, "arrow", "arrow", "Arrow: a stream to a pipe, a file with --output"),
        (Self::Parquet, "parquet", "parquet", "Parquet"),
        (
            Self::Tiff,
            "tiff",
            "tif",
            "OME-TIFF of an image: counts of frames, or of bins of micro times, or lifetimes",
        ),
    ];

    /// Returns the format that the name of a file selects.
    pub fn of_name(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        Self::ALL
            .into_iter()
            .find(|(_, name, of, _)| [name, of].contains(&&ending))
            .map(|(format, ..)| format)
    }

    /// Writes answers. Of Arrow it writes the form `arrow`: a file, or a stream to a pipe.
    ///
    /// # Errors
    /// Errors of writing; counts that Arrow cannot hold.
    pub fn write(
        self,
        answers: &[Answer],
        style: TableStyle,
        arrow: TableForm,
        out: &mut (dyn Write + Send),
    ) -> Result<(), Error> {
        match self {
            Self::Table => Ok(table::write(answers, style, out)?),
            Self::Json => Ok(json::write(answers, out)?),
            Self::Csv => Ok(csv::write(answers, out)?),
            Self::Arrow => write_answers(answers, out, arrow).map(drop),
            Self::Parquet => write_answers(answers, out, TableForm::Parquet).map(drop),
            Self::Tiff => write_tiff(answers, out),
        }
    }

    /// Writes lists while they are found, in constant memory, and returns the output; tables and Arrow as
    /// [`Format::write`] does.
    ///
    /// # Errors
    /// Errors of writing and of the queries.
    pub fn write_list<W: Write + Send>(
        self,
        listings: &[Listing<'_>],
        style: TableStyle,
        arrow: TableForm,
        mut out: W,
    ) -> Result<W, Error> {
        match self {
            Self::Table => list::table(listings, style, &mut out)?,
            Self::Json => list::json(listings, &mut out)?,
            Self::Csv => list::csv(listings, &mut out)?,
            Self::Arrow => return write_listings(listings, out, arrow),
            Self::Parquet => return write_listings(listings, out, TableForm::Parquet),
            Self::Tiff => return Err(Error::NoImage),
        }
        Ok(out)
    }
}
