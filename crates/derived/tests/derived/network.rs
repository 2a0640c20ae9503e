//! Networks of several definitions in batches, from saved states, and in pieces.

use proptest::prelude::*;
use tagq_derived::{
    Definitions, Error, Frontier, LabelledOrigin, LabelledTags, Network, Origin, TagBatch,
    TimeUnits, WAITING_MAX,
};
use tagq_sampling::random_cases;
use tagq_store::{Tick, sealed};

use crate::{
    plain::PlainTag,
    scenario::{self, PlainColumns},
};

const UNITS: TimeUnits = TimeUnits { tick: Tick::DEFAULT, micro_tick: None };

fn network_of(definition: &str) -> Network {
    let definitions = Definitions::new([("d", definition)], [], scenario::resolve).unwrap();
    let outputs = [LabelledOrigin { origin: Origin::Definition(0), label: 9 }];
    Network::new(&definitions, &outputs, &UNITS).unwrap()
}

/// Evaluates tags in batches of random lengths and frontiers, and continues from saved bytes between some.
fn in_batches(
    tags: &[PlainTag],
    network: &mut Network,
    new_network: impl Fn() -> Network,
    choices: &mut scenario::Choices,
    mut check: impl FnMut(&LabelledTags, Frontier),
) -> LabelledTags {
    let mut out = LabelledTags::default();
    let (mut start, mut until) = (0, Frontier::START);
    while start < tags.len() {
        let end = tags.len().min(start + choices.below(12));
        // Tags before the last frontier must have been given.
        until = scenario::frontier(tags, end, until, choices);
        let columns = PlainColumns::new(&tags[start..end]);
        let known = network.advance(columns.batch(), until, &mut out).unwrap();
        check(&out, known);
        start = end;
        if choices.below(2) == 0 {
            *network = new_network().restored(&network.save()).unwrap();
        }
    }
    network.finish(&mut out).unwrap();
    out
}

proptest! {
    #![proptest_config(random_cases(2000))]

    #[test]
    fn batches_and_saved_states_change_nothing(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let definitions = scenario::definitions(&mut choices, &run, 8);
        let outputs = scenario::outputs(&definitions);
        let units = scenario::units(&run);
        let expected = scenario::expected(&run, &definitions, &outputs);
        let new_network = || Network::new(&definitions, &outputs, &units).unwrap();
        let lag = new_network().lag();
        let mut last = Frontier::START;
        let check = |out: &LabelledTags, known: Frontier| {
            assert!(known >= last);
            last = known;
            let known = expected.iter().filter(|(time, ..)| known.is_after(*time)).count();
            assert_eq!(scenario::found(out), expected[..known]);
        };
        let out = in_batches(&run.tags, &mut new_network(), new_network, &mut choices, check);
        prop_assert_eq!(scenario::found(&out), &*expected);
        // The frontier is as late as the lag says.
        let mut network = new_network();
        let columns = PlainColumns::new(&[]);
        let known = network.advance(columns.batch(), Frontier::Before(0), &mut LabelledTags::default());
        prop_assert_eq!(known, Ok(Frontier::Before(-lag)));
    }

    #[test]
    fn pieces_between_gaps_are_independent(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let definitions = scenario::definitions(&mut choices, &run, 5);
        let outputs = scenario::outputs(&definitions);
        let units = scenario::units(&run);
        let new_network = || Network::new(&definitions, &outputs, &units).unwrap();
        let mut found = Vec::new();
        let mut network = new_network();
        let gap = network.fresh_gap();
        let is_fresh = |a: &PlainTag, b: &PlainTag| b.time.saturating_sub(a.time) <= gap;
        for piece in run.tags.chunk_by(is_fresh) {
            network.restart();
            for divider in network.dividers() {
                let list = run.list(&definitions, definitions.list()[divider].operands[0]);
                let before = list.iter().filter(|(time, _)| *time < piece[0].time).count();
                prop_assert!(network.set_counted(divider, before as u64));
                prop_assert_eq!(network.counted(divider), Some(before as u64));
            }
            let out = in_batches(piece, &mut network, new_network, &mut choices, |_, _| ());
            found.extend(scenario::found(&out));
        }
        prop_assert_eq!(found, scenario::expected(&run, &definitions, &outputs));
    }

    #[test]
    fn damaged_states_are_errors_and_never_panics(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let definitions = scenario::definitions(&mut choices, &run, 4);
        let outputs = scenario::outputs(&definitions);
        let units = scenario::units(&run);
        let new_network = || Network::new(&definitions, &outputs, &units).unwrap();
        let (first, rest) = run.tags.split_at(run.tags.len() / 2);
        let until = scenario::frontier(&run.tags, first.len(), Frontier::START, &mut choices);
        let mut network = new_network();
        network.advance(PlainColumns::new(first).batch(), until, &mut LabelledTags::default()).unwrap();
        let saved = network.save();
        let at = choices.below(saved.len());
        let mut damaged = saved.clone();
        damaged[at] ^= 1 << choices.below(8);
        prop_assert_eq!(new_network().restored(&damaged).err(), Some(Error::Damaged));
        prop_assert_eq!(new_network().restored(&saved[..at]).err(), Some(Error::Damaged));
        // With a right checksum, a state is wrong at most.
        let at = 16 + choices.below(saved.len() - 16);
        let mut forged = saved;
        forged[at] = choices.one_of(&[0, 1, 2, 0x7f, 0x80, 0xff]);
        if let Ok(mut network) = new_network().restored(&sealed::seal(forged)) {
            let mut out = LabelledTags::default();
            let _ = network.advance(PlainColumns::new(rest).batch(), Frontier::End, &mut out);
        }
    }
}

#[test]
fn a_state_belongs_to_its_definitions() {
    let saved = network_of("1 / 2").save();
    assert!(network_of("1 / 2").restored(&saved).is_ok());
    assert_eq!(network_of("1 / 3").restored(&saved).err(), Some(Error::OtherState));
    assert_eq!(network_of("2 / 2").restored(&saved).err(), Some(Error::OtherState));
}

#[test]
fn tags_out_of_order_are_refused() {
    let batch = |times: &'static [i64]| TagBatch {
        times,
        rows: &[0, 1][..times.len()],
        labels: &[1, 1][..times.len()],
        micro: None,
    };
    let out = &mut LabelledTags::default();
    let mut network = network_of("1 / 2");
    let error = network.advance(batch(&[5, 4]), Frontier::Before(9), out).unwrap_err();
    assert_eq!(error, Error::Unordered { time: 4, before: 5 });
    let mut network = network_of("1 / 2");
    network.advance(batch(&[5, 20]), Frontier::Before(9), out).unwrap();
    let error = network.advance(batch(&[19]), Frontier::Before(30), out).unwrap_err();
    assert_eq!(error, Error::Unordered { time: 19, before: 20 });
    let error = network.advance(batch(&[20]), Frontier::Before(8), out).unwrap_err();
    assert_eq!(error, Error::Unordered { time: 8, before: 9 });
    network.advance(batch(&[]), Frontier::Before(30), out).unwrap();
    assert!(network.advance(batch(&[29]), Frontier::End, out).is_err());
    let rows = TagBatch { times: &[7, 7], rows: &[4, 3], labels: &[1, 2], micro: None };
    let error = network_of("1 / 2").advance(rows, Frontier::End, out).unwrap_err();
    assert_eq!(error, Error::UnorderedRows { time: 7 });
    let uneven = TagBatch { times: &[1], rows: &[], labels: &[1], micro: None };
    let error = network_of("1 / 2").advance(uneven, Frontier::End, out).unwrap_err();
    assert!(matches!(error, Error::Lengths { times: 1, rows: 0, labels: 1, micro: 1 }));
}

#[test]
fn a_gate_is_no_output_of_a_network() {
    let definitions = Definitions::new([], [("g", "1 for 5ns")], scenario::resolve).unwrap();
    let outputs = [LabelledOrigin { origin: Origin::Definition(0), label: 9 }];
    let error = Network::new(&definitions, &outputs, &UNITS).err().unwrap();
    assert_eq!(error.to_string(), "`g` is a gate; a channel is expected here");
}

/// Tags that are not needed any more are removed, also if much is kept each time.
#[test]
fn a_state_holds_no_more_than_the_reach() {
    let mut network = network_of("1 if 2 in -50t..50t");
    let mut out = LabelledTags::default();
    for batch in 0..200_i64 {
        let tags: Vec<PlainTag> = (0..10)
            .map(|at| batch * 10 + at)
            .map(|time| PlainTag {
                time,
                row: time.unsigned_abs(),
                label: if time % 2 == 0 { 1 } else { 2 },
                micro: 0,
            })
            .collect();
        let until = Frontier::Before((batch + 1) * 10);
        network.advance(PlainColumns::new(&tags).batch(), until, &mut out).unwrap();
        assert!(network.save().len() < 5000, "{}", network.save().len());
    }
    assert!(out.len() > 900);
}

/// Tags that wait for later ones are bounded.
#[test]
fn too_many_tags_that_wait_are_refused() {
    let mut network = network_of("1 if 2 in 0t..1000000000000t");
    let mut out = LabelledTags::default();
    let batch = 1 << 20;
    let mut advance = |from: i64| {
        let times: Vec<i64> = (from..from + batch).collect();
        let rows: Vec<u64> = times.iter().map(|time| time.unsigned_abs()).collect();
        let labels = vec![1; times.len()];
        let tags = TagBatch { times: &times, rows: &rows, labels: &labels, micro: None };
        network.advance(tags, Frontier::Before(from + batch), &mut out)
    };
    let full = i64::try_from(WAITING_MAX).unwrap() / batch;
    for at in 0..full {
        advance(at * batch).unwrap();
    }
    let refused = advance(full * batch).unwrap_err();
    assert!(refused.to_string().contains("definitions hold more than 8388608 tags"), "{refused}");
}
