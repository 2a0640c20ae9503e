//! Tables that the libraries of Arrow and Parquet write, in every width, encoding and compression.

use std::{collections::HashMap, path::Path, sync::Arc};

use arrow_array::{
    Array as _, ArrayRef, Float64Array, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array, types::Int32Type,
};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{Field, Schema};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding, GzipLevel, ZstdLevel},
    file::properties::{WriterProperties, WriterVersion},
};
use proptest::prelude::*;
use tagq_ingest::{Error, Settings, SourceFile, read_tags};
use tagq_sampling::{random_cases, some};
use tagq_store::Tag;

use crate::{
    instruments::{read_all, stored_beside},
    support::{file, frame, tag},
};

pub type Named = (&'static str, ArrayRef);

pub fn batch(columns: &[Named]) -> RecordBatch {
    let fields = columns.iter().map(|(name, array)| {
        Field::new(*name, array.data_type().clone(), array.null_count() > 0 || array.len() % 2 == 1)
    });
    let notes = [("tagq.tick", "4000000/1"), ("tagq.tick_assumed", "false")];
    let notes: HashMap<String, String> =
        notes.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let schema = Schema::new(fields.collect::<Vec<_>>()).with_metadata(notes);
    let arrays = columns.iter().map(|(_, array)| Arc::clone(array)).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

fn parquet(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub fn arrow(batch: &RecordBatch, is_file: bool, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let halves = [
        batch.slice(0, batch.num_rows() / 2),
        batch.slice(batch.num_rows() / 2, batch.num_rows() - batch.num_rows() / 2),
    ];
    if is_file {
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        for half in &halves {
            writer.write(half).unwrap();
        }
        writer.into_inner().unwrap()
    } else {
        let mut writer =
            StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        for half in &halves {
            writer.write(half).unwrap();
        }
        writer.into_inner().unwrap()
    }
}

/// The forms in which a table is written, with their names.
pub fn forms(batch: &RecordBatch) -> Vec<(String, Vec<u8>)> {
    let mut forms = Vec::new();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        for is_file in [true, false] {
            let bytes = arrow(batch, is_file, compression);
            forms.push((format!("arrow {compression:?} {is_file}"), bytes));
        }
    }
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = || {
                WriterProperties::builder()
                    .set_compression(compression)
                    .set_writer_version(version)
                    .set_max_row_group_row_count(Some(700))
                    .set_data_page_row_count_limit(100)
                    .set_write_batch_size(64)
            };
            let bytes = parquet(batch, properties().build());
            forms.push((format!("parquet {compression} {version:?} dictionary"), bytes));
            for encoding in
                [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]
            {
                let properties =
                    properties().set_dictionary_enabled(false).set_encoding(encoding).build();
                // Texts and floats do not have all encodings.
                let is_plain = batch.columns().iter().all(|array| array.data_type().is_integer());
                if is_plain {
                    let bytes = parquet(batch, properties);
                    forms.push((format!("parquet {compression} {version:?} {encoding}"), bytes));
                }
            }
        }
    }
    forms
}

fn tags_of(bytes: &[u8], settings: &Settings) -> Result<Vec<Tag>, Error> {
    let (_folder, path) = file(bytes);
    read_all(&path, settings)
}

fn by(columns: &str) -> Settings {
    Settings { columns: Some(columns.parse().unwrap()), ..Settings::default() }
}

/// Times and channels of every width, and what they are as tags.
fn columns(rows: i64) -> Vec<(Vec<Named>, Vec<Tag>)> {
    let time = |i: i64| i * i * 1_000_003 - 5_000;
    let wide: ArrayRef = Arc::new((0..rows).map(|i| Some(time(i))).collect::<Int64Array>());
    let narrow = |i: i64| i32::try_from(i * 70_001 % 2_000_000_011).unwrap() - 1_000_000_000;
    let u64s: ArrayRef =
        Arc::new((0..rows).map(|i| Some(i.unsigned_abs() * 77)).collect::<UInt64Array>());
    let i32s: ArrayRef = Arc::new((0..rows).map(|i| Some(narrow(i))).collect::<Int32Array>());
    let u32s: ArrayRef = Arc::new(
        (0..rows).map(|i| Some(u32::MAX - u32::try_from(i).unwrap())).collect::<UInt32Array>(),
    );
    let u8s: ArrayRef =
        Arc::new((0..rows).map(|i| Some(u8::try_from(i % 251).unwrap())).collect::<UInt8Array>());
    let i16s: ArrayRef = Arc::new((0..rows).map(|i| Some((i % 7) as i16)).collect::<Int16Array>());
    let u16s: ArrayRef = Arc::new(
        (0..rows).map(|i| Some(65_535 - u16::try_from(i % 9).unwrap())).collect::<UInt16Array>(),
    );
    let tags = |time: &dyn Fn(i64) -> i64, channel: &dyn Fn(i64) -> i64| {
        (0..rows).map(|i| tag(time(i), channel(i).unsigned_abs())).collect::<Vec<_>>()
    };
    vec![
        (vec![("time", wide.clone()), ("channel", u8s)], tags(&time, &|i| i % 251)),
        (vec![("ch", i16s.clone()), ("T", i32s)], tags(&|i| narrow(i).into(), &|i| i % 7)),
        (vec![("detector", u16s), ("timestamp", u64s)], tags(&|i| i * 77, &|i| 65_535 - i % 9)),
        (
            vec![("time", u32s), ("channel", wide_labels(rows))],
            tags(&|i| i64::from(u32::MAX) - i, &|i| i % 3),
        ),
    ]
}

fn wide_labels(rows: i64) -> ArrayRef {
    Arc::new((0..rows).map(|i| Some(i % 3)).collect::<Int64Array>())
}

#[test]
fn tables_of_every_width_encoding_and_compression_give_their_tags() {
    for rows in [0, 1, 7, 2_001] {
        for (columns, expected) in columns(rows) {
            for (form, bytes) in forms(&batch(&columns)) {
                let tags = tags_of(&bytes, &Settings::default());
                let tags = tags.unwrap_or_else(|error| panic!("{form}: {error}"));
                assert!(tags == expected, "{form} {rows} {columns:?}");
            }
        }
    }
}

/// More than the rows that are handed on at once.
#[test]
fn long_columns_come_in_pieces() {
    let (columns, expected) = columns(50_001).swap_remove(0);
    let batch = batch(&columns);
    for bytes in [
        arrow(&batch, true, None),
        arrow(&batch, false, Some(CompressionType::LZ4_FRAME)),
        parquet(&batch, WriterProperties::default()),
    ] {
        assert!(tags_of(&bytes, &Settings::default()).unwrap() == expected);
    }
}

#[test]
fn other_columns_are_left_out_and_columns_are_chosen_by_name() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let texts = StringArray::from(vec![Some("a"), None, Some("")]);
    let columns: Vec<Named> = vec![
        ("note", Arc::new(texts)),
        ("list", Arc::new(list)),
        ("start", Arc::new(Int64Array::from(vec![5, 6, 7]))),
        ("energy", Arc::new(Float64Array::from(vec![1.5, 2.5, 3.5]))),
        ("arm", Arc::new(UInt8Array::from(vec![1, 2, 3]))),
        ("channel", Arc::new(UInt8Array::from(vec![9, 9, 8]))),
    ];
    for (form, bytes) in forms(&batch(&columns)) {
        let chosen = tags_of(&bytes, &by("time=start,channel=arm")).unwrap();
        assert_eq!(chosen, [tag(5, 1), tag(6, 2), tag(7, 3)], "{form}");
        assert_eq!(tags_of(&bytes, &by("time=start")).unwrap()[2], tag(7, 8), "{form}");
        for (settings, said) in [
            (Settings::default(), "no column is named `time`, `timestamp`, `t`"),
            (by("time=begin"), "no column `begin`"),
            (by("time=energy"), "`energy` holds floats"),
            (by("time=note"), "`note` holds texts"),
        ] {
            let error = tags_of(&bytes, &settings).unwrap_err();
            assert!(matches!(error, Error::Table { .. }), "{form}: {error}");
            assert!(error.to_string().contains(said), "{form}: {error}");
        }
    }
}

#[test]
fn values_that_are_no_tags_are_refused_by_row() {
    let wide = |values: Vec<Option<i64>>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let times = || wide(vec![Some(1), Some(2), Some(3)]);
    let labels = || wide(vec![Some(1), Some(2), Some(3)]);
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![1, 1 << 63, 3]));
    for (time, channel, said) in [
        (wide(vec![Some(1), None, Some(3)]), labels(), "row 2: `time` is null"),
        (times(), wide(vec![Some(1), Some(2), None]), "row 3: `channel` is null"),
        (times(), wide(vec![Some(-1), Some(2), Some(3)]), "row 1: `channel` is negative"),
        (large, labels(), "row 2: `time` is above"),
    ] {
        for (form, bytes) in forms(&batch(&[("time", time.clone()), ("channel", channel.clone())]))
        {
            let error = tags_of(&bytes, &Settings::default()).unwrap_err().to_string();
            assert!(error.contains(said), "{form}: {error}");
        }
    }
}

#[test]
fn a_note_of_the_writer_is_the_tick() {
    let (columns, _) = columns(3).swap_remove(0);
    for (form, bytes) in forms(&batch(&columns)) {
        let (_folder, path) = file(&bytes);
        let header =
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
        assert_eq!(
            (header.tick, header.tick_assumed),
            (Some("4ps".parse().unwrap()), false),
            "{form}"
        );
    }
}

#[test]
fn tables_in_frames_are_refused_by_name() {
    let (columns, _) = columns(3).swap_remove(0);
    let batch = batch(&columns);
    for bytes in [arrow(&batch, true, None), parquet(&batch, WriterProperties::default())] {
        let error = tags_of(&frame(&bytes, true), &Settings::default()).unwrap_err().to_string();
        assert!(error.contains("in Zstandard frames; unpack it first"), "{error}");
    }
}

fn survives(path: &Path) {
    let _ = SourceFile::open(path).unwrap().header(&Settings::default());
    let _ = read_all(path, &Settings::default());
}

#[test]
fn a_table_cut_anywhere_is_an_error_or_whole_batches() {
    for (columns, expected) in columns(150) {
        for (form, bytes) in forms(&batch(&columns)) {
            let near_the_end = bytes.len().saturating_sub(12)..bytes.len();
            for len in some((0..bytes.len()).step_by(97).chain(near_the_end)) {
                match tags_of(&bytes[..len], &Settings::default()) {
                    Ok(tags) => assert!(expected.starts_with(&tags), "{form}: {len}"),
                    Err(error) => assert!(!error.to_string().is_empty(), "{form}: {len}"),
                }
            }
        }
    }
}

/// A small table in each form.
fn small_forms() -> Vec<(String, Vec<u8>)> {
    let (columns, _) = columns(20).swap_remove(0);
    let batch = batch(&columns);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    vec![
        ("parquet".into(), parquet(&batch, properties)),
        ("arrow file".into(), arrow(&batch, true, Some(CompressionType::ZSTD))),
        ("arrow stream".into(), arrow(&batch, false, None)),
    ]
}

/// Ingests `bytes`; whether a store came of them.
fn leaves_a_store(bytes: &[u8]) -> bool {
    let (folder, path) = file(bytes);
    let _ = SourceFile::open(&path).unwrap().header(&Settings::default());
    let is_read = stored_beside(&path).is_ok();
    let is_there = folder.path().join("a.tagq/manifest.json").exists();
    assert_eq!(is_read, is_there);
    is_there
}

#[test]
fn a_table_cut_at_any_byte_leaves_no_store() {
    for (form, bytes) in small_forms() {
        assert!(leaves_a_store(&bytes), "{form}");
        // The first bytes alone are like those of a text.
        let is_read = |len: usize| tags_of(&bytes[..len], &Settings::default()).is_ok();
        for len in some(8..bytes.len()) {
            // A stream may end after any batch, and without the marker of its end.
            assert!(!is_read(len) || form == "arrow stream", "{form}: {len}");
        }
        for len in some((8..bytes.len()).step_by(50)) {
            assert_eq!(leaves_a_store(&bytes[..len]), is_read(len), "{form}: {len}");
        }
    }
}

#[test]
fn two_thousand_flipped_bytes_cause_no_panic_and_no_half_store() {
    for (_, bytes) in small_forms() {
        let mut seed = 1_u64;
        for round in 0..some(0..2_000).count() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut flipped = bytes.clone();
            let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
            flipped[at] ^= 1 << (seed >> 30 & 7);
            let (_folder, path) = file(&flipped);
            survives(&path);
            if round % 50 == 0 {
                leaves_a_store(&flipped);
            }
        }
    }
}

/// Polars writes the schema before the batches without its length; the one in the footer counts.
#[test]
fn batches_of_a_file_of_arrow_stand_where_its_footer_says() {
    let (columns, expected) = columns(20).swap_remove(0);
    let mut bytes = arrow(&batch(&columns), true, None);
    bytes[8..16].fill(0x55);
    assert_eq!(tags_of(&bytes, &Settings::default()).unwrap(), expected);
    // A stream has an end, and nothing after it.
    let mut stream = arrow(&batch(&columns), false, None);
    stream.extend([0; 8]);
    let error = tags_of(&stream, &Settings::default()).unwrap_err();
    assert!(error.to_string().contains("bytes follow its end"), "{error}");
}

/// Returns the note about the end of a table, if there is one, and the number of its tags.
fn torn(bytes: &[u8]) -> (Option<String>, usize) {
    let (_folder, path) = file(bytes);
    let mut tags = 0;
    let summary = read_tags(&path, &Settings::default(), |part| {
        tags += part.len();
        Ok(())
    });
    (summary.unwrap().torn, tags)
}

#[test]
fn a_stream_without_its_end_is_noted() {
    let (columns, _) = columns(150).swap_remove(0);
    let whole = arrow(&batch(&columns), false, None);
    assert_eq!(torn(&whole), (None, 150));
    // The mark has eight bytes; before it the second batch of 75 rows ends.
    let unmarked = &whole[..whole.len() - 8];
    let half = (0..unmarked.len()).find(|&len| {
        tags_of(&unmarked[..len], &Settings::default()).is_ok_and(|tags| tags.len() == 75)
    });
    for (bytes, rows) in [(unmarked, 150), (&unmarked[..half.unwrap()], 75)] {
        let (said, tags) = torn(bytes);
        assert!(said.unwrap().contains("no end mark"), "{rows}");
        assert_eq!(tags, rows);
    }
    assert_eq!(torn(&arrow(&batch(&columns), true, None)), (None, 150));
}

/// A small file could give any number of tags.
#[test]
fn parts_that_share_their_bytes_are_refused() {
    let (columns, _) = columns(150).swap_remove(0);
    let table = arrow(&batch(&columns), true, None);
    // The two blocks of the footer, of 24 bytes each: offset, length of the description, length of the buffers.
    let at = (0..table.len() - 48)
        .rfind(|&at| {
            let word = |at: usize| u64::from_le_bytes(*table[at..].first_chunk().unwrap());
            word(at) > 0
                && word(at + 24) > word(at)
                && word(at + 24) < table.len() as u64
                && word(at) + (word(at + 8) & 0xffff_ffff) + word(at + 16) == word(at + 24)
        })
        .unwrap();
    let mut twice = table.clone();
    twice.copy_within(at..at + 24, at + 24);
    let error = tags_of(&twice, &Settings::default()).unwrap_err().to_string();
    assert!(error.contains("two of its batches share the bytes"), "{error}");
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let wide = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
    let columns: Vec<Named> =
        vec![("time", wide(vec![1, 2])), ("channel", wide(vec![1, 2])), ("time", wide(vec![7, 8]))];
    for (form, bytes) in forms(&batch(&columns)) {
        for settings in [Settings::default(), by("time=time")] {
            let error = tags_of(&bytes, &settings).unwrap_err().to_string();
            assert!(error.contains("could be `time` and `time`"), "{form}: {error}");
        }
    }
}

/// The other codecs do not stop at the size that a page states.
#[test]
fn compressions_without_a_bound_are_refused_by_name() {
    let (columns, _) = columns(3).swap_remove(0);
    let gzip = Compression::GZIP(GzipLevel::default());
    let properties = WriterProperties::builder().set_compression(gzip).build();
    let error = tags_of(&parquet(&batch(&columns), properties), &Settings::default()).unwrap_err();
    assert!(error.to_string().contains("`time` is compressed by gzip"), "{error}");
}

proptest! {
    #![proptest_config(random_cases(32))]

    #[test]
    fn no_flipped_bytes_cause_a_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        near_end in any::<bool>(),
        which in 0..4_usize,
    ) {
        let (columns, _) = columns(120).swap_remove(which);
        for (_, mut bytes) in forms(&batch(&columns)) {
            for (at, byte) in &flips {
                let len = bytes.len();
                let from = if near_end { len.saturating_sub(600) } else { 0 };
                let at = from + at.index(len - from);
                bytes[at] = *byte;
            }
            let (_folder, path) = file(&bytes);
            survives(&path);
        }
    }
}
