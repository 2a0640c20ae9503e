//! F1: kills an ingest before every call that changes the store, and then kills its recovery.

use std::fmt;

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Stage, Step},
    program::Ended,
    strace::{self, CHANGES, Call, Traced},
};

/// Every `SAMPLE`-th kill is followed by kills of its recovery.
const SAMPLE: usize = 4;

#[derive(Debug, Clone)]
pub(super) struct Kill {
    pub step: Step,
    pub call: Call,
}

struct TwoKills {
    first: Kill,
    then: Call,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    if !strace::is_there() {
        return Ok(Tried::skipped("no strace"));
    }
    let kills = kills(ground)?;
    let once = ground.each(&kills, |folder, kill| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), kill.step)?;
        let ended = Traced::new(&stage, folder, CHANGES, Some(&kill.inject())).run()?;
        check_killed(&ended)?;
        stage.check_after(&ended)?;
        stage.recover()
    })?;
    let mut pairs = Vec::new();
    for first in kills.iter().step_by(SAMPLE) {
        // A recovery makes about the same calls as the ingest.
        let same = kills.iter().filter(|kill| kill.step.to_string() == first.step.to_string());
        let then = same.skip(first.call.number % 3).step_by(3).map(|kill| kill.call.clone());
        pairs.extend(then.map(|then| TwoKills { first: first.clone(), then }));
    }
    let twice = ground.each(&pairs, |folder, TwoKills { first, then }| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), first.step)?;
        check_killed(&Traced::new(&stage, folder, CHANGES, Some(&first.inject())).run()?)?;
        let left = stage.check()?;
        let ended = Traced::new(&stage, folder, CHANGES, Some(&inject(then))).run()?;
        if ended.code != Some(0) {
            check_killed(&ended)?;
        }
        if stage.check_after(&ended)? < left {
            return Err("a commit is gone".into());
        }
        stage.recover()
    })?;
    Ok(Tried::points(once + twice))
}

/// Returns all kills of all steps.
pub(super) fn kills(ground: &Ground) -> Checked<Vec<Kill>> {
    let mut kills = Vec::new();
    for step in STEPS {
        let folder = tempfile::tempdir_in(&ground.folder)?;
        let stage = ground.stage(&ground.pool, &folder.path().join("run"), step)?;
        let calls = strace::calls(&stage, folder.path(), CHANGES)?;
        kills.extend(calls.into_iter().map(|call| Kill { step, call }));
    }
    Ok(kills)
}

impl Kill {
    pub(super) fn inject(&self) -> String {
        inject(&self.call)
    }

    /// Kills the ingest of `stage` at this call.
    pub(super) fn at(&self, stage: &Stage<'_>, log: &std::path::Path) -> Checked<()> {
        check_killed(&Traced::new(stage, log, CHANGES, Some(&self.inject())).run()?)
    }
}

pub(super) fn inject(call: &Call) -> String {
    format!("{}:signal=KILL:when={}", call.name, call.number)
}

pub(super) fn check_killed(ended: &Ended) -> Checked<()> {
    if ended.signal == Some(9) { Ok(()) } else { Err(format!("not killed: {ended}").into()) }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, killed at {} number {}", self.step, self.call.name, self.call.number)
    }
}

impl fmt::Display for TwoKills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { name, number } = &self.then;
        write!(f, "{}, and the next at {name} number {number}", self.first)
    }
}
