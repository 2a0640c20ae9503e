//! Look-ups of rows by their times.

use tagq_query::{Error, Lookup};
use tagq_store::{Access, Creation, SourceFacts, Store, Tick, Writer, os};

/// A store of these times, all of channel 1.
fn store(times: &[i64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
    let mut writer = Writer::open(&folder.path().join("run.tagq"), &creation).unwrap();
    for times in times.chunks(100_000) {
        writer.begin_source();
        writer.append(times, &vec![1; times.len()]).unwrap();
        writer.finish_source(SourceFacts::named("by hand"));
    }
    writer.commit().unwrap();
    folder
}

#[test]
fn rows_are_the_first_at_or_after_their_times() {
    let steps: [fn(i64) -> i64; 4] =
        [|_| 3, |i| i % 7, |i| if i % 9_000 == 0 { 1 << 40 } else { i % 2 }, |_| 0];
    for (number, step) in steps.into_iter().enumerate() {
        for rows in [0, 1, 2, 65_535, 65_536, 65_537, 250_000_i64] {
            let mut time = i64::from(u8::try_from(number).unwrap()) - 1_000;
            let times: Vec<i64> = (0..rows)
                .map(|i| {
                    time += step(i);
                    time
                })
                .collect();
            let folder = store(&times);
            let store = Store::open(&folder.path().join("run.tagq"), Access::Mapped).unwrap();
            let lookup = Lookup::of(&store);
            let near = times.iter().step_by(997).chain(times.last());
            let asked = near.flat_map(|&time| [time - 1, time, time + 1]);
            for time in asked.chain([i64::MIN, i64::MAX]) {
                let expected = times.partition_point(|&at| at < time);
                assert_eq!(lookup.row(time).unwrap(), expected, "{number} {rows} {time}");
            }
        }
    }
}

#[test]
fn an_index_of_other_times_is_an_error() {
    let times: Vec<i64> = (0..200_000).collect();
    let folder = store(&times);
    let path = folder.path().join("run.tagq");
    // The last time of the first block.
    let index = std::fs::OpenOptions::new().write(true).open(path.join("blocks.idx")).unwrap();
    os::write_all_at(&index, &7_i64.to_le_bytes(), 4_096 + 8).unwrap();
    let store = Store::open(&path, Access::Copied).unwrap();
    let lookup = Lookup::of(&store);
    assert_eq!(lookup.row(7).unwrap(), 7);
    assert!(matches!(lookup.row(9), Err(Error::Unordered { row: 65_536, block: 1 })));
}
