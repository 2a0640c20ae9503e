//! Evaluation of gates over batches of the tags of their markers.
//!
//! Bounds are output as soon as no later tag can change them: `8 for 500t` with a tag at 0 closes at 500 when all
//! tags up to 500 are known. The intervals do not depend on how the tags are cut into batches.

use tagq_store::sealed::{self, Reader, put_text};

use crate::{
    definitions::{Definitions, Origin},
    error::Error,
    frontier::Frontier,
    intervals::Intervals,
    network::{LabelledOrigin, describe},
    operators::{GateOperation, Operation, Role},
    units::TimeUnits,
};

const MAGIC: [u8; 8] = *b"TAGQGATE";
const VERSION: u32 = 1;

/// Evaluates gates over the tags of their markers, batch by batch: the output of a [`Network`](crate::Network).
pub struct GateNetwork {
    /// Identifies definitions, markers and units in saved states.
    description: String,
    /// The first lists are those of markers.
    markers: Vec<LabelledOrigin>,
    /// For each marker, then for each node: its new times or bounds.
    lists: Vec<Vec<i64>>,
    nodes: Vec<Node>,
    /// The lists of the wanted gates.
    wanted: Vec<usize>,
    until: Frontier,
}

/// The evaluation of one gate.
struct Node {
    operation: Box<dyn GateOperation>,
    operands: Vec<usize>,
    list: usize,
}

impl GateNetwork {
    /// Creates the evaluation of gates, before the first tag of a source. `markers` has the labels of the channels
    /// that the gates need ([`Closure::markers`](crate::Closure)).
    ///
    /// # Errors
    /// If a definition is no gate, a marker has no label, or a duration does not fit the units.
    ///
    /// # Panics
    /// If there is no such definition.
    pub fn new(
        definitions: &Definitions,
        gates: &[usize],
        markers: &[LabelledOrigin],
        units: &TimeUnits,
    ) -> Result<Self, Error> {
        let wanted: Vec<Origin> = gates.iter().map(|&gate| Origin::Definition(gate)).collect();
        let closure = definitions.closure(&wanted);
        let mut list_of = vec![usize::MAX; definitions.list().len()];
        let mut nodes = Vec::new();
        for &definition in &closure.gates {
            let named = &definitions.list()[definition];
            let operands = named.operands.iter().map(|&operand| match operand {
                Origin::Definition(gate) if list_of[gate] != usize::MAX => Ok(list_of[gate]),
                _ => markers
                    .iter()
                    .position(|marker| marker.origin == operand)
                    .ok_or_else(|| Error::NoLabel { operand: definitions.name_of(operand) }),
            });
            let operands = operands.collect::<Result<Vec<usize>, Error>>()?;
            let Operation::Gate(operation) = named.start(units)? else { continue };
            list_of[definition] = markers.len() + nodes.len();
            nodes.push(Node { operation, operands, list: list_of[definition] });
        }
        let wanted = gates.iter().map(|&gate| match list_of[gate] {
            usize::MAX => Err(Error::WrongOutput {
                name: definitions.list()[gate].name.clone(),
                found: Role::Channel.name(),
                expected: Role::Gate.name(),
            }),
            list => Ok(list),
        });
        Ok(Self {
            wanted: wanted.collect::<Result<_, Error>>()?,
            description: describe(definitions, &closure.gates, markers, units),
            markers: markers.to_vec(),
            lists: vec![Vec::new(); markers.len() + nodes.len()],
            nodes,
            until: Frontier::START,
        })
    }

    /// Returns a text that identifies definitions, markers and units.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Takes the tags from the last frontier up to `until`, as columns in order of time, and appends the bounds of the
    /// wanted gates before `until` to `gates`, which has one set for each. Tags with other labels are ignored.
    ///
    /// # Errors
    /// If the tags are out of order, or not between the frontiers.
    ///
    /// # Panics
    /// If `gates` has fewer sets.
    pub fn advance(
        &mut self,
        times: &[i64],
        labels: &[u16],
        until: Frontier,
        gates: &mut [Intervals],
    ) -> Result<(), Error> {
        self.check(times, labels, until)?;
        self.lists.iter_mut().for_each(Vec::clear);
        for (list, marker) in self.lists.iter_mut().zip(&self.markers) {
            let tags = times.iter().zip(labels).filter(|(_, label)| **label == marker.label);
            list.extend(tags.map(|(&time, _)| time));
        }
        for node in &mut self.nodes {
            let mut out = std::mem::take(&mut self.lists[node.list]);
            let operands: Vec<&[i64]> =
                node.operands.iter().map(|&list| self.lists[list].as_slice()).collect();
            node.operation.advance(&operands, until, &mut out);
            self.lists[node.list] = out;
        }
        for (at, &list) in self.wanted.iter().enumerate() {
            gates[at].bounds_mut().extend_from_slice(&self.lists[list]);
        }
        self.until = until;
        Ok(())
    }

    /// Ends the source: open gates stay open, and bounds that are left are appended.
    ///
    /// # Panics
    /// If `gates` has fewer sets than there are wanted gates.
    pub fn finish(&mut self, gates: &mut [Intervals]) -> Result<(), Error> {
        self.advance(&[], &[], Frontier::End, gates)
    }

    fn check(&self, times: &[i64], labels: &[u16], until: Frontier) -> Result<(), Error> {
        if times.len() != labels.len() {
            let (rows, micro) = (times.len(), times.len());
            return Err(Error::Lengths { times: rows, rows, labels: labels.len(), micro });
        }
        let before = |frontier| match frontier {
            Frontier::Before(time) => time,
            Frontier::End => i64::MAX,
        };
        let unordered = |time, before| Err(Error::Unordered { time, before });
        if until < self.until {
            return unordered(before(until), before(self.until));
        }
        let Some((&first, &last)) = times.first().zip(times.last()) else { return Ok(()) };
        if self.until.is_after(first) {
            return unordered(first, before(self.until));
        }
        if !until.is_after(last) {
            return unordered(before(until), last);
        }
        match times.windows(2).find(|pair| pair[1] < pair[0]) {
            Some(pair) => unordered(pair[1], pair[0]),
            None => Ok(()),
        }
    }

    /// Returns the whole state as bytes, without the intervals that were output.
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = sealed::begin(MAGIC, VERSION);
        put_text(&mut bytes, &self.description);
        self.until.save(&mut bytes);
        for node in &self.nodes {
            node.operation.save(&mut bytes);
        }
        sealed::seal(bytes)
    }

    /// Continues from bytes that [`GateNetwork::save`] returned, in an evaluation of the same definitions.
    pub fn restored(mut self, bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = sealed::open(bytes, MAGIC, VERSION).map_err(|_| Error::Damaged)?;
        if reader.text().ok_or(Error::Damaged)? != self.description {
            return Err(Error::OtherState);
        }
        self.restore(&mut reader).filter(|()| reader.is_at_end()).ok_or(Error::Damaged)?;
        Ok(self)
    }

    fn restore(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.until = Frontier::restore(reader)?;
        for node in &mut self.nodes {
            node.operation.restore(reader)?;
        }
        Some(())
    }
}
