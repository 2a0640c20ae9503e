//! `tagq merge`: one run of the recordings of two instruments, or the answer from the partial results of a plan.

use std::path::Path;

use tagq::{Alignment, NewStore, OpenOptions, Plan, Progress as _};
use tagq_export::report::table::quantities::counted;

use crate::{Usage, args::MergeArgs, input, parts, progress::Reporter};

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    if let [plan, rest @ ..] = &args.inputs[..]
        && Plan::is_at(plan)
    {
        return parts::merge(plan, rest, args);
    }
    let [first, second] = &args.inputs[..] else {
        let count = args.inputs.len();
        return Err(Usage(format!(
            "merge needs two runs, or a plan and its partial results, and got {count} of them"
        ))
        .into());
    };
    let Some(out) = &args.output.output else {
        return Err(Usage("the store to make is missing: -o STORE".into()).into());
    };
    if args.partial.is_some() || args.each || args.output.format().is_some() {
        return Err(Usage(
            "--partial, --each and --format are of the partial results of a plan".into(),
        )
        .into());
    }
    merge_runs(args, first, second, out)
}

fn merge_runs(args: &MergeArgs, first: &Path, second: &Path, out: &Path) -> anyhow::Result<()> {
    // Ingest of the runs may take long.
    NewStore::check(out)?;
    let reporter = Reporter::new(args.quiet);
    let options = OpenOptions::default();
    let a = input::open(first, &options, &reporter)?;
    let b = input::open(second, &options, &reporter)?;
    let alignment = Alignment {
        offset: args.offset.clone().map_or_else(|| "0s".parse(), Ok)?,
        drift: args.drift.unwrap_or_default(),
        channels: args.channels_b.unwrap_or(0),
    };
    let merged = tagq::merge(&a, &b, &alignment, out, &reporter)?;
    let tags = merged.run.store().manifest().rows;
    reporter.note(&format!("{}: {} of both runs", out.display(), counted(tags, "tag")));
    Ok(())
}
