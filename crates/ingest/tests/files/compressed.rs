//! Files compressed by gzip, xz and bzip2, whose members do not say where they end.

use std::{
    fs,
    ops::Range,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tagq_ingest::{
    Change, Error, Settings, SourceFile, SourcePart, Summary, ingest, is_intact, read_tags,
};
use tagq_store::{Access, Creation, SourceFacts, Store, Tag, Tick, Writer};

use tagq_sampling::some;

use crate::support::{Packing, again_in_little_memory, built, crc32c, file, handed, read, tag};

/// The contents of the pieces of a file.
#[derive(Debug, Clone, Copy)]
enum Content {
    Messages,
    Lines,
}

impl Content {
    const ALL: [Self; 2] = [Self::Messages, Self::Lines];

    fn encode(self, tags: &[Tag]) -> Vec<u8> {
        match self {
            Self::Messages => built(&[tags.to_vec()], 64, false),
            Self::Lines => {
                let lines = tags.iter().map(|tag| format!("{}\t{}\n", tag.channel, tag.time));
                lines.collect::<String>().into_bytes()
            }
        }
    }
}

/// All compressions of all contents.
fn all() -> impl Iterator<Item = (Packing, Content)> {
    Packing::ALL.into_iter().flat_map(|packing| Content::ALL.map(|content| (packing, content)))
}

/// Returns tags in order of time; those of a range are the same whatever the range.
fn tags(range: Range<i64>) -> Vec<Tag> {
    range.map(|i| tag(i * 1_000 + i * i % 997, (i % 5).cast_unsigned())).collect()
}

/// Returns members of these tags each.
fn members(packing: Packing, content: Content, ranges: &[Range<i64>]) -> Vec<Vec<u8>> {
    ranges.iter().map(|range| packing.pack(&content.encode(&tags(range.clone())))).collect()
}

fn writer(store: &Path) -> Writer {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    Writer::open(store, &creation).unwrap()
}

/// Ingests what is new of a file, as an update of a run does. Returns the bytes that were read.
fn take(path: &Path, store: &Path, settings: &Settings) -> Result<(Summary, u64), Error> {
    let read = Arc::new(AtomicU64::new(0));
    let mut settings = Settings { bytes_read: Some(Arc::clone(&read)), ..settings.clone() };
    loop {
        let mut writer = writer(store);
        let part = match writer.last_source() {
            Some(_) => SourcePart::Rest,
            None => SourcePart::Whole { rebase: None },
        };
        match ingest(path, "x", part, &settings, &mut writer) {
            Err(Error::TornMember { start, .. }) if settings.torn_byte.is_none() => {
                settings.torn_byte = Some(start);
            }
            result => {
                let summary = result?;
                writer.commit()?;
                return Ok((summary, read.load(Ordering::Relaxed)));
            }
        }
    }
}

fn times(store: &Path) -> Vec<i64> {
    Store::open(store, Access::Copied).unwrap().tags().time.to_vec()
}

fn facts(store: &Path) -> SourceFacts {
    Store::open(store, Access::Copied).unwrap().manifest().sources[0].facts.clone()
}

fn times_of(tags: &[Tag]) -> Vec<i64> {
    tags.iter().map(|tag| tag.time).collect()
}

/// More than is read on one thread, in one member and in many, which end where a tag does and where none does.
#[test]
fn compressed_files_are_read_as_plain_ones() {
    let expected = tags(0..60_000);
    for (packing, content) in all() {
        let plain = content.encode(&expected);
        let of_pieces = |len: usize| -> Vec<u8> {
            plain.chunks(len).flat_map(|piece| packing.pack(piece)).collect()
        };
        for bytes in [of_pieces(plain.len()), of_pieces(50_001), of_pieces(plain.len() / 2 + 1)] {
            let (found, summary) = read(&bytes).unwrap();
            assert!(found == expected, "{packing:?} {content:?}");
            assert_eq!((summary.resume_byte, summary.torn), (bytes.len() as u64, None));
            assert!(summary.checksummed);
            let (_folder, path) = file(&bytes);
            assert_eq!(
                SourceFile::open(&path).unwrap().first_time(&Settings::default()).unwrap(),
                Some(0)
            );
            let store = path.with_extension("store");
            let (_, read) = take(&path, &store, &Settings::default()).unwrap();
            assert_eq!(read, bytes.len() as u64, "read once");
            assert!(times(&store) == times_of(&expected));
            // The facts are those of the compressed file.
            let facts = facts(&store);
            assert_eq!((facts.size, facts.read_byte), (read, read));
            assert_eq!(facts.read_crc32c, Some(crc32c(&bytes)));
            assert_eq!(SourceFile::open(&path).unwrap().compare(&facts).unwrap(), Change::None);
            assert_eq!(is_intact(&facts, &path, &Settings::default()).unwrap(), Some(true));
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_its_complete_members() {
    let ranges = [0..7, 7..7, 7..12, 12..20];
    for (packing, content) in all() {
        let members = members(packing, content, &ranges);
        let whole = members.concat();
        let ends: Vec<usize> = (0..=4).map(|count| members[..count].concat().len()).collect();
        for len in 0..=whole.len() {
            let (_folder, path) = file(&whole[..len]);
            let count = ends.iter().rposition(|&end| end <= len).unwrap();
            let expected = tags(0..count.checked_sub(1).map_or(0, |last| ranges[last].end));
            let (found, result) = handed(&path, &Settings::default());
            let summary = result.unwrap();
            assert_eq!(found, expected, "{packing:?} {content:?} {len}");
            assert_eq!(summary.resume_byte, ends[count] as u64);
            let torn = (len > ends[count]).then(|| {
                format!(
                    "the last {} begins at byte {} and is not complete ({} bytes left out)",
                    ["gzip member", "xz stream", "bzip2 stream"][packing as usize],
                    ends[count],
                    len - ends[count],
                )
            });
            assert_eq!(summary.torn, torn, "{packing:?} {content:?} {len}");

            // Salvage takes at least the complete members, and no tag that is not there.
            let salvage = Settings { salvage: true, ..Settings::default() };
            let (salvaged, result) = handed(&path, &salvage);
            assert_eq!(result.unwrap().torn.is_some(), torn.is_some(), "{packing:?} {len}");
            assert!(salvaged.len() >= expected.len(), "{packing:?} {content:?} {len}");
            assert!(tags(0..20).starts_with(&salvaged), "{packing:?} {content:?} {len}");
        }
    }
}

/// A torn member that holds many tags: what can be read of them is salvaged.
#[test]
fn a_torn_member_is_salvaged_as_far_as_it_goes() {
    let expected = tags(0..100_000);
    for (packing, content) in all() {
        let first = packing.pack(&content.encode(&expected[..10]));
        let second = packing.pack(&content.encode(&expected[10..]));
        let cut = first.len() + second.len() / 2;
        let bytes = [first.clone(), second].concat();
        let (_folder, path) = file(&bytes[..cut]);
        let store = path.with_extension("store");
        let (summary, _) = take(&path, &store, &Settings::default()).unwrap();
        assert_eq!((summary.tags, summary.resume_byte), (10, first.len() as u64));
        assert_eq!(facts(&store).read_byte, first.len() as u64);
        let salvage = Settings { salvage: true, ..Settings::default() };
        let (summary, _) = take(&path, &store, &salvage).unwrap();
        assert!(summary.torn.unwrap().contains("taken"), "{packing:?}");
        let found = times(&store);
        assert!(found.len() > 20_000, "{packing:?} {content:?}: {}", found.len());
        assert!(times_of(&expected).starts_with(&found));
        let facts = facts(&store);
        assert_eq!((facts.read_byte, facts.salvaged), (cut as u64, true));
        assert_eq!(facts.read_crc32c, Some(crc32c(&bytes[..cut])));
        assert_eq!(SourceFile::open(&path).unwrap().compare(&facts).unwrap(), Change::None);
    }
}

#[test]
fn a_file_that_grows_by_members_is_read_on() {
    let ranges: Vec<Range<i64>> = (0..6).map(|i| i * 3_000..(i + 1) * 3_000).collect();
    for (packing, content) in all() {
        let members = members(packing, content, &ranges);
        let (_folder, path) = file(b"");
        let store = path.with_extension("store");
        let mut before = 0;
        for (count, range) in (1..).zip(&ranges) {
            let bytes = members[..count].concat();
            // Half of the member is there at first.
            fs::write(&path, &bytes[..before + (bytes.len() - before) / 2]).unwrap();
            take(&path, &store, &Settings::default()).unwrap();
            assert_eq!(times(&store), times_of(&tags(0..range.start)));
            fs::write(&path, &bytes).unwrap();
            let (summary, read) = take(&path, &store, &Settings::default()).unwrap();
            assert_eq!(read, (bytes.len() - before) as u64, "{packing:?} {content:?}");
            assert_eq!(summary.torn, None);
            assert_eq!(times(&store), times_of(&tags(0..range.end)));
            assert_eq!(facts(&store).read_crc32c, Some(crc32c(&bytes)));
            before = bytes.len();
        }
    }
}

/// Rows are committed only at the end of a member, because a torn one is left out. Rows wait for later tags until
/// there are 2^20 of them.
#[test]
fn no_row_of_a_torn_member_is_committed() {
    for content in Content::ALL {
        let members = members(Packing::Gzip, content, &[0..5_000, 5_000..2_500_000]);
        let (_folder, path) = file(&members.concat()[..members.concat().len() - 1]);
        let store = path.with_extension("store");
        let settings = Settings { commit_rows: Some(1), ..Settings::default() };
        let mut writer = writer(&store);
        let part = SourcePart::Whole { rebase: None };
        match ingest(&path, "x", part, &settings, &mut writer).unwrap_err() {
            Error::TornMember { start, .. } => assert_eq!(start, members[0].len() as u64),
            error => panic!("{error}"),
        }
        drop(writer);
        assert!(!store.join("manifest.json").exists(), "{content:?}");
        take(&path, &store, &settings).unwrap();
        assert_eq!(times(&store), times_of(&tags(0..5_000)), "{content:?}");
    }
}

/// As with Zstandard, nothing is read of a torn member, so it may contain anything.
#[test]
fn a_fault_in_a_torn_member_is_none_yet() {
    for (packing, content) in all() {
        let first = packing.pack(&content.encode(&tags(0..5)));
        let not_tags = packing.pack(b"\xff no tags\n");
        for members in [&[&first[..], &not_tags][..], &[&not_tags]] {
            let bytes = members.concat();
            let cut = bytes.len() - not_tags.len() + not_tags.len() * 9 / 10;
            let (_folder, path) = file(&bytes[..cut]);
            let store = path.with_extension("store");
            let (summary, _) = take(&path, &store, &Settings::default()).unwrap();
            let complete = if members.len() == 2 { 5 } else { 0 };
            assert_eq!((summary.tags, summary.torn.is_some()), (complete, true), "{packing:?}");
            fs::write(&path, &bytes).unwrap();
            take(&path, &store, &Settings::default()).unwrap_err();
        }
    }
}

#[test]
fn damage_is_seen_and_named() {
    let expected = tags(0..40);
    for (packing, content) in all() {
        let members = members(packing, content, &[0..20, 20..40]);
        let (whole, first) = (members.concat(), members[0].len());
        let (mut refused, mut torn, mut harmless) = (0, 0, 0);
        for bit in some(0..whole.len() * 8) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match read(&bytes) {
                Ok((found, summary)) if summary.torn.is_some() => {
                    assert!(expected.starts_with(&found), "{packing:?} {content:?} {bit}");
                    torn += 1;
                }
                // Names and times in a header of gzip.
                Ok((found, _)) => {
                    assert_eq!(found, expected, "{packing:?} {content:?} {bit}");
                    harmless += 1;
                }
                Err(Error::Frame { number, start, kind, .. }) => {
                    let is_second = bit / 8 >= first;
                    let place = if is_second { (2, first as u64) } else { (1, 0) };
                    assert_eq!((number, start), place, "{kind} {bit}");
                    refused += 1;
                }
                Err(_) => refused += 1,
            }
        }
        eprintln!("{packing:?} {content:?}: {refused} refused, {torn} torn, {harmless} harmless");
        let headers = if packing == Packing::Gzip { 2 * 8 * 32 } else { 0 };
        assert!(refused > torn + harmless - headers.min(harmless), "{packing:?} {content:?}");
    }
    let gzip = members(Packing::Gzip, Content::Lines, &[0..20, 20..40]).concat();
    let error = read(&[&gzip[..gzip.len() - 5], &[7, 0, 0, 0, 0]].concat()).unwrap_err();
    assert!(error.to_string().contains("damaged: gzip member 2 (bytes "), "{error}");
    assert!(error.is_damage());
}

#[test]
fn what_follows_the_members_is_named() {
    for packing in Packing::ALL {
        let member = packing.pack(&Content::Lines.encode(&tags(0..20)));
        let followed = |by: &[u8]| read(&[&member[..], &member, by].concat());
        match followed(b"log: stopped").unwrap_err() {
            Error::Garbage { byte, before: 2, found, .. } => {
                assert_eq!(byte, 2 * member.len() as u64);
                assert_eq!(found, "text that begins \"log:\"");
            }
            error => panic!("{error}"),
        }
        for zeros in 1..10 {
            let result = followed(&vec![0; zeros]);
            match packing {
                // Four zeros each are padding.
                Packing::Xz => {
                    let (found, summary) = result.unwrap();
                    assert_eq!((found.len(), summary.torn.is_some()), (40, zeros % 4 > 0));
                }
                Packing::Gzip | Packing::Bzip2 => {
                    assert!(matches!(result, Err(Error::Garbage { .. })), "{result:?}");
                }
            }
        }
        let padded = [&member[..], &[0; 8], &member].concat();
        if packing == Packing::Xz {
            assert_eq!(read(&padded).unwrap().0.len(), 40);
            let odd = [&member[..], &[0; 6], &member].concat();
            assert!(matches!(read(&odd).unwrap_err(), Error::Garbage { .. }));
        }
    }
}

#[test]
fn many_empty_members_are_none_too_many() {
    for packing in Packing::ALL {
        let last = packing.pack(b"3\t17\n");
        let bytes = [packing.pack(b"").repeat(20_000), last].concat();
        assert_eq!(read(&bytes).unwrap().0, [tag(17, 3)]);
    }
}

/// Returns an xz stream whose header asks for this dictionary, as the specification encodes its size.
fn with_dictionary(size: u8) -> Vec<u8> {
    let mut stream = Packing::Xz.pack(b"3\t17\n");
    // The header of the stream has 12 bytes. In that of its block: sizes and flags, filter 0x21, 1 byte of
    // properties, and its checksum at the end.
    let len = (usize::from(stream[12]) + 1) * 4;
    let header = &mut stream[12..12 + len];
    assert_eq!(header[2..4], [0x21, 1]);
    header[4] = size;
    let mut crc = flate2::Crc::new();
    crc.update(&header[..len - 4]);
    header[len - 4..].copy_from_slice(&crc.sum().to_le_bytes());
    stream
}

/// Returns the peak memory of this process in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Short files that hold much, and those that ask for much memory.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a limit of memory")]
fn hostile_files_take_little_memory() {
    let test = "compressed::hostile_files_take_little_memory";
    if let Some(path) = std::env::var_os("TAGQ_HOSTILE") {
        let path = Path::new(&path);
        let result = |bytes: &[u8]| {
            fs::write(path, bytes).unwrap();
            read_tags(path, &Settings::default(), |_| Ok(()))
        };
        for packing in Packing::ALL {
            let mebibytes = |byte: u8, count| packing.pack_repeated(&vec![byte; 1 << 20], count);
            // A message of 512 MiB, whose list begins at its end: zeros would have to be set aside.
            let words = 1_u32 << 26;
            let mut start = vec![0; 4];
            start.extend(words.to_le_bytes());
            let offset = u64::from(words - 4) << 2;
            for word in [1_u64 << 48, 1 | 6 << 32 | 1 << 35, 1 | offset | 7 << 32] {
                start.extend(word.to_le_bytes());
            }
            let bomb = [packing.pack(&start), mebibytes(0, 512)].concat();
            let error = result(&bomb).unwrap_err();
            assert!(error.to_string().contains("64 times the size of the file"), "{error}");
            assert_eq!(result(&mebibytes(b'\n', 64)).unwrap().tags, 0);
            let error = result(&mebibytes(b'1', 64)).unwrap_err();
            assert!(error.to_string().contains("64 KiB"), "{error}");
        }
        // 128 MiB, 192 MiB, and one byte less than 4 GiB (.xz file format, section 5.3.1).
        assert_eq!(result(&with_dictionary(30)).unwrap().tags, 1);
        for size in [31, 40] {
            let error = result(&with_dictionary(size)).unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("xz stream 1 wants a dictionary above 128 MiB"));
            assert!(error.to_string().contains("xz -dc FILE | xz > NEW"), "{error}");
        }
        eprintln!("done, peak {} KiB", peak());
        return;
    }
    let (_folder, path) = file(b"");
    let output = again_in_little_memory(test, ("TAGQ_HOSTILE", path.to_str().unwrap()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("done, peak"), "{said}");
    eprintln!("{said}");
}
