//! Conversion between all formats of tags.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use tagq_ingest::{
    Error as FilesError, FormatName, Settings, read_header, read_tags,
    write::{Content, Form, TagWriter},
};
use tagq_store::{Store, Tag, Tick};

use crate::{
    error::Error,
    input::{self, Input},
    new_file::{NewFile, folder_of},
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
}

/// Writes tags durably to the file `out`; the file name selects the format. The file appears complete
/// or not at all. `tick` is the unit of the times of a file that does not state it.
///
/// # Errors
/// [`Error::NoTick`] and [`Error::TickForm`] if `out` states the unit of its times;
/// [`Error::Exists`] without `force`, [`Error::NoForm`], [`Error::OntoItself`]; errors from reading the
/// tags and from writing the file.
pub fn convert(
    tags: Tags<'_>,
    out: &Path,
    force: bool,
    settings: &Settings,
    tick: Option<Tick>,
    progress: &dyn Progress,
) -> Result<Converted, Error> {
    let form = check_out(out, force)?;
    check_apart(tags, out)?;
    let fresh = NewFile::create(out, force, progress)?;
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
    let mut writer =
        TagWriter::new(out, form, tick_of(tags, form, tick, settings.format)?, settings.threads)
            .map_err(io_error)?;
    let converted = match tags {
        Tags::File(path) => of_file(path, settings, &mut writer),
        Tags::Input(stream) => of_file(stream.path(), settings, &mut writer)
            .map_err(|error| input::shown(error, stream)),
        Tags::Run(run) => {
            let counted = settings.bytes_read.as_deref();
            let rows = run.store().guarded(|store| of_store(store, counted, &mut writer))?;
            rows.map_err(io_error)
                .map(|()| Converted { tags: run.store().manifest().rows, torn: None })
        }
    };
    let converted = converted.map_err(|error| match error {
        Error::Files(FilesError::Sink(source)) => io_error(source),
        error => error,
    })?;
    Ok((writer.finish().map_err(io_error)?, converted))
}

/// Returns the unit of the times of these tags.
///
/// # Errors
/// If the form states the unit: [`Error::NoTick`], [`Error::TickForm`].
fn tick_of(
    tags: Tags<'_>,
    form: Form,
    given: Option<Tick>,
    format: Option<FormatName>,
) -> Result<Tick, Error> {
    let path = match tags {
        Tags::Run(run) => return check_tick(form, run.store().manifest().tick),
        Tags::File(path) => path,
        Tags::Input(stream) => stream.path(),
    };
    // A tick that is only usual for the format yields to the one of the user.
    let header = read_header(path, format)?.unwrap_or_default();
    let tick = if header.tick_assumed { given.or(header.tick) } else { header.tick.or(given) };
    match tick {
        Some(tick) => check_tick(form, tick),
        None if form.content == Content::Ptu => {
            Err(Error::NoTick { path: path.into(), command: None })
        }
        None => Ok(Tick::DEFAULT),
    }
}

/// Checks that files of this form can state the tick.
fn check_tick(form: Form, tick: Tick) -> Result<Tick, Error> {
    if form.content == Content::Ptu && Tick::of_seconds(tick.seconds()) != Ok(tick) {
        return Err(Error::TickForm { tick });
    }
    Ok(tick)
}

fn of_file<W: Write + Send + 'static>(
    path: &Path,
    settings: &Settings,
    writer: &mut TagWriter<W>,
) -> Result<Converted, Error> {
    let mut push = |tags: &[Tag]| writer.push(tags).map_err(FilesError::Sink);
    let mut taken = 0;
    let summary = read_tags(path, settings, |tags| {
        taken += tags.len() as u64;
        push(tags)
    });
    match summary {
        Ok(summary) => Ok(Converted { tags: summary.tags, torn: summary.torn }),
        // All complete messages before the torn one are already written.
        Err(FilesError::TornMessage { message, .. }) => {
            Ok(Converted { tags: taken, torn: Some(format!("ends inside message {message}")) })
        }
        Err(error) => Err(error.into()),
    }
}

fn of_store<W: Write + Send + 'static>(
    store: &Store,
    counted: Option<&AtomicU64>,
    writer: &mut TagWriter<W>,
) -> io::Result<()> {
    let tags = store.tags();
    let mut chunk = Vec::with_capacity(CHUNK_ROWS);
    for (times, first) in tags.time.chunks(CHUNK_ROWS).zip((0..).step_by(CHUNK_ROWS)) {
        chunk.clear();
        let rows = times.iter().zip(first..);
        chunk.extend(
            rows.map(|(&time, row)| Tag { time, channel: tags.channels.label(row).into() }),
        );
        writer.push(&chunk)?;
        if let Some(counted) = counted {
            counted.fetch_add(chunk.len() as u64 * ROW_BYTES, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Returns the format that the name `out` selects, if a file can be created there.
///
/// # Errors
/// [`Error::NoForm`], and [`Error::Exists`] without `force` or if `out` is not a file.
pub fn check_out(out: &Path, force: bool) -> Result<Form, Error> {
    let form = Form::of_name(out).ok_or_else(|| Error::NoForm { path: out.into() })?;
    NewFile::check(out, force)?;
    Ok(form)
}

/// Checks that `out` is not one of the inputs.
fn check_apart(tags: Tags<'_>, out: &Path) -> Result<(), Error> {
    let from = match tags {
        Tags::File(path) => Some(path),
        Tags::Run(run) => Some(run.path()),
        Tags::Input(_) => None,
    };
    let from = from.and_then(|path| fs::metadata(path).ok().map(|metadata| (path, metadata)));
    if let Some((path, from)) = &from
        && from.is_dir()
        && fs::metadata(folder_of(out)).is_ok_and(|around| is_same(&around, from))
        && !Store::is_at(path)
    {
        // Otherwise it would be a source of the run, next to the sources whose tags it holds.
        return Err(Error::IntoItsRun { path: out.into() });
    }
    match (from, fs::metadata(out)) {
        (Some((_, from)), Ok(metadata)) if is_same(&from, &metadata) => {
            Err(Error::OntoItself { path: out.into() })
        }
        _ => Ok(()),
    }
}

fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
