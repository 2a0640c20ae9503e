//! A program watched from outside: how long it ran, how much memory it needed at most.

use std::{
    fs, io,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What a program needed.
pub struct Watched {
    /// From start to end.
    pub seconds: f64,
    /// The most memory that was resident at once, in MiB, as the kernel counts it (`VmHWM`), looked
    /// at every 1 ms.
    pub peak_mib: f64,
    /// The most of it that was not pages of files (`RssAnon` and `RssShmem`), in MiB. Looked at only now
    /// and then: what comes and goes in between is not seen.
    pub own_mib: f64,
}

/// Runs a program that must succeed; its output is thrown away.
pub fn watch(command: &mut Command) -> io::Result<Watched> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let (mut peak_mib, mut own_mib) = (0.0_f64, 0.0_f64);
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak_mib = peak_mib.max(mib_of(&status, "VmHWM:"));
        own_mib = own_mib.max(mib_of(&status, "RssAnon:") + mib_of(&status, "RssShmem:"));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(1));
    };
    let seconds = start.elapsed().as_secs_f64();
    if status.success() {
        Ok(Watched { seconds, peak_mib, own_mib })
    } else {
        Err(io::Error::other(format!("{command:?}: {status}")))
    }
}

fn mib_of(status: &str, key: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
