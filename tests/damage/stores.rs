//! The stores that are damaged, and their files.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use tagq::store::{
    Creation, Recording, RunId, SourceFacts, Tick, Writer,
    format::{BLOCK_ROWS, HEADER_BYTES},
};

/// A store in a folder of its own.
pub struct Made {
    folder: tempfile::TempDir,
    /// The version of its format.
    pub version: u32,
}

impl Made {
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A file of a store.
pub struct File {
    pub path: PathBuf,
    /// As the table names it.
    pub kind: &'static str,
    /// The intact bytes.
    pub bytes: Vec<u8>,
    /// The bytes of committed values.
    pub values: Range<usize>,
}

/// All versions of the format.
pub const VERSIONS: [u32; 4] = [4, 3, 2, 1];

/// Returns stores of each version: with a tag about each 25 ticks and with one about each 40,000 ticks. Labels are 1
/// to 4.
pub fn stores() -> Vec<Made> {
    VERSIONS.iter().flat_map(|&version| [25, 40_000].map(|mean| made(mean, version))).collect()
}

/// Makes a store of two sources, which end inside of blocks: of version 1 with times alone, else with micro times, of
/// version 2 with times and gaps, of version 4 with dead spans before all of its tags.
fn made(mean: i64, version: u32) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let creation =
        Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: Some(RunId([7; 16])) };
    let mut writer = Writer::open(folder.path(), &creation).unwrap();
    let dead: Vec<(i64, i64)> = (1..=5_000).map(|i| (-10 * i, -10 * i + 5)).rev().collect();
    match version {
        1 => {}
        2 => writer.make_gaps().unwrap(),
        _ => writer.drop_times().unwrap(),
    }
    if version > 1 {
        writer.set_micro_tick("4ps".parse().unwrap()).unwrap();
    }
    let (mut time, mut state) = (1_000_i64, 1_u64);
    let mut random = |end: i64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).unwrap() % end
    };
    for (name, rows) in [("a", BLOCK_ROWS + 30_000), ("b", BLOCK_ROWS)] {
        writer.begin_source();
        let mut tags = Vec::new();
        for _ in 0..rows {
            // One in five is within the window of the tag before it.
            time += if random(5) == 0 { random(20) } else { random(2 * mean) };
            tags.push((
                time,
                u16::try_from(1 + random(4)).unwrap(),
                u32::try_from(random(3_000)).unwrap(),
            ));
        }
        let times: Vec<i64> = tags.iter().map(|tag| tag.0).collect();
        let labels: Vec<u16> = tags.iter().map(|tag| tag.1).collect();
        let micro: Vec<u32> = tags.iter().map(|tag| tag.2).collect();
        if version > 1 {
            writer.append_with_micro(&times, &labels, &micro).unwrap();
        } else {
            writer.append(&times, &labels).unwrap();
        }
        let recording = Recording { dead: dead.clone(), ..Recording::default() };
        let recording = (version == 4).then_some(recording);
        writer.finish_source(SourceFacts { recording, ..SourceFacts::named(name) });
    }
    writer.commit().unwrap();
    assert_eq!(writer.manifest().has_times(), version <= 2);
    Made { folder, version }
}

/// Returns the manifest and all files of a store with values, in alphabetical order.
pub fn files(store: &Path) -> Vec<File> {
    let kinds = [
        ("time", "times"),
        ("channel", "labels"),
        ("micro", "micro times"),
        ("gap", "gaps"),
        ("far", "far distances"),
        ("steps", "steps"),
        ("gaps", "checksums of gaps"),
        ("blocks", "index of blocks"),
        ("counts", "counts of blocks"),
        ("dead", "dead spans"),
        ("manifest", "manifest"),
    ];
    let mut paths: Vec<PathBuf> =
        fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let file = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let stem = name.split('.').next()?;
        let (_, kind) = kinds.into_iter().find(|(of, _)| *of == stem)?;
        let bytes = fs::read(&path).unwrap();
        let start = if stem == "manifest" { 0 } else { HEADER_BYTES };
        Some(File { path, kind, values: start..bytes.len(), bytes })
    };
    // Everything but the lock.
    let all = paths.len() - 1;
    let files: Vec<File> = paths.into_iter().filter_map(file).collect();
    assert_eq!(files.len(), all);
    files
}
