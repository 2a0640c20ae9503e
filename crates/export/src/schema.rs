//! Names and metadata of the columns of tags.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tagq::{
    Recorded, Run,
    store::{Channels, MicroColumn, Recording, TimeUnit},
};

use crate::selection::Selection;

/// Returns the schema of tags: `time` in ticks, `channel`, `micro` if the run has micro times, and a float of the
/// time if requested.
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
    let micro_tick =
        manifest.micro_tick.map(|tick| ("tagq.micro_tick".to_owned(), tick.fraction()));
    if let Some(micro) = run.store().micro().filter(|_| selection.columns.micro) {
        let width = match micro {
            MicroColumn::U16(_) => DataType::UInt16,
            MicroColumn::U32(_) => DataType::UInt32,
        };
        let unit = ("tagq.unit".to_owned(), "micro_tick".to_owned());
        let metadata = [unit].into_iter().chain(micro_tick.clone()).collect();
        fields.push(Field::new("micro", width, true).with_metadata(metadata));
    }
    if let Some(unit) = selection.time_unit {
        fields.push(of_unit(unit, manifest.time_first.unwrap_or(0)));
    }
    let mut metadata = pairs([
        tick,
        ("tagq.tick_s", manifest.tick.seconds().to_string()),
        ("tagq.tick_assumed", manifest.tick_assumed.to_string()),
        ("tagq.run", run.path().display().to_string()),
        ("tagq.commit", manifest.commit.to_string()),
    ]);
    metadata.extend(micro_tick);
    let Recorded { mut recording, .. } = Recorded::of(run);
    selection.left_out.add_to(&mut recording);
    if recording != Recording::default() {
        let text = serde_json::to_string(&recording).ok();
        metadata.extend(text.map(|text| ("tagq.recording".into(), text)));
    }
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
