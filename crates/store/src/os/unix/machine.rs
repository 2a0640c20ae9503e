//! The computer: its name, and the memory that is free.
//!
//! With 1,024,000 bytes available on the machine, and a control group that may take 700,000 and has taken 100,000,
//! programs have 600,000 bytes.

#[cfg(target_os = "linux")]
use std::fs;

/// Returns the name of this computer.
pub(crate) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the bytes of memory available to programs; the maximum if unknown.
#[cfg(target_os = "linux")]
pub fn available_memory() -> u64 {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cgroup = |name: &str| read(&format!("/sys/fs/cgroup/{name}"));
    available_of(&read("/proc/meminfo"), &cgroup("memory.max"), &cgroup("memory.current"))
}

/// Returns the memory of the machine, because the system says in no file what is available of it; the maximum if
/// unknown.
#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "the number of pages is in no safe wrapper")]
pub fn available_memory() -> u64 {
    // SAFETY: a plain question to the system.
    let pages = u64::try_from(unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) });
    pages.map_or(u64::MAX, |pages| pages.saturating_mul(rustix::param::page_size() as u64))
}

/// Gives free memory of the allocator back to the system. The allocator of glibc keeps free memory that pieces in use
/// follow.
pub fn return_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "it is in no safe wrapper")]
    // SAFETY: it takes no pointer, locks the allocator itself, and leaves what is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(target_os = "linux")]
fn available_of(meminfo: &str, cgroup_max: &str, cgroup_used: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    let max = cgroup_max.trim().parse::<u64>().ok();
    let left = max.map(|max| max.saturating_sub(cgroup_used.trim().parse().unwrap_or(0)));
    let of_machine = kib.map_or(u64::MAX, |kib| kib.saturating_mul(1024));
    of_machine.min(left.unwrap_or(u64::MAX))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_machine_and_the_group_leave() {
        let meminfo = "MemTotal:       2000 kB\nMemAvailable:    1000 kB\n";
        assert_eq!(available_of(meminfo, "max\n", "5\n"), 1_024_000);
        assert_eq!(available_of(meminfo, "700000\n", "100000\n"), 600_000);
        assert_eq!(available_of("", "", ""), u64::MAX);
    }
}
