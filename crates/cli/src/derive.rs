//! `tagq derive`: a new store with channels made from channels.

use tagq::{NewStore, OpenOptions, Progress as _};
use tagq_export::report::table::quantities::thousands;

use crate::{args::DeriveArgs, input, progress::Reporter};

pub(crate) fn run(args: &DeriveArgs) -> anyhow::Result<()> {
    // Ingest of the run may take long.
    NewStore::check(&args.output)?;
    let reporter = Reporter::new(args.quiet);
    let setup = input::setup(&args.run, &args.setup)?;
    let options = OpenOptions { tick: setup.tick, ..OpenOptions::default() };
    let run = input::open(&args.run, &options, &reporter)?;
    let of = args.selection.0.derivation(args.derived.clone())?;
    let derived = tagq::derive(&run, &setup, &of, Some(&args.output), &reporter)?;
    let tags = derived.store().manifest().rows;
    reporter.note(&format!("{}: {} tags", args.output.display(), thousands(tags)));
    Ok(())
}
