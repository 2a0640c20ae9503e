//! `tagq info`: what a run holds.

use crate::{args::InfoArgs, input, progress::Reporter, queries::options, report};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    input::check_once(&args.query.runs)?;
    let mut runs = Vec::new();
    for path in &args.query.runs {
        runs.push(input::open(path, &options(&args.query), &reporter)?);
    }
    report::print_info(&runs, args.output.format)
}
