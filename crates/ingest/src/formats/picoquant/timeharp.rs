//! Files of a TimeHarp 200 in its mode of time tagging (`.t3r`, formats 5.0 and 6.0). A record has the count of a clock
//! of 100 ns, which gives the time, and the time to the sync, which is the micro time: 0x5005_0064 is a photon of input
//! 2 at count 100 (10 µs) with the micro time 5.
//!
//! Source: PicoQuant, manual of the TimeHarp 200; the texts of libpicoquant (`timeharp`) and of phconvert
//! (`t3r_reader`), which agree on the headers.

use tagq_store::{Recording, Stated};

use super::{
    facts::{Facts, milliseconds, tick},
    labels::MARKER_OFFSET,
    legacy::Fields,
    records::word,
    tags::HeaderFault,
};
use crate::formats::{
    counter::Counter,
    format::BEGAN,
    records::{DecodedRecords, Head, RecordFile},
};

/// How a file of a TimeHarp begins.
pub(super) const TIMEHARP: &[u8] = b"TimeHarp 200";
pub(super) const NAME: &str = "t3r";

const VERSION: (usize, usize) = (16, 6);
/// Inputs of a router, and markers.
const INPUTS: u16 = 4;
const MARKERS: u16 = 3;
const COMMENT_BYTES: usize = 256;
/// Bytes of settings after the texts, of a part for each board, and of the part for time tags without its list.
const SETTINGS_BYTES: usize = 212;
const TAGS_BYTES: usize = 52;
const BOARDS_MAX: i32 = 8;
/// Lists of image settings longer than this are damage.
const IMAGE_WORDS_MAX: i32 = 1 << 16;
const HISTOGRAM_MODE: i32 = 0;
const TAGS_MODE: i32 = 2;

/// Places of the texts and lengths that differ.
struct BoardPlaces {
    program: (usize, usize),
    began: (usize, usize),
    comment: usize,
    board_bytes: usize,
    /// Where the resolution stands in the part for a board, and the serial number.
    resolution: usize,
    serial: usize,
}

/// Reads the header that `bytes` begin with.
pub(super) fn read(bytes: &[u8]) -> Result<RecordFile<TimeHarp>, HeaderFault> {
    let fields = Fields(bytes);
    let version = fields.text(VERSION)?;
    let places = match version.as_str() {
        "5.0" => BoardPlaces {
            program: (0, 0),
            began: (28, 18),
            comment: 48,
            board_bytes: 24,
            resolution: 20,
            serial: 0,
        },
        "6.0" => BoardPlaces {
            program: (22, 30),
            began: (52, 18),
            comment: 72,
            board_bytes: 48,
            resolution: 44,
            serial: 24,
        },
        _ => return Err(HeaderFault::Damaged(format!("format version `{version}` is not known"))),
    };
    let settings = places.comment + COMMENT_BYTES;
    let setting = |number: usize| fields.int(settings + 4 * number);
    match setting(6)? {
        TAGS_MODE => {}
        HISTOGRAM_MODE => {
            return Err(HeaderFault::histogram("a histogram of a TimeHarp 200 (THD)"));
        }
        mode => return Err(HeaderFault::Damaged(format!("mode {mode} is not that of time tags"))),
    }
    if setting(2)? != 32 {
        return Err(HeaderFault::Damaged(format!("records of {} bits instead of 32", setting(2)?)));
    }
    let boards = Some(setting(4)?).filter(|boards| (1..=BOARDS_MAX).contains(boards));
    let boards = boards.ok_or_else(|| HeaderFault::Damaged("the number of boards".into()))?;
    let board = settings + SETTINGS_BYTES;
    let of_tags = board + places.board_bytes * boards.unsigned_abs() as usize;
    let of_tag = |number: usize| fields.int(of_tags + 4 * number);
    let image_words = of_tag(12)?;
    if !(0..=IMAGE_WORDS_MAX).contains(&image_words) {
        return Err(HeaderFault::Damaged(format!("{image_words} words of image settings")));
    }
    let end = of_tags + TAGS_BYTES + 4 * image_words.unsigned_abs() as usize;
    let mut lasting = bytes.get(..end).ok_or(HeaderFault::Torn)?.to_vec();
    // Rates, the end of the measurement and the number of records are written when it ends.
    lasting[of_tags + 28..of_tags + 48].fill(0);
    let clock = tick(&format!("{}e-9", of_tag(0)?))?;
    let resolution = f32::from_le_bytes(fields.bytes(board + places.resolution)?);
    let micro_tick = tick(&format!("{resolution}e-9"))?;
    let mut facts = Facts::default();
    facts.add("instrument", Some("TimeHarp 200"));
    facts.add("serial number", Some(fields.int(board + places.serial)?.to_string()));
    let text = |place| fields.text(place).map(|text| Some(text).filter(|text| !text.is_empty()));
    facts.add("program", text(places.program)?);
    facts.add(BEGAN, text(places.began)?);
    facts.add("comment", text((places.comment, COMMENT_BYTES))?);
    facts.add("acquisition time", Some(milliseconds(setting(10)?.into())));
    facts.add("measured for", Some(milliseconds(of_tag(9)?.into())));
    facts.add("stop reason", Some(format!("code {}", of_tag(10)?)));
    facts.add("sync rate", Some(format!("{} Hz", of_tag(7)?)));
    let number = |value: i32| u64::try_from(value).ok();
    let stated = Stated {
        records: number(of_tag(11)?),
        records_found: None,
        duration_ms: number(of_tag(9)?).filter(|&duration| duration > 0),
    };
    let inputs = (1..=INPUTS).map(|input| (input, format!("input{input}")));
    let markers = (1..=MARKERS).map(|marker| (100 + marker, format!("marker{marker}")));
    let recording = Recording {
        format: NAME.into(),
        channel_names: inputs.chain(markers).collect(),
        facts: facts.0,
        stated: Some(stated),
        ..Recording::default()
    };
    let head = Head { lasting, recording, tick: Some(clock), micro_tick: Some(micro_tick) };
    Ok(RecordFile::new(head, TimeHarp))
}

/// The records of a TimeHarp 200: 16 bits of the clock, 12 of the time to the sync, 2 of the router, 1 that says
/// whether it is a photon.
pub(super) struct TimeHarp;

const WRAP: i64 = 1 << 16;
const RESERVED: &str = "reserved record";

/// One record, decoded.
pub(super) enum TimeHarpEvent {
    Photon { input: u64, micro: u32 },
    Markers(u32),
    Overflow,
    Reserved,
}

fn event(record: u32) -> TimeHarpEvent {
    let data = record >> 16 & 0xfff;
    if record >> 30 & 1 == 1 {
        return TimeHarpEvent::Photon { input: u64::from(record >> 28 & 3) + 1, micro: data };
    }
    match data {
        0x800.. => TimeHarpEvent::Overflow,
        data if data & 7 > 0 => TimeHarpEvent::Markers(data & 7),
        _ => TimeHarpEvent::Reserved,
    }
}

impl Counter for TimeHarp {
    type Event = (TimeHarpEvent, u32);

    type Sum = i64;

    fn record_bytes(&self) -> usize {
        4
    }

    fn period(&self) -> i64 {
        WRAP
    }

    fn overflows(&self, record: &[u8]) -> u32 {
        u32::from(matches!(event(word(record)), TimeHarpEvent::Overflow))
    }

    fn event(&self, record: &[u8]) -> (TimeHarpEvent, u32) {
        let record = word(record);
        (event(record), record & 0xffff)
    }

    fn counter(&self, (event, counter): &(TimeHarpEvent, u32)) -> Option<u32> {
        match event {
            TimeHarpEvent::Photon { .. } | TimeHarpEvent::Markers(_) => Some(*counter),
            TimeHarpEvent::Overflow | TimeHarpEvent::Reserved => None,
        }
    }

    fn has_blanks(&self) -> bool {
        false
    }

    fn sum(&self, overflows: i64) -> i64 {
        overflows
    }

    fn add(
        &self,
        (event, counter): (TimeHarpEvent, u32),
        sum: impl FnOnce() -> i64,
        found: &mut DecodedRecords,
    ) -> Option<()> {
        let time = sum() + i64::from(counter);
        match event {
            TimeHarpEvent::Photon { input, micro } => found.photon(time, input, micro),
            TimeHarpEvent::Markers(bits) => {
                let set = (0..u64::from(MARKERS)).filter(|bit| bits >> bit & 1 == 1);
                set.for_each(|bit| found.tag(time, MARKER_OFFSET + 1 + bit));
            }
            TimeHarpEvent::Overflow => {}
            TimeHarpEvent::Reserved => found.left_out(RESERVED),
        }
        Some(())
    }
}
