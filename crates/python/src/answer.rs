//! The answer to a request.
//!
//! An answer that another process unpickles has the same cells, bit for bit: a float travels as its bits, because its
//! text in JSON could be another number. Its figure travels as it was drawn, so that it has no other columns to choose
//! from, and it cannot be fitted.

use std::{
    cell::RefCell,
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::AtomicBool},
};

use arrow_array::RecordBatchIterator;
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tagq::{
    Cell, CellType, Column, OwnModel, Provenance, RunFacts, Shown, Table,
    fit::{Parameter, Quantity, Settings, models::Function},
};
use tagq_export::report::{
    json,
    table::{self, TableStyle},
};
use tagq_plot::{Figure, FigureName, Limit, Look, Picture};

use crate::{
    errors,
    lists::PyLists,
    options,
    saving::{self, Content},
    stream,
    waiting::{PythonProgress, wait},
};

/// An answer: a header, the query as it was counted, the run, and columns of rows.
#[pyclass(frozen, module = "tagq._tagq")]
pub(crate) struct Answer {
    content: tagq::Answer,
    schema: SchemaRef,
    /// Once it was asked for.
    figure: OnceLock<Figure>,
}

/// How a figure shall look.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
#[expect(clippy::struct_excessive_bools, reason = "they are the keywords of a function")]
pub(crate) struct FigureLook {
    title: Option<String>,
    log_y: bool,
    limits: Option<(FigureLimit, FigureLimit)>,
    quantity: Option<String>,
    figure: Option<String>,
    brightness: bool,
    /// In pixels.
    size: Option<(f64, f64)>,
    dark: bool,
    caption: bool,
}

/// An end of an axis.
#[derive(FromPyObject)]
enum FigureLimit {
    Number(f64),
    Text(String),
}

impl From<FigureLimit> for Limit {
    fn from(limit: FigureLimit) -> Self {
        match limit {
            FigureLimit::Number(number) => Self::Number(number),
            FigureLimit::Text(text) => Self::Text(text),
        }
    }
}

impl FigureLook {
    fn apply(self, answer: &Answer) -> PyResult<Figure> {
        let Self { title, log_y, limits, quantity, figure, brightness, size, dark, caption } = self;
        let figure = figure.map(|name| {
            let all = FigureName::ALL.map(FigureName::name).join(", ");
            FigureName::of_name(&name)
                .ok_or_else(|| errors::question(format!("figure: `{name}` is none of {all}")))
        });
        let look = Look {
            title,
            is_logarithmic: log_y,
            limits: limits.map(|(low, high)| (low.into(), high.into())),
            quantity,
            figure: figure.transpose()?,
            brightness,
            size,
            is_dark: dark,
            no_caption: !caption,
        };
        let figure = match (look.is_of_answer(), &answer.content.figure) {
            (true, None) => {
                return Err(errors::question(
                    "quantity, figure and brightness: a result from another process is drawn as it was there",
                ));
            }
            (true, Some(_)) => Figure::of_look(&answer.content, &look),
            (false, _) => answer.drawn().clone().with(&look),
        };
        figure.map_err(|error| errors::question(error.to_string()))
    }
}

/// An answer for another process: what is read of it in Python.
#[derive(Serialize, Deserialize)]
struct PlainAnswer {
    header: String,
    query: Value,
    run: RunFacts,
    provenance: Provenance,
    columns: Vec<Plain>,
    total: Option<Vec<Plain>>,
    figure: Figure,
}

/// A column without its way to compute cells.
#[derive(Serialize, Deserialize)]
struct Plain {
    key: String,
    of: CellType,
    is_list: bool,
    shown: Shown,
    cells: Vec<PlainCell>,
}

#[derive(Serialize, Deserialize)]
enum PlainCell {
    Missing,
    Count(u64),
    Integer(i64),
    /// The bits of the number, which JSON would round.
    Float(u64),
    Flag(bool),
    Channel(u16),
    Name(String),
    List(Vec<Self>),
}

impl Plain {
    fn of(column: &Column) -> Self {
        let Column { key, of, is_list, shown, cells } = column;
        Self {
            key: key.clone().into_owned(),
            of: *of,
            is_list: *is_list,
            shown: shown.clone(),
            cells: cells.iter().map(PlainCell::of).collect(),
        }
    }

    fn of_table(table: &Table) -> Vec<Self> {
        table.columns().iter().map(Self::of).collect()
    }

    fn table(columns: Vec<Self>) -> Table {
        columns.into_iter().map(Self::column).fold(Table::default(), Table::with)
    }

    fn column(self) -> Column {
        let Self { key, of, is_list, shown, cells } = self;
        let cells: Vec<Cell> = cells.into_iter().map(PlainCell::cell).collect();
        Column { is_list, shown, ..Column::of_cells(key, of, cells.into()) }
    }
}

impl PlainCell {
    fn of(cell: Cell) -> Self {
        match cell {
            Cell::Missing => Self::Missing,
            Cell::Count(value) => Self::Count(value),
            Cell::Integer(value) => Self::Integer(value),
            Cell::Float(value) => Self::Float(value.to_bits()),
            Cell::Flag(value) => Self::Flag(value),
            Cell::Channel(value) => Self::Channel(value),
            Cell::Name(name) => Self::Name(name),
            Cell::List(items) => Self::List(items.iter().map(Self::of).collect()),
        }
    }

    fn cell(self) -> Cell {
        match self {
            Self::Missing => Cell::Missing,
            Self::Count(value) => Cell::Count(value),
            Self::Integer(value) => Cell::Integer(value),
            Self::Float(bits) => Cell::Float(f64::from_bits(bits)),
            Self::Flag(value) => Cell::Flag(value),
            Self::Channel(value) => Cell::Channel(value),
            Self::Name(name) => Cell::Name(name),
            Self::List(items) => Cell::List(items.into_iter().map(Self::cell).collect()),
        }
    }
}

impl Answer {
    pub fn new(answer: tagq::Answer) -> PyResult<Self> {
        let schema = tagq_export::schema_of_answers(std::slice::from_ref(&answer));
        let schema = schema.map_err(errors::of_export)?;
        Ok(Self { content: answer, schema, figure: OnceLock::new() })
    }
}

impl Answer {
    /// Refuses a result whose figure alone came from another process, because it does not say what its rows are.
    fn check_rows(&self) -> PyResult<()> {
        if self.content.figure.is_none() && self.figure.get().is_some() {
            return Err(errors::question(
                "a result from another process cannot be fitted; fit it there, or ask again",
            ));
        }
        Ok(())
    }
}

#[pymethods]
impl Answer {
    #[getter]
    fn header(&self) -> &str {
        &self.content.header
    }

    /// Returns the names of the columns.
    #[getter]
    fn columns(&self) -> Vec<&str> {
        self.content.rows.columns().iter().map(|column| &*column.key).collect()
    }

    fn __len__(&self) -> usize {
        self.content.rows.len()
    }

    /// Returns the answer in the format of the command line with `--format json`.
    fn to_json(&self) -> PyResult<String> {
        json::line(&self.content).map_err(errors::of_run)
    }

    /// Returns the headings and the fields of the table of the command line, of at most so many rows.
    fn fields(&self, most: usize) -> (Vec<String>, Vec<Vec<String>>) {
        let fields = table::fields(&self.content, TableStyle::PLAIN, most);
        (fields.headings, fields.rows)
    }

    /// Returns all that [`Answer::of_state`] makes the same answer from.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let tagq::Answer { header, query, run, provenance, rows, total, .. } = &self.content;
        let plain = PlainAnswer {
            header: header.clone(),
            query: query.clone(),
            run: run.clone(),
            provenance: provenance.clone(),
            columns: Plain::of_table(rows),
            total: total.as_ref().map(Plain::of_table),
            figure: self.drawn().clone(),
        };
        let bytes = serde_json::to_vec(&plain).map_err(errors::of_run)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Makes an answer from its bytes.
    #[staticmethod]
    fn of_state(bytes: &[u8]) -> PyResult<Self> {
        let plain: PlainAnswer = serde_json::from_slice(bytes).map_err(errors::of_run)?;
        let PlainAnswer { header, query, run, provenance, columns, total, figure } = plain;
        let (rows, total) = (Plain::table(columns), total.map(Plain::table));
        let answer = tagq::Answer {
            header,
            query,
            run,
            singles: None,
            rows,
            total,
            provenance,
            figure: None,
        };
        Ok(Self { figure: figure.into(), ..Self::new(answer)? })
    }

    /// Returns the figure of the answer as JSON (`tagq_plot::Figure`). With a width also what is drawn: of a chart the
    /// marks of its series on an axis of this many points, of bars their texts, of a matrix its axis.
    #[pyo3(signature = (look, wide = None))]
    fn figure(&self, look: FigureLook, wide: Option<f64>) -> PyResult<String> {
        let figure = look.apply(self)?;
        let json = match wide {
            Some(wide) => serde_json::to_string(&figure.drawn(wide)),
            None => serde_json::to_string(&figure),
        };
        json.map_err(errors::of_run)
    }

    /// Returns the figure of the answer as an SVG element.
    fn svg(&self, look: FigureLook) -> PyResult<String> {
        Ok(Picture::element(&look.apply(self)?))
    }

    /// Returns the answer whose rows are the totals of this one.
    fn total(&self) -> PyResult<Option<Self>> {
        let total = self.content.total.clone();
        total
            .map(|rows| {
                Self::new(tagq::Answer { rows, total: None, figure: None, ..self.content.clone() })
            })
            .transpose()
    }

    /// Fits the model with this name to the answer.
    fn fit(&self, py: Python<'_>, model: &str, keywords: &Bound<'_, PyDict>) -> PyResult<Self> {
        self.check_rows()?;
        let fit = options::fit(model, keywords)?;
        let cancelled = AtomicBool::new(false);
        Self::new(wait(py, None, &cancelled, |progress| fit.answer(&self.content, progress))?)
    }

    /// Fits a function to the answer: of the bytes of the places and the parameters, it returns those of one value for each
    /// place. Parameters have a name, a starting value and bounds.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn fit_function(
        &self,
        py: Python<'_>,
        name: String,
        function: &Bound<'_, PyAny>,
        parameters: Vec<(String, f64, (f64, f64))>,
        fixed: Vec<String>,
        between: Option<(f64, f64)>,
    ) -> PyResult<Self> {
        self.check_rows()?;
        let raised = RefCell::new(None);
        let values = |places: &[f64], parameters: &[f64]| {
            let bytes = PyBytes::new(py, bytemuck::cast_slice(places));
            let called = function.call1((bytes, parameters.to_vec()));
            let values = called.and_then(|values| {
                let bytes: Vec<u8> = values.extract()?;
                Ok(bytes.chunks_exact(8).map(f64_of).collect())
            });
            values.map_err(|error| {
                let text = error.to_string();
                raised.borrow_mut().get_or_insert(error);
                text
            })
        };
        let parameter = |(name, start, (lower, upper)): &(String, f64, (f64, f64))| {
            Parameter::new(name, Quantity::Value, start.abs()).between(*lower, *upper)
        };
        let start: Vec<f64> = parameters.iter().map(|(_, start, _)| *start).collect();
        let named = parameters.iter().zip(&start);
        let fixed = named.filter(|((name, ..), _)| fixed.contains(name));
        let fixed = fixed.map(|((name, ..), start)| (name.clone(), *start)).collect();
        let parameters = parameters.iter().map(parameter).collect();
        let model = Function { parameters, start, values: Box::new(values) };
        let settings = Settings { fixed, ..Settings::default() };
        let own = OwnModel { name, model: &model, settings, between };
        let progress = PythonProgress::default();
        let fitted = own.fit(&self.content, &progress);
        drop(model);
        if let Some(error) = raised.into_inner() {
            return Err(error);
        }
        errors::warn(py, &progress.take_notes())?;
        Self::new(fitted.map_err(errors::of_run)?)
    }

    /// Writes the answer to a file, in the format that its name selects, as the command line does.
    #[expect(clippy::needless_pass_by_value, reason = "arguments of Python come as values")]
    fn save(&self, py: Python<'_>, path: PathBuf, replace: bool, look: FigureLook) -> PyResult<()> {
        let content = Content::of_name(&path)?;
        let figure = look.apply(self)?;
        py.detach(|| saving::save(&path, replace, |out| content.write(&self.content, &figure, out)))
    }

    /// Returns the cells of some rows, row by row. Undefined floats are NaN, other undefined cells are None.
    fn rows<'py>(&self, py: Python<'py>, rows: Vec<usize>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let table = &self.content.rows;
        if rows.iter().any(|&row| row >= table.len()) {
            return Err(pyo3::exceptions::PyIndexError::new_err("there is no such row"));
        }
        let cell = |column: &Column, row| match column.cells.at(row) {
            Cell::Missing if column.of == CellType::Float => {
                Ok(f64::NAN.into_pyobject(py)?.into_any())
            }
            cell => object(py, cell),
        };
        let row = |row| -> PyResult<_> {
            let cells = table.columns().iter().map(|column| cell(column, row));
            PyTuple::new(py, cells.collect::<PyResult<Vec<_>>>()?)
        };
        rows.into_iter().map(row).collect()
    }

    /// Returns a column: a NumPy type and its bytes, or a list. Undefined floats are NaN.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let Some(column) = self.content.rows.get(name) else {
            return Err(pyo3::exceptions::PyKeyError::new_err(format!(
                "no column is called {name}; they are {}",
                self.columns().join(", ")
            )));
        };
        let flat = |of: &str, bytes: &[u8]| {
            (of, PyBytes::new(py, bytes)).into_pyobject(py).map(Bound::into_any)
        };
        let cells = || column.cells.iter();
        let has_gaps = || cells().any(|cell| cell == Cell::Missing);
        macro_rules! flat {
            ($of:literal, $cell:path, $missing:expr) => {{
                let value = |cell| if let $cell(value) = cell { value.into() } else { $missing };
                let values: Vec<_> = cells().map(value).collect();
                flat($of, bytemuck::cast_slice(&values))
            }};
        }
        match column.of {
            _ if column.is_list => list_of(py, cells()),
            CellType::Name => list_of(py, cells()),
            CellType::Integer | CellType::Channel if has_gaps() => list_of(py, cells()),
            CellType::Count => {
                let signed = |cell| match cell {
                    Cell::Count(count) => {
                        i64::try_from(count).map_err(|_| tagq_export::Error::Count(count))
                    }
                    _ => Ok(0),
                };
                let values: Result<Vec<i64>, _> = cells().map(signed).collect();
                flat("<i8", bytemuck::cast_slice(&values.map_err(errors::of_export)?))
            }
            CellType::Integer => flat!("<i8", Cell::Integer, 0_i64),
            CellType::Float => flat!("<f8", Cell::Float, f64::NAN),
            CellType::Flag => flat!("|b1", Cell::Flag, 0_u8),
            CellType::Channel => flat!("<i8", Cell::Channel, 0_i64),
        }
    }

    /// Returns the query as it was counted, as JSON.
    fn query_json(&self) -> String {
        self.content.query.to_string()
    }

    /// Returns the facts of the run, as JSON.
    fn run_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.content.run).map_err(errors::of_run)
    }

    /// Returns the names of the columns that tell rows apart.
    fn keys(&self) -> Vec<&str> {
        let keys = self.content.rows.columns().iter().filter(|column| column.shown.is_key);
        keys.map(|column| &*column.key).collect()
    }

    /// Returns a column of lists of counts or measures, all of one length, for `numpy.asarray`; `None` for other columns.
    fn lists(&self, name: &str) -> PyResult<Option<PyLists>> {
        self.content.rows.get(name).map_or(Ok(None), PyLists::of)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows a requested schema, but the types of an answer leave no choice.
        drop(requested_schema);
        let batches = tagq_export::batches_of(&self.schema, &self.content);
        let batches =
            batches.map(|batch| batch.map_err(|e| ArrowError::ExternalError(Box::new(e))));
        stream::export(py, RecordBatchIterator::new(batches, Arc::clone(&self.schema)))
    }
}

impl Answer {
    fn drawn(&self) -> &Figure {
        self.figure.get_or_init(|| Figure::of(&self.content))
    }
}

/// Returns the number of eight bytes, as NumPy has it in memory.
fn f64_of(bytes: &[u8]) -> f64 {
    bytes.try_into().map_or(f64::NAN, f64::from_ne_bytes)
}

/// Converts a cell to a Python value: a number, a text, a list of them, or `None`.
fn object(py: Python<'_>, cell: Cell) -> PyResult<Bound<'_, PyAny>> {
    Ok(match cell {
        Cell::Missing => py.None().into_bound(py),
        Cell::Count(value) => value.into_pyobject(py)?.into_any(),
        Cell::Integer(value) => value.into_pyobject(py)?.into_any(),
        Cell::Float(value) => value.into_pyobject(py)?.into_any(),
        Cell::Flag(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Cell::Channel(value) => value.into_pyobject(py)?.into_any(),
        Cell::Name(name) => name.into_pyobject(py)?.into_any(),
        Cell::List(items) => list_of(py, items.iter())?,
    })
}

fn list_of(py: Python<'_>, cells: impl Iterator<Item = Cell>) -> PyResult<Bound<'_, PyAny>> {
    let objects: Vec<_> = cells.map(|cell| object(py, cell)).collect::<PyResult<_>>()?;
    Ok(PyList::new(py, objects)?.into_any())
}
