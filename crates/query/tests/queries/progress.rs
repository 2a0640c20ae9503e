//! Progress of a query, and its cancellation.

use tagq_query::{
    Bins, Coincidences, Error, Execution, Groups, Histogram, Kind as _, Mode, Recording, Rule,
    ScanProgress, Scope, Simd, TimeRange, shortest_intervals,
};
use tagq_store::{Channels, Tags};

const ROWS: i64 = 5_000;
const RANGE: TimeRange = TimeRange { from: Some(600), to: Some(11_400) };

/// Returns two sources with channels 0, 1 and 2 in turn.
fn recording() -> Recording<'static> {
    let time: &[i64] = (0..ROWS).map(|i| 3 * i + i % 2).collect::<Vec<_>>().leak();
    let labels: &[u8] = (0_u8..3).cycle().take(time.len()).collect::<Vec<_>>().leak();
    let tags = Tags { time: time.into(), channels: Channels::U8(labels.into()) };
    let source = |rows| Recording::from_tags(tags.rows(rows)).sources.remove(0);
    Recording::new(vec![source(0..2_000), source(2_000..time.len())])
}

fn execution() -> Execution {
    Execution { simd: Simd::best(), morsel_rows: Some(100) }
}

/// The name of a query, and a function that returns its answer as text.
type Asked = (String, Box<dyn Fn(&Recording<'_>) -> Result<String, Error>>);

fn queries() -> Vec<Asked> {
    let scope = || Scope { range: RANGE, ..Scope::default() };
    let pair = || Groups::Listed(vec![vec![0, 1]]);
    let three = || Groups::Listed(vec![vec![0, 1, 2]]);
    let coincidences = [
        (pair(), Rule::All),
        (Groups::EveryPair, Rule::All),
        (three(), Rule::All),
        (three(), Rule::Herald),
        (pair(), Rule::Grid),
        (three(), Rule::Once),
        (Groups::EveryPair, Rule::Cluster),
    ];
    let mut queries: Vec<Asked> = Vec::new();
    for (groups, rule) in coincidences {
        let query = Coincidences { groups, rule, window: 2, veto: None, scope: scope() };
        let name = format!("{query:?}");
        let ask = move |tags: &Recording<'_>| Ok(format!("{:?}", query.run(tags, &execution())?));
        queries.push((name, Box::new(ask)));
    }
    for mode in [Mode::All, Mode::Next, Mode::Last, Mode::Grid] {
        let bins = Bins::Linear { low: 0, width: 1, count: 10 };
        let query = Histogram { start: 0, stop: 1, bins, mode, fold: None, scope: scope() };
        let name = format!("{query:?}");
        let ask = move |tags: &Recording<'_>| Ok(format!("{:?}", query.run(tags, &execution())?));
        queries.push((name, Box::new(ask)));
    }
    queries
}

#[test]
fn progress_shows_how_far_a_query_is_and_changes_no_answer() {
    let inside = (0..ROWS)
        .map(|i| 3 * i + i % 2)
        .filter(|t| *t >= RANGE.from.unwrap() && *t < RANGE.to.unwrap())
        .count() as u64;
    for (name, ask) in queries() {
        let progress = ScanProgress::default();
        assert_eq!(progress.snapshot().passes, 0);
        let counted = ask(&recording().with_progress(Some(&progress))).unwrap();
        assert_eq!(counted, ask(&recording()).unwrap(), "{name}");
        let told = progress.snapshot();
        // Pairs of the grid in a range are all pairs minus those before the range.
        let is_two = name.contains("Grid") && name.contains("Histogram");
        assert_eq!(told.passes, if is_two { 2 } else { 1 }, "{name}");
        if is_two {
            continue;
        }
        assert_eq!(told.of, inside, "{name}");
        assert!(told.done <= told.of && told.done > told.of * 9 / 10, "{name}: {told:?}");
    }
}

#[test]
fn a_query_that_is_cancelled_has_no_answer_and_begins_no_work() {
    for (name, ask) in queries() {
        let progress = ScanProgress::default();
        progress.cancel();
        let answer = ask(&recording().with_progress(Some(&progress)));
        assert!(matches!(answer, Err(Error::Cancelled)), "{name}: {answer:?}");
        assert_eq!(progress.snapshot().done, 0, "{name}");
    }
    let progress = ScanProgress::default();
    let recording = recording().with_progress(Some(&progress));
    assert_eq!(shortest_intervals(&recording, &execution()).unwrap().len(), 3);
    assert_eq!(progress.snapshot().of, ROWS.unsigned_abs());
    progress.cancel();
    assert!(matches!(shortest_intervals(&recording, &execution()), Err(Error::Cancelled)));
}

#[test]
fn a_query_that_is_a_piece_of_another_tells_nothing_but_ends_with_it() {
    let progress = ScanProgress::default();
    let recording = recording().with_progress(Some(&progress));
    let pieces = recording.pass(TimeRange::default()).in_pieces(10);
    let (_, ask) = queries().remove(0);
    for _ in 0..5 {
        pieces.begin().unwrap();
        ask(&recording.in_silence()).unwrap();
    }
    let told = progress.snapshot();
    assert_eq!(
        (told.passes, told.done, told.of),
        (1, ROWS.unsigned_abs() / 2, ROWS.unsigned_abs())
    );
    let _ = recording.pass(RANGE);
    let told = progress.snapshot();
    assert_eq!((told.passes, told.done), (2, 0));
    progress.cancel();
    assert!(matches!(pieces.begin(), Err(Error::Cancelled)));
    assert!(matches!(ask(&recording.in_silence()), Err(Error::Cancelled)));
}
