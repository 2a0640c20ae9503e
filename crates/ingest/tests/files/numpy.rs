//! Arrays of NumPy as sources, written as `numpy.lib.format` describes them.

use std::io::{Cursor, Write as _};

use tagq_ingest::{Error, Settings, SourceFile};
use tagq_store::Tag;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use tagq_sampling::some;

use crate::{
    instruments::read_all,
    support::{file, frame, tag},
};

/// An array with this description and these items.
fn npy(of: &str, shape: &str, is_fortran: bool, items: &[u8]) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let of = if of.starts_with('[') { of.to_owned() } else { format!("'{of}'") };
    let mut words = format!("{{'descr': {of}, 'fortran_order': {order}, 'shape': {shape}, }}");
    // Blanks and a line end fill it up to a multiple of 64 bytes.
    while !(10 + words.len() + 1).is_multiple_of(64) {
        words.push(' ');
    }
    words.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(words.len()).unwrap().to_le_bytes());
    bytes.extend(words.as_bytes());
    bytes.extend(items);
    bytes
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn npz(members: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn by(columns: &str) -> Settings {
    Settings { columns: Some(columns.parse().unwrap()), ..Settings::default() }
}

fn tags_of(bytes: &[u8], settings: &Settings) -> Result<Vec<Tag>, Error> {
    let (_folder, path) = file(bytes);
    read_all(&path, settings)
}

fn refused(bytes: &[u8], settings: &Settings, said: &str) {
    let error = tags_of(bytes, settings).unwrap_err();
    assert!(error.to_string().contains(said), "{error}");
}

/// A structured array with items of 2 bytes, 8 bytes and 3 bytes of padding.
fn structured() -> Vec<u8> {
    let mut items = Vec::new();
    for (channel, time) in [(3_u16, -7_i64), (65_535, 8), (0, i64::MAX)] {
        items.extend(channel.to_le_bytes());
        items.extend(time.to_le_bytes());
        items.extend([9; 3]);
    }
    npy("[('ch', '<u2'), ('t', '<i8'), ('', '|V3')]", "(3,)", false, &items)
}

fn expected() -> Vec<Tag> {
    vec![tag(-7, 3), tag(8, 65_535), tag(i64::MAX, 0)]
}

/// An archive of columns with a tick.
fn archive(method: CompressionMethod) -> Vec<u8> {
    let letters: Vec<u8> =
        "4ps".chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    let micro_tick = 2e-12_f64.to_le_bytes();
    npz(
        &[
            ("time.npy", npy("<i8", "(3,)", false, &i64s(&[-7, 8, i64::MAX]))),
            ("channel.npy", npy("<u2", "(3,)", false, &[3, 0, 255, 255, 0, 0])),
            ("micro.npy", npy("|u1", "(3,)", false, &[1, 2, 3])),
            ("tick.npy", npy("<U3", "()", false, &letters)),
            ("micro_tick.npy", npy("<f8", "()", false, &micro_tick)),
            ("notes.txt", b"no array".to_vec()),
        ],
        method,
    )
}

#[test]
fn columns_of_a_structured_array_are_found_by_name() {
    assert_eq!(tags_of(&structured(), &Settings::default()).unwrap(), expected());
    assert_eq!(tags_of(&structured(), &by("time=t,channel=ch")).unwrap(), expected());
    refused(&structured(), &by("time=when"), "no column `when`");
    refused(&frame(&structured(), true), &Settings::default(), "unpack it first");
}

#[test]
fn columns_of_a_plain_array_are_found_by_their_order() {
    let rows = npy("<i8", "(2, 3)", false, &i64s(&[5, 1, 100, 6, 2, 200]));
    let columns = npy("<i8", "(2, 3)", true, &i64s(&[5, 6, 1, 2, 100, 200]));
    for array in [rows, columns] {
        let tags = tags_of(&array, &by("time,channel")).unwrap();
        assert_eq!(tags, [tag(5, 1), tag(6, 2)]);
        assert_eq!(tags_of(&array, &by("channel,time")).unwrap(), [tag(1, 5), tag(2, 6)]);
        refused(&array, &Settings::default(), "--columns time,channel");
    }
    let pairs = npy("<i4", "(1, 2)", false, &[5, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(tags_of(&pairs, &by("time,channel")).unwrap(), [tag(5, 1)]);
    refused(&npy("<i8", "(2,)", false, &i64s(&[1, 2])), &by("time,channel"), "the shape (2)");
    let none = npy("<i8", "(0, 2)", true, &[]);
    assert_eq!(tags_of(&none, &by("time,channel")).unwrap(), []);
}

#[test]
fn arrays_of_an_archive_are_its_columns() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = archive(method);
        assert_eq!(tags_of(&bytes, &Settings::default()).unwrap(), expected());
        let (_folder, path) = file(&bytes);
        let header =
            SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
        assert_eq!(header.tick, Some("4ps".parse().unwrap()));
        assert_eq!(header.micro_tick, Some("2ps".parse().unwrap()));
    }
    let time = ("time.npy", npy("<i8", "(2,)", false, &i64s(&[1, 2])));
    let short = ("channel.npy", npy("|u1", "(1,)", false, &[1]));
    let bytes = npz(&[time.clone(), short], CompressionMethod::Stored);
    refused(&bytes, &Settings::default(), "different lengths");
    let tick = ("tick.npy", npy("<i8", "()", false, &i64s(&[4])));
    let channel = ("channel.npy", npy("|u1", "(2,)", false, &[1, 2]));
    let bytes = npz(&[time.clone(), channel, tick], CompressionMethod::Stored);
    refused(&bytes, &Settings::default(), "its `tick` is no tick");
    // Another archive is none of arrays.
    let bytes = npz(&[("a.csv", b"1,2\n".to_vec()), time], CompressionMethod::Stored);
    refused(&bytes, &Settings::default(), "it is a ZIP archive");
}

#[test]
fn other_types_are_refused_by_name() {
    let field = |of: &str, bytes: usize| {
        let of = format!("[('time', '{of}'), ('channel', '|u1')]");
        npy(&of, "(1,)", false, &vec![0; bytes + 1])
    };
    for (of, bytes, said) in [
        (">i8", 8, "big-endian numbers (>i8)"),
        ("<f8", 8, "`time` holds floats"),
        ("<f2", 2, "items of the type <f2"),
        ("<c16", 16, "items of the type <c16"),
        ("<M8[ns]", 8, "items of the type <M8[ns]"),
        ("<U4", 16, "items of the type <U4"),
        ("|O", 8, "Python objects"),
    ] {
        refused(&field(of, bytes), &Settings::default(), said);
    }
    // What the advice for floats in a row would lead to is said at once.
    let rows = npy("<f8", "(2, 2)", false, &[0; 32]);
    refused(&rows, &Settings::default(), "numpy.savez(NEW, time=a[:, 0]");
    let twice = [structured(), structured()].concat();
    refused(&twice, &Settings::default(), "bytes follow its array");
}

/// Every cut is an error, and no flipped byte is a panic.
#[test]
fn damaged_arrays_are_errors() {
    for bytes in
        [structured(), archive(CompressionMethod::Stored), archive(CompressionMethod::Deflated)]
    {
        for len in some(6..bytes.len()) {
            assert!(tags_of(&bytes[..len], &Settings::default()).is_err(), "{len}");
        }
        let mut seed = 1_u64;
        for _ in some(0..2_000) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mut flipped = bytes.clone();
            let at = usize::try_from(seed >> 33).unwrap() % bytes.len();
            flipped[at] ^= 1 << (seed >> 30 & 7);
            let (_folder, path) = file(&flipped);
            let _ = SourceFile::open(&path).unwrap().header(&Settings::default());
            let _ = read_all(&path, &Settings::default());
        }
    }
    // The items of a member have a checksum.
    let mut bytes = archive(CompressionMethod::Stored);
    let at = bytes.windows(8).position(|bytes| bytes == i64::MAX.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    refused(&bytes, &Settings::default(), "checksum");
    // Lists in lists, and a description of 4 GiB.
    let deep = npy(&"[".repeat(5_000), "()", false, &[]);
    refused(&deep, &Settings::default(), "lists in lists");
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    refused(&long, &Settings::default(), "4294967295 bytes");
    // More rows than there are bytes.
    for shape in ["(4,)", "(9223372036854775807,)", "(18446744073709551615,)"] {
        let of = "[('t', '<i8'), ('ch', '<i8')]";
        let few = npy(of, shape, false, &i64s(&[1, 2]));
        refused(&few, &Settings::default(), "before its last row");
    }
}
