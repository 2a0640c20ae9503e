//! The rows of an answer, and the table made from them.
//!
//! A channel that is in three groups of a bin has its singles counted once for this bin; those of several bins are
//! added up.

use std::{collections::BTreeMap, sync::Arc};

use tagq_query::{Estimate, Terms, TimeDivision};
use tagq_run::escaped;
use tagq_store::Tick;

use super::counts::{CountedBin, GroupCounts};
use crate::{
    cells::Cells,
    requests::columns::{Place, with_places},
    table::{Column, Table, Unit},
};

/// The meaning of `car`, which other programs define otherwise.
const CAR: &str = "(count - accidentals) / accidentals; below zero if there are fewer coincidences than by chance: because of \
                   dead time, a wrong delay, or accidentals that are estimated too high";

/// The rows, collected one by one.
#[derive(Default)]
pub(super) struct GroupRows {
    places: Vec<Place>,
    partial: Vec<bool>,
    channels: Vec<Vec<u16>>,
    pub count: Vec<u64>,
    estimates: Vec<Estimate>,
    singles: Vec<Vec<u64>>,
}

impl GroupRows {
    /// Returns the rows for the counts.
    pub(super) fn of(
        tallied: Vec<GroupCounts>,
        terms: &Terms,
        is_shifted: bool,
        notes: &mut Vec<String>,
    ) -> Self {
        let mut rows = Self::default();
        for row in tallied {
            let (estimate, note) = row.estimate(terms, is_shifted);
            notes.extend(note);
            let singles = row.singles();
            rows.count.push(row.counts.count);
            rows.channels.push(row.channels);
            rows.estimates.push(estimate);
            rows.singles.push(singles);
            if let Some(CountedBin { place, is_partial }) = row.bin {
                rows.places.push(place);
                rows.partial.push(is_partial);
            }
        }
        rows
    }

    /// Returns each group with its estimates.
    pub(super) fn estimates(&self) -> impl Iterator<Item = (&Vec<u16>, &Estimate)> {
        self.channels.iter().zip(&self.estimates)
    }

    /// Of groups with formula accidentals, returns the two channels with the most singles, which
    /// dominate the accidentals, and the estimates of this group.
    pub(super) fn by_formula(&self) -> Option<([u16; 2], &Estimate)> {
        let is_by_formula =
            |e: &Estimate| e.accidentals.is_some() || e.accidentals_independent.is_some();
        let groups = self.channels.iter().zip(&self.singles).zip(&self.estimates);
        let two_of = |(channels, singles): (&Vec<u16>, &Vec<u64>)| {
            let mut of: Vec<(u64, u16)> =
                singles.iter().copied().zip(channels.iter().copied()).collect();
            of.sort_unstable_by(|a, b| b.cmp(a));
            Some((u128::from(of.first()?.0) * u128::from(of.get(1)?.0), [of[0].1, of[1].1]))
        };
        let groups = groups.filter(|(_, estimate)| is_by_formula(estimate));
        let groups = groups.filter_map(|(group, estimate)| Some((two_of(group)?, estimate)));
        let most = groups.max_by_key(|&(two, _)| two);
        most.map(|((_, channels), estimate)| (channels, estimate))
    }

    /// Returns the table; the rows are those of a trace if there is one.
    pub(super) fn table(
        self,
        trace: Option<&TimeDivision>,
        tick: Tick,
        name_of: &dyn Fn(u16) -> String,
    ) -> Table {
        let (rows, estimates) = (self.count.len(), Arc::new(self.estimates));
        let has = |value: fn(&Estimate) -> bool| estimates.iter().any(value);
        let [is_independent, has_car_min, has_g2, has_g2_max] = [
            has(|e| e.accidentals_independent.is_some()),
            has(|e| e.car_min.is_some()),
            has(|e| e.g2_heralded.is_some()),
            has(|e| e.g2_heralded_max.is_some()),
        ];
        let of = |key: &'static str, value: fn(&Estimate) -> Option<f64>| {
            let estimates = Arc::clone(&estimates);
            // Errors that blocks cannot give are not numbers.
            let value = move |row: usize| value(&estimates[row]).filter(|value| value.is_finite());
            Column::floats(key, Cells::made(rows, value))
        };
        // A single pair has its names in the title; with many pairs the names are in the rows.
        let [a, b] = match &self.channels[..] {
            [pair] if pair.len() == 2 => {
                [pair[0], pair[1]].map(|channel| escaped(&name_of(channel)).into_owned())
            }
            _ => ["a".to_owned(), "b".to_owned()],
        };
        let mut table = Table::default();
        if let Some(division) = trace {
            table = with_places(table, &self.places.into(), division, tick);
        }
        table = table
            .with(Column::groups("channels", self.channels.into()).key())
            .with(Column::counts("count", self.count.into()).err("count_err").compared())
            .with(of("count_err", |e| Some(e.count_err)).hidden())
            .with(
                of("rate_hz", |e| e.rate_hz.map(|m| m.value))
                    .heading("rate")
                    .unit(Unit::Hertz)
                    .err("rate_err_hz")
                    .compared(),
            )
            .with(of("rate_err_hz", |e| e.rate_hz.map(|m| m.err)).hidden().compared())
            .with(
                Column::count_lists("singles", Cells::from(self.singles).map(Into::into)).hidden(),
            )
            .with(
                of("accidentals", |e| e.accidentals.map(|m| m.value))
                    .unit(Unit::Brief)
                    .err("accidentals_err")
                    .if_room(1),
            )
            .with(of("accidentals_err", |e| e.accidentals.map(|m| m.err)).hidden());
        if is_independent {
            let independent = of("accidentals_independent", |e| e.accidentals_independent);
            table = table.with(independent.heading("independent").if_room(0));
        }
        let car = of("car", |e| e.car.map(|m| m.value)).about(CAR);
        table = table
            .with(car.heading("CAR").err("car_err").if_room(3))
            .with(of("car_err", |e| e.car.map(|m| m.err)).hidden());
        if has_car_min {
            table = table.with(of("car_min", |e| e.car_min).heading("CAR (95 %) >").if_room(2));
        }
        let percent = |column: Column, heading: String, err, order| {
            column.heading(heading).unit(Unit::Percent).err(err).if_room(order)
        };
        let a_given_b = of("p_a_given_b", |e| e.p_a_given_b.map(|m| m.value));
        let b_given_a = of("p_b_given_a", |e| e.p_b_given_a.map(|m| m.value));
        table = table
            .with(percent(a_given_b, format!("P({a}|{b})"), "p_a_given_b_err", 4))
            .with(of("p_a_given_b_err", |e| e.p_a_given_b.map(|m| m.err)).hidden())
            .with(percent(b_given_a, format!("P({b}|{a})"), "p_b_given_a_err", 5))
            .with(of("p_b_given_a_err", |e| e.p_b_given_a.map(|m| m.err)).hidden());
        if has_g2 {
            let g2 = of("g2_heralded", |e| e.g2_heralded.map(|m| m.value));
            table = table
                .with(g2.heading("heralded g2").err("g2_heralded_err"))
                .with(of("g2_heralded_err", |e| e.g2_heralded.map(|m| m.err)).hidden());
        }
        if has_g2_max {
            let limit = of("g2_heralded_max", |e| e.g2_heralded_max);
            table = table.with(limit.heading("heralded g2 (95 %) <").if_room(1));
        }
        match trace {
            Some(_) => table.with(Column::flags("partial", self.partial.into())),
            None => table,
        }
    }

    /// Returns the tags of each counted channel. A channel is in many groups of a bin, each time with
    /// the same tags; bins add up.
    pub(super) fn singles(&self, live_s: f64) -> Table {
        let mut of_channels = BTreeMap::<u16, u64>::new();
        let mut of_bin = BTreeMap::<u16, u64>::new();
        let mut bin = None;
        let mut add = |of_bin: &mut BTreeMap<u16, u64>| {
            for (channel, singles) in std::mem::take(of_bin) {
                *of_channels.entry(channel).or_default() += singles;
            }
        };
        for (row, (group, singles)) in self.channels.iter().zip(&self.singles).enumerate() {
            let place = self.places.get(row);
            if bin.replace(place) != Some(place) {
                add(&mut of_bin);
            }
            of_bin.extend(group.iter().copied().zip(singles.iter().copied()));
        }
        add(&mut of_bin);
        let (channels, counts): (Vec<u16>, Vec<u64>) = of_channels.into_iter().unzip();
        let rate = |&count: &u64| (live_s > 0.0).then(|| count as f64 / live_s);
        let rates: Vec<Option<f64>> = counts.iter().map(rate).collect();
        Table::default()
            .with(Column::channels("channel", channels.into_iter().map(Some).collect()))
            .with(Column::counts("singles", counts.into()))
            .with(Column::floats("rate_hz", rates.into()).heading("rate").unit(Unit::Hertz))
    }
}
