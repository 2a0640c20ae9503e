//! `tagq ingest` and `tagq set`: what is written into a store, without a question.

use tagq::{Input, Options, Progress as _, Run, Treatment};

use crate::{
    Usage,
    args::{IngestArgs, SetArgs},
    input,
    progress::Reporter,
    report::thousands,
};

pub(crate) fn run(args: &IngestArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let options = Options {
        store: args.store.store.clone(),
        tick: args.store.tick,
        columns: args.store.columns,
        treatment: Treatment { rebuild: args.rebuild, rebase: args.rebase, salvage: args.salvage },
        ..Options::default()
    };
    if let Some(store) = &args.store.store {
        input::check_once(&args.sources)?;
        let (stdin, files): (Vec<_>, Vec<_>) =
            args.sources.iter().cloned().partition(|source| input::is_stdin(source));
        let stdin = match &stdin[..] {
            [] => None,
            _ => Some(input::set_aside(&Input::folder_for(store))?),
        };
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
        tell(&tagq::ingest(source, &options, &reporter)?, &reporter);
    }
    Ok(())
}

pub(crate) fn set(args: &SetArgs) -> anyhow::Result<()> {
    Ok(tagq::set_tick(&args.run, args.store.as_deref(), args.tick)?)
}

fn tell(run: &Run, reporter: &Reporter) {
    let manifest = run.store().manifest();
    reporter.note(&format!(
        "{}: {} tags of {} sources in {} (commit {})",
        run.path().display(),
        thousands(manifest.rows),
        manifest.sources.len(),
        run.store().folder().display(),
        manifest.commit
    ));
}
