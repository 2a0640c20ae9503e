//! Suspending a stream of varints, and resuming it from a copy of the state.

use super::{
    Plan,
    child::Step,
    parent::{Answers, Job, in_turn},
    rows::ensure,
};
use crate::{
    Compression, Result,
    report::{Table, spread},
};

/// Reads the stream in pieces; the tags must be those of the source.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let mut answers = Answers::default();
    answers.check("tags", "the source", &format!("{},{}", plan.source.tags, plan.source.sum))?;
    let caption =
        "A stream of varints, suspended after every piece and resumed from a copy of its state";
    let mut table = Table::new("suspend", caption.into());
    table.head(&["suspended after every", "state, bytes", "own memory, MiB", "seconds"]);
    let Some(format) = plan.formats.iter().find(|format| format.name() == "varint") else {
        return Ok(Vec::new());
    };
    ensure(plan, *format)?;
    let steps = [(Step::SuspendBytes, "1 byte"), (Step::SuspendPieces, "4,093 bytes")];
    let jobs = steps.map(|(step, _)| Job::of(plan, step, *format, Compression::None));
    for ((_, piece), rounds) in steps.iter().zip(in_turn(&jobs, plan.runs, &mut answers)?) {
        table.raw_rounds(format.name(), Compression::None, &format!("suspend, {piece}"), &rounds);
        table.rows.push(vec![
            (*piece).into(),
            format!("{:.0}", rounds.median("state")),
            format!("{:.1}", rounds.max("own_mib")),
            spread(&rounds, "seconds", 1.0),
        ]);
    }
    Ok(vec![table])
}
