//! Gates in batches and from saved states against plain loops.

use proptest::prelude::*;
use tagq_derived::{
    Definitions, Error, Frontier, GateNetwork, Intervals, LabelledOrigin, LabelledTags, Network,
    Role, TimeUnits,
};
use tagq_sampling::random_cases;
use tagq_store::{Tick, sealed};

use crate::scenario::{self, PlainColumns};

fn gates_of(definitions: &Definitions) -> Vec<usize> {
    let all = 0..definitions.list().len();
    all.filter(|&at| definitions.list()[at].role() == Role::Gate).collect()
}

proptest! {
    #![proptest_config(random_cases(1500))]

    #[test]
    fn gates_equal_their_plain_loops(mut choices in scenario::choices()) {
        let run = scenario::recording(&mut choices);
        let definitions = scenario::definitions(&mut choices, &run, 9);
        let gates = gates_of(&definitions);
        let wanted: Vec<_> = gates.iter().map(|&gate| tagq_derived::Origin::Definition(gate)).collect();
        let markers = definitions.closure(&wanted).markers;
        let label = |(origin, label)| LabelledOrigin { origin, label };
        let markers: Vec<LabelledOrigin> = markers.into_iter().zip(50..).map(label).collect();
        let units = scenario::units(&run);
        let mut network = Network::new(&definitions, &markers, &units).unwrap();
        let new_gates = || GateNetwork::new(&definitions, &gates, &markers, &units).unwrap();
        let mut gate_network = new_gates();
        let mut found = vec![Intervals::never(); gates.len()];
        let (mut start, mut until) = (0, Frontier::START);
        while start < run.tags.len() {
            let end = run.tags.len().min(start + choices.below(12));
            until = scenario::frontier(&run.tags, end, until, &mut choices);
            let mut out = LabelledTags::default();
            let columns = PlainColumns::new(&run.tags[start..end]);
            let known = network.advance(columns.batch(), until, &mut out).unwrap();
            gate_network.advance(&out.times, &out.labels, known, &mut found).unwrap();
            for intervals in &found {
                prop_assert!(intervals.bounds().iter().all(|&bound| known.is_after(bound)));
            }
            start = end;
            if choices.below(2) == 0 {
                gate_network = new_gates().restored(&gate_network.save()).unwrap();
            }
        }
        let mut out = LabelledTags::default();
        network.finish(&mut out).unwrap();
        gate_network.advance(&out.times, &out.labels, Frontier::End, &mut found).unwrap();
        let first = run.tags.first().map_or(0, |tag| tag.time);
        let last = run.tags.last().map_or(0, |tag| tag.time);
        let near = run.tags.iter().flat_map(|tag| [tag.time.saturating_sub(1), tag.time.saturating_add(1)]);
        let bounds = found.iter().flat_map(|found| found.bounds().to_vec());
        let around = bounds.flat_map(|bound| [bound.saturating_sub(1), bound]);
        let times = near.chain(around).chain([first, last, i64::MIN, i64::MAX]).collect::<Vec<_>>();
        for (intervals, &gate) in found.iter().zip(&gates) {
            prop_assert!(Intervals::from_bounds(intervals.bounds().to_vec()).is_some());
            let expected = run.is_open(&definitions, gate, &times);
            for (&time, expected) in times.iter().zip(expected) {
                prop_assert_eq!(intervals.contains(time), expected, "{} at {}", gate, time);
            }
        }
        let saved = gate_network.save();
        let at = choices.below(saved.len());
        let mut damaged = saved.clone();
        damaged[at] ^= 1 << choices.below(8);
        prop_assert_eq!(new_gates().restored(&damaged).err(), Some(Error::Damaged));
        prop_assert_eq!(new_gates().restored(&saved[..at]).err(), Some(Error::Damaged));
        let mut forged = saved;
        let at = 16 + choices.below(forged.len() - 16);
        forged[at] = choices.one_of(&[0, 1, 2, 0x7f, 0x80, 0xff]);
        let _ = new_gates().restored(&sealed::seal(forged));
    }
}

const UNITS: TimeUnits = TimeUnits { tick: Tick::DEFAULT, micro_tick: None };

#[test]
fn a_marker_at_both_ends_keeps_the_gate_open() {
    let definitions = Definitions::new(
        [],
        [("g", "1 .. 2"), ("h", "1 for 10t"), ("i", "not h")],
        scenario::resolve,
    );
    let definitions = definitions.unwrap();
    let markers =
        [1, 2].map(|label| LabelledOrigin { origin: tagq_derived::Origin::Channel(label), label });
    let mut network = GateNetwork::new(&definitions, &[0, 1, 2], &markers, &UNITS).unwrap();
    let mut gates = vec![Intervals::never(); 3];
    let (times, labels) = ([5, 10, 15, 15, 20, 30, 40], [2, 1, 2, 1, 2, 1, 1]);
    network.advance(&times, &labels, Frontier::Before(50), &mut gates).unwrap();
    network.finish(&mut gates).unwrap();
    assert_eq!(gates[0].bounds(), [10, 20, 30]);
    // 10 to 20 and 15 to 25; 30 to 40 touches 40 to 50.
    assert_eq!(gates[1].bounds(), [10, 25, 30, 50]);
    assert_eq!(gates[2].bounds(), [i64::MIN, 10, 25, 30, 50]);
    let error = network.advance(&[60], &[1], Frontier::End, &mut gates).unwrap_err();
    assert!(matches!(error, Error::Unordered { time: 60, .. }), "{error}");
    let error = GateNetwork::new(&definitions, &[0], &markers[..1], &UNITS).err().unwrap();
    assert_eq!(error.to_string(), "the tags of channel 2, which a gate needs, have no label");
}
