//! `tagq export`: tags for other programs.

use std::{
    io::{self, IsTerminal as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use anyhow::Context as _;
use tagq::{
    Destination, OpenOptions, Progress as _, TagOrigin, TagSelection,
    files::{
        Settings,
        write::{Content, Packing},
    },
    requests::Setup,
};
use tagq_export::{PreferredForm, TableForm, TagFormat, Written, suffixes, write_tags_telling};

use crate::{Usage, args::ExportArgs, input, progress::Reporter, written};

pub(crate) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let format = format(args)?;
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
    let setup = Setup { delays: Vec::new(), ..setup };
    let scope = tags.scope(&run, &setup)?;
    let selection = TagSelection {
        range: scope.range,
        channels: scope.channels,
        names: setup.names,
        time_unit: args.time_unit,
        ..TagSelection::of_intact(&run, args.salvage)?
    };
    let tags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let from = args.run.display().to_string();
    reporter.job_of_tags("exporting", &from, &tags);
    let mut done = |through, rows| {
        tags[1].store(rows, Relaxed);
        tags[0].store(through, Relaxed);
    };
    let (of, settings) = (TagOrigin::Run(&run, &selection), Settings::default());
    let converted = match (&to, format) {
        (None, TagFormat::Table(form)) => {
            let out = io::BufWriter::new(io::stdout());
            let written = write_tags_telling(&run, &selection, out, form, &mut |through, rows| {
                done(through, rows);
                Ok(())
            });
            written.map_err(anyhow::Error::from).and_then(|(mut out, Written { tags, lost })| {
                out.flush().context("cannot write to standard output")?;
                written::tell_blurred(lost, tags, args.time_unit, &reporter);
                Ok(None)
            })
        }
        (None, TagFormat::File(form)) => {
            let shown = Path::new("standard output");
            let written = tagq::write(of, io::stdout(), &form, &settings, None, shown);
            written.map(|(_, converted)| Some(converted)).map_err(Into::into)
        }
        (Some(to), format) => {
            let to = (format.form(), to);
            let converted = tagq::convert(of, to, &settings, None, &reporter, &mut done);
            converted.map(Some).map_err(Into::into)
        }
    };
    reporter.done();
    if let Some(converted) = converted? {
        let tick = run.store().manifest().tick;
        let out = args.output.as_deref();
        written::tell(converted, (&from, Some(tick)), out, args.time_unit, &reporter);
    }
    Ok(())
}

/// Returns the format, from --format or from the name of the file.
fn format(args: &ExportArgs) -> anyhow::Result<TagFormat> {
    let is_text = |format: &TagFormat| {
        matches!(format, TagFormat::Table(TableForm::Csv | TableForm::Tsv))
            || matches!(format, TagFormat::File(form) if form.packing == Packing::Plain && matches!(form.content, Content::Tabs | Content::Commas))
    };
    match (args.format, &args.output) {
        (None, Some(out)) => TagFormat::of_name(out, PreferredForm::Tables).ok_or_else(|| {
            let out = out.display();
            Usage(format!(
                "{out}: its name does not say what to write; it ends with one of {}, or --format says it",
                suffixes()
            ))
            .into()
        }),
        (format, None) if io::stdout().is_terminal() && !format.is_some_and(|of| is_text(&of)) => {
            Err(Usage(
                "what would be written is not for a terminal; name a file with --output FILE, or \
                 write text with --format csv"
                    .into(),
            )
            .into())
        }
        (None | Some(TagFormat::Table(TableForm::Arrow)), None) => Ok(TagFormat::Table(TableForm::Stream)),
        (Some(format), _) => Ok(format),
    }
}
