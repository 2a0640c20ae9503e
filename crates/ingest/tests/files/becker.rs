//! Files of Becker & Hickl's modules, made record by record and compared with a plain decoder.

use std::fs;

use proptest::prelude::*;
use tagq_ingest::{Error, Settings, SourceFile, late_settings};
use tagq_sampling::random_cases;
use tagq_store::{Recording, Tag, Tick};

use crate::{
    instruments::{
        Stored, early, grown_record_by_record, in_order, ingested, ingested_on, read_all,
        real_file, stored,
    },
    support::{file, skipped, tag},
};

const INVALID: u32 = 1 << 31;
const MTOV: u32 = 1 << 30;
const GAP: u32 = 1 << 29;
const MARK: u32 = 1 << 28;

/// A macro time clock of 12.5 ns, and four routing bits.
const HEADER: [u8; 4] = [125, 0, 0, 0xa0];
const HEADER_600: [u8; 6] = [4, 0, 125, 0, 0, 0];

fn named(name: &str) -> Settings {
    Settings { format: Some(name.parse().unwrap()), ..Settings::default() }
}

fn bytes_of(records: &[u32]) -> Vec<u8> {
    let records = records.iter().flat_map(|record| record.to_le_bytes());
    HEADER.into_iter().chain(records).collect()
}

/// A record of 6 bytes of a word of 4 bytes with the same fields.
fn bytes_600_of(records: &[u32]) -> Vec<u8> {
    let record = |word: &u32| {
        let [low, middle, adc, high] = word.to_le_bytes();
        let flags = (high >> 7) << 4 | (high >> 6 & 1) << 5 | (high >> 5 & 1) << 6;
        [adc, high & 15 | flags, low, middle >> 4, low, middle]
    };
    HEADER_600.into_iter().chain(records.iter().flat_map(record)).collect()
}

/// The fields of a record: overflows before it, its macro time, routing, micro time, and the flags.
#[expect(clippy::struct_excessive_bools, reason = "the flags of a record")]
struct Fields {
    overflows: i64,
    macro_time: Option<i64>,
    routing: u32,
    invalid: bool,
    mark: bool,
    gap: bool,
    blank: bool,
}

fn fields(word: u32) -> Fields {
    let is = |flag: u32| word & flag > 0;
    let many = is(INVALID) && is(MTOV) && !is(MARK);
    Fields {
        overflows: if many { i64::from(word % (1 << 28)) } else { i64::from(is(MTOV)) },
        macro_time: (!many).then_some(i64::from(word % 4_096)),
        routing: word >> 12 & 15,
        invalid: is(INVALID),
        mark: is(MARK),
        gap: is(GAP),
        blank: word == 0,
    }
}

fn fields_600(record: &[u8]) -> Fields {
    let macro_time =
        i64::from(record[2]) * 65_536 + i64::from(record[5]) * 256 + i64::from(record[4]);
    Fields {
        overflows: (record[1] >> 5 & 1).into(),
        macro_time: Some(macro_time),
        routing: record[3].into(),
        invalid: record[1] & 16 > 0,
        mark: false,
        gap: record[1] & 64 > 0,
        blank: record == [0; 6],
    }
}

/// Returns the tags of some records, and the facts about the recording.
fn plain(records: impl Iterator<Item = Fields>, wrap: i64) -> (Vec<Tag>, Recording) {
    let (mut tags, mut sum, mut found) = (Vec::<Tag>::new(), 0, Recording::default());
    let (mut invalid, mut reserved, mut blank, mut moved) = (0, 0, 0, 0);
    let records: Vec<Fields> = records.collect();
    let counter = |of: &Fields| of.macro_time.filter(|_| !of.blank).map(i128::from);
    let counters: Vec<_> = records.iter().map(|of| (of.overflows.into(), counter(of))).collect();
    let early = early(&counters, wrap.into());
    let mut is_above_zero = false;
    for (of, is_early) in records.into_iter().zip(early) {
        if of.blank && is_above_zero {
            blank += 1;
            continue;
        }
        is_above_zero = of.blank || of.macro_time > Some(0);
        sum += of.overflows * wrap;
        let time = sum + of.macro_time.unwrap_or(0) - if is_early { wrap } else { 0 };
        moved += u64::from(is_early);
        let latest = tags.iter().map(|tag| tag.time).max();
        if of.gap && latest.is_some_and(|latest| latest < time) {
            found.dead.push((latest.unwrap(), time));
        }
        match of.macro_time {
            None => {}
            Some(_) if of.mark && of.routing == 0 => reserved += 1,
            Some(_) if of.mark => {
                let set = (0..4).filter(|bit| of.routing >> bit & 1 == 1);
                tags.extend(set.map(|bit| tag(time, 101 + bit)));
            }
            Some(_) if of.invalid => invalid += 1,
            Some(_) => tags.push(tag(time, of.routing.into())),
        }
    }
    let counted = |what: &str, records| Some((what.to_owned(), records)).filter(|_| records > 0);
    let left_out =
        [("blank record", blank), ("invalid photon", invalid), ("reserved record", reserved)];
    found.left_out =
        left_out.into_iter().filter_map(|(what, records)| counted(what, records)).collect();
    found.odd = counted(tagq_ingest::EARLY, moved).into_iter().collect();
    (tags, found)
}

fn check(bytes: &[u8], format: &str, (tags, expected): &(Vec<Tag>, Recording)) {
    let (_folder, path) = file(bytes);
    assert_eq!(&read_all(&path, &named(format)).unwrap(), tags);
    let header = SourceFile::open(&path).unwrap().header(&named(format)).unwrap().unwrap();
    assert_eq!((header.tick, header.tick_assumed), (Some("12.5ns".parse().unwrap()), false));
    let Stored { rows, facts, .. } = stored(bytes, "a", &named(format)).unwrap();
    assert_eq!(rows, in_order(tags));
    let mut found = facts.recording.unwrap();
    found.left_out.sort();
    assert_eq!((&found.dead, &found.left_out), (&expected.dead, &expected.left_out));
    assert_eq!(found.odd, expected.odd);
    assert_eq!(found.format, format);
}

fn record() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => (any::<u32>(), 0..16_u32).prop_map(|(word, flags)| (word % (1 << 28)) | (flags << 28)),
        4 => (any::<u32>()).prop_map(|word| word % (1 << 28)),
        // Some overflows.
        2 => (0..4_u32).prop_map(|count| INVALID | MTOV | count),
        1 => Just(INVALID | MTOV | GAP | 2),
    ]
}

/// Macro times ascend between overflows.
fn ascending(records: Vec<u32>) -> Vec<u32> {
    let mut macro_time = 0;
    let mut ascend = |word: u32| {
        let of = fields(word);
        if of.overflows > 0 {
            macro_time = 0;
        }
        if of.macro_time.is_none() {
            return word;
        }
        macro_time = (macro_time + word % 64).min(4_095);
        word & !4_095 | macro_time
    };
    records.into_iter().map(&mut ascend).collect()
}

/// Puts a photon of the period before after some of the first records of a period.
fn with_early(mut records: Vec<u32>) -> Vec<u32> {
    for at in 1..records.len() {
        let of = fields(records[at - 1]);
        let is_begun = of.overflows > 0 && of.macro_time < Some(1_000);
        if is_begun && records[at].is_multiple_of(3) && fields(records[at]).overflows == 0 {
            records[at] = records[at] & !4_095 | (4_000 + records[at] % 96);
        }
    }
    records
}

proptest! {
    #![proptest_config(random_cases(200))]

    #[test]
    fn records_are_decoded_as_the_text_of_the_format_says(
        records in prop::collection::vec(record(), 0..200),
        torn in 0..4_usize,
    ) {
        let records = with_early(ascending(records));
        let bytes = [bytes_of(&records), vec![1; torn]].concat();
        check(&bytes, "spc", &plain(records.iter().map(|&word| fields(word)), 1 << 12));
        let bytes = bytes_600_of(&records);
        let (records, _) = bytes[6..].as_chunks::<6>();
        let expected = plain(records.iter().map(|record| fields_600(record)), 1 << 24);
        let (_folder, path) = file(&bytes);
        prop_assert_eq!(read_all(&path, &named("spc600")).unwrap(), expected.0);
    }

    #[test]
    fn no_bytes_cause_a_panic(
        noise in prop::collection::vec(any::<u8>(), 0..1_000),
        settings in prop::collection::vec(any::<u8>(), 0..200),
        code in any::<u16>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.spc");
        fs::write(&path, &noise).unwrap();
        let mut set = [&code.to_le_bytes()[..], &settings].concat();
        if set.len() > 34 {
            set[32..34].copy_from_slice(&[0x55, 0x55]);
        }
        fs::write(folder.path().join("a.set"), set).unwrap();
        for settings in
            [named("spc"), named("spc600"), named("spc600-256"), named("spc-qc"), Settings::default()]
         {
            let _ = SourceFile::open(&path).unwrap().header(&settings);
            let _ = read_all(&path, &settings);
        }
    }
}

#[test]
fn records_of_six_bytes_have_gaps_and_invalid_photons() {
    // Ascending macro times, with an overflow of 2^24 before the fifth.
    let records = [5, 70, INVALID | 0x50, GAP | 0x5a, MTOV | 3, GAP | MTOV | 4];
    let bytes = bytes_600_of(&records);
    let (chunks, _) = bytes[6..].as_chunks::<6>();
    let expected = plain(chunks.iter().map(|record| fields_600(record)), 1 << 24);
    assert_eq!(expected.1.dead.len(), 2);
    check(&bytes, "spc600", &expected);
}

/// Records of other modules: macro times ascend, with an overflow after each fourth record.
#[test]
fn records_of_other_modules_are_decoded_as_the_texts_of_the_formats_say() {
    let mut x = 3_u32;
    let mut random = |bits: u32| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        x >> (32 - bits)
    };
    let fields = |word: u32, macro_time: u32, overflows: i64, invalid: bool| Fields {
        overflows,
        macro_time: Some(macro_time.into()),
        routing: 0,
        invalid,
        mark: false,
        gap: word >> 29 & 1 == 1,
        blank: false,
    };
    // 8 bits of the converter, 17 of macro time, 3 of routing, an unused one, gap, overflow, invalid.
    let mut words = Vec::new();
    let mut expected = Vec::new();
    for i in 0..3_000 {
        let (adc, macro_time, routing, flags) = (random(8), i % 4 * 30_000, random(3), random(2));
        let (invalid, overflow) = (i % 11 == 5 && i % 4 != 0, i % 4 == 0);
        let gap = flags == 3;
        let word = adc | macro_time << 8 | routing << 25 | u32::from(gap) << 29;
        words.push(word | u32::from(overflow) << 30 | u32::from(invalid) << 31);
        expected.push(Fields { routing, ..fields(word, macro_time, overflow.into(), invalid) });
        if i % 100 == 99 {
            words.push(3 << 30 | 5);
            expected.push(Fields { macro_time: None, ..fields(0, 0, 5, true) });
        }
    }
    check(&bytes_of(&words), "spc600-256", &plain(expected.into_iter(), 1 << 17));
    // 12 bits of macro time, 4 of routing, 12 of micro time, and 4 of the input and the type.
    for is_large in [false, true] {
        let (mut words, mut expected) = (Vec::new(), Vec::new());
        for i in 0..3_000 {
            let (macro_time, routing, micro, kind) =
                (i % 4 * 1_000, random(4), random(12), random(4));
            if i % 4 == 0 {
                words.push(1 << 31);
                expected.push(Fields { macro_time: None, ..fields(0, 0, 1, false) });
            }
            let is_overflow = if is_large { kind == 8 } else { kind >> 2 == 2 };
            if is_overflow {
                continue;
            }
            words.push(macro_time | routing << 12 | micro << 16 | kind << 28);
            let photon = |input: u32, gap| Fields {
                routing: 16 * input + routing,
                gap,
                ..fields(0, macro_time, 0, input >= 6)
            };
            let mark = |routing| Fields { routing, mark: true, ..fields(0, macro_time, 0, false) };
            expected.push(match (is_large, kind) {
                (false, 0..4) | (true, 0..8) => photon(kind, false),
                (_, 12..) => photon(kind & 3, true),
                (false, _) | (true, 10) => mark(routing),
                (true, _) => mark(0),
            });
        }
        let header = 125 + (1_u32 << 31) + (u32::from(is_large) << 23);
        let bytes: Vec<u8> =
            [header].iter().chain(&words).flat_map(|word| word.to_le_bytes()).collect();
        check(&bytes, "spc-qc", &plain(expected.into_iter(), 1 << 12));
    }
}

#[test]
fn any_number_of_threads_gives_the_same_tags() {
    let mut x = 7_u32;
    let words = (0..400_000).map(|_| {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match x >> 20 & 63 {
            0 => INVALID | MTOV | (x >> 28),
            1 => GAP | (x >> 4),
            2..=5 => MTOV | (x >> 4),
            6 => MARK | INVALID | ((x >> 4) & 0xfff_ffff),
            _ => (x >> 4) % (1 << 28),
        }
    });
    let records = with_early(ascending(words.collect()));
    let bytes = bytes_of(&records);
    let whole = stored(&bytes, "a", &Settings { threads: 1, ..named("spc") }).unwrap();
    let (_folder, path) = file(&bytes);
    let tags = read_all(&path, &Settings { threads: 1, ..named("spc") }).unwrap();
    let some = plain(records[..2_000].iter().map(|&word| fields(word)), 1 << 12).0;
    assert_eq!(tags[..some.len()], some);
    for threads in [0, 2, 3, 4] {
        let settings = Settings { threads, ..named("spc") };
        assert!(read_all(&path, &settings).unwrap() == tags, "{threads} threads");
        let again = stored(&bytes, "a", &settings).unwrap();
        assert_eq!(again.facts.recording, whole.facts.recording, "{threads} threads");
    }
    let recording = whole.facts.recording.unwrap();
    assert!(recording.dead.len() > 1_000 && recording.odd[0].1 > 1_000);
}

/// The counter of these files has 4,096 values.
#[test]
fn a_photon_that_stands_after_its_overflow_belongs_before_it() {
    let times = |records: &[u32]| -> Vec<i64> {
        let (_folder, path) = file(&bytes_of(records));
        read_all(&path, &named("spc")).unwrap().iter().map(|tag| tag.time).collect()
    };
    // After 4092 the counter goes back by 4,072 and did not begin again.
    let inverted = [100, 4_090, MTOV + 10, 4_092, 20, 500, MTOV + 30];
    assert_eq!(times(&inverted), [100, 4_090, 4_106, 4_092, 4_116, 4_596, 8_222]);
    // Two of them, and one right after an overflow that stands alone.
    assert_eq!(times(&[MTOV + 10, 4_092, 4_094, 20]), [4_106, 4_092, 4_094, 4_116]);
    assert_eq!(times(&[INVALID | MTOV | 2, 4_092, 20]), [8_188, 8_212]);
    // A jump forward alone is that of a low rate.
    assert_eq!(times(&[MTOV + 10, 4_092, MTOV + 20]), [4_106, 8_188, 8_212]);
    // The counter ascends to 4,000 here: an overflow is missing, and nothing says where.
    assert_eq!(times(&[MTOV + 10, 1_500, 3_000, 4_000, 20]), [4_106, 5_596, 7_096, 8_096, 4_116]);
    // There is no period before the first one.
    assert_eq!(times(&[10, 4_092, 20]), [10, 4_092, 20]);
}

#[test]
fn a_record_without_a_bit_after_others_is_blank() {
    let of = |records: &[u32]| {
        let Stored { rows, facts, .. } = stored(&bytes_of(records), "a", &named("spc")).unwrap();
        let times: Vec<i64> = rows.iter().map(|&(time, _)| time).collect();
        (times, facts.recording.unwrap().left_out)
    };
    assert_eq!(of(&[7, 100, 0]), (vec![7, 100], vec![("blank record".into(), 1)]));
    assert_eq!(of(&[7, 0, 0, 100]), (vec![7, 100], vec![("blank record".into(), 2)]));
    // After an overflow the counter is 0.
    assert_eq!(of(&[7, INVALID | MTOV | 1, 0, 100]), (vec![7, 4_096, 4_196], Vec::new()));
}

#[test]
fn a_growing_file_is_continued_at_every_record() {
    let records: Vec<u32> = (0..90_u32)
        .map(|i| match i % 11 {
            2 => INVALID | MTOV | (i % 5),
            4 => GAP | (i * 40),
            5 => INVALID | (i * 40),
            7 => MTOV | GAP | (i * 10),
            8 => MARK | INVALID | 5 << 12 | (i * 40),
            _ => (i % 3) << 12 | (i * 40),
        })
        .collect();
    let records = ascending(records);
    let (tags, expected) = plain(records.iter().map(|&word| fields(word)), 1 << 12);
    let grown = grown_record_by_record(&bytes_of(&records), 0, "a", &named("spc"));
    assert_eq!(grown.rows, in_order(&tags));
    let found = grown.facts.recording.unwrap();
    assert_eq!((found.dead, found.left_out), (expected.dead, expected.left_out));
}

#[test]
fn overflows_that_leave_64_bits_are_an_error() {
    let (_folder, path) = file(&bytes_of(&vec![INVALID | MTOV | 0xfff_ffff; 9_000_000]));
    assert!(matches!(read_all(&path, &named("spc")), Err(Error::TimeRange { .. })));
    let (_folder, path) = file(&[0; 12]);
    assert!(matches!(read_all(&path, &named("spc")), Err(Error::Header { .. })));
}

/// Returns settings of a module of this code.
fn settings(code: u16) -> Vec<u8> {
    let info =
        "*IDENTIFICATION\r\n  Title     : noise: dark\r\n  Date      : 2016-09-05\r\n*END\r\n";
    let setup =
        "  #SP [SP_TAC_R,F,5.0e-08]\r\n  #SP [SP_TAC_G,I,5]\r\n  #SP [SP_ADC_RE,I,4096]\r\n";
    let len = |text: &str| u16::try_from(text.len()).unwrap().to_le_bytes();
    let mut bytes = vec![0; 42];
    bytes[..2].copy_from_slice(&(code << 4 | 0xd).to_le_bytes());
    bytes[2] = 42;
    bytes[6..8].copy_from_slice(&len(info));
    bytes[8] = u8::try_from(42 + info.len()).unwrap();
    bytes[12..14].copy_from_slice(&len(setup));
    bytes[32..34].copy_from_slice(&[0x55, 0x55]);
    bytes.extend_from_slice(info.as_bytes());
    bytes.extend_from_slice(setup.as_bytes());
    bytes
}

#[test]
fn settings_beside_a_file_tell_its_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.spc");
    let records = [5, MTOV | 7];
    for (code, bytes, format) in
        [(0x28, bytes_of(&records), "spc"), (0x22, bytes_600_of(&records), "spc600")]
    {
        fs::write(&path, &bytes).unwrap();
        fs::write(folder.path().join("noise.set"), settings(code)).unwrap();
        let tags = read_all(&path, &Settings::default()).unwrap();
        assert_eq!(tags, read_all(&path, &named(format)).unwrap());
        assert_eq!(tags.len(), 2);
        let frames = folder.path().join("noise.spc.zst");
        fs::write(&frames, crate::support::frame(&bytes, true)).unwrap();
        assert_eq!(read_all(&frames, &Settings::default()).unwrap(), tags);
    }
    // Another module is refused by its name, told or not.
    for (code, format) in
        [(0x29, None), (0x29, Some("spc")), (0x8c, Some("spc")), (0x28, Some("spc-qc"))]
    {
        fs::write(folder.path().join("noise.set"), settings(code)).unwrap();
        let error = read_all(&path, &format.map_or_else(Settings::default, named)).unwrap_err();
        assert!(error.to_string().contains("whose records are other ones"), "{error}");
    }
    // A clock in femtoseconds, and a photon of input 3 with the routing 11.
    fs::write(folder.path().join("noise.set"), settings(0x8c)).unwrap();
    let clock = 2_048_131 + (1_u32 << 24) + (1 << 31);
    fs::write(&path, [clock.to_le_bytes(), 0x3007_b00c_u32.to_le_bytes()].concat()).unwrap();
    assert_eq!(read_all(&path, &Settings::default()).unwrap(), [tag(12, 3 * 16 + 11)]);
    let header = SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
    assert_eq!(header.tick, "2048.131ps".parse().ok());
    // 50 ns / 5 / 4096.
    assert_eq!(header.micro_tick, Tick::of_decimal("2.44140625e-12").ok());
    assert_eq!(ingested(&path).1, [7]);
    // Without settings nothing tells it.
    fs::remove_file(folder.path().join("noise.set")).unwrap();
    fs::write(&path, bytes_of(&records)).unwrap();
    let error = read_all(&path, &Settings::default()).unwrap_err().to_string();
    for words in
        ["a Becker & Hickl file", "noise.set beside it", "--source-format spc (most modules)"]
    {
        assert!(error.contains(words), "{error}");
    }
    // Settings that appear later are found.
    let facts = stored(&bytes_of(&records), "noise.spc", &named("spc")).unwrap().facts;
    assert_eq!(late_settings(&facts, &path), None);
    let late = folder.path().join("noise.set");
    fs::write(&late, settings(0x28)).unwrap();
    assert_eq!(late_settings(&facts, &path), Some(late));
    let with = SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
    assert!(with.micro_tick.is_some());
}

/// data/validation.json has the times of the vendor's program.
#[test]
fn a_recording_of_an_instrument_has_its_module_and_tick() {
    let Some(path) = real_file("bh_test_noise.spc") else {
        return skipped("TAGQ_REAL_DATA has no instruments/bh_test_noise.spc");
    };
    let tags = read_all(&path, &Settings::default()).unwrap();
    assert!(!tags.is_empty() && tags.iter().all(|tag| tag.channel == 0));
    let header = SourceFile::open(&path).unwrap().header(&Settings::default()).unwrap().unwrap();
    assert_eq!(header.tick, Some("9.5ns".parse().unwrap()));
    let unit = ingested(&path).0.recording.unwrap().facts;
    assert!(unit.contains(&("module".into(), "SPC-150".into())), "{unit:?}");
}

/// Micro times of a file without settings are taken in a unit that is given, which is kept with the source.
#[test]
fn the_unit_of_micro_times_can_be_given() {
    let records = [5, 0x46 | 1 << 12 | 3 << 16, MTOV | 3 | 0xfff << 16];
    let mut settings = named("spc");
    settings.columns = Some("micro-tick=4.07ps".parse().unwrap());
    let header = |settings: &Settings| {
        let (_folder, path) = file(&bytes_of(&records));
        SourceFile::open(&path).unwrap().header(settings).unwrap().unwrap().micro_tick
    };
    assert_eq!(header(&named("spc")), None);
    assert_eq!(header(&settings), Some("4.07ps".parse().unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.spc");
    // 4095 less what the converter says.
    let expected = [4_095, 4_092, 0];
    for taken in 1..=records.len() {
        fs::write(&path, bytes_of(&records[..taken])).unwrap();
        // Only the first time is the unit given.
        let settings = if taken == 1 { &settings } else { &named("spc") };
        let store = ingested_on(&path, settings);
        let micro = store.micro().unwrap();
        let found: Vec<u32> = (0..taken).map(|row| micro.get(row).unwrap()).collect();
        assert_eq!(found, expected[..taken]);
        assert_eq!(store.manifest().micro_tick, Some("4.07ps".parse().unwrap()));
        let columns = store.manifest().sources[0].facts.columns.clone();
        assert_eq!(columns.as_deref(), Some("micro-tick=4.07ps"));
    }
    let without = stored(&bytes_of(&records), "a", &named("spc")).unwrap();
    assert_eq!((without.rows.len(), without.facts.columns), (3, None));
}
