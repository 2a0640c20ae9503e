//! Runs of any size with known answers: copies of one run, each later than the previous one.

use std::{error::Error, fs, path::PathBuf};

use tagq::store::{Access, Channels, Creation, SourceFacts, Store, Tick, Writer};

use crate::{Made, made_run};

/// Approximate number of rows of the run that is copied.
pub const PART_ROWS: u64 = 10_000_000;
/// Ticks between the last tag of a copy and the first of the next, 1 ms. This is more than any window, range
/// or delay of the benches, so no pair spans two copies, and every count is a multiple.
pub const GAP: i64 = 6_400_000;
/// Rows per write.
const SLAB_ROWS: usize = 1 << 20;

/// Returns a store of one source that contains the run of [`PART_ROWS`] `copies` times in sequence. Creates
/// it below the target folder if it does not exist.
pub fn made_copies(copies: u32) -> Result<Made, Box<dyn Error>> {
    let part = made_run(PART_ROWS)?;
    if copies == 1 {
        return Ok(part);
    }
    let folder = folder_of(copies);
    if let Ok(store) = Store::open(&folder, Access::Mapped) {
        return Ok(Made { folder, store });
    }
    eprintln!("making {}", folder.display());
    // Remove an incomplete earlier attempt.
    remove_copies(copies)?;
    let tags = part.store.tags();
    let Channels::U8(label) = tags.channels else { return Err("a narrow column expected".into()) };
    let labels: Vec<u16> = label.all().iter().copied().map(u16::from).collect();
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
    let mut writer = Writer::open(&folder, &creation)?;
    writer.begin_source();
    let times = tags.time.to_vec();
    let step = times[times.len() - 1] - times[0] + GAP;
    let mut later = Vec::with_capacity(SLAB_ROWS);
    for copy in 0..i64::from(copies) {
        for (time, label) in times.chunks(SLAB_ROWS).zip(labels.chunks(SLAB_ROWS)) {
            later.clear();
            later.extend(time.iter().map(|time| time + copy * step));
            writer.append(&later, label)?;
        }
    }
    writer.finish_source(SourceFacts::named("copies"));
    writer.commit()?;
    let store = Store::open(&folder, Access::Mapped)?;
    Ok(Made { folder, store })
}

/// Removes the store of `copies` copies, if it exists.
pub fn remove_copies(copies: u32) -> std::io::Result<()> {
    let folder = folder_of(copies);
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

fn folder_of(copies: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../target/bench-runs/{copies}-copies.tagq"))
}
