//! Files that are decoded before it is their turn, several side by side.
//!
//! Each file is a unit of the pipeline. With 8 threads, a file with 16 parts or more waits for its turn, and its own
//! parts are decoded side by side then. Files are received in the order in which they were given.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
};

use super::{Cut, Dealer, Decoder, Message, Outlet, Spare, Units, receive, waiting::Waiting};
use crate::{
    error::Error,
    formats::format::{Sink, Summary},
    payload::{Decoding, Payload},
    read::{name_torn, read_decoded},
    settings::Settings,
    source_file::{ClosedFile, SourceFile},
};

/// A file with so many parts for each thread is decoded when it is its turn.
const PARTS: u64 = 2;

/// Files that are decoded before it is their turn, in a given order. Memory is bounded. Dropping it stops the
/// decoding.
pub struct ReadAhead {
    shared: Arc<Shared>,
    /// Each file that was begun, and its channel.
    opened: Receiver<Result<Arc<SourceFile>, Error>>,
    announced: Option<Receiver<Receiver<Message<End>>>>,
    threads: Vec<JoinHandle<()>>,
}

/// State that the decoding threads share.
struct Shared {
    units: Files,
    spare: Spare,
    waiting: Waiting,
    dealer: Mutex<Dealer<Box<Cut<'static, File>>, End>>,
}

/// A file whose turn it is.
pub(crate) struct Turn<'a> {
    pub source: Arc<SourceFile>,
    ahead: &'a ReadAhead,
    messages: Receiver<Message<End>>,
}

struct Files {
    threads: usize,
}

/// A file to decode; `None` if it could not be opened.
#[derive(Default)]
struct File(Option<(Arc<SourceFile>, Settings)>);

/// How the decoding of a file ended.
enum End {
    Read(Box<Result<Summary, Error>>),
    /// It is to be decoded now, when it is its turn.
    AtItsTurn,
}

impl ReadAhead {
    /// Begins to decode these files, on as many threads as the settings of the first one say.
    #[must_use]
    pub fn new(files: Vec<(ClosedFile, Settings)>) -> Self {
        let threads = files.first().map_or(1, |(_, settings)| settings.decoders());
        let (open, opened) = channel();
        let mut files = files.into_iter();
        let cut = move |file: &mut File| {
            let Some((closed, settings)) = files.next() else { return false };
            let source = closed.open().map(Arc::new);
            file.0 = source.as_ref().ok().map(|source| (Arc::clone(source), settings));
            // The receiver is gone after an error.
            open.send(source).is_ok()
        };
        let (dealer, announced) = Dealer::new(Box::new(cut) as Box<_>, threads);
        let units = Files { threads };
        let (spare, waiting) = (Spare::default(), Waiting::default());
        let shared = Arc::new(Shared { units, spare, waiting, dealer });
        let spawn = |_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let Shared { units, spare, waiting, dealer } = &*shared;
                Decoder { units, as_rows: true, spare, waiting }.decode_dealt(dealer);
            })
        };
        let threads = (0..threads).map(spawn).collect();
        Self { shared, opened, announced: Some(announced), threads }
    }

    /// Waits until the next file, which is the one at `path`, is opened.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn next(&mut self, path: &Path) -> Result<Turn<'_>, Error> {
        let gone = || stopped(path);
        let source = self.opened.recv().map_err(|_| gone())??;
        debug_assert_eq!(
            source.opened.path, path,
            "files come in the order in which they were given"
        );
        let messages = self.announced.as_ref().and_then(|announced| announced.recv().ok());
        Ok(Turn { source, ahead: self, messages: messages.ok_or_else(gone)? })
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        self.announced = None;
        self.shared.waiting.change(|state| state.is_stopped = true);
        for thread in self.threads.drain(..) {
            // A panic was printed, and its file had no end.
            let _ = thread.join();
        }
    }
}

impl Turn<'_> {
    /// Hands what is decoded of the file to `sink`, as [`read_decoded`] does.
    pub(crate) fn read(self, settings: &Settings, sink: &mut Sink<'_>) -> Result<Summary, Error> {
        let Self { source, ahead, messages } = self;
        let Shared { spare, waiting, .. } = &*ahead.shared;
        let mut result = Err(stopped(&source.opened.path));
        for message in messages {
            match message {
                Message::Output(output) => {
                    let bytes = output.bytes();
                    receive(output, spare, sink)
                        .map_err(|error| name_torn(&source, settings, error))?;
                    waiting.change(|state| state.bytes -= bytes);
                }
                Message::End(End::Read(read)) => result = *read,
                Message::End(End::AtItsTurn) => {
                    result = read_decoded(&source, settings, Decoding::Rows, sink);
                }
            }
        }
        waiting.change(|state| state.received += 1);
        result
    }
}

impl Units for Files {
    type Unit = File;
    type End = End;

    fn decode(&self, file: &File, _: i128, out: &mut Outlet<'_>) -> End {
        let Some((source, settings)) = &file.0 else { return End::AtItsTurn };
        // As many files at once as threads: each has few parts, and all fit in memory.
        let is_small = |payload: Payload<'_>| {
            payload.parts() < PARTS * self.threads as u64
                && payload.threads(self.threads) == self.threads
        };
        match Payload::find(&source.opened, settings, Decoding::RowsHere).map(is_small) {
            Ok(true) => {
                let read = read_decoded(source, settings, Decoding::RowsHere, &mut |decoded| {
                    settings.check_wanted()?;
                    out.decoded(decoded)
                });
                End::Read(read.into())
            }
            _ => End::AtItsTurn,
        }
    }
}

/// The error for a file whose thread panicked.
fn stopped(path: &Path) -> Error {
    Error::Sink(io::Error::other(format!("the decoding of {} ended early", path.display())))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use tagq_store::{Access, Creation, RunId, SourceFacts, Store, Tag, Tick, Writer};

    use super::*;
    use crate::{SourcePart, formats::tags::encode::Encoder, ingest, ingest_ahead};

    fn writer(store: &Path) -> Writer {
        let run_id = Some(RunId([7; 16]));
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id };
        Writer::open(store, &creation).unwrap()
    }

    /// Files of so many frames each, and the last one as text; each begins after the one before.
    fn write_files(folder: &Path, frames: &[i64], frame_tags: i64) -> Vec<(PathBuf, Settings)> {
        let mut time = 0;
        let mut files = Vec::new();
        for (number, &frames) in frames.iter().enumerate() {
            let mut encoder = Encoder::new(Vec::new()).checksum(true);
            for _ in 0..frames {
                let tags = (0..frame_tags).map(|i| {
                    let channel = (i * 7 % 5).unsigned_abs();
                    // Every third tag comes late.
                    Tag { time: time + 10 * i - if i % 3 == 2 { 15 } else { 0 }, channel }
                });
                let tags: Vec<Tag> = tags.collect();
                encoder.frame(tags.len() as u64, [&tags[..]]).unwrap();
                time += 10 * frame_tags + 20;
            }
            let path = folder.join(format!("{number}.tags.zst"));
            fs::write(&path, encoder.into_inner()).unwrap();
            files.push((path, Settings { threads: 2, ..Settings::default() }));
        }
        let path = folder.join("last.txt");
        let lines: Vec<String> =
            (0..frame_tags).map(|i| format!("{},{}", i % 3, time + i)).collect();
        fs::write(&path, lines.join("\n")).unwrap();
        files.push((path, Settings { threads: 2, ..Settings::default() }));
        files
    }

    fn close_all(files: &[(PathBuf, Settings)]) -> Vec<(ClosedFile, Settings)> {
        let close = |path| SourceFile::open(path).unwrap().close();
        files.iter().map(|(path, settings)| (close(path), settings.clone())).collect()
    }

    fn take_all(files: &[(PathBuf, Settings)], store: &Path) -> Result<(), Error> {
        let (mut writer, mut ahead) = (writer(store), ReadAhead::new(close_all(files)));
        for (path, settings) in files {
            ingest_ahead(&mut ahead, path, "x", None, settings, &mut writer, &mut None)?;
        }
        Ok(writer.commit()?)
    }

    fn content(store: &Path) -> (Vec<Vec<u8>>, Vec<SourceFacts>) {
        let columns = ["time.col", "channel.col", "blocks.idx", "counts.idx"];
        let sources = Store::open(store, Access::Copied).unwrap().manifest().sources.clone();
        let facts = sources.into_iter().map(|source| source.facts).collect();
        (columns.map(|name| fs::read(store.join(name)).unwrap()).into(), facts)
    }

    #[test]
    fn files_ahead_are_ingested_as_one_by_one() {
        // Four frames on two threads are decoded at their turn; 700 tags a frame fit into one output, 40,000 do not.
        for (frames, frame_tags) in [(&[1, 4, 0, 2, 9, 1, 1, 1][..], 700), (&[1, 5, 2], 40_000)] {
            let folder = tempfile::tempdir().unwrap();
            let files = write_files(folder.path(), frames, frame_tags);
            let (ahead, alone) = (folder.path().join("ahead"), folder.path().join("alone"));
            take_all(&files, &ahead).unwrap();
            let mut writer = writer(&alone);
            for (path, settings) in &files {
                let part = SourcePart::Whole { rebase: None };
                ingest(path, "x", part, settings, &mut writer).unwrap();
            }
            writer.commit().unwrap();
            assert!(content(&ahead).1.iter().any(|facts| facts.reordered > 0));
            assert_eq!(content(&ahead), content(&alone), "{frames:?}");
        }
    }

    #[test]
    fn an_error_comes_when_it_is_the_turn_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let files = write_files(folder.path(), &[1, 1, 1, 1, 1, 1, 1, 1], 30_000);
        let store = folder.path().join("store");
        let mut damaged = fs::read(&files[5].0).unwrap();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(&files[5].0, damaged).unwrap();
        let closed = close_all(&files);
        fs::remove_file(&files[7].0).unwrap();
        let mut ahead = ReadAhead::new(closed);
        let mut writer = writer(&store);
        let found: Vec<Option<Error>> = files[..8]
            .iter()
            .map(|(path, settings)| {
                let held = &mut None;
                ingest_ahead(&mut ahead, path, "x", None, settings, &mut writer, held).err()
            })
            .collect();
        let expected = [false, false, false, false, false, true, false, true];
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), expected);
        assert!(matches!(&found[5], Some(Error::Frame { path, .. }) if *path == files[5].0));
        assert!(matches!(&found[7], Some(Error::Io { path, .. }) if *path == files[7].0));
    }
}
