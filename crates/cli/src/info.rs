//! `tagq info`: facts about runs.

use tagq::{OpenOptions, Progress as _, RunFacts};
use tagq_export::report::info::Looked;

use crate::{
    args::InfoArgs,
    input,
    progress::Reporter,
    queries::{self, options},
    report::{self, Output},
};

pub(crate) fn run(args: &InfoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.query.store.quiet);
    let reads = args.query.reads();
    let output = Output { args: &args.output, reads: &reads };
    report::check(output)?;
    input::check_once(&args.query.runs)?;
    let pool = queries::pool(args.query.threads)?;
    let mut looked = Vec::new();
    for path in &args.query.runs {
        let setup = input::setup(path, &args.setup)?;
        let options = OpenOptions { tick: setup.tick, ..options(&args.query) };
        let run = input::open(path, &options, &reporter)?;
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
    report::print_info(&looked, output, &reporter)
}
