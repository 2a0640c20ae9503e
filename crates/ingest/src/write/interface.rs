//! The interface of the forms in which tags are written.

use std::{
    any::Any,
    fmt,
    fs::File,
    io::{self, BufWriter, Seek as _, SeekFrom, Stdout, Write},
};

use tagq_store::{Recording, Tag, Tick};

/// A form in which tags are written.
pub trait TagForm: fmt::Debug + Send + Sync {
    /// The name of its format, see [`FormatName`](crate::FormatName).
    fn format_name(&self) -> &'static str;

    /// The facts for which it has a place.
    fn keeps(&self) -> Keeps;

    /// The same times, without what it has no place for; `None` if it cannot state the tick.
    fn times(&self, times: Times) -> Option<Times>;

    /// Why not every tick can be stated, for an error.
    fn needs(&self) -> &'static str;

    /// Tags with these times go to `out`, encoded on so many threads; one a core when 0.
    ///
    /// # Errors
    /// When no thread can be started, or the tick cannot be stated.
    fn start(
        &self,
        out: Box<dyn Output>,
        times: Times,
        threads: usize,
    ) -> io::Result<Box<dyn TagSink>>;
}

/// The facts for which a form has a place, besides times and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct Keeps {
    /// The tick.
    pub tick: bool,
    /// Whether readers assume the usual tick where none is stated.
    pub assumes_tick: bool,
    /// Any micro times.
    pub micro: bool,
    /// Names of channels.
    pub names: bool,
    /// Facts about the measurement.
    pub facts: bool,
    /// Times without a record.
    pub dead: bool,
}

/// Units of the times to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The unit of times.
    pub tick: Tick,
    /// The unit of micro times, if some tags have one.
    pub micro_tick: Option<Tick>,
    /// The period of the sync pulses, if each time is that of a pulse plus the micro time of the tag, in the same
    /// unit: for files that keep both.
    pub sync_period: Option<Tick>,
}

impl From<Tick> for Times {
    fn from(tick: Tick) -> Self {
        Self { tick, micro_tick: None, sync_period: None }
    }
}

/// Takes tags as they come, in the order they come, and writes them in one form.
pub trait TagSink {
    /// Takes more tags, and the micro time of each, [`MICRO_NONE`](tagq_store::format::MICRO_NONE) for none; none of
    /// them has one if `micro` is empty. An error of the output may show only later.
    ///
    /// # Errors
    /// Those of the output. Nothing more can be written then.
    fn push(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()>;

    /// Takes a time during which nothing was recorded: its first and last time, [`i64::MAX`] if it has no end. It
    /// is written, if the form has a place for it, between the tags around it that come after this call.
    fn dead(&mut self, first: i64, last: i64);

    /// Takes what is known of the recording: before the first tag as far as it is known then, and all of it before the
    /// end.
    fn describe(&mut self, recording: &Recording);

    /// Writes what is left and gives the output back. A file without tags is a message, a frame or a
    /// header without tags, so that other programs read it, too.
    ///
    /// # Errors
    /// Those of the output.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn Output>>;
}

/// Where a file is written to.
pub trait Output: Write + Send + Any {
    /// Writes these bytes over those at `at`, if that is possible: a pipe keeps what it was given.
    ///
    /// # Errors
    /// Those of the output.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
}

impl Output for File {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        if self.seek(SeekFrom::Start(at)).is_err() {
            return Ok(());
        }
        self.write_all(bytes)?;
        self.seek(SeekFrom::End(0)).map(drop)
    }
}

impl Output for Vec<u8> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let at = usize::try_from(at).ok().and_then(|at| self.get_mut(at..)?.get_mut(..bytes.len()));
        if let Some(place) = at {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Output for Stdout {
    fn patch(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Output> Output for BufWriter<W> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.get_mut().patch(at, bytes)
    }
}

impl Output for Box<dyn Output> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).patch(at, bytes)
    }
}
