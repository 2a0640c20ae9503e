//! `tagq plan`, `tagq partial`, and `tagq merge` of partial results.
//!
//! In a job of an array of Slurm with `SLURM_ARRAY_TASK_ID` 3, `tagq partial` counts part 3. A job that runs twice
//! replaces its own result without `--force`, but no other file. Errors of reading and writing have the exit code 75,
//! so that a scheduler can try again.

use std::{env, fs, io::Write as _, path::Path};

use anyhow::Context as _;
use tagq::{
    Destination, Division, NewFile, PartOptions, Parts, Plan, Progress as _,
    requests::QueryContext, store::Access,
};

use crate::{
    Retry, Usage,
    args::{Io, MergeArgs, PartialArgs, PlanArgs, QuestionCommand},
    input,
    progress::Reporter,
    queries,
    report::{self, Output},
};

/// Writes the plan of a query.
pub(crate) fn plan(command: &QuestionCommand<PlanArgs>) -> anyhow::Result<()> {
    let QuestionCommand { question, answer: args, .. } = command;
    let reporter = Reporter::new(args.query.store.quiet);
    let reads = args.query.reads();
    let to = Destination { path: &args.output, force: args.force, reads: &reads };
    to.check()?;
    if args.query.runs.iter().any(|run| input::is_stdin(run)) {
        let what = "a plan is of runs with stores; `tagq ingest - --store DIR` makes one";
        return Err(Usage(what.into()).into());
    }
    let pool = queries::pool(args.query.threads)?;
    let opened = queries::open_all(&args.query, &args.setup, question, &reporter)?;
    let contexts: Vec<QueryContext<'_>> =
        opened.iter().map(|(setup, _)| QueryContext::new(setup, &pool, &reporter)).collect();
    let runs: Vec<_> = opened.iter().map(|(_, run)| run).zip(&contexts).collect();
    let division = match args.part_tags {
        None => Division::Parts(args.parts),
        Some(tags) => Division::EveryTags(tags),
    };
    let plan = Plan::make(question, &runs, division)?;
    write(&to, plan.text()?.as_bytes(), &reporter)?;
    let last = plan.parts.len() - 1;
    reporter.note(&format!("{}: parts 0 to {last}", args.output.display()));
    Ok(())
}

/// Counts a part of a plan.
pub(crate) fn partial(args: &PartialArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.quiet);
    let index = args.index.map_or_else(index_of_array, Ok)?;
    let access = match args.io {
        Io::Map => Access::Mapped,
        Io::Read => Access::Copied,
    };
    let options =
        PartOptions { access, cache: args.cache.as_deref(), store: args.store.as_deref() };
    let count = || -> anyhow::Result<()> {
        let plan = Plan::read(&args.plan)?;
        let reads: Vec<_> = [&args.plan].into_iter().chain(&args.store).cloned().collect();
        // A job that runs twice changes nothing.
        let force = args.force || Parts::is_at(&args.output, &plan, index);
        let to = Destination { path: &args.output, force, reads: &reads };
        to.check()?;
        let pool = queries::pool(args.threads)?;
        let _waiting = reporter.counting("counting in", plan.tags_of(index));
        let counted = plan.count(index, options, &pool, &reporter)?;
        write(&to, &counted.to_bytes(), &reporter)
    };
    count().map_err(Retry::if_it_may_help)
}

/// Returns the number of the part that Slurm gave the job of an array.
fn index_of_array() -> Result<u32, Usage> {
    const NAME: &str = "SLURM_ARRAY_TASK_ID";
    let Some(text) = env::var_os(NAME) else {
        return Err(Usage(format!("the number of the part is missing: --index I, or ${NAME}")));
    };
    text.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Usage(format!("${NAME} is {}, and parts have the numbers 0, 1, 2, …", text.display()))
    })
}

/// Answers from the partial results of a plan, or adds them up.
pub(crate) fn merge(
    plan: &Path,
    parts: &[impl AsRef<Path>],
    args: &MergeArgs,
) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.store.quiet);
    if args.offset.is_some() || args.drift.is_some() || args.channels_b.is_some() {
        let options = "--offset, --drift and --channels-b are of the second of two runs";
        return Err(Usage(format!("{options}, and {} is a plan", plan.display())).into());
    }
    if args.store.is_given() {
        let options = "options that say how files are read are of runs";
        return Err(Usage(format!("{options}, and {} is a plan", plan.display())).into());
    }
    let reads: Vec<_> = args.inputs[..1].to_vec();
    let output = Output { args: &args.output, reads: &reads };
    report::check(output)?;
    let sum_to = args.partial.as_ref().map(|path| output.to(path));
    if let Some(to) = &sum_to {
        to.check()?;
    }
    let plan = Plan::read(plan)?;
    let mut sum = Parts::none(&plan);
    for path in parts {
        let path = path.as_ref();
        let named = || path.display().to_string();
        let bytes = fs::read(path).with_context(named)?;
        let part = Parts::from_bytes(&bytes).with_context(named)?;
        part.check(&plan).with_context(named)?;
        sum.add(part).with_context(named)?;
    }
    if let Some(to) = &sum_to {
        return write(to, &sum.to_bytes(), &reporter);
    }
    let pool = queries::pool(args.threads)?;
    let answers = if args.each {
        plan.answer_each(sum, &pool, &reporter)?
    } else {
        vec![plan.answer(sum, &pool, &reporter)?]
    };
    report::print(&answers, output, &reporter)
}

/// Writes a file that appears complete or not at all.
fn write(to: &Destination<'_>, bytes: &[u8], reporter: &Reporter) -> anyhow::Result<()> {
    let fresh = NewFile::create_beside_others(to, reporter)?;
    let mut file = fresh.file()?;
    file.write_all(bytes).with_context(|| to.path.display().to_string())?;
    Ok(fresh.keep(&file)?)
}
