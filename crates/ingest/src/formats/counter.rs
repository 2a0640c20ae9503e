//! Records with a short counter: the sum of its overflows, photons that stand after an overflow though they came before
//! it, and blank records.
//!
//! With a period of 4,096, the counters 4,090, overflow, 4,092 and 10 are the times 4,090, 4,092 and 4,106: the counter
//! goes back from 4,092 to 10 by more than half its period without an overflow between them, so 4,092 came before the
//! overflow in front of it. A counter that jumps forward stays, because a low rate has such jumps. Only up to 8 records
//! on each side decide, so the result does not depend on the blocks in which a file is read.

use super::{
    format::EARLY,
    photons::{TOGETHER, Taken},
    records::{DecodedRecords, RecordSpan, Records},
};

/// Records that are looked at on both sides of one.
const AROUND: usize = 8;
/// Room for the counter itself above the sum of its overflows.
const SUM_MAX: i64 = i64::MAX - (1 << 34);
/// Records without a bit after a counter above zero.
const BLANK: &str = "blank record";

/// Records with a counter.
pub(crate) trait Counter: Send + Sync {
    /// A record, decoded.
    type Event;
    /// A sum of overflows, with what follows from it for the times of records after it.
    type Sum: Copy;

    /// Bytes of a record.
    fn record_bytes(&self) -> usize;

    /// The number of values of the counter, which an overflow adds to the sum.
    fn period(&self) -> i64;

    /// How often the counter began again before or with this record.
    fn overflows(&self, record: &[u8]) -> u32;

    /// Decodes a record.
    fn event(&self, record: &[u8]) -> Self::Event;

    /// The counter of an event; `None` if it has none.
    fn counter(&self, event: &Self::Event) -> Option<u32>;

    /// Whether records without a bit are no events, unless the counter is 0 before them.
    fn has_blanks(&self) -> bool;

    /// Returns what follows from a sum of overflows.
    fn sum(&self, overflows: i64) -> Self::Sum;

    /// Adds the tags of an event, whose counter follows overflows of this sum; `None` if a time leaves 64 bits. What follows
    /// from the sum is computed if it is wanted.
    fn add(
        &self,
        event: Self::Event,
        sum: impl FnOnce() -> Self::Sum,
        found: &mut DecodedRecords,
    ) -> Option<()>;

    /// Adds the photons that `records` begin with, see [`super::photons`]. They follow overflows of this sum and this
    /// counter. Returns what was taken: nothing if all records are decoded one by one.
    fn add_photons(
        &self,
        _records: &[u8],
        _before: (&Self::Sum, u32),
        _found: &mut DecodedRecords,
    ) -> Option<Taken> {
        Some(Taken::default())
    }

    /// Returns how often the counter began again in `records`.
    fn all_overflows(&self, records: &[u8]) -> u64 {
        let records = records.chunks_exact(self.record_bytes());
        records.map(|record| u64::from(self.overflows(record))).sum()
    }
}

impl<C: Counter> Records for C {
    fn record_bytes(&self) -> usize {
        Counter::record_bytes(self)
    }

    fn around(&self) -> usize {
        AROUND
    }

    fn overflow(&self, records: &[u8]) -> i128 {
        i128::from(self.all_overflows(records)) * i128::from(self.period())
    }

    fn decode(&self, span: &RecordSpan<'_>, overflow: i128, found: &mut DecodedRecords) {
        if decode(self, span, overflow, found).is_none() {
            found.is_out_of_range = true;
        }
    }
}

/// The records so far.
struct Before<S> {
    /// Sum of the overflows, and what follows from it if an event wanted it.
    overflows: i64,
    sum: Option<S>,
    /// The last counter since it began again.
    counter: u32,
    /// Whether the last record has a counter above zero, or is blank.
    is_above_zero: bool,
}

fn decode<C: Counter>(
    records: &C,
    span: &RecordSpan<'_>,
    overflow: i128,
    found: &mut DecodedRecords,
) -> Option<()> {
    let sum = overflow - records.overflow(span.before());
    let sum = i64::try_from(sum).ok().filter(|&sum| sum <= SUM_MAX)?;
    let len = Counter::record_bytes(records);
    found.reserve(span.own.len() / len);
    let mut before = Before { overflows: sum, sum: None, counter: 0, is_above_zero: false };
    let mut at = 0;
    let mut together = TOGETHER.0;
    while let Some(record) = record(records, span, at) {
        let own = at * len..span.own.end.min((at + together) * len);
        if span.own.contains(&own.start) {
            let taken = before.take_photons(records, &span.around[own], found)?;
            together = if taken < together { TOGETHER.0 } else { TOGETHER.1.min(2 * together) };
            if taken > 0 {
                at += taken;
                continue;
            }
        }
        before.take(records, span, (at, record), found)?;
        at += 1;
    }
    Some(())
}

impl<S: Copy> Before<S> {
    /// Takes the photons that `own` begins with. Returns the number of records taken.
    fn take_photons<C: Counter<Sum = S>>(
        &mut self,
        records: &C,
        own: &[u8],
        found: &mut DecodedRecords,
    ) -> Option<usize> {
        let sum = self.sum.get_or_insert_with(|| records.sum(self.overflows));
        let taken = records.add_photons(own, (sum, self.counter), found)?;
        if taken.records > 0 {
            self.add_overflows(records, taken.overflows)?;
            self.counter = taken.counter;
            self.is_above_zero = taken.counter > 0;
        }
        Some(taken.records)
    }

    /// Takes the record at this place.
    fn take<C: Counter<Sum = S>>(
        &mut self,
        records: &C,
        span: &RecordSpan<'_>,
        (at, record): (usize, &[u8]),
        found: &mut DecodedRecords,
    ) -> Option<()> {
        let is_own = span.own.contains(&(at * record.len()));
        let overflows = records.overflows(record);
        if overflows > 0 {
            self.add_overflows(records, overflows.into())?;
            self.counter = 0;
        }
        if is_blank(record) && records.has_blanks() && self.is_above_zero {
            if is_own {
                found.left_out(BLANK);
            }
            return Some(());
        }
        let event = records.event(record);
        if let Some(counter) = records.counter(&event).filter(|_| !is_blank(record)) {
            if i64::from(counter) + records.period() / 2 < i64::from(self.counter) {
                put_back(records, span, (at, counter), self.overflows, found);
            }
            self.counter = counter;
        }
        self.is_above_zero = is_above_zero(records, record, &event);
        if is_own {
            let Self { sum, overflows, .. } = self;
            records.add(event, || *sum.get_or_insert_with(|| records.sum(*overflows)), found)?;
        }
        Some(())
    }

    /// Notes that the counter began again so often.
    fn add_overflows<C: Counter<Sum = S>>(&mut self, records: &C, count: u64) -> Option<()> {
        if count > 0 {
            let added = records.period().checked_mul(i64::try_from(count).ok()?)?;
            self.overflows = self.overflows.checked_add(added).filter(|&sum| sum <= SUM_MAX)?;
            self.sum = None;
        }
        Some(())
    }
}

fn is_blank(record: &[u8]) -> bool {
    record.iter().all(|&byte| byte == 0)
}

/// Whether a blank record after this one is no event.
fn is_above_zero<C: Counter>(records: &C, record: &[u8], event: &C::Event) -> bool {
    is_blank(record) || records.counter(event).is_some_and(|counter| counter > 0)
}

/// Puts records before the one at this place one period earlier, if its counter says that they belong there.
#[cold]
fn put_back<C: Counter>(
    records: &C,
    span: &RecordSpan<'_>,
    (at, counter): (usize, u32),
    sum: i64,
    found: &mut DecodedRecords,
) {
    let Some(earlier) = sum.checked_sub(records.period()).filter(|&sum| sum >= 0) else { return };
    let Some(first) = first_early(records, span, at, counter) else { return };
    // The tags of the records from `first` on are the last ones.
    let mut end = found.len();
    for early_at in (first..at).rev() {
        let Some(record) = record(records, span, early_at) else { return };
        let add = |sum| {
            let mut found = DecodedRecords::default();
            records.add(records.event(record), || records.sum(sum), &mut found).map(|()| found)
        };
        let of = records.counter(&records.event(record));
        let is_early = of.is_some_and(|of| is_above(records, of, counter));
        if is_early && span.unseen > early_at * record.len() && span.unseen <= at * record.len() {
            let late = add(sum).and_then(|of| of.times().first().copied());
            found.late_before = late.or(found.late_before);
        }
        if !span.own.contains(&(early_at * record.len())) {
            continue;
        }
        let (Some(late), Some(early)) = (add(sum), add(earlier)) else { return };
        let tags = if is_left_out(records, span, early_at) { 0 } else { late.len() };
        let Some(start) = end.checked_sub(tags) else { return };
        if is_early && found.has_at(start..end, &late) {
            found.put_back(start, &late, &early);
            found.left_out(EARLY);
        }
        end = start;
    }
}

fn record<'a, C: Counter>(records: &C, span: &RecordSpan<'a>, at: usize) -> Option<&'a [u8]> {
    let len = Counter::record_bytes(records);
    span.around.get(at * len..(at + 1) * len)
}

/// Whether the record at this place is blank and no event.
fn is_left_out<C: Counter>(records: &C, span: &RecordSpan<'_>, at: usize) -> bool {
    let is_blank = records.has_blanks() && record(records, span, at).is_some_and(is_blank);
    let before = at.checked_sub(1).and_then(|at| record(records, span, at));
    is_blank && before.is_some_and(|before| is_above_zero(records, before, &records.event(before)))
}

/// Returns the place of the first record that belongs before an overflow which precedes it, of those before the one at
/// this place; `None` if that is not certain.
fn first_early<C: Counter>(
    records: &C,
    span: &RecordSpan<'_>,
    at: usize,
    counter: u32,
) -> Option<usize> {
    let mut first = None;
    for at in (at.saturating_sub(AROUND)..at).rev() {
        let record = record(records, span, at)?;
        let of = records.counter(&records.event(record)).filter(|_| !is_blank(record));
        match of {
            Some(of) if is_above(records, of, counter) => first = Some((at, of)),
            Some(of) => {
                return first.filter(|&(_, first)| is_above(records, first, of)).map(|(at, _)| at);
            }
            None => {}
        }
        if records.overflows(record) > 0 {
            return first.map(|(at, _)| at);
        }
    }
    None
}

/// Whether a counter is above another one by more than half a period.
fn is_above<C: Counter>(records: &C, counter: u32, other: u32) -> bool {
    i64::from(counter) > i64::from(other) + records.period() / 2
}
