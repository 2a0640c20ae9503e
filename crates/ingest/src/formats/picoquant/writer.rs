//! Writes tags as a PTU file with the records of a HydraHarp V2: of mode T3 if times are those of sync pulses and micro
//! times after them, else of mode T2.
//!
//! A tag of channel 1 at 33,554,532 = 2^25 + 100 ticks is the overflow 0xFE00_0001 and the record 0x0000_0064. Files
//! are written in units by several threads, so a unit counts overflows from the time of the tag before it.

use std::io;

use tagq_store::{ScanFacts, Tag, Tick, format::MICRO_NONE};

use super::{
    labels::{INPUTS_MAX, MARKER_NAME, MARKER_OFFSET, MARKERS, SYNC},
    pulses::Pulses,
    tags::{BOOL, FLOAT, INT, MAGIC, TEXT},
};

/// Bits of the counter in mode T2, and of the number of the pulse in mode T3.
const COUNTER_BITS: u32 = 25;
const PULSE_BITS: u32 = 10;
const CHANNEL_SHIFT: u32 = 25;
/// The largest micro time.
pub(crate) const MICRO_MAX: u32 = (1 << 15) - 1;
/// The number of records in the header.
const RECORDS: &str = "TTResult_NumberOfRecords";
const RECORD_BYTES: u64 = 4;
const SPECIAL: u32 = 1 << 31;
const OVERFLOW: u32 = SPECIAL | 63 << CHANNEL_SHIFT;
/// The submode of images.
const IMAGE: i64 = 3;
const T2: i64 = 0x0101_0204;
const T3: i64 = 0x0101_0304;

/// Units of times in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PtuTimes {
    tick: Tick,
    /// The global resolution: the tick, or the period of the pulses.
    global_s: f64,
    /// Hertz of the sync; 0 if unknown, or no whole number.
    sync_rate: i64,
    pulses: Option<Pulses>,
}

impl PtuTimes {
    /// Times in `tick`, in mode T2; `None` if a file cannot state this tick.
    pub(crate) fn t2(tick: Tick) -> Option<Self> {
        Some(Self { tick, global_s: tick.to_seconds()?, sync_rate: 0, pulses: None })
    }

    /// Pulses with this period, and micro times in `tick`, in mode T3; `None` if a file cannot state them.
    pub(crate) fn t3(tick: Tick, period: Tick) -> Option<Self> {
        tick.to_seconds()?;
        let pulses = Pulses::of(period, tick).ok().filter(|pulses| pulses.have_numbers())?;
        let second: Tick = "1s".parse().ok()?;
        let rate = second.in_ticks(period).filter(num_rational::Ratio::is_integer);
        let sync_rate = rate.and_then(|rate| i64::try_from(rate.to_integer()).ok()).unwrap_or(0);
        // A reader takes the period for 1/rate if it rounds to the stored one.
        #[expect(clippy::cast_precision_loss, reason = "rounded as a reader does")]
        let global_s = if sync_rate > 0 { 1.0 / sync_rate as f64 } else { period.to_seconds()? };
        Some(Self { tick, global_s, sync_rate, pulses: Some(pulses) })
    }

    /// Returns the number of records of a file of so many bytes, and where it stands in its header.
    pub(crate) fn records_in_header(&self, scan: &ScanFacts, bytes: u64) -> (u64, [u8; 8]) {
        let header = self.header(scan);
        let name = RECORDS.as_bytes();
        let at = header.windows(name.len()).position(|window| window == name).unwrap_or(0);
        let records = bytes.saturating_sub(header.len() as u64) / RECORD_BYTES;
        // After the name and the index are the type and the value.
        ((at + 32 + 4 + 4) as u64, records.to_le_bytes())
    }

    /// Returns the header of a file, with the scan of its image. The number of records is not known before, and 0.
    pub(crate) fn header(&self, scan: &ScanFacts) -> Vec<u8> {
        let mut bytes = [MAGIC, b"1.0.00\0\0"].concat();
        let mut add = |name: &str, kind: u32, value: [u8; 8], long: &[u8]| {
            let mut field = [0; 32];
            field[..name.len()].copy_from_slice(name.as_bytes());
            bytes.extend_from_slice(&field);
            bytes.extend_from_slice(&(-1_i32).to_le_bytes());
            bytes.extend_from_slice(&kind.to_le_bytes());
            bytes.extend_from_slice(&value);
            bytes.extend_from_slice(long);
        };
        let int = i64::to_le_bytes;
        let (mode, record_type) = if self.pulses.is_some() { (3, T3) } else { (2, T2) };
        add("CreatorSW_Name", TEXT, int(8), b"tagq\0\0\0\0");
        add("Measurement_Mode", INT, int(mode), b"");
        let image = image(scan);
        add("Measurement_SubMode", INT, int(if image.is_empty() { 0 } else { IMAGE }), b"");
        add("TTResultFormat_TTTRRecType", INT, int(record_type), b"");
        add("TTResultFormat_BitsPerRecord", INT, int(32), b"");
        add("HW_InpChannels", INT, int(INPUTS_MAX.into()), b"");
        add("MeasDesc_GlobalResolution", FLOAT, self.global_s.to_le_bytes(), b"");
        add("MeasDesc_Resolution", FLOAT, self.tick.seconds().to_le_bytes(), b"");
        add("TTResult_SyncRate", INT, int(self.sync_rate), b"");
        add(RECORDS, INT, int(0), b"");
        for (name, kind, value) in image {
            add(name, kind, value, b"");
        }
        add("Header_End", 0xffff_0008, int(0), b"");
        bytes
    }

    /// Returns the records of tags that follow a tag of time `before`, or none. In mode T3, times are those of the
    /// pulses, in order, and `micro` has the micro time of each tag.
    ///
    /// # Errors
    /// A tag that has no record: a negative time, one far before its predecessor, or a channel other than the sync
    /// input 0, the inputs 1 to 64 and the markers 101 to 104. In mode T3 also a time that is not that of a pulse, a
    /// photon without a micro time, another tag with one, and the sync input.
    pub(crate) fn records(
        &self,
        tags: &[Tag],
        micro: &[u32],
        before: Option<i64>,
    ) -> io::Result<Vec<u8>> {
        let counter_bits = if self.pulses.is_some() { PULSE_BITS } else { COUNTER_BITS };
        let mask = (1 << counter_bits) - 1;
        let mut overflows = match before {
            Some(before) => self.counter(before)? >> counter_bits,
            None => 0,
        };
        let mut bytes = Vec::with_capacity(tags.len() * 5);
        for (at, &Tag { time, channel }) in tags.iter().enumerate() {
            let counter = self.counter(time)?;
            let missing = (counter >> counter_bits) - overflows;
            if time < 0 || missing < 0 {
                return refused(format!(
                    "a PTU file holds no time that is negative or before an overflow of the tag before it ({time} \
                     ticks); ingest the tags first and convert the run"
                ));
            }
            let mut left = missing;
            while left > 0 {
                let count = left.min(mask);
                bytes.extend_from_slice(&(OVERFLOW | low_bits(count)).to_le_bytes());
                left -= count;
            }
            overflows += missing;
            let Some(mut code) = code(channel).filter(|_| self.is_recorded(channel)) else {
                return refused(format!(
                    "a PTU file has no place for channel {channel}: 0 is the sync input (in mode T2), 1 to 64 are \
                     inputs, 101 to 104 are markers"
                ));
            };
            if self.pulses.is_some() {
                let micro = micro.get(at).copied().unwrap_or(MICRO_NONE);
                code |= match (code & SPECIAL, micro) {
                    (0, 0..=MICRO_MAX) => micro << PULSE_BITS,
                    (SPECIAL, MICRO_NONE) => 0,
                    _ => return refused(no_micro(channel, micro)),
                };
            }
            bytes.extend_from_slice(&(code | low_bits(counter & mask)).to_le_bytes());
        }
        Ok(bytes)
    }

    /// The counter at a time: the number of the pulse in mode T3.
    fn counter(&self, time: i64) -> io::Result<i64> {
        match self.pulses.map(|pulses| pulses.number(time)) {
            None => Ok(time),
            Some(Some(pulse)) => Ok(pulse),
            Some(None) => refused(format!("no sync pulse is at {time} ticks, where a tag has one")),
        }
    }

    fn is_recorded(&self, channel: u64) -> bool {
        self.pulses.is_none() || channel != SYNC
    }
}

/// Returns the fields of a header that state a scan: none if its lines have no marker.
fn image(scan: &ScanFacts) -> Vec<(&'static str, u32, [u8; 8])> {
    let marker = |name: &Option<String>| {
        let number = name.as_deref()?.strip_prefix(MARKER_NAME)?.parse::<i64>().ok();
        number.filter(|number| (1..=i64::from(MARKERS)).contains(number))
    };
    let Some(line) = marker(&scan.line) else { return Vec::new() };
    let int = |name, value: i64| (name, INT, value.to_le_bytes());
    let float = |name, value: f64| (name, FLOAT, value.to_le_bytes());
    // Of the period in files of Leica; other files state the part of the amplitude.
    let of_amplitude = |percent: f64| {
        let part = percent / 100.0 * std::f64::consts::FRAC_PI_2;
        if scan.is_sine_of_period { 100.0 * libm::sin(part) } else { percent }
    };
    let fields = [
        Some(int("ImgHdr_Dimensions", 3)),
        scan.pixels.map(|pixels| int("ImgHdr_PixX", pixels.into())),
        scan.lines.map(|lines| int("ImgHdr_PixY", lines.into())),
        Some(int("ImgHdr_LineStart", line)),
        marker(&scan.line_end).map(|marker| int("ImgHdr_LineStop", marker)),
        marker(&scan.frame).map(|marker| int("ImgHdr_Frame", marker)),
        scan.is_two_way.map(|is| ("ImgHdr_BiDirect", BOOL, i64::from(is).to_le_bytes())),
        scan.sine_percent.map(|percent| float("ImgHdr_SinCorrection", of_amplitude(percent))),
        scan.pixel_um.map(|side| float("ImgHdr_PixResol", side)),
    ];
    fields.into_iter().flatten().collect()
}

fn no_micro(channel: u64, micro: u32) -> String {
    match micro {
        MICRO_NONE => format!("a photon of channel {channel} has no micro time"),
        0..=MICRO_MAX => format!("a marker, channel {channel}, has a micro time"),
        _ => format!("a micro time of {micro} does not fit in the 15 bits of a PTU file"),
    }
}

fn refused<T>(what: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Returns the bits of a record that say its channel.
fn code(channel: u64) -> Option<u32> {
    let label = u16::try_from(channel).ok()?;
    let marker = channel.checked_sub(MARKER_OFFSET + 1).and_then(|bit| u32::try_from(bit).ok());
    match label {
        _ if channel == SYNC => Some(SPECIAL),
        1..=INPUTS_MAX => Some((u32::from(label) - 1) << CHANNEL_SHIFT),
        _ => {
            let bit = marker.filter(|&bit| bit < MARKERS.into())?;
            Some(SPECIAL | (1 << bit) << CHANNEL_SHIFT)
        }
    }
}

fn low_bits(value: i64) -> u32 {
    #[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "25 bits at most")]
    let bits = value as u32;
    bits
}
