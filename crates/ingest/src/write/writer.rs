//! The writer of files: units of tags go to threads that encode them, and their bytes to one that writes.
//!
//! A unit is announced to the writing thread before it is encoded, so bytes are written in the order of the tags
//! whichever thread is done first.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use tagq_store::{Recording, ScanFacts, Tag, format::MICRO_NONE};

use super::{
    encode::{Unit, no_tick, ptu},
    form::{Content, Form, Packing},
    interface::{Keeps, Output, TagForm, TagSink, Times},
};
use crate::{
    arrays::{About, SpilledColumns, Units},
    formats::{
        picoquant::{by_pulse::ByPulse, writer::PtuTimes},
        swabian::{self, Edge},
    },
};

/// Each thread holds a unit of tags and what it becomes, some 24 MiB.
const THREADS_MAX: usize = 16;

/// Writes tags in the order in which they come. Memory is bounded: a caller that is faster than the output
/// waits for it.
///
/// ```
/// use std::path::Path;
/// use tagq_ingest::write::{Form, TagWriter};
/// use tagq_store::{Tag, Tick};
///
/// let form = Form::of_name(Path::new("two.csv")).unwrap();
/// let mut writer = TagWriter::new(Vec::new(), form, Tick::DEFAULT, 0)?;
/// writer.push(&[Tag { time: 5, channel: 3 }, Tag { time: 17, channel: 15 }], &[])?;
/// assert_eq!(writer.finish()?, b"channel,time\n3,5\n15,17\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TagWriter<W> {
    form: Form,
    times: Times,
    /// The columns of a file of arrays.
    columns: Option<SpilledColumns>,
    about: About,
    /// The scan of an image, for the header of a PTU file.
    scan: ScanFacts,
    tags: Vec<Tag>,
    edges: Vec<(usize, Edge)>,
    /// Edges that come after the tags so far.
    later: VecDeque<Edge>,
    micro: Vec<u32>,
    /// Puts tags in order of their pulses, for files with pulses.
    by_pulse: Option<ByPulse>,
    is_first: bool,
    /// Time of the last tag that was sent.
    before: Option<i64>,
    pipes: Option<Pipes>,
    spare: Arc<Mutex<Vec<Vec<Tag>>>>,
    encoders: Vec<JoinHandle<()>>,
    writer: Option<JoinHandle<io::Result<(W, u64)>>>,
}

#[derive(Debug)]
struct Pipes {
    units: SyncSender<Unit>,
    /// Where the bytes of each unit will come from, in order.
    announce: SyncSender<Receiver<io::Result<Vec<u8>>>>,
}

impl<W: Output> TagWriter<W> {
    /// Tags with these times go to `out` in this form, encoded on so many threads; one a core when 0.
    ///
    /// # Errors
    /// When no thread can be started, or a file of this form cannot state the tick.
    pub fn new(out: W, form: Form, times: impl Into<Times>, threads: usize) -> io::Result<Self> {
        let times: Times = times.into();
        let times = form.times(times).ok_or_else(|| no_tick(times.tick))?;
        let threads = tagq_store::threads(threads).min(THREADS_MAX);
        let (units, todo) = sync_channel::<Unit>(1);
        let (announce, announced) = sync_channel(threads);
        let todo = Arc::new(Mutex::new(todo));
        let spare = Arc::new(Mutex::new(Vec::new()));
        let mut encoders = Vec::new();
        for _ in 0..threads {
            let (todo, spare) = (Arc::clone(&todo), Arc::clone(&spare));
            let encode = move || encode_units(form, times, &todo, &spare);
            encoders.push(thread::Builder::new().name("encode".into()).spawn(encode)?);
        }
        let write = move || write_announced(out, &announced);
        let writer = thread::Builder::new().name("write".into()).spawn(write)?;
        let has_arrays = form.content.arrays().is_some();
        let columns =
            has_arrays.then(|| SpilledColumns::new(times.micro_tick.is_some())).transpose()?;
        Ok(Self {
            form,
            times,
            columns,
            about: About::default(),
            scan: ScanFacts::default(),
            tags: Vec::new(),
            edges: Vec::new(),
            later: VecDeque::new(),
            micro: Vec::new(),
            by_pulse: times.sync_period.map(|_| ByPulse::default()),
            is_first: true,
            before: None,
            pipes: Some(Pipes { units, announce }),
            spare,
            encoders,
            writer: Some(writer),
        })
    }

    /// Takes more tags, see [`TagSink::push`]. Micro times are written by files with [`Times::sync_period`] or arrays.
    ///
    /// # Errors
    /// Those of the output. Nothing more can be written then.
    pub fn push(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()> {
        if let Some(columns) = &mut self.columns {
            return columns.push(tags, micro);
        }
        if let Some(by_pulse) = &mut self.by_pulse {
            let micro = micro.iter().copied().chain(std::iter::repeat(MICRO_NONE));
            tags.iter().zip(micro).for_each(|(&tag, micro)| by_pulse.push(tag, micro));
            return self.take_by_pulse(false);
        }
        let mut rest = tags;
        while let Some(first) = rest.first() {
            self.take_edges(Some(first.time));
            let edge = self.later.front();
            let until = edge.and_then(|edge| rest.iter().position(|tag| edge.is_before(tag.time)));
            let room = self.form.unit_tags() - self.tags.len();
            let (now, later) = rest.split_at(room.min(until.unwrap_or(rest.len())));
            self.tags.extend_from_slice(now);
            if self.tags.len() == self.form.unit_tags() {
                self.send()?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Takes the names of channels, which are written if the form has a place for them.
    pub fn name_channels(&mut self, names: &[(u16, String)]) {
        self.about.channel_names = names.to_vec();
    }

    /// Takes the scan of an image, which a PTU file states in its header. It has no effect after the first tags.
    pub fn state_scan(&mut self, scan: ScanFacts) {
        if self.is_first {
            self.scan = scan;
        }
    }

    /// Takes a time during which nothing was recorded, see [`TagSink::dead`].
    pub fn dead(&mut self, first: i64, last: i64) {
        if self.form.keeps().dead {
            self.later.push_back(Edge::Begins(first));
            self.later.extend((last < i64::MAX).then_some(Edge::Ends(last)));
        }
    }

    /// Takes the edges that come before a tag at `time`; all if no tag follows.
    fn take_edges(&mut self, time: Option<i64>) {
        while let Some(&edge) = self.later.front()
            && time.is_none_or(|time| edge.is_before(time))
        {
            self.edges.push((self.tags.len(), edge));
            self.later.pop_front();
        }
    }

    /// Writes the rest and returns the output, see [`TagSink::finish`].
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some((columns, form)) = self.columns.take().zip(self.form.content.arrays()) {
            let (mut out, _) = self.join()?;
            let Times { tick, micro_tick, .. } = self.times;
            columns.finish(form, Units { tick, micro_tick }, &self.about, &mut out)?;
            out.flush()?;
            return Ok(out);
        }
        self.take_by_pulse(true)?;
        self.take_edges(None);
        if self.is_first || !self.tags.is_empty() || !self.edges.is_empty() {
            self.send()?;
        }
        let (mut out, bytes) = self.join()?;
        if self.form == (Form { content: Content::Ptu, packing: Packing::Plain })
            && let Some(ptu) = ptu(self.times)
        {
            let (at, records) = ptu.records_in_header(&self.scan, bytes);
            out.patch(at, &records)?;
        }
        Ok(out)
    }

    /// Takes the tags whose place in the order of pulses is certain.
    fn take_by_pulse(&mut self, is_end: bool) -> io::Result<()> {
        while let Some((tag, micro)) = self.by_pulse.as_mut().and_then(|tags| tags.pop(is_end)) {
            self.tags.push(tag);
            self.micro.push(micro);
            if self.tags.len() == self.form.unit_tags() {
                self.send()?;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut next = spare.unwrap_or_default();
        next.clear();
        let tags = std::mem::replace(&mut self.tags, next);
        let micro = std::mem::take(&mut self.micro);
        let edges = std::mem::take(&mut self.edges);
        let is_first = std::mem::take(&mut self.is_first);
        let scan = if is_first { self.scan.clone() } else { ScanFacts::default() };
        let before = self.before;
        self.before = tags.last().map_or(before, |last| Some(last.time));
        let (reply, bytes) = sync_channel(1);
        let is_sent = self.pipes.as_ref().is_some_and(|pipes| {
            pipes.announce.send(bytes).is_ok()
                && pipes
                    .units
                    .send(Unit { tags, edges, micro, is_first, scan, before, reply })
                    .is_ok()
        });
        if is_sent {
            return Ok(());
        }
        // A thread ended early. Its error is the reason.
        self.join().and_then(|_| Err(io::Error::other("nobody writes any more")))
    }

    /// Returns the output and the number of its bytes.
    fn join(&mut self) -> io::Result<(W, u64)> {
        self.pipes = None;
        let gone = || io::Error::other("the thread that writes is gone");
        let written = self
            .writer
            .take()
            .map_or_else(|| Err(gone()), |writer| writer.join().unwrap_or_else(|_| Err(gone())));
        for encoder in self.encoders.drain(..) {
            encoder.join().map_err(|_| io::Error::other("a thread that encodes is gone"))?;
        }
        written
    }
}

impl TagForm for Form {
    fn format_name(&self) -> &'static str {
        self.content.format_name()
    }

    fn keeps(&self) -> Keeps {
        self.content.keeps()
    }

    fn times(&self, times: Times) -> Option<Times> {
        let Times { tick, micro_tick, sync_period } = times;
        let plain = Times::from(tick);
        if let Some(form) = self.content.arrays() {
            let are_stated = form.states(tick) && micro_tick.is_none_or(|tick| form.states(tick));
            return are_stated.then_some(Times { micro_tick, ..plain });
        }
        match self.content {
            Content::PhotonHdf5 | Content::Npz => None,
            Content::Messages | Content::Tabs | Content::Commas => Some(plain),
            Content::Ptu if sync_period.is_some_and(|p| PtuTimes::t3(tick, p).is_some()) => {
                Some(times)
            }
            Content::Ptu => PtuTimes::t2(tick).map(|_| plain),
            Content::Swabian => swabian::picoseconds(tick).map(|_| plain),
        }
    }

    fn needs(&self) -> &'static str {
        match self.content {
            Content::Messages | Content::Tabs | Content::Commas => "it states no tick",
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
        }
    }

    fn start(
        &self,
        out: Box<dyn Output>,
        times: Times,
        threads: usize,
    ) -> io::Result<Box<dyn TagSink>> {
        Ok(Box::new(TagWriter::new(out, *self, times, threads)?))
    }
}

impl TagSink for TagWriter<Box<dyn Output>> {
    fn push(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()> {
        self.push(tags, micro)
    }

    fn dead(&mut self, first: i64, last: i64) {
        self.dead(first, last);
    }

    fn describe(&mut self, recording: &Recording) {
        self.name_channels(&recording.channel_names);
        self.state_scan(ScanFacts::of(recording));
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn Output>> {
        (*self).finish()
    }
}

fn encode_units(
    form: Form,
    times: Times,
    todo: &Mutex<Receiver<Unit>>,
    spare: &Mutex<Vec<Vec<Tag>>>,
) {
    loop {
        let unit = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(unit) = unit else { break };
        // The receiver is gone when the output refused an earlier unit.
        let _ = unit.reply.send(form.encode(times, &unit));
        spare.lock().unwrap_or_else(PoisonError::into_inner).push(unit.tags);
    }
}

fn write_announced<W: Write>(
    mut out: W,
    announced: &Receiver<Receiver<io::Result<Vec<u8>>>>,
) -> io::Result<(W, u64)> {
    let mut written = 0;
    for bytes in announced {
        let gone = |_| io::Error::other("the thread that encodes is gone");
        let bytes = bytes.recv().map_err(gone)??;
        out.write_all(&bytes)?;
        written += bytes.len() as u64;
    }
    out.flush()?;
    Ok((out, written))
}
