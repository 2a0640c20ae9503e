//! `tagq convert`: converts between formats of tags.

use std::{
    env, fs,
    io::{self, Write as _},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use tagq::{
    Converted, Destination, Input, Progress as _, Tags,
    files::{
        Settings,
        write::{Content, Form, Packing},
    },
};
use tagq_export::report::table::quantities::thousands;

use crate::{args::ConvertArgs, input, progress::Reporter};

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    let to_stdout = input::is_stdin(&args.out);
    if !to_stdout {
        // Checked before anything is read, because a pipe cannot be read again.
        let reads: Vec<_> = [&args.from].into_iter().chain(&args.store.store).cloned().collect();
        tagq::check_out(&Destination { path: &args.out, force: args.force, reads: &reads })?;
    }
    if input::is_stdin(&args.from) {
        let folder = if to_stdout { env::temp_dir() } else { Input::folder_for(&args.out) };
        let input = input::set_aside(&folder, &reporter)?;
        return write(args, Tags::Input(&input), length(input.path()), &reporter);
    }
    if fs::metadata(&args.from).is_ok_and(|metadata| !metadata.is_dir()) {
        return write(args, Tags::File(&args.from), length(&args.from), &reporter);
    }
    let run = tagq::open(&args.from, &args.store.options(), &reporter)?;
    let bytes = 9 * run.store().manifest().rows;
    write(args, Tags::Run(&run), bytes, &reporter)
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn write(
    args: &ConvertArgs,
    tags: Tags<'_>,
    bytes: u64,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    let from = args.from.display().to_string();
    let read = Arc::new(AtomicU64::new(0));
    reporter.job("converting", &from, bytes, &read);
    let settings =
        Settings { bytes_read: Some(read), salvage: args.salvage, ..args.store.reading() };
    let converted = if input::is_stdin(&args.out) {
        let form = Form { content: Content::Tabs, packing: Packing::Plain };
        tagq::write(
            tags,
            io::stdout(),
            form,
            &settings,
            args.store.tick,
            Path::new("standard output"),
        )
        .map(|(_, converted)| converted)
    } else {
        tagq::convert(tags, &args.out, args.force, &settings, args.store.tick, reporter)
    };
    reporter.done();
    let Converted { tags, torn, lost, kept, run_file, tick, remarks } = converted?;
    for remark in remarks {
        reporter.note(&format!("{from}: {remark}"));
    }
    if let Some(torn) = torn {
        reporter.note(&format!("{from}: {torn}; the {tags} tags before it are written"));
    }
    let out =
        if input::is_stdin(&args.out) { "text".into() } else { args.out.display().to_string() };
    let tick = tick.map(|tick| format!(" (--tick {})", tick.to_string().replace(' ', "")));
    let tick = tick.unwrap_or_default();
    if !lost.is_empty() {
        let tick = if kept.is_empty() { &*tick } else { "" };
        reporter.note(&format!("{out} does not hold {} of {from}{tick}", listed(&lost)));
    }
    if let Some(run_file) = run_file.filter(|_| !kept.is_empty()) {
        let (kept, run_file) = (listed(&kept), run_file.display());
        reporter.note(&format!("{run_file} holds {kept} for {out}{tick}: keep both together"));
    }
    if !input::is_stdin(&args.out) {
        reporter.note(&format!("{}: {} tags of {from}", args.out.display(), thousands(tags)));
    }
    Ok(io::stdout().flush()?)
}

/// Returns `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
