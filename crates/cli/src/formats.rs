//! `tagq formats`: the formats of files.

use crate::{
    args::FormatsArgs,
    progress::Reporter,
    report::{self, Output},
};

pub(crate) fn run(args: &FormatsArgs) -> anyhow::Result<()> {
    let is_quiet = false;
    let output = Output { args: &args.output, reads: &[] };
    report::check(output)?;
    report::print_formats(output, &Reporter::new(is_quiet))
}
