//! Photon-HDF5: the times, detectors and micro times of one spot as arrays of an HDF5 file, with facts about the
//! measurement.
//!
//! Source: "Photon-HDF5 format definition", version 0.5 (<https://photon-hdf5.readthedocs.io>).

mod hdf5;

use std::{io::Read as _, sync::Arc};

use tagq_store::{Recording, Stated, Tag, Tick, of_single};

use super::{
    format::{Decoded, Format, FormatFacts, Header, Piece, Reader, Sink, Summary},
    tables::check_plain,
};
use crate::{
    error::{Error, io_error},
    payload::{
        Payload,
        crc::Crc,
        input::{AnyInput, INPUT_BYTES},
        input_error,
    },
    pipeline::CHUNK_TAGS,
    settings::Settings,
};
use hdf5::{ARRAYS, Array, Hdf5, Hdf5Fault, unlike};

pub(crate) const NAME: &str = "photon-hdf5";
const GROUP: &str = "photon_data";
/// Rows that are read at once.
const ROWS: usize = 4 * CHUNK_TAGS;

/// Facts for readers: what, and the path of a text or of a number with its unit.
const TEXTS: [(&str, &str); 9] = [
    ("description", "description"),
    ("author", "identity/author"),
    ("affiliation", "identity/author_affiliation"),
    ("created", "identity/creation_time"),
    ("program", "identity/software"),
    ("original file", "provenance/filename"),
    ("sample", "sample/sample_name"),
    ("dyes", "sample/dye_names"),
    ("measurement", "photon_data/measurement_specs/measurement_type"),
];
const NUMBERS: [(&str, &str, &str); 2] = [
    ("acquisition time", "acquisition_duration", "s"),
    ("laser repetition rate", "photon_data/measurement_specs/laser_repetition_rate", "Hz"),
];

/// The format of Photon-HDF5.
pub(crate) struct PhotonHdf5;

impl Format for PhotonHdf5 {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            // No suffix: HDF5 files of other kinds have the same suffixes.
            suffixes: &[],
            recognised: "bytes 89 48 44 46 of HDF5, with a group photon_data",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        start.starts_with(hdf5::MAGIC)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for PhotonHdf5 {
    fn header(&self, payload: &Payload<'_>, settings: &Settings) -> Result<Header, Error> {
        let Measurement { tick, micro_tick, recording, .. } = measurement(payload, settings)?;
        Ok(Header::new(tick, micro_tick, recording))
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        let Measurement { recording, micro_tick, columns, .. } = measurement(payload, settings)?;
        sink(Decoded::Recording(recording.into(), micro_tick))?;
        let mut passed = Passed::of(payload, settings)?;
        let (mut rows, mut row) = (Hdf5Rows::default(), 0);
        while row < columns.time.rows {
            settings.check_wanted()?;
            rows.read(&columns, row).map_err(|fault| name(fault, payload))?;
            for chunk in Piece::new(&rows.tags, &rows.micro).chunks(CHUNK_TAGS) {
                sink(Decoded::Tags(chunk))?;
            }
            row += rows.tags.len() as u64;
            let part = u128::from(payload.size) * u128::from(row) / u128::from(columns.time.rows);
            passed.read_up_to(u64::try_from(part).unwrap_or(payload.size), payload)?;
        }
        let crc = passed.into_crc(payload)?;
        Ok(Summary { tags: row, resume_byte: payload.size, crc, ..Summary::new(payload, settings) })
    }
}

/// A file that was opened.
struct Measurement {
    /// The unit of times, if the file states it.
    tick: Option<Tick>,
    /// The unit of micro times; `None` if there are none.
    micro_tick: Option<Tick>,
    recording: Recording,
    columns: PhotonArrays,
}

/// The arrays of photons, which have the same length.
struct PhotonArrays {
    time: Array,
    detector: Option<Array>,
    micro: Option<Array>,
}

/// Opens the file and reads all but the photons.
fn measurement(payload: &Payload<'_>, settings: &Settings) -> Result<Measurement, Error> {
    check_plain(payload, "an HDF5 file")?;
    let file = payload.file.try_clone().map_err(io_error(payload.path, "open"))?;
    let opened = Hdf5::open(file, payload.size).and_then(|file| Measurement::of(&file, settings));
    opened.map_err(|fault| name(fault, payload))
}

impl Measurement {
    fn of(file: &Hdf5, settings: &Settings) -> Result<Self, Hdf5Fault> {
        check_groups(file)?;
        let array = |name: &str| file.array(&format!("{GROUP}/{name}"));
        let Some(time) = array("timestamps")? else {
            return unlike("the group photon_data has no array `timestamps`");
        };
        let (detector, micro) = (array("detectors")?, array("nanotimes")?);
        let others = [&detector, &micro];
        if others.into_iter().flatten().any(|other| other.rows != time.rows) {
            return unlike("its arrays of photons have different lengths");
        }
        let tick = unit(file, "timestamps_specs/timestamps_unit", settings.tick)?;
        let mut facts = facts(file);
        let micro_tick = match micro {
            Some(_) => unit(file, "nanotimes_specs/tcspc_unit", settings.stored_micro_tick)?
                .or(settings.micro_tick()),
            None => None,
        };
        if micro.is_some() && micro_tick.is_none() {
            let why =
                "left out, because the file has no `tcspc_unit`; --micro-tick gives their unit";
            facts.push(("nanotimes".into(), why.into()));
        }
        let recording = Recording {
            format: NAME.into(),
            channel_names: channel_names(file).unwrap_or_default(),
            facts,
            stated: stated(file),
            ..Recording::default()
        };
        let columns =
            PhotonArrays { time, detector, micro: micro.filter(|_| micro_tick.is_some()) };
        Ok(Self { tick, micro_tick, recording, columns })
    }
}

/// Groups of spots that are looked for.
const SPOTS_MAX: usize = 100;

fn check_groups(file: &Hdf5) -> Result<(), Hdf5Fault> {
    if file.has_group(GROUP)? {
        return Ok(());
    }
    let mut spots = 0;
    for spot in 0..SPOTS_MAX {
        spots += usize::from(file.has_group(&format!("{GROUP}{spot}"))?);
    }
    Err(match spots {
        0 => Hdf5Fault::Refused(
            "an HDF5 file without the group photon_data of Photon-HDF5".into(),
            ARRAYS,
        ),
        spots => Hdf5Fault::Refused(
            format!("a Photon-HDF5 file of several spots ({spots}: photon_data0 and so on)"),
            "make a file of each spot; in Python, tagq.from_arrays(time, channel, tick=\"10ns\") makes a run of \
             its arrays",
        ),
    })
}

/// The unit of time at `path` in the group of photons, if there is one. A store that took a single for a double keeps
/// the unit that it has.
fn unit(file: &Hdf5, path: &str, stored: Option<Tick>) -> Result<Option<Tick>, Hdf5Fault> {
    let Some(seconds) = file.number(&format!("{GROUP}/{path}"))? else { return Ok(None) };
    let of_double = stored.filter(|&stored| Tick::of_seconds(seconds) == Ok(stored));
    match of_double.map_or_else(|| Tick::of_seconds(of_single(seconds)), Ok) {
        Ok(tick) => Ok(Some(tick)),
        Err(_) => unlike(&format!("`{path}`, {seconds} s, cannot be the unit of times")),
    }
}

/// Facts for readers. One that cannot be read is left out.
fn facts(file: &Hdf5) -> Vec<(String, String)> {
    let text = |(what, path): (&str, _)| Some((what.to_owned(), file.text(path).ok()??));
    let number = |(what, path, unit): (&str, _, _)| {
        Some((what.to_owned(), format!("{} {unit}", file.number(path).ok()??)))
    };
    TEXTS.into_iter().filter_map(text).chain(NUMBERS.into_iter().filter_map(number)).collect()
}

/// Returns how long was measured, if the file says it.
fn stated(file: &Hdf5) -> Option<Stated> {
    let seconds = file.number("acquisition_duration").ok()??;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within limits")]
    let duration = (0.001..1e12).contains(&seconds).then(|| (seconds * 1e3).round() as u64);
    Some(Stated { duration_ms: duration, ..Stated::default() })
}

/// Names of detectors.
fn channel_names(file: &Hdf5) -> Result<Vec<(u16, String)>, Hdf5Fault> {
    let Some(ids) = file.array("setup/detectors/id")? else { return Ok(Vec::new()) };
    let labels = file.texts("setup/detectors/label")?;
    let mut numbers = Vec::new();
    ids.read(0, labels.len(), &mut numbers)?;
    let named = numbers.into_iter().zip(labels).filter_map(|(id, label)| {
        let label = label.trim();
        Some((u16::try_from(id).ok()?, label.to_owned())).filter(|_| !label.is_empty())
    });
    Ok(named.collect())
}

/// Rows that follow each other.
#[derive(Default)]
struct Hdf5Rows {
    values: [Vec<i64>; 3],
    tags: Vec<Tag>,
    micro: Vec<u32>,
}

impl Hdf5Rows {
    /// Reads the rows from `start` on.
    fn read(&mut self, columns: &PhotonArrays, start: u64) -> Result<(), Hdf5Fault> {
        let rows = usize::try_from(columns.time.rows - start).map_or(ROWS, |left| left.min(ROWS));
        let [times, detectors, micros] = &mut self.values;
        columns.time.read(start, rows, times)?;
        match &columns.detector {
            Some(detector) => detector.read(start, rows, detectors)?,
            None => detectors.resize(rows, 0),
        }
        if let Some(micro) = &columns.micro {
            micro.read(start, rows, micros)?;
        }
        self.tags.clear();
        for (&time, &detector) in times.iter().zip(&*detectors) {
            let Ok(channel) = u64::try_from(detector) else {
                return unlike(&format!("a detector has the negative number {detector}"));
            };
            self.tags.push(Tag { time, channel });
        }
        self.micro.clear();
        for &micro in &*micros {
            // That of a tag without one, as tagq writes it, is [`MICRO_NONE`].
            let Ok(stored) = u32::try_from(micro) else {
                return unlike(&format!("a nanotime of {micro} does not fit in 32 bits"));
            };
            self.micro.push(stored);
        }
        Ok(())
    }
}

/// Bytes that are read for their checksum and for the progress, in step with the photons.
pub(crate) struct Passed<'a> {
    input: AnyInput<'a>,
    at: u64,
}

impl<'a> Passed<'a> {
    pub(crate) fn of(payload: &Payload<'a>, settings: &Settings) -> Result<Self, Error> {
        Ok(Self { input: payload.input(payload.bytes.clone(), 0, settings)?, at: 0 })
    }

    /// Reads the rest, and returns the checksum of all bytes.
    pub(crate) fn into_crc(mut self, payload: &Payload<'_>) -> Result<Crc, Error> {
        self.read_up_to(payload.size, payload)?;
        Ok(self.input.crc())
    }

    fn read_up_to(&mut self, end: u64, payload: &Payload<'_>) -> Result<(), Error> {
        let mut buffer = vec![0; INPUT_BYTES];
        while self.at < end {
            let read = self.input.read(&mut buffer);
            let read = read.map_err(|error| input_error(payload.path, error, None))?;
            if read == 0 {
                break;
            }
            self.input.note_taken(&buffer[..read]);
            self.at += read as u64;
        }
        Ok(())
    }
}

fn name(fault: Hdf5Fault, payload: &Payload<'_>) -> Error {
    let path = payload.path.to_path_buf();
    match fault {
        Hdf5Fault::Damaged(what) => Error::Header { path, what },
        Hdf5Fault::Refused(kind, way) => Error::Foreign { path, kind, way },
    }
}
