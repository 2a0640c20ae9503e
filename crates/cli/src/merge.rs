//! `tagq merge`: one run of the recordings of two instruments.

use tagq::{Alignment, OpenOptions, Progress as _};

use crate::{args::MergeArgs, input, progress::Reporter, report::thousands};

pub(crate) fn run(args: &MergeArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.quiet);
    let options = OpenOptions::default();
    let a = input::open(&args.first, &options, &reporter)?;
    let b = input::open(&args.second, &options, &reporter)?;
    let alignment = Alignment {
        offset: args.offset.clone(),
        drift: args.drift.unwrap_or_default(),
        channels: args.channels_b,
    };
    let merged = tagq::merge(&a, &b, &alignment, &args.out, &reporter)?;
    let tags = merged.run.store().manifest().rows;
    reporter.note(&format!("{}: {} tags of both runs", args.out.display(), thousands(tags)));
    Ok(())
}
