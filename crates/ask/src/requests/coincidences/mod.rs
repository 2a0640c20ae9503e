//! The coincidence request: from names and durations to counts, estimates, header and notes.
//!
//! A window of 2 ns at ticks of 156.25 ps is 12 ticks, and the header says so: `|Δt| ≤ 12 ticks = 1.875 ns (asked 2
//! ns); full width 25 ticks`. Runs are added only if window, vetoes, delays and listed groups are the same; `is_alike`
//! names every field of the query, so that a new one is compared or ignored on purpose.

mod cases;
mod counts;
mod elsewhere;
mod heralds;
mod listing;
mod notes;
mod plan;
mod request;
mod rows;
mod shifted;

pub use listing::Listing;
pub use request::{Accidentals, COINCIDENCES, Coincidences};

use std::collections::BTreeSet;

use serde::Serialize;
use tagq_query::{
    Bins, Coincidences as Query, Error as QueryError, Execution, Groups, Kind as _, Ledger,
    ReadPlan, Recording, Rule, Scope, Terms, TimeDivision, Veto,
};
use tagq_run::{Channel, RequestError, Run, Work};
use tagq_store::Tick;

use self::{
    counts::{Counts, How, add_up},
    plan::planned,
    rows::GroupRows,
    shifted::Shift,
};
use super::{
    coarse,
    context::QueryContext,
    detectors::detectors,
    division::Division,
    header::{header_end, in_ticks, spaced},
    kind::{Finished, RequestKind, Resolved, provenance, resolve},
    limits,
    options::RequestType,
    selection::{Selected, Selection},
    unlikely,
    used::{LIVE_TIME_OF_BINS, SelectionUsed, live_of},
};
use crate::{answer::Answer, error::Error, figure::FigureKind};

/// Bytes of a row of an answer while it is computed.
const ROW_BYTES: u64 = 560;
/// Bytes of the part of a row in a block, with the singles of a source.
const BLOCK_BYTES: u64 = 680;
/// Bytes of a count with channels moved.
const MOVED_BYTES: u64 = 24;

/// The query as it was counted.
#[derive(Debug, Serialize)]
pub(super) struct Used {
    kind: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    listed: bool,
    rule: &'static str,
    window_ticks: i64,
    window_s: f64,
    window_asked: String,
    full_width_ticks: i128,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    veto: Vec<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guard_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shift_ticks: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_blocks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_ticks: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bin_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    live_s: f64,
    #[serde(flatten)]
    selection: SelectionUsed,
}

impl Coincidences {
    /// Returns the tuples themselves instead of their number: this gives the head. No tags are read
    /// before [`Listing::stream`], which uses threads and progress of `asked`.
    ///
    /// # Errors
    /// Errors of the query, and of options that a list does not support.
    pub(super) fn listing<'a>(
        &self,
        run: &Run,
        context: &QueryContext<'_>,
        asked: &QueryContext<'a>,
    ) -> Result<Listing<'a>, Error> {
        if self.division().is_trace() || self.accidentals != Accidentals::Formula {
            return Err(RequestError::options(
                &["bin", "by", "accidentals"],
                "a list has neither bins nor accidentals; leave `bin`, `by` and `accidentals` out"
                    .into(),
            )
            .into());
        }
        let resolved = resolve(self, (run, context), None)?;
        let Resolved { selected, query, .. } = &resolved;
        let facts = run.facts(self.selection.join);
        let groups = match query.rule {
            Rule::Cluster => Vec::new(),
            _ => query.groups_in(&facts)?,
        };
        let live = live_of(&facts, query.scope.range);
        let (words, used) = self.head(&resolved, 1)?;
        let used = Used { listed: true, ..used };
        let live = live_words(selected, live, resolved.tick());
        let header = format!("list, {words}; {}", header_end(run, &live));
        let facts = context.facts(run);
        let mut provenance = provenance(self, [(run, context)].into_iter())?;
        provenance.list = true;
        let head = |rows| -> Result<Answer, Error> {
            let query = serde_json::to_value(used)?;
            Ok(Answer {
                header,
                query,
                run: facts,
                singles: None,
                rows,
                total: None,
                provenance,
                figure: None,
            })
        };
        Listing::new(run.clone(), asked, self.selection.join, resolved.query, groups, head)
    }

    fn shift_of(&self, query: &Query, tick: Tick) -> Result<Option<Shift>, Error> {
        match self.accidentals {
            Accidentals::Formula => Ok(None),
            Accidentals::Shifted(counts) => {
                Shift::new(counts, self.shift.as_ref(), (query.rule, query.window), tick).map(Some)
            }
        }
    }

    /// Returns how the rows are drawn, in bins of this many seconds if they have one width.
    fn figure(&self, width_s: Option<f64>) -> FigureKind {
        let is_of_events = self.rule == Rule::Cluster;
        match self.division().is_trace() {
            true => FigureKind::Trace {
                title: ["Coincidences of", "Coincidences"],
                label: "rate of coincidences",
                width_s,
            },
            false if is_of_events => FigureKind::Groups { title: "Events", label: "events" },
            false => FigureKind::Groups { title: "Coincidences", label: "coincidences" },
        }
    }

    /// Whether the window bounds all tags of a coincidence together, not each tag on its side of
    /// another one.
    fn is_span(&self, groups: &Groups) -> Result<bool, Error> {
        let sizes: Vec<usize> = match groups {
            Groups::Listed(groups) => groups.iter().map(Vec::len).collect(),
            Groups::EveryFold(size) => vec![*size],
            Groups::EveryPair => vec![2],
        };
        let spans: Vec<bool> = sizes.iter().map(|&size| self.rule.is_span(size)).collect();
        if self.full_width.is_some() && spans.contains(&true) && spans.contains(&false) {
            return Err(RequestError::options(&["full_width", "window"], 
                "`full_width` means other windows for pairs than for larger groups; give `window`, or \
                 ask for them one after the other"
                    .into(),
            ).into());
        }
        Ok(spans.contains(&true))
    }

    /// Returns the error for a missing window, with a window suggested by a coarse scan of the tags.
    fn window_missing(
        &self,
        run: &Run,
        groups: &Groups,
        scope: &Scope,
        context: &QueryContext<'_>,
    ) -> Error {
        let tick = run.store().manifest().tick;
        let said = run.count_as(self.selection.join, None, |recording| {
            let pairs = match groups {
                Groups::Listed(groups) => groups.clone(),
                _ => vec![scope.in_use(&recording.facts())],
            };
            let pairs: BTreeSet<[u16; 2]> = pairs
                .iter()
                .flat_map(|group| {
                    group
                        .iter()
                        .enumerate()
                        .flat_map(|(i, &a)| group[i + 1..].iter().map(move |&b| [a, b]))
                })
                .collect();
            let name_of = |channel: u16| context.setup.name_of(channel);
            context
                .pool
                .install(|| coarse::window_missing(recording, &pairs, scope, tick, &name_of))
        });
        said.map_or_else(Into::into, |said| RequestError::options(&["window"], said).into())
    }
}

impl RequestKind for Coincidences {
    const TYPES: &'static [&'static RequestType] = &[&COINCIDENCES];

    type Query = Query;
    type Counts = Counts;
    type Used = Used;

    fn selection(&self) -> &Selection {
        &self.selection
    }

    fn channels(&self) -> Vec<&Channel> {
        self.groups.iter().flatten().chain(&self.veto).collect()
    }

    fn is_of_named(&self) -> bool {
        !self.groups.is_empty()
    }

    fn groups(&self, resolved: &Resolved<'_, Query>) -> Result<Vec<Vec<u16>>, Error> {
        Ok(resolved.query.groups_in(&resolved.run.facts(self.selection.join))?)
    }

    fn division(&self) -> Division<'_> {
        Division {
            bin: self.bin.as_ref(),
            by: self.by.as_deref(),
            is_exact: self.exact_bins,
            errors: self.errors,
        }
    }

    fn moved_by(&self, resolved: &Resolved<'_, Query>) -> Result<i64, Error> {
        let shift = self.shift_of(&resolved.query, resolved.tick())?;
        Ok(i64::try_from(shift.map_or(0, Shift::longest)).unwrap_or(i64::MAX))
    }

    fn check(&self) -> Result<(), Error> {
        if self.rule == Rule::Cluster && self.accidentals != Accidentals::Formula {
            return Err(RequestError::options(
                &["rule", "accidentals"],
                "events by rule cluster have no accidentals".into(),
            )
            .into());
        }
        if self.shift.is_some() && self.accidentals == Accidentals::Formula {
            return Err(RequestError::options(
                &["shift", "accidentals"],
                "`shift` needs `accidentals` shifted".into(),
            )
            .into());
        }
        if self.full_width.is_some() && self.window.is_some() {
            return Err(RequestError::excluded("full_width", "window").into());
        }
        if self.division().is_trace() && self.selection.live_time.is_some() {
            return Err(RequestError::options(&["live_time"], LIVE_TIME_OF_BINS.into()).into());
        }
        Ok(())
    }

    fn query(
        &self,
        run: &Run,
        selected: &Selected,
        context: &QueryContext<'_>,
        _: Option<&Bins>,
    ) -> Result<Query, Error> {
        let tick = run.store().manifest().tick;
        let setup = context.setup;
        let number = |channel: &Channel| setup.channel(channel);
        let mut groups: Vec<Vec<u16>> = Vec::new();
        for group in &self.groups {
            groups.push(group.iter().map(number).collect::<Result<_, _>>()?);
        }
        let is_cluster = self.rule == Rule::Cluster;
        if is_cluster && (!groups.is_empty() || self.choose.is_some()) {
            return Err(RequestError::options(
                &["channels", "groups", "choose"],
                "rule cluster counts every set of the channels in use; name them with `channels`, \
                 and leave `groups` and `choose` out"
                    .into(),
            )
            .into());
        }
        if !groups.is_empty() && self.choose.is_some() {
            return Err(RequestError::options(
                &["choose", "groups"],
                "`choose` counts every group; leave `groups` out".into(),
            )
            .into());
        }
        if groups.is_empty() && self.choose.is_none() && self.selection.channels.is_empty() {
            groups.clone_from(&setup.groups);
        }
        let mut scope = selected.scope.clone();
        let veto: Vec<u16> = self.veto.iter().map(number).collect::<Result<_, _>>()?;
        if groups.is_empty() && !veto.is_empty() {
            // Veto channels are excluded from the pairs.
            let present = || run.store().manifest().channels.iter().map(|of| of.channel).collect();
            let mut channels = scope.channels.take().unwrap_or_else(present);
            channels.retain(|channel| !veto.contains(channel));
            scope.channels = Some(channels);
        }
        if groups.is_empty() && !is_cluster && self.selection.channels.is_empty() {
            let in_use = scope.channels.take();
            scope.channels = detectors(run, in_use, &self.selection.delayed(setup)?, context);
        }
        let named = groups.concat().into_iter().chain(veto.iter().copied());
        // A view has the channels that the query names; the others have tags in the run.
        let delayed = scope.delays.iter().filter(|_| !run.is_derived());
        let named = named.chain(delayed.map(|delay| delay.channel));
        context.note_dark(run, named.chain(scope.channels.iter().flatten().copied()).collect());
        let groups = match (groups.is_empty(), self.choose) {
            (false, _) => Groups::Listed(groups),
            (true, Some(size)) => Groups::EveryFold(size),
            (true, None) => Groups::EveryPair,
        };
        let Some(window) = self.window() else {
            return Err(self.window_missing(run, &groups, &scope, context));
        };
        let window = window.ticks(tick, self.is_span(&groups)?)?;
        let full_width = self.rule.full_width(window);
        if let Some(note) = unlikely::window(run, self.selection.join, full_width) {
            context.progress.note(&note);
        }
        let guard = match &self.guard {
            Some(_) if veto.is_empty() => {
                return Err(RequestError::options(
                    &["guard", "veto"],
                    "`guard` goes with `veto`".into(),
                )
                .into());
            }
            Some(guard) => guard.floor(tick)?,
            None => window,
        };
        Ok(Query {
            groups,
            rule: self.rule,
            window,
            veto: (!veto.is_empty()).then_some(Veto { channels: veto, guard }),
            scope,
        })
    }

    fn is_alike(&self, one: &Query, other: &Query) -> bool {
        // Without `..`: a new field must be compared or ignored on purpose.
        let alike = |query: &Query| {
            let Query { groups, rule: _, window, veto, scope } = query;
            let listed = matches!(groups, Groups::Listed(_)).then(|| groups.clone());
            (*window, veto.clone(), scope.delays.clone(), listed)
        };
        alike(one) == alike(other)
    }

    fn unify(&self, all: &mut [Resolved<'_, Query>]) -> Result<(), Error> {
        if all.len() < 2 || matches!(all[0].query.groups, Groups::Listed(_)) {
            return Ok(());
        }
        let mut in_use: Vec<u16> = Vec::new();
        for of in &*all {
            let present = of.run.store().manifest().channels.iter().map(|of| of.channel);
            match &of.query.scope.channels {
                Some(channels) => in_use.extend(channels),
                None => in_use.extend(present),
            }
        }
        in_use.sort_unstable();
        in_use.dedup();
        for of in all {
            of.query.scope.channels = Some(in_use.clone());
        }
        Ok(())
    }

    fn check_work(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<Work, Error> {
        let Resolved { run, context, query, trace, .. } = resolved;
        let tick = resolved.tick();
        let shift = self.shift_of(query, tick)?;
        let facts = run.facts(self.selection.join);
        let groups = match query.rule {
            // The number of single-channel sets; most larger sets are rare.
            Rule::Cluster => facts.channels().into_iter().map(|c| vec![c]).collect(),
            _ => query.groups_in(&facts)?,
        };
        let span = limits::span(&facts, query.scope.range);
        let plan = run.count_as(self.selection.join, None, |recording| {
            context.pool.install(|| query.plan(recording, &Execution::best()))
        })?;
        let rows = groups.len().max(1) as u64 * runs as u64;
        let scans_of = |group: &Vec<u16>| {
            let of_shifts = shift.map_or(0, |shift| shift.scans(group.len()));
            of_shifts + heralds::scans(query, group, shift)
        };
        let scans: u64 = groups.iter().map(scans_of).sum();
        let blocks = u64::from(self.errors.blocks().unwrap_or(0));
        // A row with its estimates and its part of each block, and with the counts of each scan.
        let bytes =
            ROW_BYTES + blocks * BLOCK_BYTES + (1 + blocks) * MOVED_BYTES * scans / rows.max(1);
        if trace.is_none() {
            limits::check(rows.into(), "groups", bytes, |most| {
                format!("{most} groups would fit, or fewer shifts or blocks")
            })?;
        }
        let bins = resolved.check_trace(span, rows, bytes, "bin")?;
        let tags: u64 = plan.rows().iter().map(|rows| rows.end - rows.start).sum();
        let all = plan.rows_taken() as f64 + scans as f64 * tags as f64;
        let passes = if blocks > 0 { 2.0 } else { 1.0 };
        let scans = bins * (1 + blocks) as f64 * (1.0 + scans as f64);
        Ok(Work { rows: passes * all, scans, ..Work::default() })
    }

    fn count(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        tick: Tick,
        ledger: &Ledger<'_>,
    ) -> Result<Self::Counts, QueryError> {
        // An invalid shift was rejected before.
        let shift = self.shift_of(query, tick).ok().flatten();
        Counts::of(ledger, query, trace, How { shift, blocks: self.errors.blocks() })
    }

    fn add(
        &self,
        _: &[Resolved<'_, Query>],
        counts: Vec<Self::Counts>,
    ) -> Result<Self::Counts, Error> {
        Ok(add_up(counts, self.errors.blocks())?)
    }

    fn head(&self, resolved: &Resolved<'_, Query>, runs: usize) -> Result<(String, Used), Error> {
        let Resolved { run, context, selected, query, .. } = resolved;
        let tick = resolved.tick();
        let (window, shift) = (query.window, self.shift_of(query, tick)?);
        let live = live_of(&run.facts(self.selection.join), query.scope.range);
        let selected = Selected { scope: query.scope.clone(), ..selected.clone() };
        let used = Used {
            kind: "coincidences",
            listed: false,
            rule: query.rule.name(),
            window_ticks: window,
            window_s: tick.seconds_of(window.into()),
            window_asked: self.window().map_or(String::new(), |window| window.asked().to_owned()),
            full_width_ticks: match self.is_span(&query.groups) {
                Ok(true) => window.into(),
                _ => 2 * i128::from(window) + 1,
            },
            veto: query.veto.as_ref().map_or(Vec::new(), |veto| veto.channels.clone()),
            guard_ticks: query.veto.as_ref().map(|veto| veto.guard),
            shift_ticks: shift.map(Shift::ticks),
            error_blocks: self.errors.blocks(),
            bin_ticks: resolved.bin(),
            bin_s: resolved.bin_s(),
            by: self.by.clone(),
            live_s: selected.live_s.unwrap_or_else(|| tick.seconds_of(live)),
            selection: SelectionUsed::of(&selected, self.selection.join, tick).of_runs(runs),
        };
        let (w, width) = (used.window_ticks, used.full_width_ticks);
        let is_span = i128::from(w) == width && w > 0;
        let asked = spaced(&used.window_asked);
        let [window, width] = [w.into(), width].map(|ticks| in_ticks(ticks, tick));
        let compared = match self.rule {
            Rule::Grid => format!("cells of {width} (asked {asked})"),
            Rule::Cluster => format!("latest \u{2212} earliest \u{2264} {window} (asked {asked})"),
            _ if is_span => format!("latest \u{2212} earliest \u{2264} {window} (asked {asked})"),
            _ => format!("|\u{394}t| \u{2264} {window} (asked {asked}); full width {width}"),
        };
        let mut vetoed = String::new();
        if let Some(guard) = used.guard_ticks {
            let names: Vec<String> =
                used.veto.iter().map(|&channel| context.setup.name_of(channel)).collect();
            let reach = in_ticks(guard.into(), tick);
            vetoed = format!("; veto {} within {reach}", names.join(","));
        }
        let shifted = used
            .shift_ticks
            .map_or(String::new(), |ticks| format!("; accidentals by shifts of {ticks} ticks"));
        let binned = resolved.trace_words(self.division());
        let words = format!(
            "rule {}: {compared}{vetoed}{binned}{shifted}{}{}",
            used.rule,
            self.errors.words(),
            used.selection.words(context.setup, tick)
        );
        Ok((words, used))
    }

    fn finish(
        &self,
        all: &[Resolved<'_, Query>],
        Counts { groups: tallied, live, .. }: Self::Counts,
    ) -> Result<Finished, Error> {
        let first = &all[0];
        let (query, tick, context) = (&first.query, first.tick(), first.context);
        let shift = self.shift_of(query, tick)?;
        let terms = Terms {
            rule: query.rule,
            window: query.window,
            is_vetoed: query.veto.is_some(),
            tick_s: tick.seconds(),
            live_s: first.selected.live_s,
        };
        let mut notes = Vec::new();
        let rows = GroupRows::of(tallied, &terms, shift.is_some(), &mut notes);
        notes.dedup();
        notes.extend(self.notes(all, &rows, live));
        for note in &notes {
            context.progress.note(note);
        }
        let (words, mut used) = self.head(first, all.len())?;
        used.live_s = first.selected.live_s.unwrap_or_else(|| tick.seconds_of(live));
        let live = live_words(&first.selected, live, tick);
        let header = format!("{words}; {}", header_end(first.run, &live));
        Ok(Finished {
            total: None,
            header,
            singles: Some(rows.singles(used.live_s)),
            query: serde_json::to_value(used)?,
            rows: rows.table(first.trace.as_ref(), tick, &|channel| context.setup.name_of(channel)),
            figure: self.figure(first.bin_s()),
        })
    }

    fn plan(
        &self,
        query: &Query,
        trace: Option<&TimeDivision>,
        tick: Tick,
        recording: &Recording<'_>,
    ) -> Result<ReadPlan, QueryError> {
        // An invalid shift is rejected when it is counted.
        let shift = self.shift_of(query, tick).ok().flatten();
        planned(recording, query, trace, shift)
    }

    fn described(
        &self,
        resolved: &Resolved<'_, Query>,
    ) -> Result<(String, serde_json::Value), Error> {
        let Resolved { run, selected, query, .. } = resolved;
        let tick = resolved.tick();
        let live = live_of(&run.facts(self.selection.join), query.scope.range);
        let (words, used) = self.head(resolved, 1)?;
        let header = format!("{words}; {}", header_end(run, &live_words(selected, live, tick)));
        Ok((header, serde_json::to_value(used)?))
    }
}

/// Returns the text for the live time, or that it was given.
fn live_words(selected: &Selected, live: i128, tick: Tick) -> String {
    match selected.live_s {
        Some(seconds) => format!("{seconds} s (given)"),
        None => tick.format(live),
    }
}
