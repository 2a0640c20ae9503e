//! Tells the system to begin writing to the disk, so that the wait at a commit is short.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "sync_file_range is in no safe wrapper")
)]

use std::fs::File;

/// Begins to write these bytes of `file` to the disk, without waiting. A hint: the fsync of the commit
/// makes rows durable, and reports when they cannot be. The recorder of a source that grows may leave its bytes to the
/// system, which writes them all at once after half a minute, and commits wait for that.
#[cfg(target_os = "linux")]
pub fn start_writing(file: &File, from: u64, len: u64) {
    use std::os::fd::AsRawFd as _;

    if let (Ok(from), Ok(len)) = (i64::try_from(from), i64::try_from(len)) {
        // SAFETY: a system call on an open file; it takes numbers only.
        unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }
}

/// A hint that this system does not take.
#[cfg(not(target_os = "linux"))]
pub fn start_writing(_: &File, _: u64, _: u64) {}
