//! Merging the recordings of two instruments into one run.

use std::{collections::HashSet, path::Path};

use num_rational::Ratio;
use num_traits::{CheckedAdd as _, CheckedMul as _};
use tagq_store::{Duration, Recording, SourceFacts, Store, Tick, TimeReader};

use crate::{
    counted::{are, counted},
    error::Error,
    new_store::{NewStore, micro_of},
    progress::Progress,
    recorded::Recorded,
    run::{Run, options::OpenOptions},
};

/// Rows that are appended to the new store at once.
const CHUNK_ROWS: usize = 65_536;
const MILLION: i128 = 1_000_000;
const DRIFT_DIGITS_MAX: usize = 9;

/// How the times and channels of the second run become those of the first.
#[derive(Debug, Clone)]
pub struct Alignment {
    /// Added to the times of the second run.
    pub offset: Duration,
    /// Times of the second run are multiplied by 1 + drift before the offset is added.
    pub drift: Drift,
    /// Added to the channels of the second run.
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
    /// The time in ticks during which both instruments recorded: first and last time.
    pub overlap: (i64, i64),
}

/// Merges two runs into the new store `out`: the tags of both in order of time, of equal times those of `a`
/// first, as one source. Times are in the tick of `a`. Tags of one run in the dead time of the other are left out,
/// so that counts, rates and coincidences are those of the time in which both recorded.
///
/// # Errors
/// [`Error::Request`] if a run has several sources with tags, if both runs use a channel, if they do not overlap in
/// time, or if their micro times have different units; [`Error::StoreThere`]; errors of the disk.
pub fn merge(
    a: &Run,
    b: &Run,
    alignment: &Alignment,
    out: &Path,
    progress: &dyn Progress,
) -> Result<Merged, Error> {
    a.check_tags()?;
    b.check_tags()?;
    let of_b = Moved::new(a, b, alignment)?;
    let overlap = of_b.overlap(a)?;
    let micro_tick = micro_tick(a, b)?;
    let mut new = NewStore::create(Some(out), Some(tick_of(a)))?;
    if let Some(tick) = micro_tick {
        new.set_micro_tick(tick)?;
    }
    let described = [a, b].map(Recorded::of);
    let dead = [described[0].recording.dead.clone(), of_b.moved(&described[1].recording.dead)?];
    let skipped = a
        .store()
        .guarded(|a| b.store().guarded(|b| append_all([a, b], &of_b, &dead, &mut new)))???;
    let facts = SourceFacts {
        recording: Some(recording([a, b], &described, &of_b, &dead, alignment)),
        ..SourceFacts::named("merged")
    };
    note_lost(&described, skipped, progress);
    let run = new.finish_as(facts, &OpenOptions::default())?;
    let (first, last) = overlap;
    let tick = tick_of(a);
    progress.note(&format!(
        "both instruments recorded for {}; `from` {} and `to` {} select this part",
        tick.format(i128::from(last) - i128::from(first)),
        tick.format_paste(first),
        tick.format_paste(last),
    ));
    Ok(Merged { run, overlap })
}

/// Returns what is known of both runs.
fn recording(
    [a, b]: [&Run; 2],
    described: &[Recorded; 2],
    of_b: &Moved<'_>,
    dead: &[Vec<(i64, i64)>; 2],
    alignment: &Alignment,
) -> Recording {
    let mut merged = Recording {
        format: "merged".into(),
        channel_names: of_b.names(a),
        facts: vec![
            ("first run".into(), a.path().display().to_string()),
            ("second run".into(), b.path().display().to_string()),
            ("offset".into(), alignment.offset.asked().to_owned()),
            ("drift".into(), format!("{} ppm", alignment.drift.0)),
        ],
        ..Recording::default()
    };
    for (which, Recorded { recording, .. }) in ["first", "second"].into_iter().zip(described) {
        let of = |what: &String| format!("{which} run: {what}");
        merged.facts.extend(recording.facts.iter().map(|(what, value)| (of(what), value.clone())));
        merged.left_out.extend(recording.left_out.iter().map(|(what, count)| (of(what), *count)));
    }
    merged.set_dead(dead.iter().flatten().copied());
    merged
}

/// Notes what the merged run does not hold.
fn note_lost(described: &[Recorded; 2], skipped: [u64; 2], progress: &dyn Progress) {
    let which = ["first", "second"];
    for ((one, other), skipped) in which.into_iter().zip(["second", "first"]).zip(skipped) {
        if skipped > 0 {
            progress.note(&format!(
                "{} of the {one} run {} left out: the {other} run recorded nothing then",
                counted(skipped, "tag"),
                are(skipped)
            ));
        }
    }
    for (which, Recorded { recording, lost }) in which.into_iter().zip(described) {
        let pulses = recording.pulses.map(|_| "the sync pulses");
        for what in lost.iter().copied().chain(pulses) {
            progress.note(&format!("the merged run does not hold {what} of the {which} run"));
        }
    }
}

fn tick_of(run: &Run) -> Tick {
    run.store().manifest().tick
}

fn micro_tick(a: &Run, b: &Run) -> Result<Option<Tick>, Error> {
    let [of_a, of_b] = [a, b].map(|run| run.store().manifest().micro_tick);
    match (of_a, of_b) {
        (Some(of_a), Some(of_b)) if of_a != of_b => Err(Error::Request(format!(
            "micro times are in units of {of_a} in the first run and of {of_b} in the second"
        ))),
        _ => Ok(of_a.or(of_b)),
    }
}

/// The second run in the times and channels of the first.
struct Moved<'a> {
    run: &'a Run,
    factor: Ratio<i128>,
    offset: Ratio<i128>,
    channels: i32,
}

impl<'a> Moved<'a> {
    fn new(a: &Run, run: &'a Run, alignment: &Alignment) -> Result<Self, Error> {
        for (of, which) in [(a, "first"), (run, "second")] {
            let sources = &of.store().manifest().sources;
            match sources.iter().filter(|source| source.rows > 0).count() {
                0 => return Err(Error::Request(format!("the {which} run has no tags"))),
                1 => {}
                several => {
                    return Err(Error::Request(format!(
                        "the {which} run has {several} sources; merge runs of one source each"
                    )));
                }
            }
        }
        let drift = Ratio::from_integer(1) + alignment.drift.0 / MILLION;
        let factor = tick_of(run).in_ticks(tick_of(a)).and_then(|ticks| ticks.checked_mul(&drift));
        let factor = factor.ok_or_else(|| {
            Error::Request("the ticks of both runs and the drift have no common unit".into())
        })?;
        // Exact: only the moved time is rounded.
        let (numerator, denominator) = alignment.offset.fraction(tick_of(a))?;
        let offset = Ratio::new(numerator, denominator);
        let moved = Self { run, factor, offset, channels: alignment.channels };
        let of_a = &a.store().manifest().channels;
        for rows in &run.store().manifest().channels {
            let channel = moved.channel(rows.channel)?;
            if of_a.iter().any(|rows| rows.channel == channel) {
                return Err(Error::Request(format!(
                    "both runs have tags on channel {channel}; `channels_b` adds a number to the channels of \
                     the second run"
                )));
            }
        }
        Ok(moved)
    }

    fn channel(&self, channel: u16) -> Result<u16, Error> {
        u16::try_from(i32::from(channel) + self.channels).map_err(|_| {
            Error::Request(format!("channel {channel} of the second run leaves 0 to 65535"))
        })
    }

    /// Returns a time of the second run in ticks of the first, rounded down.
    fn time(&self, time: i64) -> Result<i64, Error> {
        let moved = Ratio::from_integer(time.into()).checked_mul(&self.factor);
        let moved = moved.and_then(|time| time.checked_add(&self.offset));
        moved.and_then(|time| i64::try_from(time.floor().to_integer()).ok()).ok_or_else(|| {
            Error::Request(format!("the time {time} of the second run leaves 64 bits"))
        })
    }

    /// Returns spans of the second run in ticks of the first.
    fn moved(&self, spans: &[(i64, i64)]) -> Result<Vec<(i64, i64)>, Error> {
        spans.iter().map(|&(first, last)| Ok((self.time(first)?, self.time(last)?))).collect()
    }

    /// Returns the first and the last time that both runs cover.
    fn overlap(&self, a: &Run) -> Result<(i64, i64), Error> {
        let span = |run: &Run| {
            let manifest = run.store().manifest();
            manifest.span().unwrap_or_default()
        };
        let (of_a, of_b) = (span(a), span(self.run));
        let of_b = (self.time(of_b.0)?, self.time(of_b.1)?);
        let overlap = (of_a.0.max(of_b.0), of_a.1.min(of_b.1));
        if overlap.0 > overlap.1 {
            let tick = tick_of(a);
            let [a0, a1, b0, b1] =
                [of_a.0, of_a.1, of_b.0, of_b.1].map(|time| tick.format(time.into()));
            return Err(Error::Request(format!(
                "the runs do not overlap in time: {a0} to {a1}, and with the offset {b0} to {b1}"
            )));
        }
        Ok(overlap)
    }

    /// Returns the names that the sources of both runs give to their channels.
    fn names(&self, a: &Run) -> Vec<(u16, String)> {
        let names_of = |run: &Run| {
            let manifest = run.store().manifest();
            let recordings = manifest.sources.iter().filter_map(|s| s.facts.recording.as_ref());
            let used: HashSet<u16> = manifest.channels.iter().map(|rows| rows.channel).collect();
            let names = recordings.flat_map(|recording| &recording.channel_names);
            names.filter(|(channel, _)| used.contains(channel)).cloned().collect::<Vec<_>>()
        };
        let mut names = names_of(a);
        let (mut channels, mut words): (HashSet<u16>, HashSet<String>) =
            names.iter().cloned().unzip();
        for (channel, name) in names_of(self.run) {
            let Ok(channel) = self.channel(channel) else { continue };
            let name = if words.contains(&name) { format!("b-{name}") } else { name };
            if channels.insert(channel) {
                words.insert(name.clone());
                names.push((channel, name));
            }
        }
        names
    }
}

/// Appends the tags of both stores to `new`. Returns how many of each are in the dead time of the other and left out.
fn append_all(
    [a, b]: [&Store; 2],
    of_b: &Moved<'_>,
    [dead_a, dead_b]: &[Vec<(i64, i64)>; 2],
    new: &mut NewStore,
) -> Result<[u64; 2], Error> {
    let (tags_a, tags_b) = (a.tags(), b.tags());
    let [mut times_a, mut times_b] = [tags_a, tags_b].map(|tags| TimeReader::new(tags.time));
    // All blocks are checked first, so that not each row has to be.
    let [labels_a, labels_b] = [tags_a, tags_b].map(|tags| tags.channels.read(0..tags.len()));
    let [micro_a, micro_b] =
        [a, b].map(|store| store.micro().map(|micro| micro.read(0..store.tags().len())));
    let mut chunk = Chunk { has_micro: micro_a.is_some() || micro_b.is_some(), ..Chunk::default() };
    let (mut row_a, mut row_b) = (0, 0);
    let (mut dead_a, mut dead_b) = (Spans(dead_a), Spans(dead_b));
    let (mut next_b, mut skipped) = (None, [0, 0]);
    loop {
        if next_b.is_none() && row_b < tags_b.len() {
            let channel = of_b.channel(labels_b.label(row_b))?;
            next_b = Some((of_b.time(times_b.at(row_b))?, channel));
        }
        match (times_a.get(row_a), next_b) {
            (None, None) => break,
            (Some(time), b) if b.is_none_or(|(other, _)| time <= other) => {
                if dead_b.hold(time) {
                    skipped[0] += 1;
                } else {
                    chunk.push(time, labels_a.label(row_a), micro_of(micro_a, row_a as u64));
                }
                row_a += 1;
            }
            (_, b) => {
                let (time, channel) = b.unwrap_or_default();
                if dead_a.hold(time) {
                    skipped[1] += 1;
                } else {
                    chunk.push(time, channel, micro_of(micro_b, row_b as u64));
                }
                (row_b, next_b) = (row_b + 1, None);
            }
        }
        if chunk.times.len() == CHUNK_ROWS {
            chunk.append_to(new)?;
        }
    }
    chunk.append_to(new)?;
    Ok(skipped)
}

/// The spans that end after the times so far.
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
