//! The computer: its name, and the memory that is free.
#![expect(unsafe_code, reason = "the state of memory is in no safe wrapper")]

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Returns the name of this computer; empty if unknown.
pub(crate) fn host_name() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns the bytes of memory available to programs; the maximum if unknown.
pub fn available_memory() -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "64 bytes")]
    let mut status =
        MEMORYSTATUSEX { dwLength: size_of::<MEMORYSTATUSEX>() as u32, ..Default::default() };
    // SAFETY: it writes into a structure that knows its length.
    let is_known = unsafe { GlobalMemoryStatusEx(&raw mut status) } != 0;
    if is_known { status.ullAvailPhys } else { u64::MAX }
}

/// Returns free memory inside of the allocator to the system, which it does itself here.
pub fn return_memory() {}
