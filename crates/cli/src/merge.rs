//! `tagq merge`: one run of recordings of the same time, or the answer from the partial results of a plan. The first
//! input decides: a file that begins like a plan is one.

use std::path::{Path, PathBuf};

use tagq::{Alignment, NewStore, Plan, Progress as _};
use tagq_export::report::table::quantities::counted;

use crate::{Usage, args::MergeArgs, input, parts, progress::Reporter};

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    if let [plan, rest @ ..] = &args.inputs[..]
        && Plan::is_at(plan)
    {
        return parts::merge(plan, rest, args);
    }
    let Some((first, others)) = args.inputs.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return Err(Usage(
            "merge needs two or more runs, or a plan and its partial results, and got one of them"
                .into(),
        )
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
    let is_aligned = args.offset.is_some() || args.drift.is_some() || args.channels_b.is_some();
    if is_aligned && others.len() > 1 {
        return Err(Usage("--offset, --drift and --channels-b are of two runs".into()).into());
    }
    if args.store.store.is_some() {
        return Err(
            Usage("--store is of one run, and each run that is merged has its own".into()).into()
        );
    }
    merge_runs(args, first, others, out)
}

fn merge_runs(
    args: &MergeArgs,
    first: &Path,
    others: &[PathBuf],
    out: &Path,
) -> anyhow::Result<()> {
    // Ingest of the runs may take long.
    NewStore::check(out)?;
    let reporter = Reporter::new(args.store.quiet);
    let options = args.store.options();
    let open = |path: &Path| input::open(path, &options, &reporter);
    let first = open(first)?;
    let others = others.iter().map(|path| open(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let alignment = Alignment {
        offset: args.offset.clone().map_or_else(|| "0s".parse(), Ok)?,
        drift: args.drift.unwrap_or_default(),
        channels: args.channels_b.unwrap_or(0),
    };
    let aligned: Vec<_> = others.iter().map(|run| (run, alignment.clone())).collect();
    let merged = tagq::merge(&first, &aligned, out, &reporter)?;
    let tags = counted(merged.run.store().manifest().rows, "tag");
    let all = if others.len() == 1 { "both" } else { "all" };
    reporter.note(&format!("{}: {tags} of {all} runs", out.display()));
    Ok(())
}
