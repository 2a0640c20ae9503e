//! `tagq coincidences`: arguments into a query, the query into an answer.

use tagq::{
    Options, Progress as _, Run,
    query::{Coincidences, Delay, Estimate, Execution, Groups, Rule},
    store::Access,
};

use crate::{
    args::{CoincidencesArgs, Group, Io, QueryArgs, RuleName},
    input,
    progress::Reporter,
    report::{self, Answer, DelayUsed, PairRow, QueryUsed, RunUsed},
};

pub(crate) fn run(args: &CoincidencesArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    let pool = pool(args.query.threads)?;
    input::check_once(&args.query.runs)?;
    let mut answers = Vec::new();
    for path in &args.query.runs {
        let run = input::open(path, &options(&args.query), &reporter)?;
        answers.push(answer(args, &run, &pool, &reporter)?);
    }
    report::print(&answers, args.output.format)
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

/// The threads that a query may use.
fn pool(threads: Option<usize>) -> anyhow::Result<rayon::ThreadPool> {
    // Zero means one a core to rayon.
    Ok(rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build()?)
}

fn answer(
    args: &CoincidencesArgs,
    run: &Run,
    pool: &rayon::ThreadPool,
    reporter: &Reporter,
) -> Result<Answer, tagq::Error> {
    let tick = run.store().manifest().tick;
    let window = args.window.window(tick)?;
    let delays = delays(args, run, reporter)?;
    let query = Coincidences {
        groups: match &args.groups[..] {
            [] => Groups::EveryPair,
            groups => Groups::Listed(groups.iter().map(|&Group(pair)| pair).collect()),
        },
        rule: match args.rule {
            RuleName::All => Rule::All,
        },
        window,
        delays: delays.clone(),
    };
    note_dark_channels(args, run, reporter);
    let counted =
        run.count(|recording| pool.install(|| query.run(recording, &Execution::best())))?;
    let rows = counted.rows.iter().map(|row| {
        let estimate = Estimate::of_pair(row.count, &row.sources, window, tick.seconds());
        PairRow::new(row.channels, row.count, row.singles(), &estimate)
    });
    Ok(Answer {
        query: QueryUsed {
            kind: "coincidences",
            rule: "all",
            window_ticks: window,
            window_s: tick.seconds_of(window.into()),
            window_asked: args.window.asked().to_owned(),
            acceptance_ticks: 2 * i128::from(window) + 1,
            delays: delays
                .iter()
                .map(|delay| DelayUsed {
                    channel: delay.channel,
                    ticks: delay.ticks,
                    seconds: tick.seconds_of(delay.ticks.into()),
                })
                .collect(),
        },
        run: RunUsed::new(run),
        rows: rows.collect(),
        tick,
        live_ticks: run.live_ticks(),
    })
}

fn delays(
    args: &CoincidencesArgs,
    run: &Run,
    reporter: &Reporter,
) -> Result<Vec<Delay>, tagq::Error> {
    let tick = run.store().manifest().tick;
    let mut delays = Vec::new();
    for asked in &args.delays {
        let ticks = asked.delay.nearest(tick)?;
        if !asked.delay.is_whole(tick)? {
            reporter.note(&format!(
                "the delay of channel {}, {}, is rounded to {ticks} ticks = {}",
                asked.channel,
                asked.delay.asked(),
                tick.format(ticks.into())
            ));
        }
        delays.push(Delay { channel: asked.channel, ticks });
    }
    Ok(delays)
}

/// A channel without tags is a row of zeros; the person may have meant another one.
fn note_dark_channels(args: &CoincidencesArgs, run: &Run, reporter: &Reporter) {
    let present: Vec<u16> = run.store().manifest().channels.iter().map(|c| c.channel).collect();
    let named = args.groups.iter().flat_map(|group| group.0);
    let mut dark: Vec<u16> = named
        .chain(args.delays.iter().map(|delay| delay.channel))
        .filter(|channel| !present.contains(channel))
        .collect();
    dark.sort_unstable();
    dark.dedup();
    for channel in dark {
        let present: Vec<String> = present.iter().map(u16::to_string).collect();
        reporter.note(&format!(
            "channel {channel} has no tags in {}; the channels that have are {}",
            run.path().display(),
            if present.is_empty() { "none".to_owned() } else { present.join(", ") }
        ));
    }
}
