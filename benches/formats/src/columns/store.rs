//! The store of tagq, without and with the column of gaps.

use std::path::Path;

use tagq_query::{Coincidences, Execution, Groups, Kind as _, Lookup, Recording, Rule, Scope};
use tagq_store::{
    Access as StoreAccess, Channels, Creation, SourceFacts, Store, Tag, Tick, Writer,
};

use crate::{
    Result,
    compression::Compression,
    format::{Access, Compressions, Format, Rows, Sink, remove},
    source::{BATCH_TAGS, TagReader},
    walk::{Counts, Walk},
};

/// Stores.
#[derive(Debug, Clone, Copy)]
pub struct TagqStore {
    gaps: bool,
}

impl TagqStore {
    /// Without the column of gaps.
    pub const PLAIN: Self = Self { gaps: false };
    /// With the column of gaps, as `tagq ingest` makes it.
    pub const WITH_GAPS: Self = Self { gaps: true };
}

/// Tags of an append, as many as an ingest appends at once.
const APPEND_TAGS: usize = 1 << 20;

impl Format for TagqStore {
    fn name(&self) -> &'static str {
        if self.gaps { "store-gaps" } else { "store" }
    }

    fn settings(&self) -> String {
        let columns =
            if self.gaps { "time i64, channel u8, gap u16" } else { "time i64, channel u8" };
        format!("tagq-store, {columns}, indexes, checksums, manifest")
    }

    fn compressions(&self) -> Compressions {
        Compressions { measured: &[Compression::None], reason: "mapped as it is" }
    }

    fn write(&self, path: &Path, _: Compression, tags: &mut TagReader) -> Result<()> {
        remove(path)?;
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: false, run_id: None };
        let mut writer = Writer::open(path, &creation)?;
        if self.gaps {
            writer.make_gaps()?;
        }
        writer.begin_source();
        let (mut time, mut channel) = (Vec::new(), Vec::new());
        while let Some(batch) = tags.next_batch()? {
            time.extend(batch.iter().map(|tag| tag.time));
            for tag in batch {
                channel.push(u16::try_from(tag.channel)?);
            }
            if time.len() >= APPEND_TAGS {
                writer.append(&time, &channel)?;
                time.clear();
                channel.clear();
            }
        }
        writer.append(&time, &channel)?;
        writer.finish_source(SourceFacts::named("tags"));
        Ok(writer.commit()?)
    }

    fn read(&self, path: &Path, _: Compression, sink: &mut Sink<'_>) -> Result<()> {
        let store = Store::open(path, StoreAccess::Mapped)?;
        let rows = store.tags();
        let (mut tags, mut buffer) = (Vec::new(), Vec::new());
        for start in (0..rows.len()).step_by(BATCH_TAGS) {
            let part = rows.rows(start..(start + BATCH_TAGS).min(rows.len()));
            let labels = labels(part.channels)?;
            tags.clear();
            let times = part.time.read(0..part.len(), &mut buffer);
            let rows = times.iter().zip(labels);
            tags.extend(rows.map(|(&time, &channel)| Tag { time, channel: channel.into() }));
            sink(&tags)?;
        }
        Ok(())
    }

    fn access(&self) -> Access {
        Access::InPlace("columns, mapped; by the block index")
    }

    fn open(&self, path: &Path) -> Result<Box<dyn Rows>> {
        Ok(Box::new(StoreRows::open(path)?))
    }
}

fn labels(channels: Channels<'_>) -> Result<&[u8]> {
    match channels {
        Channels::U8(labels) => Ok(labels.all()),
        Channels::U16(_) => Err("channels of two bytes".into()),
    }
}

/// An open store.
struct StoreRows(Store);

impl StoreRows {
    fn open(path: &Path) -> Result<Self> {
        Ok(Self(Store::open(path, StoreAccess::Mapped)?))
    }

    fn tag(&self, row: usize) -> Option<Tag> {
        let tags = self.0.tags();
        let time = tags.time.get(row)?;
        Some(Tag { time, channel: tags.channels.label(row).into() })
    }
}

impl Rows for StoreRows {
    fn first_at(&self, time: i64) -> Result<Option<Tag>> {
        Ok(self.tag(Lookup::of(&self.0).row(time)?))
    }

    fn find(&self, times: &[i64], sink: &mut dyn FnMut(Option<Tag>)) -> Result<()> {
        let lookup = Lookup::of(&self.0);
        for &time in times {
            sink(self.tag(lookup.row(time)?));
        }
        Ok(())
    }

    fn scan(&self, walk: &mut Walk) -> Result<()> {
        let tags = self.0.tags();
        let labels = labels(tags.channels)?;
        let mut buffer = Vec::new();
        for rows in tags.time.pieces() {
            let first = rows.start;
            let times = tags.time.read(rows.clone(), &mut buffer);
            walk.batch(rows, |row| (times[row - first], labels[row]));
        }
        Ok(())
    }

    fn query(&self, window: i64) -> Option<Result<Counts>> {
        Some(count(&self.0, window))
    }
}

/// Counts pairs by a query, on the threads of the rayon pool that this is called in. Tags of each channel are known
/// to the manifest.
fn count(store: &Store, window: i64) -> Result<Counts> {
    let (groups, rule, scope) = (Groups::EveryPair, Rule::All, Scope::default());
    let query = Coincidences { groups, rule, window, veto: None, scope };
    let counted = query.run(&Recording::of(store), &Execution::best())?;
    let mut singles = vec![0; 256];
    for of_channel in &store.manifest().channels {
        singles[usize::from(of_channel.channel)] += of_channel.rows;
    }
    Ok(Counts { singles, pairs: counted.rows.iter().map(|row| row.count).sum() })
}
