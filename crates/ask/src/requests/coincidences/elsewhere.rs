//! The note that the coincidences of a pair are far fewer than its accidentals, because they are at another delay.
//!
//! A count of 50 where 100 ± 1 are expected by chance is about 5 standard deviations too low. The note appears if the
//! peak of the pair lies outside of the window.

use tagq_query::{Coincidences as Query, Estimate};
use tagq_store::Duration;

use crate::{
    peaks,
    requests::{context::QueryContext, kind::Resolved},
};

/// A count below its accidentals by this many standard deviations is looked into.
const SIGMAS: f64 = 3.0;

/// The counts of a pair, and how many standard deviations they are below the accidentals.
pub(super) struct Below {
    pair: [u16; 2],
    count: u64,
    accidentals: f64,
    sigmas: f64,
}

impl Below {
    /// Returns the pair that is the farthest below its accidentals, if one is far below.
    pub(super) fn farthest<'a>(
        rows: impl Iterator<Item = (&'a Vec<u16>, &'a Estimate)>,
    ) -> Option<Self> {
        let below = rows.filter_map(|(channels, estimate)| {
            let &[a, b] = &channels[..] else { return None };
            let expected = estimate.accidentals?;
            let noise = (expected.value + expected.err.powi(2)).sqrt();
            let sigmas = (expected.value - estimate.count as f64) / noise;
            let (count, accidentals) = (estimate.count, expected.value);
            (sigmas > SIGMAS).then_some(Self { pair: [a, b], count, accidentals, sigmas })
        });
        below.max_by(|a, b| a.sigmas.total_cmp(&b.sigmas))
    }

    /// Returns a note with the delay of the peak, if the tags of the pair have one outside of the window.
    pub(super) fn note(&self, resolved: &Resolved<'_, Query>, is_joined: bool) -> Option<String> {
        let peak = peak(self.pair, resolved, is_joined)?;
        (peak.saturating_abs() > resolved.query.window)
            .then(|| self.words(peak, resolved.tick(), &resolved.query, resolved.context))
    }

    fn words(
        &self,
        peak: i64,
        tick: tagq_store::Tick,
        query: &Query,
        context: &QueryContext<'_>,
    ) -> String {
        let [a, b] = self.pair.map(|channel| context.setup.name_of(channel));
        let delay = query.scope.delay_of(self.pair[1]).saturating_sub(peak);
        format!(
            "{a},{b}: {} coincidences where {:.1} are expected by chance; most pairs of tags are outside of the \
             window, with {b} about {} {} {a}: try `delays` {b}={}",
            self.count,
            self.accidentals,
            tick.format(i128::from(peak).abs()),
            if peak < 0 { "before" } else { "after" },
            tick.paste_nearest(delay)
        )
    }
}

/// Returns the difference of the delayed times of a pair at its peak, in ticks.
pub(super) fn peak(pair: [u16; 2], resolved: &Resolved<'_, Query>, is_joined: bool) -> Option<i64> {
    let &Resolved { run, context, ref query, .. } = resolved;
    if !run.store().has_rows() {
        return None;
    }
    let range = peaks::RANGE.parse::<Duration>().ok()?.ceil(resolved.tick()).ok()?;
    let reach = peaks::within(run, range);
    let of = (context.pool, context.progress);
    // Damage of rows that the answer does not need does not refuse it.
    let found = peaks::between(run, of, pair, reach, query.scope.range, is_joined).ok()?;
    let [a, b] = pair.map(|channel| query.scope.delay_of(channel));
    let apart = found.delay()?.shape.place + b.saturating_sub(a) as f64;
    #[expect(clippy::cast_possible_truncation, reason = "within the searched range")]
    let apart = apart.round() as i64;
    Some(apart)
}
