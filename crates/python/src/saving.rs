//! Files of results and lists, in the format that their name selects.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use pyo3::PyResult;
use tagq::{Answer, Destination, NewFile, RequestError, Silent, requests::Listing};
use tagq_export::{
    TableForm,
    report::{Format, table::TableStyle},
};
use tagq_plot::{Figure, Picture};

use crate::errors::{self, question};

/// The content and the format of a file.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Rows(Format),
    Figure(Picture),
}

impl Content {
    /// Returns what the name of a file selects.
    pub(crate) fn of_name(path: &Path) -> PyResult<Self> {
        let figure = || Picture::of_name(path).map(Self::Figure);
        Format::of_name(path).map(Self::Rows).or_else(figure).ok_or_else(|| {
            question(format!(
                "{}: its name does not say what to write; it ends with .txt, .json, .csv, .arrow, .parquet, .tif, .svg, \
                 .png or .html",
                path.display()
            ))
        })
    }

    pub(crate) fn write(
        self,
        answer: &Answer,
        figure: &Figure,
        out: &mut (dyn Write + Send),
    ) -> PyResult<()> {
        let written = match self {
            Self::Rows(format) => {
                format.write(std::slice::from_ref(answer), TableStyle::PLAIN, TableForm::Arrow, out)
            }
            Self::Figure(picture) => {
                let drawn = picture.draw(figure, answer);
                let drawn = drawn.map_err(|error| question(error.to_string()))?;
                out.write_all(&drawn).map_err(Into::into)
            }
        };
        written.map_err(errors::of_export)
    }

    pub(crate) fn write_list(
        self,
        listing: &Listing<'_>,
        out: &mut (dyn Write + Send),
    ) -> Result<(), tagq_export::Error> {
        match self {
            Self::Rows(format) => format
                .write_list(std::slice::from_ref(listing), TableStyle::PLAIN, TableForm::Arrow, out)
                .map(drop),
            Self::Figure(_) => Err(tagq::Error::from(RequestError::Invalid(
                "a list has no figure; save it as a table".into(),
            ))
            .into()),
        }
    }
}

/// Writes a file that appears when it is complete.
pub(crate) fn save(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut (dyn Write + Send)) -> PyResult<()>,
) -> PyResult<()> {
    let new = NewFile::create(&Destination { path, force: replace, reads: &[] }, &Silent);
    let new = new.map_err(errors::of_run)?;
    let mut out = BufWriter::with_capacity(1 << 16, new.file().map_err(errors::of_run)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(|error| errors::of_export(error.into_error().into()))?;
    new.keep(&file).map_err(errors::of_run)
}
