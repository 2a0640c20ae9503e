//! Conversion between all formats of tags.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use tagq_ingest::{
    Error as FilesError, RunFile, Settings, SourceFile, read_recorded,
    write::{Content, Form, TagWriter, Times},
};
use tagq_store::{Recording, Store, Tag, Tick, format::MICRO_NONE};

use crate::{
    destination::Destination,
    error::Error,
    input::{self, Input},
    new_file::NewFile,
    progress::Progress,
    recorded::{Recorded, write_run_file},
    remarks::recorded_remarks,
    run::{Run, left_out::LeftOut},
};

/// Rows of a store that are passed on at once.
const CHUNK_ROWS: usize = 16_384;
/// Bytes per row, for progress displays.
const ROW_BYTES: u64 = 9;

/// Tags to write.
#[derive(Debug, Clone, Copy)]
pub enum Tags<'a> {
    /// A file of tags, in file order.
    File(&'a Path),
    /// A buffered stream, in stream order.
    Input(&'a Input),
    /// A run, in time order.
    Run(&'a Run),
}

/// Result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Number of tags written.
    pub tags: u64,
    /// Description of the incomplete data that was left out at the end of the file.
    pub torn: Option<String>,
    /// What the tags had and the file cannot hold, in words.
    pub lost: Vec<&'static str>,
    /// What the run file beside the file holds for it, in words.
    pub kept: Vec<&'static str>,
    /// The run file.
    pub run_file: Option<PathBuf>,
    /// The tick, if the file does not hold it.
    pub tick: Option<Tick>,
    /// Remarks about the file that was read: it was cut, or its header contradicts the tags.
    pub remarks: Vec<String>,
}

/// What belongs to tags apart from times and channels.
struct Described {
    tick: Option<Tick>,
    /// The tick if the source states it.
    stated_tick: Option<Tick>,
    /// The period of the pulses that every time is a micro time after.
    sync_period: Option<Tick>,
    micro_tick: Option<Tick>,
    recording: Recording,
    /// The damaged blocks that are left out.
    left_out: LeftOut,
    /// What a file of one source never holds.
    lost: Vec<&'static str>,
}

/// Writes tags durably to the file `out`; the file name selects the format. The file appears complete
/// or not at all. What it has no place for goes to a run file beside it, if that is free. `tick` is the unit of the
/// times of a file that does not state it.
///
/// # Errors
/// [`Error::NoTick`] and [`Error::TickForm`] if `out` states the unit of its times;
/// [`Error::NoForm`], those of [`Destination::check`]; errors from reading the
/// tags and from writing the file.
pub fn convert(
    tags: Tags<'_>,
    out: &Path,
    force: bool,
    settings: &Settings,
    tick: Option<Tick>,
    progress: &dyn Progress,
) -> Result<Converted, Error> {
    let reads = match tags {
        Tags::File(path) => vec![path.to_path_buf()],
        Tags::Run(run) => vec![run.path().to_path_buf(), run.store().folder().to_path_buf()],
        Tags::Input(_) => Vec::new(),
    };
    let to = Destination { path: out, force, reads: &reads };
    let form = check_out(&to)?;
    let fresh = NewFile::create(&to, progress)?;
    let (file, converted, recording) =
        write_recorded(tags, fresh.file()?, form, settings, tick, out)?;
    let converted = converted.keep_beside(recording, (&file, out), form.content, progress)?;
    fresh.keep(&file)?;
    Ok(converted)
}

/// Writes tags to `out` in this format; messages call it `shown`.
///
/// # Errors
/// Errors from reading the tags, and [`Error::Io`] for `out`.
pub fn write<W: Write + Send + 'static>(
    tags: Tags<'_>,
    out: W,
    form: Form,
    settings: &Settings,
    tick: Option<Tick>,
    shown: &Path,
) -> Result<(W, Converted), Error> {
    let (out, converted, _) = write_recorded(tags, out, form, settings, tick, shown)?;
    Ok((out, converted))
}

/// Does the same, and returns what the tags were described by.
fn write_recorded<W: Write + Send + 'static>(
    tags: Tags<'_>,
    out: W,
    form: Form,
    settings: &Settings,
    tick: Option<Tick>,
    shown: &Path,
) -> Result<(W, Converted, Recording), Error> {
    let io_error = |source| Error::Io { path: shown.into(), action: "write", source };
    let mut described = Described::of(tags, tick, settings)?;
    let times = described.times(tags, form.content)?;
    let mut writer = TagWriter::new(out, form, times, settings.threads).map_err(io_error)?;
    let recording = &mut described.recording;
    let written = match tags {
        Tags::File(path) => of_file(path, settings, recording, &mut writer),
        Tags::Input(stream) => of_file(stream.path(), settings, recording, &mut writer)
            .map_err(|error| input::shown(error, stream)),
        Tags::Run(run) => {
            let counted = settings.bytes_read.as_deref();
            for &(first, last) in &recording.dead {
                writer.dead(first, last);
            }
            let rows = run
                .store()
                .guarded(|store| of_store(store, &described.left_out, counted, &mut writer))?;
            let tags = run.store().manifest().rows - described.left_out.tags;
            rows.map_err(io_error).map(|()| (tags, None))
        }
    };
    let (tags, torn) = written.map_err(|error| match error {
        Error::Files(FilesError::Sink(source)) => io_error(source),
        error => error,
    })?;
    writer.name_channels(&described.recording.channel_names);
    let lost = described.lost(times, form.content);
    let tick = described.stated_tick.filter(|_| !form.content.states_tick());
    let mut remarks = recorded_remarks(&described.recording, tags);
    remarks.extend(described.left_out.remark(described.tick.unwrap_or(Tick::DEFAULT)));
    let converted = Converted { tags, torn, lost, kept: Vec::new(), run_file: None, tick, remarks };
    Ok((writer.finish().map_err(io_error)?, converted, described.recording))
}

impl Converted {
    /// Writes the run file beside `out` that holds what its file, which is complete, does not.
    fn keep_beside(
        mut self,
        recording: Recording,
        (file, out): (&File, &Path),
        content: Content,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let read_error =
            |source| Error::Io { path: out.into(), action: "read the length of", source };
        let bytes = file.metadata().map_err(read_error)?.len();
        let is_kept = |what: &&'static str| KEPT_BESIDE.contains(what);
        let (kept, lost): (Vec<_>, Vec<_>) = self.lost.iter().partition(|what| is_kept(what));
        let Recording { channel_names, facts, left_out, mut dead, dead_since, .. } = recording;
        // One without an end is cut at the last tag of the file that is described.
        dead.extend(dead_since.map(|since| (since, i64::MAX)));
        let recording = Recording {
            format: content.format_name().into(),
            channel_names: if kept.contains(&NAMES) { channel_names } else { Vec::new() },
            facts,
            left_out,
            dead: if kept.contains(&DEAD) { dead } else { Vec::new() },
            ..Recording::default()
        };
        let run_file = RunFile { bytes, tick: self.tick, micro_tick: None, recording };
        self.run_file = write_run_file(out, &run_file, progress)?;
        if self.run_file.is_some() {
            (self.lost, self.kept) = (lost, kept);
        }
        Ok(self)
    }
}

impl Described {
    /// Describes `tags`. `given` is the unit of times of a file that does not state it.
    fn of(tags: Tags<'_>, given: Option<Tick>, settings: &Settings) -> Result<Self, Error> {
        let path = match tags {
            Tags::Run(run) => return Self::of_run(run, settings.salvage),
            Tags::File(path) => path,
            Tags::Input(stream) => stream.path(),
        };
        // A tick that is only usual for the format yields to the one of the user.
        let header = SourceFile::open(path)?.header(settings)?.unwrap_or_default();
        let tick = if header.tick_assumed { given.or(header.tick) } else { header.tick.or(given) };
        let is_micro = header.tick == header.micro_tick;
        Ok(Self {
            tick,
            stated_tick: if header.tick_assumed { given } else { tick },
            sync_period: header.sync_period.filter(|_| is_micro),
            micro_tick: header.micro_tick,
            recording: Recording::default(),
            left_out: LeftOut::default(),
            lost: Vec::new(),
        })
    }

    fn of_run(run: &Run, salvage: bool) -> Result<Self, Error> {
        let manifest = run.store().manifest();
        let Recorded { mut recording, lost } = Recorded::of(run);
        let left_out = if salvage { run.left_out()? } else { LeftOut::default() };
        left_out.add_to(&mut recording);
        let period = recording.pulses.map(|pulses| pulses.period);
        Ok(Self {
            tick: Some(manifest.tick),
            stated_tick: Some(manifest.tick).filter(|_| !manifest.tick_assumed),
            sync_period: period.filter(|_| manifest.micro_tick == Some(manifest.tick)),
            micro_tick: manifest.micro_tick,
            recording,
            left_out,
            lost,
        })
    }

    /// Returns the units of times in a file of this content.
    ///
    /// # Errors
    /// If the file states the tick: [`Error::NoTick`], [`Error::TickForm`].
    fn times(&self, tags: Tags<'_>, content: Content) -> Result<Times, Error> {
        let needs = match content {
            Content::Messages | Content::Tabs | Content::Commas => {
                return Ok(self.tick.unwrap_or(Tick::DEFAULT).into());
            }
            Content::PhotonHdf5 => {
                "a file of Photon-HDF5 states the units of its times as floats of seconds"
            }
            Content::Npz => "an archive of arrays states the unit of its times",
            Content::Ptu => {
                "a PTU file states the unit of its times as a decimal number of seconds"
            }
            Content::Swabian => {
                "a file for the Time Tagger has times in units of whole picoseconds"
            }
        };
        let Some(tick) = self.tick else {
            let path = match tags {
                Tags::Run(run) => run.path(),
                Tags::File(path) => path,
                Tags::Input(stream) => stream.path(),
            };
            return Err(Error::NoTick { path: path.into(), command: None });
        };
        let times = Times { tick, micro_tick: self.micro_tick, sync_period: self.sync_period };
        times.stated_by(content).ok_or(Error::TickForm { tick, needs })
    }

    /// What a file of this content, with these times, does not hold.
    fn lost(&self, times: Times, content: Content) -> Vec<&'static str> {
        let Recording { channel_names, facts, left_out, dead, dead_since, .. } = &self.recording;
        let has_dead = !dead.is_empty() || dead_since.is_some();
        let lost = [
            (TICK, self.stated_tick.is_some() && !content.states_tick()),
            (
                "the micro times",
                self.micro_tick.is_some() && times.sync_period.is_none() && !content.has_micro(),
            ),
            (NAMES, !channel_names.is_empty() && !content.has_names()),
            (FACTS, !facts.is_empty() || !left_out.is_empty()),
            (DEAD, has_dead && !content.has_dead()),
        ];
        let lost = lost.into_iter().filter_map(|(what, is_lost)| is_lost.then_some(what));
        lost.chain(self.lost.iter().copied()).collect()
    }
}

const TICK: &str = "the tick";
const NAMES: &str = "the names of channels";
const FACTS: &str = "the facts";
const DEAD: &str = "the dead time";
/// What a run file holds.
const KEPT_BESIDE: [&str; 4] = [TICK, NAMES, FACTS, DEAD];

/// Returns the number of tags, and what was left out at the end.
fn of_file<W: Write + Send + 'static>(
    path: &Path,
    settings: &Settings,
    recording: &mut Recording,
    writer: &mut TagWriter<W>,
) -> Result<(u64, Option<String>), Error> {
    let mut taken = 0;
    let summary = read_recorded(path, settings, recording, |part| {
        taken += part.tags.len() as u64;
        for &(first, last) in part.dead {
            writer.dead(first, last);
        }
        writer.push_with_micro(part.tags, part.micro).map_err(FilesError::Sink)
    });
    match summary {
        Ok(summary) => Ok((summary.tags, summary.torn)),
        // All complete messages before the torn one are already written.
        Err(FilesError::TornMessage { message, .. }) => {
            Ok((taken, Some(format!("ends inside message {message}"))))
        }
        Err(error) => Err(error.into()),
    }
}

fn of_store<W: Write + Send + 'static>(
    store: &Store,
    left_out: &LeftOut,
    counted: Option<&AtomicU64>,
    writer: &mut TagWriter<W>,
) -> io::Result<()> {
    let (tags, column) = (store.tags(), store.micro());
    let (mut chunk, mut micro) = (Vec::with_capacity(CHUNK_ROWS), Vec::new());
    let mut buffer = Vec::new();
    let undamaged = store.damage_met();
    let chunks = left_out.intact(tags.len()).flat_map(|rows| {
        let end = rows.end;
        rows.step_by(CHUNK_ROWS).map(move |first| first..end.min(first + CHUNK_ROWS))
    });
    for rows in chunks {
        let times = tags.time.read(rows.clone(), &mut buffer);
        let labels = tags.channels.read(rows.clone());
        chunk.clear();
        if let Some(column) = &column {
            let column = column.read(rows);
            micro.clear();
            micro.extend((0..times.len()).map(|row| column.get(row).unwrap_or(MICRO_NONE)));
        }
        let rows = times.iter().enumerate();
        chunk.extend(rows.map(|(row, &time)| Tag { time, channel: labels.label(row).into() }));
        if store.damage_met() != undamaged {
            // The guard says so.
            break;
        }
        writer.push_with_micro(&chunk, &micro)?;
        if let Some(counted) = counted {
            counted.fetch_add(chunk.len() as u64 * ROW_BYTES, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Returns the format that the name of the file selects, if a file can be created there.
///
/// # Errors
/// [`Error::NoForm`], and those of [`Destination::check`].
pub fn check_out(to: &Destination<'_>) -> Result<Form, Error> {
    let form = Form::of_name(to.path).ok_or_else(|| Error::NoForm { path: to.path.into() })?;
    to.check()?;
    Ok(form)
}
