//! `tagq info`: what a run holds.

use tagq::{Options, RunFacts};

use crate::{args::InfoArgs, input, progress::Reporter, queries::options, report};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    report::check(&args.output, &args.query.runs)?;
    input::check_once(&args.query.runs)?;
    let (mut runs, mut facts) = (Vec::new(), Vec::new());
    for path in &args.query.runs {
        let setup = input::setup(path, &args.setup, &reporter)?;
        let options = options(&args.query);
        let tick = options.tick.or(setup.tick);
        let run = input::open(path, &Options { tick, ..options }, &reporter)?;
        facts.push(RunFacts::named(&run, &setup));
        runs.push(run);
    }
    report::print_info(&runs, &facts, &args.output, &reporter)
}
