//! The one list of forms in which tags are written: tables and files.
//!
//! `run.tsv` is a table with the time first for [`PreferredForm::Tables`], and a file with the channel first for
//! [`PreferredForm::Files`]. A new form is added to one of the two lists that [`TagFormat::all`] joins.

use std::{io, path::Path, str::FromStr, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, SchemaRef};
use tagq::{
    AskError, OutForm, RowsDone, RunError, TagsOfRun, Wrote,
    files::write::{self as files, Keeps, Output, TagForm, TagSink, Times},
    store::{Recording, Tag, format::MICRO_NONE},
};

use crate::{BatchWriter, Error, TableForm, schema, write::write_tags_telling};

/// A form in which tags are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagFormat {
    /// A table, with the columns time, channel and micro.
    Table(TableForm),
    /// A file as instruments and other programs write it.
    File(files::Form),
}

/// Selects the form if a name means two: text has the time first in tables, and the channel first in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferredForm {
    /// The form of tables.
    Tables,
    /// The form of files.
    Files,
}

impl TagFormat {
    /// Returns all forms, those of tables last.
    pub fn all() -> impl Iterator<Item = Self> {
        files::Form::all().map(Self::File).chain(TableForm::FILES.into_iter().map(Self::Table))
    }

    /// Returns the form that the name of a file means; `None` if it means no form.
    pub fn of_name(path: &Path, layout: PreferredForm) -> Option<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let table = TableForm::FILES.into_iter().find(|form| Some(form.ending()) == ending);
        let (table, file) = (table.map(Self::Table), files::Form::of_name(path).map(Self::File));
        match layout {
            PreferredForm::Tables => table.or(file),
            PreferredForm::Files => file.or(table),
        }
    }

    /// Returns the suffix of the names of its files.
    pub fn suffix(self) -> String {
        match self {
            Self::Table(form) => format!(".{}", form.ending()),
            Self::File(form) => form.suffix(),
        }
    }

    /// Returns the form, for tags that come one after the other.
    pub fn as_tag_form(&self) -> &dyn TagForm {
        match self {
            Self::Table(form) => form,
            Self::File(form) => form,
        }
    }

    /// Returns the form.
    pub fn form(&self) -> &dyn OutForm {
        match self {
            Self::Table(form) => form,
            Self::File(form) => form,
        }
    }
}

/// The ends of all names, for an error.
pub fn suffixes() -> String {
    let mut all: Vec<String> = Vec::new();
    for suffix in TagFormat::all().map(TagFormat::suffix) {
        if !all.contains(&suffix) {
            all.push(suffix);
        }
    }
    all.join(", ")
}

impl FromStr for TagFormat {
    type Err = String;

    /// Parses the end of a name, such as `parquet` or `tags.zst`; text has the columns of tables.
    fn from_str(text: &str) -> Result<Self, String> {
        let name = format!("tags.{text}");
        Self::of_name(Path::new(&name), PreferredForm::Tables).ok_or_else(|| {
            format!("`{text}` is no form of tags; the ends of their names are {}", suffixes())
        })
    }
}

impl TagForm for TableForm {
    fn format_name(&self) -> &'static str {
        match self {
            Self::Arrow | Self::Stream => "arrow",
            Self::Parquet => "parquet",
            Self::Csv | Self::Tsv => "text",
        }
    }

    fn keeps(&self) -> Keeps {
        let is_text = matches!(self, Self::Csv | Self::Tsv);
        let keeps = !is_text;
        Keeps {
            tick: keeps,
            assumes_tick: false,
            micro: true,
            names: keeps,
            facts: keeps,
            dead: keeps,
        }
    }

    fn times(&self, times: Times) -> Option<Times> {
        Some(Times { sync_period: None, ..times })
    }

    fn needs(&self) -> &'static str {
        "a table states the unit of its times"
    }

    fn start(&self, out: Box<dyn Output>, times: Times, _: usize) -> io::Result<Box<dyn TagSink>> {
        let recording = Recording::default();
        Ok(Box::new(TableSink { form: *self, times, recording, out: Some(out), begun: None }))
    }
}

impl OutForm for TableForm {
    fn write_run(
        &self,
        of: &TagsOfRun<'_>,
        out: Box<dyn Output>,
        done: &mut RowsDone<'_>,
    ) -> Result<Wrote, RunError> {
        let written = write_tags_telling(of.run, of.selection, out, *self, done);
        let (out, written) = written.map_err(|error| match error {
            Error::Run(tagq::Error::Ask(AskError::Run(error))) => error,
            error => {
                RunError::Io { path: of.shown.into(), action: "write", source: io_error(error) }
            }
        })?;
        Ok(Wrote { out, tags: written.tags, lost: written.lost })
    }
}

fn io_error(error: Error) -> io::Error {
    match error {
        Error::Io(error) | Error::Arrow(ArrowError::IoError(_, error)) => error,
        error => io::Error::other(error),
    }
}

/// Makes a table of tags that come one after the other.
struct TableSink {
    form: TableForm,
    times: Times,
    recording: Recording,
    /// Until the first tags.
    out: Option<Box<dyn Output>>,
    begun: Option<(SchemaRef, BatchWriter<Box<dyn Output>>)>,
}

impl TableSink {
    fn begun(&mut self) -> io::Result<&mut (SchemaRef, BatchWriter<Box<dyn Output>>)> {
        if let Some(out) = self.out.take() {
            let schema = schema::of_file(self.times, &self.recording);
            let writer = BatchWriter::new(out, self.form, &schema).map_err(io_error)?;
            self.begun = Some((schema, writer));
        }
        self.begun.as_mut().ok_or_else(|| io::Error::other("the table could not be begun"))
    }
}

impl TagSink for TableSink {
    fn push(&mut self, tags: &[Tag], micro: &[u32]) -> io::Result<()> {
        let has_micro = self.times.micro_tick.is_some();
        let label = |tag: &Tag| {
            u16::try_from(tag.channel).map_err(|_| {
                let what = format!("channel {} is above 65535", tag.channel);
                io::Error::new(io::ErrorKind::InvalidInput, what)
            })
        };
        let labels = tags.iter().map(label).collect::<io::Result<Vec<u16>>>()?;
        let times: Vec<i64> = tags.iter().map(|tag| tag.time).collect();
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(times)), Arc::new(UInt16Array::from(labels))];
        if has_micro {
            let mut micro = micro.to_vec();
            micro.resize(tags.len(), MICRO_NONE);
            let nulls: NullBuffer = micro.iter().map(|&micro| micro != MICRO_NONE).collect();
            let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
            columns.push(Arc::new(UInt32Array::new(micro.into(), nulls)));
        }
        let (schema, writer) = self.begun()?;
        let batch = RecordBatch::try_new(Arc::clone(schema), columns).map_err(io::Error::other)?;
        writer.push(&batch).map_err(io_error)
    }

    fn dead(&mut self, _: i64, _: i64) {
        // Dead spans are in the metadata that describe the recording.
    }

    fn describe(&mut self, recording: &Recording) {
        self.recording = recording.clone();
    }

    fn finish(mut self: Box<Self>) -> io::Result<Box<dyn Output>> {
        self.begun()?;
        let begun = self.begun.take();
        let (_, writer) = begun.ok_or_else(|| io::Error::other("the table could not be begun"))?;
        writer.finish().map_err(io_error)
    }
}
