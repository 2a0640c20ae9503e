//! Each operator of the list alone, for all channels as operands.

use proptest::prelude::*;
use tagq_derived::{Definitions, OPERATORS, Role};
use tagq_sampling::random_cases;

use crate::scenario::{self, CHANNELS, Choices};

/// Definitions of `operator` by each of its forms.
fn of_operator(number: usize, choices: &mut Choices, run: &crate::plain::PlainRun) -> Definitions {
    let operator = OPERATORS[number];
    let operands: Vec<String> = CHANNELS.iter().map(ToString::to_string).collect();
    let forms = operator.forms().iter().enumerate();
    let texts: Vec<(String, String)> = forms
        .map(|(at, form)| {
            (format!("d{at}"), scenario::text(operator, form, &operands, choices, run))
        })
        .collect();
    let texts = texts.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    Definitions::new(texts, [], scenario::resolve).unwrap()
}

proptest! {
    #![proptest_config(random_cases(1500))]

    #[test]
    fn each_operator_equals_its_plain_loop(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        for (number, operator) in OPERATORS.iter().enumerate() {
            if operator.makes() == Role::Channel {
                let definitions = of_operator(number, &mut choices, &run);
                let outputs = scenario::outputs(&definitions);
                let found = scenario::evaluate(&run, &definitions, &outputs);
                let expected = scenario::expected(&run, &definitions, &outputs);
                prop_assert_eq!(found, expected, "{:?}", definitions);
            }
        }
    }
}
