//! The rules of coincidences: which tags form one, and how each rule is counted.
//!
//! [`part`] distributes the groups of a query over scans; [`count`] scans by the rules that use no tag up;
//! [`sequential`] drives the rules that do ([`once`], [`cluster`]).

pub(crate) mod cells;
pub(crate) mod cluster;
pub(crate) mod count;
pub(crate) mod folds;
pub(crate) mod groups;
pub(crate) mod heralds;
pub(crate) mod once;
pub(crate) mod part;
pub(crate) mod rule;
pub(crate) mod sequential;
pub(crate) mod sliding;
pub(crate) mod veto;

pub use groups::Groups;
pub use rule::Rule;
pub use veto::Veto;
