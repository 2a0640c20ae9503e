//! Arguments into questions.

use tagq::{
    query::{Mode, Rule},
    requests::{Accidentals, Coincidences, Histogram, Rates, Request, Selection, Window},
};

use crate::{
    Usage,
    args::{
        AccidentalsName, BinsArgs, CoincidencesArgs, G2Args, HistogramArgs, ModeName, NamedDelay,
        RatesArgs, RuleName, SelectionArgs,
    },
};

pub(crate) fn coincidences(args: &CoincidencesArgs) -> Result<Coincidences, Usage> {
    Ok(Coincidences {
        window: match (&args.window, &args.full_width) {
            (_, Some(width)) => Some(Window::Full(width.clone())),
            (Some(window), None) => Some(Window::Half(window.clone())),
            (None, None) => None,
        },
        groups: args.groups.iter().map(|group| group.0.clone()).collect(),
        choose: args.choose,
        rule: match args.rule {
            RuleName::All => Rule::All,
            RuleName::Herald => Rule::Herald,
            RuleName::PerHerald => Rule::PerHerald,
            RuleName::Once => Rule::Once,
            RuleName::Cluster => Rule::Cluster,
            RuleName::Grid => Rule::Grid,
        },
        veto: args.veto.clone(),
        guard: args.guard.clone(),
        accidentals: match (args.accidentals, &args.shift) {
            (AccidentalsName::Formula, Some(_)) => {
                return Err(Usage("--shift goes with --accidentals shifted".into()));
            }
            (AccidentalsName::Formula, None) => Accidentals::Formula,
            (AccidentalsName::Shifted(counts), shift) => {
                Accidentals::Shifted { counts, shift: shift.clone() }
            }
        },
        errors: args.errors.errors,
        bin: args.bin.clone(),
        selection: selection(&args.selection),
    })
}

pub(crate) fn histogram(args: &HistogramArgs) -> Request {
    let mode = match args.mode {
        ModeName::All => Mode::All,
        ModeName::Next => Mode::Next,
        ModeName::Last => Mode::Last,
        ModeName::Grid => Mode::Grid,
    };
    let BinsArgs { bin, range, log, .. } = args.bins.clone();
    Request::Histogram(Histogram {
        start: args.start.clone(),
        stop: args.stop.clone(),
        bin,
        range,
        log,
        mode,
        period: args.period.clone(),
        sync_divider: args.sync_divider,
        g2: args.g2,
        errors: args.errors.errors,
        covariance: args.bins.covariance,
        selection: selection(&args.selection),
    })
}

pub(crate) fn g2(args: &G2Args) -> Request {
    let [start, stop] = args.pair.0.clone();
    let BinsArgs { bin, range, log, .. } = args.bins.clone();
    Request::Histogram(Histogram {
        start,
        stop,
        bin,
        range,
        log,
        mode: Mode::All,
        period: None,
        sync_divider: None,
        g2: true,
        errors: args.errors.errors,
        covariance: args.bins.covariance,
        selection: selection(&args.selection),
    })
}

pub(crate) fn rates(args: &RatesArgs) -> Request {
    Request::Rates(Rates {
        selection: selection(&args.selection),
        bin: args.bin.clone(),
        errors: args.errors.errors,
    })
}

fn selection(args: &SelectionArgs) -> Selection {
    let delay = |NamedDelay(channel, delay): &NamedDelay| (channel.clone(), delay.clone());
    Selection {
        channels: args.channels.clone(),
        delays: args.delays.iter().map(delay).collect(),
        live_time: args.live_time.clone(),
        join: args.join,
        ..args.span.selection()
    }
}
