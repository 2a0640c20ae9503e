//! From the columns of a table to tags: the driver of all formats of tables.
//!
//! A format begins a [`Reading`], hands it parts of the table (row groups, batches, or all rows), and finishes it. A
//! part names a column for the time, one for the channel, and perhaps one for the micro time; the columns are read
//! side by side, [`CHUNK_TAGS`] rows at a time.

use std::{io::Read as _, sync::atomic::Ordering, time::SystemTime};

use tagq_store::{Recording, Tag, Tick, TimeUnit, format::MICRO_NONE};

use super::{
    fault::{TableFault, damaged, no_numbers},
    values::{TableColumn, ValueKind, Values},
};
use crate::{
    error::{Error, io_error},
    formats::{
        columns::{ChosenColumns, Columns},
        format::{Decoded, Piece, Sink, Summary},
        times::{TimeFault, ToTicks},
    },
    payload::{
        Payload,
        input::{INPUT_BYTES, Input as _},
        plain::PlainInput,
    },
    pipeline::CHUNK_TAGS,
    settings::Settings,
};

/// The columns of tags of rows that follow each other.
pub(crate) struct TableRows<'a> {
    pub rows: u64,
    pub time: TableColumn<'a>,
    pub channel: TableColumn<'a>,
    pub micro: Option<TableColumn<'a>>,
}

/// Facts about a table, before its rows.
pub(crate) struct Begin<'a> {
    pub format: &'a str,
    /// The columns of tags.
    pub chosen: ChosenColumns,
    /// Rows of the whole table.
    pub rows_max: u64,
    /// The tick that it states.
    pub tick: Option<Tick>,
    /// The unit of its micro times.
    pub micro_tick: Option<Tick>,
    /// The other facts that it states.
    pub recording: Recording,
}

/// A table that is being read.
pub(crate) struct Reading<'a, 's> {
    payload: &'a Payload<'a>,
    settings: &'a Settings,
    sink: &'a mut Sink<'s>,
    modified: Option<SystemTime>,
    chosen: ChosenColumns,
    time_unit: Option<TimeUnit>,
    /// How times become ticks; `None` if they are ticks.
    to_ticks: Option<ToTicks>,
    /// Whether the tick is stated or given.
    has_tick: bool,
    /// Rows of the whole table.
    rows_max: u64,
    rows: u64,
    /// Bytes counted for the progress.
    counted: u64,
    tags: Vec<Tag>,
    micro: Vec<u32>,
}

impl<'a, 's> Reading<'a, 's> {
    /// Begins to read a table.
    pub(crate) fn begin(
        Begin { format, chosen, rows_max, tick, micro_tick, recording }: Begin<'_>,
        payload: &'a Payload<'a>,
        settings: &'a Settings,
        sink: &'a mut Sink<'s>,
    ) -> Result<Self, Error> {
        let given = settings.columns.as_ref();
        if Columns::channel(given, None).is_some() || Columns::times(given, None).is_some() {
            let what = "a table has a column of channels: choose the columns by time=NAME,channel=NAME; a channel for \
                        all tags, and a column for each channel, are for texts";
            return Err(TableFault::Refused(what.into()).name(payload));
        }
        let time_unit = settings.time_unit(chosen.unit_of_name());
        let to_ticks = settings.to_ticks(time_unit, tick);
        let has_tick = tick.or(settings.tick).is_some();
        let recording = Recording { format: format.into(), ..recording };
        sink(Decoded::Recording(recording.into(), micro_tick))?;
        let modified = modified(payload)?;
        let (rows, counted, tags, micro) = (0, 0, Vec::new(), Vec::new());
        Ok(Self {
            payload,
            settings,
            sink,
            modified,
            chosen,
            time_unit,
            to_ticks,
            has_tick,
            rows_max,
            rows,
            counted,
            tags,
            micro,
        })
    }

    /// Hands on the tags of the next rows.
    pub(crate) fn part(&mut self, part: TableRows<'_>) -> Result<(), Error> {
        let TableRows { rows, mut time, mut channel, mut micro } = part;
        if time.kind == ValueKind::Float && self.to_ticks.is_none() {
            let name = time.name.escape_debug();
            let what = format!(
                "the column `{name}` holds floats; say the unit of its times, as in --columns time={name}:ns"
            );
            return Err(TableFault::Refused(what).name(self.payload));
        }
        if time.kind == ValueKind::Float && !self.has_tick {
            return Err(Error::NoTick { path: self.payload.path.into() });
        }
        for column in [&channel].into_iter().chain(&micro) {
            if column.kind == ValueKind::Float {
                return Err(no_numbers(&column.name, "floats").name(self.payload));
            }
        }
        let mut columns = [Values::default(), Values::default(), Values::default()];
        let mut left = rows;
        while left > 0 {
            self.settings.check_wanted()?;
            let rows = usize::try_from(left).map_or(CHUNK_TAGS, |left| left.min(CHUNK_TAGS));
            let readers = [Some(&mut time), Some(&mut channel), micro.as_mut()];
            for (values, column) in columns.iter_mut().zip(readers) {
                values.clear();
                let Some(column) = column else { continue };
                let read = column.reader.read(rows, values);
                read.map_err(|fault| fault.name(self.payload))?;
            }
            let made = self
                .convert(&time, &mut columns[0])
                .and_then(|()| self.make(rows, &columns, [&time, &channel], micro.as_ref()));
            made.map_err(|fault| fault.name(self.payload))?;
            (self.sink)(Decoded::Tags(Piece::new(&self.tags, &self.micro)))?;
            left -= rows as u64;
            self.rows += rows as u64;
            self.count(self.rows);
        }
        Ok(())
    }

    /// Makes ticks of times in a unit.
    fn convert(&self, column: &TableColumn<'_>, times: &mut Values) -> Result<(), TableFault> {
        let Some(to_ticks) = self.to_ticks else { return Ok(()) };
        for (row, value) in times.bits.iter_mut().enumerate() {
            let ticks = match column.kind {
                ValueKind::Signed => to_ticks.of_integer((*value).into()),
                ValueKind::Unsigned => to_ticks.of_integer(value.cast_unsigned().into()),
                ValueKind::Float => to_ticks.of_float(f64::from_bits(value.cast_unsigned())),
            };
            *value = match ticks {
                Ok(ticks) => ticks,
                Err(TimeFault::NoNumber) => return self.fault(row, column, "is no finite number"),
                Err(TimeFault::Range) => {
                    return self.fault(row, column, "is a time whose ticks leave 64 bits");
                }
            };
        }
        Ok(())
    }

    /// Refuses a row of those that are being read.
    fn fault<T>(&self, row: usize, column: &TableColumn<'_>, what: &str) -> Result<T, TableFault> {
        let (number, name) = (self.rows + row as u64 + 1, column.name.escape_debug());
        Err(TableFault::Refused(format!("row {number}: `{name}` {what}")))
    }

    /// Makes tags of some values.
    fn make(
        &mut self,
        rows: usize,
        [times, channels, micros]: &[Values; 3],
        [time, channel]: [&TableColumn<'_>; 2],
        micro: Option<&TableColumn<'_>>,
    ) -> Result<(), TableFault> {
        let is_whole = |values: &Values| values.bits.len() == rows;
        if !is_whole(times) || !is_whole(channels) || (micro.is_some() && !is_whole(micros)) {
            return damaged("its columns have different lengths");
        }
        for (column, values) in [(time, times), (channel, channels)] {
            if let Some(row) = values.is_there.iter().position(|is_there| !is_there) {
                return self.fault(
                    row,
                    column,
                    "is null; leave rows without a time or channel out",
                );
            }
        }
        let is_negative = |values: &Values| values.bits.iter().position(|&value| value < 0);
        let is_above = time.kind == ValueKind::Unsigned && self.to_ticks.is_none();
        if let Some(row) = is_negative(times).filter(|_| is_above) {
            return self.fault(row, time, "is above 9223372036854775807, the largest time");
        }
        if let Some(row) = is_negative(channels).filter(|_| channel.kind == ValueKind::Signed) {
            return self.fault(row, channel, "is negative; channels are 0 to 65535");
        }
        self.tags.clear();
        self.tags.extend(
            times
                .bits
                .iter()
                .zip(&channels.bits)
                .map(|(&time, channel)| Tag { time, channel: channel.cast_unsigned() }),
        );
        self.micro.clear();
        let Some(micro) = micro else { return Ok(()) };
        for (row, &value) in micros.bits.iter().enumerate() {
            // That of a tag without one, as tagq writes it into arrays, is [`MICRO_NONE`].
            self.micro.push(match u32::try_from(value) {
                _ if !micros.is_there(row) => MICRO_NONE,
                Ok(value) => value,
                Err(_) => return self.fault(row, micro, "is outside of 0 to 4294967295"),
            });
        }
        Ok(())
    }

    /// Counts the bytes of the file in proportion to the rows.
    fn count(&mut self, rows: u64) {
        let Some(counted) = &self.settings.bytes_read else { return };
        let share =
            u128::from(self.payload.size) * u128::from(rows) / u128::from(self.rows_max.max(1));
        let share = u64::try_from(share).unwrap_or(u64::MAX).min(self.payload.size);
        counted.fetch_add(share - self.counted, Ordering::Relaxed);
        self.counted = share;
    }

    /// Ends after the last row. The checksum of the whole file takes a pass of its own, and a file that was changed
    /// meanwhile is refused.
    pub(crate) fn finish(mut self) -> Result<Summary, Error> {
        self.count(self.rows_max);
        let Self { payload, settings, chosen, time_unit, .. } = self;
        let quiet = Settings { bytes_read: None, ..settings.clone() };
        let mut input = PlainInput::new(payload.file, 0..payload.size, &quiet);
        let mut buffer = vec![0; INPUT_BYTES];
        loop {
            settings.check_wanted()?;
            let read = input.read(&mut buffer);
            let read = read.map_err(|error| TableFault::Io(error).name(payload))?;
            if read == 0 {
                break;
            }
            input.note_taken(&buffer[..read]);
        }
        if modified(payload)? != self.modified {
            return Err(Error::Changed { path: payload.path.into() });
        }
        Ok(Summary {
            tags: self.rows,
            resume_byte: payload.size,
            columns: Some(Columns { chosen, time_unit, ..Columns::default() }),
            crc: input.crc(),
            ..Summary::new(payload, settings)
        })
    }
}

fn modified(payload: &Payload<'_>) -> Result<Option<SystemTime>, Error> {
    let metadata = payload.file.metadata().map_err(io_error(payload.path, "read the length of"))?;
    Ok(metadata.modified().ok())
}
