//! Searches, as `tagq delays`.

use tagq::{
    OpenOptions, Progress as _,
    requests::{QueryContext, Setup, SetupFile},
};

use crate::{
    Usage,
    args::{PlotTo, QuestionCommand, SearchArgs},
    input,
    progress::Reporter,
    queries,
    report::{self, Output},
};

pub(crate) fn run(command: &QuestionCommand<SearchArgs>) -> anyhow::Result<()> {
    let QuestionCommand { question, answer: args, .. } = command;
    let search = question.search()?;
    let reporter = Reporter::new(args.query.store.quiet);
    let reads = args.query.reads();
    let output = Output { args: &args.output, reads: &reads };
    report::check(output)?;
    question.check_runs(args.query.runs.len())?;
    let run_path = &args.query.runs[0];
    if let Some(PlotTo::File(out, _)) = &args.plot.plot {
        if search.channels().len() != 2 {
            let out = out.display();
            return Err(Usage(format!(
                "{out}: a figure is of one pair; name two channels, or draw all in the terminal with --plot"
            ))
            .into());
        }
        output.to(out).check()?;
    }
    let setup = queries::setup(run_path, &args.setup, question)?;
    // Open the file first: the search may take long.
    let mut file = args.write.as_deref().map(SetupFile::open).transpose()?;
    let options = OpenOptions { tick: setup.tick, ..queries::options(&args.query) };
    let run = input::open(run_path, &options, &reporter)?;
    let pool = queries::pool(args.query.threads)?;
    let context = QueryContext::new(&setup, &pool, &reporter);
    let waiting = reporter.waiting("searching in", run.store().manifest().rows);
    let found = search.ask(&run, &context)?;
    drop(waiting);
    let tick = run.store().manifest().tick;
    report::print_search(&found, output, &reporter, tick)?;
    if let Some(plot) = &args.plot.plot {
        let histograms = found.histograms(&run, &context)?;
        if histograms.is_empty() {
            reporter.note("no peak was found, and nothing is drawn");
        } else {
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
    if setup.path.as_ref() != Some(path) && Setup::place(run_path) != *path {
        reporter.note(&format!(
            "queries of {} use it with --setup {}",
            run_path.display(),
            path.display()
        ));
    }
    Ok(())
}
