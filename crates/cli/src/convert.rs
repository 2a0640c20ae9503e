//! `tagq convert`: converts between formats of tags.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use tagq::{
    Destination, Input, OutForm, Progress as _, RunError, TagOrigin, TagSelection,
    files::{
        Settings,
        write::{Content, Form, Packing},
    },
};
use tagq_export::{PreferredForm, TagFormat};

use crate::{args::ConvertArgs, input, progress::Reporter, written};

/// The form that is written to standard output.
const TEXT: Form = Form { content: Content::Tabs, packing: Packing::Plain };

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let to_stdout = input::is_stdin(&args.out);
    let reads: Vec<_> = [&args.from].into_iter().chain(&args.store.store).cloned().collect();
    let to = Destination { path: &args.out, force: args.force, reads: &reads };
    let form = if to_stdout {
        TagFormat::File(TEXT)
    } else {
        let form = TagFormat::of_name(&args.out, PreferredForm::Files);
        let form = form.ok_or_else(|| RunError::NoForm { path: args.out.clone() })?;
        // Checked before anything is read, because a pipe cannot be read again.
        to.check()?;
        form
    };
    let form = form.form();
    if input::is_stdin(&args.from) {
        let folder = if to_stdout { env::temp_dir() } else { Input::folder_for(&args.out) };
        let input = input::set_aside(&folder, &reporter)?;
        return write(args, TagOrigin::Input(&input), (form, &to), length(input.path()), &reporter);
    }
    if fs::metadata(&args.from).is_ok_and(|metadata| !metadata.is_dir()) {
        return write(
            args,
            TagOrigin::File(&args.from),
            (form, &to),
            length(&args.from),
            &reporter,
        );
    }
    let run = tagq::open(&args.from, &args.store.options(), &reporter)?;
    // For the bar: a time and a label of each row.
    let bytes = 9 * run.store().manifest().rows;
    let selection = TagSelection::of_intact(&run, args.salvage)?;
    write(args, TagOrigin::Run(&run, &selection), (form, &to), bytes, &reporter)
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn write(
    args: &ConvertArgs,
    tags: TagOrigin<'_>,
    (form, to): (&dyn OutForm, &Destination<'_>),
    bytes: u64,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let from = args.from.display().to_string();
    let read = Arc::new(AtomicU64::new(0));
    reporter.job("converting", &from, bytes, &read);
    let settings =
        Settings { bytes_read: Some(read), salvage: args.salvage, ..args.store.reading() };
    let tick = args.store.tick;
    let out = Some(to.path).filter(|out| !input::is_stdin(out));
    let converted = match out {
        None => {
            let shown = Path::new("standard output");
            let written = tagq::write(tags, io::stdout(), form, &settings, tick, shown);
            written.map(|(_, converted)| converted)
        }
        Some(_) => tagq::convert(tags, (form, to), &settings, tick, reporter, &mut |_, _| ()),
    };
    reporter.done();
    written::tell(converted?, (&from, None), out, None, reporter);
    Ok(io::stdout().flush()?)
}
