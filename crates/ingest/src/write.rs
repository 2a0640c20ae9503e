//! Writes tags in any of the forms that are read: pieces encoded on several threads, written in order.

use std::{
    collections::VecDeque,
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use flate2::write::GzEncoder;
use tagq_store::{Tag, Tick, format::MICRO_NONE};

use crate::{
    arrays::{About, ArrayForm, Columns, Units},
    formats::{
        photon_hdf5,
        picoquant::{self, by_pulse::ByPulse, writer::PtuTimes},
        swabian::{self, Edge},
        tables::numpy,
        tags::{
            self,
            encode::{self, Encoder},
        },
        text::{self, writer::TextWriter},
    },
    payload::compression::{Gzip, Zstd, interface::Compression as _},
};

/// Tags in a message or a frame.
const UNIT_TAGS: usize = 1 << 20;
/// Tags that become a piece of plain text.
const TEXT_TAGS: usize = 1 << 16;
/// Each thread holds a unit of tags and what it becomes, some 24 MiB.
const THREADS_MAX: usize = 16;
const LEVEL: i32 = 3;
/// The ends of the names of files of Photon-HDF5; the first one is listed.
const HDF5_SUFFIXES: [&str; 2] = [".h5", ".hdf5"];

/// The form in which a file of tags is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Messages, lines or records.
    pub content: Content,
    /// How they are compressed.
    pub packing: Packing,
}

/// The compression of a file of tags. Each member can be read without the others and has a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// In Zstandard frames.
    Zstd,
    /// In gzip members.
    Gzip,
}

impl Packing {
    const ALL: [Self; 3] = [Self::Plain, Self::Zstd, Self::Gzip];

    /// The end of the name of a file.
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Zstd => Zstd.suffix(),
            Self::Gzip => Gzip.suffix(),
        }
    }
}

/// The content of a file of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Cap'n Proto messages.
    Messages,
    /// Lines `channel TAB time`.
    Tabs,
    /// Lines `channel,time`, and these two words as the first line.
    Commas,
    /// A PTU file, of mode T3 if the times are those of sync pulses and micro times, else of mode T2.
    Ptu,
    /// Records of 16 bytes of Swabian's Time Tagger.
    Swabian,
    /// Arrays of Photon-HDF5.
    PhotonHdf5,
    /// Arrays of NumPy in an archive.
    Npz,
}

impl Content {
    const ALL: [Self; 7] = [
        Self::Messages,
        Self::Tabs,
        Self::Commas,
        Self::Ptu,
        Self::Swabian,
        Self::PhotonHdf5,
        Self::Npz,
    ];

    /// The name of its format, see [`FormatName`](crate::FormatName).
    pub fn format_name(self) -> &'static str {
        match self {
            Self::Messages => tags::NAME,
            Self::Tabs | Self::Commas => text::NAME,
            Self::Ptu => picoquant::NAME,
            Self::Swabian => swabian::NAME,
            Self::PhotonHdf5 => photon_hdf5::NAME,
            Self::Npz => numpy::NPZ,
        }
    }

    /// How it is written, if it is a file of arrays.
    fn arrays(self) -> Option<ArrayForm> {
        match self {
            Self::Messages | Self::Tabs | Self::Commas | Self::Ptu | Self::Swabian => None,
            Self::PhotonHdf5 => Some(ArrayForm::PhotonHdf5),
            Self::Npz => Some(ArrayForm::Npz),
        }
    }

    /// Whether a file of it states the tick.
    pub fn states_tick(self) -> bool {
        match self {
            Self::Messages | Self::Tabs | Self::Commas => false,
            Self::Ptu | Self::Swabian | Self::PhotonHdf5 | Self::Npz => true,
        }
    }

    /// Whether a file of it has a place for any micro times.
    pub fn has_micro(self) -> bool {
        self.arrays().is_some()
    }

    /// Whether a file of it has a place for names of channels.
    pub fn has_names(self) -> bool {
        match self {
            Self::Messages | Self::Tabs | Self::Commas | Self::Swabian | Self::Npz => false,
            // Channels of a PTU file have their names by their numbers.
            Self::Ptu | Self::PhotonHdf5 => true,
        }
    }

    /// Whether a file of it has a place for times without a record.
    pub fn has_dead(self) -> bool {
        match self {
            Self::Swabian => true,
            Self::Messages
            | Self::Tabs
            | Self::Commas
            | Self::Ptu
            | Self::PhotonHdf5
            | Self::Npz => false,
        }
    }

    /// The end of the name of a file of it that is not compressed.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Messages => tags::SUFFIX,
            Self::Tabs => text::TABS_SUFFIX,
            Self::Commas => text::COMMAS_SUFFIX,
            Self::Ptu => picoquant::SUFFIX,
            Self::Swabian => swabian::SUFFIX,
            Self::PhotonHdf5 => HDF5_SUFFIXES[0],
            Self::Npz => ".npz",
        }
    }
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

impl Times {
    /// The same times without pulses if a file of this content has no place for them; `None` if it cannot state the
    /// tick.
    pub fn stated_by(self, content: Content) -> Option<Self> {
        let Self { tick, micro_tick, sync_period } = self;
        let plain = Self::from(tick);
        if let Some(form) = content.arrays() {
            let are_stated = form.states(tick) && micro_tick.is_none_or(|tick| form.states(tick));
            return are_stated.then_some(Self { micro_tick, ..plain });
        }
        match content {
            Content::PhotonHdf5 | Content::Npz => None,
            Content::Messages | Content::Tabs | Content::Commas => Some(plain),
            Content::Ptu if sync_period.is_some_and(|p| PtuTimes::t3(tick, p).is_some()) => {
                Some(self)
            }
            Content::Ptu => PtuTimes::t2(tick).map(|_| plain),
            Content::Swabian => swabian::picoseconds(tick).map(|_| plain),
        }
    }
}

impl Form {
    /// Returns all forms.
    pub fn all() -> impl Iterator<Item = Self> {
        let forms = |content: Content| {
            let packings =
                if content.arrays().is_some() { &[Packing::Plain][..] } else { &Packing::ALL };
            packings.iter().map(move |&packing| Self { content, packing })
        };
        Content::ALL.into_iter().flat_map(forms)
    }

    /// The end of the name of a file of it.
    pub fn suffix(self) -> String {
        format!("{}{}", self.content.suffix(), self.packing.suffix())
    }

    /// The form that the name of a file asks for; `None` for other names.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        let name = HDF5_SUFFIXES.iter().find_map(|suffix| {
            let stem = name.strip_suffix(suffix.as_bytes())?;
            Some([stem, HDF5_SUFFIXES[0].as_bytes()].concat())
        });
        let name = name.as_deref().unwrap_or(path.file_name()?.as_encoded_bytes());
        Self::all().find(|form| name.ends_with(form.suffix().as_bytes()))
    }

    fn unit_tags(self) -> usize {
        let is_plain = self.packing == Packing::Plain;
        if is_plain && self.content != Content::Messages { TEXT_TAGS } else { UNIT_TAGS }
    }

    /// The bytes of some tags, which can follow those of the tags before.
    fn encode(self, times: Times, unit: &Unit) -> io::Result<Vec<u8>> {
        match (self.content, self.packing) {
            (Content::Messages, Packing::Zstd) => {
                let mut encoder = Encoder::new(Vec::new()).checksum(true);
                encoder.frame(unit.tags.len() as u64, [&unit.tags[..]])?;
                Ok(encoder.into_inner())
            }
            (content, Packing::Plain) => {
                content.encode(times, unit, Vec::with_capacity(unit.tags.len() * 20))
            }
            (content, Packing::Zstd) => {
                let mut frame = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
                frame.include_checksum(true)?;
                content.encode(times, unit, frame)?.finish()
            }
            (content, Packing::Gzip) => {
                let member = GzEncoder::new(Vec::new(), flate2::Compression::default());
                content.encode(times, unit, member)?.finish()
            }
        }
    }
}

impl Content {
    fn encode<W: Write>(self, times: Times, unit: &Unit, mut out: W) -> io::Result<W> {
        let Unit { tags, edges, micro, is_first, before, .. } = unit;
        match self {
            Self::Messages => out.write_all(&encode::message(tags)?)?,
            Self::Tabs | Self::Commas => return self.lines(tags, *is_first, out),
            Self::Ptu => {
                let ptu = match times.sync_period {
                    Some(period) => PtuTimes::t3(times.tick, period),
                    None => PtuTimes::t2(times.tick),
                };
                let ptu = ptu.ok_or_else(|| no_tick(times.tick))?;
                if *is_first {
                    out.write_all(&ptu.header())?;
                }
                out.write_all(&ptu.records(tags, micro, *before)?)?;
            }
            Self::PhotonHdf5 | Self::Npz => {
                return Err(io::Error::other("arrays are written after the last tag"));
            }
            Self::Swabian => {
                let picoseconds = swabian::picoseconds(times.tick);
                let picoseconds = picoseconds.ok_or_else(|| no_tick(times.tick))?;
                out.write_all(&swabian::records(tags, edges, picoseconds)?)?;
            }
        }
        Ok(out)
    }

    fn lines<W: Write>(self, tags: &[Tag], is_first: bool, mut out: W) -> io::Result<W> {
        let separator = if self == Self::Commas { b',' } else { b'\t' };
        if is_first && self == Self::Commas {
            out.write_all(b"channel,time\n")?;
        }
        let mut lines = TextWriter::new(out).separator(separator);
        tags.iter().try_for_each(|&tag| lines.tag(tag))?;
        lines.finish()
    }
}

fn no_tick(tick: Tick) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it cannot state the tick {tick}"))
}

/// A unit of tags, and where its bytes are awaited.
struct Unit {
    tags: Vec<Tag>,
    /// Edges of times without a record, and the tag of the unit before which each is written.
    edges: Vec<(usize, Edge)>,
    /// The micro times of the tags, for files with pulses; else empty.
    micro: Vec<u32>,
    is_first: bool,
    /// Time of the tag before the first one.
    before: Option<i64>,
    reply: SyncSender<io::Result<Vec<u8>>>,
}

/// Writes tags as they come, in the order they come. Memory is bounded: whoever is faster than the
/// output waits for it.
///
/// ```
/// use std::path::Path;
/// use tagq_ingest::write::{Form, TagWriter};
/// use tagq_store::{Tag, Tick};
///
/// let form = Form::of_name(Path::new("two.csv")).unwrap();
/// let mut writer = TagWriter::new(Vec::new(), form, Tick::DEFAULT, 0)?;
/// writer.push(&[Tag { time: 5, channel: 3 }, Tag { time: 17, channel: 15 }])?;
/// assert_eq!(writer.finish()?, b"channel,time\n3,5\n15,17\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TagWriter<W> {
    form: Form,
    times: Times,
    /// The columns of a file of arrays.
    columns: Option<Columns>,
    about: About,
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
    writer: Option<JoinHandle<io::Result<W>>>,
}

#[derive(Debug)]
struct Pipes {
    units: SyncSender<Unit>,
    /// Where the bytes of each unit will come from, in order.
    announce: SyncSender<Receiver<io::Result<Vec<u8>>>>,
}

impl<W: Write + Send + 'static> TagWriter<W> {
    /// Tags with these times go to `out` in this form, encoded on so many threads; one a core when 0.
    ///
    /// # Errors
    /// When no thread can be started, or a file of this form cannot state the tick.
    pub fn new(out: W, form: Form, times: impl Into<Times>, threads: usize) -> io::Result<Self> {
        let times: Times = times.into();
        let times = times.stated_by(form.content).ok_or_else(|| no_tick(times.tick))?;
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
        let columns = has_arrays.then(|| Columns::new(times.micro_tick.is_some())).transpose()?;
        Ok(Self {
            form,
            times,
            columns,
            about: About::default(),
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

    /// Takes more tags. An error of the output may show only later.
    ///
    /// # Errors
    /// Those of the output. Nothing more can be written then.
    pub fn push(&mut self, tags: &[Tag]) -> io::Result<()> {
        self.push_with_micro(tags, &[])
    }

    /// Takes more tags, and the micro time of each, [`MICRO_NONE`] for none; none of them has one if `micro` is
    /// empty. They are written by files with [`Times::sync_period`] or arrays.
    ///
    /// # Errors
    /// Those of the output. Nothing more can be written then.
    pub fn push_with_micro(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()> {
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

    /// Takes a time during which nothing was recorded: its first and last time, [`i64::MAX`] if it has no end. It
    /// is written, if the form has a place for it, between the tags around it that come after this call.
    pub fn dead(&mut self, first: i64, last: i64) {
        if self.form.content.has_dead() {
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

    /// Writes what is left and gives the output back. A file without tags is a message, a frame or a
    /// header without tags, so that other programs read it, too.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some((columns, form)) = self.columns.take().zip(self.form.content.arrays()) {
            let mut out = self.join()?;
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
        self.join()
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
        let before = self.before;
        self.before = tags.last().map_or(before, |last| Some(last.time));
        let (reply, bytes) = sync_channel(1);
        let is_sent = self.pipes.as_ref().is_some_and(|pipes| {
            pipes.announce.send(bytes).is_ok()
                && pipes.units.send(Unit { tags, edges, micro, is_first, before, reply }).is_ok()
        });
        if is_sent {
            return Ok(());
        }
        // Somebody is gone before the end, and says why.
        self.join().and_then(|_| Err(io::Error::other("nobody writes any more")))
    }

    fn join(&mut self) -> io::Result<W> {
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
) -> io::Result<W> {
    for bytes in announced {
        let gone = |_| io::Error::other("the thread that encodes is gone");
        out.write_all(&bytes.recv().map_err(gone)??)?;
    }
    out.flush()?;
    Ok(out)
}
