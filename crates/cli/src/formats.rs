//! `tagq formats`: the formats of files.

use crate::{args::FormatsArgs, progress::Reporter, report};

pub(crate) fn run(args: &FormatsArgs) -> anyhow::Result<()> {
    let is_quiet = false;
    report::check(&args.output, &[])?;
    report::print_formats(&args.output, &Reporter::new(is_quiet))
}
