//! Random look-ups of times, from four threads.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use tagq_store::Tag;

use super::{
    Plan,
    child::{Measured, Step, Task},
    parent::{Answers, Job, in_turn},
};
use crate::{
    Compression, Result, Source,
    format::{Access, Format, Rows},
    report::{Table, count, spread},
};

const THREADS: usize = 4;
/// Look-ups after which a thread looks at the clock.
const PIECE: usize = 100;
/// Formats that decode a block for each look-up stop after this time.
const LONGEST: Duration = Duration::from_secs(5);

/// Looks times up in each format that allows it, with the file on disk alone, and in memory.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let (opened, refused): (Vec<_>, Vec<_>) = plan
        .formats
        .iter()
        .copied()
        .partition(|format| !matches!(format.access(), Access::Refused(_)));
    let mut answers = Answers::default();
    let mut jobs = Vec::new();
    for &format in &opened {
        super::rows::ensure(plan, format)?;
        let job = || Job {
            count: plan.lookups,
            ..Job::of(plan, Step::Lookups, format, Compression::None)
        };
        jobs.extend([job().cold(), job()]);
    }
    let rounds = in_turn(&jobs, plan.runs, &mut answers)?;
    let caption = format!(
        "The first tag at or after a random time, in {} tags: {} look-ups from {THREADS} threads, or as many as {} s allow",
        count(plan.source.tags),
        count(plan.lookups as u64),
        LONGEST.as_secs()
    );
    let mut table = Table::new("lookups", caption);
    table.head(&[
        "format",
        "first answer, cold, ms",
        "first answer, warm, ms",
        "cold, thousand/s",
        "warm, thousand/s",
        "how",
    ]);
    for (format, rounds) in opened.iter().zip(rounds.chunks(2)) {
        let [cold, warm] = rounds else { continue };
        table.raw_rounds(format.name(), Compression::None, "lookups, cold", cold);
        table.raw_rounds(format.name(), Compression::None, "lookups, warm", warm);
        let how = match format.access() {
            Access::InPlace(how) | Access::ByBlock(how) | Access::Refused(how) => how,
        };
        table.rows.push(vec![
            format.name().into(),
            spread(cold, "first_s", 1e3),
            spread(warm, "first_s", 1e3),
            spread(cold, "per_s", 1e-3),
            spread(warm, "per_s", 1e-3),
            how.into(),
        ]);
    }
    for format in refused {
        let Access::Refused(reason) = format.access() else { continue };
        let dash = || "–".to_owned();
        table.rows.push(vec![format.name().into(), dash(), dash(), dash(), dash(), reason.into()]);
    }
    Ok(vec![table])
}

/// Opens a file, answers once, and then from all threads.
pub fn run(format: &dyn Format, task: &Task) -> Result<Measured> {
    let times = times(&task.source, task.count);
    let start = Instant::now();
    let rows = format.open(&task.path)?;
    let first = rows.first_at(*times.first().ok_or("no look-ups")?)?;
    let first_s = start.elapsed().as_secs_f64();
    let done = AtomicU64::new(0);
    let start = Instant::now();
    let parts: Vec<&[i64]> = times.chunks(times.len().div_ceil(THREADS)).collect();
    let sums = thread::scope(|scope| -> Result<Vec<(u64, u64)>> {
        let of_part = |&part| {
            let (rows, done) = (&*rows, &done);
            scope.spawn(move || look_up(rows, part, start, done))
        };
        let threads: Vec<_> = parts.iter().map(of_part).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread of look-ups failed")?)
            .collect()
    })?;
    let seconds = start.elapsed().as_secs_f64();
    let done = done.into_inner();
    let mut measured = Measured::value("first_s", first_s);
    measured.values.push(("seconds".into(), seconds));
    measured.values.push(("done".into(), done as f64));
    measured.values.push(("per_s".into(), done as f64 / seconds));
    let begun = sums.iter().fold(sum_of(first), |sum, (begun, _)| sum.wrapping_add(*begun));
    let measured = measured.with_answer("first look-ups", begun.to_string());
    if done < times.len() as u64 {
        return Ok(measured);
    }
    let all = sums.iter().fold(0_u64, |sum, (_, all)| sum.wrapping_add(*all));
    Ok(measured.with_answer("all look-ups", all.to_string()))
}

/// Looks up until the clock says stop; returns the sums of the answers to the first piece and to all.
fn look_up(rows: &dyn Rows, times: &[i64], start: Instant, done: &AtomicU64) -> Result<(u64, u64)> {
    let (mut begun, mut all) = (None, 0_u64);
    for piece in times.chunks(PIECE) {
        rows.find(piece, &mut |tag| all = all.wrapping_add(sum_of(tag)))?;
        begun.get_or_insert(all);
        done.fetch_add(piece.len() as u64, Ordering::Relaxed);
        if start.elapsed() > LONGEST {
            break;
        }
    }
    Ok((begun.unwrap_or(0), all))
}

fn sum_of(tag: Option<Tag>) -> u64 {
    tag.map_or(1, |tag| crate::source::sum_of(&[tag]))
}

/// Returns times between the first and the last tag, always the same.
fn times(source: &Source, count: usize) -> Vec<i64> {
    let (first, last) = source.span;
    let span = u128::from(last.abs_diff(first)) + 1;
    let mut state = 1_u64;
    let mut next = || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let time = |part: u64| {
        let ticks = (u128::from(part) * span) >> 64;
        first.wrapping_add_unsigned(u64::try_from(ticks).unwrap_or(0))
    };
    (0..count).map(|_| time(next())).collect()
}
