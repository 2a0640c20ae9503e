//! The response of an instrument, from a text file or an answer.
//!
//! Counts in a text begin at the first bin of the decay and have its width: the third number of a decay in bins of 4 ps is
//! the count from 8 to 12 ps.

use std::{fs, path::Path};

use tagq_fit::{Bin, Data, Noise, models::Response};
use tagq_run::RequestError;

use crate::{answer::Answer, cell::Cell, error::Error, figure::FigureKind};

/// The largest count of a bin.
const COUNT_MAX: f64 = 1e18;
/// The longest file with a response.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// Whether a response is a text file: a run is a folder, or has an extension of recorded tags.
pub fn is_response_text(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    path.is_file() && ["txt", "dat", "csv", "tsv", "asc"].contains(&extension)
}

/// Reads one count a bin from a text file, into bins like those of `like`: one number a line, or the column `count` of a table
/// with a head. Empty lines and those after # are left out.
///
/// # Errors
/// [`Error::Run`] for a file that cannot be read, that is too long, or that has other than counts.
pub fn response_of_text(path: &Path, like: &Data) -> Result<Data, Error> {
    let fault = |reason: String| {
        let reason = format!("`irf` {}: {reason}", path.display());
        Error::from(RequestError::options(&["irf"], reason))
    };
    let len = fs::metadata(path).map_err(|error| fault(error.to_string()))?.len();
    if len > RESPONSE_BYTES_MAX {
        return Err(fault("longer than 64 MB, and a response has one number a line".into()));
    }
    let text = fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    let is_content = |(_, line): &(usize, &str)| !line.is_empty() && !line.starts_with('#');
    let mut lines = text.lines().map(str::trim).enumerate().filter(is_content).peekable();
    let cells = |line: &'_ str| -> Vec<String> {
        let cells = line.split([',', ';', '\t', ' ']).map(str::trim);
        cells.filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    let head =
        lines.next_if(|(_, line)| cells(line).iter().all(|cell| cell.parse::<f64>().is_err()));
    let column = head.map(|(_, line)| {
        let names = cells(line);
        let column = names.iter().position(|name| name == "count");
        column.or((names.len() == 1).then_some(0)).ok_or_else(|| {
            fault(format!("no column `count`; its columns are {}", names.join(", ")))
        })
    });
    let column = column.transpose()?;
    let mut values = Vec::new();
    for (number, line) in lines {
        let cells = cells(line);
        let cell = match (column, &cells[..]) {
            (Some(column), cells) => cells.get(column),
            (None, [only]) => Some(only),
            (None, _) => {
                return Err(fault(format!(
                    "line {} has several numbers; a response has one count a line, or a head with a column `count`; recorded tags are \
                     ingested first, and named by their store",
                    number + 1
                )));
            }
        };
        let count = cell.and_then(|cell| cell.parse::<f64>().ok());
        let count = count.filter(|count| (0.0..=COUNT_MAX).contains(count));
        values
            .push(count.ok_or_else(|| fault(format!("line {} is no count: {line}", number + 1)))?);
    }
    if values.is_empty() {
        return Err(fault("no numbers in it".into()));
    }
    let width = like.width().map_err(|error| fault(error.to_string()))?;
    let first = like.ends().0;
    let edge = |k: usize| width.mul_add(k as f64, first);
    let bins = (0..values.len()).map(|k| Bin { from: edge(k), to: edge(k + 1) }).collect();
    Ok(Data { bins, values, noise: Noise::Poisson, exposure: None })
}

/// Returns the counts of an answer of one channel, in bins of a time, as a response.
///
/// # Errors
/// [`Error::Run`] for several channels, for an answer without such bins, and without counts.
pub fn counted_response(answer: &Answer) -> Result<Response, Error> {
    let Some(FigureKind::Bins { unit, .. }) = &answer.figure else {
        let reason = "a response has a count for each bin of a time".into();
        return Err(RequestError::options(&["irf", "irf_channel"], reason).into());
    };
    let of_channel = |key: &str| answer.rows.get(key).map(|column| column.cells.iter());
    let channels = of_channel("channel").map_or(1, |cells| {
        let mut cells: Vec<Cell> = cells.collect();
        cells.dedup();
        cells.len()
    });
    if channels != 1 {
        let reason = format!(
            "a response is of one channel, and {channels} were counted; name one with `irf_channel`"
        );
        return Err(RequestError::options(&["irf_channel"], reason).into());
    }
    let edges = answer.bin_edges(*unit);
    let data = Data {
        bins: edges.into_iter().map(|(from, to)| Bin { from, to }).collect(),
        values: answer.rows.numbers("count").into_iter().map(Option::unwrap_or_default).collect(),
        noise: Noise::Poisson,
        exposure: None,
    };
    response_of(&data)
}

/// Makes a response of counts.
///
/// # Errors
/// [`Error::Run`] for counts that are none.
pub fn response_of(data: &Data) -> Result<Response, Error> {
    let refused =
        |error: tagq_fit::Error| RequestError::options(&["irf", "irf_channel"], error.to_string());
    Ok(Response::new(data).map_err(refused)?)
}
