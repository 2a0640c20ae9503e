//! `tagq runs`: the runs in a folder.

use std::io::{self, Write as _};

use anyhow::Context as _;
use tagq::Wanted;

use crate::{args::RunsArgs, progress::Reporter, report};

pub(crate) fn run(args: &RunsArgs) -> anyhow::Result<()> {
    let RunsArgs { folder, since, until, name, paths, output } = args;
    report::check(output, &[])?;
    let wanted = Wanted { since: *since, until: *until, name: name.clone() };
    let runs = tagq::runs(folder, &wanted)?;
    if !paths {
        let is_quiet = false;
        return report::print_runs(&runs, output, &Reporter::new(is_quiet));
    }
    let mut out = io::BufWriter::new(io::stdout());
    let written = runs.iter().try_for_each(|run| {
        out.write_all(run.path.as_os_str().as_encoded_bytes())?;
        out.write_all(b"\n")
    });
    written.and_then(|()| out.flush()).context("cannot write to standard output")
}
