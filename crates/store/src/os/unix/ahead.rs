//! Tells the system which parts of a column will be read, so that the disk reads them together.
#![expect(unsafe_code, reason = "madvise is in no safe wrapper for a part of a column")]

use std::ffi::c_void;
#[cfg(target_os = "linux")]
use std::slice;

use rustix::{
    mm::{Advice, madvise},
    param::page_size,
};

/// Prefetches the pages of `values` without waiting, unless the middle page is already in memory. A hint, for values
/// far from each other: otherwise each is waited for when it is read, with megabytes of neighbours that are not needed.
pub fn will_need<T: bytemuck::Pod>(values: &[T]) {
    let Some(middle) = values.get(values.len() / 2) else { return };
    if is_here(middle) {
        return;
    }
    let (start, bytes) = pages_of(values);
    // SAFETY: this advice changes neither bytes nor mappings. It takes whole pages, and a value lies in
    // each of these.
    let advised = unsafe { madvise(start, bytes, Advice::WillNeed) };
    // Without it the pages come one by one.
    let _ = advised;
}

/// Where the first page of `values` begins, and how many bytes lie between that and their end.
fn pages_of<T>(values: &[T]) -> (*mut c_void, usize) {
    let offset = values.as_ptr().addr() % page_size();
    let start = values.as_ptr().cast::<u8>().wrapping_sub(offset);
    (start.cast_mut().cast(), size_of_val(values) + offset)
}

/// Whether the first page of a value is in memory. To ask is cheaper than to advise: of columns that are,
/// a trace would ask for thousands of blocks in vain.
#[cfg(target_os = "linux")]
fn is_here<T>(value: &T) -> bool {
    let mut page = 0;
    // SAFETY: it lies in a page of its own length, of which one byte tells.
    let code = unsafe { libc::mincore(pages_of(slice::from_ref(value)).0, 1, &raw mut page) };
    code == 0 && page & 1 == 1
}

#[cfg(not(target_os = "linux"))]
fn is_here<T>(_: &T) -> bool {
    false
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
    use crate::os::Map;

    /// Whether the page of each of `values` is in memory.
    fn are_here(values: &[i64]) -> bool {
        values.iter().all(is_here)
    }

    #[test]
    fn values_are_brought_before_they_are_touched() {
        // Not in the folder for temporary files, which may have no disk below.
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        fs::create_dir_all(&target).unwrap();
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
        will_need::<i64>(&[]);
        let all_here = || asked.iter().all(|asked| are_here(asked));
        let begun = Instant::now();
        while !all_here() {
            // A system that is short of memory passes over a hint, or over a part of it: then from the start.
            assert!(begun.elapsed() < Duration::from_mins(1), "not brought");
            fadvise(&file, 0, None, Advice::DontNeed).unwrap();
            for asked in asked {
                will_need(asked);
            }
            let hinted = Instant::now();
            while !all_here() && hinted.elapsed() < Duration::from_secs(5) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        assert!(!are_here(&times[2_000_000..2_060_000]), "brought and not asked for");
    }
}
