//! Reproducing an answer: the rows that it was counted from are looked for, counted again and compared.
//!
//! `saved` reads an answer, which may come from anybody: its request is checked like one of the command line, its runs
//! are opened without writing, and nothing else in it decides what is done. `compare` compares the counts. If the run
//! has grown from 1,000 to 1,500 rows since then, the first 1,000 are counted, after their checksums were compared with
//! those of the answer.

mod compare;
mod saved;

pub use compare::{Difference, RELATIVE_TOLERANCE};
pub use saved::SavedAnswer;

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use tagq_ask::{Answer, CountedRun, Question, Together, requests::QueryContext};
use tagq_run::{Caching, Error as RunError, OpenOptions, Progress, Run, open};
use tagq_store::{Access, Error as StoreError, Store, pasted};

use crate::{error::Error, fits::Fit, scans::SettingScan};
use compare::Comparison;
use saved::FIRST_TICK;

/// The times of all rows.
const ALL: RangeInclusive<i64> = i64::MIN..=i64::MAX;
/// The note for a fit of an older version that differs.
const FITS_CHANGED: &str = "fits are defined otherwise since version 4 of the keys of answers: below 3 sigmas the values are those of a fit without the structure; \
     a response is not negative, is resolved below a bin, and its counting error counts; pile-up is corrected; near bounds intervals stand \
     in place of errors; no errors are given where the model does not describe the counts";
/// The name of a run from standard input.
const STDIN: &str = "-";

/// How an answer is reproduced.
#[derive(Debug, Clone, Default)]
pub struct ReproduceOptions {
    /// The runs, in place of those that the answer names. They are brought up to date first; runs that only the answer
    /// names are opened as they are.
    pub runs: Vec<PathBuf>,
    /// How to open the runs; their stores, folders and ticks are those of the answer.
    pub open: OpenOptions,
}

/// The result of counting again.
#[derive(Debug)]
pub struct Reproduced {
    /// The answers of today. Empty for a list of tags, which is compared while it is made.
    pub answers: Vec<Answer>,
    /// The number of rows that were compared.
    pub rows: u64,
    /// The number of tags of all runs.
    pub tags: u64,
    /// The first differences.
    pub differences: Vec<Difference>,
    /// The number of all differences.
    pub different: u64,
}

impl SavedAnswer {
    /// Counts the same rows again, and compares all counts.
    ///
    /// # Errors
    /// [`Error::NotAnAnswer`] if its request is not valid, [`Error::RowsMissing`] and [`Error::RowsChanged`] if a run
    /// does not begin with the rows of the answer, errors from opening runs, from damaged columns, and of the query.
    pub fn reproduce(
        &self,
        options: &ReproduceOptions,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Reproduced, Error> {
        let counted = &self.provenance.runs;
        if !options.runs.is_empty() && options.runs.len() != counted.len() {
            let (given, needed) = (options.runs.len(), counted.len());
            let reason = format!(
                "it is of {needed} runs, and {given} are named; name as many, in the same order"
            );
            return Err(self.fault(reason));
        }
        let (mut runs, mut setups) = (Vec::new(), Vec::new());
        for (number, of) in counted.iter().enumerate() {
            let run =
                self.open(of, options.runs.get(number).map(PathBuf::as_path), options, progress)?;
            runs.push(first_rows(&run, of, options.open.access, pool)?);
            setups.push(of.setup.read()?);
        }
        let contexts: Vec<QueryContext<'_>> =
            setups.iter().map(|setup| QueryContext::new(setup, pool, progress)).collect();
        let runs: Vec<(&Run, &QueryContext<'_>)> = runs.iter().zip(&contexts).collect();
        let mut comparison = Comparison::new(self);
        let answers = self.count(&runs, &mut comparison)?;
        for answer in &answers {
            comparison.answer(answer)?;
        }
        let (rows, differences, different) = comparison.end();
        if different > 0 && self.provenance.fit.is_some() && self.version < FIRST_TICK {
            progress.note(FITS_CHANGED);
        }
        let tags = counted.iter().map(|of| of.id.rows).sum();
        Ok(Reproduced { answers, rows, tags, differences, different })
    }

    /// Opens a run: `given`, brought up to date, else as the answer names it, without writing.
    fn open(
        &self,
        of: &CountedRun,
        given: Option<&Path>,
        options: &ReproduceOptions,
        progress: &dyn Progress,
    ) -> Result<Run, Error> {
        let path = given.unwrap_or(Path::new(&of.path));
        if path == Path::new(STDIN) {
            let reason = "its run was standard input, which cannot be read again; name a run with the same tags";
            return Err(self.fault(reason.into()));
        }
        let mut options = OpenOptions {
            store: of.store.as_ref().filter(|_| given.is_none()).map(PathBuf::from),
            recursive: of.recursive,
            tick: None,
            tick_here: None,
            ingest: given.is_some(),
            caching: Caching::Off,
            ..options.open.clone()
        };
        match open(path, &options, progress) {
            Err(error) if error.is_without_tick() => {
                options.tick_here = Some(of.tick);
                Ok(open(path, &options, progress)?)
            }
            Err(RunError::NothingIngested { .. }) if given.is_none() => {
                let runs = self.provenance.runs.iter().map(|run| pasted(run.path.as_ref()));
                let runs = runs.collect::<Vec<_>>().join(" ");
                Err(self.fault(format!(
                    "its run {} has no store yet; `tagq reproduce {} {runs}` makes it",
                    path.display(),
                    pasted(&self.path)
                )))
            }
            opened => Ok(opened?),
        }
    }

    /// Asks the runs what the answer was asked. The rows of lists are compared at once.
    fn count(
        &self,
        runs: &[(&Run, &QueryContext<'_>)],
        comparison: &mut Comparison<'_>,
    ) -> Result<Vec<Answer>, Error> {
        let of = &self.provenance;
        let asked = || Question::of_options(&of.query, of.options.clone());
        // Bins that were chosen are those of the answer: another version may choose others.
        let state = |question: &Question, number: usize| {
            let query =
                self.counted.get(number).map(|(query, _)| query.get("fitted").unwrap_or(query));
            if let (Ok(request), Some(query)) = (question.request(), query) {
                request.state_bins(query);
            }
        };
        if of.fit.is_some() || of.scan.is_some() {
            let counted = |runs: &[(&Run, &QueryContext<'_>)]| match (&of.scan, &of.fit) {
                (Some(scan), None) => SettingScan::again(scan, &of.query, &of.options, runs),
                (Some(scan), Some(fit)) => {
                    let scanned = SettingScan::again(scan, &of.query, &of.options, runs)?;
                    Fit::of_stated(fit.clone())?.answer(&scanned, runs[0].1.progress)
                }
                (None, fit) => {
                    let fit = Fit::of_stated(fit.clone().unwrap_or_default())?;
                    let question = asked()?;
                    state(&question, 0);
                    fit.ask(&question, runs)
                }
            };
            let is_of_all = of.scan.as_ref().is_some_and(|setting| !setting.is_empty());
            return match of.together {
                None if !is_of_all => runs.chunks(1).map(counted).collect(),
                _ => Ok(vec![counted(runs)?]),
            };
        }
        let question = asked()?;
        state(&question, 0);
        runs.iter().try_for_each(|(_, context)| question.check_channels(context.setup))?;
        if of.list {
            let request = question.request()?;
            for (run, context) in runs {
                let listing = request.listing(run, context)?;
                comparison.head(listing.head())?;
                listing.stream(&mut |rows| Ok(comparison.rows(&rows)?))?;
            }
            return Ok(Vec::new());
        }
        let sum = |runs: &[(&Run, &QueryContext<'_>)]| match (&of.beside_last, question.request()) {
            (Some(last), Ok(request)) if !request.is_trace() => request.sum_with_last(runs, last),
            _ => question.ask(runs),
        };
        match of.together {
            Some(Together::Sum) => Ok(vec![sum(runs)?]),
            Some(Together::SameGroups) => Ok(question.request()?.each(runs)?),
            None => {
                let each = runs.chunks(1).enumerate();
                each.map(|(number, run)| {
                    state(&question, number);
                    Ok(sum(run)?)
                })
                .collect()
            }
        }
    }
}

/// Returns the run with the rows that were counted, and nothing after them.
fn first_rows(
    run: &Run,
    of: &CountedRun,
    access: Access,
    pool: &rayon::ThreadPool,
) -> Result<Run, Error> {
    let store = run.store();
    let (path, present, expected) = (run.path(), store.manifest().rows, of.id);
    if present < expected.rows {
        let expected = expected.rows;
        return Err(Error::RowsMissing { path: path.into(), expected, present });
    }
    let mut first = store.first_rows(expected.rows)?;
    let found = first.rows_id();
    if found != expected {
        let what = if found.chain == expected.chain {
            "the same tags are divided into other files".to_owned()
        } else {
            format!("their checksum is {}, and was {}", found.chain, expected.chain)
        };
        return Err(Error::RowsChanged { path: path.into(), rows: expected.rows, what });
    }
    // Counts do not need the checksums of columns, but they say that the rows are the same. Those after the last full
    // block were compared.
    let mut blocks = store.blocks()?;
    blocks.retain(|block| block.rows.end <= expected.rows);
    store.guarded(|store| {
        pool.install(|| blocks.par_iter().try_for_each(|block| store.check_block(block)))
    })??;
    if first.tick != of.tick {
        run.check_tick_is_free(of.tick)?;
        first.tick = of.tick;
    }
    let folder = store.folder();
    let first = Store::open_prefix(folder, &first, access, &ALL).map_err(|error| match error {
        // Another process changed the store meanwhile.
        StoreError::OtherRows { rows, what, .. } => {
            Error::RowsChanged { path: path.into(), rows, what: what.into() }
        }
        error => error.into(),
    })?;
    Ok(Run::with_store(path, first, None))
}
