//! What was asked and what came out, as one table.

use std::{collections::HashMap, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch,
    RecordBatchOptions, StringArray, UInt16Array, UInt64Array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Value, json};
use tagq::{Answer, Cells, Columns, Values};

use crate::{Error, schema::pairs};

/// Grows only by new keys while the version stays, as that of the JSON output does.
const SCHEMA_VERSION: u32 = 2;

/// Rows of a batch of an answer.
const BATCH_ROWS: usize = 1 << 16;

/// The schema of one table with the rows of these answers, those of several with a column `run` before
/// them. Lists are lists, and what is not defined is null. The metadata holds, as JSON, the query and the run
/// of each answer, and its header.
///
/// # Errors
/// [`Error::Description`].
pub fn schema_of_answers(answers: &[Answer]) -> Result<SchemaRef, Error> {
    schema_of(&answers.iter().collect::<Vec<_>>())
}

/// The rows of an answer in batches of this schema, which are made one by one.
pub fn batches_of(
    schema: &SchemaRef,
    answer: &Answer,
) -> impl Iterator<Item = Result<RecordBatch, Error>> + Send + use<> {
    let (schema, path, columns) =
        (Arc::clone(schema), answer.run.path.clone(), answer.rows.clone());
    let len = columns.len();
    let rows = (0..len).step_by(BATCH_ROWS).map(move |from| from..len.min(from + BATCH_ROWS));
    rows.map(move |rows| batch(&schema, &path, &columns, rows))
}

/// The columns of several answers, each once, in the order they first come in.
pub(crate) fn schema_of(answers: &[&Answer]) -> Result<SchemaRef, Error> {
    let mut fields: Vec<Field> = Vec::new();
    for column in answers.iter().flat_map(|answer| answer.rows.columns()) {
        if fields.iter().all(|field| *field.name() != column.name) {
            fields.push(Field::new(&*column.name, type_of(&column.values), true));
        }
    }
    if answers.len() > 1 {
        fields.insert(0, Field::new("run", DataType::Utf8, false));
    }
    Ok(Arc::new(Schema::new(fields).with_metadata(description(answers)?)))
}

/// Some rows of the run at `path` as a batch of this schema; columns that they lack are null.
pub(crate) fn batch(
    schema: &SchemaRef,
    path: &str,
    columns: &Columns,
    rows: Range<usize>,
) -> Result<RecordBatch, Error> {
    let column = |field: &Arc<Field>| -> ArrayRef {
        match columns.get(field.name()) {
            Some(values) => array(values, rows.clone()),
            None if field.name() == "run" => {
                Arc::new(StringArray::from_iter_values(rows.clone().map(|_| path)))
            }
            None => new_null_array(field.data_type(), rows.len()),
        }
    };
    let columns = schema.fields().iter().map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// What is said of the answers beside their rows.
fn description(answers: &[&Answer]) -> Result<HashMap<String, String>, Error> {
    let header: Vec<&str> = answers.iter().map(|answer| &*answer.header).collect();
    let mut described = pairs([
        ("tagq.schema_version", SCHEMA_VERSION.to_string()),
        ("tagq.header", header.join("\n")),
    ]);
    let mut put = |key: &str, value: &Value| {
        described.insert(key.to_owned(), value.to_string());
    };
    if let [Answer { query, run, .. }] = answers {
        put("tagq.query", query);
        put("tagq.run", &serde_json::to_value(run)?);
        return Ok(described);
    }
    let mut runs = Vec::new();
    for Answer { query, run, .. } in answers {
        let mut facts = serde_json::to_value(run)?;
        facts["query"] = query.clone();
        runs.push(facts);
    }
    put("tagq.query", answers.first().map_or(&Value::Null, |first| &first.query));
    put("tagq.runs", &json!(runs));
    Ok(described)
}

fn type_of(values: &Values) -> DataType {
    let list = |of: DataType| DataType::List(item(of));
    match values {
        Values::Counts(_) => DataType::UInt64,
        Values::Integers(_) | Values::SomeIntegers(_) => DataType::Int64,
        Values::Floats(_) => DataType::Float64,
        Values::Flags(_) => DataType::Boolean,
        Values::Channels(_) => DataType::UInt16,
        Values::Groups(_) => list(DataType::UInt16),
        Values::CountLists(_) => list(DataType::UInt64),
        Values::FloatLists(_) => list(DataType::Float64),
    }
}

fn item(of: DataType) -> Arc<Field> {
    Arc::new(Field::new_list_field(of, true))
}

fn array(values: &Values, rows: Range<usize>) -> ArrayRef {
    match values {
        Values::Counts(cells) => {
            Arc::new(UInt64Array::from_iter_values(rows.map(|row| cells.at(row))))
        }
        Values::Integers(cells) => {
            Arc::new(Int64Array::from_iter_values(rows.map(|row| cells.at(row))))
        }
        Values::SomeIntegers(cells) => {
            Arc::new(rows.map(|row| cells.at(row)).collect::<Int64Array>())
        }
        Values::Floats(cells) => Arc::new(rows.map(|row| cells.at(row)).collect::<Float64Array>()),
        Values::Flags(cells) => {
            Arc::new(rows.map(|row| Some(cells.at(row))).collect::<BooleanArray>())
        }
        Values::Channels(cells) => Arc::new(rows.map(|row| cells.at(row)).collect::<UInt16Array>()),
        Values::Groups(cells) => list(cells, rows, UInt16Array::from),
        Values::CountLists(cells) => list(cells, rows, UInt64Array::from),
        Values::FloatLists(cells) => list(cells, rows, Float64Array::from),
    }
}

fn list<T: Clone, A: Array + 'static>(
    cells: &Cells<Vec<T>>,
    rows: Range<usize>,
    array: impl Fn(Vec<T>) -> A,
) -> ArrayRef {
    let lists: Vec<Vec<T>> = rows.map(|row| cells.at(row)).collect();
    let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
    let values: ArrayRef = Arc::new(array(lists.concat()));
    Arc::new(ListArray::new(item(values.data_type().clone()), offsets, values, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray as _;
    use tagq::{ChannelFacts, RunFacts};

    fn answer(path: &str, rows: Columns) -> Answer {
        let run = RunFacts {
            path: path.into(),
            tick: "4000000/1".into(),
            tick_assumed: false,
            commit: 7,
            tags: 3,
            sources: 1,
            live_s: 0.5,
            elapsed_s: 0.5,
            channels: vec![ChannelFacts { channel: 3, name: None, count: 3 }],
            names: Vec::new(),
        };
        Answer { header: format!("of {path}"), query: json!({"kind": "test"}), run, rows }
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
        let answer = answer("a", Columns::default().with("count", Values::Counts(cells)));
        let schema = schema_of_answers(std::slice::from_ref(&answer)).unwrap();
        let batches: Vec<RecordBatch> = batches_of(&schema, &answer).map(Result::unwrap).collect();
        let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows, [BATCH_ROWS, BATCH_ROWS, 1]);
        let last = batches[2].column(0).as_primitive::<arrow_array::types::UInt64Type>().value(0);
        assert_eq!(last, 2 * BATCH_ROWS as u64);
    }

    #[test]
    fn lists_are_lists_and_what_is_not_defined_is_null() {
        let rows = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15], vec![3, 15, 16]].into()))
            .with("count", Values::Counts(vec![61, u64::MAX].into()))
            .with("start_ticks", Values::Integers(vec![-5, i64::MIN].into()))
            .with("car", Values::Floats(vec![None, Some(0.5)].into()))
            .with("partial", Values::Flags(vec![true, false].into()))
            .with("channel", Values::Channels(vec![Some(65_535), None].into()))
            .with("singles", Values::CountLists(vec![vec![], vec![1, 2]].into()))
            .with("g2_covariance", Values::FloatLists(vec![vec![None, Some(2.0)], vec![]].into()));
        let batch = answers(&[answer("a", rows)]).unwrap();
        let lists = batch.column(0).as_list::<i32>();
        assert_eq!(
            lists.value(1).as_primitive::<arrow_array::types::UInt16Type>().values(),
            &[3, 15, 16]
        );
        assert_eq!(
            batch.column(1).as_primitive::<arrow_array::types::UInt64Type>().value(1),
            u64::MAX
        );
        assert!(batch.column(3).is_null(0) && batch.column(5).is_null(1));
        let covariance = batch.column(7).as_list::<i32>().value(0);
        assert!(covariance.is_null(0) && !covariance.is_null(1));
        let metadata = batch.schema_ref().metadata().clone();
        assert_eq!(metadata["tagq.header"], "of a");
        assert_eq!(metadata["tagq.query"], r#"{"kind":"test"}"#);
        assert!(metadata["tagq.run"].contains(r#""commit":7"#));
    }

    #[test]
    fn several_answers_are_one_table() {
        let one = Columns::default().with("count", Values::Counts(vec![1].into()));
        let other = Columns::default()
            .with("count", Values::Counts(vec![2, 3].into()))
            .with("car", Values::Floats(vec![Some(1.0), None].into()));
        let batch = answers(&[answer("a", one), answer("b", other)]).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (3, 3));
        let runs: Vec<_> = batch.column(0).as_string::<i32>().iter().flatten().collect();
        assert_eq!(runs, ["a", "b", "b"]);
        assert!(batch.column(2).is_null(0) && batch.column(2).is_valid(1));
        assert!(batch.schema_ref().metadata()["tagq.runs"].contains(r#""query":{"kind":"test"}"#));
    }
}
