//! Times in a unit, in texts and tables. Expected ticks are those of Python: `round(Fraction(time) * unit / tick)`.

use std::{fs, sync::Arc};

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, UInt8Array, UInt64Array,
};
use tagq_ingest::{Error, Settings, text::LineFault};
use tagq_store::Tag;

use crate::{
    instruments::{ingested_again, read_all, stored},
    support::{file, tag},
    tables::{Named, arrow, batch, forms},
};

fn by(columns: &str, tick: Option<&str>) -> Settings {
    let tick = tick.map(|tick| tick.parse().unwrap());
    Settings { columns: Some(columns.parse().unwrap()), tick, ..Settings::default() }
}

fn tags_of(bytes: &[u8], settings: &Settings) -> Result<Vec<Tag>, Error> {
    let (_folder, path) = file(bytes);
    read_all(&path, settings)
}

#[test]
fn texts_have_times_in_a_unit_with_and_without_a_header() {
    let expected = [tag(-1_500, 3), tag(1_000, 4), tag(2, 3), tag(1_250_000, 1)];
    for (columns, text) in [
        ("channel,time:ns", "3\t-1.5\n# x\n4\t1\n3\t.0025\n1\t1.25e3\n"),
        ("time:ns,channel", "time channel\n-1.5 3\n1 4\n0.0025 3\n1.25E+3 1\n"),
        ("time=:ns", "Time;Channel\n-1.5;3\n1;4\n0.0025;3\n1250;1\n"),
        ("time=start:ns", "note,start,ch\nx,-1.5,3\n,1,4\n,\"0.0025\",3\n,1250.,1\n"),
    ] {
        assert_eq!(
            tags_of(text.as_bytes(), &by(columns, Some("1ps"))).unwrap(),
            expected,
            "{text}"
        );
        // A picosecond without a tick that is given.
        assert_eq!(tags_of(text.as_bytes(), &by(columns, None)).unwrap(), expected, "{text}");
    }
    for (line, fault) in [
        ("3\tnan", LineFault::TimeNoNumber),
        ("3\tinf", LineFault::TimeNoNumber),
        ("3\t1,5,5", LineFault::TimeNoNumber),
        ("3\t1.5,5", LineFault::TimeNoNumber),
        ("3\t9223372036854775.8075", LineFault::TimeRange),
        ("3\t-1e400", LineFault::TimeRange),
        ("3.5\t1", LineFault::ChannelNotWhole),
    ] {
        let text = format!("1\t2.5\n{line}\n");
        match tags_of(text.as_bytes(), &by("channel,time:ns", Some("1ps"))).unwrap_err() {
            Error::Line { line: 2, fault: found, .. } => assert_eq!(found, fault, "{line}"),
            error => panic!("{error}"),
        }
    }
}

#[test]
fn a_text_in_a_unit_keeps_it_when_it_grows() {
    let settings = by("time:us,channel", Some("156.25ps"));
    let begun = stored(b"1.5 3\n", "a.txt", &settings).unwrap();
    assert_eq!(begun.facts.columns.as_deref(), Some("time:us,channel"));
    fs::write(&begun.path, "1.5 3\n2.5e0 4\n").unwrap();
    let settings = Settings { columns: None, ..settings };
    let rows = ingested_again(&begun, &settings);
    // 1.5 µs are 9,600 ticks of 156.25 ps, and 2.5 µs are 16,000.
    assert_eq!(rows, [(9_600, 3), (16_000, 4)]);
}

#[test]
fn columns_of_floats_and_integers_become_ticks() {
    let floats = [0.0005, 0.0015, 0.0025, -1.5, 9_007_199_254_740.993];
    // Fraction(float) * 1000, rounded.
    let of_floats = [1, 2, 3, -1_500, 9_007_199_254_740_992];
    let singles = [0.1_f32, 16_777_216.0, -0.5, 0.001, 3e9];
    let of_singles = [100, 16_777_216_000, -500, 1, 3_000_000_000_000];
    let whole = [7, -7, 0, 9_223_372_036_854_775, -9_223_372_036_854_775];
    let columns: [(&str, ArrayRef, [i64; 5]); 4] = [
        ("double", Arc::new(Float64Array::from(floats.to_vec())), of_floats),
        ("single", Arc::new(Float32Array::from(singles.to_vec())), of_singles),
        ("whole", Arc::new(Int64Array::from(whole.to_vec())), whole.map(|time| time * 1_000)),
        (
            "unsigned",
            Arc::new(UInt64Array::from(vec![1, 2, 3, 4, 5])),
            [1_000, 2_000, 3_000, 4_000, 5_000],
        ),
    ];
    let labels: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2, 3, 4, 5]));
    for (name, array, expected) in columns {
        let named: [Named; 2] = [(name, array), ("channel", labels.clone())];
        let expected: Vec<Tag> = expected.into_iter().zip(1..).map(|(t, c)| tag(t, c)).collect();
        for (form, bytes) in forms(&batch(&named)) {
            // The note of the table states 4 ps, which are 250 per ns; the test counts in ps.
            let quarter: Vec<Tag> = tags_of(&bytes, &by(&format!("time={name}:ns"), None)).unwrap();
            let near = |(of, at): (&Tag, &Tag)| (4 * of.time - at.time).abs() <= 2;
            assert!(quarter.iter().zip(&expected).all(near), "{form}: {quarter:?}");
        }
        let settings = by(&format!("time={name}:ns"), Some("1ps"));
        let bytes = without_note(&named);
        assert_eq!(tags_of(&bytes, &settings).unwrap(), expected, "{name}");
    }
}

#[test]
fn times_that_are_no_ticks_are_refused_by_row() {
    let labels: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2]));
    let float = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![1.0, value])) };
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![1, u64::MAX]));
    for (time, said) in [
        (float(f64::NAN), "row 2: `time` is no finite number"),
        (float(f64::INFINITY), "row 2: `time` is no finite number"),
        (float(-9.3e15), "row 2: `time` is a time whose ticks leave 64 bits"),
        (float(1e300), "row 2: `time` is a time whose ticks leave 64 bits"),
        (large, "row 2: `time` is a time whose ticks leave 64 bits"),
    ] {
        let bytes = without_note(&[("time", time), ("channel", labels.clone())]);
        let error = tags_of(&bytes, &by("time=:ns", Some("1ps"))).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    let named = [("time", float(1.0)), ("channel", float(1.0))];
    let error = tags_of(&without_note(&named), &by("time=:ns", Some("1ps"))).unwrap_err();
    assert!(error.to_string().contains("`channel` holds floats"), "{error}");
    let error = tags_of(&without_note(&named), &by("time=:ns", None)).unwrap_err();
    assert!(matches!(error, Error::NoTick { .. }), "{error}");
    let error = tags_of(&without_note(&named[..]), &by("channel=time", None)).unwrap_err();
    assert!(error.to_string().contains("say the unit of its times"), "{error}");
}

/// A stream of Arrow that states no tick.
fn without_note(columns: &[Named]) -> Vec<u8> {
    let batch = batch(columns);
    let schema = batch.schema().as_ref().clone().with_metadata([].into());
    let batch = RecordBatch::try_new(Arc::new(schema), batch.columns().to_vec()).unwrap();
    arrow(&batch, false, None)
}
