//! Files of Becker & Hickl's programs with counts (`.sdt`): decay curves, and images with a decay curve in each pixel.
//! They hold no tags: those of a measurement in FIFO mode are in its `.spc` file.

mod blocks;
mod curves;

use std::{path::Path, sync::Arc};

use tagq_store::{Recording, Tick};

use super::settings::ModuleSettings;
use crate::{
    error::Error,
    formats::{
        format::{Decoded, Format, FormatFacts, Header, Reader, Sink, Summary},
        photon_hdf5::Passed,
        tables::{bytes::Bytes, check_plain},
    },
    payload::{Payload, opened::Opened},
    settings::Settings,
};
use blocks::{Blocks, HEADER_BYTES};

const NAME: &str = "sdt";
/// The first part of a file is at the end of its header, and so are these bytes after its revision.
const FIRST_PART: [u8; 4] = [42, 0, 0, 0];
/// The lowest revision of a header.
const REVISION_MIN: u8 = 12;
/// Bytes in which the texts of a file are looked for.
const TEXT_BYTES_MAX: usize = 1 << 17;

/// The format of files with counts.
pub(crate) struct Sdt;

impl Format for Sdt {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            // No suffix: the file is beside the tags of the same measurement, and is no source of their run.
            suffixes: &[],
            recognised: "a header of Becker & Hickl, of 42 bytes",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        start.get(2..6) == Some(&FIRST_PART) && start[0] & 0xf >= REVISION_MIN
    }

    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        check_plain(payload, "a Becker & Hickl file of counts")?;
        if payload.size < HEADER_BYTES as u64 {
            return Ok(None);
        }
        Ok(Some(Arc::new(parse(payload)?)))
    }
}

fn parse(payload: &Payload<'_>) -> Result<Blocks, Error> {
    blocks::read(Bytes::of(payload)).map_err(|fault| fault.name(payload))
}

impl Reader for Blocks {
    fn header(&self, payload: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        Ok(Header::new(Some(self.unit), Some(self.unit), self.recording(payload)?))
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        sink(Decoded::Recording(self.recording(payload)?.into(), Some(self.unit)))?;
        let crc = Passed::of(payload, settings)?.into_crc(payload)?;
        Ok(Summary { resume_byte: payload.size, crc, ..Summary::new(payload, settings) })
    }
}

impl Blocks {
    fn recording(&self, payload: &Payload<'_>) -> Result<Recording, Error> {
        let start = payload.first(TEXT_BYTES_MAX)?;
        let mut facts = ModuleSettings::of(&start).map_or(Vec::new(), |settings| settings.facts);
        if self.collected_s > 0.0 {
            facts.push(("collection time".into(), format!("{} s", self.collected_s)));
        }
        facts.push(("bins".into(), self.bins.to_string()));
        let curves: u64 =
            self.read.iter().filter(|of| of.image.is_none()).map(|of| of.curves).sum();
        if curves > 0 {
            facts.push(("decay curves".into(), curves.to_string()));
        }
        for block in &self.read {
            let Some([pixels, lines]) = block.image else { continue };
            for label in block.labels() {
                facts.push((format!("image {label}"), format!("{pixels} x {lines} pixels")));
            }
        }
        let left_out = self.left_out.clone();
        Ok(Recording { format: NAME.into(), facts, left_out, ..Recording::default() })
    }
}

/// The counts that a file holds in place of tags: of decay curves, and of the curves in the pixels of images.
#[derive(Debug)]
pub struct HeldCounts {
    opened: Opened,
    of: Blocks,
}

impl HeldCounts {
    /// Whether the file of a recording holds counts and no tags.
    pub fn are_in(recording: &Recording) -> bool {
        recording.format == NAME
    }

    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DamagedTable`], [`Error::Table`] and [`Error::Foreign`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let opened = Opened::new(path)?;
        let of = parse(&Payload::begin(&opened)?)?;
        Ok(Self { opened, of })
    }

    /// Returns the unit of micro times.
    pub fn unit(&self) -> Tick {
        self.of.unit
    }

    /// Returns the number of bins of each curve, of one unit each.
    pub fn bins(&self) -> u32 {
        self.of.bins
    }

    /// Returns the labels of curves and images, from 1 in the order of the file; with pixels of a line and lines of
    /// those that are images.
    pub fn labels(&self) -> impl Iterator<Item = (u16, Option<[u32; 2]>)> {
        self.of.read.iter().flat_map(|block| block.labels().map(|label| (label, block.image)))
    }

    /// Hands the counts of each curve to `take`, with its label and the number of its pixel.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::DamagedTable`].
    pub fn read(&self, mut take: impl FnMut(u16, usize, &[u32])) -> Result<(), Error> {
        let payload = Payload::begin(&self.opened)?;
        let file = Bytes::of(&payload);
        let mut blocks = self.of.read.iter();
        let read = blocks.try_for_each(|block| curves::read(file, block, self.of.bins, &mut take));
        read.map_err(|fault| fault.name(&payload))
    }
}
