//! Walks over two sorted lists, without a branch that depends on the times.
//!
//! The list that has the next tag is practically random, and a branch on it would be mispredicted every other
//! time. Without the branch, the next load waits for the last comparison. So several walks advance in turn,
//! and each step of one runs while the others wait. The number of steps in which no walk can leave its lists
//! is computed beforehand, so a step need not check for an end.
#![expect(unsafe_code, reason = "a step's checks of its indexes take as long as the step")]
#![expect(clippy::multiple_unsafe_ops_per_block, reason = "all indexes of a step have one proof")]

use std::hint::select_unpredictable;

/// Merges two lists of times and numbers into the beginning of the last two slices, from both ends at once.
/// Among equal times, those of the first list come first.
pub(crate) fn merge(
    time: [&[i64]; 2],
    number: [&[u8]; 2],
    into_time: &mut [i64],
    into_number: &mut [u8],
) {
    let len = time[0].len() + time[1].len();
    let (time_a, time_b) = (time[0], time[1]);
    let (number_a, number_b) = (&number[0][..time_a.len()], &number[1][..time_b.len()]);
    let (into_time, into_number) = (&mut into_time[..len], &mut into_number[..len]);
    // The remaining parts of the lists: between i and last_i, and between j and last_j.
    let (mut i, mut j) = (0, 0);
    let (mut last_i, mut last_j) = (time_a.len(), time_b.len());
    loop {
        let steps = (last_i - i).min(last_j - j) / 2;
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            // SAFETY: i < last_i and j < last_j must hold, and last_i and last_j be at most the lengths
            // of lists and numbers, which were cut alike; then i + j is below last_i + last_j, at most
            // the length of both results. They hold whatever the times are: `steps` is half of what
            // the shorter list has left, and a step, one comparison from each end, moves i and last_i
            // together by two at the most, and so j and last_j. So each list has two tags left when
            // a step begins.
            unsafe {
                let b_first = time_b.get_unchecked(j) < time_a.get_unchecked(i);
                *into_time.get_unchecked_mut(i + j) =
                    *time_a.get_unchecked(i).min(time_b.get_unchecked(j));
                *into_number.get_unchecked_mut(i + j) = select_unpredictable(
                    b_first,
                    *number_b.get_unchecked(j),
                    *number_a.get_unchecked(i),
                );
                i += usize::from(!b_first);
                j += usize::from(b_first);
            }
            // SAFETY: as above: the comparison before left each list one tag or more, so that last_i - 1
            // and last_j - 1 are not before i and j, and a + b + 1 is below last_i + last_j.
            unsafe {
                let (a, b) = (last_i - 1, last_j - 1);
                let b_last = time_b.get_unchecked(b) >= time_a.get_unchecked(a);
                *into_time.get_unchecked_mut(a + b + 1) =
                    *time_a.get_unchecked(a).max(time_b.get_unchecked(b));
                *into_number.get_unchecked_mut(a + b + 1) = select_unpredictable(
                    b_last,
                    *number_b.get_unchecked(b),
                    *number_a.get_unchecked(a),
                );
                last_i -= usize::from(!b_last);
                last_j -= usize::from(b_last);
            }
        }
    }
    for at in i + j..last_i + last_j {
        let takes_b = i == last_i || j < last_j && time_b[j] < time_a[i];
        into_time[at] = if takes_b { time_b[j] } else { time_a[i] };
        into_number[at] = if takes_b { number_b[j] } else { number_a[i] };
        i += usize::from(!takes_b);
        j += usize::from(takes_b);
    }
}

/// Counts pairs of a tag of `a` and one of `b` more than `window` ticks apart, whose later tag is not among
/// the first `heads[0]` of `a` or `heads[1]` of `b`.
pub(crate) fn far_pairs([a, b]: [&[i64]; 2], heads: [usize; 2], window: i64) -> u64 {
    let [low_ab, high_ab] = ListWalk::over(a, &b[heads[1]..], window);
    let [low_ba, high_ba] = ListWalk::over(b, &a[heads[0]..], window);
    let mut walks = [low_ab, high_ab, low_ba, high_ba];
    while ListWalk::take_steps(&mut walks, window) {}
    walks.into_iter().map(|walk| walk.finish(window)).sum()
}

/// Two lists merged with the first one moved `window` later. For each tag of `later`, the number of tags of
/// `earlier` more than the window before it is the number of those that came up before it.
#[derive(Clone, Copy)]
struct ListWalk<'a> {
    /// The remaining parts of the lists.
    earlier: &'a [i64],
    later: &'a [i64],
    /// Tags of the whole earlier list that came up.
    rank: u64,
    pairs: u64,
}

impl<'a> ListWalk<'a> {
    /// Creates two walks that share the work in halves.
    fn over(earlier: &'a [i64], later: &'a [i64], window: i64) -> [Self; 2] {
        let half = usize::midpoint(earlier.len(), later.len());
        // Bisection: how many of the first `half` tags in merged order are earlier ones.
        let mut at = half.saturating_sub(later.len())..half.min(earlier.len());
        while !at.is_empty() {
            let middle = usize::midpoint(at.start, at.end);
            if later[half - 1 - middle].wrapping_sub(earlier[middle]) > window {
                at.start = middle + 1;
            } else {
                at.end = middle;
            }
        }
        let (earlier_low, earlier_high) = earlier.split_at(at.start);
        let (later_low, later_high) = later.split_at(half - at.start);
        let low = Self { earlier: earlier_low, later: later_low, rank: 0, pairs: 0 };
        let rank = earlier_low.len() as u64;
        [low, Self { earlier: earlier_high, later: later_high, rank, pairs: 0 }]
    }

    /// Advances all walks by a number of steps in which no walk can leave its lists; returns whether there were any
    /// steps.
    fn take_steps(walks: &mut [Self; 4], window: i64) -> bool {
        let left = |walk: &Self| walk.earlier.len().min(walk.later.len());
        // Sums of ranks below 2^32 in a block of steps fit in 64 bits.
        let steps = walks.iter().map(left).min().unwrap_or(0).min(1 << 31);
        let [w0, w1, w2, w3] = *walks;
        let (mut i0, mut i1, mut i2, mut i3) = (0, 0, 0, 0);
        let (mut sum0, mut sum1, mut sum2, mut sum3) = (0, 0, 0, 0);
        for step in 0..steps {
            // SAFETY: i and step - i must be below the lengths of the walk's lists. Both have `steps` tags
            // left or more; i begins at 0 and grows by one a step at the most, whatever the times are:
            // 0 ≤ i ≤ step < steps.
            let is_far = |walk: &Self, i: usize| unsafe {
                walk.later.get_unchecked(step - i).wrapping_sub(*walk.earlier.get_unchecked(i))
                    > window
            };
            let far = [is_far(&w0, i0), is_far(&w1, i1), is_far(&w2, i2), is_far(&w3, i3)];
            // Added in every step, even if an earlier tag comes up: see below.
            sum0 += i0;
            sum1 += i1;
            sum2 += i2;
            sum3 += i3;
            i0 += usize::from(far[0]);
            i1 += usize::from(far[1]);
            i2 += usize::from(far[2]);
            i3 += usize::from(far[3]);
        }
        let sums = [sum0, sum1, sum2, sum3];
        for ((walk, taken), sum) in walks.iter_mut().zip([i0, i1, i2, i3]).zip(sums) {
            // The steps at which earlier tags came up added 0, 1, … taken - 1.
            let of_later = sum - taken * taken.saturating_sub(1) / 2;
            walk.pairs += of_later as u64 + (steps - taken) as u64 * walk.rank;
            walk.rank += taken as u64;
            walk.earlier = &walk.earlier[taken..];
            walk.later = &walk.later[steps - taken..];
        }
        steps > 0
    }

    /// Returns the pairs, including those of the remaining tags.
    fn finish(mut self, window: i64) -> u64 {
        let mut at = 0;
        for &later in self.later {
            while at < self.earlier.len() && later.wrapping_sub(self.earlier[at]) > window {
                at += 1;
            }
            self.pairs += self.rank + at as u64;
        }
        self.pairs
    }
}
