//! Tags in all formats: in batches of Arrow, or as arrays.

use std::io::Write;

use arrow_array::{
    RecordBatch,
    cast::AsArray as _,
    types::{Int64Type, UInt16Type, UInt32Type},
};
use arrow_schema::Schema;
use tagq::{
    files::write::{self as files, Content, Packing, TagWriter, Times},
    store::{Recording, Tag, Tick, format::MICRO_NONE},
};

use crate::{BatchWriter, Error, Form};

/// Writes batches of tags, in any format.
pub(crate) enum TagsOut<W: Write + Send + 'static> {
    Batches(BatchWriter<W>),
    Arrays(Box<TagWriter<W>>),
}

impl<W: Write + Send + 'static> TagsOut<W> {
    /// Starts a file or stream in this format.
    pub(crate) fn new(out: W, form: Form, schema: &Schema) -> Result<Self, Error> {
        let content = match form {
            Form::Hdf5 => Content::PhotonHdf5,
            Form::Npz => Content::Npz,
            Form::Arrow | Form::Stream | Form::Parquet | Form::Csv | Form::Tsv => {
                return Ok(Self::Batches(BatchWriter::new(out, form, schema)?));
            }
        };
        let note = |name: &str| schema.metadata().get(name);
        let tick = |name: &str| note(name).and_then(|tick| Tick::from_fraction(tick).ok());
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let has_tags = matches!(names[..], ["time", "channel"] | ["time", "channel", "micro"]);
        let Some(of) = tick("tagq.tick").filter(|_| has_tags) else { return Err(Error::NoArrays) };
        let micro_tick = tick("tagq.micro_tick").filter(|_| names.len() == 3);
        let times = Times { tick: of, micro_tick, sync_period: None };
        let form = files::Form { content, packing: Packing::Plain };
        let mut writer = TagWriter::new(out, form, times, 1)?;
        let recording = note("tagq.recording");
        let recording = recording.and_then(|text| serde_json::from_str::<Recording>(text).ok());
        writer.name_channels(&recording.unwrap_or_default().channel_names);
        Ok(Self::Arrays(writer.into()))
    }

    /// Writes one batch.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let writer = match self {
            Self::Batches(writer) => return writer.push(batch),
            Self::Arrays(writer) => writer,
        };
        let (Some(times), Some(channels)) = (
            batch.column(0).as_primitive_opt::<Int64Type>(),
            batch.column(1).as_primitive_opt::<UInt16Type>(),
        ) else {
            return Err(Error::NoArrays);
        };
        let values = times.values().iter().zip(channels.values());
        let tags = values.map(|(&time, &channel)| Tag { time, channel: channel.into() });
        let micro = batch.columns().get(2).and_then(|of| of.as_primitive_opt::<UInt32Type>());
        let micro = micro.into_iter().flatten().map(|micro| micro.unwrap_or(MICRO_NONE));
        Ok(writer.push_with_micro(&tags.collect::<Vec<_>>(), &micro.collect::<Vec<_>>())?)
    }

    /// Writes the end of the file, and returns `out`.
    pub(crate) fn finish(self) -> Result<W, Error> {
        match self {
            Self::Batches(writer) => writer.finish(),
            Self::Arrays(writer) => Ok(writer.finish()?),
        }
    }
}
