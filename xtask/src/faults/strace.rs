//! Faults injected by strace between the program and the kernel.
//!
//! strace counts calls per thread: if one thread writes 5 times and another one 3 times, faults are tried at the
//! numbers 1 to 5. A trial must check that its fault was injected, because a call that did not come is no trial.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{Checked, ground::Stage, program};

/// System calls that change a store. Calls that a machine lacks are skipped.
pub(super) const CHANGES: &str = "openat,?open,?mkdir,?mkdirat,pwrite64,?pwritev,write,ftruncate,\
     ?fallocate,fsync,fdatasync,?sync_file_range,?rename,?renameat,renameat2,?unlink,unlinkat,\
     flock,?fcntl";

/// System calls that only read a store or a source.
pub(super) const READS: &str = "read,pread64,statx,getdents64,mmap,lseek";

/// A system call in one run of the program.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub name: String,
    /// Number among the calls of this name, from 1.
    pub number: usize,
}

/// The program under strace; for an ingest only the calls on files of its run.
#[derive(Debug)]
pub(super) struct Traced {
    command: Command,
    log: PathBuf,
}

pub(super) fn is_there() -> bool {
    Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success())
}

impl Traced {
    /// `calls` selects the traced system calls; `inject` defines the fault, in the syntax of strace.
    pub(super) fn new(stage: &Stage<'_>, folder: &Path, calls: &str, inject: Option<&str>) -> Self {
        Self::of(&stage.write(), &paths(stage), folder, calls, inject)
    }

    /// Traces any command, with its calls on these files, or all calls if none is named.
    pub(super) fn of(
        of: &Command,
        files: &[PathBuf],
        folder: &Path,
        calls: &str,
        inject: Option<&str>,
    ) -> Self {
        let log = folder.join("strace.log");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(&log);
        for path in files {
            command.arg("-P").arg(path);
        }
        command.arg("-e").arg(format!("trace={calls}"));
        if let Some(inject) = inject {
            command.arg("-e").arg(format!("inject={inject}"));
        }
        command.arg(of.get_program()).args(of.get_args());
        Self { command, log }
    }

    pub(super) fn run(&mut self) -> Checked<program::Ended> {
        program::run(&mut self.command)
    }

    /// Returns whether the fault was injected. Call it after the run.
    pub(super) fn was_injected(&self) -> Checked<bool> {
        Ok(fs::read_to_string(&self.log)?.contains("(INJECTED)"))
    }

    /// Returns the traced calls after the run. strace counts per thread.
    fn seen(&self) -> Checked<Vec<Call>> {
        let log = fs::read_to_string(&self.log)?;
        let mut by_thread: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for line in log.lines() {
            let Some((thread, call)) = line.split_once(' ') else { continue };
            let Some((name, _)) = call.trim_start().split_once('(') else { continue };
            if name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                *by_thread.entry((thread, name)).or_default() += 1;
            }
        }
        let mut most: BTreeMap<&str, usize> = BTreeMap::new();
        for ((_, name), &calls) in &by_thread {
            let most = most.entry(name).or_default();
            *most = calls.max(*most);
        }
        let calls = |(name, most): (&str, usize)| {
            let name = name.to_owned();
            (1..=most).map(move |number| Call { name: name.clone(), number })
        };
        Ok(most.into_iter().flat_map(calls).collect())
    }
}

/// Returns the calls of an undisturbed ingest of `stage`.
pub(super) fn calls(stage: &Stage<'_>, folder: &Path, set: &str) -> Checked<Vec<Call>> {
    calls_of(Traced::new(stage, folder, set, None))
}

/// Returns the calls of a traced command, without faults.
pub(super) fn calls_of(mut traced: Traced) -> Checked<Vec<Call>> {
    let ended = traced.run()?;
    if ended.code != Some(0) {
        return Err(format!("under strace without a fault: {ended}").into());
    }
    let calls = traced.seen()?;
    if calls.len() < 5 {
        return Err(format!("strace saw {} calls", calls.len()).into());
    }
    Ok(calls)
}

/// Returns all paths that an ingest of this run may touch.
fn paths(stage: &Stage<'_>) -> Vec<PathBuf> {
    let all = |keys: &[&str], end: &str| -> Vec<String> {
        let of = |key: &&str| -> Vec<String> {
            let numbered = (1..=9).map(|n| format!("{key}.{n}.{end}"));
            numbered.chain([format!("{key}.{end}")]).collect()
        };
        keys.iter().flat_map(of).collect()
    };
    let columns = all(&["time", "channel", "gap", "far"], "col");
    let indexes = all(&["blocks", "counts", "gaps", "steps"], "idx");
    let names = ["lock", "manifest.json", "manifest.json.new"].map(str::to_owned).into_iter();
    let in_store = names.chain(columns).chain(indexes).map(|name| stage.store.join(name));
    let sources = (1..=stage.step.to).map(|i| stage.run.join(format!("{i}.tags.zst")));
    [stage.run.clone(), stage.store.clone()].into_iter().chain(in_store).chain(sources).collect()
}
