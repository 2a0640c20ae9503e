//! A simulation as a `.tags.zst` file, in memory that does not grow with it.
//!
//! A duration of 100 ticks from 0 in 4 frames: they begin at 0, 25, 50 and 75. A frame may be empty.

use std::io::{self, Write};

use tagq_ingest::encode::Encoder;

use crate::{Error, SimulatedTags, Simulation, Tag};

/// The reason why a simulation could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It cannot be simulated.
    #[error(transparent)]
    Simulation(#[from] Error),
    /// The output cannot be written.
    #[error("cannot write the simulated tags: {0}")]
    Output(#[from] io::Error),
}

/// Writes `simulation` to `out` as `frames` frames of equal duration, one message each, like a
/// recorder that appends a frame at each interval, with checksums or, as there, without. Returns the
/// number of tags.
///
/// A frame announces its number of tags before the first of them, so that the simulation runs
/// twice: once to count, once to write.
pub fn write(
    simulation: &Simulation,
    frames: u64,
    checksum: bool,
    out: impl Write,
) -> Result<u64, WriteError> {
    let frames = frames.max(1);
    let borders = |frame: u64| {
        let ticks = i128::from(simulation.duration) * i128::from(frame) / i128::from(frames);
        // Within the recording, whose end is a time.
        i64::try_from(i128::from(simulation.start) + ticks).unwrap_or(i64::MAX)
    };
    let mut counts = Vec::new();
    let mut counting = Pieces::new(simulation.tags()?);
    for frame in 1..=frames {
        let mut count = 0;
        counting.before(borders(frame), &mut |tags| {
            count += tags.len() as u64;
            Ok(())
        })?;
        counts.push(count);
    }
    let mut encoder = Encoder::new(out).checksum(checksum);
    let mut writing = Pieces::new(simulation.tags()?);
    for (frame, &count) in (1..).zip(&counts) {
        encoder.frame_by(count, |write| writing.before(borders(frame), write))?;
    }
    encoder.into_inner().flush()?;
    Ok(counts.iter().sum())
}

/// The tags of a simulation, taken up to one time after the other.
struct Pieces {
    tags: SimulatedTags,
    slab: Vec<Tag>,
    used: usize,
}

impl Pieces {
    fn new(tags: SimulatedTags) -> Self {
        Self { tags, slab: Vec::new(), used: 0 }
    }

    /// Hands the tags before `border` that were not taken yet to `take`.
    fn before(
        &mut self,
        border: i64,
        take: &mut dyn FnMut(&[Tag]) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let rest = &self.slab[self.used..];
            let len = rest.partition_point(|tag| tag.time < border);
            take(&rest[..len])?;
            self.used += len;
            if self.used < self.slab.len() {
                return Ok(());
            }
            match self.tags.next_slab() {
                Some(slab) => {
                    self.slab.clear();
                    self.slab.extend_from_slice(slab);
                    self.used = 0;
                }
                None => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Detector, Light};
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
            start: -1_000_000,
            duration: 80_000_000,
            seed: 3,
        }
    }

    #[test]
    fn one_frame_or_many_hold_the_tags_of_the_simulation() {
        let simulation = simulation();
        let mut expected = Vec::new();
        let mut tags = simulation.tags().unwrap();
        while let Some(slab) = tags.next_slab() {
            expected.extend_from_slice(slab);
        }
        let folder = tempfile::tempdir().unwrap();
        for frames in [1, 2, 77] {
            let path = folder.path().join(format!("{frames}.tags.zst"));
            let file = std::fs::File::create(&path).unwrap();
            assert_eq!(
                write(&simulation, frames, frames > 1, file).unwrap(),
                expected.len() as u64
            );
            let mut found = Vec::new();
            let summary = read_tags(&path, &Settings::default(), |tags| {
                found.extend_from_slice(tags);
                Ok(())
            })
            .unwrap();
            assert_eq!(summary.frames as u64, frames);
            assert!(found == expected, "{frames} frames");
        }
    }

    #[test]
    fn an_output_that_refuses_is_an_error() {
        // A slice has room for this many bytes, and no more.
        for room in [0, 100] {
            let mut bytes = vec![0; room];
            let made = write(&simulation(), 3, false, &mut bytes[..]);
            assert!(matches!(made, Err(WriteError::Output(_))), "{made:?}");
        }
    }
}
