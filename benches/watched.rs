//! Measures a program from outside: its run time and its peak memory.

use std::{
    fs, io,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Resources that a program used.
pub struct Watched {
    /// Time from start to end.
    pub seconds: f64,
    /// Peak resident memory in MiB, as the kernel counts it (`VmHWM`), read every 1 ms.
    pub peak_mib: f64,
    /// Peak resident memory without pages of files (`RssAnon` and `RssShmem`), in MiB. It is read only at
    /// intervals, so short peaks can be missed.
    pub own_mib: f64,
}

/// Runs a program, which must succeed, and discards its output.
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
