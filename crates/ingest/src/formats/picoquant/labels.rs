//! Labels and names of the channels: one rule for all instruments. Input 3 has the label 3, marker 2 the label 102, and
//! the sync input the label 0.

use tagq_store::{SyncPulses, Tick};

/// The sync input.
pub(super) const SYNC: u64 = 0;
/// Marker k has this label plus k.
pub(super) const MARKER_OFFSET: u64 = 100;
/// Inputs of the largest instrument.
pub(super) const INPUTS_MAX: u16 = 64;
/// The name of marker k is this with k.
pub(super) const MARKER_NAME: &str = "marker";
/// Markers of an instrument.
pub(super) const MARKERS: u16 = 4;

/// Returns the sync pulses of T3 mode.
pub(super) fn pulses(period: Tick) -> SyncPulses {
    SyncPulses { channel: 0, period }
}

/// Returns the names of the sync input, of so many inputs, numbered as they are printed on the instrument,
/// and of the markers.
pub(super) fn names(inputs: Option<i64>) -> Vec<(u16, String)> {
    let inputs = u16::try_from(inputs.unwrap_or(0)).unwrap_or(0).min(INPUTS_MAX);
    let inputs = (1..=inputs).map(|input| (input, format!("input{input}")));
    let markers = (1..=MARKERS).map(|marker| (100 + marker, format!("{MARKER_NAME}{marker}")));
    [(0, "sync".to_owned())].into_iter().chain(inputs).chain(markers).collect()
}
