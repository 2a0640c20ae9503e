//! `tagq-formats`: see `cargo xtask formats`.

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use tagq_formats::{
    Result, Source, docs,
    formats::ALL,
    measure::{
        Part, Plan, SIZE_TAGS,
        child::{self, Task},
    },
};

/// Compares formats for time tags.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Args {
    /// Compare only formats whose name contains one of these
    filters: Vec<String>,
    /// Use the tags of a recording [any format that tagq reads]
    #[arg(long, value_name = "FILE", conflicts_with = "simulate")]
    tags: Option<PathBuf>,
    /// Simulate this many tags
    #[arg(long, value_name = "N", default_value_t = 35_000_000)]
    simulate: u64,
    /// Rounds of each measurement, in turn
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Compare a few thousand simulated tags in one round
    #[arg(long, conflicts_with_all = ["tags", "simulate", "runs"])]
    quick: bool,
    /// Measure only this part [repeatable; all parts without it]
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<Part>,
    /// Folder for the tables and, while measuring, for the files
    #[arg(long, value_name = "DIR", default_value = "target/formats")]
    out: PathBuf,
    /// Put the tables into docs/formats.md
    #[arg(long)]
    write: bool,
    #[command(subcommand)]
    child: Option<Child>,
}

#[derive(Debug, Subcommand)]
enum Child {
    /// One measurement, for the program itself
    #[command(hide = true)]
    Child(Task),
}

/// Tags of a quick comparison: more than one message, and a last one that is not full.
const QUICK_TAGS: u64 = 70_000;
/// Tags that every compression gets in a quick comparison.
const QUICK_SIZE_TAGS: u64 = 5_000;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.child {
        Some(Child::Child(task)) => child::run(task),
        None => compare(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(args: &Args) -> Result<()> {
    fs::create_dir_all(&args.out)?;
    let folder = tempfile::tempdir_in(&args.out)?;
    let (all, first) = (folder.path().join("tags"), folder.path().join("first-tags"));
    eprintln!("making the tags");
    let source = match &args.tags {
        Some(recording) => Source::from_recording(recording, &all)?,
        None if args.quick => Source::simulated(QUICK_TAGS, &all)?,
        None => Source::simulated(args.simulate, &all)?,
    };
    let is_chosen = |name: &str| {
        args.filters.is_empty() || args.filters.iter().any(|filter| name.contains(&**filter))
    };
    let plan = Plan {
        first: source.first(if args.quick { QUICK_SIZE_TAGS } else { SIZE_TAGS }, &first)?,
        source,
        recorded: args.tags.is_some(),
        folder: folder.path().into(),
        formats: ALL.into_iter().filter(|format| is_chosen(format.name())).collect(),
        runs: if args.quick { 1 } else { args.runs.into() },
        lookups: if args.quick { 100 } else { 1_000_000 },
        messages: if args.quick { 100 } else { 20_000 },
    };
    if plan.formats.is_empty() {
        return Err("no format has such a name".into());
    }
    let mut tables = Vec::new();
    for part in Part::ALL {
        if args.parts.is_empty() || args.parts.contains(&part) {
            tables.extend(part.measure(&plan)?);
        }
    }
    for table in &tables {
        table.save(&args.out, &docs::About::of(&plan))?;
    }
    eprintln!("tables: {}", args.out.display());
    if args.write {
        let document = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
        for name in docs::write(&document, &plan, &tables)? {
            eprintln!("docs/formats.md has no place for {name}");
        }
    }
    Ok(())
}
