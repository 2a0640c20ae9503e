//! Scans by the rules that use no tag up: every morsel of a recording is counted by itself.
//!
//! [`part`] distributes the groups of a query over scans, and [`count`] scans: by neighbours or by ranks for
//! pairs, by [`folds`] for larger groups, by [`sliding`] sums for crowded windows.

pub(crate) mod count;
pub(crate) mod folds;
pub(crate) mod part;
pub(crate) mod sliding;
