//! Units of time that a program stored as singles in doubles, and headers that do not say the unit.

use tagq_ingest::{Error, Header, Settings, SourceFile};
use tagq_store::Tick;

use crate::{
    instruments::{read_all, stored},
    photon_hdf5,
    support::{file, ptu_header},
};

const T2: i64 = 0x0101_0204;
const T3: i64 = 0x0101_0304;
const RESOLUTION: &str = "MeasDesc_Resolution";
const GLOBAL: &str = "MeasDesc_GlobalResolution";
const RATE: i64 = 39_999_960;

/// Returns a PTU file with these values of tags, and a photon of the pulses 0, 7 and 1,000,000, 5 ticks after each.
fn ptu(record_type: i64, values: &[(&str, [u8; 8])]) -> Vec<u8> {
    let mut bytes = ptu_header(record_type, Some(3));
    for (name, value) in values {
        let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
        bytes[at + 40..at + 48].copy_from_slice(value);
    }
    let photon = |pulse: u32| 5 << 10 | pulse;
    // 976 · 1,024 + 576 = 1,000,000.
    let records = [photon(0), photon(7), 0xfe00_0000 + 976, photon(576)];
    bytes.extend(records.iter().flat_map(|record: &u32| record.to_le_bytes()));
    bytes
}

fn t3(resolution: f64, period: f64) -> Vec<u8> {
    let values = [
        (RESOLUTION, resolution.to_le_bytes()),
        (GLOBAL, period.to_le_bytes()),
        ("TTResult_SyncRate", RATE.to_le_bytes()),
    ];
    ptu(T3, &values)
}

fn header(bytes: &[u8], settings: &Settings) -> Result<Header, Error> {
    let (_folder, path) = file(bytes);
    SourceFile::open(&path).unwrap().header(settings).map(Option::unwrap)
}

fn times(bytes: &[u8], settings: &Settings) -> Vec<i64> {
    let (_folder, path) = file(bytes);
    read_all(&path, settings).unwrap().iter().map(|tag| tag.time).collect()
}

fn tick(text: &str) -> Tick {
    text.parse().unwrap()
}

#[test]
fn a_single_in_a_double_is_its_shortest_decimal_number() {
    let single = f64::from(16e-12_f32);
    assert_eq!(single.to_string(), "0.000000000015999999936067155");
    let period = 1.0 / 39_999_960.0;
    let (of_single, twin) = (t3(single, period), t3(16e-12, period));
    let settings = Settings::default();
    let found = header(&of_single, &settings).unwrap();
    assert_eq!((found.tick, found.micro_tick), (Some(tick("16ps")), Some(tick("16ps"))));
    assert_eq!(found, header(&twin, &settings).unwrap());
    // 7 pulses are 10937.51..., and 10^6 pulses 1562501562.50... ticks.
    assert_eq!(times(&of_single, &settings), [5, 10_942, 1_562_501_567]);
    assert_eq!(times(&twin, &settings), [5, 10_942, 1_562_501_567]);
    // The period of the sync, too.
    let rounded = f64::from(period as f32);
    let found = header(&t3(single, rounded), &settings).unwrap();
    assert_eq!(found.sync_period, Some(tick("1/39999960Hz")));
    // And the resolution of T2.
    let t2 = ptu(T2, &[(GLOBAL, f64::from(4e-12_f32).to_le_bytes())]);
    assert_eq!(header(&t2, &settings).unwrap().tick, Some(tick("4ps")));
}

/// A store that an earlier version made has the double as its tick.
#[test]
fn a_store_keeps_the_double() {
    let single = f64::from(16e-12_f32);
    let double = Tick::of_seconds(single).ok();
    assert_eq!(double.unwrap().exact(), "3199999987213431/200000000 as");
    let settings = Settings { tick: double, stored_micro_tick: double, ..Settings::default() };
    let bytes = t3(single, 25e-9);
    assert_eq!(header(&bytes, &settings).unwrap().tick, double);
    // 7 pulses are 10937.50004..., and 10^6 pulses 1562500006.24... ticks of the double.
    assert_eq!(times(&bytes, &settings), [5, 10_942, 1_562_500_011]);
    let hdf5 = photon_hdf5::built("photon_data", Some(single), &[]);
    assert_eq!(header(&hdf5, &settings).unwrap().tick, double);
    assert_eq!(header(&hdf5, &Settings::default()).unwrap().tick, Some(tick("16ps")));
}

#[test]
fn a_double_with_all_its_digits_is_exact() {
    // Of no single. 10^6 pulses are 10^33 / (39999960 · 15999999936067155.1) = 1562501568.7 ticks.
    let bytes = t3(1.599_999_993_606_712e-11, 1.0 / 39_999_960.0);
    let ticks = |pulses: i128| {
        let numerator = pulses * 10_i128.pow(26);
        i64::try_from(numerator / (i128::from(RATE) * 1_599_999_993_606_712)).unwrap()
    };
    let expected = [5, ticks(7) + 5, ticks(1_000_000) + 5];
    assert_eq!(times(&bytes, &Settings::default()), expected);
}

/// A header of a HydraHarp before PTU, with two inputs and this resolution in picoseconds.
fn ht3(resolution: f64) -> Vec<u8> {
    let mut bytes = vec![0; 760];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0, b"HydraHarp");
    put(16, b"2.0");
    put(332, &32_i32.to_le_bytes());
    put(340, &3_i32.to_le_bytes());
    put(352, &resolution.to_le_bytes());
    put(664, &2_i32.to_le_bytes());
    put(736, &40_000_000_i32.to_le_bytes());
    bytes
}

#[test]
fn the_older_headers_have_singles_in_doubles_too() {
    let settings = Settings::default();
    let single = f64::from(96.969_696_f32);
    assert_eq!(header(&ht3(single), &settings).unwrap().tick, Some(tick("96.969696ps")));
    let double = Tick::of_seconds(single * 1e-12);
    assert_ne!(double, Ok(tick("96.969696ps")));
    assert_eq!(header(&ht3(96.97), &settings).unwrap().tick, Some(tick("96.97ps")));
}

#[test]
fn wide_text_is_read() {
    let mut bytes = ptu_header(T2, Some(0));
    let at = bytes.windows(12).position(|window| window == b"File_Comment").unwrap();
    let wide: Vec<u8> = "µs\0?".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bytes[at + 36..at + 40].copy_from_slice(&0x4002_ffff_u32.to_le_bytes());
    bytes[at + 48..at + 56].copy_from_slice(&wide);
    let facts = stored(&bytes, "a.ptu", &Settings::default()).unwrap().facts;
    assert!(facts.recording.unwrap().facts.contains(&("comment".into(), "µs".into())));
}

#[test]
fn a_header_without_a_period_is_not_damaged() {
    let settings = Settings::default();
    let mut older = ht3(16.0);
    older[736..740].fill(0);
    for bytes in [ptu(T3, &[(GLOBAL, [0; 8]), ("TTResult_SyncRate", [0; 8])]), older] {
        let error = header(&bytes, &settings).unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("a sync rate of 0 Hz"), "{error}");
    }
}
