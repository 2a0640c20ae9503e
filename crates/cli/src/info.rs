//! `tagq info`: what a run holds.

use crate::{
    args::InfoArgs,
    coincidences::options,
    input,
    progress::Reporter,
    report::{self, RunUsed},
};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    input::check_once(&args.query.runs)?;
    let mut runs = Vec::new();
    for path in &args.query.runs {
        runs.push(input::open(path, &options(&args.query), &reporter)?);
    }
    let used: Vec<RunUsed> = runs.iter().map(RunUsed::new).collect();
    report::print_info(&runs, &used, args.output.format)
}
