//! Parquet: columns in groups of rows, and a footer that says where they stand. The library `parquet` decodes the
//! footer and the pages; [`guard`] and [`thrift`] check every length before the library takes memory for it.
//!
//! Of a file, the footer (at most 64 MiB) and of each column one page (at most 32 MiB, twice if it is compressed) and
//! one dictionary are in memory.

mod column;
mod guard;
mod thrift;

use std::{collections::BTreeSet, sync::Arc};

use ::parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use base64::Engine as _;
use tagq_store::Recording;

use super::{
    arrow,
    bytes::{Bytes, check_apart},
    check_plain,
    fault::{TableFault, damaged, guarded},
    notes,
    reading::{Begin, Reading, TableRows},
};
use crate::{
    error::Error,
    formats::{
        columns::{ChosenColumns, ColumnNames},
        format::{Format, FormatFacts, Header, Reader, Sink, Summary},
    },
    payload::Payload,
    settings::Settings,
};
use guard::Guard;

const NAME: &str = "parquet";
const KIND: &str = "a Parquet file";
const MAGIC: &[u8] = b"PAR1";
/// The length of the footer and the magic number stand at the end.
const TAIL_BYTES: u64 = 8;
const FOOTER_BYTES_MAX: u64 = 64 << 20;
/// Where writers of Arrow put their notes.
const ARROW_SCHEMA: &str = "ARROW:schema";

/// Files of Parquet.
pub(crate) struct Parquet;

impl Format for Parquet {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NAME],
            suffixes: &[],
            recognised: "bytes PAR1; only where the file is named",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for Parquet {
    fn header(&self, payload: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        check_plain(payload, KIND)?;
        let footer = footer(payload).map_err(|fault| fault.name(payload))?;
        Ok(noted(&footer).0)
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        check_plain(payload, KIND)?;
        let footer = footer(payload).map_err(|fault| fault.name(payload))?;
        let chosen = Chosen::of(&footer, settings).map_err(|fault| fault.name(payload))?;
        let Chosen { names, numbers, rows } = chosen;
        let (Header { tick, micro_tick, .. }, recording) = noted(&footer);
        let micro_tick = micro_tick.filter(|_| numbers[2].is_some());
        let chosen = ChosenColumns::Named(names);
        let facts = Begin { format: NAME, chosen, rows_max: rows, tick, micro_tick, recording };
        let mut reading = Reading::begin(facts, payload, settings, sink)?;
        let guard = Guard::new(payload.file, payload.size);
        let guard = guard.map_err(|error| TableFault::Io(error).name(payload))?;
        for group in footer.row_groups() {
            let open = |number| column::open(&guard, group, number);
            let part = || -> Result<TableRows<'_>, TableFault> {
                let [time, channel, micro] = numbers.map(|number| number.map(open).transpose());
                let (Some(time), Some(channel)) = (time?, channel?) else {
                    return damaged("a group of rows lacks a column");
                };
                Ok(TableRows {
                    rows: group.num_rows().unsigned_abs(),
                    time,
                    channel,
                    micro: micro?,
                })
            };
            reading.part(part().map_err(|fault| fault.name(payload))?)?;
        }
        reading.finish()
    }
}

/// Reads the footer.
fn footer(payload: &Payload<'_>) -> Result<ParquetMetaData, TableFault> {
    let file = Bytes::of(payload);
    let tail = file.read(file.size.saturating_sub(TAIL_BYTES), TAIL_BYTES.min(file.size))?;
    let Some((len, MAGIC)) = tail.split_first_chunk() else {
        return damaged("it does not end as a Parquet file does; is it complete?");
    };
    let len = u64::from(u32::from_le_bytes(*len));
    if len > FOOTER_BYTES_MAX || len > file.size.saturating_sub(TAIL_BYTES + MAGIC.len() as u64) {
        return damaged(format!("its footer says that it has {len} bytes"));
    }
    let bytes = file.read(file.size - TAIL_BYTES - len, len)?;
    thrift::check_footer(&bytes)?;
    guarded(|| {
        ParquetMetaDataReader::decode_metadata(&bytes)
            .map_err(|error| TableFault::Damaged(error.to_string()))
    })
}

/// Returns the header and the recording that the notes of the writer state.
fn noted(footer: &ParquetMetaData) -> (Header, Recording) {
    let notes = footer.file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
    let notes: Vec<(&str, &str)> =
        notes.iter().filter_map(|note| Some((&*note.key, note.value.as_deref()?))).collect();
    let arrow = notes.iter().find(|(key, _)| *key == ARROW_SCHEMA);
    let arrow =
        arrow.and_then(|(_, text)| base64::engine::general_purpose::STANDARD.decode(text).ok());
    let arrow = arrow.and_then(|bytes| arrow::notes(&bytes)).unwrap_or_default();
    let arrow = arrow.iter().map(|(key, value)| (&**key, &**value));
    notes::read(arrow.chain(notes.iter().copied()))
}

/// The chosen columns of a file.
struct Chosen {
    names: ColumnNames,
    /// The numbers of the columns of time, channel and micro time.
    numbers: [Option<usize>; 3],
    rows: u64,
}

impl Chosen {
    fn of(footer: &ParquetMetaData, settings: &Settings) -> Result<Self, TableFault> {
        let schema = footer.file_metadata().schema_descr();
        // Columns within columns are not chosen.
        let columns = schema.columns().iter().enumerate();
        let columns: Vec<usize> = columns
            .filter(|(_, column)| column.path().parts().len() == 1)
            .map(|(number, _)| number)
            .collect();
        let names: Vec<String> =
            columns.iter().map(|&number| schema.column(number).name().to_owned()).collect();
        let places = settings.column_names().find(&names)?;
        let numbers = [Some(places.time), Some(places.channel), places.micro]
            .map(|place| place.and_then(|place| columns.get(place).copied()));
        for number in numbers.into_iter().flatten() {
            column::kind(&schema.column(number))?;
        }
        let chosen: BTreeSet<usize> = numbers.into_iter().flatten().collect();
        let chunks = footer.row_groups().iter().flat_map(|group| {
            chosen.iter().filter_map(|&number| column::place(group.columns().get(number)?))
        });
        check_apart(chunks.collect(), "columns")?;
        let groups = footer.row_groups().iter().map(|group| u64::try_from(group.num_rows()).ok());
        let rows = groups.into_iter().try_fold(0_u64, |rows, group| rows.checked_add(group?));
        match rows {
            Some(rows) if i64::try_from(rows) == Ok(footer.file_metadata().num_rows()) => {
                Ok(Self { names: ColumnNames::at(places, &names), numbers, rows })
            }
            _ => damaged("its groups of rows do not add up to its rows"),
        }
    }
}
