//! `tagq init`: write a first setup.

use tagq::{Destination, OpenOptions, Progress as _, requests::Setup};

use crate::{args::InitArgs, progress::Reporter};

pub(crate) fn run(args: &InitArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let path = args.output.clone().unwrap_or_else(|| Setup::place(&args.run));
    let options = OpenOptions { ingest: !args.no_ingest, ..args.store.options() };
    let run = tagq::open(&args.run, &options, &reporter)?;
    let reads: Vec<_> = [&args.run].into_iter().chain(&args.store.store).cloned().collect();
    let to = Destination { path: &path, force: args.force, reads: &reads };
    Setup::write_initial(&run, &to, &reporter)?;
    reporter.note(&format!("{}: written; edit it, and queries use it", path.display()));
    Ok(())
}
