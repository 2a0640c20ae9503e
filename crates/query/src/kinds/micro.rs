//! Micro times: the times of photons after the sync pulse before them, counted in bins.

use std::ops::Range;

use rayon::prelude::*;
use tagq_store::MicroColumn;

use super::histogram::Bins;
use crate::{
    error::Error,
    partial::keys::delays,
    run::{
        counts::Counts,
        recording::{Recording, Source},
        scope::Scope,
    },
    scan::{morsels::Execution, plan::Plan, singles::rows_in},
};

/// Rows of a task.
const ROWS: usize = 1 << 18;
const KERNEL: &str = "micro times";

/// A histogram of the micro times of one channel (docs/queries.md, section "Micro times").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroTimes {
    /// The channel.
    pub channel: u16,
    /// Bins of micro times, in units of the store's micro tick.
    pub bins: Bins,
    /// The tags that are used: their delayed times are in its range.
    pub scope: Scope,
}

impl MicroTimes {
    /// Counts the tags in each bin. Tags without a micro time are in no bin.
    ///
    /// # Errors
    /// Errors of bins and scope; [`Error::Cancelled`] after cancellation.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Vec<u64>, Error> {
        self.bins.check()?;
        let counts = recording.counted(|| self.key(), self.scope.range, &|recording, range| {
            let part = Self { scope: self.scope.over(range), bins: self.bins.clone(), ..*self };
            Ok(Counts::Bins(part.count(recording, execution)?, 0))
        })?;
        Ok(counts.bins(self.bins.count())?.0)
    }

    fn key(&self) -> String {
        let Self { channel, bins, scope } = self;
        format!("micro times; {channel}; bins {}{}", bins.key(), delays(scope, Some(&[*channel])))
    }

    fn count(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Vec<u64>, Error> {
        let bins = self.bins.count();
        let counted =
            self.fold(recording, execution, &|| vec![0_u64; bins], &|counts, micro| {
                if let Some(count) = self.bins.holding(micro.into()).and_then(|k| counts.get_mut(k))
                {
                    *count += 1;
                }
            })?;
        let add = |mut sum: Vec<u64>, more: Vec<u64>| {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            sum
        };
        Ok(counted.into_iter().reduce(add).unwrap_or_else(|| vec![0; bins]))
    }

    /// Returns the largest micro time of the channel in the scope; `None` if no tag has one.
    ///
    /// # Errors
    /// As [`MicroTimes::run`].
    pub fn largest(
        channel: u16,
        scope: &Scope,
        recording: &Recording<'_>,
        execution: &Execution,
    ) -> Result<Option<u32>, Error> {
        let bins = Bins::linear(0, 1, 1)?;
        let query = Self { channel, bins, scope: scope.clone() };
        let largest = query.fold(recording, execution, &|| None, &|largest, micro| {
            *largest = (*largest).max(Some(micro));
        })?;
        Ok(largest.into_iter().flatten().max())
    }

    /// Plans the rows that [`MicroTimes::run`] reads.
    ///
    /// # Errors
    /// As [`MicroTimes::run`].
    pub fn plan(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Plan, Error> {
        self.scope.check(&recording.sources)?;
        let mut plan = Plan::new(recording, execution);
        plan.read(recording, |source| [(KERNEL, self.rows(source))]);
        let micro = recording.sources.iter().find_map(|source| source.micro);
        plan.read_micro(micro.map_or(0, |micro| match micro {
            MicroColumn::U16(_) => size_of::<u16>() as u64,
            MicroColumn::U32(_) => size_of::<u32>() as u64,
        }));
        Ok(plan)
    }

    fn rows(&self, source: &Source<'_>) -> Range<usize> {
        rows_in(source, self.scope.delay_of(self.channel), self.scope.range)
    }

    /// Takes the micro times of the channel, on the threads of the rayon pool it is called in. Returns one
    /// result for each task.
    fn fold<T: Send>(
        &self,
        recording: &Recording<'_>,
        execution: &Execution,
        begin: &(dyn Fn() -> T + Sync),
        take: &(dyn Fn(&mut T, u32) + Sync),
    ) -> Result<Vec<T>, Error> {
        self.scope.check(&recording.sources)?;
        let pass = recording.pass(self.scope.range);
        let mut results = Vec::new();
        for source in &recording.sources {
            let Some(micro) = source.micro else { continue };
            let rows = self.rows(source);
            let starts: Vec<usize> = rows.clone().step_by(ROWS).collect();
            let pieces = pass.over(rows.len()).in_pieces(starts.len());
            let of_task = |&start: &usize| {
                let mut result = begin();
                // Rows skipped here never reach a result: cancellation is checked after the pass.
                if pieces.begin().is_ok() {
                    let rows = start..rows.end.min(start + ROWS);
                    source.is_in_order(execution.simd, rows.clone());
                    self.take_rows(source, micro, rows, &mut |micro| take(&mut result, micro));
                }
                result
            };
            results.extend(starts.par_iter().map(of_task).collect::<Vec<T>>());
        }
        recording.check_pass()?;
        Ok(results)
    }

    fn take_rows(
        &self,
        source: &Source<'_>,
        micro: MicroColumn<'_>,
        rows: Range<usize>,
        take: &mut dyn FnMut(u32),
    ) {
        for row in rows {
            if source.tags.channels.label(row) == self.channel
                && let Some(micro) = micro.get(row)
            {
                take(micro);
            }
        }
    }
}
