//! Names and metadata of the columns of tags.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tagq::{Run, store::Channels};

use crate::{selection::Selection, unit::TimeUnit};

/// Returns the schema of tags: `time` in ticks, `channel`, and a float of the time if requested.
pub(crate) fn of_tags(run: &Run, selection: &Selection) -> SchemaRef {
    let manifest = run.store().manifest();
    let mut fields = Vec::new();
    let tick = ("tagq.tick", manifest.tick.fraction());
    if selection.columns.time {
        let field = Field::new("time", DataType::Int64, false);
        fields.push(field.with_metadata(pairs([("tagq.unit", "tick".into()), tick.clone()])));
    }
    if selection.columns.channel {
        let width = match run.store().tags().channels {
            Channels::U8(_) => DataType::UInt8,
            Channels::U16(_) => DataType::UInt16,
        };
        fields.push(Field::new("channel", width, false));
    }
    if let Some(unit) = selection.time_unit {
        fields.push(of_unit(unit, manifest.time_first.unwrap_or(0)));
    }
    let metadata = pairs([
        tick,
        ("tagq.tick_s", manifest.tick.seconds().to_string()),
        ("tagq.tick_assumed", manifest.tick_assumed.to_string()),
        ("tagq.run", run.path().display().to_string()),
        ("tagq.commit", manifest.commit.to_string()),
    ]);
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

fn of_unit(unit: TimeUnit, offset: i64) -> Field {
    Field::new(unit.column(), DataType::Float64, false).with_metadata(pairs([
        ("tagq.unit", unit.name().into()),
        ("tagq.offset_ticks", offset.to_string()),
    ]))
}

pub(crate) fn pairs<const N: usize>(pairs: [(&str, String); N]) -> HashMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
