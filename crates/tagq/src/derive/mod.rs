//! Stores with channels made from channels, and with the tags inside of gates (docs/queries.md, section "Derived channels and
//! gates").
//!
//! Each source is evaluated on one thread, piece by piece: gates first, if there are any, then derived channels, which are
//! merged with the tags of the channels of the run.

mod feed;
mod merged;

use std::{collections::BTreeSet, path::Path};

use tagq_store::{Recording, Source, SourceFacts, Store, Tick};
use tagq_views::{
    Definitions, Frontier, GateNetwork, Intervals, LabelledOrigin, LabelledTags, Network, Operand,
    Origin, TagBatch, TimeUnits,
};

use crate::{
    error::Error,
    new_store::NewStore,
    progress::Progress,
    run::{Run, options::OpenOptions},
    setup::{arguments::Channel, definitions::Definition, experiment::Setup},
};
use feed::Feed;
use merged::Merged;

/// The largest number of spans outside of gates in a source, which its manifest lists.
const SPANS_MAX: usize = 1 << 16;

/// What a store of derived channels has.
#[derive(Debug, Clone, Default)]
pub struct Derivation {
    /// Definitions of channels, with those of the setup. One replaces that of the setup with its name.
    pub derived: Vec<Definition>,
    /// Gates that must be open: names of definitions, or gates as a definition states them.
    pub gates: Vec<String>,
    /// The channels of the new store, of the run and derived; all of them if empty.
    pub channels: Vec<Channel>,
}

/// A derivation in one run.
struct Evaluation<'a> {
    run: &'a Run,
    setup: &'a Setup,
    definitions: Definitions,
    units: TimeUnits,
    /// The gates that must be open.
    gates: Vec<usize>,
    /// The derived channels of the new store, and their labels there.
    derived: Vec<LabelledOrigin>,
    /// The channels of the run that the new store has, by label.
    is_kept: Box<[bool]>,
    /// The delays in ticks that definitions add to the times of channels of the run.
    delays: Vec<(u16, i64)>,
}

/// Makes the new store at `at`, or a temporary one that goes with the run, with channels of `run` and channels that are
/// derived from them, as far as all gates are open. Definitions see the delays of the setup; channels of the run have their
/// recorded times.
///
/// # Errors
/// [`Error::View`] for definitions, [`Error::NoSuchChannel`], [`Error::StoreThere`], [`Error::Request`] for gates with more
/// than 65,536 intervals in a source, and errors of reading and of the disk.
pub fn derive(
    run: &Run,
    setup: &Setup,
    of: &Derivation,
    at: Option<&Path>,
    progress: &dyn Progress,
) -> Result<Run, Error> {
    let plan = Evaluation::new(run, setup, of)?;
    let manifest = run.store().manifest();
    let mut new = NewStore::create(at, Some(manifest.tick))?;
    if let Some(tick) = manifest.micro_tick {
        new.set_micro_tick(tick)?;
    }
    let moved = run.store().guarded(|store| plan.evaluate(store, &mut new))??;
    let Evaluated { last, moved_out } = moved;
    if moved_out > 0 {
        progress.note(&format!(
            "{moved_out} derived tags are left out: delays move them out of the time of their file"
        ));
    }
    let facts = last.unwrap_or_else(|| SourceFacts::named("derived"));
    new.finish_as(facts, &OpenOptions::default())
}

/// The result of an evaluation.
#[derive(Default)]
struct Evaluated {
    /// The facts of the last source.
    last: Option<SourceFacts>,
    /// Derived tags outside of their source.
    moved_out: u64,
}

impl<'a> Evaluation<'a> {
    fn new(run: &'a Run, setup: &'a Setup, of: &Derivation) -> Result<Self, Error> {
        let manifest = run.store().manifest();
        let resolve = |operand: &Operand| match operand {
            Operand::Number(number) => Some(*number),
            Operand::Name(name) => setup.channel(&Channel::Name(name.clone())).ok(),
        };
        let is_replaced = |name: &str| of.derived.iter().any(|(other, _)| other == name);
        let mut derived: Vec<Definition> = setup.derived.clone();
        derived.retain(|(name, _)| !is_replaced(name));
        derived.extend(of.derived.iter().cloned());
        let mut gates: Vec<Definition> = setup.gates.clone();
        let is_named = |gate: &str| setup.gates.iter().any(|(name, _)| name == gate);
        let mut wanted: Vec<String> = Vec::new();
        for gate in &of.gates {
            let gate = gate.trim();
            if is_named(gate) {
                wanted.push(gate.into());
            } else if !gate.contains(char::is_whitespace) {
                let known: Vec<&str> = setup.gates.iter().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                return Err(Error::Request(format!(
                    "no gate is called `{gate}`; gates of the setup: {known}; or write one, such as `1 .. 2`"
                )));
            } else {
                let name = format!("gate {}", wanted.len() + 1);
                gates.push((name.clone(), gate.into()));
                wanted.push(name);
            }
        }
        let definitions = Definitions::new(texts(&derived), texts(&gates), resolve)?;
        let units = TimeUnits { tick: manifest.tick, micro_tick: manifest.micro_tick };
        let find = |name: &String| definitions.find(name);
        let gates = wanted.iter().filter_map(find).collect();
        let derived: Vec<usize> = derived.iter().filter_map(|(name, _)| find(name)).collect();
        let mut plan = Self {
            run,
            setup,
            units,
            gates,
            derived: Vec::new(),
            is_kept: vec![of.channels.is_empty(); 1 << 16].into(),
            delays: delays(setup, manifest.tick)?,
            definitions,
        };
        plan.choose(&of.channels, &derived)?;
        Ok(plan)
    }

    /// Chooses the channels of the new store, and labels for those that are derived: the largest up to 255 that no channel
    /// has, in the order of the definitions, so that they depend neither on the choice nor on new channels below them.
    fn choose(&mut self, channels: &[Channel], derived: &[usize]) -> Result<(), Error> {
        let in_run = self.run.store().manifest().channels.iter().map(|rows| rows.channel);
        let mut is_used: BTreeSet<u16> = in_run.collect();
        is_used.extend(self.setup.names.iter().map(|(channel, _)| *channel));
        let all: Vec<Origin> = derived.iter().copied().map(Origin::Definition).collect();
        is_used.extend(self.definitions.closure(&all).channels);
        let above = 256..=u16::MAX;
        let free = (0..=255).rev().chain(above).filter(|label| !is_used.contains(label));
        let labelled: Vec<(usize, u16)> = derived.iter().copied().zip(free).collect();
        let of = |name: &str| {
            let index = self.definitions.find(name)?;
            labelled.iter().find(|(definition, _)| *definition == index).copied()
        };
        let mut wanted: Vec<(usize, u16)> = Vec::new();
        for channel in channels {
            match channel {
                Channel::Name(name) if let Some(derived) = of(name) => wanted.push(derived),
                channel => self.is_kept[usize::from(self.setup.channel(channel)?)] = true,
            }
        }
        let wanted = if channels.is_empty() { &labelled } else { &wanted };
        let output = |&(definition, label): &(usize, u16)| LabelledOrigin {
            origin: Origin::Definition(definition),
            label,
        };
        self.derived = wanted.iter().map(output).collect();
        Ok(())
    }

    /// Evaluates all sources; those before the last are ended.
    fn evaluate(&self, store: &Store, new: &mut NewStore) -> Result<Evaluated, Error> {
        let mut network = Network::new(&self.definitions, &self.derived, &self.units)?;
        let mut evaluated = Evaluated::default();
        for (source, (_, rows)) in store.manifest().sources.iter().zip(store.sources()) {
            if let Some(facts) = evaluated.last.take() {
                new.next_source(facts);
            }
            let gate = self.gate(store, rows.clone())?;
            network.restart();
            let mut merged = Merged::new(new, store, source.span(), gate.as_ref());
            let mut feed = Feed::new(store, rows, &self.needed(&self.derived), &self.is_kept);
            let mut out = LabelledTags::default();
            loop {
                let (batch, until) = feed.read();
                let mut done = network.advance(batch, until, &mut out)?;
                if until == Frontier::End {
                    network.finish(&mut out)?;
                    done = Frontier::End;
                }
                merged.add(&feed.take_kept(), &mut out);
                merged.write(done.min(feed.recorded()))?;
                if until == Frontier::End {
                    break;
                }
            }
            evaluated.moved_out += merged.moved_out();
            evaluated.last = Some(self.facts(source, gate.as_ref())?);
        }
        Ok(evaluated)
    }

    /// Returns the channels of the run that some outputs need, each with its delay, and whether micro times are needed.
    fn needed(&self, outputs: &[LabelledOrigin]) -> feed::Needed {
        let origins: Vec<Origin> = outputs.iter().map(|output| output.origin).collect();
        let closure = self.definitions.closure(&origins);
        let delay = |label: u16| {
            self.delays.iter().find(|(channel, _)| *channel == label).map_or(0, |of| of.1)
        };
        feed::Needed {
            channels: closure.channels.iter().map(|&label| (label, delay(label))).collect(),
            has_micro: !closure.micro.is_empty(),
        }
    }

    /// Returns the times of a source at which all gates are open; `None` without gates.
    fn gate(
        &self,
        store: &Store,
        rows: std::ops::Range<usize>,
    ) -> Result<Option<Intervals>, Error> {
        if self.gates.is_empty() {
            return Ok(None);
        }
        let of: Vec<Origin> = self.gates.iter().copied().map(Origin::Definition).collect();
        let markers = self.definitions.closure(&of).markers;
        let outputs: Vec<LabelledOrigin> = markers
            .iter()
            .zip(0..)
            .map(|(&origin, label)| LabelledOrigin { origin, label })
            .collect();
        let mut network = Network::new(&self.definitions, &outputs, &self.units)?;
        let mut gates = GateNetwork::new(&self.definitions, &self.gates, &outputs, &self.units)?;
        let mut open = vec![Intervals::never(); self.gates.len()];
        let mut feed = Feed::new(store, rows, &self.needed(&outputs), &[]);
        let mut out = LabelledTags::default();
        loop {
            let (batch, until): (TagBatch<'_>, Frontier) = feed.read();
            let done = network.advance(batch, until, &mut out)?;
            if until == Frontier::End {
                network.finish(&mut out)?;
                gates.advance(&out.times, &out.labels, Frontier::End, &mut open)?;
                gates.finish(&mut open)?;
                break;
            }
            gates.advance(&out.times, &out.labels, done, &mut open)?;
            out.clear();
        }
        Ok(open.into_iter().reduce(|all, gate| all.and(&gate)))
    }

    /// Returns the facts of a source of the new store.
    fn facts(&self, source: &Source, gate: Option<&Intervals>) -> Result<SourceFacts, Error> {
        let of = source.facts.recording.clone().unwrap_or_default();
        let moved = source.facts.rebased.unwrap_or(0);
        let mut dead = source.dead();
        if let (Some(gate), Some((first, last))) = (gate, source.span()) {
            for (begin, end) in gate.complement().iter() {
                let span = (begin.max(first), end.unwrap_or(last).min(last));
                dead.extend(Some(span).filter(|(begin, end)| begin < end));
            }
        }
        if dead.len() > SPANS_MAX {
            return Err(Error::Request(format!(
                "{}: the gates leave {} spans out of one file; a store has at most {SPANS_MAX} of them",
                source.facts.name,
                dead.len(),
            )));
        }
        let recorded = |time: i64| time.saturating_sub(moved);
        let dead = dead.into_iter().map(|(begin, end)| (recorded(begin), recorded(end)));
        let mut facts = of.facts;
        for (kind, origins) in [
            ("derived channel", self.derived.iter().map(|output| output.origin).collect()),
            ("gate", self.gates.iter().copied().map(Origin::Definition).collect::<Vec<_>>()),
        ] {
            for origin in origins {
                if let Origin::Definition(at) = origin {
                    let definition = &self.definitions.list()[at];
                    let text = format!("{} = {}", definition.name, definition.expression);
                    facts.push((kind.into(), text));
                }
            }
        }
        let recording = Recording {
            format: "derived".into(),
            channel_names: self.names(),
            facts,
            dead: dead.collect(),
            dead_since: None,
            stated: None,
            ..of
        };
        Ok(SourceFacts {
            rebased: source.facts.rebased,
            recording: Some(recording),
            recorded: source.span(),
            ..SourceFacts::named(&source.facts.name)
        })
    }

    /// Returns the names of the channels of the new store.
    fn names(&self) -> Vec<(u16, String)> {
        let of_run = self.setup.names.iter();
        let of_run = of_run.filter(|(channel, _)| self.is_kept[usize::from(*channel)]).cloned();
        let derived = self.derived.iter().filter_map(|output| match output.origin {
            Origin::Definition(at) => {
                Some((output.label, self.definitions.list()[at].name.clone()))
            }
            Origin::Channel(_) => None,
        });
        of_run.chain(derived).collect()
    }
}

/// Returns the delays of the setup in ticks.
fn delays(setup: &Setup, tick: Tick) -> Result<Vec<(u16, i64)>, Error> {
    let in_ticks =
        |(channel, delay): &(u16, tagq_store::Duration)| Ok((*channel, delay.nearest(tick)?));
    setup.delays.iter().map(in_ticks).collect()
}

fn texts(of: &[Definition]) -> impl Iterator<Item = (&str, &str)> {
    of.iter().map(|(name, text)| (name.as_str(), text.as_str()))
}
