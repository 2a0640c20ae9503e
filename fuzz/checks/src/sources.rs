//! A whole file into a store and out of it again.

use std::{fs, path::Path};

use tagq_ingest::{
    Change, Error, FormatName, Settings, SourceFile, SourcePart, Summary, ingest, is_intact,
    is_unchanged, read_tags,
};
use tagq_store::{
    Access, Block, CHANNEL_MAX, Channels, Creation, Error as StoreError, RunId, Source, Store, Tag,
    Tick, Writer,
};

use crate::{
    messages::stream,
    recipe::Recipe,
    support::{Packing, frame, handed, skippable},
};

/// More tags than this are not put in a store: a short file can hold millions.
const TAGS_MAX: u64 = 1 << 18;
/// A file of this length is read on threads.
const THREADED_BYTES: usize = 512 * 1024;

/// A row of a store.
type Row = (i64, u16);

/// What a file gives by itself is what a store holds that it was taken into, sorted stably by time;
/// the store is intact, mapped and copied; the file is known again. A file taken in two parts, as
/// it grows, gives the same. What cannot be read cannot be taken, for the same reason.
///
/// The input is a file after a byte that is a multiple of 4, else a recipe for one.
///
/// # Panics
/// When it does not.
pub fn sources(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let kind = recipe.byte();
    let (bytes, cut) = match kind % 4 {
        0 => {
            let bytes = recipe.rest().to_vec();
            let cut = bytes.len() / 2;
            (bytes, cut)
        }
        1 => {
            let cut = recipe.below(1 << 12);
            (stream(&mut recipe), cut)
        }
        2 => {
            let cut = recipe.below(1 << 12);
            (
                in_members(&mut recipe, |kind, piece| {
                    let before = match kind % 16 {
                        14 => skippable(&[kind; 3]),
                        15 => skippable(&vec![kind; THREADED_BYTES]),
                        _ => Vec::new(),
                    };
                    [before, frame(piece, kind >= 128)].concat()
                }),
                cut,
            )
        }
        _ => {
            let cut = recipe.below(1 << 12);
            let packing = Packing::ALL[recipe.below(Packing::ALL.len())];
            (in_members(&mut recipe, |_, piece| packing.pack(piece)), cut)
        }
    };
    check_file(&bytes, cut, None);
}

/// Checks the above for a file, and for its first `cut` bytes and then all of it. The content of the file tells
/// its format unless it is given.
pub(crate) fn check_file(bytes: &[u8], cut: usize, format: Option<FormatName>) {
    let settings = Settings { threads: 2, format, ..Settings::default() };
    let Some((tags, Ok(summary))) = check_whole(bytes, &settings) else { return };
    // Lines may be cut anywhere.
    if summary.columns.is_none() && cut < bytes.len() {
        check_growing(bytes, cut, &tags, &settings);
    }
}

/// Checks what holds of a whole file. Returns its tags; nothing when they are too many to go on.
pub(crate) fn check_whole(
    bytes: &[u8],
    settings: &Settings,
) -> Option<(Vec<Tag>, Result<Summary, Error>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a file");
    fs::write(&path, bytes).unwrap();
    count(&path, settings)?;
    let (tags, result) = handed(&path, settings);
    check_first(&path, &tags, &result, settings);
    let store = folder.path().join("store");
    let taken = take(&path, SourcePart::Whole { rebase: None }, settings, &store);
    match &result {
        Ok(_) => check_taken(&path, &store, &tags, &taken, settings),
        Err(expected) => {
            let found = taken.unwrap_err();
            // Both a fault of the file and one of its tags may be found first.
            if !matches!(found, Error::Channel { .. } | Error::Store(_)) {
                assert_eq!(found.to_string(), expected.to_string());
            }
        }
    }
    Some((tags, result))
}

/// A stream of messages in members that are cut without regard to them, each made of a byte and its piece of the
/// stream, which may be damaged and cut.
fn in_members(recipe: &mut Recipe<'_>, member: impl Fn(u8, &[u8]) -> Vec<u8>) -> Vec<u8> {
    let frames = recipe.below(5);
    let lens: Vec<usize> = (0..frames).map(|_| recipe.below(512)).collect();
    let kinds: Vec<u8> = (0..=frames).map(|_| recipe.byte()).collect();
    let damages: Vec<(usize, u8)> =
        (0..recipe.below(3)).map(|_| (recipe.below(1 << 12), recipe.byte())).collect();
    let cut = recipe.is().then(|| recipe.below(1 << 12));
    let stream = stream(recipe);
    let mut rest = &stream[..];
    let mut pieces = Vec::new();
    for len in lens.into_iter().chain([usize::MAX]) {
        let (piece, after) = rest.split_at(len.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    let mut bytes = Vec::new();
    for (piece, kind) in pieces.into_iter().zip(kinds) {
        bytes.extend(member(kind, piece));
    }
    for (at, mask) in damages {
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= mask;
        }
    }
    bytes.truncate(cut.unwrap_or(usize::MAX));
    bytes
}

/// The tags of a file; nothing when they are too many to go on.
fn count(path: &Path, settings: &Settings) -> Option<u64> {
    let mut tags = 0;
    let _ = read_tags(path, settings, |more| {
        tags += more.len() as u64;
        if tags > TAGS_MAX { Err(Error::Sink(std::io::ErrorKind::Other.into())) } else { Ok(()) }
    });
    (tags <= TAGS_MAX).then_some(tags)
}

fn check_first(path: &Path, tags: &[Tag], result: &Result<Summary, Error>, settings: &Settings) {
    let bytes = fs::read(path).unwrap();
    let magics = [&b"\x1f\x8b\x08"[..], b"\xfd7zXZ\0", b"BZh"];
    // The first tag of these may stand in a torn member, which only decompression of the whole file shows.
    let is_packed = magics.iter().any(|magic| bytes.starts_with(magic));
    match (tags.first(), SourceFile::open(path).and_then(|file| file.first_time(settings)), result)
    {
        (Some(tag), found, _) => assert_eq!(found.unwrap(), Some(tag.time)),
        (None, Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
        (None, Ok(Some(_)), _) if is_packed => {}
        (None, found, Ok(_) | Err(Error::TornMessage { .. })) => assert_eq!(found.unwrap(), None),
        (None, Ok(found), Err(error)) => panic!("{found:?}: {error}"),
    }
}

/// Takes a file into a store, and commits when all went well. A torn member is left out.
fn take(
    path: &Path,
    part: SourcePart,
    settings: &Settings,
    store: &Path,
) -> Result<Summary, Error> {
    match take_as_is(path, part, settings, store) {
        Err(Error::TornMember { start, .. }) => {
            let settings = Settings { torn_byte: Some(start), ..settings.clone() };
            take_as_is(path, part, &settings, store)
        }
        taken => taken,
    }
}

fn take_as_is(
    path: &Path,
    part: SourcePart,
    settings: &Settings,
    store: &Path,
) -> Result<Summary, Error> {
    let run_id = Some(RunId([7; 16]));
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id };
    let mut writer = Writer::open(store, &creation)?;
    let summary = ingest(path, "a file", part, settings, &mut writer)?;
    writer.commit()?;
    Ok(summary)
}

/// What must come of taking these tags.
fn check_taken(
    path: &Path,
    store: &Path,
    tags: &[Tag],
    taken: &Result<Summary, Error>,
    settings: &Settings,
) {
    if let Some(number) =
        (1..).zip(tags).find_map(|(n, tag)| (tag.channel > CHANNEL_MAX).then_some(n))
    {
        assert!(
            matches!(taken, Err(Error::Channel { number: found, .. }) if *found == number),
            "{taken:?}"
        );
        return;
    }
    let times = || tags.iter().map(|tag| i128::from(tag.time));
    let span = times().max().unwrap_or(0) - times().min().unwrap_or(0);
    if i64::try_from(span).is_err() {
        assert!(matches!(taken, Err(Error::Store(StoreError::Span { .. }))), "{taken:?}");
        return;
    }
    let summary = taken.as_ref().unwrap();
    let source = check_store(store, tags);
    let facts = &source.facts;
    assert_eq!((facts.size, facts.torn.as_ref()), (summary.size, summary.torn.as_ref()));
    assert!(is_unchanged(facts, tagq_store::os::FileStamp::of_path(path).unwrap()));
    let is_open = facts.torn.is_some() && !facts.salvaged;
    let expected = if is_open { Change::Grown } else { Change::None };
    assert_eq!(SourceFile::open(path).unwrap().compare(facts).unwrap(), expected);
    assert_eq!(is_intact(facts, path, settings).unwrap(), Some(true));
}

/// The rows of an intact store are these tags in order of time; its one source.
fn check_store(folder: &Path, tags: &[Tag]) -> Source {
    let mut expected: Vec<Row> =
        tags.iter().map(|tag| (tag.time, u16::try_from(tag.channel).unwrap())).collect();
    expected.sort_by_key(|&(time, _)| time);
    let sources = [Access::Mapped, Access::Copied].map(|access| {
        let store = Store::open(folder, access).unwrap();
        assert!(rows(&store) == expected, "{access:?}: {:?}", rows(&store));
        let blocks = store.blocks().unwrap();
        for block in &blocks {
            store.check_block(block).unwrap();
            check_counts(block, &expected);
        }
        let manifest = store.manifest();
        assert_eq!(manifest.rows, expected.len() as u64);
        assert_eq!(blocks.last().map_or(0, |block| block.rows.end), manifest.rows);
        let [source] = &manifest.sources[..] else { panic!("{:?}", manifest.sources) };
        source.clone()
    });
    let [mapped, copied] = sources;
    assert_eq!(mapped, copied);
    mapped
}

/// The rows of a block by channel are what they say.
fn check_counts(block: &Block, rows: &[Row]) {
    let rows = &rows[block.rows.start as usize..block.rows.end as usize];
    let mut labels: Vec<u16> = rows.iter().map(|row| row.1).collect();
    labels.sort_unstable();
    let runs = labels.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
    let found = block.channels.iter().map(|count| (count.channel, count.rows));
    assert!(runs.eq(found), "{:?}", block.channels);
    assert_eq!((block.time_min, block.time_max), (rows[0].0, rows[rows.len() - 1].0));
}

fn rows(store: &Store) -> Vec<Row> {
    let tags = store.tags();
    let labels: Vec<u16> = match tags.channels {
        Channels::U8(labels) => labels.all().iter().map(|&label| u16::from(label)).collect(),
        Channels::U16(labels) => labels.all().to_vec(),
    };
    tags.time.to_vec().into_iter().zip(labels).collect()
}

/// The most tags of the records that one after them may put one period earlier: eight, each of four markers.
const EARLY_TAGS_MAX: usize = 32;

/// The file is taken when so much of it is there, then the rest.
fn check_growing(bytes: &[u8], cut: usize, tags: &[Tag], settings: &Settings) {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("growing"), folder.path().join("growing.tagq"));
    fs::write(&path, &bytes[..cut]).unwrap();
    let mut settings = settings.clone();
    let (mut first, mut result) = handed(&path, &settings);
    if let Err(Error::TornMessage { message, .. }) = result {
        settings.messages_max = Some(message - 1);
        (first, result) = handed(&path, &settings);
    }
    result.expect("the beginning of a good file");
    let rest = tags.strip_prefix(&first[..]);
    if rest.is_none() {
        // The next records say that the last ones belong one period of the counter earlier.
        let has_counter = settings.format.is_some() || bytes.starts_with(b"PQTTTR");
        assert!(has_counter, "{first:?} {tags:?}");
        let same = first.iter().zip(tags).take_while(|(one, other)| one == other).count();
        assert!(first.len() <= tags.len() && first.len() - same <= EARLY_TAGS_MAX);
        let mut differ = first.iter().zip(tags).skip(same);
        assert!(differ.all(|(late, tag)| late.channel == tag.channel && late.time >= tag.time));
    }
    if take(&path, SourcePart::Whole { rebase: None }, &settings, &store).is_err() {
        // Channels and spans are the matter of the whole file.
        return;
    }
    let source = check_store(&store, &first);
    fs::write(&path, bytes).unwrap();
    let change = SourceFile::open(&path).unwrap().compare(&source.facts).unwrap();
    assert_eq!(change, Change::Grown);
    settings.messages_max = None;
    let taken = take(&path, SourcePart::Rest, &settings, &store);
    let last = first.iter().map(|tag| tag.time).max();
    // A store that has such a record one period late takes no more of the file.
    let is_before = |tag: &Tag| last.is_some_and(|last| tag.time < last);
    let is_late = rest.is_none_or(|rest| rest.iter().any(is_before));
    match taken {
        Ok(_) => {
            assert!(!is_late, "{first:?} {tags:?}, cut at {cut} of {bytes:02x?}");
            check_store(&store, tags);
        }
        Err(Error::Late { .. } | Error::LateRecord { .. }) if is_late => {
            check_store(&store, &first);
        }
        Err(Error::Channel { .. } | Error::Store(StoreError::Span { .. })) => {
            check_store(&store, &first);
        }
        Err(error) => panic!("{error}"),
    }
}
