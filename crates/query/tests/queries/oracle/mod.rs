//! Every path equals the oracle, for all levels, morsels, threads, label widths, delays and ranges.

mod groups;
mod levels;
mod listing;
mod pairs;
mod scope;
mod support;
mod veto;
