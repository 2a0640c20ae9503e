//! A simulation appended to a file as a recorder does while it records: frame by frame, in time.
//!
//! Frames are compressed beforehand ([`prepare`]), so that [`replay`] takes next to no time of the
//! processors that others are to be watched on.
//!
//! Frames each 100 ms are appended 0, 100 and 200 ms after the beginning. A torn frame ends its file, and its tags
//! are lost.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fs::File,
    io::{self, Read, Write},
    thread,
    time::{Duration, Instant},
};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};
use tagq_ingest::encode::Encoder;

use crate::{Simulation, Tag, WriteError};

/// One tag in this many comes late, if tags may come late.
const LATE_EACH: u64 = 500;

/// A frame that waits to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its length.
    pub bytes: u64,
    /// The tags in it.
    pub tags: u64,
}

/// Faults of a recorder, simulated now and then while frames are appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The frame is there, in one piece.
    Whole,
    /// A part of it was there for some time before the rest.
    Pieces,
    /// The recorder died within it: a torn frame ends the file, its tags are lost, and the next frame
    /// begins another file.
    Died,
}

/// The fate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The file that it was appended to, from 0.
    pub file: usize,
    /// The frame, from 0.
    pub frame: usize,
    /// Tags in all complete frames so far.
    pub tags: u64,
    /// How it went.
    pub event: Event,
}

/// Writes the frames of a recording of `simulation` to `out`, `frame_tags` tags in each. One tag in 500
/// comes up to `late` ticks later than others of its time, as from another channel's buffer.
///
/// # Errors
/// Errors of the simulation and of the output.
pub fn prepare(
    simulation: &Simulation,
    frame_tags: u64,
    late: i64,
    out: impl Write,
) -> Result<Vec<Frame>, WriteError> {
    let mut out = CountingWriter { out, bytes: 0 };
    let mut frames = Vec::new();
    let mut frame: Vec<Tag> = Vec::new();
    let frame_tags = usize::try_from(frame_tags.max(1)).unwrap_or(usize::MAX);
    let mut write = |frame: &mut Vec<Tag>| -> Result<(), WriteError> {
        let before = out.bytes;
        Encoder::new(&mut out).frame(frame.len() as u64, [&frame[..]])?;
        frames.push(Frame { bytes: out.bytes - before, tags: frame.len() as u64 });
        frame.clear();
        Ok(())
    };
    let mut waiting = Waiting::new(simulation.seed, late);
    let mut tags = simulation.tags()?;
    while let Some(slab) = tags.next_slab() {
        for &tag in slab {
            for tag in waiting.arriving(tag) {
                frame.push(tag);
                if frame.len() == frame_tags {
                    write(&mut frame)?;
                }
            }
        }
    }
    frame.extend(waiting.rest());
    if !frame.is_empty() {
        write(&mut frame)?;
    }
    out.flush()?;
    Ok(frames)
}

/// Tags that come later than their time.
struct Waiting {
    rng: Xoshiro256PlusPlus,
    late: i64,
    /// By arrival, then in the order they came; with their times and channels.
    tags: BinaryHeap<Reverse<(i64, u64, i64, u64)>>,
    number: u64,
    arrived: Vec<Tag>,
}

impl Waiting {
    fn new(seed: u64, late: i64) -> Self {
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        Self { rng, late, tags: BinaryHeap::new(), number: 0, arrived: Vec::new() }
    }

    /// Tags that arrive up to the time of `tag`, and `tag` itself unless it is late.
    fn arriving(&mut self, tag: Tag) -> impl Iterator<Item = Tag> + '_ {
        while let Some(&Reverse((at, _, time, channel))) = self.tags.peek()
            && at <= tag.time
        {
            self.tags.pop();
            self.arrived.push(Tag { time, channel });
        }
        if self.late > 0 && self.rng.next_u64().is_multiple_of(LATE_EACH) {
            let by = self.rng.next_u64() % self.late.unsigned_abs();
            let at = tag.time.saturating_add_unsigned(by);
            self.number += 1;
            self.tags.push(Reverse((at, self.number, tag.time, tag.channel)));
        } else {
            self.arrived.push(tag);
        }
        self.arrived.drain(..)
    }

    /// All that are left.
    fn rest(&mut self) -> Vec<Tag> {
        let tags = std::mem::take(&mut self.tags).into_sorted_vec().into_iter().rev();
        tags.map(|Reverse((_, _, time, channel))| Tag { time, channel }).collect()
    }
}

/// Appends `frames`, which follow each other in `from`, one each `interval`. With `faults`, a seed, faults occur now
/// and then: empty frames, frames in pieces, a recorder that dies. `open` makes the file of this number; an error of
/// `tell` ends the replay.
///
/// # Errors
/// Errors of the input, of a file, or of `tell`.
pub fn replay(
    mut from: impl Read,
    frames: &[Frame],
    interval: Duration,
    faults: Option<u64>,
    mut open: impl FnMut(usize) -> io::Result<File>,
    mut tell: impl FnMut(Appended) -> io::Result<()>,
) -> io::Result<()> {
    let mut rng = faults.map(Xoshiro256PlusPlus::seed_from_u64);
    let mut chance = |one_in: u64| rng.as_mut().is_some_and(|rng| rng.next_u64() % one_in == 0);
    let mut empty = Vec::new();
    Encoder::new(&mut empty).frame(0, [])?;
    let mut bytes = Vec::new();
    let (mut number, mut tags) = (0, 0);
    let mut file = open(number)?;
    let begun = Instant::now();
    for (at, frame) in frames.iter().enumerate() {
        let due = interval * u32::try_from(at).unwrap_or(u32::MAX);
        thread::sleep(due.saturating_sub(begun.elapsed()));
        bytes.clear();
        from.by_ref().take(frame.bytes).read_to_end(&mut bytes)?;
        if chance(10) {
            file.write_all(&empty)?;
        }
        let (start, rest) = bytes.split_at(bytes.len() / 2);
        let event = match (chance(40), chance(8)) {
            (true, _) => Event::Died,
            (_, true) => Event::Pieces,
            _ => Event::Whole,
        };
        file.write_all(start)?;
        match event {
            Event::Whole => file.write_all(rest)?,
            Event::Pieces => {
                thread::sleep(interval / 4);
                file.write_all(rest)?;
            }
            Event::Died => {
                number += 1;
                file = open(number)?;
            }
        }
        if event != Event::Died {
            tags += frame.tags;
        }
        tell(Appended { file: number, frame: at, tags, event })?;
    }
    Ok(())
}

/// An output whose bytes are counted.
struct CountingWriter<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for CountingWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.out.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, Light};
    use std::fs;
    use tagq_ingest::{Settings, read_tags};

    fn simulation() -> Simulation {
        let detector = |channel| Detector {
            channel,
            efficiency: 0.5,
            dark_rate: 1e-4,
            jitter: 2.0,
            delay: 0.0,
            dead_time: 0,
        };
        Simulation {
            light: Light::Pairs { rate: 1e-3, pulse_period: None, beam_splitter: false },
            detectors: vec![detector(1), detector(2)],
            drift: None,
            clock: None,
            start: 0,
            duration: 20_000_000,
            seed: 5,
        }
    }

    fn all(simulation: &Simulation) -> Vec<Tag> {
        let mut expected = Vec::new();
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            expected.extend_from_slice(slab);
        }
        expected
    }

    fn read(path: &std::path::Path) -> Vec<Tag> {
        let mut found = Vec::new();
        read_tags(path, &Settings::default(), |tags| {
            found.extend_from_slice(tags);
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn every_tag_arrives_some_of_them_late_by_no_more_than_was_said() {
        const LATE: i64 = 100_000;
        let simulation = simulation();
        let mut expected = all(&simulation);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tags.zst");
        let frames = prepare(&simulation, 1_000, LATE, File::create(&path).unwrap()).unwrap();
        let found = read(&path);
        let tags: u64 = frames.iter().map(|frame| frame.tags).sum();
        assert_eq!((found.len(), tags), (expected.len(), expected.len() as u64));
        assert!(frames[..frames.len() - 1].iter().all(|frame| frame.tags == 1_000));
        let mut latest = i64::MIN;
        let mut late = 0;
        for tag in &found {
            assert!(latest <= tag.time + LATE, "{latest} before {tag:?}");
            late += usize::from(tag.time < latest);
            latest = latest.max(tag.time);
        }
        // One in 500 of about 24,000.
        assert!((20..100).contains(&late), "{late}");
        let mut sorted = found;
        sorted.sort_by_key(|tag| (tag.time, tag.channel));
        expected.sort_by_key(|tag| (tag.time, tag.channel));
        assert!(sorted == expected);
    }

    #[test]
    fn what_is_appended_is_what_was_prepared_but_for_the_frames_lost() {
        let folder = tempfile::tempdir().unwrap();
        let prepared = folder.path().join("prepared");
        let simulation = simulation();
        let frames = prepare(&simulation, 100, 0, File::create(&prepared).unwrap()).unwrap();
        let name = |number: usize| folder.path().join(format!("{number}.tags.zst"));
        let run = |faults| {
            let mut told = Vec::new();
            let open = |number| File::create(name(number));
            let from = File::open(&prepared).unwrap();
            let tell = |one| {
                told.push(one);
                Ok(())
            };
            replay(from, &frames, Duration::ZERO, faults, open, tell).unwrap();
            told
        };
        let told = run(None);
        assert_eq!(told.len(), frames.len());
        assert_eq!(fs::read(name(0)).unwrap(), fs::read(&prepared).unwrap());

        let told = run(Some(1));
        let count = |event| told.iter().filter(|one| one.event == event).count();
        assert!(count(Event::Died) > 0 && count(Event::Pieces) > 0, "{told:?}");
        let last = told[told.len() - 1];
        let files: Vec<Vec<Tag>> = (0..=last.file).map(|number| read(&name(number))).collect();
        assert_eq!(files.concat().len() as u64, last.tags);
        let lost: Vec<usize> =
            told.iter().filter(|one| one.event == Event::Died).map(|one| one.frame).collect();
        let expected = all(&simulation);
        let kept = expected.chunks(100).enumerate().filter(|(at, _)| !lost.contains(at));
        assert!(files.concat() == kept.map(|(_, tags)| tags).collect::<Vec<_>>().concat());

        // The receiver ends it with an error, here at the second frame.
        let from = File::open(&prepared).unwrap();
        let open = |number| File::create(name(number));
        let tell = |one: Appended| {
            if one.frame == 1 { Err(io::Error::other("enough")) } else { Ok(()) }
        };
        replay(from, &frames, Duration::ZERO, None, open, tell).unwrap_err();
        assert_eq!(read(&name(0)).len(), 200);
    }
}
