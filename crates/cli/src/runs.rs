//! `tagq runs`: the runs in a folder.

use std::io::{self, Write as _};

use anyhow::Context as _;
use tagq::RunFilter;

use crate::{
    Usage,
    args::RunsArgs,
    progress::Reporter,
    report::{self, Output},
};

pub(crate) fn run(args: &RunsArgs) -> anyhow::Result<()> {
    let RunsArgs { folder, since, until, name, paths, output } = args;
    if folder.is_file() {
        let file = folder.display();
        return Err(Usage(format!(
            "{file}: a file, and runs are listed in a folder; `tagq info {}` shows one",
            tagq::pasted(folder)
        ))
        .into());
    }
    let reads = std::slice::from_ref(folder);
    let output = Output { args: output, reads };
    report::check(output)?;
    let wanted = RunFilter { since: *since, until: *until, name: name.clone() };
    let is_quiet = false;
    let reporter = Reporter::new(is_quiet);
    let runs = tagq::runs(folder, &wanted, &reporter)?;
    if !paths {
        return report::print_runs(&runs, output, &reporter);
    }
    let mut out = io::BufWriter::new(io::stdout());
    let written = runs.iter().try_for_each(|run| {
        out.write_all(run.path.as_os_str().as_encoded_bytes())?;
        out.write_all(b"\n")
    });
    written.and_then(|()| out.flush()).context("cannot write to standard output")
}
