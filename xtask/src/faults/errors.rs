//! F3: every call on the store or a source fails, once or from then on.

use std::fmt;

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage, Step},
    program::Ended,
    strace::{self, CHANGES, Call, READS, Traced},
};

/// Errors of a call that changes something: the name, and the code that `tagq` must report.
const REFUSALS: [(&str, i32); 7] = [
    ("ENOSPC", 28),
    ("EIO", 5),
    ("EINTR", 4),
    ("EMFILE", 24),
    ("EACCES", 13),
    ("EROFS", 30),
    ("EDQUOT", 122),
];

/// Errors of a call that reads.
const READ_REFUSALS: [(&str, i32); 2] = [("EIO", 5), ("EINTR", 4)];

/// The calls of a commit.
const DURABLE: [&str; 7] =
    ["pwrite64", "ftruncate", "fsync", "fdatasync", "rename", "renameat", "renameat2"];

struct Fault {
    step: Step,
    call: Call,
    kind: FaultKind,
}

#[derive(Clone, Copy)]
enum FaultKind {
    /// Fails with this error, once or from then on.
    Refused { error: (&'static str, i32), forever: bool },
    /// A write that writes nothing. (strace cannot inject a partial write, because it would leave the bytes
    /// unwritten; the file size limit in the trial `full` produces them.)
    Nothing,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    if !strace::is_there() {
        return Ok(Tried::skipped("no strace"));
    }
    let tried = ground.each(&faults(ground)?, |folder, fault| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), fault.step)?;
        let set = format!("{CHANGES},{READS}");
        let mut traced = Traced::new(&stage, folder, &set, Some(&fault.inject()));
        let ended = traced.run()?;
        if !traced.was_injected()? {
            return Err(format!("the fault was not met: {ended}").into());
        }
        stage.check_after(&ended)?;
        fault.check_reported(&ended)?;
        fault.check_message(&stage, &ended)?;
        stage.recover()
    })?;
    Ok(Tried::points(tried))
}

fn faults(ground: &Ground) -> Checked<Vec<Fault>> {
    let mut faults = Vec::new();
    for step in STEPS {
        let folder = tempfile::tempdir_in(&ground.folder)?;
        let stage = ground.stage(&ground.pool, &folder.path().join("run"), step)?;
        for call in strace::calls(&stage, folder.path(), &format!("{CHANGES},{READS}"))? {
            let is_read = READS.split(',').any(|read| read == call.name);
            let errors = if is_read { &READ_REFUSALS[..] } else { &REFUSALS };
            let mut kinds = Vec::new();
            for &error in errors {
                kinds.push(FaultKind::Refused { error, forever: false });
                // With EINTR for ever, `tagq` may retry for ever.
                if error.0 != "EINTR" {
                    kinds.push(FaultKind::Refused { error, forever: true });
                }
            }
            if call.name == "pwrite64" {
                kinds.push(FaultKind::Nothing);
            }
            faults.extend(kinds.into_iter().map(|kind| Fault { step, call: call.clone(), kind }));
        }
    }
    Ok(faults)
}

impl Fault {
    fn inject(&self) -> String {
        let Call { name, number } = &self.call;
        match self.kind {
            FaultKind::Refused { error: (error, _), forever } => {
                let on = if forever { "+" } else { "" };
                format!("{name}:error={error}:when={number}{on}")
            }
            FaultKind::Nothing => format!("{name}:retval=0:when={number}"),
        }
    }

    /// Checks that rows that may not be durable are not reported as done.
    fn check_reported(&self, ended: &Ended) -> Checked<()> {
        let is_refused = match self.kind {
            FaultKind::Refused { error: (error, _), .. } => error != "EINTR",
            FaultKind::Nothing => true,
        };
        if is_refused && ended.code == Some(0) && DURABLE.contains(&&*self.call.name) {
            return Err("success reported after it".into());
        }
        Ok(())
    }

    /// Checks that an error names a file of the run and the cause.
    fn check_message(&self, stage: &Stage<'_>, ended: &Ended) -> Checked<()> {
        if ended.code == Some(0) {
            return Ok(());
        }
        ended.check_refusal(&[1])?;
        let names_file = ended.stderr.contains(&*stage.run.to_string_lossy());
        let names_cause = match self.kind {
            FaultKind::Refused { error: (_, number), .. } => {
                ended.stderr.contains(&format!("(os error {number})"))
            }
            FaultKind::Nothing => ended.stderr.contains("write"),
        };
        if names_file && names_cause {
            return Ok(());
        }
        Err(format!("the message names the file: {names_file}, the cause: {names_cause}: {ended}")
            .into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, strace -e inject={}", self.step, self.inject())
    }
}
