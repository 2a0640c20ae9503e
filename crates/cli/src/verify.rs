//! `tagq verify`: verifies the checksums of stores, their views and cached results, and their sources.

use std::{
    io::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tagq::{OpenOptions, Progress as _, RunError, escaped};
use tagq_export::report::{info::left_over, table::quantities::counted};

use crate::{args::VerifyArgs, progress::Reporter};

pub(crate) fn run(args: &VerifyArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.quiet);
    let options = OpenOptions {
        store: args.store.clone(),
        recursive: args.recursive,
        ingest: false,
        ..OpenOptions::default()
    };
    let mut out = anstream::stdout().lock();
    for path in &args.runs {
        let run = match tagq::open(path, &options, &reporter) {
            Err(RunError::NoSources { path }) => {
                let shown = escaped(&path.display().to_string()).into_owned();
                match tagq::verify_kept(&path)? {
                    0 => return Err(RunError::NoSources { path }.into()),
                    kept => writeln!(
                        out,
                        "{shown}: intact: {}",
                        counted(kept as u64, "partial result")
                    )?,
                }
                continue;
            }
            run => run?,
        };
        let bytes = |blocks: usize| blocks as u64 * 9 * 65_536;
        let done = Arc::new(AtomicU64::new(0));
        let total = run.store().manifest().rows * 9;
        reporter.job("verifying", &path.display().to_string(), total, &done);
        let verified = run.verify(args.sources, None, &mut |blocks, _| {
            done.store(bytes(blocks), Ordering::Relaxed);
        });
        reporter.done();
        let verified = verified?;
        write!(
            out,
            "{}: intact: {}, {}",
            escaped(&path.display().to_string()),
            counted(verified.blocks as u64, "block"),
            counted(verified.rows, "tag")
        )?;
        for (number, what) in [(verified.views, "view"), (verified.results, "cached result")] {
            if number > 0 {
                write!(out, ", {}", counted(number as u64, what))?;
            }
        }
        if args.sources {
            write!(out, "; {} unchanged", counted(verified.sources as u64, "source"))?;
            if verified.sources_unknown > 0 {
                let unknown = verified.sources_unknown;
                write!(out, ", {unknown} not compared (gone, elsewhere, or from an older store)")?;
            }
        }
        writeln!(out)?;
        let leftovers = run.leftovers()?;
        if !leftovers.is_empty() {
            let path = path.display().to_string();
            reporter.note(&format!("{path}: left over: {}", left_over(&leftovers, &path)));
        }
    }
    Ok(out.flush()?)
}
