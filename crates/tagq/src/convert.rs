//! Conversion between all formats of tags.

use std::{
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use tagq_ingest::{
    Error as FilesError, FormatName, Settings, read_header, read_tags_with_micro,
    write::{Content, Form, TagWriter, Times},
};
use tagq_store::{SourceFacts, Store, Tag, Tick, format::MICRO_NONE};

use crate::{
    destination::Destination,
    error::Error,
    input::{self, Input},
    new_file::NewFile,
    progress::Progress,
    run::Run,
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
}

/// What belongs to tags apart from times and channels.
struct Described {
    tick: Option<Tick>,
    /// The tick if the source states it.
    stated_tick: Option<Tick>,
    /// The period of the pulses that every time is a micro time after.
    sync_period: Option<Tick>,
    has_micro: bool,
    has_names: bool,
    has_facts: bool,
}

/// Writes tags durably to the file `out`; the file name selects the format. The file appears complete
/// or not at all. `tick` is the unit of the times of a file that does not state it.
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
    let (file, converted) = write(tags, fresh.file()?, form, settings, tick, out)?;
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
    let io_error = |source| Error::Io { path: shown.into(), action: "write", source };
    let described = Described::of(tags, tick, settings.format)?;
    let times = described.times(tags, form.content)?;
    let lost = described.lost(times, form.content);
    let mut writer = TagWriter::new(out, form, times, settings.threads).map_err(io_error)?;
    let converted = match tags {
        Tags::File(path) => of_file(path, settings, &mut writer),
        Tags::Input(stream) => of_file(stream.path(), settings, &mut writer)
            .map_err(|error| input::shown(error, stream)),
        Tags::Run(run) => {
            let counted = settings.bytes_read.as_deref();
            let rows = run.store().guarded(|store| of_store(store, counted, &mut writer))?;
            let tags = run.store().manifest().rows;
            rows.map_err(io_error).map(|()| Converted { tags, torn: None, lost: Vec::new() })
        }
    };
    let converted = converted.map_err(|error| match error {
        Error::Files(FilesError::Sink(source)) => io_error(source),
        error => error,
    })?;
    Ok((writer.finish().map_err(io_error)?, Converted { lost, ..converted }))
}

impl Described {
    /// Describes `tags`. `given` is the unit of times of a file that does not state it.
    fn of(tags: Tags<'_>, given: Option<Tick>, format: Option<FormatName>) -> Result<Self, Error> {
        let path = match tags {
            Tags::Run(run) => return Ok(Self::of_run(run)),
            Tags::File(path) => path,
            Tags::Input(stream) => stream.path(),
        };
        // A tick that is only usual for the format yields to the one of the user.
        let header = read_header(path, format)?.unwrap_or_default();
        let tick = if header.tick_assumed { given.or(header.tick) } else { header.tick.or(given) };
        let is_micro = header.tick == header.micro_tick;
        Ok(Self {
            tick,
            stated_tick: header.tick.filter(|_| !header.tick_assumed),
            sync_period: header.sync_period.filter(|_| is_micro),
            has_micro: header.micro_tick.is_some(),
            has_names: !header.channel_names.is_empty(),
            has_facts: header.has_facts,
        })
    }

    fn of_run(run: &Run) -> Self {
        let manifest = run.store().manifest();
        let sources = || manifest.sources.iter().map(|source| &source.facts);
        let recordings = || sources().filter_map(|facts| facts.recording.as_ref());
        // Times that were moved are those of no pulse.
        let period = |facts: &SourceFacts| {
            let recording = facts.recording.as_ref().filter(|_| facts.rebased.unwrap_or(0) == 0);
            recording.and_then(|recording| recording.pulses).map(|pulses| pulses.period)
        };
        let first = sources().next().and_then(period);
        let is_one = sources().all(|facts| period(facts) == first);
        Self {
            tick: Some(manifest.tick),
            stated_tick: Some(manifest.tick).filter(|_| !manifest.tick_assumed),
            sync_period: first.filter(|_| is_one && manifest.micro_tick == Some(manifest.tick)),
            has_micro: manifest.micro_tick.is_some(),
            has_names: recordings().any(|recording| !recording.channel_names.is_empty()),
            has_facts: recordings().any(|recording| !recording.facts.is_empty()),
        }
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
        let times = Times { tick, sync_period: self.sync_period };
        times.stated_by(content).ok_or(Error::TickForm { tick, needs })
    }

    /// What a file of this content, with these times, does not hold.
    fn lost(&self, times: Times, content: Content) -> Vec<&'static str> {
        let states_tick = match content {
            Content::Messages | Content::Tabs | Content::Commas => false,
            Content::Ptu | Content::Swabian => true,
        };
        let lost = [
            ("the tick", self.stated_tick.is_some() && !states_tick),
            ("the micro times", self.has_micro && times.sync_period.is_none()),
            // Channels of a PTU file have their names by their numbers.
            ("the names of channels", self.has_names && content != Content::Ptu),
            ("the facts", self.has_facts),
        ];
        lost.into_iter().filter_map(|(what, is_lost)| is_lost.then_some(what)).collect()
    }
}

fn of_file<W: Write + Send + 'static>(
    path: &Path,
    settings: &Settings,
    writer: &mut TagWriter<W>,
) -> Result<Converted, Error> {
    let mut taken = 0;
    let summary = read_tags_with_micro(path, settings, |tags, micro| {
        taken += tags.len() as u64;
        writer.push_with_micro(tags, micro).map_err(FilesError::Sink)
    });
    match summary {
        Ok(summary) => Ok(Converted { tags: summary.tags, torn: summary.torn, lost: Vec::new() }),
        // All complete messages before the torn one are already written.
        Err(FilesError::TornMessage { message, .. }) => {
            let torn = Some(format!("ends inside message {message}"));
            Ok(Converted { tags: taken, torn, lost: Vec::new() })
        }
        Err(error) => Err(error.into()),
    }
}

fn of_store<W: Write + Send + 'static>(
    store: &Store,
    counted: Option<&AtomicU64>,
    writer: &mut TagWriter<W>,
) -> io::Result<()> {
    let (tags, column) = (store.tags(), store.micro());
    let (mut chunk, mut micro) = (Vec::with_capacity(CHUNK_ROWS), Vec::new());
    for (times, first) in tags.time.chunks(CHUNK_ROWS).zip((0..).step_by(CHUNK_ROWS)) {
        chunk.clear();
        if let Some(column) = &column {
            let rows = first..first + times.len();
            micro.clear();
            micro.extend(rows.map(|row| column.get(row).unwrap_or(MICRO_NONE)));
        }
        let rows = times.iter().zip(first..);
        chunk.extend(
            rows.map(|(&time, row)| Tag { time, channel: tags.channels.label(row).into() }),
        );
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
