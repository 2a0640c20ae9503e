//! Folding of differences by a period that need not be a whole number of ticks.
//!
//! Period 25/2, 12.5 ticks: a difference of 30 becomes 5, one of 13 becomes 0 (half a tick is dropped). The period is
//! a ratio of integers, so no error adds up over many periods.

use crate::{
    run::recording::{Recording, Source},
    scan::singles::{last_row_of, row_among},
};

/// Defines how differences are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Folds into one period.
    Period(Period),
    /// The recorded sync (the start of `Mode::Last`, the stop of `Mode::Next`) is every n-th pulse. The
    /// period is its mean spacing over the whole run, source by source, divided by n.
    SyncDivider(u32),
}

/// A period in ticks: `numerator` / `denominator`, both above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The length of `denominator` periods in ticks.
    pub numerator: u64,
    /// The number of periods.
    pub denominator: u64,
}

/// Returns the mean spacing of a channel's tags divided by `divider`. Returns `None` unless at least one
/// source has two tags at different times.
pub fn mean_spacing(recording: &Recording<'_>, channel: u16, divider: u32) -> Option<Period> {
    let (mut ticks, mut spacings) = (0_u64, 0_u64);
    for source in &recording.sources {
        let Some((first, last)) = first_and_last(source, channel) else { continue };
        ticks = ticks.checked_add(last.abs_diff(first))?;
        spacings += source.singles_of(channel) - 1;
    }
    let denominator = spacings.checked_mul(divider.into())?;
    (ticks > 0 && denominator > 0).then_some(Period { numerator: ticks, denominator })
}

fn first_and_last(source: &Source<'_>, channel: u16) -> Option<(i64, i64)> {
    let last = last_row_of(source, channel, source.tags.len())?;
    let first = row_among(source, channel, 0..last + 1, false)?;
    Some((source.tags.time.at(first), source.tags.time.at(last)))
}

impl Period {
    /// Returns `difference`, which is not negative, modulo the period, in whole ticks.
    ///
    /// The remaining fraction of a tick can be dropped, because the edges of bins are whole ticks.
    pub(super) fn fold(self, difference: i64) -> i64 {
        let (p, q) = (u128::from(self.numerator), u128::from(self.denominator));
        let units = u128::from(difference.unsigned_abs()) * q;
        // Most differences are below one period, and a division of 128 bits is slow.
        if units < p {
            return difference;
        }
        i64::try_from(units % p / q).unwrap_or(difference)
    }
}
