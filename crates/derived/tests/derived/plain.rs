//! The definitions of docs/queries.md, "Derived channels and gates", as loops that are as plain as possible.

use tagq_derived::{Definitions, NamedDefinition, Origin, Setting};
use tagq_store::format::MICRO_NONE;

/// A tag of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PlainTag {
    pub time: i64,
    pub row: u64,
    pub label: u16,
    pub micro: u32,
}

/// A recording with its units in femtoseconds.
#[derive(Debug, Clone)]
pub(crate) struct PlainRun {
    pub tags: Vec<PlainTag>,
    pub tick: i128,
    pub micro_tick: i128,
}

/// The length of a text such as `12fs`.
fn femtoseconds(duration: &tagq_store::Duration) -> i128 {
    duration.asked().strip_suffix("fs").unwrap().parse().unwrap()
}

/// The (time, row) of each tag of a channel.
pub(crate) type PlainList = Vec<(i64, u64)>;

impl PlainRun {
    /// The tags of a channel.
    pub(crate) fn list(&self, definitions: &Definitions, origin: Origin) -> PlainList {
        let at = match origin {
            Origin::Channel(channel) => {
                let tags = self.tags.iter().filter(|tag| tag.label == channel);
                return tags.map(|tag| (tag.time, tag.row)).collect();
            }
            Origin::Definition(at) => at,
        };
        let definition = &definitions.list()[at];
        let of = |&origin: &Origin| self.list(definitions, origin);
        let lists: Vec<PlainList> = definition.operands.iter().map(of).collect();
        self.operator(definition, &lists)
    }

    fn operator(&self, definition: &NamedDefinition, lists: &[PlainList]) -> PlainList {
        let setting = definition.expression.setting();
        match definition.expression.operator().key() {
            "merge" => {
                let mut all = lists.concat();
                all.sort_unstable();
                all
            }
            "coincide" => self.coincide(setting, lists),
            "divide" => {
                let Setting::Number(by) = setting else { panic!("{setting:?}") };
                let numbered = (0..).zip(&lists[0]);
                numbered.filter(|(at, _)| at % by == 0).map(|(_, tag)| *tag).collect()
            }
            "dead" => {
                let Setting::Length(dead) = setting else { panic!("{setting:?}") };
                let mut kept: PlainList = Vec::new();
                for tag in &lists[0] {
                    let after = |kept: &(i64, u64)| self.length(tag.0, kept.0);
                    if kept.iter().all(|kept| after(kept) >= femtoseconds(dead)) {
                        kept.push(*tag);
                    }
                }
                kept
            }
            "if" => self.selected(setting, lists, true),
            "unless" => self.selected(setting, lists, false),
            "micro" => {
                let Setting::Range(low, high) = setting else { panic!("{setting:?}") };
                let range = femtoseconds(low)..femtoseconds(high);
                let is_inside = |(_, row): &(i64, u64)| {
                    let tag = self.tags.iter().find(|tag| tag.row == *row).unwrap();
                    let micro = i128::from(tag.micro) * self.micro_tick;
                    tag.micro != MICRO_NONE && range.contains(&micro)
                };
                lists[0].iter().copied().filter(is_inside).collect()
            }
            other => panic!("no plain loop for {other}"),
        }
    }

    /// The time from `before` to `after`.
    fn length(&self, after: i64, before: i64) -> i128 {
        (i128::from(after) - i128::from(before)) * self.tick
    }

    fn coincide(&self, setting: &Setting, lists: &[PlainList]) -> PlainList {
        let Setting::Length(window) = setting else { panic!("{setting:?}") };
        let mut unused = lists.to_vec();
        let mut matches = Vec::new();
        while unused.iter().all(|list| !list.is_empty()) {
            let firsts: Vec<(i64, u64)> = unused.iter().map(|list| list[0]).collect();
            let (earliest, latest) = (firsts.iter().min().unwrap(), firsts.iter().max().unwrap());
            if self.length(latest.0, earliest.0) <= femtoseconds(window) {
                matches.push(*latest);
                for list in &mut unused {
                    list.remove(0);
                }
            } else {
                let at = firsts.iter().position(|first| first == earliest).unwrap();
                unused[at].remove(0);
            }
        }
        matches
    }

    fn selected(&self, setting: &Setting, lists: &[PlainList], keeps: bool) -> PlainList {
        let is_near = |(time, row): &(i64, u64)| {
            lists[1].iter().any(|(other_time, other_row)| {
                let difference = self.length(*other_time, *time);
                let is_inside = match setting {
                    Setting::Range(low, high) => {
                        (femtoseconds(low)..femtoseconds(high)).contains(&difference)
                    }
                    Setting::Length(window) => difference.abs() <= femtoseconds(window),
                    _ => panic!("{setting:?}"),
                };
                is_inside && other_row != row
            })
        };
        lists[0].iter().copied().filter(|tag| is_near(tag) == keeps).collect()
    }

    /// Whether a gate is open at each of these times.
    pub(crate) fn is_open(&self, definitions: &Definitions, gate: usize, at: &[i64]) -> Vec<bool> {
        let definition = &definitions.list()[gate];
        let setting = definition.expression.setting();
        let operands = &definition.operands;
        let times = |operand: usize| -> Vec<i64> {
            let list = self.list(definitions, operands[operand]);
            list.into_iter().map(|(time, _)| time).collect()
        };
        let gates = || -> Vec<Vec<bool>> {
            let gates = operands.iter().map(|&operand| match operand {
                Origin::Definition(gate) => self.is_open(definitions, gate, at),
                Origin::Channel(_) => panic!("a channel in a gate of gates"),
            });
            gates.collect()
        };
        let of_gates = |is_open: fn(&[bool]) -> bool| {
            let gates = gates();
            let at_time = |time| gates.iter().map(|gate| gate[time]).collect::<Vec<bool>>();
            (0..at.len()).map(|time| is_open(&at_time(time))).collect()
        };
        match definition.expression.operator().key() {
            "between" => {
                let (openings, closings) = (times(0), times(1));
                let last = |list: &[i64], at: i64| list.iter().copied().filter(|&t| t <= at).max();
                let is_open = |&time: &i64| {
                    let opening = last(&openings, time);
                    opening.is_some() && opening >= last(&closings, time)
                };
                at.iter().map(is_open).collect()
            }
            "for" => {
                let Setting::Length(length) = setting else { panic!("{setting:?}") };
                let range = 0..femtoseconds(length);
                let tags = times(0);
                let is_open =
                    |&time: &i64| tags.iter().any(|&tag| range.contains(&self.length(time, tag)));
                at.iter().map(is_open).collect()
            }
            "not" => of_gates(|gates| !gates[0]),
            "and" => of_gates(|gates| !gates.contains(&false)),
            "or" => of_gates(|gates| gates.contains(&true)),
            other => panic!("no plain loop for {other}"),
        }
    }
}
