//! Crowded windows: coincidences from how many tags of each channel lie in the window of a row, without visiting
//! them.
//!
//! Channel 1 at 0, 2 and 4, channel 2 at 5, window 3: three tags of channel 1 are before 5 and one is before the
//! window, so the tag at 5 closes 3 − 1 = 2 pairs. Tuples that lie wholly in the head belong to the morsel before and
//! are subtracted.

use std::ops::Range;

use crate::{
    kernels::{
        matrix::Matrix,
        simd::Simd,
        window_counts::{
            AtLevel, OneProduct, Sums, WORD_ROWS, Windows, at_edges, count_before, index,
            one_product, products, words_before,
        },
    },
    rules::{
        definition::Heralds,
        ways::closing::{Closing, OfSize, TOO_MANY},
    },
    scan::selection::Selected,
};

/// Up to this many channels, the counts before a row are eight numbers; for more channels they are [`MORE`] numbers.
const FEW: usize = 8;
const MORE: usize = super::closing::SIDE_BY_SIDE;

/// Rows whose windows are found and counted before the next: their buffers stay in the first caches.
const BLOCK: usize = 1 << 12;
/// Rows of a block that share a bound of their lengths.
const BOUND_ROWS: usize = 64;

/// The buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Crowded {
    /// 0, 1, 2, …: the rows, as values of edges.
    rows: Vec<u64>,
    found: ClosedGroups,
    words: Vec<u64>,
    of_16_bits: (Vec<[u16; FEW]>, Vec<[u16; MORE]>),
    of_32_bits: (Vec<[u32; FEW]>, Vec<[u32; MORE]>),
    sums: Sums,
    /// Tags of each number in a window, and those of them in the head.
    inside: [Vec<u32>; 2],
}

/// The rows of a block that close groups, and the windows of each: the first row, and the first one after it.
#[derive(Debug, Default)]
struct ClosedGroups {
    from: Vec<u64>,
    to: Vec<u64>,
    number: Vec<u8>,
}

/// A count to make: tags in order of time, and the groups. The first `head` tags are only partners of later ones.
#[derive(Clone, Copy)]
pub(crate) struct Job<'a> {
    pub simd: Simd,
    pub closing: &'a Closing,
    pub tags: Selected<'a>,
    pub head: usize,
    pub window: i64,
}

impl Job<'_> {
    fn has_heralds(&self) -> bool {
        self.closing.heralds != Heralds::None
    }

    fn once(&self) -> bool {
        self.closing.heralds == Heralds::Once
    }

    /// Returns the rows whose windows hold rows after the head.
    fn rows(&self) -> Range<usize> {
        let time = self.tags.time;
        let first = match time.get(self.head) {
            Some(&next) if self.has_heralds() => {
                time[..self.head].partition_point(|&time| next.wrapping_sub(time) > self.window)
            }
            _ => self.head,
        };
        first..time.len()
    }

    /// Returns these rows in blocks. Each block is wholly in the head or wholly after it.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = self.rows();
        [start..self.head, self.head..end].into_iter().flat_map(|rows| {
            let end = rows.end;
            rows.step_by(BLOCK).map(move |row| row..end.min(row + BLOCK))
        })
    }

    /// Returns whether no window has more rows than words can count.
    fn fits_words(&self) -> bool {
        let time = self.tags.time;
        let reach = self.window.checked_mul(if self.has_heralds() { 2 } else { 1 });
        let is_far = |(early, late): (&i64, &i64)| {
            reach.is_some_and(|reach| late.wrapping_sub(*early) > reach)
        };
        time.iter().zip(time.get(WORD_ROWS..).unwrap_or_default()).all(is_far)
    }

    /// Writes the values at the first row of the window of each row.
    fn starts(&self, rows: Range<usize>, values: &[u64], into: &mut Vec<u64>) {
        into.resize(rows.len(), 0);
        at_edges(self.simd, self.tags.time, rows, self.window, values, into);
    }

    /// Writes the values at the first row after the window of each row.
    fn ends(&self, rows: Range<usize>, values: &[u64], into: &mut Vec<u64>) {
        into.resize(rows.len(), 0);
        if self.has_heralds() {
            // Up to that row, no row is more than the window after this one.
            at_edges(self.simd, self.tags.time, rows, -self.window - 1, values, into);
        } else {
            into.copy_from_slice(&values[rows]);
        }
    }
}

impl Crowded {
    /// Adds the coincidences of each group that a tag after the head completes.
    pub(crate) fn add(&mut self, job: &Job<'_>, counts: &mut [u128]) {
        let Job { closing, head, tags, .. } = *job;
        if closing.sizes.is_empty() {
            self.one_by_one(job, job.rows().start, counts);
            return;
        }
        if let (Some(product), true) = (closing.one, job.fits_words()) {
            counts[0] += self.one_product(job, product);
            return;
        }
        self.rows.extend(self.rows.len() as u64..=tags.time.len() as u64);
        let Self { of_16_bits, of_32_bits, .. } = self;
        of_16_bits.0.clear();
        of_16_bits.1.clear();
        of_32_bits.0.clear();
        of_32_bits.1.clear();
        for block in job.blocks() {
            let longest = self.find(job, &block);
            let rows = self.found.number.len();
            let mut sizes = closing.sizes.iter();
            if !sizes.all(|size| size.products.fit(longest, job.once(), rows)) {
                self.one_by_one(job, block.start, counts);
                return;
            }
            for size in &closing.sizes {
                self.sum(job, size, longest, |group, sum| counts[group] += sum);
            }
            if block.start < head {
                // Coincidences of tags of the head alone are subtracted.
                self.found.to.fill(head as u64);
                for size in &closing.sizes {
                    self.sum(job, size, longest, |group, sum| counts[group] -= sum);
                }
            }
        }
    }

    /// Counts the one group that has all channels.
    fn one_product(&mut self, job: &Job<'_>, product: OneProduct) -> u128 {
        let Self { words, found: ClosedGroups { from, to, .. }, .. } = self;
        words_before(job.tags.number, words);
        let mut sum = 0;
        for block in job.blocks() {
            job.starts(block.clone(), words, from);
            let own = &words[block.start..=block.end];
            let (mut ends, in_head) = (&own[..block.len()], block.start < job.head);
            if job.has_heralds() {
                job.ends(block, words, to);
                ends = to;
            }
            sum += one_product(job.simd, product, own, [from, ends]);
            if in_head {
                to.fill(words[job.head]);
                sum -= one_product(job.simd, product, own, [from, to]);
            }
        }
        sum
    }

    /// Finds the windows of the rows of a block that close a group. Returns an upper bound of their numbers of rows.
    fn find(&mut self, job: &Job<'_>, block: &Range<usize>) -> u64 {
        let ClosedGroups { from, to, number } = &mut self.found;
        let rows = &self.rows[..=job.tags.time.len()];
        job.starts(block.clone(), rows, from);
        job.ends(block.clone(), rows, to);
        number.clear();
        number.extend_from_slice(&job.tags.number[block.clone()]);
        let lengths = from.chunks(BOUND_ROWS).zip(to.chunks(BOUND_ROWS)).map(|(from, to)| {
            // Both ascend.
            to.last().zip(from.first()).map_or(0, |(last, first)| last.saturating_sub(*first))
        });
        let longest = lengths.max().unwrap_or(0);
        let closes = &job.closing.closes;
        if closes[..job.closing.channels()].contains(&false) {
            let mut taken = 0;
            for row in 0..number.len() {
                (from[taken], to[taken], number[taken]) = (from[row], to[row], number[row]);
                taken += usize::from(closes[usize::from(number[row])]);
            }
            from.truncate(taken);
            to.truncate(taken);
            number.truncate(taken);
        }
        longest
    }

    /// Sums the products of the groups of one size over the windows that were found.
    fn sum(
        &mut self,
        job: &Job<'_>,
        size: &OfSize,
        longest: u64,
        mut take: impl FnMut(usize, u128),
    ) {
        let Self { found, of_16_bits, of_32_bits, sums, .. } = self;
        let is_narrow = size.products.are_of_16_bits(job.simd, longest, job.once());
        match (is_narrow, job.closing.channels() <= FEW) {
            (true, true) => found.sum(job, size, longest, &mut of_16_bits.0, sums),
            (true, false) => found.sum(job, size, longest, &mut of_16_bits.1, sums),
            (false, true) => found.sum(job, size, longest, &mut of_32_bits.0, sums),
            (false, false) => found.sum(job, size, longest, &mut of_32_bits.1, sums),
        }
        for &(group, number, place) in &size.closed {
            take(group, sums.get(number, place).into());
        }
    }

    /// Adds the coincidences that the rows from `first` on close, row by row, for any number of channels and any
    /// window.
    fn one_by_one(&mut self, job: &Job<'_>, first: usize, counts: &mut [u128]) {
        let once = job.once();
        self.each_window(job, first, |number, inside, in_head| {
            for closed in &job.closing.closed_by[usize::from(number)] {
                let ways_of = |tags: &[u32]| {
                    let ways = closed.ways(tags);
                    if once { ways.min(1) } else { ways }
                };
                let (ways, before) = (ways_of(inside), in_head.map_or(0, ways_of));
                let is_larger = |&other: &u8| {
                    in_head.is_some_and(|in_head| {
                        inside[usize::from(other)] > in_head[usize::from(other)]
                    })
                };
                let more = match before {
                    // Both products are capped. A tag after the head adds as many ways as the other channels have,
                    // again too many.
                    u128::MAX if closed.others().iter().any(is_larger) => u128::MAX,
                    before => ways - before,
                };
                counts[closed.group] += more.min(TOO_MANY);
            }
        });
    }

    /// Adds to `matrix` the pairs of numbers, the later one first: for more channels than are counted side by side.
    pub(crate) fn add_pairs(&mut self, job: &Job<'_>, matrix: &mut Matrix) {
        self.each_window(job, job.rows().start, |number, inside, _| {
            for (count, &more) in matrix.row_mut(number, inside.len()).iter_mut().zip(inside) {
                *count += u64::from(more);
            }
        });
    }

    /// Passes to `take` each row from `first` on that closes a group, with the number of tags of each channel in its
    /// window, and, if the row is in the head, with how many of them are there.
    fn each_window(
        &mut self,
        job: &Job<'_>,
        first: usize,
        mut take: impl FnMut(u8, &[u32], Option<&[u32]>),
    ) {
        let Selected { time, number } = job.tags;
        for inside in &mut self.inside {
            inside.clear();
            inside.resize(job.closing.closed_by.len(), 0);
        }
        let [inside, in_head] = &mut self.inside;
        let (mut start, mut end) = (0, 0);
        for row in first..time.len() {
            let now = time[row];
            let is_in = |end: usize| {
                let is_after = end < time.len() && time[end].wrapping_sub(now) <= job.window;
                if job.has_heralds() { is_after } else { end < row }
            };
            while is_in(end) {
                inside[usize::from(number[end])] += 1;
                in_head[usize::from(number[end])] += u32::from(end < job.head);
                end += 1;
            }
            while start < end && now.wrapping_sub(time[start]) > job.window {
                inside[usize::from(number[start])] -= 1;
                in_head[usize::from(number[start])] -= u32::from(start < job.head);
                start += 1;
            }
            if job.closing.closes[usize::from(number[row])] {
                take(number[row], inside, (row < job.head).then_some(&in_head[..]));
            }
        }
    }
}

impl ClosedGroups {
    /// Sums products over the windows; makes the counts before rows first, up to the last row that is needed.
    fn sum<C: AtLevel, const L: usize>(
        &self,
        job: &Job<'_>,
        size: &OfSize,
        longest: u64,
        before: &mut Vec<[C; L]>,
        sums: &mut Sums,
    ) {
        let Self { from, to, number } = self;
        let end = to.last().map_or(0, |&last| index(last));
        count_before(job.tags.number, end, before);
        let (ends, once) = ([&from[..], to], job.once());
        let windows = Windows { before, ends, number, longest, once };
        products(job.simd, &windows, &size.products, sums);
    }
}
