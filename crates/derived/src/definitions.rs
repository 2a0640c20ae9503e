//! A set of named definitions: resolved, checked and in an order in which they can be evaluated.
//!
//! `pair` = `Alice & clean within 2ns` and `clean` = `15 dead 40ns`: `clean` is evaluated before `pair`, in whatever
//! order they are given. Definitions that need each other in a circle are refused, so evaluation is one pass in that
//! order.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::Error,
    grammar::expression::{Expression, Operand, sign_of},
    operators::{Operation, Role},
    units::TimeUnits,
};

/// The largest number of definitions.
const DEFINITIONS_MAX: usize = 1000;

/// A channel of the run, or a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The label of a channel.
    Channel(u16),
    /// The index of a definition in [`Definitions::list`].
    Definition(usize),
}

/// A definition of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDefinition {
    /// Its name.
    pub name: String,
    /// The definition as it is written.
    pub expression: Expression,
    /// Its operands, in the order of the expression.
    pub operands: Vec<Origin>,
}

impl NamedDefinition {
    /// Returns whether it is a channel or a gate.
    pub fn role(&self) -> Role {
        self.expression.operator().makes()
    }

    /// Returns whether it has the statistics of light if its operands have.
    pub fn keeps_statistics(&self) -> bool {
        self.expression.operator().keeps_statistics()
    }

    /// Returns whether its intervals are from a tag of its first operand to one of its second, also where they touch.
    pub fn is_from_tag_to_tag(&self) -> bool {
        self.expression.operator().is_from_tag_to_tag()
    }

    /// Starts its evaluation.
    pub(crate) fn start(&self, units: &TimeUnits) -> Result<Operation, Error> {
        let operation =
            self.expression.operator().start(self.operands.len(), self.expression.setting(), units);
        operation.map_err(|error| in_definition(&self.name, error))
    }
}

/// Definitions of channels and gates, all by names.
///
/// ```
/// use tagq_derived::{Definitions, Operand, Origin};
///
/// // Channel numbers are labels, and one channel has a name.
/// let resolve = |operand: &Operand| match operand {
///     Operand::Number(number) => Some(*number),
///     Operand::Name(name) => (name == "Alice").then_some(3),
/// };
/// let derived = [("pair", "Alice & clean within 2ns"), ("clean", "15 dead 40ns")];
/// let definitions = Definitions::new(derived, [("near pairs", "pair for 1us")], resolve)?;
/// let pair = definitions.find("pair").map(Origin::Definition);
/// let needed = definitions.closure(&[pair.ok_or("pair is defined")?]);
/// assert_eq!((needed.channels, needed.definitions), (vec![3, 15], vec![1, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    list: Vec<NamedDefinition>,
    /// The definitions, each after those that it needs.
    order: Vec<usize>,
}

/// The channels and definitions that some outputs need, with these outputs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Closure {
    /// The labels of channels of the run, ascending.
    pub channels: Vec<u16>,
    /// Those channels of them whose micro times are needed.
    pub micro: Vec<u16>,
    /// The definitions of channels, each after those that it needs.
    pub definitions: Vec<usize>,
    /// The definitions of gates, each after those that it needs.
    pub gates: Vec<usize>,
    /// The channels and derived channels whose tags the gates need.
    pub markers: Vec<Origin>,
}

impl Definitions {
    /// Parses, resolves and checks definitions, given as names and texts. `resolve` returns the label of a channel of
    /// the run; names of definitions are not passed to it as operands.
    pub fn new<'a>(
        derived: impl IntoIterator<Item = (&'a str, &'a str)>,
        gates: impl IntoIterator<Item = (&'a str, &'a str)>,
        resolve: impl Fn(&Operand) -> Option<u16>,
    ) -> Result<Self, Error> {
        let derived = derived.into_iter().map(|text| (Role::Channel, text));
        let gates = gates.into_iter().map(|text| (Role::Gate, text));
        let mut definitions = Self::default();
        for (section, (name, text)) in derived.chain(gates) {
            let expression: Expression =
                text.parse().map_err(|error| in_definition(name, error))?;
            check_section(&expression, section).map_err(|error| in_definition(name, error))?;
            let name = name.to_owned();
            definitions.list.push(NamedDefinition { name, expression, operands: Vec::new() });
        }
        definitions.check_names(&resolve)?;
        definitions.resolve(&resolve)?;
        definitions.order = definitions.in_order()?;
        Ok(definitions)
    }

    /// Returns the definitions in the order given, channels first.
    pub fn list(&self) -> &[NamedDefinition] {
        &self.list
    }

    /// Returns the index of a definition.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|definition| definition.name == name)
    }

    /// Checks all durations against the units of a run.
    pub fn check(&self, units: &TimeUnits) -> Result<(), Error> {
        self.list.iter().try_for_each(|definition| definition.start(units).map(|_| ()))
    }

    /// Returns all that these channels and definitions need.
    ///
    /// # Panics
    /// If there is no such definition.
    pub fn closure(&self, wanted: &[Origin]) -> Closure {
        let mut needed: BTreeSet<Origin> = wanted.iter().copied().collect();
        let (mut micro, mut markers) = (BTreeSet::new(), BTreeSet::new());
        for &at in self.order.iter().rev() {
            if !needed.contains(&Origin::Definition(at)) {
                continue;
            }
            let definition = &self.list[at];
            let operator = definition.expression.operator();
            needed.extend(&definition.operands);
            if operator.needs_micro() {
                micro.extend(&definition.operands);
            }
            if operator.makes() == Role::Gate && operator.takes() == Role::Channel {
                markers.extend(&definition.operands);
            }
        }
        let of_role = |role| {
            let definitions = self.order.iter().copied();
            let needed = definitions.filter(|&at| needed.contains(&Origin::Definition(at)));
            needed.filter(|&at| self.list[at].role() == role).collect()
        };
        let labels = |origins: &BTreeSet<Origin>| {
            let labels = origins.iter().filter_map(|origin| match origin {
                Origin::Channel(label) => Some(*label),
                Origin::Definition(_) => None,
            });
            labels.collect()
        };
        Closure {
            channels: labels(&needed),
            micro: labels(&micro),
            definitions: of_role(Role::Channel),
            gates: of_role(Role::Gate),
            markers: markers.into_iter().collect(),
        }
    }

    /// Returns a definition as text with the labels of channels, for messages and for comparison of states.
    pub(crate) fn describe(&self, at: usize) -> String {
        let definition = &self.list[at];
        format!("{} = {} {:?}", definition.name, definition.expression, definition.operands)
    }

    /// Returns the name of a channel or definition for messages.
    pub(crate) fn name_of(&self, origin: Origin) -> String {
        match origin {
            Origin::Channel(label) => format!("channel {label}"),
            Origin::Definition(at) => format!("`{}`", self.list[at].name),
        }
    }

    fn check_names(&self, resolve: &impl Fn(&Operand) -> Option<u16>) -> Result<(), Error> {
        if self.list.len() > DEFINITIONS_MAX {
            return Err(Error::TooMany { count: self.list.len(), most: DEFINITIONS_MAX });
        }
        let mut names = BTreeSet::new();
        for NamedDefinition { name, .. } in &self.list {
            if !is_name(name) {
                return Err(Error::Name { name: name.clone() });
            }
            if !names.insert(name) {
                return Err(Error::SameName { name: name.clone() });
            }
            if let Some(channel) = resolve(&Operand::Name(name.clone())) {
                return Err(Error::NameOfChannel { name: name.clone(), channel });
            }
        }
        Ok(())
    }

    fn resolve(&mut self, resolve: &impl Fn(&Operand) -> Option<u16>) -> Result<(), Error> {
        let names = self.list.iter().enumerate().map(|(at, named)| (named.name.as_str(), at));
        let names: BTreeMap<&str, usize> = names.collect();
        let operands = self.list.iter().map(|definition| {
            let of = |operand: &Operand| {
                let named = match operand {
                    Operand::Name(name) => names.get(name.as_str()).copied(),
                    Operand::Number(_) => None,
                };
                named.map(Origin::Definition).or_else(|| resolve(operand).map(Origin::Channel))
            };
            let operands = self.operands_of(&definition.expression, of);
            operands.map_err(|error| in_definition(&definition.name, error))
        });
        let operands: Vec<Vec<Origin>> = operands.collect::<Result<_, Error>>()?;
        for (definition, operands) in self.list.iter_mut().zip(operands) {
            definition.operands = operands;
        }
        Ok(())
    }

    /// Resolves the operands of an expression, and checks that its operator takes them.
    fn operands_of(
        &self,
        expression: &Expression,
        resolve: impl Fn(&Operand) -> Option<Origin>,
    ) -> Result<Vec<Origin>, Error> {
        let operator = expression.operator();
        let text = expression.to_string();
        let mut origins = Vec::new();
        for operand in expression.operands() {
            let text = text.clone();
            let Some(origin) = resolve(operand) else {
                let known: Vec<&str> = self.list.iter().map(|named| named.name.as_str()).collect();
                let operand = operand.to_string();
                return Err(Error::Unknown { text, operand, known: known.join(", ") });
            };
            let found = match origin {
                Origin::Channel(_) => Role::Channel,
                Origin::Definition(at) => self.list[at].role(),
            };
            let operand = operand.to_string();
            if found != operator.takes() {
                return Err(Error::WrongOperand {
                    text,
                    operand,
                    found: found.name(),
                    operator: sign_of(operator),
                    expected: operator.takes().name(),
                });
            }
            if operator.needs_micro() && matches!(origin, Origin::Definition(_)) {
                return Err(Error::DerivedMicro { text, operand });
            }
            if !operator.allows_same_operand() && origins.contains(&origin) {
                return Err(Error::SameOperand { text, operand, operator: sign_of(operator) });
            }
            origins.push(origin);
        }
        Ok(origins)
    }

    /// Returns the definitions in an order in which each is after those that it needs.
    fn in_order(&self) -> Result<Vec<usize>, Error> {
        let needs = |at: usize| {
            let operands = self.list[at].operands.iter();
            operands.filter_map(|operand| match *operand {
                Origin::Channel(_) => None,
                Origin::Definition(other) => Some(other),
            })
        };
        let mut order = Vec::new();
        let mut is_done = vec![false; self.list.len()];
        while order.len() < self.list.len() {
            let ready = (0..self.list.len())
                .find(|&at| !is_done[at] && needs(at).all(|other| is_done[other]));
            match ready {
                Some(at) => {
                    is_done[at] = true;
                    order.push(at);
                }
                None => return Err(self.circle(&is_done, needs)),
            }
        }
        Ok(order)
    }

    /// Returns the error for definitions that need each other: those that are left all need another one of them.
    fn circle<I: Iterator<Item = usize>>(
        &self,
        is_done: &[bool],
        needs: impl Fn(usize) -> I,
    ) -> Error {
        let mut path: Vec<usize> = Vec::new();
        let mut next = is_done.iter().position(|is_done| !is_done);
        while let Some(at) = next {
            if let Some(start) = path.iter().position(|&other| other == at) {
                path.drain(..start);
                path.push(at);
                break;
            }
            path.push(at);
            next = needs(at).find(|&other| !is_done[other]);
        }
        let names: Vec<&str> = path.iter().map(|&at| self.list[at].name.as_str()).collect();
        Error::Circle { path: names.join(" → ") }
    }
}

fn in_definition(name: &str, error: Error) -> Error {
    Error::Definition { name: name.to_owned(), error: Box::new(error) }
}

fn check_section(expression: &Expression, section: Role) -> Result<(), Error> {
    let made = expression.operator().makes();
    if made == section {
        return Ok(());
    }
    Err(Error::WrongSection {
        text: expression.to_string(),
        made: made.name(),
        section: section.section(),
        expected: section.name(),
        other: made.section(),
    })
}

/// Returns whether a definition can have a name: the rule of names of channels (docs/runs.md, "Setup").
fn is_name(name: &str) -> bool {
    let is_bad_first = |letter: char| letter.is_ascii_digit() || letter == '-';
    !name.trim().is_empty()
        && !name.starts_with(is_bad_first)
        && !name.contains(|letter: char| letter == ',' || letter == '=' || letter.is_control())
}
