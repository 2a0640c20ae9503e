//! Any one of the questions, for those who ask what they are given.

use tagq_store::Duration;

use super::{Asking, Channel, Coincidences, Explained, Histogram, Rates, Reach, Selection};
use crate::{Answer, Error, Run};

/// One of the questions.
#[derive(Debug, Clone)]
pub enum Question {
    /// How many coincidences.
    Coincidences(Coincidences),
    /// How many differences of times, in bins.
    Histogram(Histogram),
    /// How many tags.
    Rates(Rates),
}

impl Question {
    /// All channels it names.
    pub fn named(&self) -> Vec<&Channel> {
        let mut named: Vec<&Channel> = match self {
            Self::Coincidences(of) => of.groups.iter().flatten().chain(&of.veto).collect(),
            Self::Histogram(of) => vec![&of.start, &of.stop],
            Self::Rates(_) => Vec::new(),
        };
        named.extend(self.selection().named());
        named
    }

    /// Which tags it is about.
    pub fn selection(&self) -> &Selection {
        match self {
            Self::Coincidences(of) => &of.selection,
            Self::Histogram(of) => &of.selection,
            Self::Rates(of) => &of.selection,
        }
    }

    /// The same question of the last `last` of a run; of all of it without one.
    #[must_use]
    pub fn of_last(&self, last: Option<Duration>) -> Self {
        let mut question = self.clone();
        let selection = match &mut question {
            Self::Coincidences(of) => &mut of.selection,
            Self::Histogram(of) => &mut of.selection,
            Self::Rates(of) => &mut of.selection,
        };
        selection.last = last;
        question
    }

    /// The same question in the bins of an answer to it, where they were chosen.
    pub(super) fn in_bins_of(self, answer: &Answer) -> Result<Self, Error> {
        let Self::Histogram(mut of) = self else { return Ok(self) };
        let ticks = |value: &serde_json::Value| format!("{value}t");
        if answer.query.get("chosen").is_some() {
            let range = &answer.query["range_ticks"];
            of.bin = Some(ticks(&answer.query["bin_ticks"]).parse()?);
            of.range = Some(Reach::Between(ticks(&range[0]).parse()?, ticks(&range[1]).parse()?));
        }
        Ok(Self::Histogram(of))
    }

    /// Whether its rows are bins of time.
    pub fn is_trace(&self) -> bool {
        match self {
            Self::Coincidences(of) => of.bin.is_some(),
            Self::Histogram(_) => false,
            Self::Rates(of) => of.bin.is_some(),
        }
    }

    /// Asks `run`.
    ///
    /// # Errors
    /// Those of the question.
    pub fn ask(&self, run: &Run, asking: &Asking<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, asking)])
    }

    /// Asks several runs, and adds up what they hold.
    ///
    /// # Errors
    /// Those of the question; unless there is a run, and the words mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &Asking<'_>)]) -> Result<Answer, Error> {
        match self {
            Self::Coincidences(of) => of.sum(runs),
            Self::Histogram(of) => of.sum(runs),
            Self::Rates(of) => of.sum(runs),
        }
    }

    /// What [`Question::ask`] would read, without counting.
    ///
    /// # Errors
    /// Those of the question.
    pub fn explain(&self, run: &Run, asking: &Asking<'_>) -> Result<Explained, Error> {
        match self {
            Self::Coincidences(of) => of.explain(run, asking),
            Self::Histogram(of) => of.explain(run, asking),
            Self::Rates(of) => of.explain(run, asking),
        }
    }
}
