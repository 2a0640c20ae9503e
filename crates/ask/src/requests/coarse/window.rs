//! The suggested window of coincidences: the end of the peak of the pair whose peak is the most significant.
//!
//! If tags of 1 and 2 are correlated up to 16 ticks at 30 standard deviations, and those of 1 and 3 up to 64 ticks at
//! 12, then 16 ticks are suggested.

use std::collections::BTreeSet;

use tagq_query::{Error, Recording, Scope};
use tagq_store::Tick;

use super::scan::{Coarse, longest};
use crate::{peaks::Grid, pulses::Resolution};

/// Maximum number of channel pairs that are scanned for a window.
const PAIRS_MAX: usize = 64;

/// Returns the error for a missing window, with a suggested window.
pub(crate) fn window_missing(
    recording: &Recording<'_>,
    pairs: &BTreeSet<[u16; 2]>,
    scope: &Scope,
    tick: Tick,
    name_of: &dyn Fn(u16) -> String,
) -> Result<String, Error> {
    let mut best: Option<(f64, i64, [u16; 2])> = None;
    for &pair in pairs.iter().take(PAIRS_MAX) {
        let grid = Grid::of(
            Resolution::find(recording, pair),
            longest(recording, scope.range).cast_signed(),
        );
        let found = Coarse::look(recording, pair, &scope.delays, scope.range, &grid)?.reach();
        if let Some((sigmas, reach)) = found
            && best.is_none_or(|(most, ..)| sigmas > most)
        {
            best = Some((sigmas, reach, pair));
        }
    }
    let missing = "`window` is missing: the largest difference of times that makes a coincidence";
    Ok(match best {
        Some((_, reach, [a, b])) => format!(
            "{missing}. Tags of {} and {} are correlated up to about {}: try `window` {}; `tagq delays` \
             finds the delays that allow a shorter one",
            name_of(a),
            name_of(b),
            tick.about(reach, " "),
            tick.about(reach, "")
        ),
        None => format!(
            "{missing}. No pair of channels stands out; give a few times the jitter of the detectors, as \
             `window` 1ns"
        ),
    })
}
