//! Answers as one table.
//!
//! Two answers with the columns `count` and `count`, `car` make the columns `run`, `count` and `car`; the rows of the
//! first have no `car`, which is null. Counts of 2^63 and more are an error, never a negative number.

use std::{collections::HashMap, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch,
    RecordBatchOptions, StringArray, UInt16Array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use tagq::{
    Answer, Cell, CellList, CellType, Column, CountsPart, Provenance, SCHEMA_VERSION, Table,
};

use crate::{Error, schema::pairs};

/// Rows per batch of an answer at most.
const BATCH_ROWS: usize = 1 << 16;
/// Values per batch at most, unless one row has more.
const BATCH_VALUES: usize = 1 << 20;

/// Returns the schema of one table with the rows of these answers; for several answers, a column `run`
/// comes first. Lists stay lists, and undefined values are null. The metadata contains, as JSON, the
/// query and the run of each answer, and its header.
///
/// # Errors
/// [`Error::Description`].
pub fn schema_of_answers(answers: &[Answer]) -> Result<SchemaRef, Error> {
    schema_of(&answers.iter().collect::<Vec<_>>())
}

/// Iterates over the rows of an answer in batches of this schema, which are created one by one.
pub fn batches_of(
    schema: &SchemaRef,
    answer: &Answer,
) -> impl Iterator<Item = Result<RecordBatch, Error>> + Send + use<> {
    let (schema, path, columns) =
        (Arc::clone(schema), answer.run.path.clone(), answer.rows.clone());
    let len = columns.len();
    let each = columns.values() / len.max(1);
    let step = (BATCH_VALUES / each.max(1)).clamp(1, BATCH_ROWS);
    let rows = (0..len).step_by(step).map(move |from| from..len.min(from + step));
    rows.map(move |rows| batch(&schema, &path, &columns, rows))
}

/// Returns the columns of several answers, each once, in order of first appearance.
pub(crate) fn schema_of(answers: &[&Answer]) -> Result<SchemaRef, Error> {
    let mut fields: Vec<Field> = Vec::new();
    for column in answers.iter().flat_map(|answer| answer.rows.columns()) {
        if fields.iter().all(|field| *field.name() != column.key) {
            let field = Field::new(&*column.key, type_of(column), true);
            fields.push(match &*column.shown.about {
                "" => field,
                about => field.with_metadata(pairs([("tagq.about", about.into())])),
            });
        }
    }
    if answers.len() > 1 {
        fields.insert(0, Field::new("run", DataType::Utf8, false));
    }
    Ok(Arc::new(Schema::new(fields).with_metadata(description(answers)?)))
}

/// Converts some rows of the run at `path` to a batch of this schema; missing columns are null.
pub(crate) fn batch(
    schema: &SchemaRef,
    path: &str,
    table: &Table,
    rows: Range<usize>,
) -> Result<RecordBatch, Error> {
    let column = |field: &Arc<Field>| -> Result<ArrayRef, Error> {
        Ok(match table.get(field.name()) {
            Some(column) => array(column, rows.clone())?,
            None if field.name() == "run" => {
                Arc::new(StringArray::from_iter_values(rows.clone().map(|_| path)))
            }
            None => new_null_array(field.data_type(), rows.len()),
        })
    };
    let columns = schema.fields().iter().map(column).collect::<Result<_, Error>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Returns the metadata of the answers.
fn description(answers: &[&Answer]) -> Result<HashMap<String, String>, Error> {
    let header: Vec<&str> = answers.iter().map(|answer| &*answer.header).collect();
    let mut described = pairs([
        ("tagq.schema_version", SCHEMA_VERSION.to_string()),
        ("tagq.header", header.join("\n")),
    ]);
    let mut put = |key: &str, value: &Value| {
        described.insert(key.to_owned(), value.to_string());
    };
    let provenance = Provenance::of_all(answers.iter().map(|answer| &answer.provenance));
    put("tagq.provenance", &serde_json::to_value(provenance)?);
    if let [Answer { query, run, total, .. }] = answers {
        put("tagq.query", query);
        put("tagq.run", &serde_json::to_value(run)?);
        if let Some(total) = of_all(total.as_ref()) {
            put("tagq.total", &serde_json::to_value(total)?);
        }
        return Ok(described);
    }
    let mut runs = Vec::new();
    for Answer { query, run, total, .. } in answers {
        let mut facts = serde_json::to_value(run)?;
        facts["query"] = query.clone();
        if let Some(total) = of_all(total.as_ref()) {
            facts["total"] = serde_json::to_value(total)?;
        }
        runs.push(facts);
    }
    put("tagq.query", answers.first().map_or(&Value::Null, |first| &first.query));
    put("tagq.runs", &json!(runs));
    Ok(described)
}

/// Returns a total of one row; those of the bins of a trace may be millions, too many for metadata.
fn of_all(total: Option<&Table>) -> Option<&Table> {
    total.filter(|total| total.len() == 1)
}

fn type_of(column: &Column) -> DataType {
    let of = item_type(column.of);
    if column.is_list { DataType::List(item(of)) } else { of }
}

fn item_type(of: CellType) -> DataType {
    match of {
        CellType::Count | CellType::Integer => DataType::Int64,
        CellType::Float => DataType::Float64,
        CellType::Flag => DataType::Boolean,
        CellType::Channel => DataType::UInt16,
        CellType::Name => DataType::Utf8,
    }
}

fn item(of: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(of, true))
}

fn array(column: &Column, rows: Range<usize>) -> Result<ArrayRef, Error> {
    let cells: Vec<Cell> = rows.map(|row| column.cells.at(row)).collect();
    if !column.is_list {
        return items(column.of, cells);
    }
    let none = || CellList::from_iter([]);
    let lists =
        cells.into_iter().map(|cell| if let Cell::List(list) = cell { list } else { none() });
    let lists: Vec<CellList> = lists.collect();
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(CellList::len));
    let parts: Option<Vec<&CountsPart>> = lists.iter().map(CellList::counts).collect();
    let values = match parts {
        Some(parts) if column.of == CellType::Count => counts(&parts)?,
        _ => items(column.of, lists.iter().flat_map(CellList::iter).collect())?,
    };
    Ok(Arc::new(ListArray::new(item(values.data_type().clone()), offsets, values, None)))
}

/// Converts parts of arrays of counts, one after the other.
fn counts(parts: &[&CountsPart]) -> Result<ArrayRef, Error> {
    let mut values = Vec::with_capacity(parts.iter().map(|part| part.range.len()).sum());
    for part in parts {
        for &count in part.as_slice() {
            values.push(i64::try_from(count).map_err(|_| Error::Count(count))?);
        }
    }
    Ok(Arc::new(Int64Array::from(values)))
}

/// Converts cells of one type; cells of another type, which do not occur, would be null.
fn items(of: CellType, cells: Vec<Cell>) -> Result<ArrayRef, Error> {
    macro_rules! array {
        ($array:ty, $cell:path) => {{
            let value = |cell| if let $cell(value) = cell { Some(value) } else { None };
            Arc::new(cells.into_iter().map(value).collect::<$array>())
        }};
    }
    Ok(match of {
        CellType::Count => {
            let value = |cell| match cell {
                Cell::Count(count) => {
                    i64::try_from(count).map(Some).map_err(|_| Error::Count(count))
                }
                _ => Ok(None),
            };
            Arc::new(cells.into_iter().map(value).collect::<Result<Int64Array, Error>>()?)
        }
        CellType::Integer => array!(Int64Array, Cell::Integer),
        CellType::Float => array!(Float64Array, Cell::Float),
        CellType::Flag => array!(BooleanArray, Cell::Flag),
        CellType::Channel => array!(UInt16Array, Cell::Channel),
        CellType::Name => array!(StringArray, Cell::Name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray as _;
    use tagq::{Cells, ChannelFacts, RunFacts};

    fn answer(path: &str, rows: Table) -> Answer {
        let run = RunFacts {
            path: path.into(),
            tick: "4000000/1".into(),
            tick_assumed: false,
            commit: 7,
            tags: 3,
            sources: 1,
            live_s: 0.5,
            elapsed_s: 0.5,
            pulse_period_s: None,
            remarks: Vec::new(),
            channels: vec![ChannelFacts { channel: 3, name: None, count: 3 }],
            names: Vec::new(),
        };
        Answer {
            header: format!("of {path}"),
            query: json!({"kind": "test"}),
            run,
            singles: None,
            rows,
            total: None,
            provenance: Provenance::default(),
            figure: None,
        }
    }

    fn answers(of: &[Answer]) -> Result<RecordBatch, Error> {
        let schema = schema_of_answers(of)?;
        let batches: Result<Vec<_>, _> =
            of.iter().flat_map(|answer| batches_of(&schema, answer)).collect();
        Ok(arrow_select::concat::concat_batches(&schema, &batches?)?)
    }

    #[test]
    fn rows_come_in_batches() {
        let cells = Cells::made(2 * BATCH_ROWS + 1, |row| row as u64);
        let answer = answer("a", Table::default().with(Column::counts("count", cells)));
        let schema = schema_of_answers(std::slice::from_ref(&answer)).unwrap();
        let batches: Vec<RecordBatch> = batches_of(&schema, &answer).map(Result::unwrap).collect();
        let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [BATCH_ROWS, BATCH_ROWS, 1]);
        let last = batches[2].column(0).as_primitive::<arrow_array::types::Int64Type>().value(0);
        assert_eq!(last, (2 * BATCH_ROWS).cast_signed() as i64);
    }

    #[test]
    fn lists_are_lists_and_what_is_not_defined_is_null() {
        let rows = Table::default()
            .with(Column::groups("channels", vec![vec![3, 15], vec![3, 15, 16]].into()))
            .with(Column::counts("count", vec![61, i64::MAX as u64].into()))
            .with(Column::integers("start_ticks", vec![-5, i64::MIN].into()))
            .with(Column::floats("car", vec![None, Some(0.5)].into()))
            .with(Column::flags("partial", vec![true, false].into()))
            .with(Column::channels("channel", vec![Some(65_535), None].into()))
            .with(Column::of_cells(
                "name",
                CellType::Name,
                vec![Cell::Name("H".into()), Cell::Missing].into(),
            ))
            .with(Column::count_lists("singles", vec![vec![].into(), vec![1, 2].into()].into()))
            .with(Column::float_lists("g2_covariance", vec![vec![None, Some(2.0)], vec![]].into()));
        let batch = answers(&[answer("a", rows)]).unwrap();
        let lists = batch.column(0).as_list::<i32>();
        assert_eq!(
            lists.value(1).as_primitive::<arrow_array::types::UInt16Type>().values(),
            &[3, 15, 16]
        );
        assert_eq!(
            batch.column(1).as_primitive::<arrow_array::types::Int64Type>().value(1),
            i64::MAX
        );
        assert!(batch.column(3).is_null(0) && batch.column(5).is_null(1));
        assert_eq!(
            batch.column(6).as_string::<i32>().iter().collect::<Vec<_>>(),
            [Some("H"), None]
        );
        let covariance = batch.column(8).as_list::<i32>().value(0);
        assert!(covariance.is_null(0) && !covariance.is_null(1));
        let metadata = batch.schema_ref().metadata().clone();
        assert_eq!(metadata["tagq.header"], "of a");
        assert_eq!(metadata["tagq.query"], r#"{"kind":"test"}"#);
        assert!(metadata["tagq.run"].contains(r#""commit":7"#));
    }

    #[test]
    fn fields_say_what_their_keys_do_not() {
        let low = Column::integers("first_tick", vec![1].into()).about("first tick of the bin");
        let rows = Table::default().with(low).with(Column::counts("count", vec![1].into()));
        let batch = answers(&[answer("a", rows)]).unwrap();
        let schema = batch.schema();
        assert_eq!(schema.field(0).metadata()["tagq.about"], "first tick of the bin");
        assert!(schema.field(1).metadata().is_empty());
    }

    #[test]
    fn counts_that_do_not_fit_are_errors() {
        let one = Table::default().with(Column::counts("count", vec![u64::MAX].into()));
        assert!(matches!(answers(&[answer("a", one)]), Err(Error::Count(u64::MAX))));
    }

    #[test]
    fn totals_are_in_the_metadata() {
        let table = |count| Table::default().with(Column::counts("count", vec![count].into()));
        let of = |path| Answer { total: Some(table(9)), ..answer(path, table(2)) };
        let counts = vec![4, 5].into();
        let trace = Table::default().with(Column::counts("count", counts));
        let trace = answers(&[Answer { total: Some(trace), ..of("a") }]).unwrap();
        assert!(!trace.schema_ref().metadata().contains_key("tagq.total"));
        let one = answers(&[of("a")]).unwrap();
        assert_eq!(
            (one.num_rows(), one.schema_ref().metadata()["tagq.total"].as_str()),
            (1, r#"[{"count":9}]"#)
        );
        let both = answers(&[of("a"), of("b")]).unwrap();
        assert!(both.schema_ref().metadata()["tagq.runs"].contains(r#""total":[{"count":9}]"#));
    }

    #[test]
    fn several_answers_are_one_table() {
        let one = Table::default().with(Column::counts("count", vec![1].into()));
        let other = Table::default()
            .with(Column::counts("count", vec![2, 3].into()))
            .with(Column::floats("car", vec![Some(1.0), None].into()));
        let batch = answers(&[answer("a", one), answer("b", other)]).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (3, 3));
        let runs: Vec<_> = batch.column(0).as_string::<i32>().iter().flatten().collect();
        assert_eq!(runs, ["a", "b", "b"]);
        assert!(batch.column(2).is_null(0) && batch.column(2).is_valid(1));
        assert!(batch.schema_ref().metadata()["tagq.runs"].contains(r#""query":{"kind":"test"}"#));
    }
}
