//! The blocks of a file: its header leads to descriptions of measurements and to blocks of data, each with its own
//! header. A block of 16,384 bytes with 4,096 bins and counts of 2 bytes has 2 curves.
//!
//! Places of blocks must ascend, and no two of them may share bytes: otherwise a short file could describe any number
//! of curves.
//!
//! Source: Becker & Hickl, `SPC_data_file_structure.h`; the Python package `sdtfile` reads the same places.

use tagq_store::{CHANNEL_MAX, Tick};

use crate::formats::tables::{
    bytes::{Bytes, check_apart},
    fault::{TableFault, damaged},
};

/// Bytes of the header of a file, and of a block.
pub(super) const HEADER_BYTES: usize = 42;
const BLOCK_HEADER_BYTES: u64 = 22;
const VALID_AT: usize = 32;
const VALID: u16 = 0x5555;
const CHECKSUM_AT: usize = 40;
/// Checksums of a header that is valid; the second one where blocks may be compressed by LZ4.
const CHECKSUMS: [u16; 2] = [0x55aa, 0xaa55];
/// Blocks are counted elsewhere in the header if there are so many.
const BLOCKS_ELSEWHERE: u16 = 0x7fff;
const BLOCKS_MAX: u32 = 1 << 16;
/// From this revision on, places of blocks have 40 bits.
const REVISION_OF_LONG_PLACES: u16 = 15;
/// The fewest bytes of a description that are needed: up to the values of the converter.
const DESCRIPTION_BYTES_MIN: u64 = 84;
/// The bytes of a description that are read.
const DESCRIPTION_BYTES: u64 = 325;
/// Values of a converter whose field has no room for them.
const CONVERTER_MAX: u32 = 1 << 16;

/// Bits of the type of a block.
const IS_ZIPPED: u16 = 0x1000;
const IS_COINCIDENCES: u16 = 0x2000;
const IS_LZ4: u16 = 0x4000;
const CONTENT: u16 = 0xf0;
const VALUE: u16 = 0xf00;
const DECAY: u16 = 0x00;
const PAGE: u16 = 0x10;
const IMAGE: u16 = 0x60;
/// Contents that are left out.
const OTHERS: [(u16, &str); 10] = [
    (0x20, "FCS curve"),
    (0x30, "FIDA histogram"),
    (0x40, "FILDA histogram"),
    (0x50, "MCS curve"),
    (0x70, "triggered MCS curve"),
    (0x80, "MCS image"),
    (0x90, "set of moments"),
    (0xa0, "intensity image"),
    (0xb0, "wide-field image"),
    (0xc0, "lifetime image"),
];

/// The parts of a file that are read.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The unit of micro times.
    pub unit: Tick,
    /// Bins of each curve.
    pub bins: u32,
    pub read: Vec<CurveBlock>,
    /// Blocks that are not read: what, and how many.
    pub left_out: Vec<(String, u64)>,
    /// How long was measured at most, in seconds.
    pub collected_s: f32,
}

/// Curves that follow each other.
#[derive(Debug)]
pub(super) struct CurveBlock {
    /// The label of its first curve or image.
    pub label: u16,
    pub place: std::ops::Range<u64>,
    pub is_zipped: bool,
    /// Bytes of a count: 2 or 4.
    pub count_bytes: usize,
    pub curves: u64,
    /// Pixels of a line and lines, if its curves are those of pixels.
    pub image: Option<[u32; 2]>,
}

impl CurveBlock {
    /// Bytes of the counts, unpacked.
    pub fn bytes(&self, bins: u32) -> u64 {
        self.curves * u64::from(bins) * self.count_bytes as u64
    }

    /// Curves of one label.
    pub fn curves_of_label(&self) -> u64 {
        self.image.map_or(1, |[pixels, lines]| u64::from(pixels) * u64::from(lines))
    }

    /// Number of its curves that are of no pixel, or of its images.
    fn label_count(&self) -> u64 {
        self.curves / self.curves_of_label()
    }

    /// Labels of its curves or images.
    pub fn labels(&self) -> impl Iterator<Item = u16> + use<> {
        let (first, count) = (u64::from(self.label), self.label_count());
        (first..first + count).map_while(|label| u16::try_from(label).ok())
    }
}

/// Reads the header of the file, those of its blocks and their descriptions.
pub(super) fn read(file: Bytes<'_>) -> Result<Blocks, TableFault> {
    let header = Fields(file.read(0, HEADER_BYTES as u64)?);
    let (valid, checksum) = (header.u16(VALID_AT), header.u16(CHECKSUM_AT));
    if valid != VALID && !CHECKSUMS.contains(&checksum) {
        return damaged(format!(
            "its header is not marked as valid ({valid:#06x} in place of {VALID:#06x}): the program did not finish it"
        ));
    }
    let count = match header.u16(18) {
        BLOCKS_ELSEWHERE => header.u32(34),
        count => count.into(),
    };
    if count > BLOCKS_MAX {
        return Err(TableFault::Refused(format!(
            "a Becker & Hickl file of {count} blocks; at most {BLOCKS_MAX} are read"
        )));
    }
    let has_long_places = header.u16(0) & 0xf >= REVISION_OF_LONG_PLACES;
    let mut found: Option<Blocks> = None;
    let (mut left_out, mut places, mut label) = (Vec::<(String, u64)>::new(), Vec::new(), 1_u64);
    let mut at = u64::from(header.u32(14));
    for number in 1..=count {
        let of = Fields(file.read(at, BLOCK_HEADER_BYTES)?);
        let place = |low: usize, high: usize| {
            u64::from(of.u32(low)) | if has_long_places { u64::from(of.0[high]) << 32 } else { 0 }
        };
        let (start, next) = (place(2, 0), place(6, 1));
        let described = Description::read(file, &header, of.u16(12))?;
        match described.block(&of, start..next, file.size) {
            Err(what) => count_one(&mut left_out, what),
            Ok((mut block, unit)) => {
                let bins = described.bins();
                let first = found.get_or_insert_with(|| Blocks {
                    unit,
                    bins,
                    read: Vec::new(),
                    left_out: Vec::new(),
                    collected_s: described.collected_s(),
                });
                if (first.unit, first.bins) == (unit, bins) {
                    block.label = u16::try_from(label).unwrap_or(u16::MAX);
                    label += block.label_count();
                    places.push(block.place.clone());
                    first.read.push(block);
                } else {
                    count_one(&mut left_out, "curve of other micro times than the first".into());
                }
            }
        }
        if number < count && next <= at {
            return damaged(format!("the block after that at byte {at} is at byte {next}"));
        }
        at = next;
    }
    let Some(found) = found else { return Err(nothing(&left_out)) };
    if label - 1 > CHANNEL_MAX {
        return Err(TableFault::Refused(format!(
            "a Becker & Hickl file of {} curves; at most {CHANNEL_MAX} are read",
            label - 1
        )));
    }
    check_apart(places, "blocks")?;
    Ok(Blocks { left_out, ..found })
}

/// The fault of a file without a block that is read.
fn nothing(left_out: &[(String, u64)]) -> TableFault {
    let found: Vec<String> = left_out.iter().map(|(what, n)| format!("{n} x {what}")).collect();
    let found = if found.is_empty() { "no block".into() } else { found.join(", ") };
    TableFault::Refused(format!(
        "a Becker & Hickl file without decay curves and images of decay curves, which are read; it has {found}. The \
         tags of a measurement in FIFO mode are in its .spc file"
    ))
}

fn count_one(left_out: &mut Vec<(String, u64)>, what: String) {
    match left_out.iter_mut().find(|(other, _)| *other == what) {
        Some((_, count)) => *count += 1,
        None => left_out.push((what, 1)),
    }
}

/// Bytes with numbers at fixed places; 0 where they end.
struct Fields(Vec<u8>);

impl Fields {
    fn at<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.at(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.at(at))
    }

    fn f32(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.at(at))
    }
}

/// The description of a measurement.
struct Description(Fields);

impl Description {
    fn read(file: Bytes<'_>, header: &Fields, number: u16) -> Result<Self, TableFault> {
        let (count, len) = (header.u16(28), u64::from(header.u16(30)));
        if number >= count || len < DESCRIPTION_BYTES_MIN {
            return damaged(format!(
                "a block is of measurement {number}, and it describes {count} in {len} bytes each"
            ));
        }
        let at = u64::from(header.u32(24)) + u64::from(number) * len;
        Ok(Self(Fields(file.read(at, len.min(DESCRIPTION_BYTES))?)))
    }

    /// Bins of a curve: the values of the converter.
    fn bins(&self) -> u32 {
        match self.0.u16(82) {
            0 => CONVERTER_MAX,
            values => values.into(),
        }
    }

    fn collected_s(&self) -> f32 {
        self.0.f32(92)
    }

    /// The unit of micro times, to nine digits. A module without an amplifier of times has no gain.
    fn unit(&self) -> Option<Tick> {
        // The shortest decimal number that this float is read from.
        let range: f64 = self.0.f32(64).to_string().parse().ok()?;
        let gain = self.0.u16(68).max(1);
        let unit = range / f64::from(gain) / f64::from(self.bins());
        Tick::of_decimal(&format!("{unit:.8e}")).ok()
    }

    /// Returns the block with this header, and the unit of its micro times; or what it is, if it is not read.
    fn block(
        &self,
        of: &Fields,
        place: std::ops::Range<u64>,
        size: u64,
    ) -> Result<(CurveBlock, Tick), String> {
        let (kind, bytes) = (of.u16(10), u64::from(of.u32(18)));
        let content = kind & CONTENT;
        if kind & IS_COINCIDENCES != 0 {
            return Err("set of coincidences".into());
        }
        if kind & IS_LZ4 != 0 {
            return Err("block compressed by LZ4".into());
        }
        if ![DECAY, PAGE, IMAGE].contains(&content) {
            let known = OTHERS.iter().find(|(other, _)| *other == content);
            return Err(known.map_or_else(
                || format!("block of the type {kind:#06x}"),
                |(_, name)| (*name).into(),
            ));
        }
        let count_bytes = match kind & VALUE {
            0 => 2,
            0x100 => 4,
            _ => return Err(format!("block whose values are no counts (type {kind:#06x})")),
        };
        let curve_bytes = u64::from(self.bins()) * count_bytes as u64;
        let curves = bytes / curve_bytes;
        if curves == 0 || bytes % curve_bytes > 0 {
            return Err(format!(
                "block of {bytes} bytes, which are no whole curves of {curve_bytes}"
            ));
        }
        let image = (content != DECAY).then(|| self.image(curves)).flatten();
        if content == IMAGE && image.is_none() {
            return Err("image whose size is not described".into());
        }
        let unit = self.unit().ok_or("block without a unit of micro times")?;
        let is_zipped = kind & IS_ZIPPED != 0;
        let place = match is_zipped {
            // The last block has no next one.
            true if place.end <= place.start => place.start..size,
            true => place.start..place.end.min(size),
            false => place.start..place.start + bytes,
        };
        Ok((CurveBlock { label: 0, place, is_zipped, count_bytes, curves, image }, unit))
    }

    /// Pixels of a line and lines of an image of so many curves, of one detector or of several.
    fn image(&self, curves: u64) -> Option<[u32; 2]> {
        let side = |at: usize| u64::from(self.0.u32(at));
        let sizes = [173, 309].into_iter().flat_map(|at| {
            let (pixels, lines) = (side(at), side(at + 4));
            let detectors = side(at + 8).saturating_mul(side(at + 12));
            [(0, pixels, lines, 1), (1, pixels, lines, detectors)]
        });
        let mut sizes: Vec<(u8, u64, u64, u64)> = sizes.collect();
        sizes.sort_by_key(|size| size.0);
        let is_it = |&&(_, pixels, lines, detectors): &&(u8, u64, u64, u64)| {
            pixels.saturating_mul(lines) > 1
                && pixels.saturating_mul(lines).saturating_mul(detectors) == curves
        };
        let &(_, pixels, lines, _) = sizes.iter().find(is_it)?;
        Some([u32::try_from(pixels).ok()?, u32::try_from(lines).ok()?])
    }
}
