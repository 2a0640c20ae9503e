//! The words of `tagq watch` as questions to runs.

use std::{
    cell::OnceCell,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tagq::{
    Delays, Error, OpenOptions, Run, quoted,
    requests::{Asking, OptionValues, QueryContext, REQUEST_TYPES, Request, Setup},
};
use tagq_export::report::Format;

use crate::{
    Usage,
    args::{
        Command, DelaysArgs, OutputArgs, PlotArgs, PlotTo, RequestCommand, SetupArgs, WatchArgs,
    },
    input, queries,
};

use super::change::from_after;

/// What is watched.
pub(super) struct Parts {
    pub queries: Vec<WatchedQuery>,
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
pub(super) struct WatchedQuery {
    pub question: Question,
    /// Places in [`Parts::runs`].
    pub runs: Vec<usize>,
    pub is_sum: bool,
    /// How its answers are drawn, if they are.
    pub plot: Option<PlotArgs>,
}

impl WatchedQuery {
    /// Whether it begins at the end of its run, so that nothing is counted until new tags come.
    pub(super) fn is_reset_at(&self, end: Option<i64>) -> bool {
        let Question::Request(request) = &self.question else { return false };
        let from = request.options.get(FROM).and_then(|from| from.as_str());
        from.is_some() && from == end.map(from_after).as_deref()
    }
}

/// The query of a watch.
pub(super) enum Question {
    /// A request by its name and options.
    Request(WatchedRequest),
    /// The delays between channels.
    Delays(Box<Delays>),
}

/// A request whose options can change.
pub(super) struct WatchedRequest {
    pub name: &'static str,
    /// The options as they were given.
    pub first: OptionValues,
    pub options: OptionValues,
    /// The command's other arguments.
    pub arguments: Vec<String>,
    /// The request, once its runs have tags.
    settled: OnceCell<Box<Request>>,
}

impl WatchedRequest {
    /// Returns the request with delays as they were found first.
    pub(super) fn request(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<&Request, Error> {
        if let Some(request) = self.settled.get() {
            return Ok(request);
        }
        let found = self.settle(runs)?;
        Ok(self.settled.get_or_init(|| Box::new(found)))
    }

    /// Replaces the options; returns those before.
    pub(super) fn replace(&mut self, options: OptionValues) -> OptionValues {
        self.settled = OnceCell::new();
        std::mem::replace(&mut self.options, options)
    }

    /// Returns the command that counts the same once, or that watches the same if a last interval is beside it.
    pub(super) fn command(&self, runs: &[&Path]) -> String {
        let mut options = self.options.clone();
        if options.contains_key(FROM) {
            options.remove(LAST);
        }
        let runs: Vec<String> = runs.iter().map(|run| run.display().to_string()).collect();
        let runs: Vec<&str> = runs.iter().map(|run| &**run).collect();
        let of = REQUEST_TYPES.iter().find(|of| of.name == self.name);
        let command = of.map_or_else(String::new, |of| of.command(&options, &runs, Asking::Each));
        let arguments = self.arguments.iter().map(|word| format!(" {}", quoted(word)));
        let command = command + &arguments.collect::<String>();
        if options.contains_key(LAST) {
            return command.replacen("tagq ", "tagq watch ", 1);
        }
        command
    }

    fn settle(&self, runs: &[(&Run, &QueryContext<'_>)]) -> Result<Request, Error> {
        let Some(last) = self.options.get(LAST).filter(|_| self.options.contains_key(FROM)) else {
            return tagq::settled(self.name, &self.options, runs);
        };
        // The last interval is beside what is counted from a time on, as it is beside the whole run. A trace has
        // one of them.
        let mut options = self.options.clone();
        options.remove(LAST);
        let mut request = tagq::settled(self.name, &options, runs)?;
        if request.is_trace() {
            return tagq::settled(self.name, &self.options, runs);
        }
        request.selection_mut().last = Some(last.as_str().unwrap_or_default().parse()?);
        Ok(request)
    }
}

const FROM: &str = "from";
const LAST: &str = "last";

/// One run.
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
            let asked = Asked::of(command)?;
            let parts = match &mut parts {
                Some(parts) => parts,
                none => none.insert(Self {
                    queries: Vec::new(),
                    runs: Vec::new(),
                    pool: queries::pool(asked.threads)?,
                    format: None,
                    every: args.interval().map_err(Error::from)?,
                    hold_back: args.hold_back().map_err(Error::from)?,
                }),
            };
            parts.format = parts.format.or(format_of(asked.output)?);
            let mut runs = Vec::new();
            for path in &asked.runs {
                runs.push(parts.place(path.clone(), &asked)?);
            }
            let Asked { question, is_sum, plot, .. } = asked;
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
    fn place(&mut self, path: PathBuf, asked: &Asked<'_>) -> anyhow::Result<usize> {
        if input::is_stdin(&path) {
            return Err(
                Usage("standard input cannot be watched; name a file or folder".into()).into()
            );
        }
        let same = |of: &Watched| of.path == path && of.options.store == asked.options.store;
        if let Some(at) = self.runs.iter().position(same) {
            let setup = &self.runs[at].setup;
            asked.request.map_or(Ok(()), |request| request.check_channels(setup))?;
            return Ok(at);
        }
        let setup = queries::setup(&path, asked.setup, asked.request)?;
        let options = OpenOptions { tick: setup.tick, ..asked.options.clone() };
        self.runs.push(Watched { path, options, setup, quiet: asked.quiet });
        Ok(self.runs.len() - 1)
    }
}

/// A question as its command states it.
struct Asked<'a> {
    question: Question,
    /// The channels that it names.
    request: Option<&'a Request>,
    runs: Vec<PathBuf>,
    options: OpenOptions,
    setup: &'a SetupArgs,
    threads: Option<usize>,
    quiet: bool,
    is_sum: bool,
    output: &'a OutputArgs,
    plot: Option<PlotArgs>,
}

impl<'a> Asked<'a> {
    fn of(command: &'a Command) -> Result<Self, Usage> {
        match command {
            Command::Request(of) => Self::of_request(of),
            Command::Delays(args) => Self::of_delays(args),
            _ => {
                let names = REQUEST_TYPES.map(|of| of.name).join(", ");
                Err(Usage(format!("only these can be watched: {names}, delays")))
            }
        }
    }

    fn of_request(of: &'a RequestCommand) -> Result<Self, Usage> {
        let RequestCommand { request, name, options, answer } = of;
        if answer.list || answer.explain {
            return Err(Usage("--list and --explain are answered once; leave them out".into()));
        }
        let plot = plot_of(&answer.plot)?.or_else(|| {
            // Hundreds of rows say less than their figure.
            let is_free = answer.output.format().is_none() && io::stdout().is_terminal();
            (is_free && !LISTED.contains(name)).then(PlotArgs::in_terminal)
        });
        let query = &answer.query;
        Ok(Self {
            question: Question::Request(WatchedRequest {
                name,
                first: options.clone(),
                options: options.clone(),
                arguments: answer.arguments(),
                settled: OnceCell::new(),
            }),
            request: Some(request),
            runs: query.runs.clone(),
            options: queries::options(query),
            setup: &answer.setup,
            threads: query.threads,
            quiet: query.store.quiet,
            is_sum: answer.sum,
            output: &answer.output,
            plot,
        })
    }

    fn of_delays(args: &'a DelaysArgs) -> Result<Self, Usage> {
        if args.write.is_some() || args.plot.plot.is_some() {
            return Err(Usage("--write and --plot of delays are done once; leave them out".into()));
        }
        let (channels, run) = args.channels_and_run();
        let (range, selection) = (args.range.clone(), args.span.0.clone());
        Ok(Self {
            question: Question::Delays(Box::new(Delays { channels, range, selection })),
            request: None,
            runs: vec![run],
            options: OpenOptions {
                ingest: !args.no_ingest,
                threads: queries::number_of(args.threads),
                ..args.store.options()
            },
            setup: &args.setup,
            threads: args.threads,
            quiet: args.store.quiet,
            is_sum: false,
            output: &args.output,
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
