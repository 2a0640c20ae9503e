//! Bytes of each format with each compression. Every file is read back.

use super::Plan;
use crate::{
    Compression, Result, Source,
    format::{Format, len_bytes, remove},
    report::{Table, count},
};

/// Writes the first tags by all formats.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let mut table = Table::new(
        "sizes",
        format!("Megabytes (10^6) of {} tags; bytes a tag uncompressed", count(plan.first.tags)),
    );
    table.shown = None;
    table.header = vec!["format".into(), "B/tag".into()];
    table.header.extend(Compression::ALL.map(|compression| compression.to_string()));
    table.header.push("settings".into());
    for &format in &plan.formats {
        let measured = format.compressions();
        let mut row = vec![format.name().to_owned(), "–".into()];
        for compression in Compression::ALL {
            if !measured.measured.contains(&compression) {
                row.push("–".into());
                continue;
            }
            eprintln!("sizes: {} {compression}", format.name());
            let bytes = size(plan, format, compression)?;
            table.raw(format.name(), compression, "bytes", &[bytes as f64]);
            if row[1] == "–" {
                row[1] = format!("{:.2}", bytes as f64 / plan.first.tags as f64);
            }
            row.push(format!("{:.3}", bytes as f64 / 1e6));
        }
        let reason = if measured.reason.is_empty() { "" } else { "; " };
        row.push(format!("{}{reason}{}", format.settings(), measured.reason));
        table.rows.push(row);
    }
    Ok(vec![table])
}

fn size(plan: &Plan, format: &dyn Format, compression: Compression) -> Result<u64> {
    let path = plan.path(format, compression).with_extension("size");
    format.write(&path, compression, &mut plan.first.read()?)?;
    check_read(format, compression, &path, &plan.first)?;
    let bytes = len_bytes(&path)?;
    remove(&path)?;
    Ok(bytes)
}

/// Reads a file back, and compares tag by tag.
fn check_read(
    format: &dyn Format,
    compression: Compression,
    path: &std::path::Path,
    source: &Source,
) -> Result<()> {
    let expected = source.first_tags(usize::MAX)?;
    let mut read = 0;
    format.read(path, compression, &mut |tags| {
        if expected.get(read..read + tags.len()) != Some(tags) {
            let name = format.name();
            return Err(format!("{name} {compression}: other tags from row {read} on").into());
        }
        read += tags.len();
        Ok(())
    })?;
    if read == expected.len() {
        return Ok(());
    }
    Err(format!("{} {compression}: {read} tags of {}", format.name(), expected.len()).into())
}
