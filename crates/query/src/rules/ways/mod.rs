//! Scans by the rules that use no tag up: every morsel of a recording is counted by itself.
//!
//! [`part`] distributes the groups of a query over scans, [`input`] chooses the columns and cuts the rows, and [`count`]
//! scans: by neighbours or ranks for pairs, by [`tally`] for many of them, by [`folds`] for larger groups, by [`sliding`]
//! sums for crowded windows, by [`heralds`] for chains with a herald.

pub(crate) mod count;
pub(crate) mod folds;
mod heralds;
pub(crate) mod input;
pub(crate) mod part;
pub(crate) mod sliding;
mod tally;
