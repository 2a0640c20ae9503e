//! Tells the system to begin writing to the disk, so that the wait at a commit is short.
#![expect(unsafe_code, reason = "sync_file_range is in no safe wrapper")]

use std::{fs::File, os::fd::AsRawFd};

/// Begins to write these bytes of `file` to the disk, without waiting. A hint: the commit's fsync
/// is what makes rows durable, and says when they cannot be. Of a source that grows, whoever records
/// it may leave the bytes to the system, which after half a minute writes them all at once, and
/// commits wait for that.
pub fn start_writing(file: &File, from: u64, len: u64) {
    #[cfg(target_os = "linux")]
    if let (Ok(from), Ok(len)) = (i64::try_from(from), i64::try_from(len)) {
        // SAFETY: a system call on an open file; it takes numbers only.
        unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }
}
