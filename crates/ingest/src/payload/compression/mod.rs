//! One file for each compression that is read. A compression is a member of [`ALL`] and stands nowhere else. Its
//! files consist of members that follow each other, and each member can be decompressed on its own.

mod bzip2;
mod gzip;
pub(crate) mod interface;
mod xz;
mod zstd;

pub(crate) use self::{gzip::Gzip, zstd::Zstd};
use interface::Compression;

/// The compressions. No two of them begin alike.
pub(crate) const ALL: [&dyn Compression; 4] = [&Zstd, &Gzip, &xz::Xz, &bzip2::Bzip2];

/// The compression of a file that begins like this.
pub(crate) fn of_start(start: &[u8]) -> Option<&'static dyn Compression> {
    ALL.into_iter().find(|compression| compression.is_start(start))
}

/// The name of a file without the end that names its compression.
pub(crate) fn uncompressed_name(name: &[u8]) -> &[u8] {
    let stem = |compression: &&dyn Compression| name.strip_suffix(compression.suffix().as_bytes());
    ALL.iter().find_map(stem).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file has one compression at most, and its name as well.
    #[test]
    fn compressions_do_not_overlap() {
        for start in [&b"\x28\xb5\x2f\xfd"[..], b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"BZh9"] {
            for len in 1..=start.len() {
                let count = ALL.iter().filter(|compression| compression.is_start(&start[..len]));
                assert_eq!(count.count(), 1, "{start:?} {len}");
            }
        }
        assert!(of_start(b"").is_none() && of_start(b"BZh0").is_none());
        assert_eq!(uncompressed_name(b"a.tags.gz.xz"), b"a.tags.gz");
        assert_eq!(uncompressed_name(b"a.bz2.tags"), b"a.bz2.tags");
    }
}
