//! Merges the tags of several channels for output.
//!
//! Times 0 and 5 of one list and 5 and 7 of another: 0, 5, 5, 7, and at 5 the tag of the first list comes first. The
//! order of lists, real channels before derived ones, is part of the output of a view and must not change.

use std::hint::select_unpredictable;

use crate::{
    search::gallop,
    tags::{LabelledTags, TagSlice},
};

/// If a list has more than this many times the tags of the other one, it is copied in pieces.
const SPARSE: usize = 8;

/// Tags of the output that are of one kind: all real ones, or those of a definition.
#[derive(Clone, Copy)]
pub(crate) struct OutputTags<'a> {
    pub tags: TagSlice<'a>,
    pub labels: Labels<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Labels<'a> {
    Each(&'a [u16]),
    All(u16),
}

impl<'a> OutputTags<'a> {
    /// Returns tags with their labels.
    pub(crate) fn labelled(tags: &'a LabelledTags) -> Self {
        let labels = Labels::Each(&tags.labels);
        Self { tags: TagSlice { times: &tags.times, rows: &tags.rows, micro: &[] }, labels }
    }

    /// Returns the first `len` tags.
    pub(crate) fn first(self, len: usize) -> Self {
        let labels = match self.labels {
            Labels::Each(labels) => Labels::Each(&labels[..len]),
            all @ Labels::All(_) => all,
        };
        Self { tags: self.tags.first(len), labels }
    }

    /// Appends the tags from index `from` up to `to`.
    fn copy(&self, from: usize, to: usize, out: &mut LabelledTags) {
        out.times.extend_from_slice(&self.tags.times[from..to]);
        out.rows.extend_from_slice(&self.tags.rows[from..to]);
        match self.labels {
            Labels::Each(labels) => out.labels.extend_from_slice(&labels[from..to]),
            Labels::All(label) => out.labels.resize(out.times.len(), label),
        }
    }

    fn len(&self) -> usize {
        self.tags.times.len()
    }

    #[inline]
    fn label(&self, at: usize) -> u16 {
        match self.labels {
            Labels::Each(labels) => labels[at],
            Labels::All(label) => label,
        }
    }
}

/// Merges lists by time; at equal times in their order. It keeps its memory from call to call.
#[derive(Default)]
pub(crate) struct OutputMerge {
    spare: Vec<LabelledTags>,
}

impl OutputMerge {
    pub(crate) fn merge(&mut self, lists: &[OutputTags<'_>], out: &mut LabelledTags) {
        match lists {
            [] => {}
            [list] => list.copy(0, list.len(), out),
            [a, b] => merge_two(a, b, out),
            _ => {
                // Two halves with about as many tags.
                let all: usize = lists.iter().map(OutputTags::len).sum();
                let mut before = 0;
                let half = lists.iter().take_while(|list| {
                    before += list.len();
                    before <= all / 2
                });
                let half = half.count().clamp(1, lists.len() - 1);
                let (first, others) = lists.split_at(half);
                let [a, b] = [first, others].map(|lists| {
                    let mut merged = self.spare.pop().unwrap_or_default();
                    merged.clear();
                    self.merge(lists, &mut merged);
                    merged
                });
                merge_two(&OutputTags::labelled(&a), &OutputTags::labelled(&b), out);
                self.spare.extend([a, b]);
            }
        }
    }
}

impl LabelledTags {
    /// Appends the first tags of two lists in order of time; at equal times those of the first list come first.
    pub fn append_merged(&mut self, [a, b]: [&Self; 2], [a_len, b_len]: [usize; 2]) {
        let of = |tags, len| OutputTags::labelled(tags).first(len);
        merge_two(&of(a, a_len), &of(b, b_len), self);
    }
}

/// Merges two lists by time; at equal times the tags of the first list come first.
fn merge_two(a: &OutputTags<'_>, b: &OutputTags<'_>, out: &mut LabelledTags) {
    if a.len() > SPARSE * b.len() || b.len() > SPARSE * a.len() {
        return merge_pieces(a, b, out);
    }
    let (mut at_a, mut at_b) = (0, 0);
    let start = out.len();
    let end = start + a.len() + b.len();
    out.times.resize(end, 0);
    out.rows.resize(end, 0);
    out.labels.resize(end, 0);
    let columns = out.times[start..].iter_mut().zip(&mut out.rows[start..]);
    for ((time, row), label) in columns.zip(&mut out.labels[start..]) {
        let (Some(&time_a), Some(&time_b)) = (a.tags.times.get(at_a), b.tags.times.get(at_b))
        else {
            break;
        };
        let is_b = time_b < time_a;
        *time = select_unpredictable(is_b, time_b, time_a);
        *row = select_unpredictable(is_b, b.tags.rows[at_b], a.tags.rows[at_a]);
        *label = select_unpredictable(is_b, b.label(at_b), a.label(at_a));
        at_a += usize::from(!is_b);
        at_b += usize::from(is_b);
    }
    let written = start + at_a + at_b;
    out.times.truncate(written);
    out.rows.truncate(written);
    out.labels.truncate(written);
    a.copy(at_a, a.len(), out);
    b.copy(at_b, b.len(), out);
}

/// Merges two lists of which one has few tags.
fn merge_pieces(a: &OutputTags<'_>, b: &OutputTags<'_>, out: &mut LabelledTags) {
    let (mut at_a, mut at_b) = (0, 0);
    while let (Some(&time_a), Some(&time_b)) = (a.tags.times.get(at_a), b.tags.times.get(at_b)) {
        if time_b < time_a {
            let end = at_b + gallop(&b.tags.times[at_b..], |time| time < time_a);
            b.copy(at_b, end, out);
            at_b = end;
        } else {
            let end = at_a + gallop(&a.tags.times[at_a..], |time| time <= time_b);
            a.copy(at_a, end, out);
            at_a = end;
        }
    }
    a.copy(at_a, a.len(), out);
    b.copy(at_b, b.len(), out);
}
