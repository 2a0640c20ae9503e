//! Notes on an answer: light for which accidentals by formula do not hold, peaks outside of the window, clocks.

use tagq_query::{Coincidences as Query, Rule, TimeRange};

use super::{Accidentals, Coincidences, elsewhere::Below, rows::GroupRows};
use crate::{
    pulses,
    requests::{kind::Resolved, unlikely},
    run::Run,
    unsteady,
};

/// Pairs by chance beyond those of steady light, as a share of these, that have a note where the CAR is not known.
const EXCESS: f64 = 0.01;

impl Coincidences {
    /// Returns the notes on the rows of an answer, which have so many live ticks.
    pub(super) fn notes(
        &self,
        all: &[Resolved<'_, Query>],
        rows: &GroupRows,
        live: i128,
    ) -> Vec<String> {
        let first = &all[0];
        let mut notes = Vec::new();
        notes.extend(unlikely::live_time(first.selected.live_s, live, first.tick()));
        let light = self.light(all, rows);
        // Pulsed light has peaks outside of the window in any case.
        if light.is_none() && first.trace.is_none() {
            let below = Below::farthest(rows.estimates());
            let note = below.and_then(|below| below.note(first, self.selection.join));
            notes.extend(note);
        }
        notes.extend(light);
        if first.query.rule == Rule::Cluster && !rows.count.is_empty() {
            notes.extend(all.iter().flat_map(clocks));
        }
        notes
    }

    /// Returns a note if the light is not steady and accidentals are given by formula.
    fn light(&self, all: &[Resolved<'_, Query>], rows: &GroupRows) -> Option<String> {
        let first = &all[0];
        if self.accidentals != Accidentals::Formula {
            return None;
        }
        let (channels, estimate) = rows.by_formula()?;
        let full_width = first.query.rule.full_width(first.query.window);
        // Bins of a trace have rates of their own.
        let is_trace = first.trace.is_some();
        // More pairs by chance by this share change the CAR by more than its error.
        let car = estimate.car.filter(|car| car.err.is_finite());
        let matters = |excess: f64| match car {
            Some(car) => excess * (1.0 + car.value.abs()) > car.err,
            None => excess > EXCESS,
        };
        let runs: Vec<(&Run, TimeRange)> =
            all.iter().map(|of| (of.run, of.query.scope.range)).collect();
        let window = first.query.window;
        let [a, b] = channels.map(|channel| first.query.scope.delay_of(channel));
        let is_pair = full_width == 2 * i128::from(window) + 1;
        let window = (window, b.saturating_sub(a));
        let note = |&(run, range): &(&Run, TimeRange)| {
            let unsteady = || unsteady::note(run, channels, full_width, range, matters);
            let pulsed = || pulses::note(run, channels, full_width);
            let stepped =
                || is_pair.then(|| pulses::steps_note(run, channels, window, matters)).flatten();
            let found = || pulsed().or_else(stepped);
            run.light_note(|| found().or_else(|| unsteady().filter(|_| !is_trace)))
        };
        first.context.pool.install(|| runs.iter().find_map(note))
    }
}

/// Returns a note for each channel that seems to be a clock, because it is then in every cluster.
fn clocks(resolved: &Resolved<'_, Query>) -> Vec<String> {
    let Resolved { run, query, context, .. } = resolved;
    let channels = &run.store().manifest().channels;
    let is_used = |channel: u16| {
        query.scope.channels.as_ref().is_none_or(|channels| channels.contains(&channel))
    };
    let used = channels.iter().filter(|of| is_used(of.channel));
    let total: u64 = used.clone().map(|of| of.rows).sum();
    let note = |channel: u16| {
        format!(
            "channel {} has more than half of all tags; if it is a clock it is in every cluster: \
             leave it out with `channels`",
            context.setup.name_of(channel)
        )
    };
    used.filter(|of| 2 * of.rows > total).map(|of| note(of.channel)).collect()
}
