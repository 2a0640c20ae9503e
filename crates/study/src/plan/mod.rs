//! A question about runs, divided into parts that are counted anywhere and in any order.
//!
//! A [`Plan`] names the rows of each run and the intervals of time to count. [`Plan::count`] counts one interval, in
//! a process that needs the store of its run and nothing else. [`Parts`] adds up what was counted, and
//! [`Plan::answer`] needs no run any more: the numbers that are not counts follow from the manifests in the plan.

mod cache;
mod cuts;
mod file;
mod make;
mod parts;

use cache::Kept;
pub use cache::verify_kept;
pub use cuts::Division;
use file::PlannedBins;
pub use file::{Part, Plan, PlannedRun};
pub use parts::Parts;

use std::path::Path;

use tagq_ask::{Answer, requests::QueryContext, requests::Request, requests::Setup};
use tagq_query::{Bins, Dry, Execution, Record, Sum, TimeRange};
use tagq_run::{Progress, RequestError, Run, Silent};
use tagq_store::{Access, FileBytes, Store};

use crate::error::Error;

/// How a part is counted.
#[derive(Debug, Clone, Copy)]
pub struct PartOptions<'a> {
    /// How columns are read.
    pub access: Access,
    /// The folder in which partial results are kept, and looked for before a part is counted.
    pub cache: Option<&'a Path>,
    /// The folder of the store, or of a copy of what the part needs, in place of the one that the plan names.
    pub store: Option<&'a Path>,
}

impl Plan {
    /// Counts a part. Equal parts have equal bytes, wherever they are counted.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if there is no such part, [`tagq_store::Error::OtherRows`] if the store of its run does not
    /// begin with the rows of the plan, and errors from reading it.
    pub fn count(
        &self,
        part: u32,
        PartOptions { access, cache, store }: PartOptions<'_>,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Parts, Error> {
        let place = self.part(part)?;
        let Part { run, from, to } = place;
        let planned = &self.runs[run];
        let folder = store.unwrap_or(Path::new(&planned.store));
        let times = planned.times_of(place);
        let store = Store::open_prefix(folder, &planned.manifest, access, &times)?;
        let (request, setups, bins) = (self.request()?, self.setups()?, self.bins()?);
        let facts = self.without_rows();
        let is_joined = request.selection().join;
        let kept = cache.map(|folder| {
            let asked = Dry::new(facts[run].facts(is_joined));
            let runs = contexts(&facts, &setups, pool, &Silent);
            request.count_part(&pairs(&runs), bins.as_ref(), (run, &asked))?;
            Kept::of(folder, place, &asked, is_joined, &store)
        });
        let kept = kept.transpose()?;
        if let Some(counts) = kept.as_ref().and_then(Kept::read) {
            return Ok(Parts::of(self, part, counts));
        }
        let counted = Run::with_store(planned.path.as_ref(), store, None);
        let runs = contexts(&facts, &setups, pool, progress);
        let counts = counted.count_as(is_joined, progress.scan(), |recording| {
            let record = Record::new(recording, TimeRange { from, to }, &Execution::best());
            let asked = request.count_part(&pairs(&runs), bins.as_ref(), (run, &record));
            Ok(asked.and_then(|()| Ok(record.finish()?)))
        })??;
        if let Some(kept) = kept {
            kept.write(&counts)?;
        }
        Ok(Parts::of(self, part, counts))
    }

    /// Returns the bytes of the store of a part without which it cannot be read; `folder` need only have the manifest.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if there is no such part, and errors from reading the manifest.
    pub fn index_bytes(&self, part: u32, folder: &Path) -> Result<Vec<FileBytes>, Error> {
        let planned = &self.runs[self.part(part)?.run];
        Ok(FileBytes::of_index(folder, &planned.manifest)?)
    }

    /// Returns the other bytes that counting a part reads; `folder` need only have the manifest and the bytes of
    /// [`Plan::index_bytes`].
    ///
    /// # Errors
    /// Same as [`Plan::count`].
    pub fn row_bytes(&self, part: u32, folder: &Path) -> Result<Vec<FileBytes>, Error> {
        let place = self.part(part)?;
        let planned = &self.runs[place.run];
        Ok(FileBytes::of_rows(folder, &planned.manifest, &planned.times_of(place))?)
    }

    fn part(&self, part: u32) -> Result<Part, Error> {
        self.parts.get(part as usize).copied().ok_or_else(|| {
            let parts = match self.parts.len().saturating_sub(1) {
                0 => "its only part is 0".into(),
                last => format!("its parts are 0 to {last}"),
            };
            RequestError::Invalid(format!("the plan has no part {part}; {parts}")).into()
        })
    }

    /// Answers from all parts, with the counts of all runs added up.
    ///
    /// # Errors
    /// [`Error::Parts`] if `parts` lacks some, or is of another plan; errors of the request.
    pub fn answer(
        &self,
        parts: Parts,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Answer, Error> {
        let mut answers = self.of_all(parts, pool, progress, false)?;
        answers.pop().ok_or_else(|| RequestError::Runs("the plan is of no run".into()).into())
    }

    /// Answers for each run by itself, from all parts. Groups of channels are those that occur in any of the runs.
    ///
    /// # Errors
    /// Same as [`Plan::answer`].
    pub fn answer_each(
        &self,
        parts: Parts,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>, Error> {
        self.of_all(parts, pool, progress, true)
    }

    fn of_all(
        &self,
        parts: Parts,
        pool: &rayon::ThreadPool,
        progress: &dyn Progress,
        is_each: bool,
    ) -> Result<Vec<Answer>, Error> {
        let mut of_runs = parts.of_runs(self)?;
        let (request, setups, bins) = (self.request()?, self.setups()?, self.bins()?);
        let runs = self.without_rows();
        let sums = runs.iter().enumerate().map(|(number, run)| {
            let counts = of_runs.remove(&number).unwrap_or_default();
            Sum::new(run.facts(request.selection().join), counts)
        });
        let sums: Vec<Sum> = sums.collect();
        let runs = contexts(&runs, &setups, pool, progress);
        Ok(request.of_parts(&pairs(&runs), &sums, bins.as_ref(), is_each)?)
    }

    /// Returns about how many tags a part has.
    pub fn tags_of(&self, part: u32) -> u64 {
        let Some(Part { run, .. }) = self.parts.get(part as usize) else { return 0 };
        let parts = self.parts.iter().filter(|part| part.run == *run).count() as u64;
        self.runs[*run].manifest.rows / parts.max(1)
    }

    /// Returns its request.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`].
    pub fn request(&self) -> Result<Request, Error> {
        Ok(Request::of_options(&self.query, self.options.clone())?)
    }

    /// Returns the bins that were chosen for the runs.
    fn bins(&self) -> Result<Option<Bins>, Error> {
        self.bins.as_ref().map(PlannedBins::bins).transpose()
    }

    /// Returns the runs without their rows.
    fn without_rows(&self) -> Vec<Run> {
        let run = |run: &PlannedRun| {
            let store = Store::without_rows(run.manifest.clone());
            Run::with_store(run.path.as_ref(), store, run.light.clone())
        };
        self.runs.iter().map(run).collect()
    }

    fn setups(&self) -> Result<Vec<Setup>, Error> {
        self.runs.iter().map(|run| Ok(run.setup.read()?)).collect()
    }
}

/// Runs and their contexts.
type WithContexts<'a> = Vec<(&'a Run, QueryContext<'a>)>;

fn contexts<'a>(
    runs: &'a [Run],
    setups: &'a [Setup],
    pool: &'a rayon::ThreadPool,
    progress: &'a dyn Progress,
) -> WithContexts<'a> {
    let context = |setup| QueryContext::new(setup, pool, progress);
    runs.iter().zip(setups.iter().map(context)).collect()
}

fn pairs<'a>(runs: &'a WithContexts<'a>) -> Vec<(&'a Run, &'a QueryContext<'a>)> {
    runs.iter().map(|(run, context)| (*run, context)).collect()
}
