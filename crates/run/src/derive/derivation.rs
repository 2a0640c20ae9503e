//! A derivation as it is requested: its definitions, gates, channels and delays, with those of the setup.
//!
//! Two gates make the definition `all gates`, which is open while both are.

use tagq_derived::Operand;
use tagq_store::{Duration, Tick};

use crate::{
    error::{Error, RequestError},
    setup::arguments::Channel,
    setup::definitions::Definition,
    setup::experiment::Setup,
};

/// The name of the gate that is open while all of several gates are.
const ALL_GATES: &str = "all gates";

/// The definitions, gates and channels of a derived run, as they are requested.
#[derive(Debug, Clone, Default)]
pub struct Derivation {
    /// Definitions of channels, with those of the setup. One replaces that of the setup with its name.
    pub derived: Vec<Definition>,
    /// Gates that must be open: names of definitions, or gates as a definition states them.
    pub gates: Vec<String>,
    /// Its channels, of the run and derived; all of them if empty.
    pub channels: Vec<Channel>,
    /// Delays of channels of the run, which definitions see; they override those of the setup.
    pub delays: Vec<(Channel, Duration)>,
    /// Whether sources follow each other without a gap, so that derived tags may come from two.
    pub join: bool,
}

impl Derivation {
    /// Returns the definitions of channels: those of the setup that are not replaced, then its own.
    pub(super) fn definitions(&self, setup: &Setup) -> Vec<Definition> {
        let is_replaced = |name: &str| self.derived.iter().any(|(other, _)| other == name);
        let of_setup = setup.derived.iter().filter(|(name, _)| !is_replaced(name));
        of_setup.chain(&self.derived).cloned().collect()
    }

    /// Returns the definitions of gates, and the name of the gate that must be open: of several, the one that is open
    /// while all of them are.
    pub(super) fn gates(&self, setup: &Setup) -> Result<(Vec<Definition>, Option<String>), Error> {
        let mut gates: Vec<Definition> = setup.gates.clone();
        let is_named = |gate: &str| setup.gates.iter().any(|(name, _)| name == gate);
        let mut wanted: Vec<String> = Vec::new();
        for gate in &self.gates {
            let gate = gate.trim();
            if wanted.iter().any(|other| other == gate) {
                // It is wanted already.
            } else if is_named(gate) {
                wanted.push(gate.into());
            } else if gate.contains(char::is_whitespace) {
                let name = format!("gate {}", wanted.len() + 1);
                gates.push((name.clone(), gate.into()));
                wanted.push(name);
            } else {
                let known: Vec<&str> = setup.gates.iter().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(RequestError::options(&["gates"], format!(
                    "no gate is called `{gate}`; gates of the setup: {known}; or write one, such as `1 .. 2`"
                )).into());
            }
        }
        if wanted.len() < 2 {
            return Ok((gates, wanted.pop()));
        }
        let each: Vec<String> =
            wanted.into_iter().map(|name| Operand::Name(name).to_string()).collect();
        gates.push((ALL_GATES.into(), each.join(" and ")));
        Ok((gates, Some(ALL_GATES.into())))
    }

    /// Returns the delays of channels of the run in ticks.
    pub(super) fn delays(&self, setup: &Setup, tick: Tick) -> Result<Vec<(u16, i64)>, Error> {
        let mut delays: Vec<(u16, i64)> = Vec::new();
        for (channel, delay) in &self.delays {
            delays.push((setup.channel(channel)?, delay.nearest(tick)?));
        }
        for (channel, delay) in &setup.delays {
            if delays.iter().all(|(other, _)| other != channel) {
                delays.push((*channel, delay.nearest(tick)?));
            }
        }
        Ok(delays)
    }
}
