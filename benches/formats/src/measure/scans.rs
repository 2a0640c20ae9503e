//! Scans of all tags, and the query of mapped rows against that of the store.

use super::{
    Plan, WINDOW,
    child::Step,
    parent::{Answers, Job, Rounds, in_turn},
};
use crate::{
    Compression, Result,
    format::{Access, Format},
    report::{Table, count, spread},
};

/// How labels of tagq's queries begin.
const QUERY: &str = "tagq-query";
/// Own memory that a query must not take.
const QUERY_MIB: f64 = 64.0;

/// Counts the tags of each channel and the pairs of all formats, from disk and from memory.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let mut answers = Answers::default();
    let mut jobs = Vec::new();
    let mut labels = Vec::new();
    for &format in &plan.formats {
        let Some(&compression) = format.compressions().measured.first() else { continue };
        ensure(plan, format, compression)?;
        let mut add = |step, label: &'static str| {
            let job = || Job::of(plan, step, format, compression);
            labels.push((format, compression, label));
            jobs.extend([job().cold(), job()]);
        };
        add(Step::Scan, if in_place(format) { "walk, in place" } else { "walk, decoded" });
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
    let mut table = Table::new("scans", caption);
    table.head(&["format", "how", "cold", "warm", "peak, MiB", "own memory, MiB"]);
    let mut mapped = Table::new("mapped", "32-byte rows through mmap against tagq's query".into());
    mapped.header.clone_from(&table.header);
    for ((format, compression, label), rounds) in labels.iter().zip(rounds.chunks(2)) {
        let [cold, warm] = rounds else { continue };
        table.raw_rounds(format.name(), *compression, &format!("{label}, cold"), cold);
        table.raw_rounds(format.name(), *compression, &format!("{label}, warm"), warm);
        let rate = |rounds: &Rounds| rate(plan, rounds);
        let most = |name| format!("{:.1}", cold.max(name).max(warm.max(name)));
        let row = vec![
            format.name().into(),
            (*label).into(),
            rate(cold),
            rate(warm),
            most("peak_mib"),
            most("own_mib"),
        ];
        let own_mib = cold.max("own_mib").max(warm.max("own_mib"));
        if label.starts_with(QUERY) && own_mib >= QUERY_MIB {
            return Err(format!("{label}: {own_mib} MiB of own memory").into());
        }
        if format.name() == "mmap32" || format.name().starts_with("store") {
            mapped.rows.push(row.clone());
        }
        table.rows.push(row);
    }
    Ok(vec![table, mapped])
}

/// Million rows a second.
fn rate(plan: &Plan, rounds: &Rounds) -> String {
    let rates = rounds.sorted("seconds").into_iter().rev();
    let rates = rates.map(|seconds| plan.source.tags as f64 / seconds / 1e6).collect::<Vec<_>>();
    spread(&Rounds::of("rate", rates), "rate", 1.0)
}

fn in_place(format: &dyn Format) -> bool {
    matches!(format.access(), Access::InPlace(_))
}

/// Writes the file of a format, if no other part has written it.
pub fn ensure(plan: &Plan, format: &dyn Format, compression: Compression) -> Result<()> {
    if plan.path(format, compression).exists() {
        return Ok(());
    }
    eprintln!("writing {} {compression}", format.name());
    let job = Job::of(plan, Step::Write, format, compression);
    job.run(&mut Rounds::default(), &mut Answers::default())
}
