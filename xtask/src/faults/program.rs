//! Child processes. Each has a time limit, and its exit is checked.

use std::{
    env,
    io::Read,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::Checked;

/// Returns the time limit. All runs take milliseconds, except those of a soak test.
fn limit() -> Duration {
    let soak = env::var("TAGQ_LIVE_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(30 + 10 * soak.unwrap_or(0))
}

/// How a child process ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Exit code, or `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Signal that ended the process.
    pub signal: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// A running child in its own process group.
#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    line: String,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

/// Runs `command` to its end. Timeouts, panics and crashes are errors; an exit code is not.
pub(super) fn run(command: &mut Command) -> Checked<Ended> {
    start(command)?.wait()
}

/// Runs `command`, which must exit with 0.
pub(super) fn run_well(command: &mut Command) -> Checked<Ended> {
    let line = format!("{command:?}");
    let ended = run(command)?;
    if ended.code == Some(0) { Ok(ended) } else { Err(format!("{line}: {ended}").into()) }
}

/// Starts `command` without a terminal.
pub(super) fn start(command: &mut Command) -> Checked<Started> {
    let line = format!("{command:?}");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|e| format!("{line}: {e}"))?;
    let stdout = reading(child.stdout.take());
    let stderr = reading(child.stderr.take());
    Ok(Started { child, line, stdout, stderr })
}

fn reading(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // After an error, use the bytes read so far.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

impl Started {
    pub(super) fn is_running(&mut self) -> Checked<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Sends a signal to the child and its children. Returns whether they were still there.
    pub(super) fn signal(&self, signal: Signal) -> bool {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        group.is_some_and(|group| kill_process_group(group, signal).is_ok())
    }

    pub(super) fn wait(mut self) -> Checked<Ended> {
        let (start, limit) = (Instant::now(), limit());
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if start.elapsed() > limit {
                self.signal(Signal::KILL);
                self.child.wait()?;
                return Err(format!("{}: hangs, {limit:?} and no end", self.line).into());
            }
            thread::sleep(Duration::from_millis(1));
        };
        let stdout = self.stdout.join().unwrap_or_default();
        let stderr = self.stderr.join().unwrap_or_default();
        let ended = Ended {
            code: status.code(),
            signal: status.signal(),
            stdout,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        if ended.is_crash() {
            return Err(format!("{}: {ended}", self.line).into());
        }
        Ok(ended)
    }
}

impl Ended {
    fn is_crash(&self) -> bool {
        let crashes = [Signal::ABORT, Signal::SEGV, Signal::BUS, Signal::ILL, Signal::FPE];
        let by_signal = crashes.iter().any(|crash| self.signal == Some(crash.as_raw()));
        by_signal || self.code == Some(101) || self.stderr.contains("panicked")
    }

    /// Checks that a failed exit has a documented code and a message.
    pub(super) fn check_refusal(&self, codes: &[i32]) -> Checked<()> {
        let is_known = self.code.is_some_and(|code| codes.contains(&code));
        if is_known && self.stderr.contains("error: ") {
            return Ok(());
        }
        Err(format!("expected one of the codes {codes:?} and an error's message: {self}").into())
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}")?,
            (None, Some(signal)) => write!(f, "ended by signal {signal}")?,
            (None, None) => write!(f, "ended")?,
        }
        write!(f, "; stderr: {}", self.stderr.trim_end())
    }
}
