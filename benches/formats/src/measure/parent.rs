//! Starts child processes, reads their peak memory, and compares their answers.

use std::{
    collections::BTreeMap,
    env, fs,
    io::Read as _,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use super::{Plan, child::Step};
use crate::{
    Compression, Result, Source,
    format::{Format, drop_pages},
};

/// What a child process is to measure.
#[derive(Clone)]
pub struct Job<'a> {
    /// The step.
    pub step: Step,
    /// The format or codec.
    pub name: String,
    /// The compression.
    pub compression: Compression,
    /// The tags.
    pub source: &'a Source,
    /// The file or folder of the format.
    pub path: std::path::PathBuf,
    /// How many look-ups or messages.
    pub count: usize,
    /// Whether the file is removed from the memory of the system before.
    pub cold: bool,
}

/// What child processes measured in each round.
#[derive(Debug, Default)]
pub struct Rounds {
    values: BTreeMap<String, Vec<f64>>,
}

impl Rounds {
    /// One name with its values.
    pub fn of(name: &str, values: Vec<f64>) -> Self {
        Self { values: BTreeMap::from([(name.to_owned(), values)]) }
    }

    /// Returns what was measured in each round, ascending.
    pub fn sorted(&self, name: &str) -> Vec<f64> {
        let mut values = self.values.get(name).cloned().unwrap_or_default();
        values.sort_by(f64::total_cmp);
        values
    }

    /// Returns the median.
    pub fn median(&self, name: &str) -> f64 {
        let values = self.sorted(name);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// Returns the smallest and the largest.
    pub fn spread(&self, name: &str) -> (f64, f64) {
        let values = self.sorted(name);
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        (end(values.first()), end(values.last()))
    }

    /// Returns the largest.
    pub fn max(&self, name: &str) -> f64 {
        self.spread(name).1
    }

    /// Returns all names with what was measured, in the order of the rounds.
    pub fn all(&self) -> impl Iterator<Item = (&str, &[f64])> {
        self.values.iter().map(|(name, values)| (&**name, &**values))
    }

    fn add(&mut self, name: &str, value: f64) {
        self.values.entry(name.to_owned()).or_default().push(value);
    }
}

impl<'a> Job<'a> {
    /// A step over the file of a format.
    pub fn of(
        plan: &'a Plan,
        step: Step,
        format: &dyn Format,
        compression: Compression,
    ) -> Job<'a> {
        Job {
            step,
            name: format.name().to_owned(),
            compression,
            source: &plan.source,
            path: plan.path(format, compression),
            count: 0,
            cold: false,
        }
    }

    /// The same, with the file removed from the memory of the system before.
    #[must_use]
    pub fn cold(self) -> Self {
        Self { cold: true, ..self }
    }
}

/// Answers by name: all child processes must agree.
#[derive(Debug, Default)]
pub struct Answers(BTreeMap<String, (String, String)>);

impl Answers {
    /// Takes an answer of a format.
    pub fn check(&mut self, name: &str, format: &str, answer: &str) -> Result<()> {
        let new = || (format.to_owned(), answer.to_owned());
        let (first, expected) = self.0.entry(name.to_owned()).or_insert_with(new);
        if answer == expected {
            return Ok(());
        }
        Err(format!("{name}: {format} gives {answer}, and {first} {expected}").into())
    }
}

/// Runs all jobs in turn, `runs` times.
pub fn in_turn(jobs: &[Job<'_>], runs: usize, answers: &mut Answers) -> Result<Vec<Rounds>> {
    let mut rounds: Vec<Rounds> = jobs.iter().map(|_| Rounds::default()).collect();
    for round in 1..=runs {
        for (job, rounds) in jobs.iter().zip(&mut rounds) {
            eprintln!("round {round}/{runs}: {:?} {} {}", job.step, job.name, job.compression);
            job.run(rounds, answers)?;
        }
    }
    Ok(rounds)
}

impl Job<'_> {
    /// Runs a child process, and adds what it measured.
    pub fn run(&self, rounds: &mut Rounds, answers: &mut Answers) -> Result<()> {
        if self.cold {
            drop_pages(&self.path)?;
        }
        let mut command = Command::new(env::current_exe()?);
        let step = clap::ValueEnum::to_possible_value(&self.step).ok_or("a hidden step")?;
        command.args(["child", step.get_name(), &self.name, &self.compression.to_string()]);
        command.arg(self.source.describe()).arg(&self.path).arg(self.count.to_string());
        let (printed, peak_mib, own_mib) = watch(&mut command)?;
        rounds.add("peak_mib", peak_mib);
        rounds.add("own_mib", own_mib);
        for line in printed.lines() {
            let mut words = line.splitn(3, ' ');
            match (words.next(), words.next(), words.next()) {
                (Some("value"), Some(name), Some(value)) => rounds.add(name, value.parse()?),
                (Some("answer"), Some(name), Some(answer)) => {
                    answers.check(name, &self.name, answer)?;
                }
                _ => return Err(format!("{}: unexpected output: {line}", self.name).into()),
            }
        }
        Ok(())
    }
}

/// Runs a program, and returns its output with its peak memory in MiB: all of it, and without pages of files. Both are
/// read at intervals, so short peaks of the second can be missed.
fn watch(command: &mut Command) -> Result<(String, f64, f64)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (mut peak_mib, mut own_mib) = (0.0_f64, 0.0_f64);
    let status = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak_mib = peak_mib.max(mib_of(&status, "VmHWM:"));
        own_mib = own_mib.max(mib_of(&status, "RssAnon:") + mib_of(&status, "RssShmem:"));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(Duration::from_millis(1));
    };
    let mut printed = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut printed)?;
    }
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok((printed, peak_mib, own_mib))
}

fn mib_of(status: &str, key: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
