//! Definitions resolved in a run: the outputs and their labels, and the text that identifies them.
//!
//! In a run with the channels 1, 2 and 255, the first derived channel has the label 254. The text is the key of a view,
//! so it must contain everything that changes rows; without it a view would answer for other definitions.

use std::{collections::BTreeSet, fmt::Write as _};

use tagq_derived::{Definitions, GateNetwork, LabelledOrigin, Network, Operand, Origin, TimeUnits};

use crate::{
    Run, error::Error, setup::arguments::Channel, setup::definitions::Definition,
    setup::experiment::Setup,
};

use super::derivation::Derivation;

/// A derivation in one run.
pub(super) struct Evaluation<'a> {
    pub run: &'a Run,
    pub setup: &'a Setup,
    /// The definitions that the outputs need, and no others.
    pub definitions: Definitions,
    pub units: TimeUnits,
    /// The gate that must be open.
    pub gate: Option<usize>,
    /// The derived channels, and their labels.
    pub derived: Vec<LabelledOrigin>,
    /// The channels that the gate depends on, and labels that no derived channel has.
    pub markers: Vec<LabelledOrigin>,
    /// The channels of the run that the derived run has, by label.
    pub is_kept: Box<[bool]>,
    /// The delays in ticks that definitions add to the times of channels of the run.
    pub delays: Vec<(u16, i64)>,
    pub is_joined: bool,
    /// The number of threads; 0 for one per core.
    pub threads: usize,
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(run: &'a Run, setup: &'a Setup, of: &Derivation) -> Result<Self, Error> {
        run.check_tags()?;
        let manifest = run.store().manifest();
        let derived = of.definitions(setup);
        let (gates, gate) = of.gates(setup)?;
        let resolve = |operand: &Operand| match operand {
            Operand::Number(number) => Some(*number),
            Operand::Name(name) => setup.channel(&Channel::Name(name.clone())).ok(),
        };
        let all = Definitions::new(texts(&derived), texts(&gates), resolve)?;
        let labels = labels(run, setup, &all, &derived);
        let mut is_kept = vec![of.channels.is_empty(); 1 << 16];
        let mut wanted: Vec<(&str, u16)> = Vec::new();
        let label_of = |name: &str| labels.iter().find(|(other, _)| *other == name).copied();
        for channel in &of.channels {
            match channel {
                Channel::Name(name) if let Some(of) = label_of(name) => wanted.push(of),
                channel => is_kept[usize::from(setup.channel(channel)?)] = true,
            }
        }
        let wanted = if of.channels.is_empty() { &labels } else { &wanted };
        // Those that nothing needs would change the identity of the rest.
        let named = wanted.iter().map(|(name, _)| *name).chain(gate.as_deref());
        let outputs: Vec<Origin> =
            named.filter_map(|name| all.find(name)).map(Origin::Definition).collect();
        let needed = all.closure(&outputs);
        let is_needed = |(name, _): &&Definition| {
            let at = all.find(name);
            at.is_some_and(|at| needed.definitions.contains(&at) || needed.gates.contains(&at))
        };
        let only = |of: &[Definition]| of.iter().filter(is_needed).cloned().collect::<Vec<_>>();
        let (derived, gates) = (only(&derived), only(&gates));
        let definitions = Definitions::new(texts(&derived), texts(&gates), resolve)?;
        let mut derived: Vec<LabelledOrigin> = Vec::new();
        for &(name, label) in wanted {
            let Some(at) = definitions.find(name) else { continue };
            let output = LabelledOrigin { origin: Origin::Definition(at), label };
            if !derived.contains(&output) {
                derived.push(output);
            }
        }
        let gate = gate.and_then(|gate| definitions.find(&gate));
        let markers =
            definitions.closure(&gate.map(Origin::Definition).into_iter().collect::<Vec<_>>());
        let free = (0..=u16::MAX).filter(|label| derived.iter().all(|of| of.label != *label));
        let markers = markers.markers.into_iter().zip(free);
        let markers = markers.map(|(origin, label)| LabelledOrigin { origin, label }).collect();
        Ok(Self {
            run,
            setup,
            units: TimeUnits { tick: manifest.tick, micro_tick: manifest.micro_tick },
            gate,
            derived,
            markers,
            is_kept: is_kept.into(),
            delays: of.delays(setup, manifest.tick)?,
            definitions,
            is_joined: of.join,
            threads: 0,
        })
    }

    /// Returns the evaluation of derived channels and markers, before the first tag of a source.
    pub(super) fn network(&self) -> Result<Network, Error> {
        let outputs: Vec<LabelledOrigin> =
            self.derived.iter().chain(&self.markers).copied().collect();
        Ok(Network::new(&self.definitions, &outputs, &self.units)?)
    }

    /// Returns the evaluation of the gate, before the first tag of a source.
    pub(super) fn gate_network(&self) -> Result<Option<GateNetwork>, Error> {
        let new = |gate| GateNetwork::new(&self.definitions, &[gate], &self.markers, &self.units);
        Ok(self.gate.map(new).transpose()?)
    }

    /// Returns the labels and names of the derived channels.
    pub(super) fn derived_names(&self) -> impl Iterator<Item = (u16, String)> {
        self.derived.iter().filter_map(|output| match output.origin {
            Origin::Definition(at) => {
                Some((output.label, self.definitions.list()[at].name.clone()))
            }
            Origin::Channel(_) => None,
        })
    }

    /// Returns the names of the derived channels for which formulas of errors do not hold.
    pub(super) fn without_statistics(&self) -> Vec<String> {
        let is_other = |&at: &usize| !self.definitions.list()[at].keeps_statistics();
        let is_made_of =
            |origin: Origin| self.definitions.closure(&[origin]).definitions.iter().any(is_other);
        let derived = self.derived.iter().zip(self.derived_names());
        let others = derived.filter(|(output, _)| is_made_of(output.origin));
        others.map(|(_, (_, name))| name).collect()
    }

    /// Returns the labels of the derived channels.
    pub(super) fn labels(&self) -> Vec<u16> {
        self.derived.iter().map(|output| output.label).collect()
    }

    /// Returns the channels of the run that definitions need, each with its delay, and whether micro times are needed.
    pub(super) fn needed(&self) -> super::feed::Needed {
        let outputs = self.derived.iter().chain(&self.markers);
        let origins: Vec<Origin> = outputs.map(|output| output.origin).collect();
        let closure = self.definitions.closure(&origins);
        let delay = |label: u16| {
            self.delays.iter().find(|(channel, _)| *channel == label).map_or(0, |of| of.1)
        };
        super::feed::Needed {
            channels: closure.channels.iter().map(|&label| (label, delay(label))).collect(),
            has_micro: !closure.micro.is_empty(),
        }
    }

    /// Returns a text that two derivations have in common only if they make the same rows of the same run.
    pub(super) fn key(&self) -> Result<String, Error> {
        let mut key = self.network()?.description().to_owned();
        if let Some(gate) = self.gate_network()? {
            let _ = write!(key, "\ngate\n{}", gate.description());
        }
        for (channel, delay) in self.needed().channels {
            let _ = write!(key, "\nchannel {channel} delayed by {delay}");
        }
        let kept: Vec<u16> = (0..=u16::MAX).filter(|of| self.is_kept[usize::from(*of)]).collect();
        if kept.len() > usize::from(u16::MAX) {
            key += "\nwith all channels";
        } else {
            let _ = write!(key, "\nwith channels {kept:?}");
        }
        let names: Vec<_> = self.names();
        let _ = write!(key, "\nnames {names:?}\njoined {}", self.is_joined);
        Ok(key)
    }

    /// Returns the names of the channels of the derived run.
    pub(super) fn names(&self) -> Vec<(u16, String)> {
        let of_run = self.setup.names.iter();
        let of_run = of_run.filter(|(channel, _)| self.is_kept[usize::from(*channel)]).cloned();
        of_run.chain(self.derived_names()).collect()
    }
}

/// Returns a label for each derived channel: the largest up to 255 that no channel has, in the order of the
/// definitions, so that they depend neither on the choice nor on new channels below them.
fn labels<'a>(
    run: &Run,
    setup: &Setup,
    definitions: &Definitions,
    derived: &'a [Definition],
) -> Vec<(&'a str, u16)> {
    let in_run = run.store().manifest().channels.iter().map(|rows| rows.channel);
    let mut is_used: BTreeSet<u16> = in_run.collect();
    is_used.extend(setup.names.iter().map(|(channel, _)| *channel));
    let find = |(name, _): &Definition| definitions.find(name).map(Origin::Definition);
    let all: Vec<Origin> = derived.iter().filter_map(find).collect();
    is_used.extend(definitions.closure(&all).channels);
    let above = 256..=u16::MAX;
    let free = (0..=255).rev().chain(above).filter(|label| !is_used.contains(label));
    derived.iter().map(|(name, _)| name.as_str()).zip(free).collect()
}

fn texts(of: &[Definition]) -> impl Iterator<Item = (&str, &str)> {
    of.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}
