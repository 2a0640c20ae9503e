//! `tagq name`: name the channels of a run.

use std::io::Write as _;

use tagq::{
    Progress as _,
    requests::{Setup, SetupFile},
};

use crate::{args::NameArgs, progress::Reporter};

pub(crate) fn run(args: &NameArgs) -> anyhow::Result<()> {
    if !args.run.exists() {
        return Err(tagq::Error::NoSuchPath { path: args.run.clone() }.into());
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
    for name in &args.names {
        file.set_name(name.channel, name.name.as_deref())?;
    }
    let reporter = Reporter::new(false);
    file.save(&reporter)?;
    reporter.note(&format!("{}: names written", path.display()));
    Ok(())
}
