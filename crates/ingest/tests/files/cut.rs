//! Files that end early after a crash, and files with a flipped bit.

use std::fs;

use tagq_ingest::Error;
use tagq_store::Tag;

use crate::support::{Lists, built, frame, read, read_first, skippable, some_tags};

/// Returns small messages, the last but one in two segments, and their tags.
fn messages() -> (Vec<Vec<u8>>, Vec<Vec<Tag>>) {
    let lists: [Lists; 5] = [
        vec![some_tags(1, 3)],
        vec![],
        vec![some_tags(2, 2), vec![], some_tags(3, 1)],
        vec![some_tags(4, 9)],
        vec![some_tags(5, 1)],
    ];
    let first_words = [64, 64, 64, 2, 64];
    let messages = lists.iter().zip(first_words).map(|(lists, n)| built(lists, n, true)).collect();
    (messages, lists.iter().map(|lists| lists.concat()).collect())
}

/// Returns how many of `parts` are complete within the first `len` bytes, and the end of the last one.
fn complete(parts: &[Vec<u8>], len: usize) -> (usize, usize) {
    let mut end = 0;
    let fits = |part: &&Vec<u8>| {
        end += part.len();
        end <= len
    };
    let count = parts.iter().take_while(fits).count();
    (count, parts[..count].iter().map(Vec::len).sum())
}

#[test]
fn a_plain_file_cut_anywhere_gives_its_complete_messages() {
    let (messages, tags) = messages();
    let whole = messages.concat();
    for len in 0..=whole.len() {
        let (count, end) = complete(&messages, len);
        let result = if len == end {
            read(&whole[..len])
        } else {
            match read(&whole[..len]).unwrap_err() {
                Error::TornMessage { message, .. } => assert_eq!(message, count as u64 + 1),
                error => panic!("cut at {len}: {error}"),
            }
            read_first(&whole[..len], count as u64)
        };
        let (found, summary) = result.unwrap();
        assert_eq!(found, tags[..count].concat(), "cut at {len}");
        assert_eq!(summary.messages, count as u64);
        assert_eq!(summary.resume_byte, end as u64);
        let torn = (len > end).then(|| format!("the file ends inside message {}", count + 1));
        assert_eq!(summary.torn, torn);
    }
}

#[test]
fn a_compressed_file_cut_anywhere_gives_its_complete_frames() {
    let (messages, tags) = messages();
    for checksum in [false, true] {
        // Frames: skippable, message 1, 2, empty, 3 and 4, 5.
        let frames = [
            skippable(b"abc"),
            frame(&messages[0], checksum),
            frame(&messages[1], checksum),
            frame(b"", checksum),
            frame(&messages[2..4].concat(), checksum),
            frame(&messages[4], checksum),
        ];
        let messages_before = [0, 0, 1, 2, 2, 4, 5];
        let whole = frames.concat();
        for len in 0..=whole.len() {
            let (count, end) = complete(&frames, len);
            let (found, summary) = read(&whole[..len]).unwrap();
            assert_eq!(found, tags[..messages_before[count]].concat(), "cut at {len}");
            assert_eq!((summary.frames, summary.resume_byte), (count, end as u64));
            let torn = (len > end).then(|| {
                format!(
                    "frame {} begins at byte {end} and is not complete ({} bytes left out)",
                    count + 1,
                    len - end
                )
            });
            assert_eq!(summary.torn, torn);
        }
    }
}

#[test]
fn frames_that_end_inside_a_message_give_the_messages_before_it() {
    let (messages, tags) = messages();
    let stream = messages.concat();
    // Message borders in the decompressed stream.
    let ends: Vec<usize> = (0..=messages.len()).map(|n| messages[..n].concat().len()).collect();
    for piece in [1, 8, 40, 100, ends[2], 1000] {
        let frames: Vec<Vec<u8>> = stream.chunks(piece).map(|bytes| frame(bytes, false)).collect();
        for count in 0..=frames.len() {
            let bytes = frames[..count].concat();
            let len = stream.len().min(count * piece);
            let complete = ends.iter().rposition(|&end| end <= len).unwrap();
            if ends[complete] == len {
                let (found, summary) = read(&bytes).unwrap();
                assert_eq!((found, summary.torn), (tags[..complete].concat(), None));
                continue;
            }
            match read(&bytes).unwrap_err() {
                Error::TornMessage { message, .. } => assert_eq!(message, complete as u64 + 1),
                error => panic!("{count} frames of {piece}: {error}"),
            }
            let (found, summary) = read_first(&bytes, complete as u64).unwrap();
            assert_eq!(found, tags[..complete].concat());
            let torn = format!("the file ends inside message {}", complete + 1);
            assert_eq!(summary.torn, Some(torn));
            // Reading can continue at the last frame that begins with one of these messages.
            let resume = (0..=count)
                .rfind(|&n| ends[..=complete].contains(&(n * piece)))
                .map(|n| frames[..n].concat().len() as u64);
            assert_eq!(Some(summary.resume_byte), resume, "{count} frames of {piece}");
        }
    }
}

#[test]
fn the_first_messages_alone_can_be_read() {
    let (messages, tags) = messages();
    let frames: Vec<Vec<u8>> = messages.iter().map(|message| frame(message, true)).collect();
    for parts in [&messages, &frames] {
        for count in 0..=5 {
            let end = parts[..count].concat().len();
            let (found, summary) = read_first(&parts.concat(), count as u64).unwrap();
            assert_eq!(found, tags[..count].concat());
            assert_eq!(summary.resume_byte, end as u64);
            assert_eq!(summary.torn.is_some(), count < 5);
        }
        assert_eq!(read_first(&parts.concat(), 6).unwrap().1.torn, None);
    }
    // Later data may be damaged: here the checksum of the second frame.
    let mut bytes = frames[..2].concat();
    *bytes.last_mut().unwrap() ^= 1;
    let (found, summary) = read_first(&bytes, 1).unwrap();
    assert_eq!((found, summary.resume_byte), (tags[0].clone(), frames[0].len() as u64));
    match read(&bytes).unwrap_err() {
        Error::Frame { number: 2, start, end, .. } => {
            assert_eq!((start, end), (frames[0].len() as u64, bytes.len() as u64));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn what_follows_the_frames_is_named() {
    let (messages, _) = messages();
    let frames = [frame(&messages[0], true), frame(&messages[1], true)].concat();
    match read(&[&frames[..], b"log: stopped"].concat()).unwrap_err() {
        Error::Garbage { byte, before: 2, found, .. } => {
            assert_eq!(byte, frames.len() as u64);
            assert_eq!(found, "text that begins \"log:\"");
        }
        error => panic!("{error}"),
    }
    // Less than the magic number of a frame cannot be distinguished from a torn frame.
    assert!(read(&[&frames[..], b"\n"].concat()).unwrap().1.torn.is_some());
}

/// Flips every bit of two frames, one at a time.
fn flipped(checksum: bool) -> impl Iterator<Item = (Vec<u8>, usize)> {
    let (messages, _) = messages();
    let bytes = [frame(&messages[0], checksum), frame(&messages[2..4].concat(), checksum)].concat();
    (0..bytes.len() * 8).map(move |bit| {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        (flipped, bit)
    })
}

#[test]
fn every_flipped_bit_of_a_checksummed_file_is_seen() {
    let (_, tags) = messages();
    let expected = [&tags[0][..], &tags[2], &tags[3]].concat();
    let (mut refused, mut torn, mut harmless) = (0, 0, 0);
    for (bytes, bit) in flipped(true) {
        match read(&bytes) {
            Err(_) => refused += 1,
            Ok((found, summary)) if summary.torn.is_some() => {
                assert_eq!(found, expected[..found.len()], "bit {bit}");
                torn += 1;
            }
            // Some bits of a frame's header do not affect its data.
            Ok((found, _)) => {
                assert_eq!(found, expected, "bit {bit}");
                harmless += 1;
            }
        }
    }
    eprintln!("{refused} flipped bits refused, {torn} seen as torn, {harmless} harmless");
    assert!(refused > 0 && torn > 0 && harmless < (refused + torn) / 50);
}

#[test]
fn a_flipped_bit_without_checksum_is_no_panic() {
    for (bytes, bit) in flipped(false) {
        // 17 is the number of tags. A changed value cannot be detected, but no tag may be invented.
        if let Ok((found, _)) = read(&bytes) {
            assert!(found.len() <= 17, "bit {bit}: {}", found.len());
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_named() {
    // More than the 2 Mi that are read ahead; otherwise all of it can be read before the file shrinks.
    let message = built(&[some_tags(1, 2_500_000)], 8, false);
    for bytes in [frame(&message, false), message] {
        let (_folder, path) = crate::support::file(&bytes);
        let result = tagq_ingest::read_tags(&path, &tagq_ingest::Settings::default(), |_| {
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300_000).unwrap();
            Ok(())
        });
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Shrunk { .. }), "{error}");
        assert!(!error.is_damage() && error.to_string().contains("shorter"), "{error}");
    }
}

/// The same for text, read with one thread and with several.
#[test]
fn a_text_that_shrinks_while_it_is_read_is_named() {
    let lines: Vec<String> = (0..1_500_000).map(|i| format!("{}\t{i}\n", i % 7)).collect();
    let text = lines.concat();
    for bytes in [text.as_bytes(), &text.as_bytes()[..510_000]] {
        let (_folder, path) = crate::support::file(bytes);
        // Two threads read ahead less than the whole file.
        let settings = tagq_ingest::Settings { threads: 2, ..Default::default() };
        let result = tagq_ingest::read_tags(&path, &settings, |_| {
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(300_000).unwrap();
            Ok(())
        });
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Shrunk { .. }), "{error}");
    }
}
