//! Stores created from Python data: arrays and tables.
//!
//! A column of any integer type is taken if all its values fit: channel 70000 is an error that names its row. After an
//! error the unfinished store is removed at once, however long the exception stays alive. A table that tagq wrote
//! brings its tick in its metadata; a tick that is given replaces it.

use std::path::PathBuf;

use arrow_array::{
    Array, ArrayRef, RecordBatchReader, cast::AsArray as _, types::ArrowPrimitiveType,
};
use arrow_schema::{DataType, Schema};
use pyo3::{prelude::*, types::PyBytes};
use tagq::{
    OpenOptions, RunError,
    store::{Tick, format::MICRO_NONE},
};

use crate::{
    errors::{self, question, wrong_type},
    options,
    origin::Origin,
    process::OwnMutex,
    run::Run,
    stream,
};

/// Name of an unfinished store in error messages.
const WHAT: &str = "this new store";
/// Metadata key of the tick of the times in a table.
const TICK_KEY: &str = "tagq.tick";
/// The same of its micro times.
const MICRO_TICK_KEY: &str = "tagq.micro_tick";
/// Column of micro times that a table may have.
const MICRO_NAME: &str = "micro";

/// An unfinished store.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct NewStore {
    making: OwnMutex<Making>,
}

struct Making {
    at: Option<PathBuf>,
    tick: Option<Tick>,
    micro_tick: Option<Tick>,
    /// Created with the first rows, because a table may contain its tick.
    store: Option<tagq::NewStore>,
    rows: u64,
}

#[pymethods]
impl NewStore {
    #[new]
    #[pyo3(signature = (store = None, tick = None, micro_tick = None))]
    fn new(store: Option<PathBuf>, tick: Option<&str>, micro_tick: Option<&str>) -> PyResult<Self> {
        let tick = tick.map(|tick| options::parse("tick", tick)).transpose()?;
        let micro_tick = micro_tick.map(|tick| options::parse("micro_tick", tick)).transpose()?;
        let making = Making { at: store, tick, micro_tick, store: None, rows: 0 };
        Ok(Self { making: OwnMutex::new(making) })
    }

    /// Appends tags, in the bytes of [`tags_of`].
    #[pyo3(signature = (times, channels, micro = None))]
    fn append(
        &self,
        py: Python<'_>,
        times: &Bound<'_, PyBytes>,
        channels: &Bound<'_, PyBytes>,
        micro: Option<&Bound<'_, PyBytes>>,
    ) -> PyResult<()> {
        let (times, channels, micro) = tags_of(times, channels, micro);
        self.with(py, |making| making.append(&times, &channels, &micro))
    }

    /// Appends the columns `time`, `channel` and `micro` of a table, batch by batch. Without a name, micro times
    /// are those of the column `micro`, if there is one.
    #[pyo3(signature = (table, time, channel, micro = None))]
    fn append_table(
        &self,
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        time: &str,
        channel: &str,
        micro: Option<&str>,
    ) -> PyResult<()> {
        let batches = stream::import(table)?;
        let schema = batches.schema();
        let at = (index_of(&schema, time)?, index_of(&schema, channel)?);
        let micro_at = match micro {
            Some(name) => Some(index_of(&schema, name)?),
            None => schema.index_of(MICRO_NAME).ok(),
        };
        self.with(py, |making| making.take_ticks(&schema, micro_at.is_some()))?;
        for batch in batches {
            let batch = batch.map_err(|e| errors::of_export(e.into()))?;
            let columns = (batch.column(at.0), batch.column(at.1));
            let micro_column = micro_at.map(|at| batch.column(at));
            self.with(py, |making| {
                let times = times(time, columns.0, making.rows)?;
                let channels = labels(channel, columns.1, making.rows)?;
                let name = micro.unwrap_or(MICRO_NAME);
                let micro = micro_column.map(|column| micro_times(name, column, making.rows));
                making.append(&times, &channels, &micro.transpose()?.unwrap_or_default())
            })?;
        }
        Ok(())
    }

    /// Moves the store to its target and opens it.
    fn finish(&self, py: Python<'_>, name: &str) -> PyResult<Run> {
        let making = self.making.with(WHAT, |making| Ok(making.take()))?;
        let mut making = making.ok_or_else(errors::closed)?;
        making.store()?;
        let Some(store) = making.store.take() else { return Err(errors::closed()) };
        let run = py.detach(|| store.finish(name, &OpenOptions::default()));
        let run = run.map_err(errors::of_run)?;
        let origin = Origin::of_store(&run);
        Run::new(run, tagq::requests::Setup::default(), None, origin)
    }
}

impl NewStore {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Making) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            self.making.with(WHAT, |making| {
                let done = work(making.as_mut().ok_or_else(errors::closed)?);
                if done.is_err() {
                    // The unfinished store is removed now, however long the exception stays alive.
                    *making = None;
                }
                done
            })
        })
    }
}

impl Making {
    fn store(&mut self) -> PyResult<&mut tagq::NewStore> {
        if self.store.is_none() {
            let mut store =
                tagq::NewStore::create(self.at.as_deref(), self.tick).map_err(errors::of_run)?;
            if let Some(tick) = self.micro_tick {
                store.set_micro_tick(tick).map_err(errors::of_run)?;
            }
            self.store = Some(store);
        }
        self.store.as_mut().ok_or_else(errors::closed)
    }

    /// Uses the ticks in a table written by tagq, unless others were given.
    fn take_ticks(&mut self, schema: &Schema, has_micro: bool) -> PyResult<()> {
        if self.micro_tick.is_some() && !has_micro {
            return Err(question("micro_tick: the table has no column of micro times"));
        }
        for (tick, key) in [(&mut self.tick, TICK_KEY), (&mut self.micro_tick, MICRO_TICK_KEY)] {
            if let (None, Some(text)) = (&tick, schema.metadata().get(key)) {
                *tick = Some(Tick::from_fraction(text).map_err(|e| question(e.to_string()))?);
            }
        }
        Ok(())
    }

    /// Appends tags and their micro times, or none of them.
    fn append(&mut self, times: &[i64], channels: &[u16], micro: &[u32]) -> PyResult<()> {
        if times.len() != channels.len() {
            return Err(question(format!(
                "{} times and {} channels; a tag has one of each",
                times.len(),
                channels.len()
            )));
        }
        if !micro.is_empty() && micro.len() != times.len() {
            return Err(question(format!(
                "{} times and {} micro times; a tag has one of each",
                times.len(),
                micro.len()
            )));
        }
        let appended = self.store()?.append_with_micro(times, channels, micro);
        self.rows += times.len() as u64;
        appended.map_err(of_append)
    }
}

/// Reads tags from bytes: times as little-endian 64-bit integers, channels as unsigned 16-bit integers, micro times as
/// unsigned 32-bit integers.
pub(crate) fn tags_of(
    times: &Bound<'_, PyBytes>,
    channels: &Bound<'_, PyBytes>,
    micro: Option<&Bound<'_, PyBytes>>,
) -> (Vec<i64>, Vec<u16>, Vec<u32>) {
    let times = times.as_bytes().as_chunks().0.iter();
    let channels = channels.as_bytes().as_chunks().0.iter();
    let micro = micro.map_or(&[][..], |micro| micro.as_bytes()).as_chunks().0.iter();
    (
        times.map(|&bytes| i64::from_le_bytes(bytes)).collect(),
        channels.map(|&bytes| u16::from_le_bytes(bytes)).collect(),
        micro.map(|&bytes| u32::from_le_bytes(bytes)).collect(),
    )
}

/// Converts an error from appending tags.
pub(crate) fn of_append(error: RunError) -> PyErr {
    match error {
        RunError::Store(error @ tagq::store::Error::Unsorted { .. }) => question(format!(
            "{error}; sort them first, as by numpy.argsort(time, kind=\"stable\")"
        )),
        RunError::Store(error @ tagq::store::Error::Span { .. }) => question(error.to_string()),
        error => errors::of_run(error),
    }
}

fn index_of(schema: &Schema, name: &str) -> PyResult<usize> {
    schema.index_of(name).map_err(|_| {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        question(format!("no column is called {name}; they are {}", names.join(", ")))
    })
}

fn times(name: &str, array: &ArrayRef, row: u64) -> PyResult<Vec<i64>> {
    let range = "a time is a 64-bit number with its sign";
    integers(name, array, row, range, "whole ticks, as Int64").map_err(|error| {
        match array.data_type() {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => wrong_type(format!(
                "{name} is {}, and times are whole ticks: divide by the tick, round, and cast to Int64",
                array.data_type()
            )),
            _ => error,
        }
    })
}

fn labels(name: &str, array: &ArrayRef, row: u64) -> PyResult<Vec<u16>> {
    integers(name, array, row, "channels are numbers from 0 to 65535", "whole numbers, as UInt8")
}

/// Returns the micro times of a column, null being none.
fn micro_times(name: &str, array: &ArrayRef, row: u64) -> PyResult<Vec<u32>> {
    let range = "micro times are numbers from 0 to 4294967294, and null";
    let found: Vec<Option<u32>> =
        integers_or_nulls(name, array, row, range, "whole numbers, as UInt32")?;
    match found.iter().position(|&value| value == Some(MICRO_NONE)) {
        Some(at) => {
            Err(question(format!("{name}: row {} is {MICRO_NONE}, and {range}", row + at as u64)))
        }
        None => Ok(found.into_iter().map(|value| value.unwrap_or(MICRO_NONE)).collect()),
    }
}

/// Returns the values of a column of any integer type without nulls; all must fit.
fn integers<T: TryFrom<i128>>(
    name: &str,
    array: &ArrayRef,
    row: u64,
    range: &str,
    wanted: &str,
) -> PyResult<Vec<T>> {
    let found = integers_or_nulls(name, array, row, range, wanted)?.into_iter().zip(row..);
    found
        .map(|(value, row)| value.ok_or_else(|| question(format!("{name}: row {row} is null"))))
        .collect()
}

/// Returns the values of a column of any integer type; all must fit.
fn integers_or_nulls<T: TryFrom<i128>>(
    name: &str,
    array: &ArrayRef,
    row: u64,
    range: &str,
    wanted: &str,
) -> PyResult<Vec<Option<T>>> {
    use arrow_array::types::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    let of = CheckedColumn { name, row, range };
    match array.data_type() {
        DataType::Int8 => of.all::<Int8Type, T>(array),
        DataType::Int16 => of.all::<Int16Type, T>(array),
        DataType::Int32 => of.all::<Int32Type, T>(array),
        DataType::Int64 => of.all::<Int64Type, T>(array),
        DataType::UInt8 => of.all::<UInt8Type, T>(array),
        DataType::UInt16 => of.all::<UInt16Type, T>(array),
        DataType::UInt32 => of.all::<UInt32Type, T>(array),
        DataType::UInt64 => of.all::<UInt64Type, T>(array),
        other => Err(wrong_type(format!("{name} is {other}; {wanted} is wanted"))),
    }
}

struct CheckedColumn<'a> {
    name: &'a str,
    row: u64,
    range: &'a str,
}

impl CheckedColumn<'_> {
    fn all<A, T>(&self, array: &ArrayRef) -> PyResult<Vec<Option<T>>>
    where
        A: ArrowPrimitiveType<Native: Into<i128> + Copy>,
        T: TryFrom<i128>,
    {
        let values = array.as_primitive::<A>().iter().enumerate();
        let fit = |(at, value): (usize, Option<A::Native>)| {
            let Some(value) = value else { return Ok(None) };
            let value: i128 = value.into();
            T::try_from(value).map(Some).map_err(|_| {
                let (name, row) = (self.name, self.row + at as u64);
                question(format!("{name}: row {row} is {value}, and {}", self.range))
            })
        };
        values.map(fit).collect()
    }
}
