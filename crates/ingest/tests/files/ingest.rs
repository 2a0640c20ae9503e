//! Ingest of files into a store.

use std::{fs, io::Write, path::Path};

use tagq_ingest::{Error, Settings, SourcePart, encode::Encoder, ingest, is_intact, is_unchanged};
use tagq_store::{
    Access, Channels, Creation, Source, SourceFacts, Store, Tag, Tick, Writer, os::FileStamp,
};
use xxhash_rust::xxh3::xxh3_64;

use crate::support::{built, crc32c, file, frame, some_tags, tag};

type Rows = Vec<(i64, u16)>;

/// Returns the rows and sources of a store made from these files.
fn stored(files: &[(&Path, Settings)]) -> Result<(Rows, Vec<Source>), Error> {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("run.tagq");
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(&store, &creation)?;
    for (path, settings) in files {
        let part = SourcePart::Whole { rebase: None };
        ingest(path, &path.to_string_lossy(), part, settings, &mut writer)?;
    }
    writer.commit()?;
    drop(writer);
    let store = Store::open(&store, Access::Copied)?;
    let tags = store.tags();
    let channels: Vec<u16> = match tags.channels {
        Channels::U8(labels) => labels.all().iter().map(|&label| label.into()).collect(),
        Channels::U16(labels) => labels.all().to_vec(),
    };
    let rows = tags.time.to_vec().into_iter().zip(channels).collect();
    Ok((rows, store.manifest().sources.clone()))
}

fn of(path: &Path) -> (&Path, Settings) {
    (path, Settings::default())
}

/// Returns the rows and the source of one file with these bytes.
fn stored_from(bytes: &[u8]) -> Result<(Rows, Source), Error> {
    let (_folder, path) = file(bytes);
    let (rows, mut sources) = stored(&[of(&path)])?;
    Ok((rows, sources.remove(0)))
}

fn encoded(tags: &[Tag]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    encoder.frame(tags.len() as u64, [tags]).unwrap();
    encoder.into_inner()
}

/// Returns the expected rows of a store: a stable sort.
fn sorted(tags: &[Tag]) -> Rows {
    let mut rows: Rows =
        tags.iter().map(|tag| (tag.time, u16::try_from(tag.channel).unwrap())).collect();
    rows.sort_by_key(|&(time, _)| time);
    rows
}

#[test]
fn plain_and_compressed_files_give_the_same_rows() {
    let tags: Vec<Tag> = (0..100_000).map(|i| tag(i / 3, i.cast_unsigned() % 17)).collect();
    let lists: Vec<Vec<Tag>> = tags.chunks(30_000).map(<[Tag]>::to_vec).collect();
    let message = built(&lists, 64, false);
    let frames: Vec<u8> = tags.chunks(1234).flat_map(encoded).collect();
    for bytes in [message.clone(), frame(&message, true), frames] {
        let (rows, source) = stored_from(&bytes).unwrap();
        assert!(rows == sorted(&tags));
        assert_eq!((source.rows, source.facts.reordered), (100_000, 0));
        assert_eq!((source.time_first, source.time_last), (Some(0), Some(33_333)));
    }
}

#[test]
fn tags_late_by_less_than_the_horizon_are_put_in_order() {
    // 2.5 M tags, so that columns are released while more tags arrive. Tags of equal times have their
    // position as the channel, which shows their order.
    let mut tags: Vec<Tag> =
        (0..2_500_000).map(|i: i64| tag(i / 4, (i % 4).cast_unsigned())).collect();
    let late = [(900_000, 10), (1_048_575, 1), (1_048_576, 40_000), (2_200_000, 1_048_000)];
    for (at, by) in late {
        let late = tags.remove(at - by);
        tags.insert(at, late);
    }
    let (rows, source) = stored_from(&encoded(&tags)).unwrap();
    assert!(rows == sorted(&tags));
    // The second of the four is after a tag of equal time only, so it is not late.
    assert_eq!((source.rows, source.facts.reordered), (2_500_000, 3));
}

#[test]
fn a_tag_that_is_too_late_is_named() {
    let mut tags: Vec<Tag> = (0..2_200_000).map(|i| tag(i, 1)).collect();
    tags[2_150_000].time = 5;
    match stored_from(&encoded(&tags)).unwrap_err() {
        Error::Late { number, time, after, horizon, .. } => {
            assert_eq!((number, time, horizon), (2_150_001, 5, 1 << 20));
            // All but the last reordering window of full columns.
            assert_eq!(after, (1 << 20) - 1);
        }
        error => panic!("{error}"),
    }
}

#[test]
fn a_channel_that_no_store_holds_is_named() {
    for channel in [65_536, u64::MAX, 1 << 63] {
        let mut tags = some_tags(1, 20_000);
        tags.sort_by_key(|tag| tag.time);
        tags[17_000].channel = channel;
        match stored_from(&encoded(&tags)).unwrap_err() {
            Error::Channel { number, channel: found, .. } => {
                assert_eq!((number, found), (17_001, channel));
            }
            error => panic!("{error}"),
        }
    }
    let (rows, _) = stored_from(&encoded(&[tag(1, 65_535), tag(2, 0), tag(3, 256)])).unwrap();
    assert_eq!(rows, [(1, 65_535), (2, 0), (3, 256)]);
}

#[test]
fn times_at_the_ends_are_kept() {
    let end = i64::MAX;
    let (rows, source) =
        stored_from(&encoded(&[tag(end, 2), tag(end - 1, 1), tag(end, 1)])).unwrap();
    assert_eq!(rows, [(end - 1, 1), (end, 2), (end, 1)]);
    assert_eq!(source.facts.reordered, 1);
    let (rows, _) = stored_from(&encoded(&[tag(i64::MIN, 1), tag(-1, 2)])).unwrap();
    assert_eq!(rows, [(i64::MIN, 1), (-1, 2)]);
    // The store refuses a run of 2^63 ticks or more.
    let refused = stored_from(&encoded(&[tag(i64::MIN, 1), tag(0, 2)])).unwrap_err();
    assert!(matches!(refused, Error::Store(tagq_store::Error::Span { .. })), "{refused}");
}

#[test]
fn what_is_known_of_a_file_is_recorded() {
    let tags: Vec<Tag> = some_tags(3, 20_000).iter().map(|t| tag(t.time >> 20, 1)).collect();
    let frames: Vec<Vec<u8>> = tags.chunks(9_000).map(encoded).collect();
    let whole = frames.concat();
    let message = built(std::slice::from_ref(&tags), 64, false);
    let hash = |bytes: &[u8]| format!("{:016x}", xxh3_64(bytes));
    let small = encoded(&[tag(1, 1)]);
    for bytes in [&whole, &message, &small, &Vec::new()] {
        let (folder, path) = file(bytes);
        let (_, sources) = stored(&[of(&path)]).unwrap();
        let facts = &sources[0].facts;
        assert_eq!(facts.name, path.to_string_lossy());
        assert_eq!((facts.size, facts.resume.byte), (bytes.len() as u64, bytes.len() as u64));
        assert_eq!(facts.head_xxh3, hash(&bytes[..bytes.len().min(65_536)]));
        assert_eq!(facts.tail_xxh3, hash(&bytes[bytes.len().saturating_sub(65_536)..]));
        assert_eq!(facts.read_crc32c, Some(crc32c(bytes)));
        assert_eq!(facts.read_byte, bytes.len() as u64);
        assert_eq!((facts.checksummed, &facts.torn), (false, &None));
        assert!(is_unchanged(facts, FileStamp::of_path(&path).unwrap()));
        // Another file of the same length and time, the same file at another time, and a longer one.
        let copy = folder.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        fs::File::options().write(true).open(&copy).unwrap().set_modified(time).unwrap();
        assert!(!is_unchanged(facts, FileStamp::of_path(&copy).unwrap()));
        file.set_modified(time + std::time::Duration::from_nanos(100)).unwrap();
        assert!(!is_unchanged(facts, FileStamp::of(&file).unwrap()));
        (&file).write_all(b"x").unwrap();
        file.set_modified(time).unwrap();
        assert!(!is_unchanged(facts, FileStamp::of(&file).unwrap()));
    }
    assert!(whole.len() > 65_536);
    // A torn frame is left out, also from the checksum.
    let end = whole.len() - frames[2].len();
    let (rows, source) = stored_from(&whole[..whole.len() - 1]).unwrap();
    assert_eq!((rows.len(), source.facts.resume.byte), (18_000, end as u64));
    assert_eq!(source.facts.read_crc32c, Some(crc32c(&whole[..end])));
    assert_eq!(source.facts.head_xxh3, hash(&whole[..65_536]));
    assert_eq!(source.facts.tail_xxh3, hash(&whole[end - 65_536..end]));
    assert!(source.facts.torn.is_some());
    // The same for an uncompressed file, whose complete messages are requested.
    let two = [&message[..], &message[..message.len() - 8]].concat();
    let (_folder, path) = file(&two);
    let first = Settings { messages_max: Some(1), ..Settings::default() };
    let (rows, sources) = stored(&[(&path, first)]).unwrap();
    let facts = &sources[0].facts;
    assert_eq!((rows.len(), facts.resume.byte), (20_000, message.len() as u64));
    assert_eq!(facts.size, two.len() as u64);
    assert_eq!(facts.read_crc32c, Some(crc32c(&message)));
    assert_eq!(facts.tail_xxh3, hash(&message[message.len() - 65_536..]));
}

#[test]
fn sources_come_one_after_the_other() {
    let (_a, first) = file(&encoded(&[tag(1, 1), tag(3, 2), tag(2, 3)]));
    let (_b, second) = file(&encoded(&[tag(3, 4), tag(9, 5)]));
    let (_c, empty) = file(b"");
    let (rows, sources) = stored(&[of(&first), of(&empty), of(&second)]).unwrap();
    assert_eq!(rows, [(1, 1), (2, 3), (3, 2), (3, 4), (9, 5)]);
    let counts: Vec<(u64, u64)> = sources.iter().map(|s| (s.rows, s.facts.reordered)).collect();
    assert_eq!(counts, [(3, 1), (0, 0), (2, 0)]);
    let refused = stored(&[of(&second), of(&first)]).unwrap_err();
    assert!(matches!(refused, Error::Store(tagq_store::Error::Unsorted { .. })), "{refused}");
}

#[test]
fn the_bytes_read_are_counted() {
    let bytes: Vec<u8> = (0..3).flat_map(|i| encoded(&[tag(i, 1)])).collect();
    for bytes in [bytes, built(&[vec![tag(1, 1)]], 8, false)] {
        let (_folder, path) = file(&bytes);
        let counted = std::sync::Arc::new(0.into());
        let settings =
            Settings { bytes_read: Some(std::sync::Arc::clone(&counted)), ..Settings::default() };
        stored(&[(&path, settings)]).unwrap();
        assert_eq!(counted.load(std::sync::atomic::Ordering::Relaxed), bytes.len() as u64);
    }
}

/// An older store has the hash of a file that was ingested at once, and no hash of one that grew.
#[test]
fn a_source_of_an_older_store_is_compared_by_what_it_has() {
    let two = [encoded(&[tag(1, 1)]), encoded(&[tag(2, 1)])];
    let (folder, path) = file(&two[0]);
    let (_, sources) = stored(&[of(&path)]).unwrap();
    let facts = sources[0].facts.clone();
    let whole_xxh3 = Some(format!("{:016x}", xxh3_64(&two[0])));
    let old = SourceFacts { read_crc32c: None, whole_xxh3, ..facts.clone() };
    let unknown = SourceFacts { whole_xxh3: None, ..old.clone() };
    let intact = |facts: &SourceFacts| is_intact(facts, &path, &Settings::default()).unwrap();
    let all = || [&facts, &old, &unknown].map(intact);
    assert_eq!(all(), [Some(true), Some(true), None]);
    // When the file grows, no hash is invented for the part that was read before.
    let store = folder.path().join("old.tagq");
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    let mut writer = Writer::open(&store, &creation).unwrap();
    let whole = SourcePart::Whole { rebase: None };
    ingest(&path, &facts.name, whole, &Settings::default(), &mut writer).unwrap();
    writer.continue_source().unwrap();
    writer.finish_source(old.clone());
    fs::write(&path, two.concat()).unwrap();
    ingest(&path, &facts.name, SourcePart::Rest, &Settings::default(), &mut writer).unwrap();
    let grown = &writer.last_source().unwrap().facts;
    assert_eq!((&grown.read_crc32c, &grown.whole_xxh3), (&None, &None));
    assert_eq!(
        (grown.read_byte, writer.last_source().unwrap().rows),
        (two.concat().len() as u64, 2)
    );
    let mut changed = two[0].clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&path, &changed).unwrap();
    assert_eq!(all(), [Some(false), Some(false), None]);
    fs::write(&path, &two[0][..10]).unwrap();
    assert_eq!(all(), [Some(false), Some(false), None]);
}
