//! Arrays of NumPy: `.npy` with one array, `.npz` with an array for each column. The libraries `npyz` and `zip` parse
//! the descriptions; the items are read piece by piece.

mod archive;
mod array;
mod mask;

use std::sync::Arc;

use array::Array;

pub(crate) use archive::is_start as is_arrays;
pub(crate) use array::MAGIC;
pub(crate) use mask::labels;

use tagq_store::Recording;

use super::{
    bytes::Bytes,
    check_plain,
    fault::TableFault,
    fixed::Fixed,
    reading::{Begin, Reading, TableRows},
    values::TableColumn,
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

const NPY: &str = "npy";
pub(crate) const NPZ: &str = "npz";

/// Files of one array.
pub(crate) struct Npy;

/// ZIP archives of arrays.
pub(crate) struct Npz;

impl Format for Npy {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NPY],
            suffixes: &[],
            recognised: "bytes 93 NUMPY; only where the file is named",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        start.starts_with(MAGIC)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for Npy {
    fn header(&self, payload: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        check_plain(payload, "a NumPy array")?;
        Ok(Header::default())
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        check_plain(payload, "a NumPy array")?;
        let file = Bytes::of(payload);
        let open = || -> Result<(ChosenColumns, TableRows<'_>), TableFault> {
            let array = Array::read(&mut file.all(), file.size)?;
            let (columns, places) = array.columns(settings)?;
            let rows = array.rows();
            let column = |place: array::Place| -> Result<TableColumn<'_>, TableFault> {
                let array::Place { name, number, start, stride, offset } = place;
                let section = file.section(start, rows.saturating_mul(stride as u64))?;
                let reader = Box::new(Fixed::new(section, number, stride, offset));
                Ok(TableColumn { name, kind: number.kind, reader })
            };
            let columns_of = places.map(|place| place.map(column).transpose());
            Ok((columns, part(rows, columns_of)?))
        };
        let (columns, part) = open().map_err(|fault| fault.name(payload))?;
        let recording = Recording::default();
        let (rows_max, tick, micro_tick) = (part.rows, None, None);
        let facts = Begin { format: NPY, chosen: columns, rows_max, tick, micro_tick, recording };
        let mut reading = Reading::begin(facts, payload, settings, sink)?;
        reading.part(part)?;
        reading.finish()
    }
}

impl Format for Npz {
    fn facts(&self) -> FormatFacts {
        FormatFacts {
            names: &[NPZ],
            suffixes: &[],
            recognised: "a ZIP archive whose first member is an array; only where the file is named",
        }
    }

    fn is_start(&self, start: &[u8]) -> bool {
        archive::is_start(start)
    }

    fn reader(&self, _: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        Ok(Some(Arc::new(Self)))
    }
}

impl Reader for Npz {
    fn header(&self, payload: &Payload<'_>, _: &Settings) -> Result<Header, Error> {
        check_plain(payload, "an archive of NumPy arrays")?;
        ticks(Bytes::of(payload)).map_err(|fault| fault.name(payload))
    }

    fn read(
        &self,
        payload: &Payload<'_>,
        settings: &Settings,
        sink: &mut Sink<'_>,
    ) -> Result<Summary, Error> {
        check_plain(payload, "an archive of NumPy arrays")?;
        let file = Bytes::of(payload);
        let open = || -> Result<(ColumnNames, TableRows<'_>), TableFault> {
            let members = archive::members(file)?;
            let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
            let places = settings.column_names().find(&names)?;
            let rows = members[places.time].open(file)?.0.rows();
            let column = |place: usize| -> Result<TableColumn<'_>, TableFault> {
                let name = members[place].name.clone();
                let (array, input) = members[place].open(file)?;
                archive::check_rows(&array, &name, rows)?;
                let number = array::number(&array.of, &name)?;
                let reader = Box::new(Fixed::new(input, number, number.bytes, 0));
                Ok(TableColumn { name, kind: number.kind, reader })
            };
            let chosen = [Some(places.time), Some(places.channel), places.micro];
            let columns = chosen.map(|place| place.map(column).transpose());
            Ok((ColumnNames::at(places, &names), part(rows, columns)?))
        };
        let (names, part) = open().map_err(|fault| fault.name(payload))?;
        let Header { tick, micro_tick, .. } = ticks(file).map_err(|fault| fault.name(payload))?;
        let micro_tick = micro_tick.filter(|_| part.micro.is_some());
        let recording = Recording::default();
        let (chosen, rows_max) = (ChosenColumns::Named(names), part.rows);
        let facts = Begin { format: NPZ, chosen, rows_max, tick, micro_tick, recording };
        let mut reading = Reading::begin(facts, payload, settings, sink)?;
        reading.part(part)?;
        reading.finish()
    }
}

/// All rows of a table with these columns of time, channel and micro time.
fn part<'a>(
    rows: u64,
    [time, channel, micro]: [Result<Option<TableColumn<'a>>, TableFault>; 3],
) -> Result<TableRows<'a>, TableFault> {
    let there = |column: Option<TableColumn<'a>>| {
        column.ok_or_else(|| TableFault::Damaged("it lacks a column".into()))
    };
    Ok(TableRows { rows, time: there(time?)?, channel: there(channel?)?, micro: micro? })
}

/// The ticks that an archive states by arrays of these names.
fn ticks(file: Bytes<'_>) -> Result<Header, TableFault> {
    let members = archive::members(file)?;
    let tick = |name| archive::named(&members, name).map(|member| member.tick(file)).transpose();
    Ok(Header { tick: tick("tick")?, micro_tick: tick("micro_tick")?, ..Header::default() })
}
