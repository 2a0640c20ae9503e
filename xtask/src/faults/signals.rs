//! F15: a user or the system stops an ingest.

use std::{fmt, thread, time::Duration};

use rustix::process::Signal;

use super::{
    Checked, Tried,
    ground::{Ground, STEPS, Step},
    kill,
    program::{self, Ended},
    strace::{self, CHANGES, Traced},
};

const SIGNALS: [(&str, Signal); 2] = [("INT", Signal::INT), ("TERM", Signal::TERM)];
const MOMENTS: u64 = 20;

struct AtMoment {
    step: Step,
    signal: (&'static str, Signal),
    micros: u64,
}

struct AtCall {
    kill: kill::Kill,
    signal: (&'static str, Signal),
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let mut moments = Vec::new();
    // Random, but the same in each run.
    let mut state: u64 = 1;
    for step in STEPS {
        for signal in SIGNALS {
            for _ in 0..MOMENTS {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                moments.push(AtMoment { step, signal, micros: (state >> 33) % 12_000 });
            }
        }
    }
    let mut tried = Tried::points(ground.each(&moments, |folder, moment| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), moment.step)?;
        let ingest = program::start(&mut stage.write())?;
        thread::sleep(Duration::from_micros(moment.micros));
        ingest.signal(moment.signal.1);
        let ended = ingest.wait()?;
        if ended.code != Some(0) {
            check_stopped(&ended, moment.signal.1)?;
        }
        stage.check_after(&ended)?;
        stage.recover()
    })?);
    if !strace::is_there() {
        tried.skipped.push("signals at each call: no strace".to_owned());
        return Ok(tried);
    }
    let kills = kill::kills(ground)?;
    let at = |kill: &kill::Kill| SIGNALS.map(|signal| AtCall { kill: kill.clone(), signal });
    let points: Vec<AtCall> = kills.iter().flat_map(at).collect();
    tried.points += ground.each(&points, |folder, AtCall { kill, signal }| {
        let stage = ground.stage(&ground.pool, &folder.join("run"), kill.step)?;
        let inject = kill.inject().replace("KILL", signal.0);
        let ended = Traced::new(&stage, folder, CHANGES, Some(&inject)).run()?;
        // Near the end, the process may exit before it receives the signal.
        if ended.code != Some(0) {
            check_stopped(&ended, signal.1)?;
        }
        stage.check_after(&ended)?;
        stage.recover()
    })?;
    Ok(tried)
}

/// Checks that the process ended by the signal, or with the shell's code for it.
fn check_stopped(ended: &Ended, signal: Signal) -> Checked<()> {
    let number = signal.as_raw();
    if ended.signal == Some(number) || ended.code == Some(128 + number) {
        return Ok(());
    }
    Err(format!("stopped by signal {number}: {ended}").into())
}

impl fmt::Display for AtMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, SIG{} after {} µs", self.step, self.signal.0, self.micros)
    }
}

impl fmt::Display for AtCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inject = self.kill.inject().replace("KILL", self.signal.0);
        write!(f, "{}, strace -e inject={inject}", self.kill.step)
    }
}
