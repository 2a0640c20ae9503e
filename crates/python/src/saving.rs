//! Files of results and lists, in the format that their name selects.

use std::{
    io::{BufWriter, Write},
    path::Path,
};

use pyo3::PyResult;
use tagq::{Answer, Destination, NewFile, Silent, requests::Listing};
use tagq_export::{
    Form,
    report::{
        csv, json, list,
        table::{self, TableStyle},
    },
    write_answers, write_listings,
};
use tagq_plot::{Figure, Picture};

use crate::errors::{self, question};

/// What a file holds.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    Table,
    Json,
    Csv,
    Batches(Form),
    Figure(Picture),
}

impl Content {
    /// Returns what the name of a file selects.
    pub(crate) fn of_name(path: &Path) -> PyResult<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let found = match (extension, Form::of_name(path)) {
            (Some("txt"), _) => Some(Self::Table),
            (Some("json"), _) => Some(Self::Json),
            (Some("csv"), _) => Some(Self::Csv),
            (_, Some(form @ (Form::Arrow | Form::Parquet))) => Some(Self::Batches(form)),
            _ => Picture::of_name(path).map(Self::Figure),
        };
        found.ok_or_else(|| {
            question(format!(
                "{}: its name does not say what to write; it ends with .txt, .json, .csv, .arrow, .parquet, .svg, \
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
        let answers = std::slice::from_ref(answer);
        let written = match self {
            Self::Table => table::write(answers, TableStyle::PLAIN, out),
            Self::Json => json::write(answers, out),
            Self::Csv => csv::write(answers, out),
            Self::Batches(form) => {
                return write_answers(answers, out, form).map(drop).map_err(errors::of_export);
            }
            Self::Figure(picture) => {
                let drawn = picture.draw(figure, answer);
                out.write_all(&drawn.map_err(|error| question(error.to_string()))?)
            }
        };
        written.map_err(|error| errors::of_export(error.into()))
    }

    pub(crate) fn write_list(
        self,
        listing: &Listing<'_>,
        mut out: &mut (dyn Write + Send),
    ) -> Result<(), tagq_export::Error> {
        let listings = std::slice::from_ref(listing);
        match self {
            Self::Table => Ok(list::table(listings, &mut out)?),
            Self::Json => Ok(list::json(listings, &mut out)?),
            Self::Csv => Ok(list::csv(listings, &mut out)?),
            Self::Batches(form) => write_listings(listings, out, form).map(drop),
            Self::Figure(_) => {
                Err(tagq::Error::Request("a list has no figure; save it as a table".into()).into())
            }
        }
    }
}

/// Writes a file that appears when it is complete.
pub(crate) fn save(
    path: &Path,
    replace: bool,
    write: impl FnOnce(&mut (dyn Write + Send)) -> PyResult<()>,
) -> PyResult<()> {
    let of_run = |error: tagq::Error| errors::of_run(&error);
    let new = NewFile::create(&Destination { path, force: replace, reads: &[] }, &Silent);
    let new = new.map_err(of_run)?;
    let mut out = BufWriter::with_capacity(1 << 16, new.file().map_err(of_run)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(|error| errors::of_export(error.into_error().into()))?;
    new.keep(&file).map_err(of_run)
}
