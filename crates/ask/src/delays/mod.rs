//! The delays between channels, found from the peaks of their time differences.
//!
//! If channel 3 is 10 ticks after channel 1, and 20 before channel 2, the delays of 1, 2 and 3 are 0, −30 and −10. The
//! most significant pairs decide; the first channel of each connected group keeps its times.

mod figures;
mod options;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tagq_query::Scope;
use tagq_run::{Channel, RequestError, Run};
use tagq_store::{Duration, Tick};

use crate::{
    answer::{Answer, RunFacts},
    error::Error,
    peaks::{self, Fitted, Found, Located, Second, Shape},
    provenance::{CountedRun, Provenance},
    pulses::Resolution,
    requests::{
        OptionValues, context::QueryContext, detectors::detectors, options::deserialize,
        selection::Selection,
    },
    search::{Search, SearchType, Searched},
    table::{Column, Table, Unit},
};
use options::{DELAYS, NAME};

/// The options that are not of the selection.
const OWN: [&str; 2] = ["channels", "range"];
/// The search, in the list of searches.
pub(crate) const SEARCH: SearchType =
    SearchType { of: &DELAYS, of_options: |options| Ok(Arc::new(Delays::of_options(options)?)) };

/// Selects the delays to search (docs/queries.md, section "Delays"). They refer to the recorded times:
/// delays of the setup are not applied.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delays {
    /// Two or more channels, or all detectors if there is none; each pair of them is searched.
    pub channels: Vec<Channel>,
    /// Range on both sides of zero; default 1 ms.
    pub range: Option<Duration>,
    /// Times that are used.
    pub selection: Selection,
}

/// The query as it was executed.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    range_ticks: i64,
    range_s: f64,
    channels: Vec<u16>,
    /// The delays to add to the times of each channel.
    delays: Vec<DelayFound>,
}

#[derive(Debug, Serialize)]
struct DelayFound {
    channel: u16,
    ticks: i64,
    seconds: f64,
}

impl Search for Delays {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Searches for delays in `run`; one row per pair.
    ///
    /// # Errors
    /// Fewer than two channels, unknown names, a range below one tick.
    fn ask(&self, run: &Run, context: &QueryContext<'_>) -> Result<Searched, Error> {
        run.check_tags()?;
        let manifest = run.store().manifest();
        let tick = manifest.tick;
        let mut channels: Vec<u16> = Vec::new();
        for channel in &self.channels {
            let number = context.setup.channel(channel)?;
            if !channels.contains(&number) {
                channels.push(number);
            }
        }
        if channels.is_empty() {
            let all = || Scope::default().in_use(&run.facts(false));
            channels = detectors(run, None, &[], context).unwrap_or_else(all);
        }
        if channels.len() < 2 {
            return Err(RequestError::options(
                &["channels"],
                "a delay is between two channels; name them with `channels` A,B".into(),
            )
            .into());
        }
        context.note_dark(run, channels.clone());
        let range = match &self.range {
            Some(range) => range.clone(),
            None => peaks::RANGE.parse()?,
        };
        let asked = range.ceil(tick)?;
        if asked < 1 {
            return Err(RequestError::options(
                &["range"],
                format!(
                    "a range of {} is below one tick; delays are searched on both sides of zero",
                    range.asked()
                ),
            )
            .into());
        }
        let reach = peaks::within(run, asked);
        if reach < asked {
            context.progress.note(&format!(
                "delays are searched up to an eighth of the run, {}",
                tick.format(reach.into())
            ));
        }
        let times = self.selection.of(run, context.setup)?.scope.range;
        let is_joined = self.selection.join;
        let of = (context.pool, context.progress);
        let mut stepped = None;
        let mut pairs = Vec::new();
        for (at, &start) in channels.iter().enumerate() {
            for &stop in &channels[at + 1..] {
                let pair = [start, stop];
                if let Some(steps) = Resolution::of(run, pair) {
                    stepped.get_or_insert(steps);
                }
                let found = peaks::between(run, of, pair, reach, times, is_joined)?;
                pairs.push(([start, stop], found));
            }
        }
        if let Some(steps) = stepped {
            let step = steps.format(tick);
            context.progress.note(&format!("times are recorded in steps of {step}"));
        }
        let (delays, connected) = delays_of(&channels, &pairs);
        let used = Used {
            kind: "delays",
            range_ticks: reach,
            range_s: tick.seconds_of(reach.into()),
            channels,
            delays: delays
                .iter()
                .map(|&(channel, ticks)| DelayFound {
                    channel,
                    ticks,
                    seconds: tick.seconds_of(ticks.into()),
                })
                .collect(),
        };
        let header = format!(
            "delays: peaks of t_b \u{2212} t_a within \u{b1}{}, times as recorded; tick {tick}{}",
            tick.format(reach.into()),
            if manifest.tick_assumed { " (assumed)" } else { "" }
        );
        let facts = RunFacts::named(run, context.setup);
        let answer = Answer {
            header,
            query: serde_json::to_value(used)?,
            singles: None,
            rows: table(&pairs, tick).with_names(&facts.names),
            run: facts,
            total: None,
            provenance: Provenance::of(
                NAME,
                self.options()?,
                vec![CountedRun::of(run, context.setup)],
            ),
            figure: None,
        };
        Ok(Searched { answer, delays, connected })
    }
}

impl Delays {
    /// Creates the search with these options: `channels`, `range`, and those of the selection.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for unknown and invalid options.
    pub fn of_options(options: &OptionValues) -> Result<Self, Error> {
        deserialize(DELAYS.fields(options.clone())?)
    }

    /// Returns the options that are not as by default.
    fn options(&self) -> Result<OptionValues, Error> {
        let fields = |value| if let Value::Object(map) = value { map } else { OptionValues::new() };
        let mut options = fields(serde_json::to_value(&self.selection)?);
        options.retain(|name, _| !OWN.contains(&name.as_str()));
        options.extend(
            fields(serde_json::to_value(self)?)
                .into_iter()
                .filter(|(name, _)| OWN.contains(&name.as_str())),
        );
        options.retain(|_, value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            _ => true,
        });
        Ok(options)
    }
}

/// Returns the delays that move the peaks to zero. They follow the most significant pairs until all
/// connected channels are reached. The first requested channel keeps its times. Returns also the groups of
/// connected channels.
fn delays_of(channels: &[u16], pairs: &[([u16; 2], Found)]) -> (Vec<(u16, i64)>, Vec<Vec<u16>>) {
    let mut surest: Vec<([u16; 2], Located)> =
        pairs.iter().filter_map(|(pair, found)| Some((*pair, found.delay()?))).collect();
    surest.sort_by(|(_, a), (_, b)| b.sigmas.total_cmp(&a.sigmas));
    // The zero of each channel, and the group of connected channels that it belongs to.
    let mut offsets: BTreeMap<u16, (usize, f64)> =
        channels.iter().enumerate().map(|(at, &channel)| (channel, (at, 0.0))).collect();
    for ([start, stop], found) in surest {
        let ((a, offset_a), (b, offset_b)) = (offsets[&start], offsets[&stop]);
        if a == b {
            continue;
        }
        // The stop is later than the start by the peak position; the shift of its group makes this
        // zero.
        let moved = offset_a - found.shape.place - offset_b;
        let (kept, moved_group, by) = if a < b { (a, b, moved) } else { (b, a, -moved) };
        for (group, offset) in offsets.values_mut() {
            if *group == moved_group {
                *group = kept;
                *offset += by;
            }
        }
    }
    let hangs = |channel: u16| {
        let group = offsets[&channel].0;
        offsets.values().filter(|(other, _)| *other == group).count() > 1
    };
    #[expect(clippy::cast_possible_truncation, reason = "within the range")]
    let delay = |&channel: &u16| (channel, offsets[&channel].1.round() as i64);
    let connected = channels.iter().filter(|&&channel| hangs(channel));
    let mut groups: BTreeMap<usize, Vec<u16>> = BTreeMap::new();
    for &channel in connected.clone() {
        groups.entry(offsets[&channel].0).or_default().push(channel);
    }
    (connected.map(delay).collect(), groups.into_values().collect())
}

fn table(pairs: &[([u16; 2], Found)], tick: Tick) -> Table {
    let of = |key: &'static str, value: &dyn Fn(&Found) -> Option<f64>| {
        Column::floats(key, pairs.iter().map(|(_, found)| value(found)).collect())
    };
    let of_peak = |key, value: &dyn Fn(&Shape) -> f64| {
        of(key, &|found: &Found| found.delay().map(|peak| value(&peak.shape)))
    };
    let of_fit = |key, value: &dyn Fn(&Fitted) -> Option<f64>| {
        of(key, &|found: &Found| value(&found.delay()?.shape.fit?))
    };
    let seconds = tick.seconds();
    #[expect(clippy::cast_possible_truncation, reason = "within the range")]
    let peak =
        |(_, found): &([u16; 2], Found)| found.delay().map(|peak| peak.shape.place.round() as i64);
    let channels = pairs.iter().map(|(pair, _)| pair.to_vec()).collect();
    let peaks = Column::some_integers("peak_ticks", pairs.iter().map(peak).collect());
    let peak = of_peak("peak_s", &|shape| shape.place * seconds);
    let width = of_fit("width_s", &|fit| Some(fit.width?.0 * seconds));
    let second_best = of("second_s", &|found| Some(second(found)?.place * seconds));
    let comb = of("comb_s", &|found| Some(found.comb? * seconds));
    let in_seconds = |column: Column, heading| column.heading(heading).unit(Unit::Seconds);
    Table::default()
        .with(Column::groups("channels", channels).key())
        .with(peaks.heading("peak (ticks)"))
        .with(in_seconds(peak, "peak").err("peak_err_s"))
        .with(of_peak("peak_err_s", &|shape| shape.place_err * seconds).hidden())
        .with(width.heading("width").unit(Unit::BriefSeconds).err("width_err_s").if_room(6))
        .with(of_fit("width_err_s", &|fit| Some(fit.width?.1 * seconds)).hidden())
        .with(of_fit("coincidences", &|fit| Some(fit.net)).err("coincidences_err"))
        .with(of_fit("coincidences_err", &|fit| Some(fit.net_err)).hidden())
        .with(of("sigmas", &|found| Some(found.peak?.sigmas)))
        .with(second_best.heading("second best").unit(Unit::BriefSeconds).if_room(3))
        .with(
            of("second_sigmas", &|found| Some(second(found)?.sigmas)).heading("sigmas").if_room(2),
        )
        .with(in_seconds(comb, "period").if_room(4))
}

/// Returns the second best place, if there is a best one.
fn second(found: &Found) -> Option<Second> {
    found.peak.and(found.second)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Found = Found { peak: None, second: None, comb: None };

    fn delays(channels: &[u16], pairs: &[([u16; 2], Found)]) -> Vec<(u16, i64)> {
        delays_of(channels, pairs).0
    }

    fn found(place: f64, sigmas: f64) -> Found {
        let shape = Shape { place, place_err: 0.5, extent: 2.0, fit: None };
        Found { peak: Some(Located { shape, sigmas }), ..NONE }
    }

    #[test]
    fn delays_follow_the_surest_pairs_from_the_first_channel() {
        let pairs = [([3, 15], found(26.2, 30.0))];
        assert_eq!(delays(&[3, 15], &pairs), [(3, 0), (15, -26)]);
        assert_eq!(delays(&[3, 15], &[([3, 15], NONE)]), []);
        // 1 and 2 are connected through 3; the pair of 1 and 2 itself is the least significant.
        let pairs =
            [([1, 2], found(5.0, 8.0)), ([1, 3], found(10.0, 50.0)), ([2, 3], found(-20.0, 40.0))];
        assert_eq!(delays(&[1, 2, 3], &pairs), [(1, 0), (2, -30), (3, -10)]);
        // Two sources: each has one channel that keeps its times.
        let pairs = [
            ([1, 2], found(7.0, 9.0)),
            ([1, 4], NONE),
            ([1, 5], NONE),
            ([2, 4], NONE),
            ([2, 5], NONE),
            ([4, 5], found(-3.0, 9.0)),
        ];
        assert_eq!(delays(&[1, 2, 4, 5], &pairs), [(1, 0), (2, -7), (4, 0), (5, 3)]);
        // A peak that is hardly more significant than the second one is rejected; a much more
        // significant one is accepted. A second place within chance does not matter.
        let beside = |sigmas: f64, second: f64| {
            let second = Second { place: 3.0, sigmas: second, below: sigmas - second };
            Found { second: Some(second), ..found(7.0, sigmas) }
        };
        for (sigmas, second, is_sure) in
            [(7.85, 8.88, false), (12.0, 9.0, false), (13.1, 9.0, true), (7.5, 6.9, true)]
        {
            let delays = delays(&[1, 2], &[([1, 2], beside(sigmas, second))]);
            assert_eq!(!delays.is_empty(), is_sure, "{sigmas} and {second}");
        }
        // A channel without a peak has no delay.
        let pairs = [([1, 2], found(7.0, 9.0)), ([1, 9], NONE), ([2, 9], NONE)];
        assert_eq!(delays(&[1, 2, 9], &pairs), [(1, 0), (2, -7)]);
    }
}
