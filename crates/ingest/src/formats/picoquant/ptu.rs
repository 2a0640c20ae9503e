//! PTU files: what the tags of their header say about records, units and the measurement.
//!
//! The date 45,000.5 of a header is 2023-03-15 12:00:00: days since 1899-12-30.

use std::convert::identity;

use chrono::{DateTime, TimeDelta, Utc};
use tagq_store::{Recording, ScanFacts, Stated, of_single};

use super::{
    facts::{Facts, Meaning, is_period, milliseconds, no_sync, sync_divider, tick},
    labels,
    pulses::Pulses,
    records::{Mode, PicoQuant, RecordBits},
    tags::{HeaderFault, HeaderTags, Value},
};
use crate::formats::{
    format::{BEGAN, LOCAL_TIME},
    records::{Head, RecordFile},
};

const RECORD_BITS: i64 = 32;
/// The name by which tagq calls itself in the files that it writes.
const OWN_PROGRAM: &str = "tagq";

/// A type of records, as a header names it.
struct RecordType {
    code: i64,
    instrument: &'static str,
    /// How the bits of a record are divided.
    layout: RecordBits,
    is_t3: bool,
}

impl RecordType {
    const fn t2(code: i64, instrument: &'static str, layout: RecordBits) -> Self {
        Self { code, instrument, layout, is_t3: false }
    }

    const fn t3(code: i64, instrument: &'static str, layout: RecordBits) -> Self {
        Self { code, instrument, layout, is_t3: true }
    }
}

const RECORD_TYPES: [RecordType; 12] = [
    RecordType::t2(0x0001_0203, "PicoHarp 300", RecordBits::PicoHarp),
    RecordType::t3(0x0001_0303, "PicoHarp 300", RecordBits::PicoHarp),
    RecordType::t2(0x0001_0204, "HydraHarp 400 V1", RecordBits::HydraHarpV1),
    RecordType::t3(0x0001_0304, "HydraHarp 400 V1", RecordBits::HydraHarpV1),
    RecordType::t2(0x0101_0204, "HydraHarp 400 V2", RecordBits::HydraHarpV2),
    RecordType::t3(0x0101_0304, "HydraHarp 400 V2", RecordBits::HydraHarpV2),
    RecordType::t2(0x0001_0205, "TimeHarp 260 N", RecordBits::HydraHarpV2),
    RecordType::t3(0x0001_0305, "TimeHarp 260 N", RecordBits::HydraHarpV2),
    RecordType::t2(0x0001_0206, "TimeHarp 260 P", RecordBits::HydraHarpV2),
    RecordType::t3(0x0001_0306, "TimeHarp 260 P", RecordBits::HydraHarpV2),
    RecordType::t2(0x0001_0207, "MultiHarp or later", RecordBits::HydraHarpV2),
    RecordType::t3(0x0001_0307, "MultiHarp or later", RecordBits::HydraHarpV2),
];

/// Reasons for the end of a measurement.
const STOP_REASONS: [(i64, &str); 14] = [
    (0, "time over"),
    (1, "stopped by the user"),
    (2, "overflow"),
    (3, "error"),
    (-2, "FIFO overrun"),
    (-3, "error of an earlier program"),
    (-4, "TCSPC error"),
    (-5, "file error"),
    (-6, "out of memory"),
    (-7, "suspended"),
    (-8, "system error"),
    (-9, "queue overrun"),
    (-12, "reference clock lost"),
    (-13, "sync lost"),
];

/// Warnings during a measurement, one bit each.
const WARNINGS: [(u32, &str); 10] = [
    (0, "no sync"),
    (1, "sync rate too low"),
    (2, "sync rate too high"),
    (4, "an input has no events"),
    (6, "an input rate is too high"),
    (7, "events dropped"),
    (8, "ratio of input and sync rate"),
    (9, "sync divider above one"),
    (10, "time span too small"),
    (11, "offset not needed"),
];

/// Reads the header that `bytes` begin with.
pub(super) fn read(bytes: &[u8]) -> Result<RecordFile<PicoQuant>, HeaderFault> {
    let tags = HeaderTags::read(bytes)?;
    Ok(file(&tags, of_single)?.or_of_doubles(file(&tags, identity).ok()))
}

fn file(tags: &HeaderTags, meant: Meaning) -> Result<RecordFile<PicoQuant>, HeaderFault> {
    let missing = |name: &str| HeaderFault::Damaged(format!("no `{name}`"));
    let int = |name: &str| tags.int(name).ok_or_else(|| missing(name));
    let float = |name: &str| tags.float(name).ok_or_else(|| missing(name));
    let record_type = int("TTResultFormat_TTTRRecType")?;
    let known = RECORD_TYPES.iter().find(|known| known.code == record_type);
    let Some(&RecordType { instrument, layout, is_t3, .. }) = known else {
        return Err(HeaderFault::Damaged(format!(
            "record type {record_type:#010x} is not one of T2 or T3 that is known"
        )));
    };
    match tags.int("TTResultFormat_BitsPerRecord") {
        None | Some(RECORD_BITS) => {}
        Some(bits) => {
            return Err(HeaderFault::Damaged(format!("records of {bits} bits instead of 32")));
        }
    }
    let global = float("MeasDesc_GlobalResolution")?;
    let tick_of = |seconds: f64| tick(&format!("{:e}", meant(seconds)));
    let (tick, period) = if is_t3 {
        if global <= 0.0 {
            return Err(no_sync(tags.int("TTResult_SyncRate").unwrap_or(0)));
        }
        let rate = tags.int("TTResult_SyncRate").filter(|&rate| rate > 0);
        let exact = rate.filter(|&rate| is_period(global, rate, meant));
        let exact = exact.and_then(|rate| format!("1/{rate}Hz").parse().ok());
        let period = exact.map_or_else(|| tick_of(global), Ok)?;
        (tick_of(float("MeasDesc_Resolution")?)?, Some(period))
    } else {
        (tick_of(global)?, None)
    };
    let mode = match period {
        Some(period) => Mode::T3(Pulses::of(period, tick)?),
        None => Mode::T2,
    };
    let recording = Recording {
        format: "ptu".into(),
        channel_names: labels::names(tags.int("HW_InpChannels")),
        pulses: period.map(labels::pulses),
        facts: facts(tags, instrument, is_t3),
        stated: Some(stated(tags)),
        ..Recording::default()
    };
    let (tick, micro_tick) = (Some(tick), is_t3.then_some(tick));
    let head = Head { lasting: tags.lasting.clone(), recording, tick, micro_tick };
    Ok(RecordFile::new(head, PicoQuant { layout, mode }))
}

/// Returns the extent of the measurement. Compressed files that tagq writes have no number of records.
fn stated(tags: &HeaderTags) -> Stated {
    let is_own = tags.text("CreatorSW_Name") == Some(OWN_PROGRAM);
    let number = |name: &str| tags.int(name).and_then(|value| u64::try_from(value).ok());
    Stated {
        records: number("TTResult_NumberOfRecords").filter(|&records| records > 0 || !is_own),
        records_found: None,
        duration_ms: number("TTResult_StopAfter").filter(|&duration| duration > 0),
    }
}

fn facts(tags: &HeaderTags, instrument: &str, is_t3: bool) -> Vec<(String, String)> {
    let mut facts = Facts::default();
    let joined = |names: [&str; 2]| {
        let texts: Vec<&str> = names.iter().filter_map(|name| tags.text(name)).collect();
        Some(texts.join(" ")).filter(|text| !text.is_empty())
    };
    let flag = |name: &str| tags.int(name).filter(|&value| value != 0);
    facts.add("instrument", joined(["HW_Type", "HW_Version"]));
    facts.add("serial number", tags.text("HW_SerialNo"));
    let mode = if is_t3 { "T3" } else { "T2" };
    facts.add("records", Some(format!("{instrument} {mode}")));
    facts.add("program", joined(["CreatorSW_Name", "CreatorSW_Version"]));
    facts.add(BEGAN, tags.get("File_CreatingTime").and_then(began));
    facts.add("comment", tags.text("File_Comment"));
    facts.add("acquisition time", flag("MeasDesc_AcquisitionTime").map(milliseconds));
    facts.add("measured for", flag("TTResult_StopAfter").map(milliseconds));
    facts.add("stop reason", tags.int("TTResult_StopReason").map(stop_reason));
    facts.add("warnings", flag("TTResult_MDescWarningFlags").map(warnings));
    facts.add("records in header", flag("TTResult_NumberOfRecords").map(|n| n.to_string()));
    facts.add("sync rate", flag("TTResult_SyncRate").map(|rate| format!("{rate} Hz")));
    if is_t3 {
        facts.add("sync divider", tags.int("HWSync_Divider").and_then(sync_divider));
    }
    facts.0.extend(scan(tags).to_facts());
    facts.0
}

/// Returns the scan of an image.
fn scan(tags: &HeaderTags) -> ScanFacts {
    let positive = |name: &str| tags.int(name).filter(|&value| value > 0);
    let marker =
        |name: &str| positive(name).map(|marker| format!("{}{marker}", labels::MARKER_NAME));
    let side = |name: &str| positive(name).and_then(|side| u32::try_from(side).ok());
    let line = marker("ImgHdr_LineStart");
    let number = |name: &str| {
        #[expect(clippy::cast_precision_loss, reason = "a percentage, or a size in micrometres")]
        let whole = tags.int(name).map(|value| value as f64);
        tags.float(name).or(whole).filter(|&value| value.is_finite() && value > 0.0)
    };
    ScanFacts {
        // Files of points have a direction, too.
        is_two_way: tags.int("ImgHdr_BiDirect").filter(|_| line.is_some()).map(|is| is != 0),
        line,
        line_end: marker("ImgHdr_LineStop"),
        frame: marker("ImgHdr_Frame"),
        pixels: side("ImgHdr_PixX"),
        lines: side("ImgHdr_PixY"),
        sine_percent: number("ImgHdr_SinCorrection"),
        // PicoQuant writes a part of the amplitude.
        is_sine_of_period: tags.text("CreatorSW_Name").is_some_and(is_of_leica),
        pixel_um: number("ImgHdr_PixResol"),
    }
}

/// Whether a program is one of Leica's: LAS X, or its predecessor LAS AF.
fn is_of_leica(program: &str) -> bool {
    ["LAS X", "LAS AF", "Leica"].iter().any(|name| program.contains(name))
}

/// Returns the time of the beginning, as local time of the recording computer.
fn began(value: &Value) -> Option<String> {
    let days = match value {
        Value::Date(days) | Value::Float(days) => *days,
        Value::Int(_) | Value::Text(_) | Value::Other => return None,
    };
    let raw = || format!("{days} (not a plausible date)");
    // The day 0 of these dates is 25,569 days before 1970. Other programs write other units.
    let milliseconds = (days - 25_569.0) * 86_400_000.0;
    let is_plausible = matches!(value, Value::Date(_)) && (0.0..4e12).contains(&milliseconds);
    #[expect(clippy::cast_possible_truncation, reason = "of a date before 2100")]
    let date = is_plausible.then(|| TimeDelta::milliseconds(milliseconds.round() as i64));
    let date = date.and_then(|since| DateTime::<Utc>::UNIX_EPOCH.checked_add_signed(since));
    Some(date.map_or_else(raw, |date| format!("{}{LOCAL_TIME}", date.format("%Y-%m-%d %H:%M:%S"))))
}

fn stop_reason(code: i64) -> String {
    let known = STOP_REASONS.iter().find(|(other, _)| *other == code);
    known.map_or_else(|| format!("code {code}"), |(_, reason)| (*reason).into())
}

fn warnings(bits: i64) -> String {
    let names = (0..64_u32).filter(|bit| bits >> bit & 1 == 1).map(|bit| {
        let known = WARNINGS.iter().find(|(other, _)| *other == bit);
        known.map_or_else(|| format!("bit {bit}"), |(_, name)| (*name).into())
    });
    names.collect::<Vec<_>>().join(", ")
}
