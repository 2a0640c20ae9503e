//! Conversion between all forms of tags.
//!
//! Tags come from a file, a stream or a run (`selection`: which of them), and go to a file in a form ([`OutForm`]):
//! `files` takes them from their file, `rows` from the store, and `described` says which other facts of the tags the
//! form holds.
//!
//! A file appears complete or not at all. The run file beside it is in its place before the file gets its name.

mod described;
mod files;
mod rows;
mod selection;
mod stretches;
mod tags;

use std::{
    any::Any,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use tagq_ingest::{
    Error as FilesError, RunFile, Settings,
    write::{Form, Output, TagForm},
};
use tagq_store::{Recording, Tick};

use crate::{
    destination::Destination, error::Error, input, new_file::NewFile, progress::Progress,
    recorded::write_run_file, remarks::recorded_remarks,
};
use described::{DEAD, Described, KEPT_BESIDE, NAMES};
pub use selection::{Projection, TagSelection};
pub use stretches::{Stretch, stretches};
pub use tags::{TagOrigin, TagsOfRun, Wrote};

/// Receives the number of rows done and the total, and may end the work by an error.
pub type RowsDone<'a> = dyn FnMut(u64, u64) -> Result<(), Error> + 'a;

/// A form in which the tags of files and of runs are written.
pub trait OutForm: TagForm {
    /// Writes tags of a run, and calls `done` with the number of rows done and the total; its error ends it.
    ///
    /// # Errors
    /// Those of reading the store, of the output, and of `done`.
    fn write_run(
        &self,
        of: &TagsOfRun<'_>,
        out: Box<dyn Output>,
        done: &mut RowsDone<'_>,
    ) -> Result<Wrote, Error> {
        rows::write(self.start(out, of.times, of.threads), of, done)
    }
}

impl OutForm for Form {}

/// Result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Number of tags written.
    pub tags: u64,
    /// Number of tags whose float does not identify their tick, of a table with times as floats.
    pub blurred: u64,
    /// Description of the incomplete data that was left out at the end of the file.
    pub torn: Option<String>,
    /// Facts of the tags that the file cannot hold, in words, without those of `kept`.
    pub lost: Vec<&'static str>,
    /// Facts that the run file beside the file holds for it, in words.
    pub kept: Vec<&'static str>,
    /// The run file.
    pub run_file: Option<PathBuf>,
    /// The tick, if the file does not hold it.
    pub tick: Option<Tick>,
    /// Remarks about the file that was read: it was cut, or its header contradicts the tags.
    pub remarks: Vec<String>,
}

/// Writes tags durably to the file at `to`, in this form. The file appears complete or not at all. Facts for which it
/// has no place go to a run file beside it, if that is free. `tick` is the unit of the times of a file that does not
/// state it. `done` is called with the number of rows done and the total, for a run.
///
/// # Errors
/// [`Error::NoTick`] and [`Error::TickForm`] if the form states the unit of its times;
/// those of [`Destination::check`]; errors from reading the
/// tags and from writing the file.
pub fn convert(
    tags: TagOrigin<'_>,
    (form, to): (&dyn OutForm, &Destination<'_>),
    settings: &Settings,
    tick: Option<Tick>,
    progress: &dyn Progress,
    done: &mut dyn FnMut(u64, u64),
) -> Result<Converted, Error> {
    let fresh = NewFile::create(to, progress)?;
    let (file, converted, described) =
        write_described(tags, fresh.file()?, form, settings, tick, to.path, done)?;
    let converted = converted.keep_beside(described, (&file, to.path), form, progress)?;
    fresh.keep(&file)?;
    Ok(converted)
}

/// Writes tags to `out` in this form; messages call it `shown`.
///
/// # Errors
/// Errors from reading the tags, and [`Error::Io`] for `out`.
pub fn write<W: Output>(
    tags: TagOrigin<'_>,
    out: W,
    form: &dyn OutForm,
    settings: &Settings,
    tick: Option<Tick>,
    shown: &Path,
) -> Result<(W, Converted), Error> {
    let (out, converted, _) =
        write_described(tags, out, form, settings, tick, shown, &mut |_, _| ())?;
    Ok((out, converted))
}

/// Works like [`write`], and returns the facts of the tags, too.
fn write_described<W: Output>(
    tags: TagOrigin<'_>,
    out: W,
    form: &dyn OutForm,
    settings: &Settings,
    tick: Option<Tick>,
    shown: &Path,
    done: &mut dyn FnMut(u64, u64),
) -> Result<(W, Converted, Described), Error> {
    let io_error = |source| Error::Io { path: shown.into(), action: "write", source };
    if let TagOrigin::Run(run, _) = tags {
        run.check_tags()?;
    }
    let mut described = Described::of(tags, tick, settings)?;
    let times = described.times(tags, form)?;
    let out: Box<dyn Output> = Box::new(out);
    let (out, written, blurred, torn) = match tags {
        TagOrigin::File(_) | TagOrigin::Input(_) => {
            let mut sink = form.start(out, times, settings.threads).map_err(io_error)?;
            let recording = &mut described.recording;
            sink.describe(recording);
            let written = files::write(tags.path(), settings, recording, &mut *sink);
            let written = written.map_err(|error| match (error, tags) {
                (Error::Files(FilesError::Sink(source)), _) => io_error(source),
                (error, TagOrigin::Input(stream)) => input::shown(error, stream),
                (error, _) => error,
            });
            let (tags, torn) = written?;
            sink.describe(&described.recording);
            (sink.finish().map_err(io_error)?, tags, 0, torn)
        }
        TagOrigin::Run(run, selection) => {
            let (recording, threads) = (&described.recording, settings.threads);
            let of = TagsOfRun { run, selection, times, recording, threads, shown };
            let counted = settings.bytes_read.as_deref();
            let mut told = |rows: u64, all: u64| {
                if let Some(counted) = counted {
                    counted.store(rows * rows::ROW_BYTES, Ordering::Relaxed);
                }
                done(rows, all);
                settings.check_wanted().map_err(Error::from)
            };
            let Wrote { out, tags, lost } = form.write_run(&of, out, &mut told)?;
            (out, tags, lost, None)
        }
    };
    let lost = described.lost(times, form);
    let tick = described.unstated_tick(form);
    let mut remarks = recorded_remarks(&described.recording, written, described.tick);
    remarks.extend(described.left_out.remark(described.tick.unwrap_or(Tick::DEFAULT)));
    let converted = Converted {
        tags: written,
        blurred,
        torn,
        lost,
        kept: Vec::new(),
        run_file: None,
        tick,
        remarks,
    };
    let out: Box<dyn Any> = out;
    let other = |_| io_error(io::Error::other("the output was replaced"));
    Ok((*out.downcast().map_err(other)?, converted, described))
}

impl Converted {
    /// Writes the run file beside `out` that holds what its file, which is complete, does not.
    fn keep_beside(
        mut self,
        described: Described,
        (file, out): (&File, &Path),
        form: &dyn TagForm,
        progress: &dyn Progress,
    ) -> Result<Self, Error> {
        let read_error =
            |source| Error::Io { path: out.into(), action: "read the length of", source };
        let bytes = file.metadata().map_err(read_error)?.len();
        let is_kept = |what: &&'static str| KEPT_BESIDE.contains(what);
        let (kept, lost): (Vec<_>, Vec<_>) = self.lost.iter().partition(|what| is_kept(what));
        let Recording { channel_names, facts, left_out, mut dead, dead_since, .. } =
            described.recording;
        // One without an end is cut at the last tag of the file that is described.
        dead.extend(dead_since.map(|since| (since, i64::MAX)));
        let recording = Recording {
            format: form.format_name().into(),
            channel_names: if kept.contains(&NAMES) { channel_names } else { Vec::new() },
            facts: if form.keeps().facts { Vec::new() } else { facts },
            left_out: if form.keeps().facts { Vec::new() } else { left_out },
            dead: if kept.contains(&DEAD) { dead } else { Vec::new() },
            ..Recording::default()
        };
        let keeps = form.keeps();
        let micro_tick = described.micro_tick.filter(|_| keeps.micro && !keeps.tick);
        let run_file = RunFile { bytes: Some(bytes), tick: self.tick, micro_tick, recording };
        self.run_file = write_run_file(out, &run_file, progress)?;
        if self.run_file.is_some() {
            (self.lost, self.kept) = (lost, kept);
        }
        Ok(self)
    }
}
