//! Random recordings and definitions.

use proptest::{collection, prelude::*};
use tagq_derived::{
    Definitions, Frontier, LabelledOrigin, LabelledTags, Network, OPERATORS, Operand, Operator,
    OperatorForm, Origin, Role, TagBatch, TimeUnits,
};
use tagq_store::{Tick, format::MICRO_NONE};

use crate::plain::{PlainRun, PlainTag};

/// The channels of recordings.
pub(crate) const CHANNELS: [u16; 4] = [1, 2, 300, 4];

/// Numbers that decide about everything random, in order.
#[derive(Debug, Clone)]
pub(crate) struct Choices {
    numbers: Vec<u32>,
    at: usize,
}

impl Choices {
    /// A number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        // The second time round the numbers are others, so that no loop has the same choice for ever.
        let round = u32::try_from(self.at / self.numbers.len()).unwrap();
        let number = self.numbers[self.at % self.numbers.len()];
        let number = (number ^ round.wrapping_mul(0x9e37_79b1)).rotate_left(round % 32);
        self.at += 1;
        number as usize % most
    }

    pub(crate) fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

pub(crate) fn choices() -> impl Strategy<Value = Choices> {
    collection::vec(any::<u32>(), 1..300).prop_map(|numbers| Choices { numbers, at: 0 })
}

/// The units of a recording, in femtoseconds and as ticks.
pub(crate) fn units(run: &PlainRun) -> TimeUnits {
    let tick = |femtoseconds: i128| -> Tick { format!("{femtoseconds}fs").parse().unwrap() };
    TimeUnits { tick: tick(run.tick), micro_tick: Some(tick(run.micro_tick)) }
}

/// A recording with ties, bursts and gaps, in order of time, then of rows.
pub(crate) fn recording(choices: &mut Choices) -> PlainRun {
    let len = choices.below(70);
    let scale = choices.one_of(&[
        [0, 0, 1, 1, 2, 3, 9, 60],
        [0, 0, 0, 0, 0, 0, 1, 30],
        [0, 1, 2, 5, 9, 14, 20, 90],
    ]);
    let mut rows: Vec<u64> = (0..len as u64).collect();
    for at in (1..len).rev() {
        rows.swap(at, choices.below(at + 1));
    }
    let mut time = choices.one_of(&[0, -300, i64::MIN, i64::MAX - 400]);
    let mut tags = Vec::new();
    for row in rows {
        time = time.saturating_add(choices.one_of(&scale));
        let micro = choices.one_of(&[0, 1, 2, 3, 5, 9, MICRO_NONE]);
        tags.push(PlainTag { time, row, label: choices.one_of(&CHANNELS), micro });
    }
    tags.sort_unstable();
    let tick = choices.one_of(&[1_000, 156_250, 96_970]);
    PlainRun { tags, tick, micro_tick: choices.one_of(&[4_000, 96_970]) }
}

/// Returns the text of a definition by a form, with operands out of `operands`.
pub(crate) fn text(
    operator: &dyn Operator,
    form: &OperatorForm,
    operands: &[String],
    choices: &mut Choices,
    run: &PlainRun,
) -> String {
    let tick = if operator.needs_micro() { run.micro_tick } else { run.tick };
    let mut left = operands.to_vec();
    let mut operand = |choices: &mut Choices| {
        let at = choices.below(left.len());
        if operator.allows_same_operand() { left[at].clone() } else { left.swap_remove(at) }
    };
    let mut words: Vec<String> = Vec::new();
    for word in form.pattern.split(' ') {
        match word {
            "A" | "B" => words.push(operand(choices)),
            "…" => {
                let separator = words[words.len() - 2].clone();
                for _ in 0..choices.below(operands.len() - 1).min(2) {
                    words.extend([separator.clone(), operand(choices)]);
                }
            }
            "N" => words.push((1 + choices.below(5)).to_string()),
            "D" => {
                // Whole ticks, and a bit more or less.
                let ticks = choices.one_of(&[1, 2, 3, 7, 20, 41]);
                let length = ticks * tick + choices.one_of(&[0, 0, 1, 250]);
                words.push(format!("{length}fs"));
            }
            "LO..HI" => {
                let low = choices.one_of(&[-30, -5, -1, 0, 0, 1, 4]) * tick
                    + choices.one_of(&[0, 0, 1, -1]);
                let longest = if operator.needs_micro() { 5_000_000_000 } else { 35 };
                let high =
                    low + choices.one_of(&[1, 2, 5, longest]) * tick + choices.one_of(&[0, 0, 1]);
                words.push(format!("{low}fs..{high}fs"));
            }
            literal => words.push(literal.to_owned()),
        }
    }
    words.join(" ")
}

/// Channels are known by their numbers alone.
pub(crate) fn resolve(operand: &Operand) -> Option<u16> {
    match operand {
        Operand::Number(number) => Some(*number),
        Operand::Name(_) => None,
    }
}

/// Random definitions, each of which may need any other one that was made before it.
pub(crate) fn definitions(choices: &mut Choices, run: &PlainRun, most: usize) -> Definitions {
    let channels: Vec<String> = CHANNELS.iter().map(ToString::to_string).collect();
    let (mut derived, mut gates) = (Vec::new(), Vec::new());
    for number in 0..=choices.below(most) {
        let named =
            |texts: &[(String, String)]| texts.iter().map(|(name, _)| name.clone()).collect();
        let names: Vec<String> = named(&derived);
        let gate_names: Vec<String> = named(&gates);
        let operator = choices.one_of(&OPERATORS);
        let operands = match operator.takes() {
            Role::Channel if operator.needs_micro() => channels.clone(),
            Role::Channel => [channels.clone(), names].concat(),
            Role::Gate => gate_names,
        };
        if operands.len() < 2 {
            continue;
        }
        let form = choices.one_of(operator.forms());
        let text = text(operator, &form, &operands, choices, run);
        let of_role = match operator.makes() {
            Role::Channel => &mut derived,
            Role::Gate => &mut gates,
        };
        // The order of definitions is not that of needs.
        let at = choices.below(of_role.len() + 1);
        of_role.insert(at, (format!("d{number}"), text));
    }
    Definitions::new(
        derived.iter().map(|(name, text)| (name.as_str(), text.as_str())),
        gates.iter().map(|(name, text)| (name.as_str(), text.as_str())),
        resolve,
    )
    .unwrap()
}

/// All derived channels and two real ones, each with a label of its own.
pub(crate) fn outputs(definitions: &Definitions) -> Vec<LabelledOrigin> {
    let derived = (0..definitions.list().len())
        .filter(|&at| definitions.list()[at].role() == Role::Channel)
        .map(Origin::Definition);
    let all = derived.chain([Origin::Channel(300), Origin::Channel(1)]);
    let mut outputs: Vec<LabelledOrigin> =
        all.zip(1000..).map(|(origin, label)| LabelledOrigin { origin, label }).collect();
    // Their order does not matter.
    outputs.reverse();
    outputs
}

/// The expected output: (time, row, label) in the order of outputs.
pub(crate) fn expected(
    run: &PlainRun,
    definitions: &Definitions,
    outputs: &[LabelledOrigin],
) -> Vec<(i64, u64, u16)> {
    let mut all = Vec::new();
    for output in outputs {
        for (time, row) in run.list(definitions, output.origin) {
            // Real tags by rows come before derived ones by definitions.
            let (is_derived, at) = match output.origin {
                Origin::Channel(_) => (false, 0),
                Origin::Definition(at) => (true, at),
            };
            all.push((time, is_derived, at, row, output.label));
        }
    }
    all.sort_unstable();
    all.into_iter().map(|(time, _, _, row, label)| (time, row, label)).collect()
}

pub(crate) fn found(out: &LabelledTags) -> Vec<(i64, u64, u16)> {
    let columns = out.times.iter().zip(&out.rows).zip(&out.labels);
    columns.map(|((&time, &row), &label)| (time, row, label)).collect()
}

/// The columns of a part of a recording.
pub(crate) struct PlainColumns {
    times: Vec<i64>,
    rows: Vec<u64>,
    labels: Vec<u16>,
    micro: Vec<u32>,
}

impl PlainColumns {
    pub(crate) fn new(tags: &[PlainTag]) -> Self {
        Self {
            times: tags.iter().map(|tag| tag.time).collect(),
            rows: tags.iter().map(|tag| tag.row).collect(),
            labels: tags.iter().map(|tag| tag.label).collect(),
            micro: tags.iter().map(|tag| tag.micro).collect(),
        }
    }

    pub(crate) fn batch(&self) -> TagBatch<'_> {
        let Self { times, rows, labels, micro } = self;
        TagBatch { times, rows, labels, micro: Some(micro) }
    }
}

/// A frontier for the tags before index `end`, not before `since`.
pub(crate) fn frontier(
    tags: &[PlainTag],
    end: usize,
    since: Frontier,
    choices: &mut Choices,
) -> Frontier {
    let Some(next) = tags.get(end) else { return Frontier::End };
    let back = choices.one_of(&[0, 0, 1, 7, 100]);
    Frontier::Before(next.time.saturating_sub(back)).max(since)
}

/// Evaluates a recording at once.
pub(crate) fn evaluate(
    run: &PlainRun,
    definitions: &Definitions,
    outputs: &[LabelledOrigin],
) -> Vec<(i64, u64, u16)> {
    let mut network = Network::new(definitions, outputs, &units(run)).unwrap();
    let mut out = LabelledTags::default();
    let columns = PlainColumns::new(&run.tags);
    network.advance(columns.batch(), Frontier::End, &mut out).unwrap();
    found(&out)
}
