//! Reports how many tags were written, and what the file does not hold of them.

use std::path::Path;

use tagq::{Converted, Progress as _, store::Tick};
use tagq_export::{
    TimeUnit,
    report::table::quantities::{are, counted, thousands},
};

use crate::progress::Reporter;

/// Tells what went from `from` to `out`; `tick` is that of a run, and `unit` that of times as floats.
pub(crate) fn tell(
    converted: Converted,
    (from, tick): (&str, Option<Tick>),
    out: Option<&Path>,
    unit: Option<TimeUnit>,
    reporter: &Reporter,
) {
    let Converted { tags, blurred, torn, lost, kept, run_file, tick: unstated, remarks } =
        converted;
    for remark in remarks {
        reporter.note(&format!("{from}: {remark}"));
    }
    if let Some(torn) = torn {
        reporter.note(&format!(
            "{from}: {torn}; the {} before it {} written",
            counted(tags, "tag"),
            are(tags)
        ));
    }
    tell_blurred(blurred, tags, unit, reporter);
    let shown = out.map_or("text".into(), |out| out.display().to_string());
    let given = unstated.map(|tick| format!(" (--tick {})", tick.paste()));
    let given = given.unwrap_or_default();
    if !lost.is_empty() {
        let given = if kept.is_empty() { &*given } else { "" };
        reporter.note(&format!("{shown} does not hold {} of {from}{given}", listed(&lost)));
    }
    if let Some(run_file) = run_file.filter(|_| !kept.is_empty()) {
        let (kept, run_file) = (listed(&kept), run_file.display());
        reporter.note(&format!("{run_file} holds {kept} for {shown}{given}: keep both together"));
    }
    if out.is_some() {
        let tick = tick.map_or(String::new(), |tick| format!(", tick {tick}"));
        reporter.note(&format!("{shown}: {} of {from}{tick}", counted(tags, "tag")));
    }
}

/// Tells how many of the floats of `tags` tags are not exact.
pub(crate) fn tell_blurred(blurred: u64, tags: u64, unit: Option<TimeUnit>, reporter: &Reporter) {
    if blurred > 0 {
        reporter.note(&format!(
            "{} of {} floats in {} do not say which tick it was, because the run is too long for its tick; the times in \
             ticks are exact",
            thousands(blurred),
            thousands(tags),
            unit.map_or("time", TimeUnit::column)
        ));
    }
}

/// Returns `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
