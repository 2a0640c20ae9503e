//! Tells the system which parts of a column will be read, so that the disk brings them together.
#![expect(unsafe_code, reason = "madvise is in no safe wrapper for a part of a column")]

use rustix::{
    mm::{Advice, madvise},
    param::page_size,
};

/// Begins to bring the pages of `values` into memory, without waiting. A hint, for values far from each
/// other: else each is waited for when it is touched, with megabytes of neighbours that nobody asked for.
pub fn will_need<T: bytemuck::Pod>(values: &[T]) {
    let bytes = size_of_val(values);
    let behind = values.as_ptr().addr() % page_size();
    let start = values.as_ptr().cast::<u8>().wrapping_sub(behind);
    if bytes > 0 {
        // SAFETY: this advice changes neither bytes nor mappings. It takes whole pages, and a value
        // lies in each of these.
        let advised = unsafe { madvise(start.cast_mut().cast(), bytes + behind, Advice::WillNeed) };
        // Without it the pages come one by one.
        let _ = advised;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        fs::{self, File},
        path::Path,
        thread,
        time::{Duration, Instant},
    };

    use rustix::fs::{Advice, fadvise};

    use super::*;
    use crate::map::Map;

    /// Whether the page of each of `values` is in memory.
    fn are_here(values: &[i64]) -> bool {
        let page = page_size();
        let behind = values.as_ptr().addr() % page;
        let start = values.as_ptr().cast::<u8>().wrapping_sub(behind);
        let bytes = size_of_val(values) + behind;
        let mut pages = vec![0; bytes.div_ceil(page)];
        // SAFETY: the pages are those of `values`; there is a byte for each of them.
        let code = unsafe { libc::mincore(start.cast_mut().cast(), bytes, pages.as_mut_ptr()) };
        assert_eq!(code, 0);
        pages.iter().all(|page| page & 1 == 1)
    }

    #[test]
    fn values_are_brought_before_they_are_touched() {
        // Not in the folder for temporary files, which may have no disk below.
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        let folder = tempfile::tempdir_in(target).unwrap();
        let path = folder.path().join("time.col");
        fs::write(&path, vec![7; 64 << 20]).unwrap();
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        let map = Map::new(&file, &path, 64 << 20).unwrap();
        let times: &[i64] = bytemuck::cast_slice(map.bytes());
        // Rows of blocks far from each other, none of which begins with a page.
        let asked = [&times[100..60_000], &times[4_000_001..4_060_000], &times[8_300_000..]];
        if asked.iter().any(|asked| are_here(asked)) {
            eprintln!("skipped: the file system of target/ keeps its files in memory");
            return;
        }
        for asked in asked {
            will_need(asked);
        }
        will_need::<i64>(&[]);
        let begun = Instant::now();
        while !asked.iter().all(|asked| are_here(asked)) {
            assert!(begun.elapsed() < Duration::from_mins(1), "not brought");
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!are_here(&times[2_000_000..2_060_000]), "brought and not asked for");
    }
}
