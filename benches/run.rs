//! The run of the benches: eight channels, a tag every 640 ticks, one tag in ten from a true pair, with gaps.

use std::{error::Error, fs, path::PathBuf};

use tagq::store::{Access, Creation, SourceFacts, Store, Tick, Writer};
use tagq_simulate::{Detector, Light, Simulation};

/// Mean ticks between tags, over all channels.
const SPACING: f64 = 640.0;
const CHANNELS: u64 = 8;
/// Fraction of tags that come from pairs.
const PAIRED: f64 = 0.1;

/// Rows per append.
const PIECE_ROWS: usize = 1 << 20;

/// A simulated run in a store.
pub struct Made {
    /// The folder of its store.
    pub folder: PathBuf,
    /// Its rows, mapped.
    pub store: Store,
}

/// Returns a store of about `rows` rows below the target folder. Creates it if it does not exist.
pub fn made_run(rows: u64) -> Result<Made, Box<dyn Error>> {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../target/bench-runs/{rows}.tagq"));
    if let Ok(store) = Store::open(&folder, Access::Mapped)
        && store.gaps().is_some()
    {
        return Ok(Made { folder, store });
    }
    eprintln!("making {}", folder.display());
    // Remove an incomplete earlier attempt or another version.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    make(&folder, rows)?;
    let store = Store::open(&folder, Access::Mapped)?;
    Ok(Made { folder, store })
}

fn make(folder: &std::path::Path, rows: u64) -> Result<(), Box<dyn Error>> {
    let per_channel = 1.0 / SPACING / CHANNELS as f64;
    let pair_rate = per_channel * PAIRED;
    let detector = |channel| Detector {
        channel,
        efficiency: 1.0,
        dark_rate: per_channel - pair_rate,
        jitter: 2.0,
        delay: 0.0,
        dead_time: 0,
    };
    #[expect(clippy::cast_possible_truncation, reason = "some 1e12 ticks")]
    let duration = (rows as f64 * SPACING) as i64;
    let simulation = Simulation {
        light: Light::Pairs { rate: pair_rate, pulse_period: None, beam_splitter: false },
        detectors: (1..=CHANNELS).map(detector).collect(),
        drift: None,
        clock: None,
        start: 0,
        duration,
        seed: 1,
    };
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
    let mut writer = Writer::open(folder, &creation)?;
    writer.make_gaps()?;
    writer.begin_source();
    let mut tags = simulation.tags()?;
    let (mut time, mut channel) = (Vec::new(), Vec::new());
    while let Some(slab) = tags.next_slab() {
        for tag in slab {
            time.push(tag.time);
            channel.push(u16::try_from(tag.channel)?);
        }
        // Append in pieces as large as those of an ingest, because the size of the writes determines how the
        // system caches a file and what mapping it costs.
        if time.len() >= PIECE_ROWS {
            writer.append(&time, &channel)?;
            time.clear();
            channel.clear();
        }
    }
    writer.append(&time, &channel)?;
    writer.finish_source(SourceFacts::named("simulated"));
    Ok(writer.commit()?)
}
