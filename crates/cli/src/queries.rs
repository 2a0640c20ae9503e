//! The queries: each run is opened and asked, and the answers printed. Channels that a question names are looked up
//! before its run is opened, because an ingest may take long. Without `--threads`, a job of Slurm counts with the cores
//! that it was given.

use std::{
    env,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use tagq::{
    Answer, Bounds, Caching, OpenOptions, Question, Run,
    requests::{Explained, Listing, QueryContext, Setup},
    store::Access,
};

use crate::{
    Usage,
    args::{AnswerArgs, Io, QueryArgs, QuestionCommand, SetupArgs},
    input,
    progress::Reporter,
    report::{self, Output},
};

/// Answers the question of a command.
pub(crate) fn run(command: &QuestionCommand) -> anyhow::Result<()> {
    let answer = &command.answer;
    if !answer.list {
        return answer.ask(command);
    }
    if answer.sum {
        return Err(Usage("a list is of one run after the other; leave --sum out".into()).into());
    }
    answer.list(command)
}

impl AnswerArgs {
    fn output<'a>(&'a self, reads: &'a [PathBuf]) -> Output<'a> {
        Output { args: &self.output, reads }
    }

    /// Answers the question, or explains what it would read.
    fn ask(&self, command: &QuestionCommand) -> anyhow::Result<()> {
        let question = &command.question;
        if self.explain {
            let explain = |run: &Run, context: &QueryContext<'_>| {
                Ok(question.settled(&[(run, context)])?.request()?.explain(run, context)?)
            };
            return self.explain_all(question, explain);
        }
        self.ask_all(question, false, |runs| Ok(question.settled(runs)?.ask(runs)?))
    }

    /// Asks each run, or all of them as one, and prints what is answered. All runs have one answer if their counts are added
    /// up, or if `is_of_all`.
    pub(crate) fn ask_all(
        &self,
        question: &Question,
        is_of_all: bool,
        ask: impl Fn(&[(&Run, &QueryContext<'_>)]) -> Result<Answer, tagq::Error>,
    ) -> anyhow::Result<()> {
        let is_one = self.sum || is_of_all;
        let reporter = Reporter::new(self.query.store.quiet);
        let reads = self.query.reads();
        let output = self.output(&reads);
        report::check(output)?;
        if let Some(plot) = &self.plot.plot {
            let answers = if is_one { 1 } else { self.query.runs.len() };
            report::check_plot(plot, output, answers)?;
        }
        let pool = pool(self.query.threads)?;
        let of_each = |runs: &[(&Run, &QueryContext<'_>)]| -> Result<Vec<Answer>, tagq::Error> {
            if is_one { Ok(vec![ask(runs)?]) } else { runs.chunks(1).map(&ask).collect() }
        };
        let answers = self.of_all(question, &pool, &reporter, of_each)?;
        match &self.plot.plot {
            Some(to) => report::print_plot(&answers, (to, &self.plot), output, &reporter),
            None => report::print(&answers, output, &reporter),
        }
    }

    /// Prints what answering would read.
    fn explain_all(
        &self,
        question: &Question,
        explain: impl Fn(&Run, &QueryContext<'_>) -> Result<Explained, tagq::Error>,
    ) -> anyhow::Result<()> {
        let reads = self.query.reads();
        let output = self.output(&reads);
        report::check_explained(output)?;
        let reporter = Reporter::new(self.query.store.quiet);
        report::check(output)?;
        let pool = pool(self.query.threads)?;
        let explained = self.of_all(question, &pool, &reporter, |runs| {
            runs.iter().map(|(run, context)| explain(run, context)).collect()
        })?;
        report::print_explained(&explained, output, &reporter)
    }

    /// Opens all runs, and asks.
    fn of_all<T>(
        &self,
        question: &Question,
        pool: &rayon::ThreadPool,
        reporter: &Reporter,
        ask: impl FnOnce(&[(&Run, &QueryContext<'_>)]) -> Result<Vec<T>, tagq::Error>,
    ) -> anyhow::Result<Vec<T>> {
        let opened = open_all(&self.query, &self.setup, question, reporter)?;
        let tags = opened.iter().map(|(_, run)| run.store().manifest().rows).sum();
        let _waiting = reporter.counting("counting in", tags);
        let context = |(setup, _)| QueryContext::new(setup, pool, reporter);
        let contexts: Vec<QueryContext<'_>> =
            opened.iter().map(|(setup, run)| context((setup, run))).collect();
        let runs = opened.iter().map(|(_, run)| run).zip(&contexts);
        Ok(ask(&runs.collect::<Vec<_>>())?)
    }

    /// Lists the tuples of each run as they are found.
    fn list(&self, command: &QuestionCommand) -> anyhow::Result<()> {
        let reporter = Reporter::new(self.query.store.quiet);
        let reads = self.query.reads();
        let output = self.output(&reads);
        report::check(output)?;
        let pool = pool(self.query.threads)?;
        let runs = open_all(&self.query, &self.setup, &command.question, &reporter)?;
        let listing = |(setup, run)| {
            let context = QueryContext::new(setup, &pool, &reporter);
            command.question.settled(&[(run, &context)])?.request()?.listing(run, &context)
        };
        let listings: Vec<Listing<'_>> =
            runs.iter().map(|(setup, run)| listing((setup, run))).collect::<Result<_, _>>()?;
        // Lines on a terminal say enough.
        let is_shown = self.output.output.is_none() && io::stdout().is_terminal();
        let tags = runs.iter().map(|(_, run)| run.store().manifest().rows).sum();
        let _waiting = (!is_shown).then(|| reporter.waiting("listing from", tags));
        report::print_list(&listings, output, &reporter)
    }
}

/// The runs that a command names, and their setups. Channels that the question names are looked up before a run is opened, which
/// may take long.
pub(crate) fn open_all(
    query: &QueryArgs,
    of: &SetupArgs,
    question: &Question,
    reporter: &Reporter,
) -> anyhow::Result<Vec<(Setup, Run)>> {
    input::check_once(&query.runs)?;
    let open = |path: &PathBuf| {
        let setup = setup(path, of, question)?;
        let options = OpenOptions { tick: setup.tick, ..options(query) };
        let run = input::open(path, &options, reporter)?;
        Ok((setup, run))
    };
    query.runs.iter().map(open).collect()
}

/// The threads that count.
pub(crate) fn pool(threads: Option<usize>) -> anyhow::Result<rayon::ThreadPool> {
    let threads = tagq::store::threads(number_of(threads));
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// The number of threads: as asked, else as many as Slurm gave the job; 0 for one a core.
pub(crate) fn number_of(threads: Option<usize>) -> usize {
    let of_job = || env::var("SLURM_CPUS_PER_TASK").ok()?.parse().ok();
    threads.or_else(of_job).unwrap_or(0)
}

/// The setup of a run, in which all channels that a question names must be known.
pub(crate) fn setup(
    path: &Path,
    args: &SetupArgs,
    question: &Question,
) -> Result<Setup, tagq::Error> {
    let setup = input::setup(path, args)?;
    question.check_channels(&setup)?;
    Ok(setup)
}

/// How the arguments of a query say to open its runs.
pub(crate) fn options(args: &QueryArgs) -> OpenOptions {
    OpenOptions {
        caching: if args.no_cache { Caching::Off } else { Caching::default() },
        ingest: !args.no_ingest,
        access: match args.io {
            Io::Map => Access::Mapped,
            Io::Read => Access::Copied,
        },
        threads: number_of(args.threads),
        bounds: Bounds { view_factor: args.view_factor, is_long: args.long },
        ..args.store.options()
    }
}
