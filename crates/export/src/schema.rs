//! Names and metadata of the columns of tags.
//!
//! The tick is written as a fraction of attoseconds, `156250000/1` for 156.25 ps, so that no reader has to round it.

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tagq::{
    Run, TagSelection,
    files::write::Times,
    store::{Channels, MicroColumn, Recording, Tick, TimeUnit},
};

/// Returns the schema of tags: `time` in ticks, `channel`, `micro` if the run has micro times, and a float of the
/// time if requested.
pub(crate) fn of_tags(run: &Run, selection: &TagSelection) -> SchemaRef {
    let manifest = run.store().manifest();
    let mut fields = Vec::new();
    if selection.columns.time {
        fields.push(of_times(manifest.tick));
    }
    if selection.columns.channel {
        let width = match run.store().tags().channels {
            Channels::U8(_) => DataType::UInt8,
            Channels::U16(_) => DataType::UInt16,
        };
        fields.push(Field::new("channel", width, false));
    }
    if let Some(micro) = run.store().micro().filter(|_| selection.columns.micro) {
        let width = match micro {
            MicroColumn::U16(_) => DataType::UInt16,
            MicroColumn::U32(_) => DataType::UInt32,
        };
        fields.push(of_micro(width, manifest.micro_tick));
    }
    if let Some(unit) = selection.time_unit {
        fields.push(of_unit(unit, manifest.time_first.unwrap_or(0)));
    }
    let recording = selection.recorded(run).recording;
    let mut metadata = described(manifest.tick, manifest.micro_tick, &recording);
    metadata.extend(pairs([
        ("tagq.tick_assumed", manifest.tick_assumed.to_string()),
        ("tagq.run", run.path().display().to_string()),
        ("tagq.commit", manifest.commit.to_string()),
    ]));
    Arc::new(Schema::new(fields).with_metadata(metadata))
}

/// Returns the schema of the tags of a file.
pub(crate) fn of_file(times: Times, recording: &Recording) -> SchemaRef {
    let Times { tick, micro_tick, .. } = times;
    let mut fields = vec![of_times(tick), Field::new("channel", DataType::UInt16, false)];
    fields.extend(micro_tick.map(|_| of_micro(DataType::UInt32, micro_tick)));
    Arc::new(Schema::new(fields).with_metadata(described(tick, micro_tick, recording)))
}

fn of_times(tick: Tick) -> Field {
    let metadata = pairs([("tagq.unit", "tick".into()), ("tagq.tick", tick.fraction())]);
    Field::new("time", DataType::Int64, false).with_metadata(metadata)
}

fn of_micro(width: DataType, micro_tick: Option<Tick>) -> Field {
    let unit = ("tagq.unit".to_owned(), "micro_tick".to_owned());
    let tick = micro_tick.map(|tick| ("tagq.micro_tick".to_owned(), tick.fraction()));
    Field::new("micro", width, true).with_metadata([unit].into_iter().chain(tick).collect())
}

fn described(
    tick: Tick,
    micro_tick: Option<Tick>,
    recording: &Recording,
) -> HashMap<String, String> {
    let mut metadata =
        pairs([("tagq.tick", tick.fraction()), ("tagq.tick_s", tick.seconds().to_string())]);
    metadata.extend(micro_tick.map(|tick| ("tagq.micro_tick".to_owned(), tick.fraction())));
    if *recording != Recording::default() {
        let text = serde_json::to_string(recording).ok();
        metadata.extend(text.map(|text| ("tagq.recording".into(), text)));
    }
    metadata
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
