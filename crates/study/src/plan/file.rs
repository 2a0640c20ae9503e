//! The file of a plan (docs/partials.md, "Plans").
//!
//! A part from 1,000 to 2,000 ticks of a query that reaches 12 ticks needs the tags from 988 to 2,012. A plan has its
//! own hash: an edited one is refused, because partial results are of one plan alone.

use std::{ops::RangeInclusive, path::Path};

use serde::{Deserialize, Serialize};
use tagq_ask::{requests::OptionValues, requests::Setup};
use tagq_query::Bins;
use tagq_run::{Error as RunError, RequestError, Run, StatedSetup};
use tagq_store::{Access, Manifest, Store, read_side_file};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::Error;

/// The value of the key `format`, by which a plan is recognised.
const FORMAT: &str = "tagq plan";
/// The version of plans that is written and read.
const VERSION: u32 = 1;
/// The largest file that is read.
const BYTES_MAX: u64 = 1 << 30;

/// A question about runs, divided into parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    format: String,
    version: u32,
    /// The version of tagq that made it, and that counts its parts.
    pub tagq: String,
    /// The xxh3 (128 bits) of the plan with this text empty, in hexadecimal digits.
    pub hash: String,
    /// The name of the query.
    pub query: String,
    /// Its options.
    pub options: OptionValues,
    /// The bins that were chosen for the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bins: Option<PlannedBins>,
    /// The runs whose counts are added up.
    pub runs: Vec<PlannedRun>,
    /// The parts, in order of run and time.
    pub parts: Vec<Part>,
}

/// A run of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedRun {
    /// The path that the user gave.
    pub path: String,
    /// The folder of its store.
    pub store: String,
    /// The store as of the commit that is counted.
    pub manifest: Manifest,
    /// Names, delays and groups.
    pub setup: StatedSetup,
    /// How many ticks before and after a part tags can lie that matter to it; `None` if anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reach: Option<i64>,
    /// The note that its light is not steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub light: Option<String>,
}

/// Bins of equal width, in ticks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlannedBins {
    low: i64,
    width: i64,
    count: u64,
}

impl PlannedBins {
    pub(super) fn of(bins: &Bins) -> Option<Self> {
        let &Bins::Linear { low, width, count } = bins else { return None };
        Some(Self { low, width, count })
    }

    pub(super) fn bins(&self) -> Result<Bins, Error> {
        let bins = Bins::Linear { low: self.low, width: self.width, count: self.count };
        bins.check()?;
        Ok(bins)
    }
}

/// A part of a plan: an interval of delayed time of a run, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of the run.
    pub run: usize,
    /// The first time; `None` for all before `to`.
    pub from: Option<i64>,
    /// The first time after the part; `None` for all times.
    pub to: Option<i64>,
}

impl Plan {
    pub(super) fn new(
        query: &str,
        options: OptionValues,
        bins: Option<PlannedBins>,
        runs: Vec<PlannedRun>,
        parts: Vec<Part>,
    ) -> Result<Self, Error> {
        let mut plan = Self {
            format: FORMAT.into(),
            version: VERSION,
            tagq: env!("CARGO_PKG_VERSION").into(),
            hash: String::new(),
            query: query.into(),
            options,
            bins,
            runs,
            parts,
        };
        plan.hash = plan.hash_of_content()?;
        Ok(plan)
    }

    fn hash_of_content(&self) -> Result<String, Error> {
        let content = Self { hash: String::new(), ..self.clone() };
        Ok(format!("{:032x}", xxh3_128(&serde_json::to_vec(&content)?)))
    }

    /// Returns its text.
    ///
    /// # Errors
    /// [`tagq_ask::Error::Answer`].
    pub fn text(&self) -> Result<String, Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Whether the file at `path` begins like a plan.
    pub fn is_at(path: &Path) -> bool {
        // The first key of the text.
        let start = format!("{{\n  \"format\": \"{FORMAT}\"");
        let read = std::fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(
                &mut std::io::Read::take(file, start.len() as u64),
                &mut bytes,
            )?;
            Ok(bytes)
        });
        path.is_file() && read.is_ok_and(|bytes| bytes == start.as_bytes())
    }

    /// Reads the plan in the file at `path`.
    ///
    /// # Errors
    /// [`Error::Plan`] for what is no plan of this version of tagq, or was edited; [`tagq_run::Error::Io`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = read_side_file(path, BYTES_MAX).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => RunError::NoSuchPath { path: path.into() },
            _ => RunError::Io { path: path.into(), action: "read this plan", source },
        })?;
        Self::parse(&bytes, path)
    }

    /// Parses the text of a plan; `path` names where it comes from.
    ///
    /// # Errors
    /// [`Error::Plan`].
    pub fn parse(text: &[u8], path: &Path) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Start {
            format: String,
            version: u32,
            tagq: String,
        }
        let fault = |reason: String| Error::Plan { path: path.into(), reason };
        let start: Start = serde_json::from_slice(text).map_err(|error| {
            fault(format!("it is no plan of tagq; `tagq plan` makes one ({error})"))
        })?;
        if start.format != FORMAT {
            return Err(fault("it is no plan of tagq; `tagq plan` makes one".into()));
        }
        let version = env!("CARGO_PKG_VERSION");
        if start.version != VERSION || start.tagq != version {
            let (of, made) = (start.version, start.tagq);
            return Err(fault(format!(
                "it has version {of} and was made by tagq {made}, this is tagq {version}; make the plan again"
            )));
        }
        let plan: Self = serde_json::from_slice(text)
            .map_err(|error| fault(format!("it is damaged or was edited ({error})")))?;
        if plan.hash_of_content()? != plan.hash {
            return Err(fault(
                "it was edited: its hash is another one; make the plan again".into(),
            ));
        }
        for run in &plan.runs {
            run.manifest.clone().checked(path)?;
        }
        if plan.parts.iter().any(|part| part.run >= plan.runs.len()) {
            return Err(fault("a part of it is of no run".into()));
        }
        Ok(plan)
    }
}

impl PlannedRun {
    /// Returns a run as of its commit, with what `setup` says about it.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for a path that is not UTF-8, [`tagq_run::Error::Io`].
    pub fn of(run: &Run, setup: &Setup) -> Result<Self, Error> {
        let folder = run.store().folder();
        let store = dunce::canonicalize(folder).map_err(|source| RunError::Io {
            path: folder.into(),
            action: "find",
            source,
        })?;
        let store = store.to_str().map(str::to_owned).ok_or_else(|| {
            let path = store.display();
            RequestError::Invalid(format!(
                "the path {path} is not UTF-8, and cannot stand in a plan"
            ))
        })?;
        Ok(Self {
            path: run.path().display().to_string(),
            store,
            manifest: run.store().manifest().clone(),
            setup: StatedSetup::of(setup, &[]),
            reach: None,
            light: None,
        })
    }

    /// Returns the times of the tags that matter to a part.
    pub(super) fn times_of(&self, Part { from, to, .. }: Part) -> RangeInclusive<i64> {
        let Some(reach) = self.reach else { return i64::MIN..=i64::MAX };
        let first = from.map_or(i64::MIN, |from| from.saturating_sub(reach));
        first..=to.map_or(i64::MAX, |to| to.saturating_add(reach))
    }

    /// Opens the run with exactly these rows, and returns its setup.
    ///
    /// # Errors
    /// Same as opening a store; [`tagq_store::Error::OtherRows`] if its store does not begin with these rows.
    pub fn open(&self, access: Access) -> Result<(Run, Setup), Error> {
        let (folder, times) = (Path::new(&self.store), i64::MIN..=i64::MAX);
        let store = Store::open_prefix(folder, &self.manifest, access, &times)?;
        let run = Run::with_store(self.path.as_ref(), store, None);
        Ok((run, self.setup.read()?))
    }

    /// Returns its text, which names the run for another process.
    ///
    /// # Errors
    /// [`tagq_ask::Error::Answer`].
    pub fn text(&self) -> Result<String, Error> {
        Ok(serde_json::to_string(self)?)
    }

    /// Parses the text of a run.
    ///
    /// # Errors
    /// [`tagq_ask::Error::Answer`] for another text, [`tagq_store::Error::Damaged`] if its numbers contradict each other.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let run: Self = serde_json::from_str(text)?;
        run.manifest.clone().checked(Path::new(&run.path))?;
        Ok(run)
    }
}
