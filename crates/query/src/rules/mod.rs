//! The rules of coincidences: which tags form one.
//!
//! Each rule is one file that implements [`definition::Definition`]; [`rule`] is the list of rules. [`ways`]
//! scans by the rules that use no tag up, [`sequential`] drives the rules that do ([`once`], [`cluster`]).

pub(crate) mod all;
pub(crate) mod cluster;
pub(crate) mod definition;
pub(crate) mod grid;
pub(crate) mod groups;
pub(crate) mod herald;
pub(crate) mod once;
pub(crate) mod rule;
pub(crate) mod sequential;
pub(crate) mod veto;
pub(crate) mod ways;

pub use groups::Groups;
pub use once::{Matching, Timed};
pub use rule::Rule;
pub use veto::Veto;
