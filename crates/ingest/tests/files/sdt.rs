//! Files of Becker & Hickl with counts: decay curves and images, and headers that lie.

use std::{fs, io::Write as _};

use tagq_ingest::{Error, HeldCounts, Settings};
use tagq_store::Tick;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::{
    instruments::stored,
    sdt_writer::{BLOCK_HEADER, BLOCKS_AT, COUNT_AT, SdtBlock, sdt},
};

const DECAY: u16 = 0x08;
const PAGE: u16 = 0x11;
const FCS: u16 = 0x28;
const IMAGE: u16 = 0x68;
const ZIPPED: u16 = 0x1000;

/// Curves: the label, the pixel, and the counts.
type Curves = Vec<(u16, usize, Vec<u32>)>;

fn read(bytes: &[u8]) -> Result<(HeldCounts, Curves), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sdt");
    fs::write(&path, bytes).unwrap();
    let (counts, mut curves) = (HeldCounts::open(&path)?, Vec::new());
    counts.read(|label, pixel, curve| curves.push((label, pixel, curve.to_vec())))?;
    Ok((counts, curves))
}

fn refused(bytes: &[u8], words: &str) {
    let error = read(bytes).unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
    let error = stored(bytes, "a.sdt", &Settings::default());
    // A file is not unpacked when it is ingested.
    if let Err(error) = error {
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// The same block in a ZIP archive.
fn zipped(block: &SdtBlock) -> SdtBlock {
    let mut archive = ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("data_block", SimpleFileOptions::default()).unwrap();
    archive.write_all(&block.stored).unwrap();
    let stored = archive.finish().unwrap().into_inner();
    SdtBlock { kind: block.kind | ZIPPED, stored, bytes: block.bytes }
}

#[test]
fn curves_and_images_are_read_and_other_blocks_are_named() {
    let curve = SdtBlock::long(DECAY, &[70_000, 5, 0, 1]);
    let fcs = SdtBlock::new(FCS | 0x200, vec![0; 64]);
    // Four pixels of two lines, of two detectors.
    let counts: Vec<u16> = (0..32).collect();
    let page = SdtBlock::short(PAGE, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let image = zipped(&SdtBlock::short(IMAGE, &counts));
    let packed_by_lz4 = SdtBlock::new(IMAGE | 0x4000, vec![0; 8]);
    let odd = SdtBlock::new(PAGE, vec![0; 9]);
    let bytes = sdt(4, [2, 2, 2, 1], &[curve, fcs, page, image, packed_by_lz4, odd]);
    let (held, curves) = read(&bytes).unwrap();
    // 50 ns / 4 / 4.
    assert_eq!((held.unit(), held.bins()), ("3125ps".parse::<Tick>().unwrap(), 4));
    let size = Some([2, 2]);
    let labels: Vec<_> = held.labels().collect();
    assert_eq!(labels, [(1, None), (2, None), (3, None), (4, size), (5, size)]);
    let mut expected =
        vec![(1, 0, vec![70_000, 5, 0, 1]), (2, 0, vec![1, 2, 3, 4]), (3, 0, vec![5, 6, 7, 8])];
    let pixels = counts.chunks(4).map(|of| of.iter().copied().map(u32::from).collect::<Vec<_>>());
    expected.extend(pixels.enumerate().map(|(at, of)| (if at < 4 { 4 } else { 5 }, at % 4, of)));
    assert_eq!(curves, expected);
    let stored = stored(&bytes, "a.sdt", &Settings::default()).unwrap();
    let recording = stored.facts.recording.unwrap();
    assert!(stored.rows.is_empty() && HeldCounts::are_in(&recording));
    let left_out: Vec<_> = recording.left_out.iter().map(|(what, n)| (what.as_str(), *n)).collect();
    let lost = "block of 9 bytes, which are no whole curves of 8";
    assert_eq!(left_out, [("FCS curve", 1), ("block compressed by LZ4", 1), (lost, 1)]);
    for fact in [
        ("module", "SPC-150"),
        ("title", "cells"),
        ("collection time", "1.5 s"),
        ("image 5", "2 x 2 pixels"),
    ] {
        assert!(recording.facts.iter().any(|(what, is)| (&**what, &**is) == fact), "{fact:?}");
    }
}

#[test]
fn files_without_curves_say_what_they_hold() {
    refused(&sdt(4, [0; 4], &[]), "it has no block");
    let fcs = || SdtBlock::new(FCS | 0x200, vec![0; 64]);
    refused(&sdt(4, [0; 4], &[fcs(), fcs()]), "it has 2 x FCS curve");
    refused(&sdt(4, [0; 4], &[SdtBlock::short(0xd1, &[0; 4])]), "1 x block of the type 0x00d1");
    let mut unfinished = sdt(4, [0; 4], &[fcs()]);
    unfinished[32..42].fill(0);
    refused(&unfinished, "not marked as valid");
    // No whole header: an empty file.
    assert!(stored(&unfinished[..20], "a.sdt", &Settings::default()).unwrap().facts.torn.is_some());
}

#[test]
fn headers_that_lie_are_refused() {
    let block = || SdtBlock::short(PAGE, &[1, 2, 3, 4]);
    let good = sdt(4, [0; 4], &[block(), block()]);
    let first = u32::from_le_bytes(good[BLOCKS_AT..BLOCKS_AT + 4].try_into().unwrap()) as usize;
    let second = first + BLOCK_HEADER + 8;
    let with = |at: usize, value: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        bytes
    };
    let place = |at: usize| u32::try_from(at).unwrap().to_le_bytes();
    refused(&with(BLOCKS_AT, &place(good.len())), "after its end");
    refused(&with(first + 6, &place(first)), "the block after that at byte");
    refused(&with(second + 2, &place(first + BLOCK_HEADER)), "share the bytes");
    refused(&with(first + 12, &[7]), "a block is of measurement 7, and it describes 1");
    refused(&with(second + 18, &0x1000_u32.to_le_bytes()), "after its end");
    // A place of 40 bits.
    refused(&with(first, &[1]), "after its end");
    let mut many = with(COUNT_AT, &0x7fff_u16.to_le_bytes());
    many[34..38].fill(0xff);
    refused(&many, "4294967295 blocks");
    let curves = SdtBlock::short(PAGE, &vec![0; 1 << 16]);
    refused(&sdt(1, [0; 4], &[curves]), "65536 curves");
    let bomb = SdtBlock { bytes: 1 << 16, ..zipped(&SdtBlock::short(PAGE, &[0; 4])) };
    refused(&sdt(4, [0; 4], &[bomb]), "a block of 65536 bytes is packed as one of 8");
    let mut torn = zipped(&SdtBlock::short(PAGE, &[1, 2, 3, 4]));
    torn.stored[44] ^= 1;
    assert!(read(&sdt(4, [0; 4], &[torn])).is_err());
}

/// No byte that is changed, and no cut, makes it panic or take memory.
#[test]
fn damaged_files_are_read_or_refused() {
    let image = zipped(&SdtBlock::short(IMAGE, &[1; 16]));
    let good = sdt(4, [2, 2, 1, 1], &[SdtBlock::long(DECAY, &[1, 2, 3, 4]), image]);
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= if at % 2 == 0 { 0xff } else { 0x80 };
        drop(read(&bytes));
        if at % 8 == 0 {
            drop(read(&good[..at]));
        }
    }
}
