//! Steps over whole files.

use std::{fs::File, io::Read as _, time::Instant};

use super::{
    WINDOW,
    child::{Measured, Task},
};
use crate::{
    Result,
    format::Format,
    source::sum_of,
    suspend::Suspended,
    walk::{Counts, Walk},
};

/// Writes all tags. The time does not include reading them.
pub fn write(format: &dyn Format, task: &Task) -> Result<Measured> {
    let mut tags = task.source.read()?;
    let start = Instant::now();
    format.write(&task.path, task.compression, &mut tags)?;
    let taken = start.elapsed().saturating_sub(tags.taken());
    Ok(Measured::value("seconds", taken.as_secs_f64()))
}

/// Reads a stream of varints in pieces, and goes on from a copy of the state after each.
pub fn suspend(task: &Task, piece: usize) -> Result<Measured> {
    let (mut count, mut sum) = (0_u64, 0_u64);
    let mut bytes = vec![0; piece << 10];
    let mut saved = Suspended::default();
    let start = Instant::now();
    let mut file = File::open(&task.path)?;
    loop {
        let len = file.read(&mut bytes)?;
        if len == 0 {
            break;
        }
        for piece in bytes[..len].chunks(piece) {
            let mut resumed = saved;
            resumed.push(piece, |tag| {
                count += 1;
                sum = sum.wrapping_add(sum_of(&[tag]));
            })?;
            saved = std::hint::black_box(resumed);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    if !saved.is_between_messages() {
        return Err("the last message is torn".into());
    }
    let mut measured = Measured::value("seconds", seconds);
    measured.values.push(("state".into(), size_of::<Suspended>() as f64));
    Ok(measured.with_answer("tags", format!("{count},{sum}")))
}

/// Counts all tags by a plain walk in place.
pub fn scan(format: &dyn Format, task: &Task) -> Result<Measured> {
    let mut walk = Walk::new(WINDOW);
    let start = Instant::now();
    format.open(&task.path)?.scan(&mut walk)?;
    let counts = walk.finish();
    let seconds = start.elapsed().as_secs_f64();
    Ok(answer(seconds, &counts))
}

/// Counts by the format's own query, on one thread or, for 0, on one for each core.
pub fn query(format: &dyn Format, task: &Task, threads: usize) -> Result<Measured> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let start = Instant::now();
    let rows = format.open(&task.path)?;
    let counts = pool.install(|| rows.query(WINDOW)).ok_or("no query")??;
    let seconds = start.elapsed().as_secs_f64();
    Ok(answer(seconds, &counts))
}

fn answer(seconds: f64, counts: &Counts) -> Measured {
    let singles = counts.singles.iter().enumerate().filter(|&(_, &count)| count > 0);
    let singles: Vec<String> =
        singles.map(|(channel, count)| format!("{channel}:{count}")).collect();
    let answer = format!("{} pairs, {}", counts.pairs, singles.join(","));
    Measured::value("seconds", seconds).with_answer("counts", answer)
}
