//! Scans by the rules that use no tag up: every morsel of a recording is counted by itself.
//!
//! [`part`] distributes the groups of a query over scans, [`input`] chooses the columns and cuts the rows, and
//! [`count`] scans: one pair by neighbours or ranks; pairs by neighbours in a [`tally`], larger groups by the tags
//! that complete them in [`closing`], chains with a herald in [`heralds`], while windows hold few tags; and all of
//! them in [`crowded`] windows.

mod closing;
pub(crate) mod count;
mod crowded;
mod heralds;
pub(crate) mod input;
pub(crate) mod part;
mod tally;
