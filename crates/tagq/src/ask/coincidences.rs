//! The question "coincidences".

use serde::Serialize;
use tagq_query::{
    Coincidences as Query, Counted, Estimate, Execution, Groups, Measured, Recording, Rule,
    SourceSingles, Terms, TimeRange, Veto, g2_heralded,
};
use tagq_store::{Duration, Tick};

use super::{
    Asking, Channel, Explained, Listing, Selection, SelectionUsed, Window, explain, header_end,
    select::Selected,
    shifted::{Shift, found},
    sum::check_alike,
    tallied::{Tallied, add_up},
    trace::Trace,
};
use crate::{
    Answer, Columns, Error, Run, RunFacts, Values,
    cache::{Kept, Putting},
};

/// How many tags of several channels come within a window (docs/queries.md, section "Coincidences").
#[derive(Debug, Clone)]
pub struct Coincidences {
    /// How far apart.
    pub window: Window,
    /// Between which channels; those of the setup, else every pair, without any.
    pub groups: Vec<Vec<Channel>>,
    /// Every choice of so many channels, in place of groups.
    pub fold: Option<usize>,
    /// What makes tags a coincidence.
    pub rule: Rule,
    /// Channels whose tags forbid coincidences near them, each with the delay it has.
    pub veto: Vec<Channel>,
    /// How far a veto reaches; as far as the window without it.
    pub guard: Option<Duration>,
    /// How accidentals are found.
    pub accidentals: Accidentals,
    /// As a trace in bins of this width.
    pub bin: Option<Duration>,
    /// Of which tags.
    pub selection: Selection,
}

/// How accidentals are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Accidentals {
    /// By the formula of a steady source.
    Formula,
    /// By counting with channels moved, so many times.
    Shifted {
        /// How many counts.
        counts: u32,
        /// By multiples of how much; of max(1 µs, 10 full widths) without it.
        shift: Option<Duration>,
    },
}

/// The query as it was counted.
#[derive(Debug, Serialize)]
struct Used {
    kind: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    listed: bool,
    rule: &'static str,
    window_ticks: i64,
    window_s: f64,
    window_asked: String,
    acceptance_ticks: i128,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    veto: Vec<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guard_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shift_ticks: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    live_s: f64,
    #[serde(flatten)]
    selection: SelectionUsed,
}

/// The query as it is put to one run.
struct Put<'a> {
    run: &'a Run,
    asking: &'a Asking<'a>,
    query: Query,
    selected: Selected,
}

impl Put<'_> {
    /// The live time and the singles of sets of channels, in one bin or without any.
    fn singles(
        &self,
        is_joined: bool,
        bin: Option<i64>,
        sets: &[(Option<i64>, Vec<u16>)],
    ) -> Result<Vec<Vec<SourceSingles>>, Error> {
        self.run.count_as(is_joined, None, |recording| {
            let trace = bin.map(|width| Trace::new(recording, &self.query, width)).transpose()?;
            let singles = |(start, set): &(Option<i64>, Vec<u16>)| {
                let mut query = self.query.clone();
                if let Some((trace, start)) = trace.as_ref().zip(*start) {
                    let Some(bin) = trace.bins.iter().find(|bin| bin.start_ticks == start) else {
                        return Vec::new();
                    };
                    query.scope.range = bin.range;
                }
                query.singles(recording, set, &Execution::best())
            };
            Ok(sets.iter().map(singles).collect())
        })
    }
}

/// The word for a rule.
pub(crate) fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::All => "all",
        Rule::Herald => "herald",
        Rule::PerHerald => "herald, each once",
        Rule::Once => "once",
        Rule::Cluster => "cluster",
        Rule::Grid => "grid",
        _ => "other",
    }
}

impl Coincidences {
    /// The tuples themselves, in place of how many there are: what is known before the first one. Nothing
    /// is read before [`Listing::stream`].
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn listing<'a>(&self, run: &'a Run, asking: &Asking<'a>) -> Result<Listing<'a>, Error> {
        let tick = run.store().manifest().tick;
        if self.bin.is_some() || self.accidentals != Accidentals::Formula {
            return Err(Error::Question(
                "a list has neither bins nor accidentals; leave --bin and --accidentals out".into(),
            ));
        }
        let selected = self.selection.of(run, asking.setup)?;
        selected.notes.iter().for_each(|note| asking.progress.note(note));
        let query = self.query(run, &selected, asking)?;
        let (groups, live) = run.count_as(self.selection.join, None, |recording| {
            let groups = match query.rule {
                Rule::Cluster => Vec::new(),
                _ => query.groups_in(recording)?,
            };
            Ok((groups, live_of(recording, query.scope.range)))
        })?;
        let used = Used { listed: true, ..self.used(run, &query, &selected, live, None, None) };
        let live = live_words(&selected, live, tick);
        let header = format!("list, {}", self.header(run, &used, asking, &live));
        let facts = asking.facts(run);
        let head = |rows| -> Result<Answer, Error> {
            Ok(Answer { header, query: serde_json::to_value(used)?, run: facts, rows })
        };
        Listing::new(run, asking.pool, self.selection.join, query, groups, head)
    }

    /// Asks `run`.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn ask(&self, run: &Run, asking: &Asking<'_>) -> Result<Answer, Error> {
        self.sum(&[(run, asking)])
    }

    /// Asks several runs, and adds up what they hold: counts, and what is expected of each source. Bins of a
    /// trace are added that begin as long after the first tag of their run.
    ///
    /// # Errors
    /// As [`Coincidences::ask`]; unless there is a run, and the words mean the same in all of them.
    pub fn sum(&self, runs: &[(&Run, &Asking<'_>)]) -> Result<Answer, Error> {
        let &[(run, asking), ..] = runs else { return Err(super::sum::nothing()) };
        let tick = run.store().manifest().tick;
        self.check()?;
        let mut puts = Vec::new();
        for &(run, asking) in runs {
            let selected = self.selection.of(run, asking.setup)?;
            selected.notes.iter().for_each(|note| asking.progress.note(note));
            let query = self.query(run, &selected, asking)?;
            puts.push(Put { run, asking, query, selected });
        }
        put_alike(&mut puts)?;
        let Put { query, selected, .. } = &puts[0];
        let bin = self.bin.as_ref().map(|bin| bin.bin(tick)).transpose()?;
        let shift = self.shift(query, tick)?;
        let mut live = 0;
        let mut of_runs = Vec::new();
        for put in &puts {
            let (tallied, live_of_run) = self.tally(put, shift, bin)?;
            live += live_of_run;
            of_runs.push(tallied);
        }
        let tallied = add_up(of_runs, query.rule == Rule::Cluster, |of, sets| {
            puts[of].singles(self.selection.join, bin, sets)
        })?;
        let terms = Terms {
            rule: query.rule,
            window: query.window,
            is_vetoed: query.veto.is_some(),
            tick_s: tick.seconds(),
            live_s: selected.live_s,
        };
        let mut notes = Vec::new();
        let rows = Rows::of(&tallied, &terms, shift.is_some(), tick, &mut notes);
        notes.dedup();
        for note in notes {
            asking.progress.note(&note);
        }
        if query.rule == Rule::Cluster && !rows.count.is_empty() {
            for put in &puts {
                note_clock(put.run, &put.query, put.asking);
            }
        }
        let mut used = self.used(run, query, selected, live, shift, bin);
        used.selection.sums_up(runs.len());
        let live = live_words(selected, live, tick);
        let header = self.header(run, &used, asking, &live);
        let facts = RunFacts::sum(runs.iter().map(|(run, asking)| asking.facts(run)));
        let query = serde_json::to_value(used)?;
        Ok(Answer { header, query, run: facts, rows: rows.columns(bin.is_some()) })
    }

    /// Counts in one run.
    fn tally(
        &self,
        put: &Put<'_>,
        shift: Option<Shift>,
        bin: Option<i64>,
    ) -> Result<(Vec<Tallied>, i128), Error> {
        let Put { run, asking, query, .. } = put;
        let is_new = self.counted_anew().is_some();
        let kept = Kept::new(run, Putting { is_joined: self.selection.join, bin, is_new });
        let counted = run.count_as(self.selection.join, asking.progress.course(), |recording| {
            asking.pool.install(|| {
                let mut all = Vec::new();
                let tally = |query: &Query, counted: Counted, start| {
                    let row = |row| Tallied::of(recording, query, row, start, shift, &kept);
                    counted.rows.into_iter().map(row).collect::<Result<Vec<_>, _>>()
                };
                match bin {
                    None => {
                        let counted = kept.answer(query, recording, &Execution::best())?;
                        all.extend(tally(query, counted, None)?);
                    }
                    Some(width) => {
                        let trace = Trace::new(recording, query, width)?;
                        let each = trace.counts(query, recording, &kept)?;
                        for (bin, (query, counted)) in trace.bins.iter().zip(each) {
                            let start = Some((bin.start_ticks, bin.is_partial));
                            all.extend(tally(&query, counted, start)?);
                        }
                    }
                }
                Ok((all, live_of(recording, query.scope.range)))
            })
        })?;
        kept.keep();
        Ok(counted)
    }

    /// What [`Coincidences::ask`] would read, without counting.
    ///
    /// # Errors
    /// Those of the query, and of words that mean nothing there.
    pub fn explain(&self, run: &Run, asking: &Asking<'_>) -> Result<Explained, Error> {
        let tick = run.store().manifest().tick;
        self.check()?;
        let selected = self.selection.of(run, asking.setup)?;
        selected.notes.iter().for_each(|note| asking.progress.note(note));
        let query = self.query(run, &selected, asking)?;
        let bin = self.bin.as_ref().map(|bin| bin.bin(tick)).transpose()?;
        let shift = self.shift(&query, tick)?;
        let is_joined = self.selection.join;
        let live = run.count_as(is_joined, None, |tags| Ok(live_of(tags, query.scope.range)))?;
        let plan = explain::planned(run, asking, is_joined, |tags| {
            explain::plan_coincidences(tags, &query, bin, shift)
        })?;
        let used = self.used(run, &query, &selected, live, shift, bin);
        let header = self.header(run, &used, asking, &live_words(&selected, live, tick));
        let query = serde_json::to_value(used)?;
        Ok(Explained { header, query, run: asking.facts(run), plan })
    }

    fn shift(&self, query: &Query, tick: Tick) -> Result<Option<Shift>, Error> {
        match &self.accidentals {
            Accidentals::Formula => Ok(None),
            Accidentals::Shifted { counts, shift } => {
                Shift::new(*counts, shift.as_ref(), query.window, tick).map(Some)
            }
        }
    }

    /// Why all of it is counted anew each time it is asked; nothing where only what is new is.
    pub fn counted_anew(&self) -> Option<&'static str> {
        self.selection.moves().then_some(super::MOVES)
    }

    fn check(&self) -> Result<(), Error> {
        if self.rule == Rule::Cluster && self.accidentals != Accidentals::Formula {
            return Err(Error::Question("events by rule cluster have no accidentals".into()));
        }
        if self.bin.is_some() && self.selection.live_time.is_some() {
            return Err(Error::Question(super::LIVE_TIME_OF_BINS.into()));
        }
        Ok(())
    }

    fn query(&self, run: &Run, selected: &Selected, asking: &Asking<'_>) -> Result<Query, Error> {
        let tick = run.store().manifest().tick;
        let setup = asking.setup;
        let window = self.window.ticks(tick)?;
        let number = |channel: &Channel| setup.channel(channel);
        let mut groups: Vec<Vec<u16>> = Vec::new();
        for group in &self.groups {
            groups.push(group.iter().map(number).collect::<Result<_, _>>()?);
        }
        let is_cluster = self.rule == Rule::Cluster;
        if is_cluster && (!groups.is_empty() || self.fold.is_some()) {
            return Err(Error::Question(
                "rule cluster counts every set of the channels in use; name them with --channels, \
                 and leave --group and --fold out"
                    .into(),
            ));
        }
        if !groups.is_empty() && self.fold.is_some() {
            return Err(Error::Question("--fold counts every group; leave --group out".into()));
        }
        if groups.is_empty() && self.fold.is_none() && self.selection.channels.is_empty() {
            groups.clone_from(&setup.groups);
        }
        let mut scope = selected.scope.clone();
        let veto: Vec<u16> = self.veto.iter().map(number).collect::<Result<_, _>>()?;
        if groups.is_empty() && !veto.is_empty() {
            // Veto channels are left out of the pairs.
            let present = || run.store().manifest().channels.iter().map(|of| of.channel).collect();
            let mut channels = scope.channels.take().unwrap_or_else(present);
            channels.retain(|channel| !veto.contains(channel));
            scope.channels = Some(channels);
        }
        let named = groups.concat().into_iter().chain(veto.iter().copied());
        let named = named.chain(scope.delays.iter().map(|delay| delay.channel));
        asking.note_dark(run, named.chain(scope.channels.iter().flatten().copied()).collect());
        let guard = match &self.guard {
            Some(_) if veto.is_empty() => {
                return Err(Error::Question("--guard goes with --veto".into()));
            }
            Some(guard) => guard.floor(tick)?,
            None => window,
        };
        Ok(Query {
            groups: match (groups.is_empty(), self.fold) {
                (false, _) => Groups::Listed(groups),
                (true, Some(size)) => Groups::EveryFold(size),
                (true, None) => Groups::EveryPair,
            },
            rule: self.rule,
            window,
            veto: (!veto.is_empty()).then_some(Veto { channels: veto, guard }),
            scope,
        })
    }

    fn used(
        &self,
        run: &Run,
        query: &Query,
        selected: &Selected,
        live: i128,
        shift: Option<Shift>,
        bin: Option<i64>,
    ) -> Used {
        let tick = run.store().manifest().tick;
        let window = query.window;
        let selected = Selected { scope: query.scope.clone(), ..selected.clone() };
        Used {
            kind: "coincidences",
            listed: false,
            rule: rule_name(query.rule),
            window_ticks: window,
            window_s: tick.seconds_of(window.into()),
            window_asked: self.window.asked().to_owned(),
            acceptance_ticks: match query.rule {
                Rule::Grid => window.into(),
                _ => 2 * i128::from(window) + 1,
            },
            veto: query.veto.as_ref().map_or(Vec::new(), |veto| veto.channels.clone()),
            guard_ticks: query.veto.as_ref().map(|veto| veto.guard),
            shift_ticks: shift.map(Shift::ticks),
            bin_ticks: bin,
            bin_s: bin.map(|bin| tick.seconds_of(bin.into())),
            live_s: selected.live_s.unwrap_or_else(|| tick.seconds_of(live)),
            selection: SelectionUsed::of(&selected, self.selection.join, tick),
        }
    }

    fn header(&self, run: &Run, used: &Used, asking: &Asking<'_>, live: &str) -> String {
        let tick = run.store().manifest().tick;
        let (w, width) = (used.window_ticks, used.acceptance_ticks);
        let asked = super::spaced(self.window.asked());
        let [window, width] = [w.into(), width].map(|ticks| super::in_ticks(ticks, tick));
        let compared = match self.rule {
            Rule::Grid => format!("cells of {width} (asked {asked})"),
            Rule::Cluster => format!("up to {window} (asked {asked}) behind its first tag"),
            _ => format!("|\u{394}t| \u{2264} {window} (asked {asked}); full width {width}"),
        };
        let mut vetoed = String::new();
        if let Some(guard) = used.guard_ticks {
            let names: Vec<String> =
                used.veto.iter().map(|&channel| asking.setup.name_of(channel)).collect();
            let reach = super::in_ticks(guard.into(), tick);
            vetoed = format!("; veto {} within {reach}", names.join(","));
        }
        let shifted = used
            .shift_ticks
            .map_or(String::new(), |ticks| format!("; accidentals by shifts of {ticks} ticks"));
        format!(
            "rule {}: {compared}{vetoed}{shifted}{}; {}",
            used.rule,
            used.selection.words(asking.setup, tick),
            header_end(run, live)
        )
    }
}

/// Makes the same groups of what is put to several runs.
fn put_alike(puts: &mut [Put<'_>]) -> Result<(), Error> {
    let alike = |put: &Put<'_>| {
        let Query { groups, rule: _, window, veto, scope } = &put.query;
        let listed = matches!(groups, Groups::Listed(_)).then(|| groups.clone());
        (put.run.store().manifest().tick, *window, veto.clone(), scope.delays.clone(), listed)
    };
    check_alike(puts.iter().map(|put| (put.run, alike(put))))?;
    if puts.len() < 2 || matches!(puts[0].query.groups, Groups::Listed(_)) {
        return Ok(());
    }
    let mut in_use: Vec<u16> = Vec::new();
    for put in &*puts {
        let present = put.run.store().manifest().channels.iter().map(|of| of.channel);
        match &put.query.scope.channels {
            Some(channels) => in_use.extend(channels),
            None => in_use.extend(present),
        }
    }
    in_use.sort_unstable();
    in_use.dedup();
    for put in puts {
        put.query.scope.channels = Some(in_use.clone());
    }
    Ok(())
}

/// The live time, or that it was given.
fn live_words(selected: &Selected, live: i128, tick: Tick) -> String {
    match selected.live_s {
        Some(seconds) => format!("{seconds} s (given)"),
        None => tick.format(live),
    }
}

/// A clock among the channels is in every cluster.
fn note_clock(run: &Run, query: &Query, asking: &Asking<'_>) {
    let channels = &run.store().manifest().channels;
    let is_used = |channel: u16| {
        query.scope.channels.as_ref().is_none_or(|channels| channels.contains(&channel))
    };
    let used = channels.iter().filter(|of| is_used(of.channel));
    let total: u64 = used.clone().map(|of| of.rows).sum();
    for of in used.filter(|of| 2 * of.rows > total) {
        asking.progress.note(&format!(
            "channel {} has more than half of all tags; if it is a clock it is in every cluster: \
             leave it out with --channels",
            asking.setup.name_of(of.channel)
        ));
    }
}

/// Live ticks of all sources in a range.
fn live_of(recording: &Recording<'_>, range: TimeRange) -> i128 {
    recording.sources.iter().map(|source| i128::from(range.live_of(source))).sum()
}

/// The rows as they grow.
#[derive(Default)]
struct Rows {
    start_ticks: Vec<i64>,
    start_s: Vec<Option<f64>>,
    partial: Vec<bool>,
    channels: Vec<Vec<u16>>,
    count: Vec<u64>,
    estimates: Vec<Estimate>,
    singles: Vec<Vec<u64>>,
    g2_heralded: Vec<Option<Measured>>,
}

impl Rows {
    /// What the counts say.
    fn of(
        tallied: &[Tallied],
        terms: &Terms,
        is_shifted: bool,
        tick: Tick,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut rows = Self::default();
        for row in tallied {
            let mut estimate = Estimate::new(row.count, &row.sources, terms);
            let singles = row.singles();
            if is_shifted {
                estimate = estimate.without_accidentals();
                if let Some(found) = found(row.channels.len(), &row.moved) {
                    notes.extend(found.note);
                    let pair = <[u64; 2]>::try_from(&singles[..]).ok();
                    let pair = pair.map(|pair| pair.map(|n| n as f64));
                    estimate = estimate.with_accidentals(row.count, found.accidentals, pair);
                }
            }
            let g2 = row.arms.and_then(|arms| g2_heralded(row.count, singles[0], arms));
            rows.g2_heralded.push(g2);
            rows.channels.push(row.channels.clone());
            rows.count.push(row.count);
            rows.estimates.push(estimate);
            rows.singles.push(singles);
            if let Some((start, is_partial)) = row.start {
                rows.start_ticks.push(start);
                rows.start_s.push(Some(tick.seconds_of(start.into())));
                rows.partial.push(is_partial);
            }
        }
        rows
    }

    fn columns(self, has_bins: bool) -> Columns {
        let of = |value: fn(&Estimate) -> Option<f64>| {
            Values::Floats(self.estimates.iter().map(value).collect())
        };
        let of_both = |value: fn(Measured) -> f64| {
            let both = |estimate: &Estimate| estimate.heralding.map(|of| of.map(value)).into();
            Values::FloatLists(self.estimates.iter().map(both).collect())
        };
        let mut columns = Columns::default();
        if has_bins {
            columns = columns
                .with("start_s", Values::Floats(self.start_s))
                .with("start_ticks", Values::Integers(self.start_ticks));
        }
        columns = columns
            .with("channels", Values::Groups(self.channels))
            .with("count", Values::Counts(self.count))
            .with("count_err", of(|e| Some(e.count_err)))
            .with("rate_hz", of(|e| e.rate_hz.map(|m| m.value)))
            .with("rate_err_hz", of(|e| e.rate_hz.map(|m| m.err)))
            .with("singles", Values::CountLists(self.singles))
            .with("accidentals", of(|e| e.accidentals.map(|m| m.value)))
            .with("accidentals_err", of(|e| e.accidentals.map(|m| m.err)));
        if self.estimates.iter().any(|e| e.accidentals_independent.is_some()) {
            columns = columns.with("accidentals_independent", of(|e| e.accidentals_independent));
        }
        columns = columns
            .with("car", of(|e| e.car.map(|m| m.value)))
            .with("car_err", of(|e| e.car.map(|m| m.err)))
            .with("heralding", of_both(|m| m.value))
            .with("heralding_err", of_both(|m| m.err));
        if self.g2_heralded.iter().any(Option::is_some) {
            let of = |value: fn(Measured) -> f64| {
                Values::Floats(self.g2_heralded.iter().map(|g2| g2.map(value)).collect())
            };
            columns =
                columns.with("g2_heralded", of(|m| m.value)).with("g2_heralded_err", of(|m| m.err));
        }
        if has_bins { columns.with("partial", Values::Flags(self.partial)) } else { columns }
    }
}

/// What is counted beside a group of three by rule `herald`, also with each herald once: the pairs of its
/// herald by the same rule.
pub(super) fn arms(query: &Query, channels: &[u16]) -> Option<Query> {
    let [herald, a, b] = channels[..] else { return None };
    let groups = Groups::Listed(vec![vec![herald, a], vec![herald, b]]);
    matches!(query.rule, Rule::Herald | Rule::PerHerald).then(|| Query { groups, ..query.clone() })
}
