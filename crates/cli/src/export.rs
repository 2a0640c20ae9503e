//! `tagq export`: tags for other programs.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use anyhow::Context as _;
use tagq::{Destination, LeftOut, OpenOptions, Progress as _, Recorded, Run, requests::Setup};
use tagq_export::{
    Form, Selection, Written, report::table::quantities::thousands, write_tags_file,
    write_tags_telling,
};

use crate::{Usage, args::ExportArgs, input, progress::Reporter};

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let form = form(args)?;
    let reads: Vec<_> = [&args.run].into_iter().chain(&args.store.store).cloned().collect();
    let to = args.output.as_deref();
    let to = to.map(|path| Destination { path, force: args.force, reads: &reads });
    if let Some(to) = &to {
        // Check first: reading may take long.
        to.check()?;
    }
    let setup = input::setup(&args.run, &args.setup)?;
    let tags = &args.tags.0;
    for channel in &tags.channels {
        setup.channel(channel)?;
    }
    let (tick, ingest) = (setup.tick, !args.no_ingest);
    let options = OpenOptions { tick, ingest, ..args.store.options() };
    let run = input::open(&args.run, &options, &reporter)?;
    // Names come from the setup; times are exported as they were recorded.
    let scope = tags.scope(&run, &Setup { delays: Vec::new(), ..setup })?;
    let left_out = if args.salvage { run.left_out()? } else { LeftOut::default() };
    if let Some(remark) = left_out.remark(run.store().manifest().tick) {
        reporter.note(&format!("{}: {remark}", run.path().display()));
    }
    let selection = Selection {
        left_out,
        range: scope.range,
        channels: scope.channels,
        time_unit: args.time_unit,
        ..Selection::default()
    };
    let tags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    reporter.job_of_tags("exporting", &args.run.display().to_string(), &tags);
    let mut done = |through, rows| {
        tags[1].store(rows, Relaxed);
        tags[0].store(through, Relaxed);
    };
    let written = match &to {
        None => to_stdout(&run, &selection, form, &mut done),
        Some(to) => to_file(&run, &selection, (form, to), &reporter, &mut done),
    };
    reporter.done();
    let written = written?;
    tell(args, &run, written, &reporter);
    Ok(())
}

fn to_stdout(
    run: &Run,
    selection: &Selection,
    form: Form,
    done: &mut dyn FnMut(u64, u64),
) -> anyhow::Result<Written> {
    let out = io::BufWriter::new(io::stdout());
    let (mut out, written) = write_tags_telling(run, selection, out, form, done)?;
    out.flush().context("cannot write to standard output")?;
    Ok(written)
}

fn to_file(
    run: &Run,
    selection: &Selection,
    (form, to): (Form, &Destination<'_>),
    reporter: &Reporter,
    done: &mut dyn FnMut(u64, u64),
) -> anyhow::Result<Written> {
    let (written, run_file) = write_tags_file(run, selection, (form, to), reporter, done)?;
    if let Some(run_file) = run_file {
        let (run_file, out) = (run_file.display(), to.path.display());
        reporter
            .note(&format!("{run_file} holds tick, names and facts for {out}: keep both together"));
    }
    Ok(written)
}

/// Returns the format, from --format or from the name of the file.
fn form(args: &ExportArgs) -> anyhow::Result<Form> {
    match (args.format, &args.output) {
        (None, Some(out)) => Form::of_name(out).ok_or_else(|| {
            let out = out.display();
            Usage(format!(
                "{out}: its name does not say what to write; it ends with .arrow, .parquet, .csv, \
                 .tsv, .h5 or .npz, or --format says it"
            ))
            .into()
        }),
        (None | Some(Form::Arrow | Form::Parquet | Form::Hdf5 | Form::Npz), None)
            if io::stdout().is_terminal() =>
        {
            Err(Usage(
                "what would be written is not for a terminal; name a file with --output FILE, or \
                 write text with --format csv"
                    .into(),
            )
            .into())
        }
        (None | Some(Form::Arrow), None) => Ok(Form::Stream),
        (Some(form), _) => Ok(form),
    }
}

fn tell(args: &ExportArgs, run: &Run, written: Written, reporter: &Reporter) {
    for what in Recorded::of(run).lost {
        reporter.note(&format!("{what} of {} are not exported", run.path().display()));
    }
    let Written { tags, lost } = written;
    if lost > 0 {
        let column = args.time_unit.map_or("time", |unit| unit.column());
        reporter.note(&format!(
            "{} of {} floats in {column} do not say which tick it was, because the run is too long \
             for its tick; the times in ticks are exact",
            thousands(lost),
            thousands(tags)
        ));
    }
    if let Some(out) = &args.output {
        let (from, tick) = (run.path().display(), run.store().manifest().tick);
        let tags = thousands(tags);
        reporter.note(&format!("{}: {tags} tags of {from}, tick {tick}", out.display()));
    }
}
