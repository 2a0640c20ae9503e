//! The first rows of a store, as if nothing had been appended since.
//!
//! The first 100,000 rows of a larger store are one full block, and a last block of 34,464 rows whose checksums are
//! made here. The rows are compared with the checksums of their block before, because checksums made of damaged rows
//! would be right.

use std::ops::Range;

use super::Store;
use crate::{
    ChannelRows, Error, Manifest, ResumePoint, Source, decode,
    files::{FileKind, PerFile},
    format::{BLOCK_ROWS, STEP_ROWS},
    manifest::LastBlock,
    row_values::CheckRows as _,
    snapshot::tags::Channels,
};

impl Store {
    /// Returns the manifest that the store would have if it ended after its first `rows` rows, for
    /// [`Store::open_prefix`]. Reads the index, and the rows after the last full block of these.
    ///
    /// # Errors
    /// [`Error::OtherRows`] if it has fewer rows, [`Error::Damaged`] if its index is damaged, [`Error::Io`].
    pub fn first_rows(&self, rows: u64) -> Result<Manifest, Error> {
        let whole = &self.manifest;
        if rows > whole.rows || !self.has_rows() {
            let what = "it has fewer rows";
            return Err(Error::OtherRows { path: self.folder.clone(), rows, what });
        }
        if rows == whole.rows {
            return Ok(whole.clone().with_all_dead());
        }
        let blocks = self.blocks()?;
        let full = rows / BLOCK_ROWS as u64;
        let (before, _) = blocks.split_at(usize::try_from(full).unwrap_or(blocks.len()));
        let chain = self.mark(full * BLOCK_ROWS as u64)?.map_or(0, |mark| mark.chain);
        let last_block = self.guarded(|store| store.last_block_of(rows))??;
        let mut channels = Counts::default();
        before.iter().flat_map(|block| &block.channels).for_each(|of| channels.add(of));
        last_block.iter().flat_map(|last| &last.counts).for_each(|of| channels.add(of));
        let last_of = |block: &crate::Block| block.time_max;
        let time_last = last_block.as_ref().map(|last| last.time_max);
        let time_last = time_last.or_else(|| before.last().map(last_of));
        let mut first = Manifest {
            rows,
            time_first: whole.time_first.filter(|_| rows > 0),
            time_last,
            sources: first_sources(whole, rows, time_last, channels.clone()),
            channels: channels.0,
            count_entries: before.iter().map(|block| block.channels.len() as u64).sum(),
            far_entries: whole.far_entries.map(|_| self.far_before(rows)),
            chain,
            last_block,
            ..whole.clone().with_all_dead()
        };
        first.set_version();
        first.checked(&self.folder)
    }

    /// How many far distances the first `rows` rows have.
    fn far_before(&self, rows: u64) -> u64 {
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let step = rows / STEP_ROWS;
        let far = self.steps().get(step).map_or(self.far.end as u64, |step| step.far);
        let gaps = self
            .gaps()
            .filter(|gaps| rows <= gaps.len())
            .map(|gaps| gaps.read(step * STEP_ROWS..rows));
        far + gaps.map_or(0, decode::far_rows) as u64
    }

    /// The far distances of these rows of a store that was opened as a whole.
    fn far_of(&self, rows: Range<usize>) -> Option<Range<usize>> {
        let before = |row: usize| usize::try_from(self.far_before(row as u64)).ok();
        Some(before(rows.start)?..before(rows.end)?)
    }

    /// The entry of the block that would not be full after `rows` rows.
    fn last_block_of(&self, rows: u64) -> Result<Option<LastBlock>, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "rows of an opened column")]
        let range = (rows - rows % BLOCK_ROWS as u64) as usize..rows as usize;
        let tags = self.tags();
        let missing = || Error::OtherRows {
            path: self.folder.clone(),
            rows,
            what: "it was not opened as a whole",
        };
        if self.opened() != (0..tags.len()) || tags.len() < range.end {
            return Err(missing());
        }
        // Checksums made of damaged rows would be right.
        self.check_rows(self.kinds(|_| true), range.clone());
        let mut buffer = Vec::new();
        let times = tags.time.read(range.clone(), &mut buffer);
        let (Some(&time_min), Some(&time_max)) = (times.first(), times.last()) else {
            return Ok(None);
        };
        let mut counts = Counts::default();
        match tags.channels {
            Channels::U8(labels) => {
                labels.read(range.clone()).iter().for_each(|&of| counts.add_one(of.into()));
            }
            Channels::U16(labels) => {
                labels.read(range.clone()).iter().for_each(|&of| counts.add_one(of));
            }
        }
        let checksum = |kind: FileKind| {
            let bytes = match kind {
                FileKind::Time => bytemuck::cast_slice(times),
                FileKind::Far => self.columns[kind].as_ref()?.bytes(self.far_of(range.clone())?)?,
                FileKind::Steps => bytemuck::cast_slice(
                    self.steps().get(range.start / STEP_ROWS..range.end.div_ceil(STEP_ROWS))?,
                ),
                kind => self.columns[kind].as_ref()?.bytes(range.clone())?,
            };
            Some(crate::checksum::crc32c(bytes))
        };
        #[expect(clippy::cast_possible_truncation, reason = "rows of one block")]
        let rows = range.len() as u32;
        let checksums = PerFile::from_fn(checksum);
        Ok(Some(LastBlock { rows, time_min, time_max, checksums, counts: counts.0 }))
    }
}

/// Returns the sources of the first rows of a store. The last of them may have had fewer rows then.
fn first_sources(
    whole: &Manifest,
    rows: u64,
    time_last: Option<i64>,
    mut channels: Counts,
) -> Vec<Source> {
    let (mut sources, mut left) = (Vec::new(), rows);
    for source in &whole.sources {
        if left == 0 {
            break;
        }
        let mut source = source.clone();
        if source.rows > left {
            source.rows = left;
            source.time_last = time_last;
            source.channels.clone_from(&channels.0);
            (source.facts.finished, source.facts.resume) = (false, ResumePoint::default());
        }
        left -= source.rows;
        source.channels.iter().for_each(|of| channels.take(of));
        sources.push(source);
    }
    sources
}

/// Rows by channel, ascending by label.
#[derive(Debug, Clone, Default)]
struct Counts(Vec<ChannelRows>);

impl Counts {
    fn add_one(&mut self, channel: u16) {
        self.add(&ChannelRows { channel, rows: 1 });
    }

    fn add(&mut self, of: &ChannelRows) {
        match self.0.binary_search_by_key(&of.channel, |known| known.channel) {
            Ok(at) => self.0[at].rows += of.rows,
            Err(at) => self.0.insert(at, *of),
        }
    }

    /// Takes away rows, which are there.
    fn take(&mut self, of: &ChannelRows) {
        if let Ok(at) = self.0.binary_search_by_key(&of.channel, |known| known.channel) {
            self.0[at].rows = self.0[at].rows.saturating_sub(of.rows);
            if self.0[at].rows == 0 {
                self.0.remove(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Access, Creation, RunId, SourceFacts, Tick, Writer};

    /// Sources as numbers of rows, with a commit after each; the second half of the rows has micro times if `micro`.
    fn store(folder: &Path, sources: &[usize], micro: bool) -> Store {
        let creation =
            Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([5; 16])) };
        let mut writer = Writer::open(folder, &creation).unwrap();
        let mut next = 0_usize;
        for (number, &rows) in sources.iter().enumerate() {
            let range = || (next..next + rows).map(|row| u32::try_from(row).unwrap());
            let times: Vec<i64> = range().map(|row| 7 * i64::from(row) - 9).collect();
            let channels: Vec<u16> =
                range().map(|row| u16::try_from(row % 11 % 5).unwrap()).collect();
            let micros: Vec<u32> = range().map(|row| row % 100).collect();
            writer.begin_source();
            if micro {
                writer.append_with_micro(&times, &channels, &micros).unwrap();
            } else {
                writer.append(&times, &channels).unwrap();
            }
            writer.finish_source(SourceFacts::named(&number.to_string()));
            writer.commit().unwrap();
            next += rows;
        }
        Store::open(folder, Access::Mapped).unwrap()
    }

    #[test]
    fn the_first_rows_are_those_of_a_store_that_ends_there() {
        let sizes = [60_000, 10_000, 1, 70_000];
        for micro in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let grown = store(&folder.path().join("grown"), &sizes, micro);
            // Ends of sources, of blocks and inside both.
            for rows in
                [1, 59_999, 60_000, 65_535, 65_536, 65_537, 70_000, 70_001, 131_072, 140_000]
            {
                let (mut sources, mut left) = (Vec::new(), rows);
                for size in sizes {
                    sources.push(size.min(left));
                    left -= size.min(left);
                }
                sources.retain(|&size| size > 0);
                let alone = store(&folder.path().join(format!("{rows}")), &sources, micro);
                let (mut first, alone) = (grown.first_rows(rows as u64).unwrap(), alone.manifest());
                assert_eq!(first.rows_id(), alone.rows_id(), "{rows}");
                let all = i64::MIN..=i64::MAX;
                let at = folder.path().join("grown");
                let opened = Store::open_prefix(&at, &first, Access::Mapped, &all).unwrap();
                assert_eq!(opened.tags().time.len(), rows);
                assert_eq!(opened.manifest().rows_id(), alone.rows_id());
                first.commit = alone.commit;
                first.sources.iter_mut().zip(&alone.sources).for_each(|(one, other)| {
                    one.facts = other.facts.clone();
                });
                assert_eq!(first.sources, alone.sources, "{rows}");
                assert_eq!(first.channels, alone.channels);
                assert_eq!(
                    (first.time_first, first.time_last),
                    (alone.time_first, alone.time_last)
                );
            }
            let none = grown.first_rows(0).unwrap();
            assert_eq!((none.rows, none.sources.len(), none.time_last), (0, 0, None));
            assert_eq!(none.rows_id().chain.0, 0);
            assert!(matches!(grown.first_rows(140_002), Err(Error::OtherRows { .. })));
        }
    }

    #[test]
    fn the_identity_is_of_the_rows_and_their_sources() {
        let folder = tempfile::tempdir().unwrap();
        let id = |name: &str, sizes: &[usize]| {
            store(&folder.path().join(name), sizes, false).manifest().rows_id()
        };
        let one = id("one", &[1_000]);
        assert_eq!(one, id("again", &[1_000]));
        let divided = id("divided", &[400, 600]);
        assert_eq!((one.rows, one.chain), (divided.rows, divided.chain));
        assert_ne!(one.sources, divided.sources);
        assert_ne!(one.chain, id("longer", &[1_001]).chain);
    }
}
