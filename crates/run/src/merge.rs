//! Merges recordings of the same time into one run.
//!
//! With an offset of 100 ticks and a drift of 2 ppm, the time 1,000,000 of the second run becomes 1,000,102. Times are
//! calculated as exact fractions and rounded down once, so that they stay in order.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use num_rational::Ratio;
use num_traits::{CheckedAdd as _, CheckedMul as _};
use tagq_store::{Channels, Duration, MicroColumn, Recording, SourceFacts, Tick, TimeReader};

use crate::{
    Run,
    counted::are,
    counted::counted,
    error::{Error, RequestError},
    new_store::NewStore,
    new_store::micro_of,
    options::OpenOptions,
    progress::Progress,
    recorded::Recorded,
};

/// Rows that are appended to the new store at once.
const CHUNK_ROWS: usize = 65_536;
const MILLION: i128 = 1_000_000;
const DRIFT_DIGITS_MAX: usize = 9;

/// How the times and channels of a run become those of the first.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// Added to the times of the run.
    pub offset: Duration,
    /// Times of the run are multiplied by 1 + drift before the offset is added.
    pub drift: Drift,
    /// Added to the channels of the run.
    pub channels: i32,
}

/// The relative deviation of two clocks: an exact number of parts per million.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drift(Ratio<i128>);

impl std::str::FromStr for Drift {
    type Err = String;

    /// Reads a decimal number of parts per million.
    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is not a number of parts per million, such as -0.35");
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => (-1, digits),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        let is_number = !all.is_empty() && all.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || fraction.len() > DRIFT_DIGITS_MAX || whole.len() > DRIFT_DIGITS_MAX {
            return Err(malformed());
        }
        let scale = fraction.bytes().fold(1_i128, |scale, _| scale * 10);
        let drift = Ratio::new(sign * all.parse::<i128>().map_err(|_| malformed())?, scale);
        if drift <= Ratio::from_integer(-MILLION) {
            return Err(format!(
                "a drift of `{text}` parts per million stops or reverses the time"
            ));
        }
        Ok(Self(drift))
    }
}

/// A merged run.
#[derive(Debug)]
pub struct Merged {
    /// The new run.
    pub run: Run,
    /// The first and the last time in ticks between which all runs recorded, if there is such a time.
    pub overlap: Option<(i64, i64)>,
}

/// Merges runs of one clock, or of clocks that `others` aligns, into the new store `out`: the tags of all in order of
/// time, of equal times those of earlier runs first, as one source. Times are in the tick of `first`. Tags of one run
/// in the dead time of another are left out, so that counts, rates and coincidences are those of the time in which all
/// recorded.
///
/// # Errors
/// [`Error::Request`] if a run has several sources with tags, if two runs use a channel, if a run overlaps in time with
/// no other one, or if micro times have different units; [`Error::StoreThere`]; errors of the disk.
pub fn merge(
    first: &Run,
    others: &[(&Run, Alignment)],
    out: &Path,
    progress: &dyn Progress,
) -> Result<Merged, Error> {
    let parts = aligned(first, others)?;
    let overlap = overlap(&parts)?;
    let micro_tick = micro_tick(&parts)?;
    let mut new = NewStore::create(Some(out), Some(tick_of(first)))?;
    if let Some(tick) = micro_tick {
        new.set_micro_tick(tick)?;
    }
    let skipped = guarded(&parts, &mut || append_all(&parts, &mut new))?;
    let facts =
        SourceFacts { recording: Some(recording(&parts, others)), ..SourceFacts::named("merged") };
    note_lost(&parts, &skipped, progress);
    let run = new.finish_as(facts, &OpenOptions::default())?;
    if let Some((from, to)) = overlap {
        let tick = tick_of(first);
        progress.note(&format!(
            "{} runs recorded for {}; `from` {} and `to` {} select this part",
            if others.len() == 1 { "both" } else { "all" },
            tick.format(i128::from(to) - i128::from(from)),
            tick.format_paste(from),
            tick.format_paste(to),
        ));
    }
    Ok(Merged { run, overlap })
}

/// Returns the facts about the merged run.
fn recording(parts: &[AlignedRun<'_>], others: &[(&Run, Alignment)]) -> Recording {
    let mut merged =
        Recording { format: "merged".into(), channel_names: names(parts), ..Recording::default() };
    for part in parts {
        merged.facts.push((part.name.clone(), part.run.path().display().to_string()));
    }
    for (part, (_, alignment)) in parts.iter().skip(1).zip(others) {
        let of = |what: &str| format!("{}: {what}", part.name);
        merged.facts.push((of("offset"), alignment.offset.asked().to_owned()));
        merged.facts.push((of("drift"), format!("{} ppm", alignment.drift.0)));
    }
    for AlignedRun { name, described: Recorded { recording, .. }, .. } in parts {
        let of = |what: &String| format!("{name}: {what}");
        merged.facts.extend(recording.facts.iter().map(|(what, value)| (of(what), value.clone())));
        merged.left_out.extend(recording.left_out.iter().map(|(what, count)| (of(what), *count)));
    }
    merged.set_dead(parts.iter().flat_map(|part| &part.dead).copied());
    merged
}

/// Notes what the merged run does not hold.
fn note_lost(parts: &[AlignedRun<'_>], skipped: &[u64], progress: &dyn Progress) {
    for (part, &skipped) in parts.iter().zip(skipped).filter(|(_, skipped)| **skipped > 0) {
        progress.note(&format!(
            "{} of {} {} left out: another run recorded nothing then",
            counted(skipped, "tag"),
            part.name,
            are(skipped)
        ));
    }
    for AlignedRun { name, described: Recorded { recording, lost }, .. } in parts {
        let pulses = recording.pulses.map(|_| "the sync pulses");
        for what in lost.iter().copied().chain(pulses) {
            progress.note(&format!("the merged run does not hold {what} of {name}"));
        }
    }
}

fn tick_of(run: &Run) -> Tick {
    run.store().manifest().tick
}

fn micro_tick(parts: &[AlignedRun<'_>]) -> Result<Option<Tick>, Error> {
    let mut found: Option<(Tick, &str)> = None;
    for AlignedRun { run, name, .. } in parts {
        match (found, run.store().manifest().micro_tick) {
            (Some((of_a, a)), Some(of_b)) if of_a != of_b => {
                return Err(RequestError::Runs(format!(
                    "micro times are in units of {of_a} in {a} and of {of_b} in {name}"
                ))
                .into());
            }
            (None, Some(tick)) => found = Some((tick, name)),
            _ => {}
        }
    }
    Ok(found.map(|(tick, _)| tick))
}

/// A run in the times and channels of the first one.
struct AlignedRun<'a> {
    run: &'a Run,
    /// The run in messages.
    name: String,
    moved: Option<Moved>,
    channels: i32,
    described: Recorded,
    /// The dead time in ticks of the first run.
    dead: Vec<(i64, i64)>,
}

/// How times become those of the first run.
struct Moved {
    factor: Ratio<i128>,
    offset: Ratio<i128>,
}

impl Moved {
    fn new(first: &Run, run: &Run, alignment: &Alignment) -> Result<Self, Error> {
        let drift = Ratio::from_integer(1) + alignment.drift.0 / MILLION;
        let factor =
            tick_of(run).in_ticks(tick_of(first)).and_then(|ticks| ticks.checked_mul(&drift));
        let factor = factor.ok_or_else(|| {
            RequestError::Runs("the ticks of the runs and the drift have no common unit".into())
        })?;
        // Exact: only the moved time is rounded.
        let (numerator, denominator) = alignment.offset.fraction(tick_of(first))?;
        Ok(Self { factor, offset: Ratio::new(numerator, denominator) })
    }

    /// Returns a time in ticks of the first run, rounded down; `None` if it leaves 64 bits.
    fn time(&self, time: i64) -> Option<i64> {
        let moved = Ratio::from_integer(time.into()).checked_mul(&self.factor)?;
        i64::try_from(moved.checked_add(&self.offset)?.floor().to_integer()).ok()
    }
}

/// Returns the runs as parts of the merged one. Their channels differ.
fn aligned<'a>(
    first: &'a Run,
    others: &[(&'a Run, Alignment)],
) -> Result<Vec<AlignedRun<'a>>, Error> {
    let runs = [(first, None)].into_iter();
    let runs = runs.chain(others.iter().map(|(run, alignment)| (*run, Some(alignment))));
    let (mut parts, mut used) = (Vec::new(), HashMap::new());
    for (number, (run, alignment)) in (1..).zip(runs) {
        let name = format!("run {number}");
        run.check_tags()?;
        check_sources(run, &name)?;
        let moved = alignment.map(|alignment| Moved::new(first, run, alignment)).transpose()?;
        let channels = alignment.map_or(0, |alignment| alignment.channels);
        let described = Recorded::of(run);
        let mut part = AlignedRun { run, name, moved, channels, described, dead: Vec::new() };
        let dead = part.described.recording.dead.iter();
        part.dead = dead
            .map(|&(from, to)| Ok((part.time(from)?, part.time(to)?)))
            .collect::<Result<_, Error>>()?;
        for rows in &run.store().manifest().channels {
            let channel = part.channel(rows.channel)?;
            if let Some(other) = used.insert(channel, number) {
                return Err(RequestError::options(&["channels_b"], format!(
                    "run {other} and {} have tags on channel {channel}; of two runs, `channels_b` adds a \
                     number to the channels of the second",
                    part.name
                )).into());
            }
        }
        parts.push(part);
    }
    Ok(parts)
}

fn check_sources(run: &Run, name: &str) -> Result<(), Error> {
    let sources = &run.store().manifest().sources;
    match sources.iter().filter(|source| source.rows > 0).count() {
        0 => Err(RequestError::Runs(format!("{name} has no tags")).into()),
        1 => Ok(()),
        several => Err(RequestError::Runs(format!(
            "{name} has {several} sources; merge runs of one source each"
        ))
        .into()),
    }
}

impl AlignedRun<'_> {
    fn channel(&self, channel: u16) -> Result<u16, RequestError> {
        u16::try_from(i32::from(channel) + self.channels).map_err(|_| {
            RequestError::Runs(format!("channel {channel} of {} leaves 0 to 65535", self.name))
        })
    }

    /// Returns a time of the run in ticks of the first one.
    fn time(&self, time: i64) -> Result<i64, RequestError> {
        let moved = self.moved.as_ref().map_or(Some(time), |moved| moved.time(time));
        moved.ok_or_else(|| {
            RequestError::Runs(format!("the time {time} of {} leaves 64 bits", self.name))
        })
    }
}

/// Returns the first and the last time between which all runs recorded.
fn overlap(parts: &[AlignedRun<'_>]) -> Result<Option<(i64, i64)>, Error> {
    let mut spans = Vec::new();
    for part in parts {
        let (first, last) = part.run.store().manifest().span().unwrap_or_default();
        spans.push((part.time(first)?, part.time(last)?));
    }
    let meet = |a: (i64, i64), b: (i64, i64)| (a.0.max(b.0), a.1.min(b.1));
    let is_span = |&(first, last): &(i64, i64)| first <= last;
    for (index, part) in parts.iter().enumerate() {
        let others = spans.iter().enumerate().filter(|(other, _)| *other != index);
        if !others.clone().any(|(_, other)| is_span(&meet(spans[index], *other))) {
            let tick = tick_of(parts[0].run);
            let of = |(part, span): (&AlignedRun<'_>, &(i64, i64))| {
                let [first, last] = [span.0, span.1].map(|time| tick.format(time.into()));
                format!("{} from {first} to {last}", part.name)
            };
            let all: Vec<String> = parts.iter().zip(&spans).map(of).collect();
            return Err(RequestError::Runs(format!(
                "{} does not overlap in time with another run; in the times of run 1: {}",
                part.name,
                all.join(", ")
            ))
            .into());
        }
    }
    Ok(spans.into_iter().reduce(meet).filter(is_span))
}

/// Returns the names that the sources give to their channels.
fn names(parts: &[AlignedRun<'_>]) -> Vec<(u16, String)> {
    let (mut names, mut words) = (Vec::new(), HashSet::new());
    for (number, part) in (1..).zip(parts) {
        let manifest = part.run.store().manifest();
        let recordings = manifest.sources.iter().filter_map(|s| s.facts.recording.as_ref());
        let used: HashSet<u16> = manifest.channels.iter().map(|rows| rows.channel).collect();
        let given = recordings.flat_map(|recording| &recording.channel_names);
        for (channel, name) in given.filter(|(channel, _)| used.contains(channel)) {
            let Ok(channel) = part.channel(*channel) else { continue };
            let name =
                if words.contains(name) { format!("run{number}-{name}") } else { name.clone() };
            words.insert(name.clone());
            names.push((channel, name));
        }
    }
    names
}

/// Calls `scan` while the columns of all runs are guarded.
fn guarded(
    parts: &[AlignedRun<'_>],
    scan: &mut dyn FnMut() -> Result<Vec<u64>, Error>,
) -> Result<Vec<u64>, Error> {
    match parts {
        [] => scan(),
        [part, rest @ ..] => part.run.store().guarded(|_| guarded(rest, scan))?,
    }
}

/// Appends the tags of all runs to `new`. Returns how many of each are in the dead time of another and left out.
fn append_all(parts: &[AlignedRun<'_>], new: &mut NewStore) -> Result<Vec<u64>, Error> {
    let mut heads = parts.iter().map(Head::new).collect::<Result<Vec<_>, Error>>()?;
    let mut dead: Vec<Spans<'_>> = parts.iter().map(|part| Spans(&part.dead)).collect();
    let mut skipped = vec![0; parts.len()];
    let has_micro = heads.iter().any(|head| head.micro.is_some());
    let mut chunk = Chunk { has_micro, ..Chunk::default() };
    while let Some((time, from)) =
        heads.iter().enumerate().filter_map(|(from, head)| Some((head.time?, from))).min()
    {
        let head = &mut heads[from];
        let mut others = dead.iter_mut().enumerate().filter(|(other, _)| *other != from);
        if others.any(|(_, dead)| dead.hold(time)) {
            skipped[from] += 1;
        } else {
            let (channel, micro) =
                (head.labels.label(head.row), micro_of(head.micro, head.row as u64));
            chunk.push(time, parts[from].channel(channel)?, micro);
        }
        head.advance()?;
        if chunk.times.len() == CHUNK_ROWS {
            chunk.append_to(new)?;
        }
    }
    chunk.append_to(new)?;
    Ok(skipped)
}

/// The next tag of a run.
struct Head<'a> {
    part: &'a AlignedRun<'a>,
    times: TimeReader<'a>,
    labels: Channels<'a>,
    micro: Option<MicroColumn<'a>>,
    row: usize,
    /// Its time in ticks of the first run; `None` after the last tag.
    time: Option<i64>,
}

impl<'a> Head<'a> {
    fn new(part: &'a AlignedRun<'a>) -> Result<Self, Error> {
        let store = part.run.store();
        let tags = store.tags();
        // All blocks are checked first, so that not each row has to be.
        let labels = tags.channels.read(0..tags.len());
        let micro = store.micro().map(|micro| micro.read(0..tags.len()));
        let times = TimeReader::new(tags.time);
        let mut head = Self { part, times, labels, micro, row: 0, time: None };
        head.read()?;
        Ok(head)
    }

    fn advance(&mut self) -> Result<(), Error> {
        self.row += 1;
        self.read()
    }

    fn read(&mut self) -> Result<(), Error> {
        self.time = self.times.get(self.row).map(|time| self.part.time(time)).transpose()?;
        Ok(())
    }
}

/// The spans, in order, that end after the last time that was looked up.
struct Spans<'a>(&'a [(i64, i64)]);

impl Spans<'_> {
    /// Whether a time, which is not before those of earlier calls, is inside a span.
    fn hold(&mut self, time: i64) -> bool {
        while let [(_, last), rest @ ..] = self.0
            && *last <= time
        {
            self.0 = rest;
        }
        self.0.first().is_some_and(|(first, _)| *first < time)
    }
}

/// Rows on their way into the new store.
#[derive(Default)]
struct Chunk {
    times: Vec<i64>,
    channels: Vec<u16>,
    micro: Vec<u32>,
    has_micro: bool,
}

impl Chunk {
    fn push(&mut self, time: i64, channel: u16, micro: u32) {
        self.times.push(time);
        self.channels.push(channel);
        if self.has_micro {
            self.micro.push(micro);
        }
    }

    fn append_to(&mut self, new: &mut NewStore) -> Result<(), Error> {
        new.append_with_micro(&self.times, &self.channels, &self.micro)?;
        self.times.clear();
        self.channels.clear();
        self.micro.clear();
        Ok(())
    }
}
