//! `tagq cat`: tags as text.
//!
//! A run is printed in the order of its rows, from its store; a file in the order of the file, without a store. Rows
//! are read some thousands at a time, and checked before they are printed: no damaged row reaches the output.

use std::{
    env,
    io::{self, IsTerminal as _, Write as _},
    path::Path,
};

use anyhow::Context as _;
use tagq::{
    OpenOptions, Progress as _, Run, TagOrigin, are, counted, escaped,
    files::{
        text::TextWriter,
        write::{Content, Form, Packing},
    },
    requests::Setup,
    store::TimeReader,
};

use crate::{Usage, args::CatArgs, input, progress::Reporter};

/// Rows that are read at once.
const ROWS: usize = 1 << 13;
const REFUSED: &str = "cannot write to standard output";

pub(crate) fn run(args: &CatArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    if !args.at.is_empty() && input::is_stdin(&args.run) {
        let what = "--at finds tags by the index of a store; `tagq ingest - --store DIR` makes one";
        return Err(Usage(what.into()).into());
    }
    if input::is_stdin(&args.run) {
        let stdin = input::set_aside(&env::temp_dir(), &reporter)?;
        return file(args, TagOrigin::Input(&stdin), &reporter);
    }
    if args.run.is_file() && args.at.is_empty() {
        return file(args, TagOrigin::File(&args.run), &reporter);
    }
    let options = OpenOptions { ingest: !args.no_ingest, ..args.store.options() };
    let run = tagq::open(&args.run, &options, &reporter)?;
    run.check_tags()?;
    let rows = run.store().tags().len();
    if args.at.is_empty() {
        return print(&run, 0..rows);
    }
    let times = args.at.iter().map(|at| at.tick_of(&run)).collect::<Result<Vec<i64>, _>>();
    let times = times.map_err(tagq::Error::from)?;
    let mut found = Vec::new();
    for (row, time) in run.lookup(&times)?.into_iter().zip(times) {
        let row = usize::try_from(row).unwrap_or(rows);
        if row == rows {
            reporter.note(&format!("{}: no tag at {time}t or later", run.path().display()));
        }
        found.extend(row..row.saturating_add(args.tags).min(rows));
    }
    if io::stdout().is_terminal() { table(&run, &found) } else { print(&run, found) }
}

/// A tag of a run.
struct Row {
    number: usize,
    time: i64,
    channel: u16,
    micro: Option<u32>,
}

/// Passes rows to `take`, none of them damaged.
fn each_row(
    run: &Run,
    rows: impl IntoIterator<Item = usize>,
    mut take: impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let store = run.store();
    let (tags, micro) = (store.tags(), store.micro());
    let mut times = TimeReader::new(tags.time);
    let mut rows = rows.into_iter();
    loop {
        let some: Vec<usize> = rows.by_ref().take(ROWS).collect();
        if some.is_empty() {
            return Ok(());
        }
        let mut row = |row| Row {
            number: row,
            time: times.at(row),
            channel: tags.channels.label(row),
            micro: micro.and_then(|micro| micro.get(row)),
        };
        let read = store.guarded(|_| some.into_iter().map(&mut row).collect::<Vec<_>>());
        read.map_err(tagq::Error::from)?.into_iter().try_for_each(&mut take)?;
    }
}

/// Prints lines `channel TAB time`, and `TAB micro` if the run has micro times, without characters for tags that have none.
fn print(run: &Run, rows: impl IntoIterator<Item = usize>) -> anyhow::Result<()> {
    let has_micro = run.store().manifest().has_micro();
    let mut out = TextWriter::new(io::stdout().lock());
    each_row(run, rows, |Row { time, channel, micro, .. }| {
        out.integer(channel);
        out.integer(time);
        match micro {
            Some(micro) => out.integer(micro),
            None if has_micro => out.text(""),
            None => {}
        }
        out.end_line().context(REFUSED)
    })?;
    out.finish().and_then(|mut out| out.flush()).context(REFUSED)?;
    Ok(())
}

/// Prints rows for a reader: with the names of channels, and with the time since the first tag of the run.
fn table(run: &Run, rows: &[usize]) -> anyhow::Result<()> {
    let manifest = run.store().manifest();
    let setup = Setup::of(run.path(), None)?;
    let first = manifest.time_first.unwrap_or(0);
    let headings = ["row", "channel", "time (ticks)", "since the first tag", "micro time"];
    let headings = headings.map(str::to_owned).to_vec();
    let line = |Row { number, time, channel, micro }: Row| {
        let since = i128::from(time) - i128::from(first);
        let of_micro = micro.map_or(String::new(), |micro| {
            let unit = manifest.micro_tick;
            unit.map_or_else(|| micro.to_string(), |unit| unit.format(micro.into()))
        });
        let channel = escaped(&setup.name_of(channel)).into_owned();
        vec![number.to_string(), channel, time.to_string(), manifest.tick.format(since), of_micro]
    };
    let mut lines: Vec<Vec<String>> = vec![headings];
    each_row(run, rows.iter().copied(), |row| {
        lines.push(line(row));
        Ok(())
    })?;
    if !manifest.has_micro() {
        for line in &mut lines {
            line.pop();
        }
    }
    let columns = lines[0].len();
    let wide = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, &wide)| format!("{cell:>wide$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ")).context(REFUSED)?;
    }
    out.flush().context(REFUSED)
}

/// Prints the tags of a file in the order of the file, without a store.
fn file(args: &CatArgs, tags: TagOrigin<'_>, reporter: &dyn tagq::Progress) -> anyhow::Result<()> {
    let shown =
        if input::is_stdin(&args.run) { Path::new("standard input") } else { args.run.as_path() };
    let form = Form { content: Content::Tabs, packing: Packing::Plain };
    let settings = args.store.reading();
    let out = Path::new("standard output");
    let (_, printed) = tagq::write(tags, io::stdout(), &form, &settings, args.store.tick, out)?;
    for remark in printed.remarks {
        reporter.note(&format!("{}: {remark}", shown.display()));
    }
    if let Some(torn) = printed.torn {
        let (tags, are) = (counted(printed.tags, "tag"), are(printed.tags));
        reporter.note(&format!("{}: {torn}; the {tags} before it {are} printed", shown.display()));
    }
    Ok(())
}
