//! `tagq reproduce`: count an answer again, and compare. A difference is an error, so that scripts see it by the exit
//! code.

use std::io::Write as _;

use tagq::{
    Bounds, OpenOptions, Progress as _, Provenance, QUERY_TYPES, ReproduceOptions, Reproduced,
    SavedAnswer, Together, requests::Asking, store::Access,
};
use tagq_export::report::{differences, table::quantities::counted};

use crate::{
    args::{Io, ReproduceArgs},
    progress::Reporter,
    queries,
};

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.quiet);
    let access = match args.io {
        Io::Map => Access::Mapped,
        Io::Read => Access::Copied,
    };
    let threads = queries::number_of(args.threads);
    // It was allowed when the answer was counted.
    let bounds = Bounds { is_long: true, ..Bounds::default() };
    let open = OpenOptions { access, threads, bounds, ..OpenOptions::default() };
    let options = ReproduceOptions { runs: args.runs.clone(), open };
    let answers = SavedAnswer::read(&args.answer)?;
    let pool = queries::pool(args.threads)?;
    for answer in answers {
        if let Some(command) = command(answer.provenance()) {
            reporter.note(&format!("asked by {command}"));
        }
        let tags = answer.provenance().runs.iter().map(|run| run.id.rows).sum();
        let waiting = reporter.counting("counting in", tags);
        let found = answer.reproduce(&options, &pool, &reporter)?;
        drop(waiting);
        say(&found)?;
    }
    Ok(())
}

/// Returns the command that asked for an answer; `None` if it was one of a watch with an interval beside it, or of parts.
fn command(of: &Provenance) -> Option<String> {
    let query = QUERY_TYPES.into_iter().find(|query| query.name == of.query)?;
    let asking = match of.together {
        None if of.list => Asking::List,
        None => Asking::Each,
        Some(Together::Sum) => Asking::Sum,
        Some(Together::SameGroups) => return None,
    };
    let runs: Vec<&str> = of.runs.iter().map(|run| &*run.path).collect();
    of.beside_last.is_none().then(|| query.command(&of.options, &runs, asking))
}

/// Prints the result; differences are an error.
fn say(found: &Reproduced) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    let (rows, tags) = (counted(found.rows, "row"), counted(found.tags, "tag"));
    if found.different == 0 {
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "reproduced: {rows} equal, counted by tagq {version} on {tags}")?;
        return Ok(());
    }
    write!(out, "{}", differences::text(&found.differences))?;
    out.flush()?;
    let values = counted(found.different, "value");
    let differ = if found.different == 1 { "differs" } else { "differ" };
    anyhow::bail!("not reproduced: of {rows}, counted on {tags}, {values} {differ}")
}
