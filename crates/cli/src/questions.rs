//! Arguments into questions.

use tagq::{
    query::{Mode, Rule},
    requests::{Accidentals, Coincidences, Histogram, Rates, Request, Selection, Window},
};

use crate::{
    Usage,
    args::{
        AccidentalsName, BinsArgs, CoincidencesArgs, G2Args, HistogramArgs, HistogramRule,
        ModeName, NamedDelay, RatesArgs, RuleName, SelectionArgs,
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
        rule: match (args.rule, args.per_herald) {
            (RuleName::Herald, true) => Rule::PerHerald,
            (_, true) => return Err(Usage("--per-herald goes with --rule herald".into())),
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

pub(crate) fn histogram(args: &HistogramArgs) -> Result<Request, Usage> {
    let mode = match (args.mode, args.rule) {
        (ModeName::All, Some(HistogramRule::Grid)) => Mode::Grid,
        (_, Some(HistogramRule::Grid)) => {
            return Err(Usage("rule grid counts all pairs; leave --mode out".into()));
        }
        (ModeName::All, None) => Mode::All,
        (ModeName::Next, None) => Mode::Next,
        (ModeName::Last, None) => Mode::Last,
    };
    let BinsArgs { bin, range, log, .. } = args.bins.clone();
    Ok(Request::Histogram(Histogram {
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
    }))
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
