//! The words of `tagq watch` as questions to runs.

use std::{path::PathBuf, time::Duration};

use tagq::{
    Options,
    requests::{Request, Setup},
};

use crate::{
    Usage,
    args::{Command, Format, OutputArgs, PlotArgs, PlotTo, QueryArgs, SelectionArgs, WatchArgs},
    input,
    progress::Reporter,
    queries, questions,
};

/// What is watched.
pub(super) struct Parts {
    pub questions: Vec<Part>,
    /// Each run that is asked, once.
    pub runs: Vec<Watched>,
    pub pool: rayon::ThreadPool,
    /// What was asked for by name.
    pub format: Option<Format>,
    /// Not more often than this.
    pub every: Duration,
    pub hold_back: tagq::store::Duration,
}

/// One question.
pub(super) struct Part {
    pub question: Request,
    /// Places in [`Parts::runs`].
    pub runs: Vec<usize>,
    pub is_sum: bool,
    /// Whether its answers are drawn.
    pub is_plot: bool,
}

/// One run.
pub(super) struct Watched {
    pub path: PathBuf,
    pub options: Options,
    pub setup: Setup,
    pub quiet: bool,
}

impl Parts {
    pub(super) fn of(args: &WatchArgs) -> anyhow::Result<Self> {
        let commands = args.queries();
        let mut parts: Option<Self> = None;
        for command in &commands {
            let asked = Asked::of(command)?;
            let reporter = Reporter::new(asked.query.store.quiet);
            let parts = match &mut parts {
                Some(parts) => parts,
                none => none.insert(Self {
                    questions: Vec::new(),
                    runs: Vec::new(),
                    pool: queries::pool(asked.query.threads)?,
                    format: None,
                    every: args.interval().map_err(tagq::Error::from)?,
                    hold_back: args.hold_back().map_err(tagq::Error::from)?,
                }),
            };
            parts.format = parts.format.or(asked.format()?);
            let mut runs = Vec::new();
            for path in &asked.query.runs {
                runs.push(parts.place(path.clone(), &asked, &reporter)?);
            }
            let is_sum = asked.of.sum;
            let is_plot = asked.is_plot()?;
            parts.questions.push(Part { question: asked.question, runs, is_sum, is_plot });
        }
        if let Some(parts) = &mut parts
            && parts.questions.iter().any(|part| part.is_plot)
        {
            if parts.format == Some(Format::Json) {
                return Err(Usage("lines of json are not drawn; leave --plot out".into()).into());
            }
            parts.format = Some(Format::Table);
        }
        parts.ok_or_else(|| Usage("a query is missing".into()).into())
    }

    /// The place of a run among those that are watched.
    fn place(
        &mut self,
        path: PathBuf,
        asked: &Asked<'_>,
        reporter: &Reporter,
    ) -> anyhow::Result<usize> {
        if input::is_stdin(&path) {
            return Err(
                Usage("standard input cannot be watched; name a file or folder".into()).into()
            );
        }
        let named = asked.question.named();
        let options = queries::options(asked.query);
        let same = |of: &Watched| of.path == path && of.options.store == options.store;
        if let Some(at) = self.runs.iter().position(same) {
            for channel in named {
                self.runs[at].setup.channel(channel)?;
            }
            return Ok(at);
        }
        let setup = queries::setup(&path, asked.of, &named, reporter)?;
        let tick = options.tick.or(setup.tick);
        let options = Options { tick, ..options };
        self.runs.push(Watched { path, options, setup, quiet: asked.query.store.quiet });
        Ok(self.runs.len() - 1)
    }
}

/// A query of the command line.
struct Asked<'a> {
    question: Request,
    query: &'a QueryArgs,
    of: &'a SelectionArgs,
    output: &'a OutputArgs,
    plot: &'a PlotArgs,
}

impl<'a> Asked<'a> {
    fn of(command: &'a Command) -> Result<Self, Usage> {
        let (question, query, of, output, plot, at_once) = match command {
            Command::Coincidences(args) => (
                Request::Coincidences(questions::coincidences(args)?),
                &args.query,
                &args.selection,
                &args.output,
                &args.plot,
                args.explain || args.list,
            ),
            Command::Histogram(args) => (
                questions::histogram(args),
                &args.query,
                &args.selection,
                &args.output,
                &args.plot,
                args.explain,
            ),
            Command::G2(args) => (
                questions::g2(args),
                &args.query,
                &args.selection,
                &args.output,
                &args.plot,
                args.explain,
            ),
            Command::Rates(args) => (
                questions::rates(args),
                &args.query,
                &args.selection,
                &args.output,
                &args.plot,
                args.explain,
            ),
            _ => {
                return Err(Usage(
                    "only questions can be watched: coincidences, histogram, g2, rates".into(),
                ));
            }
        };
        if at_once {
            return Err(Usage("--list and --explain are asked once; leave them out".into()));
        }
        Ok(Self { question, query, of, output, plot })
    }

    fn is_plot(&self) -> Result<bool, Usage> {
        match &self.plot.plot {
            None => Ok(false),
            Some(PlotTo::Terminal) => Ok(true),
            Some(PlotTo::File(file, _)) => Err(Usage(format!(
                "{}: answers that come again and again are drawn in the terminal; write --plot \
                 without a file",
                file.display()
            ))),
        }
    }

    fn format(&self) -> Result<Option<Format>, Usage> {
        if self.output.output.is_some() {
            return Err(Usage(
                "answers that come again and again go to standard output; leave --output out"
                    .into(),
            ));
        }
        match self.output.format {
            Some(Format::Csv | Format::Arrow | Format::Parquet) => Err(Usage(
                "answers that come again and again are shown as table or as lines of json".into(),
            )),
            format => Ok(format),
        }
    }
}
