//! A file of tags that was opened. Its header is parsed once for each format, however often it is asked for.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tagq_store::os::FileStamp;

use crate::{
    error::Error,
    foreign,
    formats::{
        self, becker,
        format::{Format, Header, Reader},
        name::FormatName,
    },
    payload::{Payload, opened::Opened},
    run_file::RunFile,
    settings::Settings,
};

/// An open file of tags.
pub struct SourceFile {
    pub(crate) opened: Opened,
    headers: Mutex<Vec<ParsedHeader>>,
}

/// A file of tags that was open. Its header is parsed again only if the file is another one by then, or has changed.
///
/// A run may have more files than a process may have open, so files are closed between the comparison with the store
/// and the ingest.
#[derive(Clone)]
pub struct ClosedFile {
    path: Arc<Path>,
    stamp: FileStamp,
    headers: Vec<ParsedHeader>,
}

/// The header of a file in one format.
#[derive(Clone)]
struct ParsedHeader {
    format: &'static str,
    /// The end of the payload in which it was parsed. A compressed file may have more bytes in a torn member.
    end: u64,
    /// `None` if the payload ends inside the header.
    reader: Option<Arc<dyn Reader>>,
}

impl SourceFile {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::NotTags`] for folders, devices and pipes.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { opened: Opened::new(path)?, headers: Mutex::default() })
    }

    /// Closes the file and keeps its header.
    pub fn close(self) -> ClosedFile {
        let headers = self.headers.into_inner().unwrap_or_else(PoisonError::into_inner);
        ClosedFile { path: self.opened.path.as_path().into(), stamp: self.opened.stamp, headers }
    }

    /// Reads the header of the file, which is read as `settings` say; `None` when the file holds nothing yet.
    ///
    /// # Errors
    /// [`Error::NotTags`] and [`Error::Foreign`] for other files.
    pub fn header(&self, settings: &Settings) -> Result<Option<Header>, Error> {
        let payload = Payload::begin(&self.opened)?;
        let start = payload.start()?;
        if start.is_empty() {
            return Ok(None);
        }
        let format = format_of(&payload, &start, settings.format)?;
        let reader = self.reader_in(format, &payload)?;
        let header = reader.map(|reader| reader.header(&payload, settings)).transpose()?;
        // Times that have a unit get a tick.
        let in_unit = settings.time_unit(None).map(|_| settings.tick_in_unit(None));
        let header = header.map(|header| Header {
            tick: header.tick.or(in_unit),
            micro_tick: header.micro_tick.or(settings.micro_tick()),
            ..header
        });
        let beside = RunFile::beside(payload.path, payload.size);
        Ok(header.map(|header| beside.map_or(header.clone(), |beside| beside.complete(header))))
    }

    /// Returns what reads `payload`, which has this format if one is given; `None` if it ends inside its header.
    pub(crate) fn reader(
        &self,
        payload: &Payload<'_>,
        format: Option<FormatName>,
    ) -> Result<Option<Arc<dyn Reader>>, Error> {
        self.reader_in(format_of(payload, &payload.start()?, format)?, payload)
    }

    /// Returns the header with zeros in place of what changes when a measurement ends; empty for other files, and
    /// for those whose header cannot be read. `format` is the one that the file is read by, if it was given one.
    pub(crate) fn lasting_head(&self, format: Option<FormatName>) -> Result<Vec<u8>, Error> {
        let payload = Payload::begin(&self.opened)?;
        if payload.is_compressed() {
            return Ok(Vec::new());
        }
        let reader = self.reader(&payload, format).ok().flatten();
        Ok(reader.map_or(Vec::new(), |reader| reader.lasting_head().to_vec()))
    }

    /// The one place where headers are parsed.
    fn reader_in(
        &self,
        format: &dyn Format,
        payload: &Payload<'_>,
    ) -> Result<Option<Arc<dyn Reader>>, Error> {
        let (name, end) = (format.facts().names[0], payload.bytes.end);
        let mut headers = self.headers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parsed = headers.iter();
        if let Some(header) = parsed.find(|header| (header.format, header.end) == (name, end)) {
            return Ok(header.reader.clone());
        }
        let reader = format.reader(payload)?;
        headers.push(ParsedHeader { format: name, end, reader: reader.clone() });
        Ok(reader)
    }
}

impl ClosedFile {
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file again.
    ///
    /// # Errors
    /// Same as [`SourceFile::open`].
    pub fn open(&self) -> Result<SourceFile, Error> {
        let opened = Opened::new(&self.path)?;
        let is_same = opened.stamp == self.stamp;
        let headers = if is_same { self.headers.clone() } else { Vec::new() };
        Ok(SourceFile { opened, headers: headers.into() })
    }
}

impl fmt::Debug for SourceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFile").field("opened", &self.opened).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClosedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosedFile").field("path", &self.path).finish_non_exhaustive()
    }
}

fn format_of(
    payload: &Payload<'_>,
    start: &[u8],
    told: Option<FormatName>,
) -> Result<&'static dyn Format, Error> {
    let told = told.and_then(formats::of_name).or_else(|| formats::of_beside(payload.path));
    if let Some(told) = told {
        return Ok(told);
    }
    foreign::check(payload.path, start, payload.members())?;
    let found = formats::of_short(payload.path, start).or_else(|| formats::of_start(start));
    let of_module = becker::untold(payload.path);
    // The few small numbers that tell messages also begin many files of a module.
    let is_doubtful = |format: &&dyn Format| of_module.is_some() && formats::is_tags(*format);
    found.filter(|format| !is_doubtful(format)).ok_or_else(|| {
        let named = of_module.or_else(|| foreign::of_name(payload.path, payload.members()));
        named.unwrap_or_else(|| payload.not_tags(start))
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use tagq_store::{Creation, Tick, Writer};

    use super::*;
    use crate::{Change, SourcePart, formats::picoquant::PARSED, ingest_holding};

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/fixtures/picoquant");
    /// A record of mode T2 that is no tag: the counter of a HydraHarp overflows.
    const OVERFLOW: [u8; 4] = 0xfe00_0001_u32.to_le_bytes();

    /// Compares with the store, as an update of a run does, and ingests.
    fn take(path: &Path, writer: &mut Writer) {
        let settings = Settings::default();
        let file = SourceFile::open(path).unwrap();
        let part = if let Some(source) = writer.last_source() {
            assert_eq!(file.compare(&source.facts).unwrap(), Change::Grown);
            SourcePart::Rest
        } else {
            assert!(file.first_time(&settings).unwrap().is_some());
            SourcePart::Whole { rebase: None }
        };
        assert!(file.header(&settings).unwrap().is_some());
        let file = file.close().open().unwrap();
        ingest_holding(&file, "x", part, &settings, writer, &mut None).unwrap();
        writer.commit().unwrap();
    }

    #[test]
    fn a_header_is_parsed_once_for_all_looks_at_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ptu");
        fs::copy(format!("{FIXTURES}/t2.ptu"), &path).unwrap();
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
        let mut writer = Writer::open(&folder.path().join("store"), &creation).unwrap();
        PARSED.set(0);
        take(&path, &mut writer);
        assert_eq!(PARSED.get(), 1);
        fs::File::options().append(true).open(&path).unwrap().write_all(&OVERFLOW).unwrap();
        take(&path, &mut writer);
        assert_eq!(PARSED.get(), 2);
    }

    #[test]
    fn the_header_of_another_file_is_parsed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ptu");
        fs::copy(format!("{FIXTURES}/t2.ptu"), &path).unwrap();
        let file = SourceFile::open(&path).unwrap();
        let settings = Settings::default();
        let of_t2 = file.header(&settings).unwrap().unwrap();
        assert_eq!(of_t2.micro_tick, None);
        let closed = file.close();
        PARSED.set(0);
        assert_eq!(closed.open().unwrap().header(&settings).unwrap(), Some(of_t2));
        assert_eq!(PARSED.get(), 0);
        let other = folder.path().join("other");
        fs::copy(format!("{FIXTURES}/t3.ptu"), &other).unwrap();
        fs::rename(&other, &path).unwrap();
        let of_t3 = closed.open().unwrap().header(&settings).unwrap().unwrap();
        assert!(of_t3.micro_tick.is_some());
        assert_eq!(PARSED.get(), 1);
    }
}
