//! Older and longer ways to write a command, which mean what the current one means (docs/stability.md).

use serde_json::Value;

use crate::support::{command, fixture_copy, output};

/// An older or another spelling, and the one in the documents. `run` is the fixture.
const SPELLINGS: [(&str, &str); 22] = [
    // A width that is rounded, before all widths were.
    ("g2 1,2 --bin ~1ns --range 20ns run", "g2 1,2 --bin 1ns --range 20ns run"),
    ("rates --bin ~30ms run", "rates --bin 30ms run"),
    // Channels, before they stood in front of the run.
    (
        "coincidences --window 2ns --group 1,2 --group 3,4 run",
        "coincidences --window 2ns 1,2 3,4 run",
    ),
    ("g2 --start 1 --stop 2 --range 20ns run", "g2 1,2 --range 20ns run"),
    ("histogram --start 1 --stop 2 --range 20ns run", "histogram 1,2 --range 20ns run"),
    ("histogram --g2 --start 1 --stop 2 --range 20ns run", "g2 1,2 --range 20ns run"),
    ("histogram2d --herald 1 --a 2 --b 3 --range 1us run", "histogram2d 1,2,3 --range 1us run"),
    ("rates --channels 1,2 run", "rates 1,2 run"),
    ("delays --channels 1,2 run", "delays 1,2 run"),
    // The format, before it had a short form.
    ("rates --format json run", "rates --json run"),
    // Other words for commands.
    ("count --window 2ns run", "coincidences --window 2ns run"),
    ("pairs --window 2ns run", "coincidences --window 2ns run"),
    ("hist 1,2 --range 20ns run", "histogram 1,2 --range 20ns run"),
    ("startstop 1,2 --range 20ns run", "histogram 1,2 --range 20ns run"),
    ("correlate 1,2 --range 20ns run", "g2 1,2 --range 20ns run"),
    ("hbt 1,2 --range 20ns run", "g2 1,2 --range 20ns run"),
    ("flim --line 3 --pixels 2 --lines 2 run", "image --line 3 --pixels 2 --lines 2 run"),
    ("hist2d 1,2,3 --range 1us run", "histogram2d 1,2,3 --range 1us run"),
    ("singles run", "rates run"),
    ("countrate run", "rates run"),
    ("align 1,2 run", "delays 1,2 run"),
    ("show --fast run", "info --fast run"),
];

#[test]
fn each_older_spelling_answers_like_the_one_of_today() {
    let folder = tempfile::tempdir().unwrap();
    fixture_copy(folder.path());
    let answer = |line: &str| -> Value {
        let words = line.split(' ');
        let done = output(command().current_dir(folder.path()).args(words));
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        done.json()
    };
    answer("rates run");
    for (older, today) in SPELLINGS {
        assert_eq!(answer(older), answer(today), "{older}");
    }
}
