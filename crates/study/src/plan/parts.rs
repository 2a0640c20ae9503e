//! Partial results: the counts of some of the parts of a plan (docs/partials.md, "Partial results of a plan").
//!
//! If a plan of 11 parts has the results 1, 5, 6 and 8, those of `0,2-4,7,9-10` are missing, as `sbatch` takes them. A
//! part that is there already is refused, so that nothing counts twice; equal parts have equal bytes.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, File},
    io::Read as _,
    path::Path,
};

use tagq_query::PartCounts;
use tagq_store::sealed::{self, Reader, Unsealed, put_len, put_text};

use super::file::{Part, Plan};

use crate::error::Error;

/// The first eight bytes. Part of a released format: never changed.
const MAGIC: [u8; 8] = *b"TAGQSUMS";
/// The version written. Part of a released format: never changed.
const VERSION: u32 = 3;

/// The counts of some of the parts of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The hash of the plan.
    plan: String,
    /// The numbers of the parts, each with its interval as the plan has it.
    numbers: BTreeMap<u32, Interval>,
    /// The counts by number of the run.
    runs: BTreeMap<u32, PartCounts>,
}

/// The number of a run, and an interval of delayed time.
type Interval = (u32, Option<i64>, Option<i64>);

impl Parts {
    /// Returns the counts of one part of `plan`.
    pub(super) fn of(plan: &Plan, part: u32, counts: PartCounts) -> Self {
        let interval = interval_of(plan, part);
        let run = interval.map_or(0, |(run, ..)| run);
        Self {
            plan: plan.hash.clone(),
            numbers: interval.map(|interval| (part, interval)).into_iter().collect(),
            runs: BTreeMap::from([(run, counts)]),
        }
    }

    /// Returns the counts of a part that are kept under `identity` in place of the hash of a plan.
    pub(super) fn kept(identity: &str, Part { from, to, .. }: Part, counts: &PartCounts) -> Self {
        Self {
            plan: identity.into(),
            numbers: BTreeMap::from([(0, (0, from, to))]),
            runs: BTreeMap::from([(0, counts.clone())]),
        }
    }

    /// Returns the counts of a part that were kept under `identity`; `None` if they are of another part.
    pub(super) fn of_kept(
        mut self,
        identity: &str,
        Part { from, to, .. }: Part,
    ) -> Option<PartCounts> {
        let is_it = self.plan == identity && self.numbers == BTreeMap::from([(0, (0, from, to))]);
        self.runs.remove(&0).filter(|_| is_it && self.runs.is_empty())
    }

    /// Whether it was kept under `identity`.
    pub(super) fn is_kept(&self, identity: &str) -> bool {
        self.plan == identity && self.runs.keys().eq([&0])
    }

    /// Returns the result of no part of `plan` yet, to which parts are added.
    pub fn none(plan: &Plan) -> Self {
        Self { plan: plan.hash.clone(), numbers: BTreeMap::new(), runs: BTreeMap::new() }
    }

    /// Whether the file at `path` is the partial result of this one part of `plan`.
    pub fn is_at(path: &Path, plan: &Plan, part: u32) -> bool {
        let mut magic = [0; MAGIC.len()];
        let is_partial = path.is_file()
            && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
            && magic == MAGIC;
        let parts = || Self::from_bytes(&fs::read(path).ok()?).ok();
        is_partial
            && parts().is_some_and(|parts| parts.check(plan).is_ok() && parts.numbers().eq([part]))
    }

    /// Adds other parts, in any order. After an error nothing has been added, unless a sum did not fit.
    ///
    /// # Errors
    /// [`Error::Parts`] for parts of another plan, and for parts that are there already.
    pub fn add(&mut self, other: Self) -> Result<(), Error> {
        if self.plan != other.plan {
            return Err(Error::Parts {
                reason: format!("they are of plan {}, not of plan {}", other.plan, self.plan),
            });
        }
        let twice: Vec<u32> =
            other.numbers.keys().copied().filter(|part| self.numbers.contains_key(part)).collect();
        if !twice.is_empty() {
            let reason = format!("part {} is there already", ranges(&twice));
            return Err(Error::Parts { reason });
        }
        self.numbers.extend(other.numbers);
        for (run, counts) in other.runs {
            self.runs.entry(run).or_default().add(counts)?;
        }
        Ok(())
    }

    /// Returns the numbers of the parts.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.numbers.keys().copied()
    }

    /// Returns the parts of `plan` that are not among these, as `sbatch --array=` takes them; `None` if there are
    /// none.
    pub fn missing(&self, plan: &Plan) -> Option<String> {
        let numbers = (0_u32..).take(plan.parts.len());
        let missing: Vec<u32> = numbers.filter(|part| !self.numbers.contains_key(part)).collect();
        (!missing.is_empty()).then(|| ranges(&missing))
    }

    /// Returns the counts of each run of `plan`, of which these must be all parts.
    pub(super) fn of_runs(self, plan: &Plan) -> Result<BTreeMap<usize, PartCounts>, Error> {
        self.check(plan)?;
        if let Some(missing) = self.missing(plan) {
            return Err(Error::PartsMissing { missing });
        }
        Ok(self.runs.into_iter().map(|(run, counts)| (run as usize, counts)).collect())
    }

    /// Rejects parts that are not of `plan`.
    ///
    /// # Errors
    /// [`Error::Parts`].
    pub fn check(&self, plan: &Plan) -> Result<(), Error> {
        if self.plan != plan.hash {
            let reason = format!("it is of plan {}, and this is plan {}", self.plan, plan.hash);
            return Err(Error::Parts { reason });
        }
        let is_of_plan =
            |(&part, &interval): (&u32, &Interval)| interval_of(plan, part) == Some(interval);
        let is_of_run = |run: &u32| (*run as usize) < plan.runs.len();
        if !self.numbers.iter().all(is_of_plan) || !self.runs.keys().all(is_of_run) {
            let reason = "it has another interval than the plan".into();
            return Err(Error::Parts { reason });
        }
        Ok(())
    }

    /// Returns the serialised form: equal parts give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = sealed::begin(MAGIC, VERSION);
        put_text(&mut out, &self.plan);
        put_text(&mut out, env!("CARGO_PKG_VERSION"));
        put_len(&mut out, self.numbers.len());
        for (part, (run, from, to)) in &self.numbers {
            out.extend(part.to_le_bytes());
            out.extend(run.to_le_bytes());
            out.push(u8::from(from.is_some()) | u8::from(to.is_some()) << 1);
            out.extend(from.unwrap_or(0).to_le_bytes());
            out.extend(to.unwrap_or(0).to_le_bytes());
        }
        put_len(&mut out, self.runs.len());
        for (run, counts) in &self.runs {
            let counts = counts.to_bytes();
            out.extend(run.to_le_bytes());
            put_len(&mut out, counts.len());
            out.extend(counts);
        }
        sealed::seal(out)
    }

    /// Parses the serialised form. Rejects all other bytes.
    ///
    /// # Errors
    /// [`Error::Parts`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let input = sealed::open(bytes, MAGIC, VERSION).map_err(|unsealed| match unsealed {
            Unsealed::Foreign => damaged("it is no partial result of tagq"),
            Unsealed::Version(version) => {
                Error::Parts { reason: format!("it has version {version}, not {VERSION}") }
            }
            Unsealed::Damaged => {
                damaged("it is damaged or not complete: its checksum is another one")
            }
        })?;
        let mut input = Input(input);
        let plan = input.text()?.to_owned();
        let made = input.text()?;
        if made != env!("CARGO_PKG_VERSION") {
            let reason = format!(
                "it was counted by tagq {made}, this is tagq {}; count it again",
                env!("CARGO_PKG_VERSION")
            );
            return Err(Error::Parts { reason });
        }
        let mut numbers = BTreeMap::new();
        for _ in 0..input.len()? {
            let [part, run] = [input.u32()?, input.u32()?];
            let [has] = input.array()?;
            let [from, to] = [input.i64()?, input.i64()?];
            let end = |bit: u8, time: i64| (has & bit != 0).then_some(time);
            let is_plain = has <= 3 && (has & 1 != 0 || from == 0) && (has & 2 != 0 || to == 0);
            if !is_plain || numbers.last_key_value().is_some_and(|(&last, _)| last >= part) {
                return Err(damaged("its intervals are damaged"));
            }
            numbers.insert(part, (run, end(1, from), end(2, to)));
        }
        let mut runs = BTreeMap::new();
        for _ in 0..input.len()? {
            let run = input.u32()?;
            let counts = PartCounts::from_bytes(input.sized()?)?;
            if runs.last_key_value().is_some_and(|(&last, _)| last >= run) {
                return Err(damaged("its runs are damaged"));
            }
            runs.insert(run, counts);
        }
        if !input.0.is_at_end() {
            return Err(damaged("it is longer than it says"));
        }
        Ok(Self { plan, numbers, runs })
    }
}

fn interval_of(plan: &Plan, part: u32) -> Option<Interval> {
    let part = plan.parts.get(part as usize)?;
    Some((u32::try_from(part.run).ok()?, part.from, part.to))
}

/// Formats ascending numbers with ranges: `0,3-5,9`.
fn ranges(numbers: &[u32]) -> String {
    let mut text = String::new();
    for range in numbers.chunk_by(|a, b| a + 1 == *b) {
        let (first, last) = (range[0], range[range.len() - 1]);
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a text cannot fail.
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    }
    text
}

fn damaged(reason: &str) -> Error {
    Error::Parts { reason: reason.into() }
}

/// Bytes that are left to read.
struct Input<'a>(Reader<'a>);

impl<'a> Input<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.0.array().ok_or_else(torn)
    }

    fn u32(&mut self) -> Result<u32, Error> {
        self.0.u32().ok_or_else(torn)
    }

    fn i64(&mut self) -> Result<i64, Error> {
        self.0.i64().ok_or_else(torn)
    }

    fn len(&mut self) -> Result<usize, Error> {
        self.0.len(1).ok_or_else(torn)
    }

    fn sized(&mut self) -> Result<&'a [u8], Error> {
        self.0.sized().ok_or_else(torn)
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        self.0.text().ok_or_else(|| damaged("one of its texts is not UTF-8"))
    }
}

fn torn() -> Error {
    damaged("it is not complete")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[0, 2, 3, 4, 7, 9, 10]), "0,2-4,7,9-10");
    }
}
