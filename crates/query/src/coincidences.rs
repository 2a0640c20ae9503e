//! The query "coincidences": pairs within a window.

use rayon::prelude::*;

use crate::{
    Acquisition, Delay, Error, Execution, Recording, SourceSingles,
    level::{self, Matrix},
    scan::{Interval, intervals, rows_with_head},
    select::{Buffers, Selection},
    sliding,
};
use tagq_store::Channels;

/// Rows of a morsel that is read from the columns: 2.25 MiB.
const DIRECT_ROWS: usize = 1 << 18;
/// Rows of a morsel that goes through buffers, which then stay in a core's cache.
const SELECTED_ROWS: usize = 1 << 16;

/// Counts coincidences (docs/queries.md, section "Coincidences").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coincidences {
    /// Between which channels.
    pub groups: Groups,
    /// What makes tags a coincidence.
    pub rule: Rule,
    /// The largest time difference allowed, in ticks, 0 or more.
    pub window: i64,
    /// Ticks added to the times of some channels, each named once.
    pub delays: Vec<Delay>,
}

/// Between which channels coincidences are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Groups {
    /// Every pair of the channels that have tags, in ascending order.
    EveryPair,
    /// These pairs, in this order. A channel may have no tags.
    Listed(Vec<[u16; 2]>),
}

/// What makes tags a coincidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Every way to take one tag of each channel with latest minus earliest within the window.
    All,
}

/// The answer to [`Coincidences`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// One row a group, in the order asked.
    pub rows: Vec<GroupCount>,
}

/// The coincidences of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCount {
    /// Its channels.
    pub channels: [u16; 2],
    /// How many coincidences.
    pub count: u64,
    /// What each source had of these channels.
    pub sources: Vec<SourceSingles>,
}

impl GroupCount {
    /// Tags of each channel of the group.
    pub fn singles(&self) -> [u64; 2] {
        [0, 1].map(|i| self.sources.iter().map(|source| source.singles[i]).sum())
    }
}

impl Coincidences {
    /// Counts over all sources of `recording`.
    ///
    /// Reads nine bytes a tag, once. Any number of threads gives the same answer.
    ///
    /// # Errors
    /// For a query that means nothing, or times that leave 64 bits with their delays.
    pub fn run(&self, recording: &Recording<'_>, execution: &Execution) -> Result<Counted, Error> {
        let plan = Plan::new(self, recording)?;
        let counts = plan.count(recording, execution);
        let rows = plan.groups.iter().zip(counts).map(|(&[a, b], count)| {
            let count = u64::try_from(count).map_err(|_| Error::CountRange { a, b })?;
            let sources = recording.sources.iter().map(|source| singles(source, [a, b]));
            Ok(GroupCount { channels: [a, b], count, sources: sources.collect() })
        });
        Ok(Counted { rows: rows.collect::<Result<_, _>>()? })
    }

    fn check(&self) -> Result<(), Error> {
        if self.window < 0 {
            return Err(Error::NegativeWindow { window: self.window });
        }
        for (i, delay) in self.delays.iter().enumerate() {
            let other = self.delays[..i].iter().find(|other| other.channel == delay.channel);
            if let Some(other) = other.filter(|other| other.ticks != delay.ticks) {
                return Err(Error::TwoDelays {
                    channel: delay.channel,
                    first: other.ticks,
                    second: delay.ticks,
                });
            }
        }
        if let Groups::Listed(groups) = &self.groups {
            for &[a, b] in groups {
                if a == b {
                    return Err(Error::SameChannel { channel: a });
                }
            }
        }
        Ok(())
    }

    fn delay_of(&self, channel: u16) -> i64 {
        self.delays.iter().find(|delay| delay.channel == channel).map_or(0, |delay| delay.ticks)
    }
}

/// A query made ready: dense numbers for its channels, and the kernel that fits.
struct Plan {
    groups: Vec<[u16; 2]>,
    /// The groups in dense numbers.
    numbered: Vec<[u8; 2]>,
    /// How many channels are in use; the number behind the last stands for all others.
    side: u8,
    selection: Selection,
    /// The dense number of each label of a narrow column.
    number_of_label: [u8; 256],
    window: i64,
}

/// One piece of work.
struct Morsel<'a> {
    source: &'a Acquisition<'a>,
    interval: Interval,
}

impl Plan {
    fn new(query: &Coincidences, recording: &Recording<'_>) -> Result<Self, Error> {
        query.check()?;
        let present = recording.channels();
        let groups: Vec<[u16; 2]> = match &query.groups {
            Groups::Listed(groups) => groups.clone(),
            Groups::EveryPair => (0..present.len())
                .flat_map(|b| (0..b).map(move |a| [a, b]))
                .map(|[a, b]| [present[a], present[b]])
                .collect(),
        };
        let mut channels: Vec<u16> = groups.iter().flatten().copied().collect();
        channels.sort_unstable();
        channels.dedup();
        let side = u8::try_from(channels.len())
            .map_err(|_| Error::Channels { channels: channels.len() })?;
        let delays: Vec<i64> = channels.iter().map(|&channel| query.delay_of(channel)).collect();
        for source in &recording.sources {
            check_delays(source, &delays)?;
        }
        let number_of =
            |channel: u16| (0..side).find(|&n| channels[usize::from(n)] == channel).unwrap_or(side);
        let mut groups_in_order = groups.clone();
        if query.groups == Groups::EveryPair {
            groups_in_order.sort_unstable();
        }
        let selection = Selection::new(&channels, &delays);
        Ok(Self {
            numbered: groups_in_order.iter().map(|group| group.map(number_of)).collect(),
            groups: groups_in_order,
            side,
            number_of_label: selection.narrow_numbers(side),
            selection,
            window: query.window,
        })
    }

    fn count(&self, recording: &Recording<'_>, execution: &Execution) -> Vec<u128> {
        if self.groups.is_empty() {
            return Vec::new();
        }
        let morsels: Vec<Morsel<'_>> = recording
            .sources
            .iter()
            .flat_map(|source| {
                let time = source.tags.time;
                let cached = if self.is_direct(source) { DIRECT_ROWS } else { SELECTED_ROWS };
                let rows = execution.rows_per_morsel(time, self.window, cached);
                intervals(time, rows).into_iter().map(move |interval| Morsel { source, interval })
            })
            .collect();
        let zero = || vec![0_u128; self.groups.len()];
        morsels
            .par_iter()
            .fold(
                || (zero(), Counter::new(self, execution)),
                |(mut counts, mut counter), morsel| {
                    counter.count(morsel, &mut counts);
                    (counts, counter)
                },
            )
            .map(|(counts, _)| counts)
            .reduce(zero, |mut counts, more| {
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
                counts
            })
    }

    /// Whether the kernels can read the columns of the store as they are.
    fn is_direct(&self, source: &Acquisition<'_>) -> bool {
        !self.selection.has_delays() && matches!(source.tags.channels, Channels::U8(_))
    }
}

/// Counts morsels; holds the buffers of one thread.
struct Counter<'p> {
    plan: &'p Plan,
    execution: &'p Execution,
    buffers: Buffers,
    tally: Tally,
}

/// Tags ready for the kernels. The first `head` rows are looked back at and own nothing.
struct Ready<'a> {
    time: &'a [i64],
    id: &'a [u8],
    head: usize,
    /// The dense number of each id; those not in use have the number behind the last.
    number_of: &'a [u8; 256],
}

/// The matrices of one thread: of all rows of a morsel, and of those before it.
struct Tally {
    all: Matrix,
    before: Matrix,
}

impl<'p> Counter<'p> {
    fn new(plan: &'p Plan, execution: &'p Execution) -> Self {
        let matrix = Matrix::new(usize::from(plan.side) + 1);
        let tally = Tally { all: matrix.clone(), before: matrix };
        Self { plan, execution, buffers: Buffers::default(), tally }
    }

    /// Adds the coincidences that belong to the morsel.
    fn count(&mut self, morsel: &Morsel<'_>, counts: &mut [u128]) {
        let plan = self.plan;
        let tags = morsel.source.tags;
        let is_direct = plan.is_direct(morsel.source);
        if let (Channels::U8(labels), true) = (tags.channels, is_direct) {
            let (rows, head) = rows_with_head(tags.time, &morsel.interval, plan.window);
            let ready = Ready {
                time: &tags.time[rows.clone()],
                id: &labels[rows],
                head,
                number_of: &plan.number_of_label,
            };
            match plan.groups[..] {
                [group] => {
                    // A label above 255 has no tags in a narrow column, and no coincidence.
                    if let [Ok(a), Ok(b)] = group.map(u8::try_from) {
                        counts[0] += u128::from(pairs(plan, self.execution, &ready, [a, b]));
                    }
                }
                _ => self.tally.add(plan, self.execution, &ready, counts),
            }
            return;
        }
        let start = morsel.interval.start;
        let from = start.saturating_sub(plan.window);
        let selected = plan.selection.select(tags, from, morsel.interval.end, &mut self.buffers);
        let ready = Ready {
            time: &selected.time,
            id: &selected.number,
            head: selected.time.partition_point(|&time| time < start),
            number_of: &IDENTITY,
        };
        match plan.numbered[..] {
            [pair] => counts[0] += u128::from(pairs(plan, self.execution, &ready, pair)),
            _ => self.tally.add(plan, self.execution, &ready, counts),
        }
    }
}

/// Pairs of the ids of `pair` that the morsel owns: those among all its rows, less those among the
/// rows before it.
fn pairs(plan: &Plan, execution: &Execution, ready: &Ready<'_>, pair: [u8; 2]) -> u64 {
    let &Ready { time, id, head, .. } = ready;
    let near = |rows| level::pairs(execution.simd, &time[..rows], &id[..rows], pair, plan.window);
    match near(time.len()).zip(near(head)) {
        Some((all, before)) => all - before,
        None => sliding::pairs(time, id, pair, plan.window, head),
    }
}

impl Tally {
    /// Adds the coincidences of every group that the morsel owns.
    fn add(&mut self, plan: &Plan, execution: &Execution, ready: &Ready<'_>, counts: &mut [u128]) {
        let &Ready { time, id, head, number_of } = ready;
        let near = |rows, matrix: &mut Matrix| {
            matrix.clear();
            let (time, id) = (&time[..rows], &id[..rows]);
            level::matrix(execution.simd, time, id, plan.window, number_of, matrix)
        };
        if near(time.len(), &mut self.all).and(near(head, &mut self.before)).is_none() {
            self.all.clear();
            self.before.clear();
            sliding::matrix(time, id, plan.window, head, number_of, &mut self.all);
        }
        for (count, &[a, b]) in counts.iter_mut().zip(&plan.numbered) {
            *count += u128::from(self.all.either(a, b) - self.before.either(a, b));
        }
    }
}

/// The ids of selected tags are dense numbers already.
const IDENTITY: [u8; 256] = {
    let mut identity = [0; 256];
    let mut number = 0;
    while number < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        {
            identity[number] = number as u8;
        }
        number += 1;
    }
    identity
};

fn check_delays(source: &Acquisition<'_>, delays: &[i64]) -> Result<(), Error> {
    let Some((first, last)) = source.span() else { return Ok(()) };
    let smallest = delays.iter().copied().min().unwrap_or(0).min(0);
    let largest = delays.iter().copied().max().unwrap_or(0).max(0);
    let fits = first
        .checked_add(smallest)
        .zip(last.checked_add(largest))
        .and_then(|(first, last)| last.checked_sub(first))
        .is_some();
    if fits {
        return Ok(());
    }
    let delay = if smallest.unsigned_abs() > largest.unsigned_abs() { smallest } else { largest };
    Err(Error::DelayRange { delay, first, last })
}

fn singles(source: &Acquisition<'_>, channels: [u16; 2]) -> SourceSingles {
    SourceSingles {
        live: source.span().map_or(0, |(first, last)| last - first),
        singles: channels.map(|channel| source.singles_of(channel)),
    }
}
