//! `tagq delays`: find the peaks between channels.

use tagq::{
    Delays, OpenOptions, Progress as _,
    requests::{QueryContext, Setup, SetupFile},
};

use crate::{
    Usage,
    args::{DelaysArgs, PlotTo},
    input,
    progress::Reporter,
    queries,
    report::{self, Output},
};

pub(crate) fn run(args: &DelaysArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let (channels, run_path) = args.channels_and_run();
    let reads: Vec<_> = [&run_path].into_iter().chain(&args.store.store).cloned().collect();
    let output = Output { args: &args.output, reads: &reads };
    report::check(output)?;
    let question = Delays { channels, range: args.range.clone(), selection: args.span.0.clone() };
    if let Some(PlotTo::File(out, _)) = &args.plot.plot {
        if question.channels.len() != 2 {
            let out = out.display();
            return Err(Usage(format!(
                "{out}: a figure is of one pair; name two channels, or draw all in the terminal with --plot"
            ))
            .into());
        }
        output.to(out).check()?;
    }
    let setup = input::setup(&run_path, &args.setup)?;
    for channel in &question.channels {
        setup.channel(channel)?;
    }
    // Open the file first: the search may take long.
    let mut file = args.write.as_deref().map(SetupFile::open).transpose()?;
    let threads = queries::number_of(args.threads);
    let (tick, ingest) = (setup.tick, !args.no_ingest);
    let options = OpenOptions { tick, ingest, threads, ..args.store.options() };
    let run = input::open(&run_path, &options, &reporter)?;
    let pool = queries::pool(args.threads)?;
    let context = QueryContext::new(&setup, &pool, &reporter);
    let waiting = reporter.waiting("searching in", run.store().manifest().rows);
    let found = question.ask(&run, &context)?;
    drop(waiting);
    let tick = run.store().manifest().tick;
    report::print_delays(&found, output, &reporter, tick)?;
    if let Some(plot) = &args.plot.plot {
        let histograms = found.histograms(&run, &context)?;
        if histograms.is_empty() {
            reporter.note("no peak was found, and nothing is drawn");
        } else {
            let output = Output { reads: &reads, args: &args.output };
            report::draw(&histograms, (plot, &args.plot), output, &reporter)?;
        }
    }
    let (Some(file), Some(path)) = (&mut file, &args.write) else { return Ok(()) };
    for &(channel, ticks) in &found.delays {
        let delay = tick.format_paste(ticks).parse().map_err(tagq::Error::from)?;
        file.set_delay(channel, &delay, ticks == 0)?;
    }
    file.save(&reporter)?;
    reporter.note(&format!("{}: delays written", path.display()));
    if setup.path.as_ref() != Some(path) && Setup::place(&run_path) != *path {
        reporter.note(&format!(
            "queries of {} use it with --setup {}",
            run_path.display(),
            path.display()
        ));
    }
    Ok(())
}
