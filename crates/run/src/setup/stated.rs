//! A setup as plans and answers hold it: its content without its file.

use serde::{Deserialize, Serialize};

use super::{definitions::Definition, experiment::Setup};
use crate::error::Error;

/// The names, delays, groups and definitions of a setup.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StatedSetup {
    names: Vec<(u16, String)>,
    delays: Vec<(u16, String)>,
    groups: Vec<Vec<u16>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    derived: Vec<Definition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gates: Vec<Definition>,
}

impl StatedSetup {
    /// Returns what a setup says; the labels of `derived` channels follow from their definitions.
    pub fn of(setup: &Setup, derived: &[u16]) -> Self {
        let delays = setup.delays.iter().map(|(of, delay)| (*of, delay.asked().to_owned()));
        let names = setup.names.iter().filter(|(of, _)| !derived.contains(of));
        Self {
            names: names.cloned().collect(),
            delays: delays.collect(),
            groups: setup.groups.clone(),
            derived: setup.derived.clone(),
            gates: setup.gates.clone(),
        }
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the setup that it states.
    ///
    /// # Errors
    /// [`Error::Unit`] for a delay.
    pub fn read(&self) -> Result<Setup, Error> {
        let delays = self.delays.iter().map(|(of, delay)| Ok((*of, delay.parse()?)));
        let mut names = self.names.clone();
        names.sort_unstable();
        Ok(Setup {
            names,
            delays: delays.collect::<Result<_, Error>>()?,
            groups: self.groups.clone(),
            derived: self.derived.clone(),
            gates: self.gates.clone(),
            ..Setup::default()
        })
    }
}
