//! Evaluation of derived channels over batches of tags.
//!
//! Each definition is a node that reads the lists of its operands and appends to its own, up to the time that all of
//! its operands have reached. `1 & 2 within 2t` with tags of 1 and 2 at 0, 2 and at 9, 12 makes one tag, at 2, with
//! the row of the tag there. The output does not depend on how the tags are cut into batches.

use tagq_store::sealed::{self, Reader, put_len, put_text};

use crate::{
    definitions::{Definitions, Origin},
    error::Error,
    frontier::Frontier,
    operators::{ChannelOperation, OperandTags, Operation, Role},
    output::{Labels, OutputMerge, OutputTags},
    tags::{LabelledTags, TagBatch, TagList, is_in_order},
    units::TimeUnits,
};

/// The number of a label whose channel is not needed.
const NOT_NEEDED: u32 = u32::MAX;
/// The last tag before the first one of a source.
const NO_TAG: (i64, u64) = (i64::MIN, 0);
/// The most tags that wait in all lists: 128 MiB, and twice that with the room in which lists grow.
pub const WAITING_MAX: usize = (128 << 20) / 16;
const MAGIC: [u8; 8] = *b"TAGQVIEW";
const VERSION: u32 = 1;

/// A channel, real or derived, in the output of a [`Network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelledOrigin {
    /// The channel.
    pub origin: Origin,
    /// Its label in the output.
    pub label: u16,
}

/// Evaluates derived channels over the tags of one source, batch by batch. The output does not depend on how the tags
/// are cut into batches.
pub struct Network {
    /// Identifies definitions, outputs and units in saved states.
    description: String,
    /// The list of each label; [`NOT_NEEDED`] for other labels.
    list_of: Box<[u32]>,
    /// The lists of real channels, then those of derived ones in the order of evaluation.
    lists: Vec<List>,
    nodes: Vec<Node>,
    /// The real channels of the output, in the order of the input.
    real: RealOutput,
    /// The derived channels of the output, in the order of definition.
    derived: Vec<DerivedOutput>,
    merge: OutputMerge,
    /// The states of all operations before the first tag.
    fresh: Vec<u8>,
    until: Frontier,
    /// The time and the row of the last tag.
    last: (i64, u64),
}

/// Tags of a channel that a definition or the output still needs.
#[derive(Default)]
struct List {
    tags: TagList,
    has_micro: bool,
    /// The tags before it are complete.
    frontier: Option<Frontier>,
}

/// The evaluation of one definition.
struct Node {
    definition: usize,
    name: String,
    operation: Box<dyn ChannelOperation>,
    operands: Vec<Cursor>,
    /// The list of its output.
    list: usize,
}

/// The position of a reader of a list.
#[derive(Clone, Copy)]
struct Cursor {
    list: usize,
    /// The first tag of the list that is still needed.
    at: usize,
}

struct RealOutput {
    /// The output label of each label, if it is wanted.
    label_of: Box<[Option<u16>]>,
    is_wanted: bool,
    tags: TagList,
    labels: Vec<u16>,
    /// The first tag that was not output yet.
    at: usize,
}

struct DerivedOutput {
    cursor: Cursor,
    label: u16,
}

impl Network {
    /// Creates the evaluation of all that some outputs need, before the first tag of a source. An output can have the
    /// label of another one.
    ///
    /// # Errors
    /// If an output is a gate, or a duration does not fit the units.
    ///
    /// # Panics
    /// If there is no such definition.
    pub fn new(
        definitions: &Definitions,
        outputs: &[LabelledOrigin],
        units: &TimeUnits,
    ) -> Result<Self, Error> {
        let wanted: Vec<Origin> = outputs.iter().map(|output| output.origin).collect();
        for &origin in &wanted {
            check_is_channel(definitions, origin)?;
        }
        let closure = definitions.closure(&wanted);
        let mut list_of = vec![NOT_NEEDED; 1 << 16].into_boxed_slice();
        let mut lists: Vec<List> = Vec::new();
        let mut list_of_definition = vec![0; definitions.list().len()];
        let mut nodes: Vec<Node> = Vec::new();
        for &definition in &closure.definitions {
            let named = &definitions.list()[definition];
            let operands = named.operands.iter().map(|&operand| match operand {
                Origin::Channel(label) => {
                    let number = &mut list_of[usize::from(label)];
                    if *number == NOT_NEEDED {
                        *number = u32::try_from(lists.len()).unwrap_or(NOT_NEEDED);
                        let has_micro = closure.micro.contains(&label);
                        lists.push(List { has_micro, ..List::default() });
                    }
                    Cursor { list: *number as usize, at: 0 }
                }
                Origin::Definition(other) => Cursor { list: list_of_definition[other], at: 0 },
            });
            let operands = operands.collect();
            let Operation::Channel(operation) = named.start(units)? else { continue };
            list_of_definition[definition] = lists.len();
            let name = named.name.clone();
            nodes.push(Node { definition, name, operation, operands, list: lists.len() });
            lists.push(List { frontier: Some(Frontier::START), ..List::default() });
        }
        let mut fresh = Vec::new();
        for node in &nodes {
            node.operation.save(&mut fresh);
        }
        let mut label_of = vec![None; 1 << 16].into_boxed_slice();
        let mut derived = Vec::new();
        for &LabelledOrigin { origin, label } in outputs {
            match origin {
                Origin::Channel(channel) => label_of[usize::from(channel)] = Some(label),
                Origin::Definition(at) => {
                    let cursor = Cursor { list: list_of_definition[at], at: 0 };
                    derived.push((at, DerivedOutput { cursor, label }));
                }
            }
        }
        derived.sort_by_key(|(at, _)| *at);
        let is_wanted = label_of.iter().any(Option::is_some);
        let real =
            RealOutput { label_of, is_wanted, tags: TagList::default(), labels: Vec::new(), at: 0 };
        Ok(Self {
            description: describe(definitions, &closure.definitions, outputs, units),
            list_of,
            lists,
            nodes,
            real,
            derived: derived.into_iter().map(|(_, output)| output).collect(),
            merge: OutputMerge::default(),
            fresh,
            until: Frontier::START,
            last: NO_TAG,
        })
    }

    /// Returns a text that identifies definitions, outputs and units.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns to the state before the first tag of a source, and keeps the memory.
    pub fn restart(&mut self) {
        for list in &mut self.lists {
            list.tags.clear();
        }
        for cursor in cursors(&mut self.nodes, &mut self.derived) {
            cursor.at = 0;
        }
        self.real.tags.clear();
        self.real.labels.clear();
        self.real.at = 0;
        (self.until, self.last) = (Frontier::START, NO_TAG);
        let mut reader = Reader::new(&self.fresh);
        for node in &mut self.nodes {
            let restored = node.operation.restore(&mut reader, self.until);
            debug_assert!(restored.is_some(), "a state that it saved itself");
            node.set_frontier(&mut self.lists, self.until);
        }
    }

    /// Returns the largest distance in ticks at which tags of the input influence each other, except through the
    /// counters of dividers. If the next tag is further than this from the one before it, evaluation can begin there
    /// with a new network.
    ///
    /// Derived tags have times of real ones, so a distance without real tags has no derived ones either, and the
    /// largest reach of one operator is enough, however many operators follow each other.
    pub fn fresh_gap(&self) -> i64 {
        let reaches = self.nodes.iter().map(|node| node.operation.reach());
        reaches.map(|reach| reach.before.max(reach.after)).max().unwrap_or(0)
    }

    /// Returns how far the output can be before the input, in ticks: the sum of the reaches to later tags along the
    /// longest path.
    pub fn lag(&self) -> i64 {
        let mut lags = vec![0_i64; self.lists.len()];
        for node in &self.nodes {
            let longest = node.operands.iter().map(|operand| lags[operand.list]).max();
            lags[node.list] = longest.unwrap_or(0).saturating_add(node.operation.reach().after);
        }
        self.derived.iter().map(|output| lags[output.cursor.list]).max().unwrap_or(0)
    }

    /// Returns the most tags that all definitions together make of one tag, if each keeps all tags of its operands;
    /// and the definition that makes the most, if there is one.
    pub fn growth(&self) -> (f64, Option<&str>) {
        let mut tags = vec![1.0_f64; self.lists.len()];
        let (mut sum, mut most) = (0.0, (0.0, None));
        for node in &self.nodes {
            let of = node.operands.iter().map(|operand| tags[operand.list]).sum();
            tags[node.list] = of;
            sum += of;
            if of > most.0 {
                most = (of, Some(&*node.name));
            }
        }
        (sum, most.1)
    }

    /// Returns the number of tags that wait for later ones.
    pub fn waiting(&self) -> usize {
        self.lists.iter().map(|list| list.tags.len()).sum::<usize>() + self.real.tags.len()
    }

    /// Returns the name of the definition for which the most tags wait.
    pub fn slowest(&self) -> Option<&str> {
        let waiting = |node: &&Node| {
            let of = |cursor: &Cursor| self.lists[cursor.list].tags.len() - cursor.at;
            node.operands.iter().map(of).sum::<usize>()
        };
        self.nodes.iter().max_by_key(waiting).map(|node| &*node.name)
    }

    /// Returns the definitions whose output depends on the number of all tags of their operand before.
    pub fn dividers(&mut self) -> Vec<usize> {
        let counts = |node: &mut Node| node.operation.counted().map(|_| node.definition);
        self.nodes.iter_mut().filter_map(counts).collect()
    }

    /// Returns the number of tags of the operand of a divider so far; `None` if it is no divider.
    pub fn counted(&mut self, divider: usize) -> Option<u64> {
        self.counter(divider).map(|counted| *counted)
    }

    /// Sets the number of tags of the operand of a divider before the next one. Returns whether it is a divider.
    pub fn set_counted(&mut self, divider: usize, count: u64) -> bool {
        self.counter(divider).map(|counted| *counted = count).is_some()
    }

    fn counter(&mut self, divider: usize) -> Option<&mut u64> {
        let node = self.nodes.iter_mut().find(|node| node.definition == divider)?;
        node.operation.counted()
    }

    /// Takes the next tags of the source, and appends the output that is final. `until` is the time before which all
    /// tags were given with this batch. Returns the frontier of the output: all its tags before that were appended.
    ///
    /// # Errors
    /// If the tags are out of order, or before the last frontier, or if more than [`WAITING_MAX`] of them wait. The
    /// network cannot be used then.
    pub fn advance(
        &mut self,
        batch: TagBatch<'_>,
        until: Frontier,
        out: &mut LabelledTags,
    ) -> Result<Frontier, Error> {
        self.check(batch, until)?;
        self.until = until;
        self.distribute(batch);
        let mut waiting = self.waiting();
        for node in &mut self.nodes {
            if waiting.saturating_add(node.output_max(&self.lists, until)) > WAITING_MAX {
                return Err(Error::Waiting { name: node.name.clone(), most: WAITING_MAX });
            }
            let before = self.lists[node.list].tags.len();
            node.advance(&mut self.lists, until);
            waiting += self.lists[node.list].tags.len() - before;
        }
        let final_until = self.output(out);
        self.forget();
        Ok(final_until)
    }

    /// Ends the source, and appends all output that is left.
    pub fn finish(&mut self, out: &mut LabelledTags) -> Result<(), Error> {
        let batch = TagBatch { times: &[], rows: &[], labels: &[], micro: None };
        self.advance(batch, Frontier::End, out).map(|_| ())
    }

    fn check(&mut self, batch: TagBatch<'_>, until: Frontier) -> Result<(), Error> {
        let TagBatch { times, rows, labels, micro } = batch;
        let micro = micro.map_or(times.len(), <[u32]>::len);
        if [rows.len(), labels.len(), micro].iter().any(|&len| len != times.len()) {
            let (times, rows, labels) = (times.len(), rows.len(), labels.len());
            return Err(Error::Lengths { times, rows, labels, micro });
        }
        if until < self.until {
            let time = |frontier| match frontier {
                Frontier::Before(time) => time,
                Frontier::End => i64::MAX,
            };
            return Err(Error::Unordered { time: time(until), before: time(self.until) });
        }
        let Some((&first, &last)) = times.first().zip(times.last()) else { return Ok(()) };
        if first < self.last.0 || self.until.is_after(first) {
            let before = match self.until {
                Frontier::Before(until) => until.max(self.last.0),
                Frontier::End => i64::MAX,
            };
            return Err(Error::Unordered { time: first, before });
        }
        if (first, rows[0]) < self.last {
            return Err(Error::UnorderedRows { time: first });
        }
        if !is_in_order(times, rows) {
            return Err(order_error(times, rows));
        }
        self.last = (last, rows[rows.len() - 1]);
        Ok(())
    }

    /// Appends the tags of a batch to the lists of their channels, and those of the output to it.
    fn distribute(&mut self, batch: TagBatch<'_>) {
        let TagBatch { times, rows, labels, micro } = batch;
        for (at, ((&time, &row), &label)) in times.iter().zip(rows).zip(labels).enumerate() {
            let Some(list) = self.lists.get_mut(self.list_of[usize::from(label)] as usize) else {
                continue;
            };
            list.tags.push(time, row);
            if list.has_micro {
                let micro = micro.and_then(|micro| micro.get(at));
                list.tags.micro.push(*micro.unwrap_or(&tagq_store::format::MICRO_NONE));
            }
        }
        if self.real.is_wanted {
            for ((&time, &row), &label) in times.iter().zip(rows).zip(labels) {
                if let Some(label) = self.real.label_of[usize::from(label)] {
                    self.real.tags.push(time, row);
                    self.real.labels.push(label);
                }
            }
        }
    }

    /// Appends the output before the frontier that all outputs have in common, which it returns.
    fn output(&mut self, out: &mut LabelledTags) -> Frontier {
        let frontiers = self.derived.iter().map(|output| self.lists[output.cursor.list].frontier);
        let until = frontiers.flatten().chain([self.until]).min().unwrap_or(self.until);
        let real = self.real.tags.since(self.real.at);
        let real_len = until.count(real.times);
        let labels = &self.real.labels[self.real.at..][..real_len];
        let mut streams =
            vec![OutputTags { tags: real.first(real_len), labels: Labels::Each(labels) }];
        for output in &mut self.derived {
            let tags = self.lists[output.cursor.list].tags.since(output.cursor.at);
            let len = until.count(tags.times);
            output.cursor.at += len;
            streams.push(OutputTags { tags: tags.first(len), labels: Labels::All(output.label) });
        }
        self.merge.merge(&streams, out);
        self.real.at += real_len;
        until
    }

    /// Removes the tags of lists that no cursor needs any more, if they are at least half of them.
    fn forget(&mut self) {
        let mut removed = self.passed();
        for (list, removed) in self.lists.iter_mut().zip(&mut removed) {
            if *removed < list.tags.len().div_ceil(2) {
                *removed = 0;
            }
            if *removed > 0 {
                list.tags.remove_first(*removed);
            }
        }
        for cursor in cursors(&mut self.nodes, &mut self.derived) {
            cursor.at -= removed[cursor.list];
        }
        let real = &mut self.real;
        if real.at >= real.tags.len().div_ceil(2) {
            real.tags.remove_first(real.at);
            real.labels.drain(..real.at);
            real.at = 0;
        }
    }

    /// Returns how many of the first tags of each list no cursor needs any more.
    fn passed(&mut self) -> Vec<usize> {
        let mut passed: Vec<usize> = self.lists.iter().map(|list| list.tags.len()).collect();
        for cursor in cursors(&mut self.nodes, &mut self.derived) {
            passed[cursor.list] = passed[cursor.list].min(cursor.at);
        }
        passed
    }

    /// Returns the whole state as bytes.
    pub fn save(&mut self) -> Vec<u8> {
        let mut bytes = sealed::begin(MAGIC, VERSION);
        put_text(&mut bytes, &self.description);
        self.until.save(&mut bytes);
        bytes.extend(self.last.0.to_le_bytes());
        bytes.extend(self.last.1.to_le_bytes());
        let passed = self.passed();
        for (list, &passed) in self.lists.iter().zip(&passed) {
            list.tags.save(passed, &mut bytes);
        }
        for cursor in cursors(&mut self.nodes, &mut self.derived) {
            put_len(&mut bytes, cursor.at - passed[cursor.list]);
        }
        for node in &self.nodes {
            node.operation.save(&mut bytes);
        }
        self.real.tags.save(self.real.at, &mut bytes);
        self.real.labels[self.real.at..].iter().for_each(|label| bytes.extend(label.to_le_bytes()));
        sealed::seal(bytes)
    }

    /// Continues from bytes that [`Network::save`] returned, in a network with the same definitions, outputs and units.
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
        self.last = (reader.i64()?, reader.u64()?);
        let last = self.last;
        let is_late = |tags: &TagList| tags.last().is_some_and(|tag| tag > last);
        for list in &mut self.lists {
            list.tags = TagList::restore(list.has_micro, reader).filter(|tags| !is_late(tags))?;
        }
        for cursor in cursors(&mut self.nodes, &mut self.derived) {
            cursor.at = usize::try_from(reader.u64()?).ok()?;
            if cursor.at > self.lists[cursor.list].tags.len() {
                return None;
            }
        }
        for node in &mut self.nodes {
            let common = node.common_frontier(&self.lists, self.until);
            node.operation.restore(reader, common)?;
            node.set_frontier(&mut self.lists, self.until);
            if !node.is_at_frontier(&self.lists) {
                return None;
            }
        }
        self.real.at = 0;
        self.real.tags = TagList::restore(false, reader).filter(|tags| !is_late(tags))?;
        let labels = reader.take(self.real.tags.len().checked_mul(2)?)?;
        self.real.labels = labels.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
        Some(())
    }
}

impl Node {
    /// Evaluates up to the frontier that its operands have in common; `until` is that of real channels.
    fn advance(&mut self, lists: &mut [List], until: Frontier) {
        let common = self.common_frontier(lists, until);
        let mut out = std::mem::take(&mut lists[self.list].tags);
        let operands = self.operands.iter();
        let operand = |cursor: &Cursor| OperandTags {
            tags: lists[cursor.list].tags.since(cursor.at),
            used: 0,
        };
        let mut operands: Vec<OperandTags<'_>> = operands.map(operand).collect();
        self.operation.advance(&mut operands, common, &mut out);
        for (cursor, operand) in self.operands.iter_mut().zip(&operands) {
            cursor.at += operand.used;
        }
        lists[self.list].tags = out;
        self.set_frontier(lists, until);
    }

    /// Returns the most tags that it can append: those of its operands before the frontier of its output.
    fn output_max(&self, lists: &[List], until: Frontier) -> usize {
        let out = self.common_frontier(lists, until).less(self.operation.reach().after);
        let of = |cursor: &Cursor| out.count(lists[cursor.list].tags.since(cursor.at).times);
        self.operands.iter().map(of).sum()
    }

    fn set_frontier(&self, lists: &mut [List], until: Frontier) {
        let common = self.common_frontier(lists, until);
        lists[self.list].frontier = Some(common.less(self.operation.reach().after));
    }

    /// Returns whether all of the output is before the frontier, and all tags that are left after it.
    fn is_at_frontier(&self, lists: &[List]) -> bool {
        let Some(frontier) = lists[self.list].frontier else { return true };
        let out = &lists[self.list].tags.times;
        let mut operands = self.operands.iter().enumerate();
        frontier.count(out) == out.len()
            && operands.all(|(at, cursor)| {
                let next = lists[cursor.list].tags.times.get(cursor.at);
                self.operation.keeps(at) || next.is_none_or(|&time| !frontier.is_after(time))
            })
    }

    fn common_frontier(&self, lists: &[List], until: Frontier) -> Frontier {
        let frontiers = self.operands.iter().map(|cursor| lists[cursor.list].frontier);
        frontiers.flatten().chain([until]).min().unwrap_or(until)
    }
}

/// Returns the error for tags that are out of order.
fn order_error(times: &[i64], rows: &[u64]) -> Error {
    if let Some(pair) = times.windows(2).find(|pair| pair[1] < pair[0]) {
        return Error::Unordered { time: pair[1], before: pair[0] };
    }
    let pairs = times.windows(2).zip(rows.windows(2));
    let mut ties = pairs.filter(|(times, rows)| times[0] == times[1] && rows[1] < rows[0]);
    Error::UnorderedRows { time: ties.next().map_or(i64::MIN, |(times, _)| times[0]) }
}

fn cursors<'a>(
    nodes: &'a mut [Node],
    derived: &'a mut [DerivedOutput],
) -> impl Iterator<Item = &'a mut Cursor> {
    let of_nodes = nodes.iter_mut().flat_map(|node| &mut node.operands);
    of_nodes.chain(derived.iter_mut().map(|output| &mut output.cursor))
}

pub(crate) fn check_is_channel(definitions: &Definitions, origin: Origin) -> Result<(), Error> {
    match origin {
        Origin::Definition(at) if definitions.list()[at].role() == Role::Gate => {
            Err(Error::WrongOutput {
                name: definitions.list()[at].name.clone(),
                found: Role::Gate.name(),
                expected: Role::Channel.name(),
            })
        }
        Origin::Channel(_) | Origin::Definition(_) => Ok(()),
    }
}

pub(crate) fn describe(
    definitions: &Definitions,
    needed: &[usize],
    outputs: &[LabelledOrigin],
    units: &TimeUnits,
) -> String {
    let mut lines: Vec<String> = needed.iter().map(|&at| definitions.describe(at)).collect();
    lines.push(format!("{outputs:?}"));
    lines.push(units.tick.fraction());
    lines.push(units.micro_tick.map(tagq_store::Tick::fraction).unwrap_or_default());
    lines.join("\n")
}
