//! Ingest of one source into a store: tags from the decoder go through `intake`, `order` puts them in order, and
//! `resume` finds where reading can begin again.

pub(crate) mod change;
mod columns;
pub(crate) mod held;
pub(crate) mod intake;
mod order;
mod resume;

use std::{path::Path, sync::Arc};

use tagq_store::Writer;

use held::Held;
use intake::{Intake, SourcePart};
use order::HORIZON;

use crate::{
    Error, Settings, Summary,
    formats::{
        columns::Columns,
        format::{Decoded, Sink},
    },
    payload::Decoding,
    pipeline::files::ReadAhead,
    read::{note_records, read_decoded},
    source_file::SourceFile,
};

/// Appends the tags of the file at `path` to `writer`, in order of time, and lists the source as `name`.
/// Nothing is visible or durable before the writer commits, except the commits that
/// [`Settings::commit_rows`] requests: these end after complete messages, and [`SourcePart::Rest`] continues
/// after them as if ingest had never been interrupted.
///
/// # Errors
/// Errors of [`crate::read_tags`] and of the store. After an error the writer contains a part of the
/// source and must be dropped.
pub fn ingest(
    path: &Path,
    name: &str,
    part: SourcePart,
    settings: &Settings,
    writer: &mut Writer,
) -> Result<Summary, Error> {
    ingest_holding(&SourceFile::open(path)?, name, part, settings, writer, &mut None)
}

/// Same as [`ingest`] of an open file, but does not read the tags again that `held` has from the call before. The tags
/// that this call holds back are stored in `held`; the next call continues after the rows that the
/// writer commits now.
///
/// # Errors
/// Same as [`ingest`].
pub fn ingest_holding(
    source: &SourceFile,
    name: &str,
    part: SourcePart,
    settings: &Settings,
    writer: &mut Writer,
    held: &mut Option<Held>,
) -> Result<Summary, Error> {
    ingest_within(HORIZON, source, name, part, settings, writer, held)
}

/// Same as [`ingest_holding`] of a whole file, which is the next one of `ahead`. `settings` read it as those
/// that `ahead` was given for it.
///
/// # Errors
/// Same as [`ingest`].
pub fn ingest_ahead(
    ahead: &mut ReadAhead,
    path: &Path,
    name: &str,
    rebase: Option<i64>,
    settings: &Settings,
    writer: &mut Writer,
    held: &mut Option<Held>,
) -> Result<Summary, Error> {
    let turn = ahead.next(path)?;
    let source = Arc::clone(&turn.source);
    let part = SourcePart::Whole { rebase };
    let intake = Intake::begin(HORIZON, &source, name, part, settings, writer, held.take())?;
    ingest_from(intake, settings, held, |settings, sink| turn.read(settings, sink))
}

/// Same as [`ingest_holding`], with this horizon.
fn ingest_within(
    horizon: usize,
    source: &SourceFile,
    name: &str,
    part: SourcePart,
    settings: &Settings,
    writer: &mut Writer,
    held: &mut Option<Held>,
) -> Result<Summary, Error> {
    let intake = Intake::begin(horizon, source, name, part, settings, writer, held.take())?;
    let read = |settings: &Settings, sink: &mut Sink<'_>| {
        read_decoded(source, settings, Decoding::Rows, sink)
    };
    ingest_from(intake, settings, held, read)
}

/// Ingests what `read` hands to its sink.
fn ingest_from(
    mut intake: Intake<'_>,
    settings: &Settings,
    held: &mut Option<Held>,
    read: impl FnOnce(&Settings, &mut Sink<'_>) -> Result<Summary, Error>,
) -> Result<Summary, Error> {
    intake.rows.writer.set_threads(settings.decoders());
    intake.order.set_eager(settings.hold_back.filter(|_| settings.eager));
    let columns = intake.facts.columns.as_deref().and_then(Columns::of_stored);
    let settings = Settings {
        start_byte: intake.start.byte,
        start_overflow: intake.start.overflow,
        known_bytes: intake.facts.read_byte,
        columns_before: columns.or_else(|| settings.columns_before.clone()),
        names_before: intake.names_before(),
        format: intake.format,
        ..settings.clone()
    };
    let micro_tick = settings.micro_tick();
    if micro_tick.is_some() && intake.facts.columns.is_none() {
        // An ingest that is interrupted continues with the same unit.
        intake.facts.columns = Some(Columns { micro_tick, ..Columns::default() }.to_string());
    }
    let mut is_unit_told = false;
    let summary = read(&settings, &mut |decoded| {
        settings.check_wanted()?;
        match decoded {
            Decoded::Tags(piece) => intake.take_tags(&piece),
            Decoded::Rows(rows) => intake.take(rows),
            Decoded::Complete(complete) => intake.complete(complete, settings.commit_rows),
            Decoded::Recording(recording, stated) => {
                intake.begin_recording(*recording);
                is_unit_told = true;
                let writer = &mut *intake.rows.writer;
                let micro_tick = stated.or(micro_tick);
                Ok(micro_tick.map_or(Ok(()), |tick| writer.set_micro_tick(tick))?)
            }
            Decoded::Channel(label, name) => {
                intake.name_channel(label, name);
                Ok(())
            }
            Decoded::LeftOut(what, records) => {
                intake.note_left_out(what, records);
                Ok(())
            }
            Decoded::Dead(edge) => {
                intake.note_dead(edge);
                Ok(())
            }
        }
    })?;
    // Text has no header that would state it.
    if let Some(tick) = micro_tick.filter(|_| !is_unit_told) {
        intake.rows.writer.set_micro_tick(tick)?;
    }
    intake.finish(settings.hold_back)?;
    intake.note_read(summary.crc)?;
    intake.check_names(summary.columns.is_some())?;
    let Intake { mut facts, order, points, rows, .. } = intake;
    note_records(facts.recording.as_mut(), &summary);
    facts.salvaged = settings.salvage && summary.torn.is_some();
    // If there is no new data, no data is without a checksum.
    let is_nothing = settings.start_byte > 0 && facts.read_byte <= settings.start_byte;
    facts.checksummed &= summary.checksummed || is_nothing;
    facts.torn.clone_from(&summary.torn);
    let columns = summary.columns.clone().map(|of| Columns { micro_tick, ..of }.to_string());
    facts.columns = columns.or(facts.columns);
    rows.writer.finish_source(facts.clone());
    *held = Held::after(order, points, facts, rows.last);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::{
        change::{Change, is_intact, is_unchanged},
        *,
    };
    use crate::formats::{format::Piece, tags::encode::Encoder};
    use proptest::prelude::*;
    use std::{
        fs,
        ops::Range,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
    };
    use tagq_sampling::random_cases;
    use tagq_store::{Access, Creation, RunId, SourceFacts, Store, Tag, Tick, os::FileStamp};

    /// A horizon that a few tags fill.
    const NEAR: usize = 16;

    fn writer(store: &Path) -> Writer {
        let run_id = Some(RunId([7; 16]));
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id };
        Writer::open(store, &creation).unwrap()
    }

    /// Frames of tags that come late by up to `late` places, each in messages of its own.
    fn frames(sizes: &[usize], late: &[i64]) -> (Vec<Tag>, Vec<Vec<u8>>) {
        let total: usize = sizes.iter().sum();
        let tags: Vec<Tag> = (0..)
            .zip(late.iter().cycle())
            .take(total)
            .map(|(i, late)| Tag { time: (i - late) * 10, channel: (i % 3).unsigned_abs() })
            .collect();
        let mut rest = &tags[..];
        let frames = sizes.iter().map(|&size| {
            let (now, later) = rest.split_at(size);
            rest = later;
            let mut encoder = Encoder::new(Vec::new()).checksum(true);
            encoder.frame(size as u64, [now]).unwrap();
            encoder.into_inner()
        });
        let frames = frames.collect();
        (tags, frames)
    }

    fn rows(store: &Path) -> Vec<(i64, u16)> {
        let store = Store::open(store, Access::Copied).unwrap();
        let tags = store.tags();
        (0..tags.len()).map(|row| (tags.time.at(row), tags.channels.label(row))).collect()
    }

    fn in_order(tags: &[Tag]) -> Vec<(i64, u16)> {
        let mut rows: Vec<(i64, u16)> =
            tags.iter().map(|tag| (tag.time, u16::try_from(tag.channel).unwrap())).collect();
        rows.sort_by_key(|&(time, _)| time);
        rows
    }

    /// Takes what is there of the file, as a new process would.
    fn take(file: &Path, store: &Path, settings: &Settings) -> Result<(), Error> {
        let mut writer = writer(store);
        let part = match writer.last_source() {
            Some(_) => SourcePart::Rest,
            None => SourcePart::Whole { rebase: None },
        };
        ingest_within(NEAR, &SourceFile::open(file)?, "x", part, settings, &mut writer, &mut None)?;
        Ok(writer.commit()?)
    }

    /// Takes what is there of the file, as a process that follows it does: what it held it did not read again.
    fn go_on(file: &Path, (writer, held): &mut (Writer, Option<Held>), settings: &Settings) {
        let part = match writer.last_source() {
            Some(_) => SourcePart::Rest,
            None => SourcePart::Whole { rebase: None },
        };
        let read = Arc::new(AtomicU64::new(0));
        let before = held.as_ref().map_or(0, |held| held.start.byte);
        let settings = Settings { bytes_read: Some(Arc::clone(&read)), ..settings.clone() };
        let source = SourceFile::open(file).unwrap();
        ingest_within(NEAR, &source, "x", part, &settings, writer, held).unwrap();
        writer.commit().unwrap();
        let bytes = fs::metadata(file).unwrap().len();
        assert_eq!(read.load(Ordering::Relaxed), bytes - before);
        assert_eq!(held.as_ref().unwrap().start.byte, bytes);
    }

    fn column_bytes(store: &Path) -> Vec<Vec<u8>> {
        ["time.col", "channel.col", "blocks.idx", "counts.idx"]
            .map(|name| fs::read(store.join(name)).unwrap())
            .into()
    }

    fn facts(store: &Path) -> SourceFacts {
        Store::open(store, Access::Copied).unwrap().manifest().sources[0].facts.clone()
    }

    const LATE: Range<i64> = 0..8;

    proptest! {
        // Each case commits many times, and waits for the disk each time.
        #![proptest_config(random_cases(48))]

        #[test]
        fn a_source_killed_in_any_frame_goes_on_as_if_nothing_had_been(
            sizes in prop::collection::vec(0_usize..40, 1..12),
            late in prop::collection::vec(LATE, 1..50),
            commit_rows in 1_u64..60,
        ) {
            let (tags, frames) = frames(&sizes, &late);
            let folder = tempfile::tempdir().unwrap();
            let (file, store) = (folder.path().join("x.tags.zst"), folder.path().join("store"));
            let whole = frames.concat();
            let settings = Settings { commit_rows: Some(commit_rows), ..Settings::default() };
            let mut end = 0;
            for frame in &frames {
                end += frame.len();
                // A frame that cannot be read stops it, somewhere after its last commit.
                let mut damaged = whole.clone();
                damaged[end - 1] ^= 1;
                fs::write(&file, damaged).unwrap();
                take(&file, &store, &settings).unwrap_err();
                if store.join("manifest.json").exists() {
                    prop_assert!(in_order(&tags).starts_with(&rows(&store)));
                    prop_assert!(!facts(&store).finished);
                }
            }
            fs::write(&file, &whole).unwrap();
            take(&file, &store, &settings).unwrap();
            prop_assert_eq!(rows(&store), in_order(&tags));

            let at_once = folder.path().join("at-once");
            take(&file, &at_once, &Settings::default()).unwrap();
            prop_assert_eq!(column_bytes(&store), column_bytes(&at_once));
            let (found, expected) = (facts(&store), facts(&at_once));
            prop_assert_eq!(found.resume, expected.resume);
            prop_assert_eq!(found.reordered, expected.reordered);
            prop_assert_eq!(found.read_crc32c, expected.read_crc32c);
            prop_assert!(found.finished && expected.finished);
        }

        #[test]
        fn what_is_held_back_of_a_live_source_comes_in_order_later(
            sizes in prop::collection::vec(0_usize..40, 1..12),
            late in prop::collection::vec(LATE, 1..50),
        ) {
            let (tags, frames) = frames(&sizes, &late);
            let folder = tempfile::tempdir().unwrap();
            let (file, store) = (folder.path().join("x.tags.zst"), folder.path().join("store"));
            let followed = folder.path().join("followed");
            let mut follow = (writer(&followed), None);
            // No tag is later than 7 places of 10 ticks each.
            let live = Settings { hold_back: Some(70), ..Settings::default() };
            let eager = Settings { eager: true, ..live.clone() };
            for frames in (1..=frames.len()).map(|n| &frames[..n]) {
                fs::write(&file, frames.concat()).unwrap();
                take(&file, &store, &live).unwrap();
                prop_assert!(in_order(&tags).starts_with(&rows(&store)));
                go_on(&file, &mut follow, &eager);
                prop_assert_eq!(column_bytes(&followed), column_bytes(&store));
                prop_assert_eq!(facts(&followed), facts(&store));
            }
            take(&file, &store, &Settings::default()).unwrap();
            prop_assert_eq!(rows(&store), in_order(&tags));
            go_on(&file, &mut follow, &Settings::default());
            prop_assert_eq!(column_bytes(&followed), column_bytes(&store));
            prop_assert_eq!(facts(&followed), facts(&store));
        }
    }

    #[test]
    fn a_tag_before_committed_ones_is_refused_wherever_reading_began() {
        let folder = tempfile::tempdir().unwrap();
        let (file, store) = (folder.path().join("x.tags.zst"), folder.path().join("store"));
        let (_, first) = frames(&[40, 40], &[0]);
        fs::write(&file, first.concat()).unwrap();
        take(&file, &store, &Settings { hold_back: Some(50), ..Settings::default() }).unwrap();
        // Up to 790 was read, and up to below 740 committed.
        assert_eq!(rows(&store).last(), Some(&(730, 1)));
        let add = |time: i64| {
            let mut encoder = Encoder::new(Vec::new());
            encoder.frame(1, [&[Tag { time, channel: 0 }][..]]).unwrap();
            fs::write(&file, [first.concat(), encoder.into_inner()].concat()).unwrap();
            take(&file, &store, &Settings::default())
        };
        let refused = add(729).unwrap_err();
        assert!(matches!(refused, Error::Late { number: 81, after: 730, .. }), "{refused}");
        add(730).unwrap();
        assert_eq!(rows(&store)[73..75], [(730, 1), (730, 0)]);
    }

    /// The name of a file that is being read goes to another one, of the same length.
    #[test]
    #[cfg_attr(windows, ignore = "a file that is open is not replaced")]
    fn what_is_noted_is_of_the_file_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let (path, store) = (folder.path().join("x.tags"), folder.path().join("store"));
        let tags: Vec<Tag> = (0..40).map(|time| Tag { time, channel: 1 }).collect();
        let others: Vec<Tag> = (1..41).map(|time| Tag { time, channel: 1 }).collect();
        fs::write(&path, crate::formats::tags::encode::message(&tags).unwrap()).unwrap();
        let stamp = FileStamp::of_path(&path).unwrap();
        let source = SourceFile::open(&path).unwrap();
        fs::write(
            folder.path().join("other"),
            crate::formats::tags::encode::message(&others).unwrap(),
        )
        .unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        let mut writer = writer(&store);
        let (part, settings) = (SourcePart::Whole { rebase: None }, Settings::default());
        ingest_within(NEAR, &source, "x", part, &settings, &mut writer, &mut None).unwrap();
        writer.commit().unwrap();
        assert_eq!(rows(&store), in_order(&tags));
        assert!(is_unchanged(&facts(&store), stamp));
        assert!(!is_unchanged(&facts(&store), FileStamp::of_path(&path).unwrap()));
        assert_eq!(
            SourceFile::open(&path).unwrap().compare(&facts(&store)).unwrap(),
            Change::Other
        );
        assert_eq!(is_intact(&facts(&store), &path, &settings).unwrap(), Some(false));
    }

    /// A file is changed while it is read: before the place where the reader is, and after it.
    #[test]
    fn the_checksum_is_of_the_bytes_that_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tags");
        // A message of 20,000 tags, 320 KB, which one thread reads in pieces of 128 KiB and 256 KiB.
        let tags: Vec<Tag> = (0..20_000).map(|time| Tag { time, channel: 1 }).collect();
        let bytes = crate::formats::tags::encode::message(&tags).unwrap();
        fs::write(&path, &bytes).unwrap();
        let source = SourceFile::open(&path).unwrap();
        let mut last = 0;
        let settings = Settings::default();
        let summary = read_decoded(&source, &settings, Decoding::Tags, &mut |decoded| {
            if let Decoded::Tags(Piece { tags, .. }) = decoded {
                // Of tag 10 and of the last one, the time, after the first piece of tags came.
                for at in [bytes.len() - 20_000 * 16 + 10 * 16, bytes.len() - 16] {
                    let file = fs::File::options().write(true).open(&path).unwrap();
                    tagq_store::os::write_all_at(&file, &[0x55; 2], at as u64).unwrap();
                }
                last = tags[tags.len() - 1].time;
            }
            Ok(())
        });
        // The last tag came as it was changed, tag 10 as it was before.
        assert_eq!(last & 0xffff, 0x5555);
        let mut read = bytes.clone();
        let at = read.len() - 16;
        read[at..at + 2].copy_from_slice(&[0x55; 2]);
        assert_eq!(summary.unwrap().crc.hex(), format!("{:08x}", crc32c::crc32c(&read)));
    }
}
