//! Settings of runs: numbers from their names, or from a table beside them.
//!
//! `phase=(\d+)` finds 45 in the path `phase=45/run`, and its setting is called `phase`. A text without brackets is a
//! column of `settings.csv`. A run without a setting is an error, because a scan without it would look complete.

use std::{fs, path::Path};

use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use tagq_run::RequestError;

use crate::error::Error;

/// The table of settings beside runs.
const TABLE: &str = "settings.csv";
/// Settings are smaller than this.
const SETTING_MAX: f64 = 1e100;
/// The longest table.
const TABLE_BYTES_MAX: u64 = 16 << 20;

/// Where the settings of runs are.
#[derive(Debug, Clone)]
pub enum SettingOf {
    /// The number that the first group of a pattern matches in the path of a run.
    Name(Box<Regex>),
    /// A column of the table, `settings.csv` in the folder of the run: its first column has names of runs.
    Column(String),
}

/// The setting of several runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSetting {
    /// Its name.
    pub name: String,
    /// The value of each run.
    pub values: Vec<f64>,
}

impl std::str::FromStr for SettingOf {
    type Err = String;

    /// A pattern has a group in brackets; other texts are the name of a column.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains('(') {
            return Ok(Self::Column(text.trim().to_owned()));
        }
        let pattern = Regex::new(text).map_err(|error| error.to_string())?;
        if pattern.captures_len() < 2 {
            return Err(format!("`{text}` has no group for the number, as in 'phase=(\\d+)'"));
        }
        Ok(Self::Name(Box::new(pattern)))
    }
}

impl SettingOf {
    /// Returns the settings of runs with these paths.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for a run without a setting, or one that is no number.
    pub fn of<'a>(&self, runs: impl Iterator<Item = &'a Path>) -> Result<RunSetting, Error> {
        let name = match self {
            Self::Name(pattern) => {
                let named = pattern.capture_names().flatten().next().map(str::to_owned);
                // The word before the group: `phase` of `phase=(\d+)`.
                let before = pattern.as_str().split('(').next().unwrap_or_default();
                let word: String = before.chars().filter(|c| c.is_alphanumeric()).collect();
                named.unwrap_or(if word.is_empty() { "setting".into() } else { word })
            }
            Self::Column(column) => column.clone(),
        };
        let value = |run| match self {
            Self::Name(pattern) => of_name(pattern, run),
            Self::Column(column) => of_table(column, run),
        };
        let values = runs.map(value).collect::<Result<_, _>>()?;
        Ok(RunSetting { name, values })
    }
}

fn of_name(pattern: &Regex, run: &Path) -> Result<f64, Error> {
    let path = run.display().to_string();
    let group = pattern.capture_names().flatten().next();
    let found = pattern.captures(&path).and_then(|found| match group {
        Some(name) => found.name(name),
        None => found.get(1),
    });
    let text = found
        .ok_or_else(|| {
            RequestError::options(
                &["setting"],
                format!("{path} does not match `{}`", pattern.as_str()),
            )
        })?
        .as_str();
    number(text).ok_or_else(|| {
        RequestError::options(&["setting"], format!("{path}: `{text}` is no number")).into()
    })
}

fn of_table(column: &str, run: &Path) -> Result<f64, Error> {
    let folder = run.parent().unwrap_or(Path::new(""));
    let table = folder.join(TABLE);
    let fault = |reason: String| {
        let reason = format!("{}: {reason}", table.display());
        Error::from(RequestError::options(&["setting"], reason))
    };
    let length = fs::metadata(&table).map_err(|error| fault(error.to_string()))?.len();
    if length > TABLE_BYTES_MAX {
        return Err(fault("longer than 16 MB".into()));
    }
    let text = fs::read_to_string(&table).map_err(|error| fault(error.to_string()))?;
    let has_semicolons = text.lines().next().is_some_and(|head| head.contains(';'));
    let separator = if has_semicolons { ';' } else { ',' };
    let cells = |line: &str| -> Vec<String> {
        line.split(separator).map(|cell| cell.trim().trim_matches('"').to_owned()).collect()
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(cells);
    let head = lines.next().ok_or_else(|| fault("empty".into()))?;
    let at = head.iter().skip(1).position(|name| name == column).ok_or_else(|| {
        let known = head.get(1..).unwrap_or_default().join(", ");
        fault(format!("no column `{column}`; its columns of settings are {known}"))
    })?;
    let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut rows = lines.filter(|row| row.first().is_some_and(|first| *first == name));
    let row = rows.next();
    if rows.next().is_some() {
        return Err(fault(format!("two lines for {name}")));
    }
    let row = row.ok_or_else(|| fault(format!("no line for {name}")))?;
    let text = row.get(at + 1).map_or("", String::as_str);
    number(text).ok_or_else(|| fault(format!("`{text}` of {name} is no number")))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.abs() < SETTING_MAX)
}
