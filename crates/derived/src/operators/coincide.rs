//! `1 & 2 within 2ns`: coincidences, one-to-one by rule `once`.
//!
//! Tags of 1 and 2 at 0, 2 and at 9, 12, window 2: one tag at 2, with the row of its latest tag. The matching is that
//! of rule `once` of queries, so that both count the same.

use std::collections::VecDeque;

use tagq_query::{Matching, Timed};
use tagq_store::sealed::{Reader, put_len};

use super::operator::{
    ChannelOperation, OperandTags, Operation, Operator, OperatorForm, ReachInTicks, Setting,
};
use crate::{
    error::Error,
    frontier::Frontier,
    tags::{TagList, TagSlice},
    units::{TimeUnits, window},
};

pub(super) struct Coincide;

impl Operator for Coincide {
    fn key(&self) -> &'static str {
        "coincide"
    }

    fn summary(&self) -> &'static str {
        "Coincidences by rule once, one tag at the latest of their tags"
    }

    fn forms(&self) -> &'static [OperatorForm] {
        &[OperatorForm { pattern: "A & B … within D", example: "1 & 2 within 2ns" }]
    }

    fn operands_max(&self) -> usize {
        16
    }

    fn keeps_statistics(&self) -> bool {
        false
    }

    fn start(
        &self,
        operands: usize,
        setting: &Setting,
        units: &TimeUnits,
    ) -> Result<Operation, Error> {
        let window = match setting {
            Setting::Length(length) => window(length, units.tick)?,
            Setting::None | Setting::Number(_) | Setting::Range(..) => 0,
        };
        Ok(Operation::channel(Coinciding { window, matching: Matching::new(operands, window) }))
    }
}

/// A tag that can be matched; the latest one has the largest time, then the largest row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Partner {
    time: i64,
    row: u64,
}

impl Timed for Partner {
    fn time(self) -> i64 {
        self.time
    }
}

struct Coinciding {
    window: i64,
    matching: Matching<Partner>,
}

impl Coinciding {
    #[inline]
    fn push(&mut self, place: usize, tag: Partner, out: &mut TagList) {
        if self.matching.push(place, tag)
            && let Some(latest) = self.matching.take().max()
        {
            out.push(latest.time, latest.row);
        }
    }

    /// Pushes the tags of two channels in order of time.
    fn push_two(&mut self, a: TagSlice<'_>, b: TagSlice<'_>, out: &mut TagList) {
        let mut tags_a = partners(a).peekable();
        let mut tags_b = partners(b).peekable();
        while let (Some(&a), Some(&b)) = (tags_a.peek(), tags_b.peek()) {
            if b.time < a.time {
                self.push(1, b, out);
                tags_b.next();
            } else {
                self.push(0, a, out);
                tags_a.next();
            }
        }
        tags_a.for_each(|a| self.push(0, a, out));
        tags_b.for_each(|b| self.push(1, b, out));
    }

    /// Pushes the tags of more channels in order of time.
    fn push_all(&mut self, lists: &[TagSlice<'_>], out: &mut TagList) {
        let mut tags: Vec<_> = lists.iter().map(|&list| partners(list).peekable()).collect();
        loop {
            let heads = tags.iter_mut().enumerate();
            let heads = heads.filter_map(|(place, tags)| Some((tags.peek()?.time, place)));
            let Some((_, place)) = heads.min() else { return };
            if let Some(tag) = tags[place].next() {
                self.push(place, tag, out);
            }
        }
    }
}

fn partners(list: TagSlice<'_>) -> impl Iterator<Item = Partner> {
    list.times.iter().zip(list.rows).map(|(&time, &row)| Partner { time, row })
}

impl ChannelOperation for Coinciding {
    fn reach(&self) -> ReachInTicks {
        ReachInTicks { before: self.window, after: 0 }
    }

    fn advance(&mut self, operands: &mut [OperandTags<'_>], until: Frontier, out: &mut TagList) {
        let lists: Vec<TagSlice<'_>> =
            operands.iter_mut().map(|operand| operand.take(until)).collect();
        match lists[..] {
            [a, b] => self.push_two(a, b, out),
            _ => self.push_all(&lists, out),
        }
    }

    fn save(&self, out: &mut Vec<u8>) {
        for unused in self.matching.unused() {
            put_len(out, unused.len());
            for tag in unused {
                out.extend(tag.time.to_le_bytes());
                out.extend(tag.row.to_le_bytes());
            }
        }
    }

    fn restore(&mut self, reader: &mut Reader<'_>, until: Frontier) -> Option<()> {
        let mut all = Vec::new();
        for _ in self.matching.unused() {
            let len = reader.len(16)?;
            let tag = |_| Some(Partner { time: reader.i64()?, row: reader.u64()? });
            let unused = (0..len).map(tag).collect::<Option<VecDeque<Partner>>>()?;
            if !unused.iter().is_sorted()
                || unused.back().is_some_and(|tag| !until.is_after(tag.time))
            {
                return None;
            }
            all.push(unused);
        }
        // A match that is complete was taken.
        if all.iter().all(|unused| !unused.is_empty()) {
            return None;
        }
        self.matching = Matching::with_unused(self.window, all);
        Some(())
    }
}
