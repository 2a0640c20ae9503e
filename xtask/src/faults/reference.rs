//! Expected content of a store: its columns and indexes byte for byte, its manifest, its answer.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{ErrorKind, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::{Checked, program};

const HEADER_BYTES: u64 = 4096;
const PARTS: [&str; 8] = ["time", "channel", "blocks", "counts", "gap", "gaps", "far", "steps"];

/// Content of a store, without the parts that differ between two stores of the same tags: the run id, the
/// number of its commit, the names of its files, and the times and paths of its sources.
#[derive(Debug, PartialEq)]
pub(super) struct Content {
    pub sources: usize,
    manifest: Value,
    parts: [Vec<u8>; PARTS.len()],
    answer: Value,
}

impl Content {
    /// Reads the last commit of the store. Returns `None` if it has none.
    pub(super) fn read(program: &Path, store: &Path) -> Checked<Option<Self>> {
        let text = match fs::read(store.join("manifest.json")) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            text => text?,
        };
        let mut manifest: Value = serde_json::from_slice(&text)?;
        let rows = manifest["rows"].as_u64().ok_or("no rows in the manifest")?;
        let (blocks, counts) = (rows / 65_536, manifest["count_entries"].as_u64().unwrap_or(0));
        let (far, steps) = (manifest["far_entries"].as_u64().unwrap_or(0), rows.div_ceil(1_024));
        let values = [rows, rows, blocks, counts, rows, blocks, far, steps];
        let mut parts = [const { Vec::new() }; PARTS.len()];
        for ((part, name), values) in parts.iter_mut().zip(PARTS).zip(values) {
            let file = &manifest["files"][name];
            // Times are a column or sums of distances.
            if file.is_null() && ["time", "far", "steps"].contains(&name) {
                continue;
            }
            let name = file["name"].as_str().ok_or("a file without a name")?;
            let width = file["width"].as_u64().ok_or("a file without a width")?;
            *part = values_of(&store.join(name), values * width)?;
        }
        forget(&mut manifest, &["run_id", "commit", "crc32c"]);
        for part in PARTS {
            forget(&mut manifest["files"][part], &["name"]);
        }
        let sources = manifest["sources"].as_array_mut().ok_or("no list of sources")?;
        for source in &mut *sources {
            forget(source, &["mtime_ns", "inode"]);
        }
        let sources = sources.len();
        Ok(Some(Self { sources, manifest, parts, answer: answer(program, store)? }))
    }

    /// Returns the first difference between `self` and a store that should be equal.
    pub(super) fn difference(&self, found: &Self) -> Option<String> {
        for (i, name) in PARTS.into_iter().enumerate() {
            let (expected, found) = (&self.parts[i], &found.parts[i]);
            if expected != found {
                let at = expected.iter().zip(found).position(|(a, b)| a != b);
                let (a, b) = (expected.len(), found.len());
                return Some(format!("{name}: {a} bytes expected, {b} found, parting at {at:?}"));
            }
        }
        let whole = [("manifest", &self.manifest, &found.manifest)];
        let whole = whole.into_iter().chain([("answer", &self.answer, &found.answer)]);
        whole
            .into_iter()
            .find(|(_, expected, found)| expected != found)
            .map(|(what, expected, found)| format!("{what}: expected {expected}, found {found}"))
    }

    /// Returns whether times have a column.
    pub(super) fn has_times(&self) -> bool {
        self.manifest["files"]["time"].is_object()
    }

    /// Returns its times, in the way in which docs/format.md says it.
    fn times(&self) -> Vec<i64> {
        let [time, _, _, _, gap, _, far, _] = &self.parts;
        if self.has_times() {
            return time.as_chunks().0.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect();
        }
        let far: Vec<u64> = if self.manifest["files"]["far"]["width"] == 8 {
            far.as_chunks().0.iter().map(|&far| u64::from_le_bytes(far)).collect()
        } else {
            far.as_chunks().0.iter().map(|&far| u32::from_le_bytes(far).into()).collect()
        };
        let mut far = far.into_iter();
        let mut gaps = gap.as_chunks().0.iter().map(|&gap| u16::from_le_bytes(gap));
        let mut times = Vec::new();
        for source in self.manifest["sources"].as_array().into_iter().flatten() {
            let rows = source["rows"].as_u64().unwrap_or(0);
            let mut time = source["time_first"].as_i64().unwrap_or(0);
            for _ in 0..rows {
                let distance = match gaps.next() {
                    Some(u16::MAX) | None => far.next().unwrap_or(0),
                    Some(gap) => gap.into(),
                };
                time = time.wrapping_add_unsigned(distance);
                times.push(time);
            }
        }
        times
    }

    /// Returns its tags: channel and time.
    pub(super) fn tags(&self) -> Vec<(u16, i64)> {
        let channel = &self.parts[1];
        let wide = self.manifest["files"]["channel"]["width"] == 2;
        let labels: Vec<u16> = if wide {
            channel.as_chunks().0.iter().map(|&bytes| u16::from_le_bytes(bytes)).collect()
        } else {
            channel.iter().map(|&label| label.into()).collect()
        };
        labels.into_iter().zip(self.times()).collect()
    }
}

/// Returns the file of a store that has this key in the manifest.
pub(super) fn file_of(store: &Path, key: &str) -> Checked<PathBuf> {
    let manifest: Value = serde_json::from_slice(&fs::read(store.join("manifest.json"))?)?;
    let name = manifest["files"][key]["name"].as_str();
    Ok(store.join(name.ok_or_else(|| format!("no file of {key}"))?))
}

/// Returns the answer of the last commit, without the names of run and commit.
fn answer(program: &Path, store: &Path) -> Checked<Value> {
    let mut command = Command::new(program);
    command.args(["coincidences", "--no-ingest", "--window", "2ns", "--format", "json"]);
    let ended = program::run_well(command.arg(store))?;
    let mut answer: Value = serde_json::from_slice(&ended.stdout)?;
    forget(&mut answer["run"], &["path", "store", "commit"]);
    forget_paths(&mut answer);
    Ok(answer)
}

/// Removes the paths of the runs from the provenance of an answer.
pub(super) fn forget_paths(answer: &mut Value) {
    for run in answer["provenance"]["runs"].as_array_mut().into_iter().flatten() {
        forget(run, &["path"]);
    }
}

/// Returns the files of a writer that the last commit of `store` does not name.
pub(super) fn debris(store: &Path) -> Checked<Vec<String>> {
    let manifest: Value = serde_json::from_slice(&fs::read(store.join("manifest.json"))?)?;
    let named = PARTS.map(|part| manifest["files"][part]["name"].as_str().unwrap_or_default());
    let named: BTreeSet<&str> = named.into_iter().chain(["lock", "manifest.json"]).collect();
    let mut debris = Vec::new();
    for entry in fs::read_dir(store)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_ours = [".col", ".idx", ".new"].iter().any(|end| name.ends_with(end));
        if is_ours && !named.contains(name.as_str()) {
            debris.push(name);
        }
    }
    Ok(debris)
}

fn values_of(path: &Path, len: u64) -> Checked<Vec<u8>> {
    let read = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(HEADER_BYTES))?;
        let mut bytes = Vec::new();
        file.take(len).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    let bytes = read().map_err(|e| format!("{}: {e}", path.display()))?;
    if bytes.len() as u64 == len {
        return Ok(bytes);
    }
    Err(format!("{}: {len} bytes of values committed, {} there", path.display(), bytes.len())
        .into())
}

fn forget(value: &mut Value, keys: &[&str]) {
    if let Value::Object(object) = value {
        object.retain(|key, _| !keys.contains(&key.as_str()));
    }
}
