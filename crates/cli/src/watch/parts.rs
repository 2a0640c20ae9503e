//! The words of `tagq watch` as questions to runs.
//!
//! A run that several queries name is followed once. The options of a question can change; it is settled for its runs
//! again after each change, and delays that were found then stay until the next one.

use std::{
    cell::OnceCell,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tagq::{
    Answer, Error, OpenOptions, QUERY_TYPES, Question, Run, quoted,
    requests::{Asking, OptionValues, QueryContext, RequestType, Setup},
};
use tagq_export::report::Format;

use crate::{
    Usage,
    args::{
        Command, OutputArgs, PlotArgs, PlotTo, QueryArgs, QuestionCommand, SearchArgs, SetupArgs,
        WatchArgs,
    },
    input, queries,
};

use super::change::from_after;

/// All questions and runs of a watch, and how its answers are shown.
pub(super) struct Parts {
    pub queries: Vec<WatchedQuery>,
    /// Each run that is asked, once.
    pub runs: Vec<Watched>,
    pub pool: rayon::ThreadPool,
    /// The format, if the command names one.
    pub format: Option<Format>,
    /// Not more often than this.
    pub every: Duration,
    pub hold_back: tagq::store::Duration,
}

/// One question to some of the runs.
pub(super) struct WatchedQuery {
    pub question: WatchedQuestion,
    /// Places in [`Parts::runs`].
    pub runs: Vec<usize>,
    pub is_sum: bool,
    /// How its answers are drawn, if they are.
    pub plot: Option<PlotArgs>,
}

impl WatchedQuery {
    /// Whether it begins at the end of its run, so that nothing is counted until new tags come.
    pub(super) fn is_reset_at(&self, end: Option<i64>) -> bool {
        let from = self.question.options.get(FROM).and_then(|from| from.as_str());
        from.is_some() && from == end.map(from_after).as_deref()
    }
}

/// A question whose options can change.
pub(super) struct WatchedQuestion {
    question: Question,
    /// Length of the last interval. It is counted beside the whole run, or beside the counts since a time.
    beside: Option<tagq::store::Duration>,
    /// The options as they were given.
    pub first: OptionValues,
    pub options: OptionValues,
    /// The command's other arguments.
    arguments: Vec<String>,
    /// The question, once its runs have tags.
    settled: OnceCell<Box<Question>>,
}

impl WatchedQuestion {
    fn new(question: &Question, arguments: Vec<String>) -> Self {
        let options = question.options();
        Self {
            question: question.clone(),
            beside: None,
            first: options.clone(),
            options: options.clone(),
            arguments,
            settled: OnceCell::new(),
        }
    }

    /// Returns its type.
    pub(super) fn of(&self) -> &'static RequestType {
        self.question.of()
    }

    /// Asks the runs, with delays as they were found first.
    pub(super) fn ask(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Answer, Error> {
        let settled = if let Some(settled) = self.settled.get() {
            settled
        } else {
            let found = self.question.settled(runs)?;
            self.settled.get_or_init(|| Box::new(found))
        };
        match &self.beside {
            Some(last) => Ok(settled.request()?.sum_with_last(runs, last)?),
            None => Ok(settled.ask_beside_last(runs)?),
        }
    }

    /// Replaces the options; returns those before.
    pub(super) fn replace(&mut self, options: OptionValues) -> Result<OptionValues, Error> {
        let name = self.of().name;
        let (mut question, mut beside) = (None, None);
        if let Some(last) = options.get(LAST).filter(|_| options.contains_key(FROM)) {
            let mut without = options.clone();
            without.shift_remove(LAST);
            let from = Question::of_options(name, without)?;
            // A trace has no interval beside it, but one of its own.
            if from.request().is_ok_and(|request| !request.is_trace()) {
                beside = Some(last.as_str().unwrap_or_default().parse()?);
                question = Some(from);
            }
        }
        self.question = match question {
            Some(question) => question,
            None => Question::of_options(name, options.clone())?,
        };
        self.beside = beside;
        self.settled = OnceCell::new();
        Ok(std::mem::replace(&mut self.options, options))
    }

    /// Returns the command that counts the same once, or that watches the same if a last interval is beside it.
    pub(super) fn command(&self, runs: &[&Path]) -> String {
        let mut options = self.options.clone();
        if options.contains_key(FROM) {
            options.remove(LAST);
        }
        let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
        let runs: Vec<&str> = runs.iter().map(|run| &**run).collect();
        let command = self.of().command(&options, &runs, Asking::Each);
        let arguments = self.arguments.iter().map(|word| format!(" {}", quoted(word)));
        let command = command + &arguments.collect::<String>();
        if options.contains_key(LAST) {
            return command.replacen("tagq ", "tagq watch ", 1);
        }
        command
    }
}

const FROM: &str = "from";
const LAST: &str = "last";

/// A run that is followed, and how it is opened.
pub(super) struct Watched {
    pub path: PathBuf,
    pub options: OpenOptions,
    pub setup: Setup,
    pub quiet: bool,
}

impl Parts {
    pub(super) fn of(args: &WatchArgs) -> anyhow::Result<Self> {
        let commands = args.queries();
        let mut parts: Option<Self> = None;
        for command in &commands {
            let asked = AskedPart::of(command)?;
            let parts = match &mut parts {
                Some(parts) => parts,
                none => none.insert(Self {
                    queries: Vec::new(),
                    runs: Vec::new(),
                    pool: queries::pool(asked.query.threads)?,
                    format: None,
                    every: args.interval().map_err(Error::from)?,
                    hold_back: args.hold_back().map_err(Error::from)?,
                }),
            };
            parts.format = parts.format.or(format_of(asked.output)?);
            let mut runs = Vec::new();
            for path in &asked.query.runs {
                runs.push(parts.place(path.clone(), &asked)?);
            }
            let AskedPart { question, is_sum, plot, .. } = asked;
            parts.queries.push(WatchedQuery { question, runs, is_sum, plot });
        }
        if let Some(parts) = &mut parts
            && parts.queries.iter().any(|part| part.plot.is_some())
        {
            if parts.format == Some(Format::Json) {
                return Err(Usage("lines of json are not drawn; leave --plot out".into()).into());
            }
            parts.format = Some(Format::Table);
        }
        parts.ok_or_else(|| Usage("a query is missing".into()).into())
    }

    /// The place of a run among those that are watched.
    fn place(&mut self, path: PathBuf, asked: &AskedPart<'_>) -> anyhow::Result<usize> {
        if input::is_stdin(&path) {
            return Err(
                Usage("standard input cannot be watched; name a file or folder".into()).into()
            );
        }
        let same = |of: &Watched| of.path == path && of.options.store == asked.query.store.store;
        if let Some(at) = self.runs.iter().position(same) {
            let setup = &self.runs[at].setup;
            asked.question.question.check_channels(setup)?;
            return Ok(at);
        }
        let setup = queries::setup(&path, asked.setup, &asked.question.question)?;
        let options = OpenOptions { tick: setup.tick, ..queries::options(asked.query) };
        self.runs.push(Watched { path, options, setup, quiet: asked.query.store.quiet });
        Ok(self.runs.len() - 1)
    }
}

/// A question as its command states it.
struct AskedPart<'a> {
    question: WatchedQuestion,
    query: &'a QueryArgs,
    setup: &'a SetupArgs,
    is_sum: bool,
    output: &'a OutputArgs,
    plot: Option<PlotArgs>,
}

impl<'a> AskedPart<'a> {
    fn of(command: &'a Command) -> anyhow::Result<Self> {
        match command {
            Command::Ask(of) => Ok(Self::of_counts(of)?),
            Command::Search(of) => Self::of_search(of),
            _ => {
                let names = QUERY_TYPES.map(|of| of.name).join(", ");
                Err(Usage(format!("only these can be watched: {names}")).into())
            }
        }
    }

    fn of_counts(of: &'a QuestionCommand) -> Result<Self, Usage> {
        let QuestionCommand { question, answer, .. } = of;
        if answer.list || answer.explain {
            return Err(Usage("--list and --explain are answered once; leave them out".into()));
        }
        let plot = plot_of(&answer.plot)?.or_else(|| {
            // Hundreds of rows say less than their figure.
            let is_free = answer.output.format().is_none() && io::stdout().is_terminal();
            (is_free && !LISTED.contains(&question.of().name)).then(PlotArgs::in_terminal)
        });
        Ok(Self {
            question: WatchedQuestion::new(question, answer.arguments()),
            query: &answer.query,
            setup: &answer.setup,
            is_sum: answer.sum,
            output: &answer.output,
            plot,
        })
    }

    fn of_search(of: &'a QuestionCommand<SearchArgs>) -> anyhow::Result<Self> {
        let QuestionCommand { question, answer, .. } = of;
        if answer.write.is_some() || answer.plot.plot.is_some() {
            let what = "--write and --plot of a search are done once; leave them out";
            return Err(Usage(what.into()).into());
        }
        question.check_runs(answer.query.runs.len())?;
        Ok(Self {
            question: WatchedQuestion::new(question, Vec::new()),
            query: &answer.query,
            setup: &answer.setup,
            is_sum: false,
            output: &answer.output,
            plot: None,
        })
    }
}

/// Requests whose answers are shown as tables; others have a row for each bin.
const LISTED: [&str; 2] = ["coincidences", "rates"];

/// Returns how the answers are drawn, if they are.
fn plot_of(args: &PlotArgs) -> Result<Option<PlotArgs>, Usage> {
    match &args.plot {
        None => Ok(None),
        Some(PlotTo::Terminal) => Ok(Some(args.clone())),
        Some(PlotTo::File(file, _)) => Err(Usage(format!(
            "{}: repeated answers are drawn in the terminal; write --plot without a file",
            file.display()
        ))),
    }
}

/// Returns the format of the answers.
fn format_of(output: &OutputArgs) -> Result<Option<Format>, Usage> {
    if output.output.is_some() {
        return Err(Usage(
            "repeated answers are written to standard output; leave --output out".into(),
        ));
    }
    match output.format() {
        Some(Format::Csv | Format::Arrow | Format::Parquet | Format::Tiff) => {
            Err(Usage("repeated answers are shown as table or as lines of json".into()))
        }
        format => Ok(format),
    }
}
