//! The tags that all formats get, in a file of 16-byte rows that is read batch by batch.

use std::{
    fs::File,
    io::{self, BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tagq_simulate::{Detector, Light, Simulation};
use tagq_store::Tag;

use crate::Result;

/// Tags of a message, a record batch and a row group: the rows of a block of the store.
pub const BATCH_TAGS: usize = 65_536;

/// Ticks between tags on average: 10 M tags a second at ticks of 156.25 ps.
const SPACING: f64 = 640.0;
const CHANNELS: u64 = 8;
/// Fraction of tags that come from pairs.
const PAIRED: f64 = 0.1;
/// The largest channel that all formats can hold: SBE reserves 255.
const CHANNEL_MAX: u64 = 254;

/// The tags that all formats get.
#[derive(Debug, Clone)]
pub struct Source {
    /// The file of rows.
    pub path: PathBuf,
    /// How many tags.
    pub tags: u64,
    /// The first and the last time.
    pub span: (i64, i64),
    /// Sum over all tags, see `sum_of`.
    pub sum: u64,
}

impl Source {
    /// Writes the tags of a recording, of any format that tagq reads, into the file at `path`.
    pub fn from_recording(recording: &Path, path: &Path) -> Result<Self> {
        let mut tags = Vec::new();
        tagq_ingest::read_tags(recording, &tagq_ingest::Settings::default(), |piece| {
            tags.extend_from_slice(piece);
            Ok(())
        })?;
        // All formats get tags in order of time, as the store holds them.
        tags.sort_by_key(|tag| tag.time);
        let mut made = Making::new(path)?;
        made.push(&tags)?;
        made.finish()
    }

    /// Writes `count` simulated tags into the file at `path`: eight channels, one tag in ten from a true pair, always
    /// with the same seed.
    pub fn simulated(count: u64, path: &Path) -> Result<Self> {
        let per_channel = 1.0 / SPACING / CHANNELS as f64;
        let pair_rate = per_channel * PAIRED;
        let detector = |channel| Detector {
            channel,
            efficiency: 1.0,
            dark_rate: per_channel - pair_rate,
            jitter: 2.0,
            delay: 0.0,
            dead_time: 0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "some 1e12 ticks")]
        let duration = (count as f64 * SPACING * 1.1 + 1e6) as i64;
        let simulation = Simulation {
            light: Light::Pairs { rate: pair_rate, pulse_period: None, beam_splitter: false },
            detectors: (1..=CHANNELS).map(detector).collect(),
            drift: None,
            clock: None,
            start: 0,
            duration,
            seed: 1,
        };
        let mut tags = simulation.tags()?;
        let mut made = Making::new(path)?;
        while let Some(slab) = tags.next_slab() {
            let rest = usize::try_from(count - made.tags)?;
            made.push(&slab[..slab.len().min(rest)])?;
            if made.tags == count {
                break;
            }
        }
        made.finish()
    }

    /// Writes the first tags, at most `count`, into a file of their own.
    pub fn first(&self, count: u64, path: &Path) -> Result<Self> {
        let mut made = Making::new(path)?;
        made.push(&self.first_tags(usize::try_from(count)?)?)?;
        made.finish()
    }

    /// Returns what a child process needs to know, as [`Source::parse`] reads it.
    pub fn describe(&self) -> String {
        let Self { path, tags, span, sum } = self;
        format!("{tags},{},{},{sum},{}", span.0, span.1, path.display())
    }

    /// Reads a description.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.splitn(5, ',');
        let mut next = || parts.next().ok_or("a source has five parts");
        let tags = next()?.parse()?;
        let span = (next()?.parse()?, next()?.parse()?);
        Ok(Self { tags, span, sum: next()?.parse()?, path: next()?.into() })
    }

    /// Reads all tags from the first one on.
    pub fn read(&self) -> io::Result<TagReader> {
        TagReader::new(&self.path, self.tags)
    }

    /// Returns the first tags, at most `count`.
    pub fn first_tags(&self, count: usize) -> Result<Vec<Tag>> {
        let mut reader = TagReader::new(&self.path, self.tags.min(count as u64))?;
        let mut tags = Vec::new();
        while let Some(batch) = reader.next_batch()? {
            tags.extend_from_slice(batch);
        }
        Ok(tags)
    }
}

/// Returns a sum that all formats must have in common: of times, and of channels in the high bytes.
pub fn sum_of(tags: &[Tag]) -> u64 {
    let sum = |sum: u64, tag: &Tag| {
        sum.wrapping_add(tag.time.cast_unsigned()).wrapping_add(tag.channel << 40)
    };
    tags.iter().fold(0, sum)
}

/// Reads the tags batch by batch, and measures the time that this takes.
#[derive(Debug)]
pub struct TagReader {
    file: File,
    rest: u64,
    batch: Vec<Tag>,
    taken: Duration,
}

impl TagReader {
    fn new(path: &Path, tags: u64) -> io::Result<Self> {
        let batch = vec![Tag { time: 0, channel: 0 }; BATCH_TAGS];
        Ok(Self { file: File::open(path)?, rest: tags, batch, taken: Duration::ZERO })
    }

    /// Returns the next tags, [`BATCH_TAGS`] of them unless they are the last; `None` at the end.
    pub fn next_batch(&mut self) -> io::Result<Option<&[Tag]>> {
        let len = usize::try_from(self.rest).map_or(BATCH_TAGS, |rest| rest.min(BATCH_TAGS));
        let start = Instant::now();
        let batch = &mut self.batch[..len];
        self.file.read_exact(bytemuck::cast_slice_mut(batch))?;
        self.taken += start.elapsed();
        self.rest -= len as u64;
        Ok((len > 0).then_some(batch))
    }

    /// Returns the time that was spent here: it belongs to no format.
    pub fn taken(&self) -> Duration {
        self.taken
    }
}

/// A file of rows while it is written.
struct Making {
    out: BufWriter<File>,
    path: PathBuf,
    tags: u64,
    first: i64,
    last: i64,
    sum: u64,
}

impl Making {
    fn new(path: &Path) -> io::Result<Self> {
        let out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        Ok(Self { out, path: path.into(), tags: 0, first: 0, last: i64::MIN, sum: 0 })
    }

    fn push(&mut self, tags: &[Tag]) -> Result<()> {
        if let Some(tag) = tags.iter().find(|tag| tag.channel > CHANNEL_MAX) {
            return Err(format!("channel {} is above {CHANNEL_MAX}", tag.channel).into());
        }
        let (Some(first), Some(last)) = (tags.first(), tags.last()) else { return Ok(()) };
        if self.tags == 0 {
            self.first = first.time;
        }
        self.last = last.time;
        self.tags += tags.len() as u64;
        self.sum = self.sum.wrapping_add(sum_of(tags));
        Ok(self.out.write_all(bytemuck::cast_slice(tags))?)
    }

    fn finish(mut self) -> Result<Source> {
        self.out.flush()?;
        if self.tags == 0 {
            return Err("there are no tags".into());
        }
        let span = (self.first, self.last);
        Ok(Source { path: self.path, tags: self.tags, span, sum: self.sum })
    }
}
