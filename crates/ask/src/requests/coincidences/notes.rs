//! Notes on an answer: light for which accidentals by formula do not hold, peaks outside of the window, clocks.
//!
//! With a CAR of 9 ± 0.05, 1 % more pairs by chance are noted, because they change the CAR by 0.1; with 9 ± 0.2 they
//! are not.

use tagq_query::{Coincidences as Query, Rule};

use super::{
    Accidentals, Coincidences,
    elsewhere::{self, Below},
    rows::GroupRows,
};
use crate::{
    pulses::{self, Pulses},
    requests::{kind::Resolved, unlikely},
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
        let (mut channels, estimate) = rows.by_formula()?;
        channels.sort_unstable();
        let full_width = first.query.rule.full_width(first.query.window);
        // Bins of a trace have rates of their own.
        let is_trace = first.trace.is_some();
        // More pairs by chance by this share change the CAR by more than its error.
        let car = estimate.car.filter(|car| car.err.is_finite());
        let matters = |excess: f64| match car {
            Some(car) => excess * (1.0 + car.value.abs()) > car.err,
            None => excess > EXCESS,
        };
        let pool = first.context.pool;
        let note = |of: &Resolved<'_, Query>| {
            let (run, range) = (of.run, of.query.scope.range);
            let window = of.query.window;
            let [a, b] = channels.map(|channel| of.query.scope.delay_of(channel));
            let window = (window, b.saturating_sub(a));
            let is_pair = full_width == 2 * i128::from(window.0) + 1;
            let stepped = || pulses::steps_note(run, channels, window, matters);
            let unsteady = || unsteady::note(run, channels, full_width, range, matters);
            run.light_note(|| {
                if let Some(pulses) = pool.install(|| pulses::of_run(run, channels)) {
                    return self.pulsed(of, channels, full_width, &pulses);
                }
                let stepped = is_pair.then(|| pool.install(stepped)).flatten();
                stepped.or_else(|| pool.install(unsteady).filter(|_| !is_trace))
            })
        };
        all.iter().find_map(note)
    }

    /// Returns the note on pulsed light, with the delay that moves its pairs, or else its pulses, into the window.
    fn pulsed(
        &self,
        resolved: &Resolved<'_, Query>,
        channels: [u16; 2],
        full_width: i128,
        pulses: &Pulses,
    ) -> Option<String> {
        let tick = resolved.tick();
        // Before the search for the pairs.
        pulses.note(full_width, tick.seconds(), None)?;
        let [a, b] = channels.map(|channel| resolved.query.scope.delay_of(channel));
        let pairs = elsewhere::peak(channels, resolved, self.selection.join);
        let is_outside = |peak: &f64| peak.abs() > resolved.query.window as f64 / 2.0;
        let (what, aside) = match pairs {
            Some(peak) => ("pairs", Some(peak as f64).filter(is_outside)),
            None => ("pulses", pulses.aside(b.saturating_sub(a) as f64)),
        };
        let name = resolved.context.setup.name_of(channels[1]);
        let moved = aside.map(|aside| {
            #[expect(clippy::cast_possible_truncation, reason = "a delay in ticks")]
            let [aside, delay] = [aside, b as f64 - aside].map(|ticks| ticks.round() as i64);
            let far = tick.format(i128::from(aside).abs());
            [
                format!("its {what} are {far} from the middle of the window"),
                format!("`delays` {name}={}", tick.paste_nearest(delay)),
            ]
        });
        pulses.note(full_width, tick.seconds(), moved)
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
