//! Files of PicoHarp 300 (`.pt2`, `.pt3`, format 2.0) and HydraHarp 400 (`.ht2`, `.ht3`, formats 1.0 and 2.0) before
//! PTU: headers with fields at fixed places. The sync rate of a HydraHarp with 8 inputs is at byte 696 + 20 · 8 = 856.
//!
//! A source is recognised by its header without the fields that the instrument writes at the end of a measurement. They
//! are set to zero here.
//!
//! Source: PicoQuant, manuals of the PicoHarp and HydraHarp software.

use std::convert::identity;

use tagq_store::{Recording, Stated, Tick, of_single};

use super::{
    facts::{Facts, Meaning, milliseconds, no_sync, sync_divider, tick},
    labels,
    pulses::Pulses,
    records::{Mode, PicoQuant, RecordBits},
    tags::{HeaderFault, text},
};
use crate::formats::{
    format::BEGAN,
    records::{Head, RecordFile},
};

/// How a file of a PicoHarp begins, and one of a HydraHarp.
pub(super) const PICOHARP: &[u8] = b"PicoHarp 300";
pub(super) const HYDRAHARP: &[u8] = b"HydraHarp\0";

/// Bytes of the text that says the instrument.
pub(super) const IDENT_BYTES: usize = 16;
/// Texts of both headers: place and length.
const VERSION: (usize, usize) = (16, 6);
const PROGRAM: (usize, usize) = (22, 18);
const PROGRAM_VERSION: (usize, usize) = (40, 12);
const BEGAN_AT: (usize, usize) = (52, 18);
const COMMENT: (usize, usize) = (72, 256);
const BITS: usize = 332;
/// End of the part that both headers share; names of the hardware follow.
const HARDWARE: (usize, usize) = (536, 16);
const HARDWARE_VERSION: (usize, usize) = (552, 8);
const SERIAL: usize = 560;
/// Lists of image settings longer than this are damage.
const IMAGE_WORDS_MAX: i32 = 1 << 16;

/// Places of the fields that differ.
struct FieldPlaces {
    mode: usize,
    acquisition_time: usize,
    sync_divider: usize,
    /// The sync rate. The stop after, the stop reason, the records and the image settings follow it.
    sync_rate: usize,
    stop_after: usize,
    stop_reason: usize,
    image_words: usize,
    /// Where the image settings begin.
    end: usize,
}

pub(super) struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    pub(super) fn bytes<const N: usize>(&self, at: usize) -> Result<[u8; N], HeaderFault> {
        let field = self.0.get(at..at + N).ok_or(HeaderFault::Torn)?;
        Ok(std::array::from_fn(|i| field[i]))
    }

    pub(super) fn int(&self, at: usize) -> Result<i32, HeaderFault> {
        self.bytes(at).map(i32::from_le_bytes)
    }

    pub(super) fn text(&self, (at, len): (usize, usize)) -> Result<String, HeaderFault> {
        let bytes = self.0.get(at..at + len).ok_or(HeaderFault::Torn)?;
        Ok(text(bytes).trim().to_owned())
    }
}

/// Reads the header that `bytes` begin with.
pub(super) fn read(bytes: &[u8]) -> Result<RecordFile<PicoQuant>, HeaderFault> {
    Ok(file(bytes, of_single)?.or_of_doubles(file(bytes, identity).ok()))
}

fn file(bytes: &[u8], meant: Meaning) -> Result<RecordFile<PicoQuant>, HeaderFault> {
    let fields = Fields(bytes);
    let is_picoharp = bytes.starts_with(PICOHARP);
    let version = fields.text(VERSION)?;
    let layout = match (is_picoharp, version.as_str()) {
        (true, "2.0") => RecordBits::PicoHarp,
        (false, "1.0") => RecordBits::HydraHarpV1,
        (false, "2.0") => RecordBits::HydraHarpV2,
        _ => return Err(HeaderFault::Damaged(format!("format version `{version}` is not known"))),
    };
    if fields.int(BITS)? != 32 {
        return Err(HeaderFault::Damaged(format!(
            "records of {} bits instead of 32",
            fields.int(BITS)?
        )));
    }
    let inputs = if is_picoharp { 4 } else { fields.int(664)? };
    let places = places(is_picoharp, inputs)?;
    let is_t3 = match fields.int(places.mode)? {
        2 => false,
        3 => true,
        0 if is_picoharp => {
            return Err(HeaderFault::histogram("a histogram of a PicoHarp 300 (PHD)"));
        }
        0 => return Err(HeaderFault::histogram("a histogram of a HydraHarp 400 (HHD)")),
        mode => return Err(HeaderFault::Damaged(format!("mode {mode} is not T2 or T3"))),
    };
    let tick = match (is_picoharp, is_t3) {
        (true, false) => tick("4e-12")?,
        (true, true) => tick(&format!("{}e-9", f32::from_le_bytes(fields.bytes(584)?)))?,
        (false, _) => tick(&format!("{}e-12", meant(f64::from_le_bytes(fields.bytes(352)?))))?,
    };
    let sync_rate = fields.int(places.sync_rate)?;
    let period: Option<Tick> = if is_t3 {
        Some(format!("1/{sync_rate}Hz").parse().map_err(|_| no_sync(sync_rate))?)
    } else {
        None
    };
    let mode = match period {
        Some(period) => Mode::T3(Pulses::of(period, tick)?),
        None => Mode::T2,
    };
    let image_words = fields.int(places.image_words)?;
    if !(0..=IMAGE_WORDS_MAX).contains(&image_words) {
        return Err(HeaderFault::Damaged(format!("{image_words} words of image settings")));
    }
    let end = places.end + 4 * image_words.unsigned_abs() as usize;
    let mut lasting = bytes.get(..end).ok_or(HeaderFault::Torn)?.to_vec();
    // Rates, the end of the measurement and the number of records are written when it ends.
    lasting[places.stop_after..places.image_words].fill(0);
    if !is_picoharp {
        lasting[places.end - 8..places.end].fill(0);
    }
    let mut facts = Facts::default();
    let hardware = [fields.text(HARDWARE)?, fields.text(HARDWARE_VERSION)?].join(" ");
    facts.add("instrument", Some(hardware.trim()));
    facts.add("serial number", Some(fields.int(SERIAL)?.to_string()));
    facts.add("records", Some(if is_t3 { "T3" } else { "T2" }));
    let program = [fields.text(PROGRAM)?, fields.text(PROGRAM_VERSION)?].join(" ");
    facts.add("program", Some(program.trim()));
    facts.add(BEGAN, Some(fields.text(BEGAN_AT)?).filter(|text| !text.is_empty()));
    facts.add("comment", Some(fields.text(COMMENT)?).filter(|text| !text.is_empty()));
    let time = |at| fields.int(at).map(|value| milliseconds(value.into()));
    facts.add("acquisition time", Some(time(places.acquisition_time)?));
    facts.add("measured for", Some(time(places.stop_after)?));
    facts.add("stop reason", Some(format!("code {}", fields.int(places.stop_reason)?)));
    facts.add("sync rate", Some(format!("{sync_rate} Hz")));
    if is_t3 {
        facts.add("sync divider", sync_divider(fields.int(places.sync_divider)?.into()));
    }
    let format = match (is_picoharp, is_t3) {
        (true, false) => "pt2",
        (true, true) => "pt3",
        (false, false) => "ht2",
        (false, true) => "ht3",
    };
    let number = |value: i64| u64::try_from(value).ok();
    let stated = Stated {
        records: number(if is_picoharp {
            fields.int(places.stop_reason + 4)?.into()
        } else {
            i64::from_le_bytes(fields.bytes(places.end - 8)?)
        }),
        records_found: None,
        duration_ms: number(fields.int(places.stop_after)?.into()).filter(|&duration| duration > 0),
    };
    let recording = Recording {
        format: format.into(),
        channel_names: labels::names(Some(inputs.into())),
        pulses: period.map(labels::pulses),
        facts: facts.0,
        stated: Some(stated),
        ..Recording::default()
    };
    let (tick, micro_tick) = (Some(tick), is_t3.then_some(tick));
    let head = Head { lasting, recording, tick, micro_tick };
    Ok(RecordFile::new(head, PicoQuant { layout, mode }))
}

fn places(is_picoharp: bool, inputs: i32) -> Result<FieldPlaces, HeaderFault> {
    if is_picoharp {
        return Ok(FieldPlaces {
            mode: 348,
            acquisition_time: 364,
            sync_divider: 564,
            sync_rate: 704,
            stop_after: 712,
            stop_reason: 716,
            image_words: 724,
            end: 728,
        });
    }
    let inputs = usize::try_from(inputs).ok().filter(|&inputs| inputs <= 64);
    let inputs = inputs.ok_or_else(|| HeaderFault::Damaged("the number of inputs".into()))?;
    // Four words of settings and a rate for each input.
    let sync_rate = 696 + 20 * inputs;
    Ok(FieldPlaces {
        mode: 340,
        acquisition_time: 364,
        sync_divider: 680,
        sync_rate,
        stop_after: sync_rate + 4,
        stop_reason: sync_rate + 8,
        image_words: sync_rate + 12,
        end: sync_rate + 24,
    })
}
