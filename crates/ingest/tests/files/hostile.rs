//! Malicious files: each is refused with a specific error or read as it declares, with little memory and disk
//! space.

use std::{fs, path::Path};

use tagq_ingest::{Error, Settings, Summary, read_tags};

use crate::support::{again_in_little_memory, frame, framed, reference, skippable};

/// Expected result for a file.
enum Outcome {
    /// This number of tags.
    Tags(u64),
    /// [`Error::Message`] with this text.
    Message(&'static str),
    /// [`Error::TornMessage`].
    Torn,
    /// [`Error::NotTags`] with this text.
    NotTags(&'static str),
    /// [`Error::Frame`] with this text.
    Frame(&'static str),
    Unsupported(&'static str),
}
use Outcome::{Frame, Message, NotTags, Tags, Torn, Unsupported};

const ROOT: u64 = 1 << 48;
/// Element word of a list of one tag.
const ONE_TAG: u64 = 1 << 2 | 2 << 32;
/// Maximum number of words in the length of a list, and maximum offset.
const WORDS_MAX: u64 = (1 << 29) - 1;

fn offset(words: i64) -> u64 {
    u64::from((words.cast_unsigned() << 2) as u32)
}

fn outer(offset_words: i64, lists: u64) -> u64 {
    1 | offset(offset_words) | 6 << 32 | lists << 35
}

fn inner(offset_words: i64, words: u64) -> u64 {
    1 | offset(offset_words) | 7 << 32 | words << 35
}

fn far(segment: u64, word: u64) -> u64 {
    2 | word << 3 | segment << 32
}

fn double_far(segment: u64, word: u64) -> u64 {
    4 | far(segment, word)
}

/// Returns the start of a message of one segment that declares more words than follow.
fn claiming(words: u32, start: &[u64]) -> Vec<u8> {
    let mut bytes = framed(&[start.to_vec()]);
    bytes[4..8].copy_from_slice(&words.to_le_bytes());
    bytes
}

/// Returns a message of one segment with one list after this pointer.
fn one(pointer: u64, after: &[u64]) -> Vec<u8> {
    framed(&[[&[ROOT, outer(0, 1), pointer], after].concat()])
}

/// Messages by their false declarations.
#[expect(clippy::too_many_lines, reason = "a table")]
fn messages() -> Vec<(&'static str, Vec<u8>, Outcome)> {
    let tebibytes = |segments: u32| {
        let sizes = [0xff; 4].repeat(segments as usize | 1);
        [&(segments - 1).to_le_bytes()[..], &sizes, &[0; 800]].concat()
    };
    let list_of_one = [ONE_TAG, 7, 8];
    let many = |pointers: u64, pointer: fn(u64) -> u64, after: &[u64]| {
        let mut words = vec![ROOT, outer(0, pointers)];
        words.extend((0..pointers).map(pointer));
        words.extend(after);
        framed(&[words])
    };
    let far_root = |second: Vec<u64>| framed(&[vec![far(1, 0)], second]);
    let out = "a pointer leads out of its segment";
    vec![
        ("2^32 segments", [0xff; 64].to_vec(), NotTags("bytes ff ff ff ff")),
        ("512 segments", tebibytes(512), NotTags("bytes ff 01 00 00")),
        ("511 segments of 32 GiB of nothing", tebibytes(511), Torn),
        ("511 segments and no table", 510_u32.to_le_bytes().to_vec(), Torn),
        ("one segment of 32 GiB of nothing", tebibytes(1), Torn),
        ("an empty first segment", framed(&[vec![], vec![0]]), Message("first segment is empty")),
        ("a message of no words", vec![0; 8], Message("first segment is empty")),
        // Many pointers to one place.
        (
            "10^6 pointers to one list",
            many(1_000_000, |i| inner(999_999 - i.cast_signed(), 2), &list_of_one),
            Message("its lists share words"),
        ),
        (
            "10^5 pointers to one list of 10^5 tags",
            many(
                100_000,
                |i| inner(99_999 - i.cast_signed(), 200_000),
                &[&[100_000 << 2 | 2 << 32], &vec![3; 200_000][..]].concat(),
            ),
            Message("its lists share words"),
        ),
        (
            // The first pointer leads past the list of all others, which is buffered for them.
            "10^5 pointers to a list that was set aside",
            many(
                100_000,
                |i| match i {
                    0 => inner(99_999 + 20_001, 2),
                    _ => inner(99_999 - i.cast_signed(), 20_000),
                },
                &[&[10_000 << 2 | 2 << 32], &vec![3; 20_000][..], &list_of_one].concat(),
            ),
            Message("its lists share words"),
        ),
        (
            "10^6 pointers to one list of no tags",
            many(1_000_000, |i| inner(999_999 - i.cast_signed(), 0), &[2 << 32]),
            Tags(0),
        ),
        ("2^20 + 1 lists", many((1 << 20) + 1, |_| 0, &[]), Message("more than 2^20 lists")),
        ("2^20 lists", many(1 << 20, |_| 0, &[]), Tags(0)),
        (
            "a list, and one in it",
            many(2, |i| inner(1, [4, 2][i as usize]), &[2 << 2 | 2 << 32, ONE_TAG, 1, 2, 3]),
            Message("its lists share words"),
        ),
        (
            "a list in one that comes later",
            many(
                2,
                |i| inner([4, 0][i as usize], [2, 5][i as usize]),
                &[2 << 2 | 2 << 32, 9, 9, ONE_TAG, 1, 2],
            ),
            Message("its lists share words"),
        ),
        (
            // The first list is available when it is needed, and the total may not exceed the number of
            // words: 2 + 2 + 2 of 13.
            "lists that overlap in what was set aside",
            many(
                3,
                |i| inner([8, 3, 3][i as usize], 2),
                &[5, 5, ONE_TAG, ONE_TAG, 1, 2, ONE_TAG, 3, 4],
            ),
            Tags(3),
        ),
        ("a list of its own pointer", one(inner(-1, 1), &[]), Message("")),
        ("the root as a list of no tags", one(inner(-3, 2), &[]), Tags(0)),
        // False list lengths.
        ("a list of 2^29 void", one(1 | WORDS_MAX << 35, &[]), Message("no list of tags")),
        (
            "a list of 2^29 bits",
            one(1 | 1 << 32 | WORDS_MAX << 35, &[]),
            Message("no list of tags"),
        ),
        ("a list of 2^29 words", one(inner(0, WORDS_MAX), &list_of_one), Message(out)),
        ("a list of bits", one(1 | 1 << 32, &[]), Message("no list of tags")),
        ("a list of words", one(1 | 5 << 32 | 2 << 35, &[7, 8]), Message("no list of tags")),
        ("a list of pointers", one(outer(0, 2), &[7, 8]), Message("no list of tags")),
        ("2^30 tags of no words", one(inner(0, 0), &[0xffff_fffc]), Message("shorter than a tag")),
        (
            "2^30 tags of 10^5 words",
            one(inner(0, 2), &[u64::MAX << 2, 7, 8]),
            Message("more tags than"),
        ),
        (
            "tags of one word",
            one(inner(0, 2), &[2 << 2 | 1 << 32, 7, 8]),
            Message("shorter than a tag"),
        ),
        (
            "tags of two pointers",
            one(inner(0, 2), &[1 << 2 | 2 << 48, 0, 0]),
            Message("shorter than a tag"),
        ),
        (
            "more tags than words",
            one(inner(0, 2), &[2 << 2 | 2 << 32, 7, 8]),
            Message("more tags than"),
        ),
        ("elements of lists", one(inner(0, 2), &[1 | ONE_TAG, 7, 8]), Message("no struct pointer")),
        ("a list without its element word", one(inner(0, 0), &[]), Message(out)),
        ("a list past the end", one(inner(0, 3), &list_of_one), Message(out)),
        ("an empty list far away", one(1 | 5 << 32 | offset(1000), &[]), Message(out)),
        ("more lists than words", framed(&[vec![ROOT, outer(0, 4), 0, 0, 0]]), Message(out)),
        ("2^20 lists of nothing", framed(&[vec![ROOT, outer(0, 1 << 20)]]), Message(out)),
        // Pointers out of the message.
        ("a root before the message", framed(&[vec![ROOT | offset(-2)]]), Message(out)),
        ("a root far before the message", framed(&[vec![ROOT | offset(-1 << 29)]]), Message(out)),
        ("a root after the message", framed(&[vec![ROOT]]), Message(out)),
        ("lists before the segment", framed(&[vec![ROOT, outer(-3, 1), 0]]), Message(out)),
        ("lists after the segment", framed(&[vec![ROOT, outer(1, 1), 0]]), Message(out)),
        ("lists in another segment", framed(&[vec![ROOT, outer(0, 1)], vec![0]]), Message(out)),
        ("a list before the segment", one(inner(-4, 0), &list_of_one), Message(out)),
        (
            "a list after the segment",
            one(inner(WORDS_MAX.cast_signed() >> 1, 0), &list_of_one),
            Message(out),
        ),
        ("a root in the next segment", framed(&[vec![ROOT], vec![0]]), Message(out)),
        ("a root that is a list", framed(&[vec![outer(0, 0)]]), Message("its root is a list")),
        ("a root that is a capability", framed(&[vec![3]]), Message("a capability")),
        ("lists that are a struct", framed(&[vec![ROOT, ROOT, 0]]), Message("no list of lists")),
        (
            "lists that are words",
            framed(&[vec![ROOT, 1 | 5 << 32 | 1 << 35, 0]]),
            Message("no list of lists"),
        ),
        (
            "lists that are a capability",
            framed(&[vec![ROOT, 3 | 1 << 32]]),
            Message("a capability"),
        ),
        ("a list that is a struct", one(ROOT, &[0]), Message("no list of tags")),
        ("a list that is a capability", one(3, &[]), Message("a capability")),
        // Far pointers.
        ("a far pointer to itself", framed(&[vec![far(0, 0)]]), Message("to another far pointer")),
        (
            "a far pointer to a far one",
            far_root(vec![far(0, 0)]),
            Message("to another far pointer"),
        ),
        (
            "a far pointer to no segment",
            framed(&[vec![far(1, 0)]]),
            Message("segment that is not there"),
        ),
        (
            "a far pointer to segment 2^32",
            framed(&[vec![far(0xffff_ffff, 0)]]),
            Message("segment that is not there"),
        ),
        ("a far pointer after its segment", framed(&[vec![far(1, 1)], vec![0]]), Message(out)),
        ("a far pointer to an empty segment", framed(&[vec![far(1, 0)], vec![]]), Message(out)),
        ("a far pointer to a capability", far_root(vec![3]), Message("a capability")),
        ("a far pointer to nothing", far_root(vec![0]), Tags(0)),
        ("a far list of nothing", one(far(0, 3), &[0]), Message("no list of tags")),
        (
            "a double far pointer to itself",
            framed(&[vec![double_far(0, 0), 0]]),
            Message("does not lead to a far pointer"),
        ),
        (
            "a double far pointer to a double",
            framed(&[vec![double_far(1, 0)], vec![double_far(1, 0), 0]]),
            Message("does not lead to a far pointer"),
        ),
        (
            "half a double far pointer",
            framed(&[vec![double_far(1, 0)], vec![far(0, 0)]]),
            Message(out),
        ),
        (
            "a double far pointer to a near one",
            framed(&[vec![double_far(1, 0)], vec![ROOT, ROOT]]),
            Message("does not lead to a far pointer"),
        ),
        (
            "a double far pointer to no segment",
            framed(&[vec![double_far(1, 0)], vec![far(2, 0), ROOT]]),
            Message("segment that is not there"),
        ),
        (
            "a double far pointer after a segment",
            framed(&[vec![double_far(1, 0)], vec![far(0, 2), ROOT]]),
            Message(out),
        ),
        (
            "a double far struct at the end",
            framed(&[vec![double_far(1, 0)], vec![far(0, 1), ROOT]]),
            Message(out),
        ),
        (
            "a double far tag with an offset",
            framed(&[vec![double_far(1, 0)], vec![far(0, 0), ROOT | 4]]),
            Message("has an offset"),
        ),
        (
            "a double far tag that is far",
            framed(&[vec![double_far(1, 0)], vec![far(0, 0), far(0, 0)]]),
            Message("to another far pointer"),
        ),
        // Missing data.
        ("lists that never arrive", claiming(u32::MAX, &[ROOT, outer(0, 1 << 20)]), Torn),
        (
            "a list that never arrives",
            claiming(
                u32::MAX,
                &[ROOT, outer(0, 1), inner(0, WORDS_MAX - 1), (WORDS_MAX - 1) << 1 | 2 << 32],
            ),
            Torn,
        ),
        (
            "a list 4 GiB later",
            claiming(u32::MAX, &[ROOT, outer(0, 1), inner(WORDS_MAX.cast_signed() >> 1, 2)]),
            Torn,
        ),
        (
            "words of one element never arrive",
            claiming(
                u32::MAX,
                &[ROOT, outer(0, 1), inner(0, 131_070), 1 << 2 | 0xffff << 32 | 0xffff << 48],
            ),
            Torn,
        ),
        ("a rest that never arrives", claiming(u32::MAX, &[0]), Torn),
        (
            "a second message of noise",
            [framed(&[vec![0]]), b"noise...".to_vec()].concat(),
            Message("more than 511 segments"),
        ),
    ]
}

/// Returns `start` and then `mebibytes` MiB of zeros, in frames of 16 MiB, compressed 32,000 : 1.
fn bomb(start: &[u8], mebibytes: usize) -> Vec<u8> {
    let zeros = frame(&vec![0; 16 << 20], false);
    [frame(start, false), zeros.repeat(mebibytes / 16)].concat()
}

/// Returns a frame with this header that contains the bytes of `data` uncompressed.
fn frame_saying(header: &[u8], data: &[u8]) -> Vec<u8> {
    let block = u32::try_from(data.len()).unwrap() << 3 | 1;
    [&[0x28, 0xb5, 0x2f, 0xfd], header, &block.to_le_bytes()[..3], data].concat()
}

fn compressed() -> Vec<(&'static str, Vec<u8>, Outcome)> {
    let words = |mebibytes: u32| (mebibytes << 17) + 2;
    let of_tags = |mebibytes: u32| {
        let tags = u64::from(mebibytes) << 16;
        let start = [ROOT, outer(0, 1), inner(0, 2 * tags), tags << 2 | 2 << 32];
        claiming((mebibytes << 17) + 4, &start)
    };
    let empty = framed(&[vec![0]]);
    let window = |log: u8| frame_saying(&[0, (log - 10) << 3], &empty);
    let kept = "more than 64 times the size of the file";
    let too_large = "requires too much memory";
    vec![
        ("1 GiB of nothing", bomb(&claiming(words(1024) - 2 + 1, &[0]), 1024), Tags(0)),
        ("512 MiB of zero tags", bomb(&of_tags(512), 512), Tags(1 << 25)),
        (
            "2^27 pointers to nothing",
            bomb(&claiming(words(1024), &[ROOT, outer(0, 1 << 27)]), 1024),
            Message("more than 2^20 lists"),
        ),
        (
            "a list after 1 GiB of zeros",
            bomb(&claiming(words(1024) + 1, &[ROOT, outer(0, 1), inner((1 << 27) - 1, 0)]), 1024),
            Message(kept),
        ),
        (
            "48 MiB of zeros set aside, then again",
            bomb(&claiming(words(48) + 1, &[ROOT, outer(0, 1), inner((48 << 17) - 1, 0)]), 48)
                .repeat(2),
            Tags(0),
        ),
        ("a window of 2^27", window(27), Tags(0)),
        ("a window of 2^28", window(28), Unsupported(too_large)),
        ("a window of 2^30", window(30), Unsupported(too_large)),
        ("a window of 2^31", window(31), Unsupported(too_large)),
        ("a window of 2^41", window(41), Unsupported(too_large)),
        ("a dictionary", frame_saying(&[0x01, 0, 7], &empty), Unsupported("Dictionary mismatch")),
        (
            "a dictionary of 2^32",
            frame_saying(&[0x03, 0, 255, 255, 255, 255], &empty),
            Unsupported("Dictionary mismatch"),
        ),
        (
            "a content of 2^64",
            frame_saying(&[0xe0, 255, 255, 255, 255, 255, 255, 255, 255], &empty),
            Unsupported(too_large),
        ),
        (
            "a content of 2^32",
            frame_saying(&[0xa0, 255, 255, 255, 255], &empty),
            Unsupported(too_large),
        ),
        ("a content of 17 that is 16", frame_saying(&[0x20, 17], &empty), Frame("")),
        ("a content of 15 that is 16", frame_saying(&[0x20, 15], &empty), Frame("")),
        ("a reserved bit", frame_saying(&[0x08, 0], &empty), Frame("Unsupported frame parameter")),
        ("a reserved block", vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0x0f, 0, 0, 0], Frame("")),
        (
            "a false second frame",
            [frame(&empty, true), window(28)].concat(),
            Unsupported("frame 2 wants"),
        ),
        (
            "10^5 empty frames, then a message",
            [frame(b"", false).repeat(100_000), frame(&empty, false)].concat(),
            Tags(0),
        ),
        ("skippable frames alone", skippable(&[0xff; 1000]).repeat(10), Tags(0)),
    ]
}

fn check(name: &str, path: &Path, expected: &Outcome) {
    let mut count = 0;
    let result = read_tags(path, &Settings::default(), |tags| {
        count += tags.len() as u64;
        Ok(())
    });
    let found = match &result {
        Ok(Summary { tags, .. }) => format!("{tags} tags"),
        Err(error) => error.to_string(),
    };
    let fits = match (expected, &result) {
        (Tags(expected), Ok(summary)) => *expected == summary.tags && count == summary.tags,
        (Message(text), Err(Error::Message { .. }))
        | (NotTags(text), Err(Error::NotTags { .. }))
        | (Frame(text), Err(Error::Frame { .. }))
        | (Unsupported(text), Err(Error::Unsupported { .. })) => found.contains(text),
        (Torn, Err(Error::TornMessage { .. })) => true,
        _ => false,
    };
    assert!(fits, "{name}: {found}");
}

/// Returns the peak memory of this process in KiB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a limit of memory")]
fn hostile_files_are_refused_in_little_memory() {
    let test = "hostile::hostile_files_are_refused_in_little_memory";
    if let Some(folder) = std::env::var_os("TAGQ_HOSTILE") {
        let folder = Path::new(&folder);
        let mut count = 0;
        for (name, bytes, expected) in messages() {
            let (plain, packed) = (folder.join("plain"), folder.join("packed"));
            fs::write(&plain, &bytes).unwrap();
            fs::write(&packed, frame(&bytes, false)).unwrap();
            check(name, &plain, &expected);
            check(name, &packed, &expected);
            count += 2;
        }
        for (name, bytes, expected) in compressed() {
            let packed = folder.join("packed");
            fs::write(&packed, &bytes).unwrap();
            check(name, &packed, &expected);
            count += 1;
        }
        eprintln!("{count} hostile files, peak {} KiB", peak());
        assert!(peak() < 128 << 10, "{} KiB", peak());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = again_in_little_memory(test, ("TAGQ_HOSTILE", folder.path().to_str().unwrap()));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("hostile files, peak"), "{said}");
    eprintln!("{said}");
}

/// If the reference reads a message, our result is the same.
#[test]
fn what_is_refused_is_refused_by_the_reference_too() {
    // Refused only by us: elements that are not tags, words used twice, landing pads that are not far
    // pointers, and later messages of the file, which the reference does not read.
    let ours = [
        "tags of one word",
        "tags of two pointers",
        "a list of words",
        "a list of pointers",
        "a list, and one in it",
        "a list in one that comes later",
        "a double far pointer to itself",
        "a double far pointer to a double",
        "a second message of noise",
    ];
    for (name, bytes, expected) in messages() {
        let is_legal = matches!(expected, Tags(_));
        if bytes.len() < 100_000 && !ours.contains(&name) {
            assert_eq!(reference(&bytes).is_ok(), is_legal, "{name}: {:?}", reference(&bytes));
        }
    }
}
