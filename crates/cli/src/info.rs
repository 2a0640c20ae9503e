//! `tagq info`: facts about runs.

use tagq::{OpenOptions, Progress as _, RunFacts};

use crate::{
    args::InfoArgs,
    input,
    progress::Reporter,
    queries::{self, options},
    report::{self, Looked},
};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    report::check(&args.output, &args.query.runs)?;
    input::check_once(&args.query.runs)?;
    let pool = queries::pool(args.query.threads)?;
    let mut looked = Vec::new();
    for path in &args.query.runs {
        let setup = input::setup(path, &args.setup, &reporter)?;
        let options = options(&args.query);
        let tick = options.tick.or(setup.tick);
        let run = input::open(path, &OpenOptions { tick, ..options }, &reporter)?;
        let facts = RunFacts::named(&run, &setup);
        let shortest = if args.fast {
            None
        } else {
            let _waiting = reporter.counting("looking at", facts.tags);
            let progress = reporter.scan();
            Some(pool.install(|| run.shortest_intervals(progress))?)
        };
        // The store of standard input is removed already.
        let (store_bytes, leftovers) = if input::is_stdin(path) {
            (None, Vec::new())
        } else {
            (Some(run.store_bytes()?), run.leftovers()?)
        };
        looked.push(Looked { run, facts, shortest, store_bytes, leftovers });
    }
    report::print_info(&looked, &args.output, &reporter)
}
