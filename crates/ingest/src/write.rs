//! Writes tags in any of the forms that are read: pieces encoded on several threads, written in order.

use std::{
    io::{self, Write},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use tagq_store::{Tag, Tick};

use crate::{
    formats::{
        picoquant::{self, writer as ptu},
        tags::{
            self,
            encode::{self, Encoder},
        },
        text::{self, writer::TextWriter},
    },
    payload::compression::{Zstd, interface::Compression as _},
};

/// Tags in a message or a frame.
const UNIT_TAGS: usize = 1 << 20;
/// Tags that become a piece of plain text.
const TEXT_TAGS: usize = 1 << 16;
/// Each thread holds a unit of tags and what it becomes, some 24 MiB.
const THREADS_MAX: usize = 16;
const LEVEL: i32 = 3;

/// The form in which a file of tags is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Messages or lines.
    pub content: Content,
    /// In Zstandard frames, each of which can be read on its own and carries a checksum.
    pub compressed: bool,
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
    /// A PTU file of mode T2.
    Ptu,
}

impl Content {
    const ALL: [Self; 4] = [Self::Messages, Self::Tabs, Self::Commas, Self::Ptu];

    /// The end of the name of a file of it that is not compressed.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Messages => tags::SUFFIX,
            Self::Tabs => text::TABS_SUFFIX,
            Self::Commas => text::COMMAS_SUFFIX,
            Self::Ptu => picoquant::SUFFIX,
        }
    }
}

impl Form {
    /// Returns all forms.
    pub fn all() -> impl Iterator<Item = Self> {
        let forms = |content| [false, true].map(|compressed| Self { content, compressed });
        Content::ALL.into_iter().flat_map(forms)
    }

    /// The end of the name of a file of it.
    pub fn suffix(self) -> String {
        let compressed = if self.compressed { Zstd.suffix() } else { "" };
        format!("{}{compressed}", self.content.suffix())
    }

    /// The form that the name of a file asks for; `None` for other names.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        let stem = name.strip_suffix(Zstd.suffix().as_bytes());
        let (stem, compressed) = (stem.unwrap_or(name), stem.is_some());
        let content =
            Content::ALL.into_iter().find(|content| stem.ends_with(content.suffix().as_bytes()))?;
        Some(Self { content, compressed })
    }

    fn unit_tags(self) -> usize {
        if self.compressed || self.content == Content::Messages { UNIT_TAGS } else { TEXT_TAGS }
    }

    /// The bytes of some tags, which can follow those of the tags before.
    fn encode(self, tick: Tick, Unit { tags, is_first, before, .. }: &Unit) -> io::Result<Vec<u8>> {
        match (self.content, self.compressed) {
            (Content::Ptu, compressed) => {
                let mut bytes = if *is_first { ptu::header(tick) } else { Vec::new() };
                bytes.extend(ptu::records(tags, *before)?);
                if !compressed {
                    return Ok(bytes);
                }
                let mut frame = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
                frame.include_checksum(true)?;
                frame.write_all(&bytes)?;
                frame.finish()
            }
            (Content::Messages, true) => {
                let mut encoder = Encoder::new(Vec::new()).checksum(true);
                encoder.frame(tags.len() as u64, [&tags[..]])?;
                Ok(encoder.into_inner())
            }
            (Content::Messages, false) => encode::message(tags),
            (_, true) => {
                let mut frame = zstd::stream::Encoder::new(Vec::new(), LEVEL)?;
                frame.include_checksum(true)?;
                self.lines(tags, *is_first, frame)?.finish()
            }
            (_, false) => self.lines(tags, *is_first, Vec::with_capacity(tags.len() * 20)),
        }
    }

    fn lines<W: Write>(self, tags: &[Tag], is_first: bool, mut out: W) -> io::Result<W> {
        let separator = if self.content == Content::Commas { b',' } else { b'\t' };
        if is_first && self.content == Content::Commas {
            out.write_all(b"channel,time\n")?;
        }
        let mut lines = TextWriter::new(out).separator(separator);
        tags.iter().try_for_each(|&tag| lines.tag(tag))?;
        lines.finish()
    }
}

/// A unit of tags, and where its bytes are awaited.
struct Unit {
    tags: Vec<Tag>,
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
    tags: Vec<Tag>,
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
    /// Tags with times in `tick` go to `out` in this form, encoded on so many threads; one a core when 0.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(out: W, form: Form, tick: Tick, threads: usize) -> io::Result<Self> {
        let threads = match threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let threads = threads.min(THREADS_MAX);
        let (units, todo) = sync_channel::<Unit>(1);
        let (announce, announced) = sync_channel(threads);
        let todo = Arc::new(Mutex::new(todo));
        let spare = Arc::new(Mutex::new(Vec::new()));
        let mut encoders = Vec::new();
        for _ in 0..threads {
            let (todo, spare) = (Arc::clone(&todo), Arc::clone(&spare));
            let encode = move || encode_units(form, tick, &todo, &spare);
            encoders.push(thread::Builder::new().name("encode".into()).spawn(encode)?);
        }
        let write = move || write_announced(out, &announced);
        let writer = thread::Builder::new().name("write".into()).spawn(write)?;
        Ok(Self {
            form,
            tags: Vec::new(),
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
        let mut rest = tags;
        while !rest.is_empty() {
            let room = self.form.unit_tags() - self.tags.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.tags.extend_from_slice(now);
            if self.tags.len() == self.form.unit_tags() {
                self.send()?;
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes what is left and gives the output back. A file without tags is a message, a frame or a
    /// header without tags, so that other programs read it, too.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.is_first || !self.tags.is_empty() {
            self.send()?;
        }
        self.join()
    }

    fn send(&mut self) -> io::Result<()> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut next = spare.unwrap_or_default();
        next.clear();
        let tags = std::mem::replace(&mut self.tags, next);
        let is_first = std::mem::take(&mut self.is_first);
        let before = self.before;
        self.before = tags.last().map_or(before, |last| Some(last.time));
        let (reply, bytes) = sync_channel(1);
        let is_sent = self.pipes.as_ref().is_some_and(|pipes| {
            pipes.announce.send(bytes).is_ok()
                && pipes.units.send(Unit { tags, is_first, before, reply }).is_ok()
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
    tick: Tick,
    todo: &Mutex<Receiver<Unit>>,
    spare: &Mutex<Vec<Vec<Tag>>>,
) {
    loop {
        let unit = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(unit) = unit else { break };
        // The receiver is gone when the output refused an earlier unit.
        let _ = unit.reply.send(form.encode(tick, &unit));
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
