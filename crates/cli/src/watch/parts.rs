//! The words of `tagq watch` as questions to runs.

use std::{path::PathBuf, time::Duration};

use tagq::{
    OpenOptions,
    requests::{REQUEST_TYPES, Request, Setup},
};
use tagq_export::report::Format;

use crate::{
    Usage,
    args::{AnswerArgs, Command, PlotArgs, PlotTo, RequestCommand, WatchArgs},
    input, queries,
};

/// What is watched.
pub(super) struct Parts {
    pub questions: Vec<WatchedQuery>,
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
    pub question: Request,
    /// Places in [`Parts::runs`].
    pub runs: Vec<usize>,
    pub is_sum: bool,
    /// How its answers are drawn, if they are.
    pub plot: Option<PlotArgs>,
}

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
            let asked = request_of(command)?;
            let answer = &asked.answer;
            let parts = match &mut parts {
                Some(parts) => parts,
                none => none.insert(Self {
                    questions: Vec::new(),
                    runs: Vec::new(),
                    pool: queries::pool(answer.query.threads)?,
                    format: None,
                    every: args.interval().map_err(tagq::Error::from)?,
                    hold_back: args.hold_back().map_err(tagq::Error::from)?,
                }),
            };
            parts.format = parts.format.or(format_of(answer)?);
            let mut runs = Vec::new();
            for path in &answer.query.runs {
                runs.push(parts.place(path.clone(), asked)?);
            }
            let (is_sum, plot) = (answer.sum, plot_of(answer)?);
            let question = asked.request.clone();
            parts.questions.push(WatchedQuery { question, runs, is_sum, plot });
        }
        if let Some(parts) = &mut parts
            && parts.questions.iter().any(|part| part.plot.is_some())
        {
            if parts.format == Some(Format::Json) {
                return Err(Usage("lines of json are not drawn; leave --plot out".into()).into());
            }
            parts.format = Some(Format::Table);
        }
        parts.ok_or_else(|| Usage("a query is missing".into()).into())
    }

    /// The place of a run among those that are watched.
    fn place(&mut self, path: PathBuf, asked: &RequestCommand) -> anyhow::Result<usize> {
        if input::is_stdin(&path) {
            return Err(
                Usage("standard input cannot be watched; name a file or folder".into()).into()
            );
        }
        let named = asked.request.named();
        let options = queries::options(&asked.answer.query);
        let same = |of: &Watched| of.path == path && of.options.store == options.store;
        if let Some(at) = self.runs.iter().position(same) {
            for channel in named {
                self.runs[at].setup.channel(channel)?;
            }
            return Ok(at);
        }
        let setup = queries::setup(&path, &asked.answer.setup, &named)?;
        let options = OpenOptions { tick: setup.tick, ..options };
        self.runs.push(Watched { path, options, setup, quiet: asked.answer.query.store.quiet });
        Ok(self.runs.len() - 1)
    }
}

/// Returns the request of a command.
fn request_of(command: &Command) -> Result<&RequestCommand, Usage> {
    let Command::Request(of) = command else {
        let names = REQUEST_TYPES.map(|of| of.name).join(", ");
        return Err(Usage(format!("only these can be watched: {names}")));
    };
    if of.answer.list || of.answer.explain {
        return Err(Usage("--list and --explain are answered once; leave them out".into()));
    }
    Ok(of)
}

/// Returns how the answers are drawn, if they are.
fn plot_of(answer: &AnswerArgs) -> Result<Option<PlotArgs>, Usage> {
    match &answer.plot.plot {
        None => Ok(None),
        Some(PlotTo::Terminal) => Ok(Some(answer.plot.clone())),
        Some(PlotTo::File(file, _)) => Err(Usage(format!(
            "{}: repeated answers are drawn in the terminal; write --plot without a file",
            file.display()
        ))),
    }
}

/// Returns the format of the answers.
fn format_of(answer: &AnswerArgs) -> Result<Option<Format>, Usage> {
    if answer.output.output.is_some() {
        return Err(Usage(
            "repeated answers are written to standard output; leave --output out".into(),
        ));
    }
    match answer.output.format() {
        Some(Format::Csv | Format::Arrow | Format::Parquet) => {
            Err(Usage("repeated answers are shown as table or as lines of json".into()))
        }
        format => Ok(format),
    }
}
