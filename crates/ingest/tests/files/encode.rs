//! The output of the encoder, read by three decoders.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use tagq_ingest::encode::Encoder;

use crate::support::{built, read, reference, some_tags, tag};

const COUNTS: [usize; 9] = [0, 1, 2, 509, 510, 511, 512, 513, 100_000];

fn encoded(count: usize, piece: usize, checksum: bool) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new()).checksum(checksum);
    let tags = some_tags(count as u64, count);
    encoder.frame(count as u64, tags.chunks(piece)).unwrap();
    encoder.into_inner()
}

#[test]
fn what_is_encoded_comes_back() {
    for count in COUNTS {
        for (piece, checksum) in [(7, false), (1_000_000, true)] {
            let bytes = encoded(count, piece, checksum);
            let (tags, summary) = read(&bytes).unwrap();
            assert!(tags == some_tags(count as u64, count), "{count} tags");
            assert_eq!((summary.frames, summary.messages), (1, 1));
            assert_eq!(summary.checksummed, checksum);
            let message = zstd::decode_all(&bytes[..]).unwrap();
            assert!(reference(&message).unwrap() == tags, "{count} tags by the reference");
        }
    }
    let many: Vec<u8> = COUNTS.iter().flat_map(|&count| encoded(count, 100, false)).collect();
    let expected: Vec<_> = COUNTS.iter().flat_map(|&n| some_tags(n as u64, n)).collect();
    assert!(read(&many).unwrap().0 == expected);
}

#[test]
fn the_bytes_are_those_that_the_reference_writes() {
    for count in COUNTS {
        let message = zstd::decode_all(&encoded(count, 64, false)[..]).unwrap();
        let is_segmented = count >= 511;
        // The default first segment of the reference, or one with just the two pointers and the outer list.
        let first_words = if is_segmented { 3 } else { 1024 };
        let lists = [some_tags(count as u64, count)];
        assert!(message == built(&lists, first_words, false), "{count} tags");
        assert_eq!(message[0], u8::from(is_segmented), "{count} tags");
    }
}

#[test]
fn two_tags_are_these_bytes() {
    let mut encoder = Encoder::new(Vec::new());
    encoder.frame(2, [&[tag(-2, 3)][..], &[], &[tag(1 << 40, u64::MAX)]]).unwrap();
    let bytes = encoder.into_inner();
    // A frame as written by recorders: no checksum, no content size.
    assert_eq!(bytes[..5], [0x28, 0xb5, 0x2f, 0xfd, 0]);
    let words: Vec<u64> = zstd::decode_all(&bytes[..])
        .unwrap()
        .as_chunks::<8>()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let expected = [
        8 << 32,            // one segment of eight words
        0x1_0000_0000_0000, // the root: a struct of one pointer, right after this word
        0xe_0000_0001,      // the outer list: one pointer, right after this word
        0x27_0000_0001,     // the inner list: four words of structs, right after this word
        0x2_0000_0008,      // its elements: two, of two data words
        0xffff_ffff_ffff_fffe,
        3,
        1 << 40,
        u64::MAX,
    ];
    assert_eq!(words, expected);
}

#[test]
fn the_capnp_program_reads_what_is_encoded() {
    if !crate::support::has_capnp() {
        return;
    }
    for count in [0, 2, 511, 2000] {
        let message = zstd::decode_all(&encoded(count, 64, false)[..]).unwrap();
        let mut capnp = Command::new("capnp")
            .args([
                "decode",
                "--short",
                concat!(env!("CARGO_MANIFEST_DIR"), "/schema/tags.capnp"),
                "Tags",
            ])
            // pycapnp warns if this is not the folder of the test.
            .env_remove("PWD")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        capnp.stdin.take().unwrap().write_all(&message).unwrap();
        let output = capnp.wait_with_output().unwrap();
        let tags: Vec<String> = some_tags(count as u64, count)
            .iter()
            .map(|tag| format!("(time = {}, channel = {})", tag.time, tag.channel))
            .collect();
        let expected = format!("(tags = [[{}]])\n", tags.join(", "));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert!(output.status.success());
    }
}
