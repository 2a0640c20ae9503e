//! `tagq ingest` and `tagq set`: commands that write a store without a query.

use tagq::{
    Input, OpenOptions, Progress as _, Treatment,
    requests::{Setup, SetupFile},
    store::Tick,
};

use crate::{
    Usage,
    args::{IngestArgs, SetArgs, Switch},
    follow::{self, tell},
    input,
    progress::Reporter,
};

pub(crate) fn run(args: &IngestArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let options = OpenOptions {
        treatment: Treatment { rebuild: args.rebuild, rebase: args.rebase, salvage: args.salvage },
        threads: args.threads.unwrap_or(0),
        gaps: !args.no_gaps,
        times: args.times,
        tick: args.store.tick,
        tick_here: None,
        ..args.store.options()
    };
    if args.follow {
        let [source] = &args.sources[..] else {
            return Err(Usage("--follow takes one file or folder".into()).into());
        };
        if input::is_stdin(source) {
            return Err(
                Usage("standard input is followed without --follow, to its end".into()).into()
            );
        }
        let setup = input::written_setup(source, &args.setup)?;
        let options = OpenOptions { tick: options.tick.or(setup.tick), ..options };
        return follow::run(source, &options, args, &reporter);
    }
    if let Some(store) = &args.store.store {
        input::check_once(&args.sources)?;
        let (stdin, files): (Vec<_>, Vec<_>) =
            args.sources.iter().cloned().partition(|source| input::is_stdin(source));
        let stdin = match &stdin[..] {
            [] => None,
            _ => Some(input::set_aside(&Input::folder_for(store), &reporter)?),
        };
        // The first source that has a setup states the setup of the run.
        let setups = files.iter().map(|file| input::written_setup(file, &args.setup));
        let tick = options.tick.or(first_tick(setups)?);
        let options = OpenOptions { tick, ..options };
        let run = tagq::ingest_sources(&files, stdin.as_ref(), store, &options, &reporter)?;
        tell(&run, &reporter);
        return Ok(());
    }
    if args.sources.iter().any(|source| input::is_stdin(source)) {
        return Err(Usage(
            "standard input has no place for a store; name one with --store DIR".into(),
        )
        .into());
    }
    for source in &args.sources {
        let setup = input::written_setup(source, &args.setup)?;
        let options = OpenOptions { tick: options.tick.or(setup.tick), ..options.clone() };
        tell(&tagq::ingest(source, &options, &reporter)?, &reporter);
    }
    Ok(())
}

fn first_tick(
    setups: impl Iterator<Item = Result<Setup, tagq::RunError>>,
) -> Result<Option<Tick>, tagq::RunError> {
    for setup in setups {
        let setup = setup?;
        if setup.path.is_some() {
            return Ok(setup.tick);
        }
    }
    Ok(None)
}

pub(crate) fn set(args: &SetArgs) -> anyhow::Result<()> {
    let changes = tagq::StoreChanges {
        tick: args.tick,
        times: args.times.map(|times| times == Switch::On),
        gaps: args.gaps.map(|gaps| gaps == Switch::On),
    };
    let reporter = Reporter::new(false);
    let sizes = tagq::change_store(&args.run, args.store.as_deref(), changes, &reporter)?;
    if let Some(tick) = args.tick {
        SetupFile::replace_tick(&args.run, tick, &reporter)?;
    }
    if let Some(sizes) = sizes {
        reporter.note(&format!("{}: {sizes}", args.run.display()));
    }
    Ok(())
}
