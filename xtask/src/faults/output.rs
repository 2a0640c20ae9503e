//! F15: the output has no reader, or cannot be written.

use std::{fmt, process::Command};

use super::{
    Checked, Tried,
    ground::{Ground, STEPS},
    program,
};

/// Shell commands that break a stream, and the expected outcome of `tagq`.
const STREAMS: [(&str, Outcome); 7] = [
    // The reader exits before the first byte is written.
    ("{ (sleep 0.1; \"$@\"; echo code=$? >&3) | true; } 3>&2", Outcome::QuietSuccess),
    ("exec \"$@\" > /dev/full", Outcome::Error),
    // When a Rust program starts, a closed stdout has become /dev/null. Some parents open it that way on
    // purpose, to discard the output.
    ("exec \"$@\" >&-", Outcome::Success),
    ("exec \"$@\" <&-", Outcome::Success),
    ("exec \"$@\" 2>&-", Outcome::Success),
    ("exec \"$@\" 2>/dev/full", Outcome::Success),
    (
        "{ (sleep 0.1; \"$@\"; echo code=$? >&3) 2>&1 >/dev/null | true; } 3>&2",
        Outcome::QuietSuccess,
    ),
];

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Success,
    QuietSuccess,
    Error,
}

#[derive(Clone, Copy)]
enum Asked {
    Coincidences,
    Info,
    Cat,
    Ingest,
}

struct Point {
    asked: Asked,
    streams: &'static str,
    outcome: Outcome,
}

pub(super) fn run(ground: &Ground) -> Checked<Tried> {
    let mut points = Vec::new();
    for asked in [Asked::Coincidences, Asked::Info, Asked::Cat, Asked::Ingest] {
        for (streams, outcome) in STREAMS {
            points.push(Point { asked, streams, outcome: asked.outcome(outcome) });
        }
    }
    let tried = ground.each(&points, |folder, point| {
        // All of these ingest a new source first.
        let stage = ground.stage(&ground.pool, &folder.join("run"), STEPS[1])?;
        let mut tagq = ground.tagq(point.asked.command());
        if matches!(point.asked, Asked::Coincidences) {
            tagq.args(["--window", "2ns"]);
        }
        tagq.arg(&stage.run);
        let mut shell = Command::new("sh");
        shell.args(["-c", point.streams, "sh"]).arg(tagq.get_program()).args(tagq.get_args());
        let ended = program::run(&mut shell)?;
        let is_right = match point.outcome {
            Outcome::Success => ended.code == Some(0),
            Outcome::QuietSuccess => {
                ended.stderr.contains("code=0") && !ended.stderr.contains("error")
            }
            Outcome::Error => {
                ended.check_refusal(&[1])?;
                true
            }
        };
        if !is_right {
            return Err(format!("should have been a success: {ended}").into());
        }
        // The ingest before the output must be complete.
        stage.check_after(&ended)?;
        stage.recover()
    })?;
    Ok(Tried::points(tried))
}

impl Asked {
    fn command(self) -> &'static str {
        match self {
            Self::Coincidences => "coincidences",
            Self::Info => "info",
            Self::Cat => "cat",
            Self::Ingest => "ingest",
        }
    }

    /// An ingest has no answer that could be lost.
    fn outcome(self, of_query: Outcome) -> Outcome {
        match (self, of_query) {
            (Self::Ingest, Outcome::Error) => Outcome::Success,
            (_, outcome) => outcome,
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tagq {} RUN, by sh -c '{}' sh tagq …", self.asked.command(), self.streams)
    }
}
