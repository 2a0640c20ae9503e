//! The notes of a recorder next to a source: the run file `<UTC>_<name>.json` next to `<UTC>_<name>.tags.zst`.
//!
//! Its settings are shown and never applied, because the hardware of the recorder already applied them. Its counts are
//! compared with the ingested ones. Its duration is in steps of 5 ns: 200,000,000 of them are 1 s.

use std::{io, path::Path};

use serde::{Deserialize, Serialize};
use tagq_ingest::{RunFile, source_stem};
use tagq_store::{Source, Tick, read_side_file};

/// The unit of the duration in a run file.
const STEP_S: f64 = 5e-9;
/// Maximum size of a run file in bytes; the file of a recorder has some thousand bytes.
const BYTES_MAX: u64 = 4 << 20;

/// The notes of a recorder on one source. Other keys are ignored.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Notes {
    /// Description of the run, written by the user.
    pub description: String,
    /// Start time, as the recorder wrote it.
    pub timestamp: Option<String>,
    /// Duration of the recording, in steps of 5 ns.
    pub duration: Option<u64>,
    /// Counts of its channels.
    pub singles: Vec<Singles>,
    /// Settings of its inputs.
    pub channel_settings: Vec<ChannelSettings>,
}

/// One entry of the singles of a recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Singles {
    /// The channel was requested.
    Channel(u64),
    /// The number of tags on this channel.
    ChannelCounts(u64, u64),
}

/// Settings of an input. Applied by the hardware of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub struct ChannelSettings {
    /// The channel.
    pub channel: u64,
    /// Whether falling edges were recorded.
    #[serde(default)]
    pub invert: Option<bool>,
    /// The delay in ticks of the recorder.
    #[serde(default)]
    pub delay: Option<i64>,
    /// The threshold in volts.
    #[serde(default)]
    pub threshold: Option<f64>,
}

impl Notes {
    /// Returns the notes next to the source at `path`; `None` if there are none.
    ///
    /// # Errors
    /// A message: the file cannot be read, or its content is not what recorders write.
    pub fn beside(path: &Path) -> Result<Option<Self>, String> {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Ok(None) };
        let Some(stem) = source_stem(name.as_bytes()) else { return Ok(None) };
        let stem = String::from_utf8_lossy(stem);
        let path = path.with_file_name(format!("{stem}.json"));
        let name = format!("{stem}.json");
        match read_side_file(&path, BYTES_MAX) {
            // It is for the reader of the file, and has no counts of a recorder.
            Ok(bytes) if RunFile::is_text(&bytes) => Ok(None),
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|e| {
                format!("{name} is no run file of a recorder ({e}); nothing is held against it")
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{name} cannot be read ({e}); nothing is held against it")),
        }
    }

    /// Returns the duration of the recording in seconds.
    pub fn duration_s(&self) -> Option<f64> {
        self.duration.map(|steps| steps as f64 * STEP_S)
    }

    /// Describes the differences between the ingested source and the notes. The tags may span slightly
    /// less time than the recording.
    pub fn differences(&self, source: &Source, tick: Tick) -> Vec<String> {
        let mut differences = Vec::new();
        for single in &self.singles {
            let &Singles::ChannelCounts(channel, noted) = single else { continue };
            let of = source.channels.iter().find(|of| u64::from(of.channel) == channel);
            let found = of.map_or(0, |of| of.rows);
            if found != noted {
                differences.push(format!(
                    "the recorder counted {noted} tags on channel {channel}, the source has {found}"
                ));
            }
        }
        let span = source.time_first.zip(source.time_last);
        let (Some(noted), Some((first, last))) = (self.duration_s(), span) else {
            return differences;
        };
        let found = tick.seconds_of(i128::from(last) - i128::from(first));
        // Before the first tag and after the last one there are at most a few gaps, but a wrong tick
        // causes a much larger difference.
        let spacing = found / source.rows as f64;
        if (found - noted).abs() > 0.01 * noted + 10.0 * spacing {
            differences.push(format!(
                "the recorder noted {noted} s, the tags span {found} s at a tick of {tick}; is \
                 the tick right?"
            ));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tagq_store::{ChannelRows, SourceFacts};

    /// A run file as a recorder writes it.
    const WRITTEN: &str = r#"{
        "description": "HBT, 2 detectors", "version": "0.8.0",
        "timestamp": "2022-01-19T12:35:01Z", "limit": {"duration": "2s"},
        "save_counts": true, "save_tags": {"tag_file": "20220119T123501Z_hbt.tags.zst"},
        "tagmask": 16388, "duration": 400000000,
        "singles": [{"channel_counts": [3, 900]}, {"channel": 16}, {"channel_counts": [15, 1100]}],
        "coincidences": [{"channels_counts": [3, 15, 13, 61]}],
        "channel_settings": [{"channel": 3, "invert": false, "delay": 26, "threshold": -0.5}]
    }"#;

    /// Tags over 2 s except 1 ms at either end: 12,787,200,000 ticks of 156.25 ps.
    fn source(rows: [u64; 2], ticks: i64) -> Source {
        let channels = [3, 15].into_iter().zip(rows);
        Source {
            facts: SourceFacts::named("20220119T123501Z_hbt.tags.zst"),
            rows: rows.iter().sum(),
            time_first: Some(6_400_000),
            time_last: Some(6_400_000 + ticks),
            channels: channels.map(|(channel, rows)| ChannelRows { channel, rows }).collect(),
        }
    }

    #[test]
    fn a_run_file_is_read_and_held_against_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let tags = folder.path().join("20220119T123501Z_hbt.tags.zst");
        assert_eq!(Notes::beside(&tags), Ok(None));
        fs::write(folder.path().join("20220119T123501Z_hbt.json"), WRITTEN).unwrap();
        let notes = Notes::beside(&tags).unwrap().unwrap();
        assert_eq!(notes.duration_s(), Some(2.0));
        assert_eq!(notes.channel_settings[0].delay, Some(26));

        let ticks = 12_787_200_000;
        let none: [&str; 0] = [];
        assert_eq!(notes.differences(&source([900, 1100], ticks), Tick::DEFAULT), none);
        assert_eq!(
            notes.differences(&source([900, 1099], ticks), Tick::DEFAULT),
            ["the recorder counted 1100 tags on channel 15, the source has 1099"]
        );
        // 2 s match 1.998 s, unless the tick is wrong by 2 %.
        let wrong = notes.differences(&source([900, 1100], ticks / 100 * 98), Tick::DEFAULT);
        assert!(wrong[0].contains("is the tick right?"), "{wrong:?}");
    }

    #[test]
    fn a_file_that_is_no_run_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "[1, 2]").unwrap();
        let error = Notes::beside(&folder.path().join("a.tags")).unwrap_err();
        assert!(error.starts_with("a.json is no run file of a recorder"), "{error}");
        assert_eq!(Notes::beside(&folder.path().join("a.other")), Ok(None));
    }
}
