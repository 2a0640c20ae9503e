//! `tagq ingest` and `tagq set`: what is written into a store, without a question.

use tagq::{Options, Progress as _, Run, Treatment};

use crate::{
    args::{IngestArgs, SetArgs},
    progress::Reporter,
    report::thousands,
};

pub(crate) fn run(args: &IngestArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let options = Options {
        store: args.store.store.clone(),
        tick: args.store.tick,
        treatment: Treatment { rebuild: args.rebuild, rebase: args.rebase, salvage: args.salvage },
        ..Options::default()
    };
    if let Some(store) = &args.store.store {
        let run = tagq::ingest_sources(&args.sources, store, &options, &reporter)?;
        tell(&run, &reporter);
        return Ok(());
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
