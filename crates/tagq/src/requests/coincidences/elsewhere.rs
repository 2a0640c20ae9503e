//! The note that the coincidences of a pair are far fewer than its accidentals, because they are at another delay.

use tagq_query::{Coincidences as Query, Estimate, Scope};

use crate::requests::{coarse, context::QueryContext, kind::Resolved};

/// The difference of the recorded times of a pair at which they are most correlated.
#[derive(Debug, Clone, Copy)]
struct Peak(Option<i64>);

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
        let &Resolved { run, context, ref query, .. } = resolved;
        if !run.store().has_rows() {
            return None;
        }
        let search = |scope: &Scope, window: i64| {
            run.count_as(is_joined, None, |recording| {
                let look = || coarse::peak_beyond(recording, self.pair, scope, window);
                context.pool.install(look)
            })
        };
        // The peak in the recorded times serves requests with any delays; one at zero is not found there.
        let recorded = Scope { channels: None, delays: Vec::new(), range: query.scope.range };
        let range = query.scope.range;
        let arguments = (self.pair, range.from, range.to, is_joined);
        // Damage of rows that the answer does not need does not refuse it.
        let found = run.memo().get(&arguments, || search(&recorded, 0).map(Peak));
        let Peak(peak) = found.ok()?;
        let [a, b] = self.pair.map(|channel| query.scope.delay_of(channel));
        let peak = match peak {
            Some(peak) => Some(peak.saturating_add(b).saturating_sub(a)),
            None => search(&query.scope, query.window).unwrap_or_default(),
        };
        let peak = peak.filter(|peak| peak.saturating_abs() > query.window);
        peak.map(|peak| self.words(peak, resolved.tick(), query, context))
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
             window, with {b} about {} {} {a}: try `delays` {b}={}, or find the exact delay with `tagq delays`",
            self.count,
            self.accidentals,
            tick.format(i128::from(peak).abs()),
            if peak < 0 { "before" } else { "after" },
            tick.format_paste(delay)
        )
    }
}
