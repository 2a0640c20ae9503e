//! `tagq name`: name the channels of a run.

use std::io::Write as _;

use tagq::{
    OpenOptions, Progress as _, Silent, open,
    requests::{Setup, SetupFile},
};

use crate::{Usage, args::NameArgs, progress::Reporter};

pub(crate) fn run(args: &NameArgs) -> anyhow::Result<()> {
    if !args.run.exists() {
        if let Some(text) = args.run.to_str().filter(|text| text.contains('=')) {
            return Err(Usage(format!(
                "`{text}` is no run; write the run first and each channel before its name, as tagq name run/ 3=Alice-H"
            ))
            .into());
        }
        return Err(tagq::RunError::NoSuchPath { path: args.run.clone() }.into());
    }
    let path = Setup::place(&args.run);
    let mut file = SetupFile::open(&path)?;
    if args.names.is_empty() {
        let mut out = std::io::stdout().lock();
        for (channel, name) in &file.setup().names {
            writeln!(out, "{channel}={name}")?;
        }
        return Ok(());
    }
    let named = args.names.iter().filter(|of| of.name.is_some()).map(|of| of.channel).collect();
    for name in &args.names {
        file.set_name(name.channel, name.name.as_deref())?;
    }
    let reporter = Reporter::new(false);
    file.save(&reporter)?;
    reporter.note(&format!("{}: names written", path.display()));
    // Before there is a store, nothing is known of the channels.
    let options = OpenOptions { ingest: false, ..OpenOptions::default() };
    if let Ok(run) = open(&args.run, &options, &Silent) {
        file.setup().note_dark(&run, named, &reporter);
    }
    Ok(())
}
