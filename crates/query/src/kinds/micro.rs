//! Micro times: the times of photons after the sync pulse before them, counted in bins.
//!
//! Tags with micro times 3 and 12 and one without, bins 0 to 10 and 10 to 20: one tag is in each bin, the third in
//! none. The delay and the range select a tag by its time; they do not change its micro time.

use std::ops::Range;

use rayon::prelude::*;
use tagq_store::{Channels, MicroColumn};

use super::{
    histogram::Bins,
    kind::Kind,
    micro_bins::{BinTable, Micro},
};
use crate::{
    counters::{Countable, Ledger, Needs},
    error::Error,
    partial::{
        Partial, State,
        keys::{delays, numbers},
    },
    run::{
        counts::Counts,
        facts::Facts,
        recording::{Recording, Source},
        scope::Scope,
        time_range::TimeRange,
    },
    scan::{
        morsels::Execution,
        plan::ReadPlan,
        route::{COLUMN_ROWS, Route},
        singles::rows_in,
    },
};

/// Histograms of the micro times of channels (docs/queries.md, section "Micro times"). Tags without a micro time are in
/// no bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroTimes {
    /// The channels, each counted by itself; none occurs twice.
    pub channels: Vec<u16>,
    /// Bins of micro times, in units of the store's micro tick.
    pub bins: Bins,
    /// The tags that are used: their delayed times are in its range.
    pub scope: Scope,
}

impl MicroTimes {
    /// Returns the largest micro time of these channels in the scope; `None` if no tag has one.
    ///
    /// # Errors
    /// As [`Kind::run`].
    pub fn largest(
        channels: &[u16],
        scope: &Scope,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Option<u32>, Error> {
        let bins = Bins::linear(0, 1, 1)?;
        let query = Self { channels: channels.to_vec(), bins, scope: scope.clone() };
        recording.check_ends()?;
        query.check(&recording.facts())?;
        let largest = query.fold(
            recording,
            execution,
            || None,
            |largest, _, micro| *largest = (*largest).max(Some(micro)),
        );
        recording.check_pass()?;
        Ok(largest.into_iter().flatten().max())
    }

    /// Takes the micro times of the channels, each with the place of its channel, on the threads of the rayon pool it
    /// is called in. Returns one result for each task. The caller checks for cancellation afterwards.
    fn fold<T: Send>(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        begin: impl Fn() -> T + Sync,
        take: impl Fn(&mut T, usize, u32) + Sync,
    ) -> Vec<T> {
        let delays = self.scope.by_delay(&self.channels);
        let pass = recording.pass(self.scope.range);
        let mut results = Vec::new();
        for source in &recording.sources {
            let Some(micro) = source.micro else { continue };
            for (delay, places) in &delays {
                let place_of = self.places(places);
                let rows = rows_in(source, *delay, self.scope.range);
                let starts: Vec<usize> = rows.clone().step_by(COLUMN_ROWS).collect();
                let pieces = pass.over(rows.len()).in_pieces(starts.len());
                let of_task = |&start: &usize| {
                    let mut result = begin();
                    // Rows skipped here never reach a result: cancellation is checked after the pass.
                    if pieces.begin().is_ok() {
                        let rows = start..rows.end.min(start + COLUMN_ROWS);
                        source.is_in_order(execution.simd, rows.clone());
                        take_rows(source, micro, rows, &place_of, |place, micro| {
                            take(&mut result, place, micro);
                        });
                    }
                    result
                };
                results.extend(starts.par_iter().map(of_task).collect::<Vec<T>>());
            }
        }
        results
    }

    /// Returns the place of each label; `usize::MAX` for other channels than those at `places`.
    fn places(&self, places: &[usize]) -> Vec<usize> {
        let labels = places.iter().map(|&place| usize::from(self.channels[place]));
        let mut place_of = vec![usize::MAX; labels.max().map_or(0, |largest| largest + 1)];
        for &place in places {
            place_of[usize::from(self.channels[place])] = place;
        }
        place_of
    }
}

/// Takes the micro times of these rows of the channels that have a place.
fn take_rows(
    source: &Source<'_>,
    micro: MicroColumn<'_>,
    rows: Range<usize>,
    place_of: &[usize],
    mut take: impl FnMut(usize, u32),
) {
    fn each<L: Copy + Into<usize>, M: Micro>(
        (labels, micro): (&[L], &[M]),
        place_of: &[usize],
        take: &mut impl FnMut(usize, u32),
    ) {
        for (&label, micro) in labels.iter().zip(micro) {
            if let Some(&place) = place_of.get(label.into())
                && place != usize::MAX
                && let Some(micro) = micro.get()
            {
                take(place, micro);
            }
        }
    }
    let of = rows.clone();
    match (source.tags.channels, micro) {
        (Channels::U8(labels), MicroColumn::U16(micro)) => {
            each((labels.read(rows), micro.read(of)), place_of, &mut take);
        }
        (Channels::U8(labels), MicroColumn::U32(micro)) => {
            each((labels.read(rows), micro.read(of)), place_of, &mut take);
        }
        (Channels::U16(labels), MicroColumn::U16(micro)) => {
            each((labels.read(rows), micro.read(of)), place_of, &mut take);
        }
        (Channels::U16(labels), MicroColumn::U32(micro)) => {
            each((labels.read(rows), micro.read(of)), place_of, &mut take);
        }
    }
}

impl Countable for MicroTimes {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { channels, bins, scope } = self;
        let delays = delays(scope, Some(channels));
        format!("micro times; channels {}; bins {}{delays}", numbers(channels), bins.key())
    }

    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn nothing(&self) -> Counts {
        Counts::Bins(vec![0; self.bins.count() * self.channels.len()], 0)
    }

    fn count(
        &self,
        recording: &Recording<'_>,
        range: TimeRange,
        _: Option<&Partial>,
        execution: &Execution,
    ) -> Result<(Counts, State), Error> {
        let bins = self.bins.count();
        let nothing = || vec![0_u64; bins * self.channels.len()];
        let table = BinTable::new(&self.bins);
        let take = |counts: &mut Vec<u64>, place: usize, micro: u32| {
            if let Some(bin) = table.holding(micro) {
                counts[place * bins + bin] += 1;
            }
        };
        let counted = self.over(range).fold(recording, execution, nothing, take);
        let add = |mut sum: Vec<u64>, more: Vec<u64>| {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            sum
        };
        let counts = counted.into_iter().reduce(add).unwrap_or_else(nothing);
        Ok((Counts::Bins(counts, 0), State::Nothing))
    }
}

/// Cost: one pass over the columns of labels and micro times for each delay.
impl Kind for MicroTimes {
    /// All bins of the first channel, then those of the next one.
    type Answer = Vec<u64>;

    fn over(&self, range: TimeRange) -> Self {
        let Self { channels, bins, scope } = self;
        Self { channels: channels.clone(), bins: bins.clone(), scope: scope.over(range) }
    }

    fn check(&self, facts: &Facts) -> Result<(), Error> {
        self.bins.check()?;
        self.scope.check(facts)
    }

    fn answer(&self, _: &Ledger<'_>, counts: Counts) -> Result<Vec<u64>, Error> {
        Ok(counts.bins(self.bins.count() * self.channels.len())?.0)
    }

    fn add_to_plan(
        &self,
        recording: &Recording<'_>,
        _: &Execution,
        plan: &mut ReadPlan,
    ) -> Result<(), Error> {
        for (delay, _) in self.scope.by_delay(&self.channels) {
            plan.read(recording, |source| {
                [(Route::MicroTimes, rows_in(source, delay, self.scope.range))]
            });
        }
        let micro = recording.sources.iter().find_map(|source| source.micro);
        plan.read_micro(micro.map_or(0, |micro| match micro {
            MicroColumn::U16(_) => size_of::<u16>() as u64,
            MicroColumn::U32(_) => size_of::<u32>() as u64,
        }));
        Ok(())
    }
}
