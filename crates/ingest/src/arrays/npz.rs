//! Arrays in a ZIP archive, as numpy.savez writes them: `time.npy`, `channel.npy`, `micro.npy` if there are micro
//! times, and the units.
//!
//! A tick of 4 ps is written as the float 4e-12, one of 1/3 ps as the text `1/3 ps`, because no float is exactly that.

use std::{
    fs::File,
    io::{self, BufWriter, Seek as _, Write},
};

use tagq_store::Tick;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{SpilledColumns, Units, rewound};

/// The header of an array is as long as a multiple of this.
const ALIGNMENT: usize = 64;
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Writes the arrays `time`, `channel`, `micro` if there are micro times, and the units.
pub(super) fn write<W: Write>(
    columns: SpilledColumns,
    units: Units,
    out: &mut W,
) -> io::Result<()> {
    let mut zip = ZipWriter::new(BufWriter::new(tempfile::tempfile()?));
    let rows = columns.rows;
    let (time, channel) = (rewound(columns.time)?, rewound(columns.channel)?);
    let micro = columns.micro.map(rewound).transpose()?;
    let arrays = [("time", "<i8", 8, Some(time)), ("channel", "<u2", 2, Some(channel))];
    for (name, of, width, values) in arrays.into_iter().chain([("micro", "<u4", 4, micro)]) {
        let Some(mut values) = values else { continue };
        begin(&mut zip, name, rows.saturating_mul(width))?;
        zip.write_all(&header(of, &format!("({rows},)")))?;
        io::copy(&mut values, &mut zip)?;
    }
    tick(&mut zip, "tick", units.tick)?;
    if let Some(micro_tick) = units.micro_tick {
        tick(&mut zip, "micro_tick", micro_tick)?;
    }
    let file = zip.finish().map_err(io::Error::other)?;
    let mut file: File = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    io::copy(&mut file, out)?;
    Ok(())
}

fn begin(zip: &mut ZipWriter<BufWriter<File>>, name: &str, bytes: u64) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(bytes > u64::from(u32::MAX) / 2);
    zip.start_file(format!("{name}.npy"), options).map_err(io::Error::other)
}

/// Writes a unit as an array without dimensions: in seconds if a float states it exactly, else as a text.
fn tick(zip: &mut ZipWriter<BufWriter<File>>, name: &str, tick: Tick) -> io::Result<()> {
    begin(zip, name, 0)?;
    if tick.to_seconds().is_some() {
        zip.write_all(&header("<f8", "()"))?;
        return zip.write_all(&tick.seconds().to_le_bytes());
    }
    let text = tick.exact();
    zip.write_all(&header(&format!("<U{}", text.chars().count()), "()"))?;
    text.chars().try_for_each(|letter| zip.write_all(&u32::from(letter).to_le_bytes()))
}

/// The header of an array.
fn header(of: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{of}', 'fortran_order': False, 'shape': {shape}, }}");
    let len = (MAGIC.len() + 2 + text.len() + 1).next_multiple_of(ALIGNMENT);
    let padded = len - MAGIC.len() - 2;
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen bytes")]
    let len_bytes = (padded as u16).to_le_bytes();
    let mut header = [MAGIC, &len_bytes, text.as_bytes()].concat();
    header.resize(len - 1, b' ');
    header.push(b'\n');
    header
}
