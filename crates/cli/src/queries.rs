//! The queries: arguments into a question, asked of each run.

use std::path::{Path, PathBuf};

use tagq::{
    Answer, Caching, Options, Run,
    ask::{
        Accidentals, Asking, Channel, Coincidences, Explained, Histogram, Listing, Rates,
        Selection, Setup, Window,
    },
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
    let named: Vec<&Channel> = named.collect();
    if args.list {
        if args.selection.sum {
            return Err(
                Usage("a list is of one run after the other; leave --sum out".into()).into()
            );
        }
        return way.list_all(&named, &question);
    }
    if args.explain {
        return way.explain_all(&named, |run, asking| question.explain(run, asking));
    }
    way.ask_all(&named, |runs| question.sum(runs))
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
    way.ask_histogram(&question, args.explain)
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
    way.ask_histogram(&question, args.explain)
}

pub(crate) fn rates(args: &RatesArgs) -> anyhow::Result<()> {
    let question = Rates { selection: selection(&args.selection), bin: args.bin.clone() };
    let way = Way { query: &args.query, of: &args.selection, output: &args.output };
    let named: Vec<&Channel> = question.selection.named().collect();
    if args.explain {
        return way.explain_all(&named, |run, asking| question.explain(run, asking));
    }
    way.ask_all(&named, |runs| question.sum(runs))
}

/// How questions are asked.
struct Way<'a> {
    query: &'a QueryArgs,
    of: &'a SelectionArgs,
    output: &'a OutputArgs,
}

impl Way<'_> {
    fn ask_histogram(&self, question: &Histogram, explain: bool) -> anyhow::Result<()> {
        let named = [&question.start, &question.stop].into_iter();
        let named: Vec<&Channel> = named.chain(question.selection.named()).collect();
        if explain {
            return self.explain_all(&named, |run, asking| question.explain(run, asking));
        }
        self.ask_all(&named, |runs| question.sum(runs))
    }

    /// Asks each run, or all of them as one, and prints what is answered.
    fn ask_all(
        &self,
        named: &[&Channel],
        ask: impl Fn(&[(&Run, &Asking<'_>)]) -> Result<Answer, tagq::Error>,
    ) -> anyhow::Result<()> {
        let reporter = Reporter::new(self.query.store.quiet);
        report::check(self.output, &self.query.runs)?;
        let pool = self.pool()?;
        let of_each = |runs: &[(&Run, &Asking<'_>)]| -> Result<Vec<Answer>, tagq::Error> {
            if self.of.sum { Ok(vec![ask(runs)?]) } else { runs.chunks(1).map(&ask).collect() }
        };
        let answers = self.of_all(named, &pool, &reporter, of_each)?;
        report::print(&answers, self.output, &reporter)
    }

    /// Prints what answering would read.
    fn explain_all(
        &self,
        named: &[&Channel],
        explain: impl Fn(&Run, &Asking<'_>) -> Result<Explained, tagq::Error>,
    ) -> anyhow::Result<()> {
        report::check_explained(self.output)?;
        let reporter = Reporter::new(self.query.store.quiet);
        report::check(self.output, &self.query.runs)?;
        let pool = self.pool()?;
        let explained = self.of_all(named, &pool, &reporter, |runs| {
            runs.iter().map(|(run, asking)| explain(run, asking)).collect()
        })?;
        report::print_explained(&explained, self.output, &reporter)
    }

    /// Opens all runs, and asks.
    fn of_all<T>(
        &self,
        named: &[&Channel],
        pool: &rayon::ThreadPool,
        reporter: &Reporter,
        ask: impl FnOnce(&[(&Run, &Asking<'_>)]) -> Result<Vec<T>, tagq::Error>,
    ) -> anyhow::Result<Vec<T>> {
        input::check_once(&self.query.runs)?;
        let open = |path: &PathBuf| self.open(path, named, reporter);
        let opened: Vec<(Setup, Run)> =
            self.query.runs.iter().map(open).collect::<anyhow::Result<_>>()?;
        let asking = |(setup, _)| Asking { setup, pool, progress: reporter };
        let askings: Vec<Asking<'_>> =
            opened.iter().map(|(setup, run)| asking((setup, run))).collect();
        let runs = opened.iter().map(|(_, run)| run).zip(&askings);
        Ok(ask(&runs.collect::<Vec<_>>())?)
    }

    /// Lists the tuples of each run as they are found.
    fn list_all(&self, named: &[&Channel], question: &Coincidences) -> anyhow::Result<()> {
        let reporter = Reporter::new(self.query.store.quiet);
        report::check(self.output, &self.query.runs)?;
        let pool = self.pool()?;
        input::check_once(&self.query.runs)?;
        let open = |path: &PathBuf| self.open(path, named, &reporter);
        let runs: Vec<(Setup, Run)> =
            self.query.runs.iter().map(open).collect::<anyhow::Result<_>>()?;
        let listing = |(setup, run)| {
            let asking = Asking { setup, pool: &pool, progress: &reporter };
            question.listing(run, &asking)
        };
        let listings: Vec<Listing<'_>> =
            runs.iter().map(|(setup, run)| listing((setup, run))).collect::<Result<_, _>>()?;
        report::print_list(&listings, self.output, &reporter)
    }

    fn pool(&self) -> anyhow::Result<rayon::ThreadPool> {
        // Zero means one a core to rayon.
        let threads = self.query.threads.unwrap_or(0);
        Ok(rayon::ThreadPoolBuilder::new().num_threads(threads).build()?)
    }

    /// A run and its setup. The channels named are looked up before the run is opened, which may take
    /// long.
    fn open(
        &self,
        path: &Path,
        named: &[&Channel],
        reporter: &Reporter,
    ) -> anyhow::Result<(Setup, Run)> {
        let setup = input::setup(path, &self.of.setup, reporter)?;
        for channel in named {
            setup.channel(channel)?;
        }
        let options = options(self.query);
        let tick = options.tick.or(setup.tick);
        let run = input::open(path, &Options { tick, ..options }, reporter)?;
        Ok((setup, run))
    }
}

/// How the arguments of a query say to open its runs.
pub(crate) fn options(args: &QueryArgs) -> Options {
    Options {
        store: args.store.store.clone(),
        tick: args.store.tick,
        columns: args.store.columns,
        caching: if args.no_cache { Caching::Off } else { Caching::default() },
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
