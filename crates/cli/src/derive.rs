//! `tagq derive`: a new store with channels made from channels, or a picture of them.

use tagq::{Derivation, NewStore, OpenOptions, Progress as _, Run, requests::Setup};
use tagq_export::report::table::quantities::counted;

use crate::{
    args::{DeriveArgs, OutputArgs, PlotArgs},
    input,
    progress::Reporter,
    report::{self, Output},
};

pub(crate) fn run(args: &DeriveArgs) -> anyhow::Result<()> {
    if let Some(output) = &args.output {
        // Ingest of the run may take long.
        NewStore::check(output)?;
    }
    let reporter = Reporter::new(args.quiet);
    let setup = input::setup(&args.run, &args.setup)?;
    let options = OpenOptions { tick: setup.tick, ..OpenOptions::default() };
    let run = input::open(&args.run, &options, &reporter)?;
    let of = args.selection.0.derivation(args.derived.clone())?;
    let Some(output) = &args.output else { return show(args, (&run, &setup), &of, &reporter) };
    let derived = tagq::derive(&run, &setup, &of, Some(output), &reporter)?;
    let tags = derived.store().manifest().rows;
    reporter.note(&format!("{}: {}", output.display(), counted(tags, "tag")));
    Ok(())
}

/// Draws the tags and gates of a stretch of time.
fn show(
    args: &DeriveArgs,
    (run, setup): (&Run, &Setup),
    of: &Derivation,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let Some(to) = &args.plot else { return Ok(()) };
    let range = args.selection.0.scope(run, setup)?.range;
    let lanes = tagq::lanes(run, setup, of, range, reporter)?;
    let plot = PlotArgs { plot: args.plot.clone(), ..PlotArgs::default() };
    let output = OutputArgs::of_figure(args.force);
    let output = Output { args: &output, reads: std::slice::from_ref(&args.run) };
    report::draw(&[lanes], (to, &plot), output, reporter)
}
