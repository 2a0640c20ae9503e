//! Relations between operators, and rule `once` of the query crate.

use proptest::prelude::*;
use tagq_derived::{Definitions, LabelledOrigin, Origin};
use tagq_query::{Coincidences, Execution, Groups, Kind as _, Recording, Rule, Scope};
use tagq_sampling::random_cases;
use tagq_store::{Channels, Tags};

use crate::{plain::PlainRun, scenario};

/// Evaluates definitions, and returns the (time, row) of each.
fn lists<const N: usize>(run: &PlainRun, texts: [&str; N]) -> [Vec<(i64, u64)>; N] {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let texts = NAMES.into_iter().zip(texts);
    let definitions = Definitions::new(texts, [], scenario::resolve).unwrap();
    let label = |(at, label)| LabelledOrigin { origin: Origin::Definition(at), label };
    let outputs: Vec<LabelledOrigin> = (0..N).zip(0..).map(label).collect();
    let found = scenario::evaluate(run, &definitions, &outputs);
    std::array::from_fn(|at| {
        let of = found.iter().filter(|(.., label)| usize::from(*label) == at);
        of.map(|&(time, row, _)| (time, row)).collect()
    })
}

proptest! {
    #![proptest_config(random_cases(500))]

    #[test]
    fn tags_with_and_without_a_neighbour_are_all_tags(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let [with, without, all, merged] =
            lists(&run, ["1 if 2 in -3t..9t", "1 unless 2 in -3t..9t", "1 / 1", "a | b"]);
        prop_assert_eq!(with.len() + without.len(), all.len());
        prop_assert_eq!(merged, all);
    }

    #[test]
    fn merged_channels_keep_every_tag(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let [merged, twice] = lists(&run, ["1 | 2 | 300 | 4", "1 | a"]);
        prop_assert_eq!(merged.len(), run.tags.len());
        let of_first = run.tags.iter().filter(|tag| tag.label == 1).count();
        prop_assert_eq!(twice.len(), run.tags.len() + of_first);
    }

    #[test]
    fn coincidences_are_those_of_rule_once(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let [pairs, triples] = lists(&run, ["1 & 2 within 7t", "4 & 1 & 300 within 7t"]);
        let times: Vec<i64> = run.tags.iter().map(|tag| tag.time).collect();
        let labels: Vec<u16> = run.tags.iter().map(|tag| tag.label).collect();
        let tags = Tags { time: (&*times).into(), channels: Channels::U16((&labels).into()) };
        let query = Coincidences {
            groups: Groups::Listed(vec![vec![1, 2], vec![4, 1, 300]]),
            rule: Rule::Once,
            window: 7,
            veto: None,
            scope: Scope::default(),
        };
        let counted = query.run(&Recording::from_tags(tags), &Execution::best()).unwrap();
        let counts: Vec<u128> = counted.rows.iter().map(|row| row.count.into()).collect();
        prop_assert_eq!(counts, [pairs.len() as u128, triples.len() as u128]);
    }

    #[test]
    fn a_tag_is_no_neighbour_of_itself(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        // `all` has each tag of channel 1 twice, with one row.
        let [_, _, alone, same] =
            lists(&run, ["1 / 1", "a | 1", "1 unless 1 within 5t", "1 unless b within 5t"]);
        prop_assert_eq!(alone, same);
    }
}
