//! The streaming decoder, compared with the reference implementation.

use std::{fs, path::Path};

use proptest::prelude::*;
use tagq_ingest::{Error, Settings, SourceFile, read_tags};
use tagq_sampling::random_cases;
use tagq_store::Tag;

use crate::{
    newer_capnp, old_capnp,
    support::{
        Choices, Lists, Shape, again_in_little_memory, built, built_in_order, damage, file, frame,
        framed, laid_out, read, reference, skippable, some_tags, tag,
    },
};

/// Shape written by a recorder: a root of one pointer, elements of two words.
const PLAIN: Shape = Shape { segments: 1, root: (0, 1), element: (2, 0) };

/// Reads `message` as a plain and as a compressed file.
fn assert_read(message: &[u8], expected: &[Tag]) {
    for (bytes, frames) in [(message.to_vec(), 0), (frame(message, true), 1)] {
        let (tags, summary) = read(&bytes).unwrap();
        assert!(tags == expected, "{tags:.4?} instead of {expected:.4?}");
        assert_eq!((summary.messages, summary.frames), (1, frames));
        assert_eq!((summary.resume_byte, &summary.torn), (bytes.len() as u64, &None));
        assert_eq!(summary.checksummed, frames == 1);
    }
}

fn lists_of(lens: &[usize]) -> Lists {
    (1..).zip(lens).map(|(seed, &len)| some_tags(seed, len)).collect()
}

#[test]
fn what_the_reference_writes_is_read() {
    for lens in [&[][..], &[0], &[1], &[2], &[0, 0, 0], &[3, 0, 1], &[510], &[511], &[20_000, 1]] {
        let lists = lists_of(lens);
        for (first_words, is_fixed) in [(1, true), (2, true), (3, true), (16, false), (4096, false)]
        {
            let message = built(&lists, first_words, is_fixed);
            assert_eq!(reference(&message).unwrap(), lists.concat());
            assert_read(&message, &lists.concat());
        }
    }
}

#[test]
fn lists_made_in_another_order_come_in_that_of_their_pointers() {
    let lists = lists_of(&[3, 500, 0, 1, 700, 40]);
    for order in [vec![5, 4, 3, 2, 1, 0], vec![1, 0, 5, 3, 4, 2], vec![0, 2, 1, 3, 5, 4]] {
        for first_words in [1, 8, 100, 100_000] {
            let message = built_in_order(&lists, order.clone(), first_words, true);
            assert_read(&message, &lists.concat());
        }
    }
}

#[test]
fn a_message_may_have_511_segments() {
    // The first segment has the root pointer and the outer list; each list has its own segment.
    for segments in [1, 2, 3, 510, 511] {
        let lists = lists_of(&vec![2; segments - 1]);
        let mut words = vec![vec![1 << 48, 1 | 6 << 32 | (lists.len() as u64) << 35]];
        for (i, list) in (1..).zip(&lists) {
            words[0].push(2 | i << 32);
            words.push(vec![1 | 7 << 32 | 4 << 35, 2 << 2 | 2 << 32]);
            let of_list = list.iter().flat_map(|tag| [tag.time.cast_unsigned(), tag.channel]);
            words.last_mut().unwrap().extend(of_list);
        }
        let message = framed(&words);
        assert_eq!(reference(&message).unwrap(), lists.concat());
        assert_read(&message, &lists.concat());
        words.extend(vec![vec![]; 512 - segments]);
        let message = framed(&words);
        assert!(reference(&message).is_err());
        let refused = read(&message).unwrap_err().to_string();
        assert!(refused.contains("begins with bytes ff 01 00 00"), "{refused}");
        let second = [framed(&[vec![0]]), message].concat();
        let refused = read(&second).unwrap_err().to_string();
        assert!(refused.contains("message 2, word 0: its segment table claims more"), "{refused}");
    }
}

#[test]
fn messages_without_tags_are_legal() {
    let no_pointer = 0;
    let no_list = vec![1 << 48, 0];
    let struct_of_nothing = 0xffff_fffc;
    let list = |size: u64, count: u64| vec![1 << 48, 1 | size << 32 | count << 35];
    for words in [
        vec![no_pointer],
        no_list,
        vec![struct_of_nothing],
        // A root of an older schema without the field: one data word, no pointer.
        vec![1 << 32, 7],
        list(6, 0),
        [list(6, 2), vec![0, 0]].concat(),
        // An inner list of 0 tags that reserved two words, followed by a gap.
        [list(6, 1), vec![1 | 7 << 32 | 2 << 35, 2 << 32, 8, 9, 10, 11]].concat(),
    ] {
        let message = framed(&[words]);
        assert_eq!(reference(&message).unwrap(), []);
        assert_read(&message, &[]);
        let many = message.repeat(1000);
        assert_eq!(read(&many).unwrap().1.messages, 1000);
    }
    let (_folder, path) = file(b"");
    assert_eq!(SourceFile::open(&path).unwrap().first_time(&Settings::default()).unwrap(), None);
    assert_eq!(read(b"").unwrap().1.messages, 0);
}

#[test]
fn an_empty_list_may_stand_at_the_end_of_its_segment() {
    // A double far pointer past the end: position 2 of segment 1, which has two words.
    let pad = vec![2 | 2 << 3 | 1 << 32, 1 | 6 << 32];
    let message = framed(&[vec![1 << 48, 6 | 1 << 32], pad]);
    assert_eq!(reference(&message).unwrap(), []);
    assert_read(&message, &[]);
}

#[test]
fn older_files_have_a_channel_of_one_byte() {
    let mut message = capnp::message::Builder::new_default();
    let root = message.init_root::<old_capnp::tags::Builder<'_>>();
    let mut list = root.init_tags(1).init(0, 256);
    for channel in 0..=255 {
        let mut element = list.reborrow().get(u32::from(channel));
        element.set_time(-i64::from(channel));
        element.set_channel(channel);
    }
    let expected: Vec<Tag> = (0..256).map(|i| tag(-i, i.cast_unsigned())).collect();
    assert_read(&capnp::serialize::write_message_to_words(&message), &expected);
}

#[test]
fn newer_files_may_have_more_in_their_elements() {
    let mut message = capnp::message::Builder::new_default();
    let mut root = message.init_root::<newer_capnp::tags::Builder<'_>>();
    root.set_note("a note");
    root.set_session(7);
    let mut lists = root.init_tags(2);
    let expected = some_tags(3, 30_000);
    for (i, tags) in (0..).zip(expected.chunks(20_000)) {
        let mut list = lists.reborrow().init(i, u32::try_from(tags.len()).unwrap());
        for (j, tag) in (0..).zip(tags) {
            let mut element = list.reborrow().get(j);
            element.set_time(tag.time);
            element.set_channel(tag.channel);
            element.set_quality(0.5);
            if j % 1000 == 0 {
                element.set_note("odd");
            }
        }
    }
    assert_read(&capnp::serialize::write_message_to_words(&message), &expected);
}

#[test]
fn elements_may_be_as_wide_as_a_struct_can_be() {
    let lists = lists_of(&[3, 0, 2]);
    for element in [(2, 1), (3, 0), (65_535, 0), (2, 65_535), (65_535, 65_535)] {
        let shape = Shape { element, ..PLAIN };
        let message = framed(&laid_out(&lists, shape, &mut Choices::new(vec![])));
        assert_eq!(reference(&message).unwrap(), lists.concat());
        assert_read(&message, &lists.concat());
    }
}

#[test]
fn lists_end_anywhere_in_the_pieces_they_are_read_in() {
    // Tags are passed on in batches of 16,384; wider elements give other batch sizes.
    for len in [16_383, 16_384, 16_385, 32_768, 32_769] {
        for element in [(2, 0), (2, 1), (5, 2)] {
            let lists = lists_of(&[len, 1, len]);
            let message =
                framed(&laid_out(&lists, Shape { element, ..PLAIN }, &mut Choices::new(vec![])));
            assert_read(&message, &lists.concat());
        }
    }
}

#[test]
fn messages_and_frames_may_fall_in_any_way() {
    let lists: Vec<Lists> = vec![
        lists_of(&[3]),
        vec![],
        lists_of(&[600, 0, 20_000]),
        vec![vec![]],
        vec![some_tags(9, 1)],
    ];
    let messages: Vec<Vec<u8>> = lists.iter().map(|lists| built(lists, 64, false)).collect();
    let stream = messages.concat();
    let expected: Vec<Tag> = lists.iter().flatten().flatten().copied().collect();
    let check = |bytes: &[u8], frames: usize| {
        let (tags, summary) = read(bytes).unwrap();
        assert!(tags == expected, "{frames} frames");
        assert_eq!((summary.messages, summary.frames), (5, frames));
        assert_eq!((summary.resume_byte, summary.torn), (bytes.len() as u64, None));
    };
    check(&stream, 0);
    check(&frame(&stream, false), 1);
    let one_each: Vec<Vec<u8>> = messages.iter().map(|message| frame(message, false)).collect();
    check(&one_each.concat(), 5);
    let between =
        [skippable(b""), frame(b"", true), skippable(&vec![7; 200_000]), frame(b"", false)];
    check(&one_each.join(&between.concat()[..]), 5 + 4 * 4);
    check(&[&between.concat(), &one_each.concat()[..], &between.concat()].concat(), 5 + 2 * 4);
    // Frames cut at any byte, down to one byte per frame.
    for piece in [4096, 1000, 77, 3] {
        let stream = if piece < 100 { &messages[0] } else { &stream };
        let pieces: Vec<Vec<u8>> = stream.chunks(piece).map(|p| frame(p, false)).collect();
        if piece < 100 {
            assert_eq!(read(&pieces.concat()).unwrap().0, lists[0][0]);
        } else {
            check(&pieces.concat(), pieces.len());
        }
    }
    // One byte per frame, and frames without data: nothing accumulates.
    let bytes: Vec<u8> = messages[0].iter().flat_map(|&byte| frame(&[byte], true)).collect();
    assert_eq!(read(&bytes).unwrap().0, lists[0][0]);
    assert_eq!(read(&frame(b"", false).repeat(100_000)).unwrap().1.frames, 100_000);
}

#[test]
fn the_first_time_is_that_of_the_first_tag() {
    let messages = [built(&[], 8, false), built(&[vec![], vec![tag(-7, 1), tag(3, 2)]], 8, false)];
    for bytes in [messages.concat(), frame(&messages.concat(), false)] {
        let (_folder, path) = file(&bytes);
        assert_eq!(
            SourceFile::open(&path).unwrap().first_time(&Settings::default()).unwrap(),
            Some(-7)
        );
        fs::write(&path, &bytes[..5]).unwrap();
        assert_eq!(
            SourceFile::open(&path).unwrap().first_time(&Settings::default()).unwrap(),
            None
        );
    }
}

#[test]
fn other_files_are_named_as_such() {
    let named = |bytes: &[u8]| match read(bytes).unwrap_err() {
        Error::NotTags { found, .. } => found,
        error => panic!("{error}"),
    };
    assert!(named(b"PK\x05\x04....").contains("bytes 50 4b 05 04"));
    assert!(named(&frame(b"PK\x05\x04....", true)).contains("inside its Zstandard frames is some"));
    assert!(named(b"\xff\xfe3\0\t\0").contains("UTF-16"));
    let folder = tempfile::tempdir().unwrap();
    let read_at = |path: &Path| read_tags(path, &Settings::default(), |_| Ok(())).unwrap_err();
    assert!(read_at(folder.path()).to_string().contains("no tag file: a folder"));
    let none = read_at(&folder.path().join("none")).to_string();
    assert!(none.contains("none: cannot open: "), "{none}");
}

#[test]
#[cfg(unix)]
#[cfg_attr(not(target_os = "linux"), ignore = "a name that is not UTF-8")]
fn pipes_are_refused_and_names_may_have_any_bytes() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().unwrap();
    let read_at = |path: &Path| read_tags(path, &Settings::default(), |_| Ok(())).unwrap_err();
    assert!(read_at(Path::new("/dev/null")).to_string().contains("a device or pipe"));
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(read_at(&pipe).to_string().contains("a device or pipe"));
    let odd = folder.path().join(std::ffi::OsStr::from_bytes(b"a\nb\xff"));
    fs::write(&odd, built(&lists_of(&[2]), 8, false)).unwrap();
    assert_eq!(read_tags(&odd, &Settings::default(), |_| Ok(())).unwrap().tags, 2);
}

/// Returns 48 MB with lists in another order than their pointers: more than fits the buffer in memory.
fn large() -> (Lists, Vec<u8>) {
    let lists = lists_of(&[900_000, 0, 1, 1_000_000, 500, 700_000, 399_499]);
    let mut x = 5_u32;
    let mut choices: Vec<u32> = Vec::new();
    choices.resize_with(100, || {
        x = x.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        x >> 16
    });
    let shape = Shape { segments: 4, root: (1, 2), element: (2, 0) };
    let message = framed(&laid_out(&lists, shape, &mut Choices::new(choices)));
    (lists, message)
}

#[test]
fn a_large_message_in_any_order_is_set_aside_on_disk() {
    let (lists, message) = large();
    assert_read(&message, &lists.concat());
    // Buffered data of one message is gone when the next begins.
    let small = built_in_order(&lists[2..3], vec![0], 1, true);
    let expected = [lists.concat(), lists[2].clone(), lists.concat()].concat();
    let (tags, _) = read(&[&message[..], &small, &message].concat()).unwrap();
    assert!(tags == expected);
}

#[test]
fn no_room_to_set_a_message_aside_is_named() {
    if std::env::var("TMPDIR").is_ok_and(|folder| folder == "/does/not/exist") {
        let path = std::env::var_os("TAGQ_LARGE").unwrap();
        let error = read_tags(Path::new(&path), &Settings::default(), |_| Ok(())).unwrap_err();
        eprintln!("{error}");
        return;
    }
    let (_folder, path) = file(&large().1);
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["messages::no_room_to_set_a_message_aside_is_named", "--exact", "--nocapture"])
        .envs(["TMPDIR", "TMP", "TEMP"].map(|name| (name, "/does/not/exist")))
        .env("TAGQ_LARGE", &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let expected = "a file: cannot set aside a part of a message of: ";
    assert!(said.contains(expected), "{said}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "a limit of memory")]
fn memory_does_not_grow_with_a_message() {
    let test = "messages::memory_does_not_grow_with_a_message";
    if let Some(path) = std::env::var_os("TAGQ_LARGE") {
        let mut count = 0;
        let summary = read_tags(Path::new(&path), &Settings::default(), |tags| {
            count += tags.len();
            Ok(())
        })
        .unwrap();
        assert_eq!((summary.tags, count), (96_000_000 / 16, 6_000_000));
        return;
    }
    // 6 M tags, 96 MB: the lists in order, then in reverse order.
    let lists = lists_of(&[1_500_000; 4]);
    for order in [vec![0, 1, 2, 3], vec![3, 2, 1, 0]] {
        let (_folder, path) = file(&built_in_order(&lists, order, 8, false));
        let output = again_in_little_memory(test, ("TAGQ_LARGE", path.to_str().unwrap()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

fn any_lists() -> impl Strategy<Value = Lists> {
    let any_tag = (any::<i64>(), any::<u64>()).prop_map(|(time, channel)| tag(time, channel));
    prop::collection::vec(prop::collection::vec(any_tag, 0..12), 0..8)
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (1..6_usize, (0..3_u64, 1..3_u64), (2..5_u64, 0..3_u64))
        .prop_map(|(segments, root, element)| Shape { segments, root, element })
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn any_layouts_are_read_like_the_reference_reads_them(
        messages in prop::collection::vec(
            (any_lists(), any_shape(), prop::collection::vec(any::<u32>(), 0..100)),
            1..4,
        ),
    ) {
        let mut expected = Vec::new();
        let mut bytes = Vec::new();
        for (lists, shape, choices) in messages {
            let message = framed(&laid_out(&lists, shape, &mut Choices::new(choices)));
            prop_assert_eq!(reference(&message).unwrap(), lists.concat());
            expected.extend(lists.concat());
            bytes.extend(message);
        }
        prop_assert_eq!(read(&bytes).unwrap().0, expected);
    }

    /// A damaged message is refused, or read like the reference does.
    #[test]
    fn a_damaged_layout_never_gives_other_tags_than_the_reference(
        lists in any_lists(),
        shape in any_shape(),
        choices in prop::collection::vec(any::<u32>(), 0..100),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32, any::<u64>()), 1..4),
    ) {
        let mut segments = laid_out(&lists, shape, &mut Choices::new(choices));
        for (at, kind, value) in damages {
            let mut words: Vec<&mut u64> = segments.iter_mut().flatten().collect();
            let index = at.index(words.len());
            damage(words[index], kind, value);
        }
        let message = framed(&segments);
        match (read(&message), reference(&message)) {
            (Ok((tags, _)), expected) => {
                prop_assert_eq!(Ok(tags), expected.map_err(|e| e.to_string()));
            }
            (Err(Error::Message { .. }), _) => {}
            (Err(error), _) => panic!("{error}"),
        }
    }
}
