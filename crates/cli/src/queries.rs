//! The queries: arguments into a question, asked of each run.

use tagq::{
    Answer, Options, Progress as _, Run,
    ask::{Accidentals, Asking, Channel, Coincidences, Histogram, Rates, Selection, Setup, Window},
    query::{Mode, Rule},
    store::Access,
};

use crate::{
    Usage,
    args::{
        AccidentalsName, BinsArgs, CoincidencesArgs, G2Args, HistogramArgs, HistogramRule, Io,
        ModeName, NamedDelay, OutputArgs, QueryArgs, RatesArgs, RuleName, SelectionArgs,
    },
    input,
    progress::Reporter,
    report,
};

pub(crate) fn coincidences(args: &CoincidencesArgs) -> anyhow::Result<()> {
    let question = Coincidences {
        window: match (&args.window, &args.full_width) {
            (_, Some(width)) => Window::Full(width.clone()),
            (Some(window), None) => Window::Half(window.clone()),
            (None, None) => return Err(Usage("--window or --full-width is missing".into()).into()),
        },
        groups: args.groups.iter().map(|group| group.0.clone()).collect(),
        fold: args.fold,
        rule: match (args.rule, args.per_herald) {
            (RuleName::Herald, true) => Rule::PerHerald,
            (_, true) => return Err(Usage("--per-herald goes with --rule herald".into()).into()),
            (RuleName::All, false) => Rule::All,
            (RuleName::Herald, false) => Rule::Herald,
            (RuleName::Once, false) => Rule::Once,
            (RuleName::Cluster, false) => Rule::Cluster,
            (RuleName::Grid, false) => Rule::Grid,
        },
        veto: args.veto.clone(),
        guard: args.guard.clone(),
        accidentals: match (args.accidentals, &args.shift) {
            (AccidentalsName::Formula, Some(_)) => {
                return Err(Usage("--shift goes with --accidentals shifted".into()).into());
            }
            (AccidentalsName::Formula, None) => Accidentals::Formula,
            (AccidentalsName::Shifted(counts), shift) => {
                Accidentals::Shifted { counts, shift: shift.clone() }
            }
        },
        bin: args.bin.clone(),
        selection: selection(&args.selection),
    };
    let named = question.groups.iter().flatten().chain(&question.veto);
    let named = named.chain(question.selection.named());
    let way = Way { query: &args.query, of: &args.selection, output: &args.output };
    way.ask_all(&named.collect::<Vec<_>>(), |run, asking| question.ask(run, asking))
}

pub(crate) fn histogram(args: &HistogramArgs) -> anyhow::Result<()> {
    let mode = match (args.mode, args.rule) {
        (ModeName::All, Some(HistogramRule::Grid)) => Mode::Grid,
        (_, Some(HistogramRule::Grid)) => {
            return Err(Usage("rule grid counts all pairs; leave --mode out".into()).into());
        }
        (ModeName::All, None) => Mode::All,
        (ModeName::Next, None) => Mode::Next,
        (ModeName::Last, None) => Mode::Last,
    };
    let BinsArgs { bin, range, log } = args.bins.clone();
    let question = Histogram {
        start: args.start.clone(),
        stop: args.stop.clone(),
        bin,
        range,
        log,
        mode,
        period: args.period.clone(),
        sync_divider: args.sync_divider,
        g2: args.g2,
        selection: selection(&args.selection),
    };
    let way = Way { query: &args.query, of: &args.selection, output: &args.output };
    way.ask_histogram(&question)
}

pub(crate) fn g2(args: &G2Args) -> anyhow::Result<()> {
    let [start, stop] = args.pair.0.clone();
    let BinsArgs { bin, range, log } = args.bins.clone();
    let question = Histogram {
        start,
        stop,
        bin,
        range,
        log,
        mode: Mode::All,
        period: None,
        sync_divider: None,
        g2: true,
        selection: selection(&args.selection),
    };
    let way = Way { query: &args.query, of: &args.selection, output: &args.output };
    way.ask_histogram(&question)
}

pub(crate) fn rates(args: &RatesArgs) -> anyhow::Result<()> {
    let question = Rates { selection: selection(&args.selection), bin: args.bin.clone() };
    let way = Way { query: &args.query, of: &args.selection, output: &args.output };
    let named: Vec<&Channel> = question.selection.named().collect();
    way.ask_all(&named, |run, asking| question.ask(run, asking))
}

/// How questions are asked.
struct Way<'a> {
    query: &'a QueryArgs,
    of: &'a SelectionArgs,
    output: &'a OutputArgs,
}

impl Way<'_> {
    fn ask_histogram(&self, question: &Histogram) -> anyhow::Result<()> {
        let named = [&question.start, &question.stop].into_iter();
        let named: Vec<&Channel> = named.chain(question.selection.named()).collect();
        self.ask_all(&named, |run, asking| question.ask(run, asking))
    }

    /// Asks each run, and prints what it answers. The channels named are looked up before a run is
    /// opened, which may take long.
    fn ask_all(
        &self,
        named: &[&Channel],
        ask: impl Fn(&Run, &Asking<'_>) -> Result<Answer, tagq::Error>,
    ) -> anyhow::Result<()> {
        let (args, of) = (self.query, self.of);
        let reporter = Reporter::new(args.store.quiet);
        // Zero means one a core to rayon.
        let pool =
            rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build()?;
        input::check_once(&args.runs)?;
        let mut answers = Vec::new();
        for path in &args.runs {
            let has_none = of.no_setup || input::is_stdin(path) && of.setup.is_none();
            let setup =
                if has_none { Setup::default() } else { Setup::of(path, of.setup.as_deref())? };
            if let Some(path) = &setup.path {
                reporter.note(&format!("setup: {}", path.display()));
            }
            for channel in named {
                setup.channel(channel)?;
            }
            let options = options(args);
            let tick = options.tick.or(setup.tick);
            let run = input::open(path, &Options { tick, ..options }, &reporter)?;
            let asking = Asking { setup: &setup, pool: &pool, progress: &reporter };
            answers.push(ask(&run, &asking)?);
        }
        report::print(&answers, self.output.format)
    }
}

/// How the arguments of a query say to open its runs.
pub(crate) fn options(args: &QueryArgs) -> Options {
    Options {
        store: args.store.store.clone(),
        tick: args.store.tick,
        columns: args.store.columns,
        ingest: !args.no_ingest,
        access: match args.io {
            Io::Map => Access::Mapped,
            Io::Read => Access::Copied,
        },
        ..Options::default()
    }
}

fn selection(args: &SelectionArgs) -> Selection {
    let delay = |NamedDelay(channel, delay): &NamedDelay| (channel.clone(), delay.clone());
    Selection {
        channels: args.channels.clone(),
        delays: args.delays.iter().map(delay).collect(),
        from: args.from.clone(),
        to: args.to.clone(),
        last: args.last.clone(),
        live_time: args.live_time.clone(),
        join: args.join,
    }
}
