//! Answers in the requested format, on standard output or in a file.
//!
//! Without `--format`, `-o out.csv` is CSV by its name; standard output is a table on a terminal and JSON elsewhere.
//! The output is checked before the query, which may take long, and a file appears only when it is complete.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use tagq::{
    Answer, Destination, FoundRun, NewFile, Searched,
    requests::{Explained, Listing},
    store::Tick,
};
use tagq_export::{
    TableForm,
    report::{
        Format, csv, explained, formats,
        info::{self, Looked},
        runs, search,
    },
    write_runs,
};

use crate::{Usage, args::OutputArgs, progress::Reporter};

use super::style::style_of;

/// Where and how answers are given.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    pub args: &'a OutputArgs,
    /// The runs, stores and files that are read for them.
    pub reads: &'a [PathBuf],
}

impl<'a> Output<'a> {
    /// Returns the destination of a file.
    pub(crate) fn to(self, path: &'a Path) -> Destination<'a> {
        Destination { path, force: self.args.force, reads: self.reads }
    }
}

/// Checks the output before the query, which may take long. The format comes from --format or from the name
/// of the file; otherwise it is a table on a terminal and JSON elsewhere.
pub(crate) fn check(output: Output<'_>) -> anyhow::Result<()> {
    let format = chosen(output.args)?;
    let Some(out) = &output.args.output else {
        if matches!(format, Format::Arrow | Format::Parquet | Format::Tiff)
            && io::stdout().is_terminal()
        {
            return Err(Usage(
                "what would be written is not for a terminal; name a file with --output FILE"
                    .into(),
            )
            .into());
        }
        return Ok(());
    };
    Ok(output.to(out).check()?)
}

fn chosen(output: &OutputArgs) -> Result<Format, Usage> {
    match (output.format(), &output.output) {
        (Some(format), _) => Ok(format),
        (None, Some(out)) => Format::of_name(out).ok_or_else(|| {
            Usage(format!(
                "{}: its name does not say what to write; it ends with .txt, .json, .csv, .arrow, .parquet, .svg, \
                 .pdf, .png or .html, or --format says it",
                out.display()
            ))
        }),
        (None, None) if io::stdout().is_terminal() => Ok(Format::Table),
        (None, None) => Ok(Format::Json),
    }
}

/// Prints the answers for all runs, or writes them to the given file.
pub(crate) fn print(
    answers: &[Answer],
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let format = chosen(output.args)?;
    let form = if output.args.output.is_some() { TableForm::Arrow } else { TableForm::Stream };
    put_with(output, reporter, |out| Ok(format.write(answers, style_of(output.args), form, out)?))
}

/// Prints lists while they are found, in constant memory, or writes them to the given file.
pub(crate) fn print_list(
    listings: &[Listing<'_>],
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let (format, style) = (chosen(output.args)?, style_of(output.args));
    let Some(out) = &output.args.output else {
        let out = io::BufWriter::with_capacity(1 << 16, io::stdout());
        let mut out = format.write_list(listings, style, TableForm::Stream, out)?;
        return out.flush().context("cannot write to standard output");
    };
    let fresh = NewFile::create(&output.to(out), reporter)?;
    let shown = || format!("{}: cannot be written", out.display());
    let file = io::BufWriter::with_capacity(1 << 16, fresh.file()?);
    let file = format.write_list(listings, style, TableForm::Arrow, file)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error).with_context(shown)?;
    Ok(fresh.keep(&file)?)
}

/// Refuses formats that consist of rows, because a plan has none.
pub(crate) fn check_explained(output: Output<'_>) -> anyhow::Result<()> {
    match chosen(output.args)? {
        Format::Table | Format::Json => Ok(()),
        Format::Csv | Format::Arrow | Format::Parquet | Format::Tiff => {
            Err(Usage("what would be read has no rows; write it as table or json".into()).into())
        }
    }
}

/// Prints the plan of a query.
pub(crate) fn print_explained(
    explained: &[Explained],
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let text = match chosen(output.args)? {
        Format::Json => explained::json(explained)?,
        _ => explained::table(explained),
    };
    put(text.as_bytes(), output, reporter)
}

/// Prints the peaks and, in a table, also the options to use.
pub(crate) fn print_search(
    found: &Searched,
    output: Output<'_>,
    reporter: &Reporter,
    tick: Tick,
) -> anyhow::Result<()> {
    match chosen(output.args)? {
        Format::Table => {
            let text = search::text(found, tick, style_of(output.args));
            put(text.as_bytes(), output, reporter)
        }
        _ => print(std::slice::from_ref(&found.answer), output, reporter),
    }
}

/// Prints the facts of runs.
pub(crate) fn print_info(
    looked: &[Looked],
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let text = match chosen(output.args)? {
        Format::Table => info::text(looked, style_of(output.args)),
        Format::Json => info::json(looked)?,
        Format::Csv => csv::info(looked.iter().map(|of| &of.facts)),
        Format::Arrow | Format::Parquet | Format::Tiff => {
            return Err(Usage(
                "what is known of a run is no table; write it as table, json or csv".into(),
            )
            .into());
        }
    };
    put(text.as_bytes(), output, reporter)
}

/// Prints a list of runs.
pub(crate) fn print_runs(
    runs: &[FoundRun],
    output: Output<'_>,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let form = if output.args.output.is_some() { TableForm::Arrow } else { TableForm::Stream };
    let format = chosen(output.args)?;
    put_with(output, reporter, |out| {
        match format {
            Format::Table => out.write_all(runs::text(runs).as_bytes())?,
            Format::Json => out.write_all(runs::json(runs)?.as_bytes())?,
            Format::Csv => runs::csv(runs, out)?,
            Format::Arrow => drop(write_runs(runs, out, form)?),
            Format::Parquet => drop(write_runs(runs, out, TableForm::Parquet)?),
            Format::Tiff => return Err(tagq_export::Error::NoImage.into()),
        }
        Ok(())
    })
}

/// Prints the formats of files.
pub(crate) fn print_formats(output: Output<'_>, reporter: &Reporter) -> anyhow::Result<()> {
    let text = match chosen(output.args)? {
        Format::Table => formats::text(),
        Format::Json => formats::json()?,
        Format::Csv | Format::Arrow | Format::Parquet | Format::Tiff => {
            return Err(Usage("the formats of files are written as table or json".into()).into());
        }
    };
    put(text.as_bytes(), output, reporter)
}

pub(super) fn put(bytes: &[u8], output: Output<'_>, reporter: &Reporter) -> anyhow::Result<()> {
    put_with(output, reporter, |out| Ok(out.write_all(bytes)?))
}

/// Calls `write` with standard output or with the named file. The file appears only after a complete
/// write.
fn put_with(
    output: Output<'_>,
    reporter: &Reporter,
    write: impl FnOnce(&mut (dyn io::Write + Send)) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    const ROOM: usize = 1 << 16;
    let Some(out) = &output.args.output else {
        let mut out = io::BufWriter::with_capacity(ROOM, io::stdout());
        let written = write(&mut out).and_then(|()| Ok(out.flush()?));
        return written.context("cannot write to standard output");
    };
    let fresh = NewFile::create(&output.to(out), reporter)?;
    let shown = || format!("{}: cannot be written", out.display());
    let mut file = io::BufWriter::with_capacity(ROOM, fresh.file()?);
    write(&mut file).with_context(shown)?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error).with_context(shown)?;
    Ok(fresh.keep(&file)?)
}
