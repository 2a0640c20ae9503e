//! Rows a second: a pass over packed rows, and the query over the store.

use super::{
    Plan, WINDOW,
    child::Step,
    parent::{Answers, Job, Rounds, in_turn},
};
use crate::{
    Compression, Result,
    format::Format,
    report::{Table, count, spread},
};

/// How labels of tagq's queries begin.
const QUERY: &str = "tagq-query";
/// Own memory that a query must not take.
const QUERY_MIB: f64 = 64.0;

/// Counts the tags of each channel and the pairs of packed rows and of the store, from disk and from memory.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let mut answers = Answers::default();
    let mut jobs = Vec::new();
    let mut labels = Vec::new();
    let is_packed = |format: &&&dyn Format| {
        ["rows9", "mmap32"].contains(&format.name()) || format.name().starts_with("store")
    };
    for &format in plan.formats.iter().filter(is_packed) {
        ensure(plan, format)?;
        let mut add = |step, label: &'static str| {
            let job = || Job::of(plan, step, format, Compression::None);
            labels.push((format, label));
            jobs.extend([job().cold(), job()]);
        };
        add(Step::Scan, "walk, in place");
        if format.name().starts_with("store") {
            add(Step::QueryOne, "tagq-query, one thread");
            add(Step::QueryAll, "tagq-query, all cores");
        }
    }
    let rounds = in_turn(&jobs, plan.runs, &mut answers)?;
    let caption = format!(
        "Tags of each channel, and pairs of different channels within {WINDOW} ticks (2 ns), of {} tags; million rows a second",
        count(plan.source.tags)
    );
    let mut table = Table::new("rows", caption);
    table.head(&["format", "how", "cold", "warm", "peak, MiB", "own memory, MiB"]);
    for ((format, label), rounds) in labels.iter().zip(rounds.chunks(2)) {
        let [cold, warm] = rounds else { continue };
        table.raw_rounds(format.name(), Compression::None, &format!("{label}, cold"), cold);
        table.raw_rounds(format.name(), Compression::None, &format!("{label}, warm"), warm);
        let most = |name| cold.max(name).max(warm.max(name));
        if label.starts_with(QUERY) && most("own_mib") >= QUERY_MIB {
            return Err(format!("{label}: {} MiB of own memory", most("own_mib")).into());
        }
        table.rows.push(vec![
            format.name().into(),
            (*label).into(),
            rate(plan, cold),
            rate(plan, warm),
            format!("{:.1}", most("peak_mib")),
            format!("{:.1}", most("own_mib")),
        ]);
    }
    Ok(vec![table])
}

/// Million rows a second.
fn rate(plan: &Plan, rounds: &Rounds) -> String {
    let rates = rounds.sorted("seconds").into_iter().rev();
    let rates = rates.map(|seconds| plan.source.tags as f64 / seconds / 1e6).collect::<Vec<_>>();
    spread(&Rounds::of("rate", rates), "rate", 1.0)
}

/// Writes the uncompressed file of a format, if no other part has written it.
pub fn ensure(plan: &Plan, format: &dyn Format) -> Result<()> {
    if plan.path(format, Compression::None).exists() {
        return Ok(());
    }
    eprintln!("writing {}", format.name());
    let job = Job::of(plan, Step::Write, format, Compression::None);
    job.run(&mut Rounds::default(), &mut Answers::default())
}
