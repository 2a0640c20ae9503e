//! The response of an instrument as a user asks for it, and its counts, from a text file or an answer.
//!
//! Counts in a text begin at the first bin of the decay and have its width: the third number of a decay in bins of 4 ps is
//! the count from 8 to 12 ps. Counts of a run are asked in the same bins.

use std::{fs, path::Path};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tagq_fit::{Bin, Data, Noise, models::Response};
use tagq_run::{Channel, OpenOptions, RequestError, Run, Silent, open};

use super::context::QueryContext;
use crate::{answer::Answer, cell::Cell, error::Error, figure::FigureKind, pulses::in_words};

/// The largest count of a bin.
const COUNT_MAX: f64 = 1e18;
/// The longest file with a response.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// Bins of one width differ by less than this part.
const SAME_WIDTH: f64 = 1e-3;

/// The response of an instrument that is asked for, of an image or of a fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseAsked {
    /// A Gaussian at the rise, which is fitted.
    Auto,
    /// Only photons after it are used.
    Tail,
    /// That of a run, or of a text file.
    At(String),
}

impl ResponseAsked {
    /// The name of [`Self::Auto`].
    pub const AUTO: &str = "auto";
    /// The name of [`Self::Tail`].
    pub const TAIL: &str = "tail";
}

impl Serialize for ResponseAsked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Auto => Self::AUTO,
            Self::Tail => Self::TAIL,
            Self::At(path) => path,
        })
    }
}

impl<'de> Deserialize<'de> for ResponseAsked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(deserializer)? {
            name if name == Self::AUTO => Self::Auto,
            name if name == Self::TAIL => Self::Tail,
            path => Self::At(path),
        })
    }
}

/// Where a response is.
#[derive(Debug, Clone, Copy)]
pub enum ResponseSource<'a> {
    /// In the decay itself, as a Gaussian.
    Found,
    /// Before the photons that are used.
    LeftOut,
    /// In a text file.
    Text(&'a Path),
    /// In the run at this path, else in the runs of the decay; in this channel, else in those of the decay.
    Counted(Option<&'a Path>, Option<&'a Channel>),
}

impl<'a> ResponseSource<'a> {
    /// Returns where the response is that these options, `irf` and `irf_channel`, ask for; `None` if there are none.
    ///
    /// # Errors
    /// [`Error::Run`] for a channel of a response that is none of a run.
    pub fn of(
        asked: Option<&'a ResponseAsked>,
        channel: Option<&'a Channel>,
    ) -> Result<Option<Self>, Error> {
        let contradicting = |reason: &str| {
            Err(RequestError::options(&["irf", "irf_channel"], reason.to_owned()).into())
        };
        Ok(Some(match (asked, channel) {
            (None, None) => return Ok(None),
            (Some(ResponseAsked::Auto | ResponseAsked::Tail), Some(_)) => {
                return contradicting(
                    "`irf_channel` is a response that is measured; leave `irf` out, or name a run",
                );
            }
            (Some(ResponseAsked::Auto), None) => Self::Found,
            (Some(ResponseAsked::Tail), None) => Self::LeftOut,
            (Some(ResponseAsked::At(path)), channel) => match (Path::new(path), channel) {
                (path, None) if is_response_text(path) => Self::Text(path),
                (path, Some(_)) if is_response_text(path) => {
                    return contradicting(
                        "`irf_channel` is a channel of a run, and `irf` is a file of counts; leave one out",
                    );
                }
                (path, channel) => Self::Counted(Some(path), channel),
            },
            (None, channel) => Self::Counted(None, channel),
        }))
    }
}

/// Asks for the counts of a response: of the run at `path`, with the tick of the decay, else of the runs of the decay. Notes are
/// those of the decay, which was asked likewise, so none is said.
///
/// # Errors
/// Those of opening a run, and of the question.
pub fn ask_response(
    path: Option<&Path>,
    runs: &[(&Run, &QueryContext<'_>)],
    ask: impl FnOnce(&[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error>,
) -> Result<Answer, Error> {
    let contexts: Vec<QueryContext<'_>> = runs
        .iter()
        .map(|(_, context)| QueryContext {
            progress: &Silent,
            intervals: None,
            windows: None,
            ..**context
        })
        .collect();
    let (Some(path), [(run, context), ..]) = (path, runs) else {
        let runs: Vec<_> = runs.iter().map(|(run, _)| *run).zip(&contexts).collect();
        return ask(&runs);
    };
    let options = OpenOptions { tick: Some(run.store().manifest().tick), ..OpenOptions::default() };
    let opened = open(path, &options, context.progress)?;
    ask(&[(&opened, &contexts[0])])
}

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

/// Returns the counts of an answer of one channel, in bins of a time like those of `like`, as a response.
///
/// # Errors
/// [`Error::Run`] for several channels, for an answer without such bins, and without counts.
pub fn counted_response(answer: &Answer, like: &Data) -> Result<Response, Error> {
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
    if let (Ok(own), Ok(width)) = (data.width(), like.width())
        && (own - width).abs() > SAME_WIDTH * width
    {
        let [own, width] = [own, width].map(|width| in_words(width, width / 1e3));
        let reason = format!(
            "the response has bins of {own} and the decay of {width}, as of micro times of another unit; give both the same `bin`"
        );
        return Err(RequestError::options(&["irf", "bin"], reason).into());
    }
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
