//! The curves of a block: label by label, and within an image pixel by pixel. A packed block must have the length that
//! its header states.

use std::io::{BufReader, Read};

use zip::ZipArchive;

use super::blocks::CurveBlock;
use crate::formats::tables::{
    bytes::Bytes,
    fault::{TableFault, damaged, guarded},
    values::read_exact,
};

/// Hands the counts of each curve of a block to `take`, with its label and the number of its pixel.
pub(super) fn read(
    file: Bytes<'_>,
    block: &CurveBlock,
    bins: u32,
    take: &mut dyn FnMut(u16, usize, &[u32]),
) -> Result<(), TableFault> {
    let len = block.place.end.saturating_sub(block.place.start);
    let section = file.section(block.place.start, len)?;
    if !block.is_zipped {
        return curves(BufReader::new(section), block, bins, take);
    }
    let broken =
        |error: zip::result::ZipError| TableFault::Damaged(format!("as a ZIP archive: {error}"));
    guarded(|| {
        let mut archive = ZipArchive::new(BufReader::new(section)).map_err(broken)?;
        let mut member = archive.by_index(0).map_err(broken)?;
        if member.size() != block.bytes(bins) {
            return damaged(format!(
                "a block of {} bytes is packed as one of {}",
                block.bytes(bins),
                member.size()
            ));
        }
        curves(&mut member, block, bins, take)?;
        // The checksum is compared at its end.
        match member.read(&mut [0])? {
            0 => Ok(()),
            _ => damaged("a packed block is longer than it says"),
        }
    })
}

fn curves(
    mut input: impl Read,
    block: &CurveBlock,
    bins: u32,
    take: &mut dyn FnMut(u16, usize, &[u32]),
) -> Result<(), TableFault> {
    let mut bytes = vec![0; bins as usize * block.count_bytes];
    let mut counts = Vec::new();
    for label in block.labels() {
        for pixel in 0..usize::try_from(block.curves_of_label()).unwrap_or(0) {
            read_exact(&mut input, &mut bytes)?;
            counts.clear();
            counts.extend(bytes.chunks_exact(block.count_bytes).map(|count| match *count {
                [low, high] => u32::from(low) | u32::from(high) << 8,
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
                _ => 0,
            }));
            take(label, pixel, &counts);
        }
    }
    Ok(())
}
