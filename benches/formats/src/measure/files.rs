//! Writing and reading whole files, with peak memory.

use super::{
    Plan,
    child::Step,
    parent::{Answers, Job, Rounds},
};
use crate::{
    Compression, Result,
    format::{Format, len_bytes, remove},
    report::{Table, count, spread},
};

/// Writes and reads the file of each format and compression, in turn.
pub fn measure(plan: &Plan) -> Result<Vec<Table>> {
    let mut answers = Answers::default();
    answers.check("tags", "the source", &format!("{},{}", plan.source.tags, plan.source.sum))?;
    let mut cases: Vec<Case> = Vec::new();
    for &format in &plan.formats {
        let timed =
            format.compressions().measured.iter().filter(|compression| !compression.is_slow());
        cases.extend(timed.map(|&compression| Case::new(format, compression)));
    }
    for round in 1..=plan.runs {
        for case in &mut cases {
            eprintln!(
                "round {round}/{}: files {} {}",
                plan.runs,
                case.format.name(),
                case.compression
            );
            case.run(plan, &mut answers)?;
        }
    }
    let mut files =
        Table::new("files", format!("Write and read a file of {} tags", count(plan.source.tags)));
    files.shown = Some("median (least–most), memory: most");
    files.head(&[
        "format",
        "compression",
        "B/tag",
        "write, s",
        "write, MiB",
        "read, s",
        "read, MiB",
    ]);
    for case in &cases {
        let Case { format, compression, write, read, bytes } = case;
        files.raw_rounds(format.name(), *compression, "write", write);
        files.raw_rounds(format.name(), *compression, "read", read);
        files.rows.push(vec![
            format.name().into(),
            compression.to_string(),
            format!("{:.2}", *bytes as f64 / plan.source.tags as f64),
            spread(write, "seconds", 1.0),
            format!("{:.0}", write.max("peak_mib")),
            spread(read, "seconds", 1.0),
            format!("{:.0}", read.max("peak_mib")),
        ]);
    }
    Ok(vec![files, streaming(plan, &cases, &mut answers)?])
}

/// A format with a compression, and what was measured.
struct Case {
    format: &'static dyn Format,
    compression: Compression,
    write: Rounds,
    read: Rounds,
    bytes: u64,
}

impl Case {
    fn new(format: &'static dyn Format, compression: Compression) -> Self {
        let (write, read) = (Rounds::default(), Rounds::default());
        Self { format, compression, write, read, bytes: 0 }
    }

    fn run(&mut self, plan: &Plan, answers: &mut Answers) -> Result<()> {
        let job = |step| Job::of(plan, step, self.format, self.compression);
        let path = plan.path(self.format, self.compression);
        remove(&path)?;
        job(Step::Write).run(&mut self.write, answers)?;
        self.bytes = len_bytes(&path)?;
        job(Step::Read).run(&mut self.read, answers)?;
        // Uncompressed files are kept for look-ups and scans.
        if self.compression != Compression::None {
            remove(&path)?;
        }
        Ok(())
    }
}

/// Which formats stream, and with how much memory.
fn streaming(plan: &Plan, cases: &[Case], answers: &mut Answers) -> Result<Table> {
    let caption = "Own memory (without pages of files) of a stream, in MiB, and where it can pause";
    let mut table = Table::new("streaming", caption.into());
    table.shown = Some("most");
    table.head(&["format", "write", "read", "can pause"]);
    let mut seen: Vec<&str> = Vec::new();
    for case in cases {
        let name = case.format.name();
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let own = |rounds: &Rounds| format!("{:.1}", rounds.max("own_mib"));
        table.rows.push(vec![
            name.into(),
            own(&case.write),
            own(&case.read),
            case.format.pause().into(),
        ]);
        if name == "varint" {
            for (step, pieces) in
                [(Step::SuspendBytes, "1 byte"), (Step::SuspendPieces, "4,093 bytes")]
            {
                let mut rounds = Rounds::default();
                eprintln!("streaming: varint, suspended after every {pieces}");
                Job::of(plan, step, case.format, case.compression).run(&mut rounds, answers)?;
                table.raw_rounds(name, case.compression, &format!("suspend, {pieces}"), &rounds);
                table.rows.push(vec![
                    "varint".into(),
                    "–".into(),
                    own(&rounds),
                    format!(
                        "was suspended and resumed after every {pieces}; the state is {:.0} bytes; {:.2} s",
                        rounds.median("state"),
                        rounds.median("seconds")
                    ),
                ]);
            }
        }
    }
    Ok(table)
}
