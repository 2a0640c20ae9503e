//! Tags as Arrow, compared with the columns of the store and read back from every format.

#![expect(clippy::unwrap_used, reason = "a test says so by failing")]

use arrow_array::{
    Float64Array, RecordBatch,
    cast::AsArray as _,
    types::{Int64Type, UInt8Type, UInt16Type, UInt32Type},
};
use arrow_ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tagq::{
    NewStore, OpenOptions, Run,
    query::TimeRange,
    store::{Access, format::MICRO_NONE},
};
use tagq::{Projection, TagSelection};
use tagq_export::{Batches, TableForm, TimeUnit, write_tags, write_tags_telling};

/// Returns three full blocks and some rows. Channel 9 occurs only in the second block, and the third
/// block contains only channel 5. Each time occurs twice.
fn tags(wide: bool) -> (Vec<i64>, Vec<u16>) {
    let rows = 3 * 65_536 + 700;
    let label = |row: i64| match row / 65_536 {
        0 => 3 + u16::try_from(row % 2).unwrap() * if wide { 1_000 } else { 1 },
        1 if row % 1_000 == 17 => 9,
        1 => 3,
        2 => 5,
        _ => 4,
    };
    ((0..rows).map(|row| row / 2 * 10 - 1_000).collect(), (0..rows).map(label).collect())
}

fn run(wide: bool, access: Access) -> Run {
    let (times, labels) = tags(wide);
    let mut store = NewStore::create(None, "4ps".parse().ok()).unwrap();
    store.append(&times, &labels).unwrap();
    store.finish("made", &OpenOptions { access, ..OpenOptions::default() }).unwrap()
}

/// Returns the selected tags, found one by one.
fn expected(wide: bool, selection: &TagSelection) -> Vec<(i64, u16)> {
    let (times, labels) = tags(wide);
    let all = times.into_iter().zip(labels);
    let is_in = |&(time, channel): &(i64, u16)| {
        let channels = selection.channels.as_ref();
        selection.range.contains(time) && channels.is_none_or(|of| of.contains(&channel))
    };
    all.take(selection.first.unwrap_or(usize::MAX)).filter(is_in).collect()
}

fn rows(batches: &[RecordBatch]) -> Vec<(i64, u16)> {
    let mut rows = Vec::new();
    for batch in batches {
        let times = batch.column_by_name("time").unwrap().as_primitive::<Int64Type>();
        let labels = batch.column_by_name("channel").unwrap();
        let labels: Vec<u16> = match labels.as_primitive_opt::<UInt8Type>() {
            Some(labels) => labels.values().iter().map(|&label| u16::from(label)).collect(),
            None => labels.as_primitive::<UInt16Type>().values().to_vec(),
        };
        rows.extend(times.values().iter().copied().zip(labels));
    }
    rows
}

fn selections() -> Vec<TagSelection> {
    let ranges = [
        (None, None),
        (Some(-1_000), Some(-990)),
        (Some(0), Some(655_360)),
        (Some(326_681), None),
        (None, Some(1)),
        (Some(i64::MIN), Some(i64::MAX)),
        (Some(5), Some(5)),
        (Some(10_000_000), None),
    ];
    let channels =
        [None, Some(vec![9]), Some(vec![5, 3]), Some(vec![4]), Some(vec![8]), Some(vec![])];
    let both = |(from, to): (Option<i64>, Option<i64>)| {
        channels.clone().into_iter().map(move |channels| TagSelection {
            range: TimeRange { from, to },
            channels,
            ..TagSelection::default()
        })
    };
    let all: Vec<TagSelection> = ranges.into_iter().flat_map(both).collect();
    let first = [None, Some(0), Some(65_536), Some(65_537), Some(usize::MAX)].into_iter();
    first.flat_map(|first| all.iter().map(move |of| TagSelection { first, ..of.clone() })).collect()
}

#[test]
fn batches_hold_what_is_selected_and_nothing_else() {
    for (wide, access) in [(false, Access::Mapped), (true, Access::Mapped), (true, Access::Copied)]
    {
        let run = run(wide, access);
        for selection in selections() {
            let batches = Batches::of(&run, &selection).unwrap();
            let (schema, touched) = (batches.schema(), batches.touched());
            let at_most = batches.rows_at_most();
            let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().unwrap();
            let expected = expected(wide, &selection);
            assert_eq!(rows(&batches), expected, "{selection:?}");
            assert!(at_most >= expected.len() && touched.blocks() <= 4);
            assert!(batches.iter().all(|batch| batch.schema() == schema));
            assert_eq!(schema.metadata()["tagq.tick"], "4000000/1");
            assert_eq!(schema.field(0).metadata()["tagq.unit"], "tick");
        }
    }
}

#[test]
fn only_blocks_that_hold_something_are_touched() {
    let run = run(false, Access::Mapped);
    let blocks = |selection: &TagSelection| {
        let batches = Batches::of(&run, selection).unwrap();
        let touched = batches.touched();
        assert_eq!((batches.blocks(), touched.blocks()), (4, 0));
        batches.for_each(drop);
        touched.blocks()
    };
    let of = |from, to, channels| TagSelection {
        range: TimeRange { from, to },
        channels,
        ..TagSelection::default()
    };
    assert_eq!(blocks(&of(None, None, None)), 4);
    assert_eq!(blocks(&of(None, None, Some(vec![9]))), 1);
    assert_eq!(blocks(&of(None, None, Some(vec![3, 5]))), 3);
    // The second block begins at row 65,536, the third at 131,072: times 326,680 and 654,360.
    assert_eq!(blocks(&of(Some(326_680), Some(654_360), None)), 1);
    assert_eq!(blocks(&of(Some(326_679), Some(654_361), None)), 2);
    assert_eq!(blocks(&of(Some(326_670), Some(654_361), None)), 3);
    assert_eq!(blocks(&of(Some(326_680), Some(654_360), Some(vec![5]))), 0);
}

#[test]
fn whole_stretches_lie_in_the_mapping_and_keep_it() {
    for access in [Access::Mapped, Access::Copied] {
        let run = run(false, access);
        let times = run.store().whole_times().unwrap();
        let (time, rows) = (times.as_ptr(), times.len());
        let batches: Vec<RecordBatch> =
            Batches::of(&run, &TagSelection::default()).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(batches.len(), 1);
        let times = batches[0].column(0).as_primitive::<Int64Type>();
        assert_eq!((times.values().as_ptr(), times.len()), (time, rows));
        assert_eq!(time.addr() % 4_096, 0, "whole pages");
        let labels = batches[0].column(1).as_primitive::<UInt8Type>().values().as_ptr().addr();
        // On Windows a store without a place is copied.
        let is_mapped = access == Access::Mapped && cfg!(unix);
        assert!(!is_mapped || labels % 4_096 == 0, "after the header page");
        // The third block has only channel 5, so its rows are not filtered.
        let third = TagSelection { channels: Some(vec![5]), ..TagSelection::default() };
        let third = Batches::of(&run, &third).unwrap().next().unwrap().unwrap();
        let third = third.column(0).as_primitive::<Int64Type>();
        assert_eq!(third.values().as_ptr(), time.wrapping_add(2 * 65_536));
        drop(run);
        assert_eq!(times.value(rows - 1), 5 * (3 * 65_536 + 698) - 1_000);
    }
}

#[test]
fn columns_are_those_that_are_wanted() {
    let run = run(false, Access::Mapped);
    for (time, channel, unit) in [
        (true, false, None),
        (false, true, None),
        (false, false, Some(TimeUnit::Ns)),
        (false, false, None),
    ] {
        let columns = Projection { time, channel, micro: true };
        let selection = TagSelection { columns, time_unit: unit, ..TagSelection::default() };
        let batches: Vec<RecordBatch> =
            Batches::of(&run, &selection).unwrap().collect::<Result<_, _>>().unwrap();
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let names: Vec<String> =
            batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(rows, 3 * 65_536 + 700);
        let all = [("time", time), ("channel", channel), ("time_ns", unit.is_some())];
        let expected: Vec<&str> = all.iter().filter(|of| of.1).map(|of| of.0).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn every_form_is_read_back() {
    let selection = TagSelection {
        range: TimeRange { from: Some(326_000), to: Some(700_000) },
        channels: Some(vec![3, 5, 9]),
        time_unit: Some(TimeUnit::Ns),
        ..TagSelection::default()
    };
    for wide in [false, true] {
        let run = run(wide, Access::Mapped);
        let expected = expected(wide, &selection);
        let written = |form| {
            let (bytes, written) = write_tags(&run, &selection, Vec::new(), form).unwrap();
            assert_eq!((written.tags, written.lost), (expected.len() as u64, 0));
            bytes
        };
        let stream = written(TableForm::Stream);
        let stream: Vec<RecordBatch> =
            StreamReader::try_new(&stream[..], None).unwrap().collect::<Result<_, _>>().unwrap();
        let file = std::io::Cursor::new(written(TableForm::Arrow));
        let file: Vec<RecordBatch> =
            FileReader::try_new(file, None).unwrap().collect::<Result<_, _>>().unwrap();
        let parquet = bytes::Bytes::from(written(TableForm::Parquet));
        let parquet = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap();
        assert_eq!(parquet.schema().metadata()["tagq.tick"], "4000000/1");
        let parquet: Vec<RecordBatch> = parquet.build().unwrap().collect::<Result<_, _>>().unwrap();
        for batches in [&stream, &file, &parquet] {
            assert_eq!(rows(batches), expected);
            let floats = batches[0].column_by_name("time_ns").unwrap();
            let floats: &Float64Array = floats.as_primitive();
            // 4 ps since the first tag, at −1,000 ticks.
            let first = (expected[0].0 + 1_000) as f64 * 4.0 / 1_000.0;
            assert_eq!(floats.values()[..1], [first]);
        }
        for (form, separator) in [(TableForm::Csv, ','), (TableForm::Tsv, '\t')] {
            let text = String::from_utf8(written(form)).unwrap();
            let mut lines = text.lines();
            let head = ["time", "channel", "time_ns"].join(&separator.to_string());
            assert_eq!(lines.next(), Some(&*head));
            for ((time, channel), line) in expected.iter().zip(&mut lines) {
                let float = (time + 1_000) as f64 * 4.0 / 1_000.0;
                assert_eq!(line, format!("{time}{separator}{channel}{separator}{float}"));
            }
            assert_eq!(lines.next(), None);
        }
    }
}

#[test]
fn whoever_writes_tells_how_far_it_is() {
    let run = run(false, Access::Mapped);
    // Of channel 9 one block is looked at, of 3 and 9 two.
    for (channels, rows) in
        [(None, 3 * 65_536 + 700), (Some(vec![9]), 65_536), (Some(vec![3, 9]), 131_072)]
    {
        let selection = TagSelection { channels, ..TagSelection::default() };
        let mut told = Vec::new();
        let mut tell = |through, of| {
            told.push((through, of));
            Ok(())
        };
        write_tags_telling(&run, &selection, Vec::new(), TableForm::Csv, &mut tell).unwrap();
        assert_eq!(told.last(), Some(&(rows, rows)));
        assert!(told.iter().all(|(_, of)| *of == rows) && told.is_sorted());
    }
}

#[test]
fn a_run_without_tags_has_a_schema() {
    let store = NewStore::create(None, None).unwrap();
    let run = store.finish("nothing", &OpenOptions::default()).unwrap();
    for selection in selections() {
        let batches: Vec<RecordBatch> =
            Batches::of(&run, &selection).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(rows(&batches), []);
        for form in [TableForm::Arrow, TableForm::Stream, TableForm::Parquet, TableForm::Csv] {
            let (_, written) = write_tags(&run, &selection, Vec::new(), form).unwrap();
            assert_eq!(written.tags, 0);
        }
    }
}

/// The tags of [`tags`] with micro times: none for each third one, at most 3,299 unless `wide`.
fn run_with_micro(wide: bool, access: Access) -> (Run, Vec<Option<u32>>) {
    let (times, labels) = tags(false);
    let value = |row: u32| if wide { row * 1_000 } else { row % 3_300 };
    let of_row = |row: u32| (!row.is_multiple_of(3)).then(|| value(row));
    let micro: Vec<Option<u32>> = (0..).take(times.len()).map(of_row).collect();
    let stored: Vec<u32> = micro.iter().map(|value| value.unwrap_or(MICRO_NONE)).collect();
    let mut store = NewStore::create(None, "4ps".parse().ok()).unwrap();
    store.set_micro_tick("8ps".parse().unwrap()).unwrap();
    store.append_with_micro(&times, &labels, &stored).unwrap();
    let options = OpenOptions { access, ..OpenOptions::default() };
    (store.finish("made", &options).unwrap(), micro)
}

/// Returns the micro times of batches, and whether their column is wide.
fn micro_of(batches: &[RecordBatch]) -> (Vec<Option<u32>>, bool) {
    let (mut found, mut wide) = (Vec::new(), false);
    for batch in batches {
        let column = batch.column_by_name("micro").unwrap();
        if let Some(column) = column.as_primitive_opt::<UInt16Type>() {
            found.extend(column.iter().map(|value| value.map(u32::from)));
        } else {
            found.extend(column.as_primitive::<UInt32Type>().iter());
            wide = true;
        }
    }
    (found, wide)
}

#[test]
fn micro_times_are_a_nullable_column() {
    for (wide, access) in [(false, Access::Mapped), (true, Access::Mapped), (false, Access::Copied)]
    {
        let (run, micro) = run_with_micro(wide, access);
        let (times, labels) = tags(false);
        for selection in selections() {
            let batches = Batches::of(&run, &selection).unwrap();
            let field = batches.schema().field_with_name("micro").unwrap().clone();
            assert!(field.is_nullable() && field.metadata()["tagq.micro_tick"] == "8000000/1");
            assert_eq!(batches.schema().metadata()["tagq.micro_tick"], "8000000/1");
            let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>().unwrap();
            let channels = selection.channels.as_ref();
            let is_in = |&row: &usize| {
                let of = channels.is_none_or(|of| of.contains(&labels[row]));
                of && selection.range.contains(times[row])
            };
            let rows = 0..times.len().min(selection.first.unwrap_or(usize::MAX));
            let expected: Vec<Option<u32>> = rows.filter(is_in).map(|row| micro[row]).collect();
            let (found, is_wide) = micro_of(&batches);
            assert!(found == expected, "{selection:?}");
            assert!(is_wide == wide || batches.is_empty());
        }
        let columns = Projection { time: false, channel: false, micro: true };
        let only = TagSelection { columns, ..TagSelection::default() };
        let batches: Vec<RecordBatch> =
            Batches::of(&run, &only).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(batches.iter().all(|batch| batch.num_columns() == 1));
        assert!(micro_of(&batches).0 == micro);
        let columns = Projection { micro: false, ..Projection::default() };
        for channels in [None, Some(vec![9])] {
            let without = TagSelection { columns, channels, ..TagSelection::default() };
            let batches: Vec<RecordBatch> =
                Batches::of(&run, &without).unwrap().collect::<Result<_, _>>().unwrap();
            assert!(batches.iter().all(|batch| batch.num_columns() == 2));
        }
    }
}

#[test]
fn micro_times_are_read_back_from_every_form() {
    let selection = TagSelection { channels: Some(vec![3, 9]), ..TagSelection::default() };
    for wide in [false, true] {
        let (run, micro) = run_with_micro(wide, Access::Mapped);
        let (_, labels) = tags(false);
        let rows = micro.iter().zip(&labels);
        let expected: Vec<Option<u32>> =
            rows.filter(|(_, label)| matches!(label, 3 | 9)).map(|(&micro, _)| micro).collect();
        let written = |form| write_tags(&run, &selection, Vec::new(), form).unwrap().0;
        let stream = written(TableForm::Stream);
        let stream: Vec<RecordBatch> =
            StreamReader::try_new(&stream[..], None).unwrap().collect::<Result<_, _>>().unwrap();
        let file = std::io::Cursor::new(written(TableForm::Arrow));
        let file: Vec<RecordBatch> =
            FileReader::try_new(file, None).unwrap().collect::<Result<_, _>>().unwrap();
        let parquet = bytes::Bytes::from(written(TableForm::Parquet));
        let parquet = ParquetRecordBatchReaderBuilder::try_new(parquet).unwrap();
        let parquet: Vec<RecordBatch> = parquet.build().unwrap().collect::<Result<_, _>>().unwrap();
        for batches in [&stream, &file, &parquet] {
            assert!(micro_of(batches) == (expected.clone(), wide));
        }
        let text = String::from_utf8(written(TableForm::Tsv)).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("time\tchannel\tmicro"));
        for (micro, line) in expected.iter().zip(&mut lines) {
            let micro = micro.map(|micro| micro.to_string()).unwrap_or_default();
            assert_eq!(line.split('\t').nth(2), Some(&*micro));
        }
        assert_eq!(lines.next(), None);
    }
}
