//! Texts of definitions: every form of every operator, and every error.

use proptest::prelude::*;
use tagq_derived::{Definitions, Error, Expression, OPERATORS, Operand, Origin, Role, TimeUnits};
use tagq_store::Tick;

use crate::scenario;

fn error(text: &str) -> String {
    text.parse::<Expression>().unwrap_err().to_string()
}

fn set(derived: &[(&str, &str)], gates: &[(&str, &str)]) -> Result<Definitions, Error> {
    let resolve = |operand: &Operand| match operand {
        Operand::Number(number) => (*number < 100).then_some(*number),
        Operand::Name(name) => (name == "Alice").then_some(3),
    };
    Definitions::new(derived.iter().copied(), gates.iter().copied(), resolve)
}

fn set_error(derived: &[(&str, &str)], gates: &[(&str, &str)]) -> String {
    set(derived, gates).unwrap_err().to_string()
}

#[test]
fn the_examples_of_the_operators_are_canonical() {
    let mut keys = Vec::new();
    for operator in OPERATORS {
        keys.push(operator.key());
        assert!(!operator.summary().is_empty() && !operator.summary().ends_with('.'));
        for form in operator.forms() {
            let expression: Expression = form.example.parse().unwrap();
            assert_eq!(expression.to_string(), form.example);
            assert_eq!(expression.operator().key(), operator.key());
        }
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), OPERATORS.len());
}

/// The list in the documentation has the examples and summaries of the operators.
#[test]
fn each_operator_is_documented() {
    let docs = include_str!("../../../../docs/queries.md");
    for operator in OPERATORS {
        for form in operator.forms() {
            assert!(docs.contains(&format!("`{}`", form.example)), "{}", form.example);
        }
    }
}

#[test]
fn blanks_do_not_matter() {
    for (text, canonical) in [
        ("1|2", "1 | 2"),
        ("  1 |2|  Alice ", "1 | 2 | Alice"),
        ("1&2 within 2 ns", "1 & 2 within 2 ns"),
        ("8/1000", "8 / 1000"),
        ("3 if 7 in 0..100ns", "3 if 7 in 0..100ns"),
        ("3 if 7 in -1 ns .. 1.5 us", "3 if 7 in -1 ns..1.5 us"),
        ("a..b", "a .. b"),
        ("\"two words\"..\"a \"\"b\"\"\"", "\"two words\" .. \"a \"\"b\"\"\""),
        ("not\"and\"", "not \"and\""),
        ("\"plain\" for 13t", "plain for 13t"),
    ] {
        let expression: Expression = text.parse().unwrap();
        assert_eq!(expression.to_string(), canonical);
        assert_eq!(canonical.parse::<Expression>().unwrap(), expression);
    }
}

#[test]
fn errors_quote_the_text_and_say_what_is_allowed() {
    for (text, expected) in [
        ("", "`` has no operator; write a definition like one of these: `1 | 2`, "),
        ("1 2", "`1 2` has no operator"),
        ("1 | 2 & 3", "`1 | 2 & 3` has the operators `|` and `&`; a definition has one"),
        ("1 &", "`1 &` does not have the form `A & B … within D`; an example: 1 & 2 within 2ns"),
        ("1 & 2", "`1 & 2` does not have the form"),
        ("1 | 2 |", "`1 | 2 |` does not have the form"),
        ("1 | 2 3", "`1 | 2 3` does not have the form"),
        ("3 if 7", "the form `A if B in LO..HI` or `A if B within D`; an example: 3 if 7 in"),
        ("1 .. 2 .. 3", "`1 .. 2 .. 3` does not have the form `A .. B`"),
        ("a.b | 2", "`a.b` in `a.b | 2` is neither a channel number nor a plain word"),
        ("\"a | 2", "`\"a | 2` has a double quote without its end"),
        ("65536 | 2", "channel 65536 in `65536 | 2` is out of range; channels are 0 to 65535"),
        ("8 / 0", "`0` in `8 / 0` is out of range; `/` takes a whole number from 1 to 4294967295"),
        ("8 / 1.5", "`1.5` in `8 / 1.5` is out of range"),
        ("8 / +5", "`+5` in `8 / +5` is out of range"),
        ("3 dead 40", "in `3 dead 40`: `40` has no unit; write 40ns, "),
        ("3 dead 40xs", "no unit is called `xs`"),
        ("3 if 7 in 0ns", "does not have the form"),
    ] {
        let found = error(text);
        assert!(found.contains(expected), "{found}");
    }
    let many = (0..17).map(|n| n.to_string()).collect::<Vec<_>>().join(" & ");
    assert!(error(&format!("{many} within 2ns")).contains("has 17 operands; `&` takes at most 16"));
}

#[test]
fn a_set_is_resolved_and_checked() {
    let definitions = set(&[("b", "a / 2"), ("a", "1 | Alice")], &[("g", "b .. a")]).unwrap();
    let operands = |at: usize| definitions.list()[at].operands.clone();
    assert_eq!(operands(0), [Origin::Definition(1)]);
    assert_eq!(operands(1), [Origin::Channel(1), Origin::Channel(3)]);
    assert_eq!(operands(2), [Origin::Definition(0), Origin::Definition(1)]);
    let closure = definitions.closure(&[Origin::Definition(2), Origin::Channel(7)]);
    assert_eq!((closure.channels, closure.definitions), (vec![1, 3, 7], vec![1, 0]));
    assert_eq!((closure.gates, closure.markers.len()), (vec![2], 2));
    assert_eq!(definitions.list()[2].role(), Role::Gate);
    let needs_micro = set(&[("m", "5 micro 0ns..1ns")], &[]).unwrap();
    assert_eq!(needs_micro.closure(&[Origin::Definition(0)]).micro, [5]);
    for (derived, gates, expected) in [
        (
            &[("a", "1 | x")][..],
            &[][..],
            "definition of `a`: `x` in `1 | x` is neither a channel nor a definition; definitions are: a",
        ),
        (&[("a", "1 | 100")], &[], "`100` in `1 | 100` is neither"),
        (
            &[("a", "b / 2"), ("b", "c / 2"), ("c", "b / 3"), ("d", "a / 2")],
            &[],
            "in a circle: b → c → b;",
        ),
        (&[("a", "a / 2")], &[], "in a circle: a → a;"),
        (&[("a", "1 / 2"), ("a", "1 / 3")], &[], "two definitions have the name `a`"),
        (&[("a", "1 / 2")], &[("a", "1 .. 2")], "two definitions have the name `a`"),
        (
            &[("Alice", "1 / 2")],
            &[],
            "`Alice` is the name of channel 3; give the definition another name",
        ),
        (&[("1a", "1 / 2")], &[], "`1a` cannot name a definition"),
        (
            &[("a", "1 .. 2")],
            &[],
            "`1 .. 2` makes a gate; definitions in [derived] make channels: move it to [gates]",
        ),
        (
            &[],
            &[("a", "1 / 2")],
            "`1 / 2` makes a channel; definitions in [gates] make gates: move it to [derived]",
        ),
        (&[("a", "g / 2")], &[("g", "1 .. 2")], "`g` in `g / 2` is a gate; `/` takes channels"),
        (&[], &[("g", "not 1")], "`1` in `not 1` is a channel; `not` takes gates"),
        (
            &[("a", "1 & 1 within 2ns")],
            &[],
            "`1` stands twice in `1 & 1 within 2ns`; the operands of `&` are different",
        ),
        (&[("a", "Alice | 3")], &[], "`3` stands twice"),
        (
            &[("a", "1 / 2"), ("b", "a micro 0ns..1ns")],
            &[],
            "`a` in `a micro 0ns..1ns` is a derived channel",
        ),
    ] {
        let found = set_error(derived, gates);
        assert!(found.contains(expected), "{found}");
    }
    let many: Vec<String> = (0..1001).map(|at| format!("d{at}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "1 / 2")).collect();
    assert!(set_error(&many, &[]).contains("1001 definitions; at most 1000 are allowed"));
}

#[test]
fn durations_are_checked_against_the_tick() {
    let check = |text: &str| {
        let units = TimeUnits { tick: Tick::DEFAULT, micro_tick: None };
        let is_gate = text.contains(" for ");
        let (derived, gates) =
            if is_gate { (vec![], vec![("d", text)]) } else { (vec![("d", text)], vec![]) };
        set(&derived, &gates).unwrap().check(&units).unwrap_err().to_string()
    };
    for (text, expected) in [
        (
            "1 dead -1ns",
            "definition of `d`: `-1ns` is too short; `dead` takes a duration of zero or more",
        ),
        ("1 for 0ns", "`0ns` is too short; `for` takes a duration longer than zero"),
        ("1 & 2 within 100ps", "shorter than one tick"),
        ("1 & 2 within -2ns", "negative"),
        (
            "1 if 2 in 5ns..5ns",
            "the range 5ns..5ns holds no whole number of ticks; its end must be after its start, at least one tick of 156.25 ps",
        ),
        ("1 if 2 in 160ps..300ps", "holds no whole number of ticks"),
        ("1 dead 9000000000000000000t", "`9000000000000000000t` is too long"),
        ("1 micro 0ns..2ns", "`micro` needs micro times, and the run has none"),
    ] {
        let found = check(text);
        assert!(found.contains(expected), "{found}");
    }
    assert!(
        set(&[("d", "1 dead 0ns")], &[])
            .unwrap()
            .check(&TimeUnits { tick: Tick::DEFAULT, micro_tick: None })
            .is_ok()
    );
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z_][a-z0-9_-]{0,5}",
        "\\PC{1,6}",
        Just("if".to_owned()),
        Just("1".to_owned())
    ]
}

proptest! {
    #[test]
    fn canonical_texts_are_read_back(names in proptest::collection::vec(name(), 4), mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let operands: Vec<String> = names.iter().map(|name| Operand::Name(name.clone()).to_string()).collect();
        for operator in OPERATORS {
            for form in operator.forms() {
                let text = scenario::text(operator, form, &operands, &mut choices, &run);
                let expression: Expression = text.parse().unwrap();
                prop_assert!(expression.operands().iter().all(|operand| matches!(operand, Operand::Name(name) if names.contains(name))));
                prop_assert_eq!(&expression.to_string(), &text);
                prop_assert_eq!(expression.operator().key(), operator.key());
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|[|&/.\" ]|within|if|dead|not|\\d){0,24}") {
        if let Ok(expression) = text.parse::<Expression>() {
            let canonical = expression.to_string();
            prop_assert_eq!(canonical.parse::<Expression>().unwrap().to_string(), canonical);
        }
    }
}
