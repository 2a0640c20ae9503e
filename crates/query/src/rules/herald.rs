//! Rule `herald`: every way to take one herald and one tag of each other channel within the window of the
//! herald, or each herald once.

use crate::rules::definition::{Definition, Heralds, expected_tuples, symmetric};

pub(crate) struct Herald {
    /// Whether each herald counts at most once.
    pub once: bool,
}

impl Definition for Herald {
    fn key(&self) -> &'static str {
        if self.once { "herald-once" } else { "herald" }
    }

    fn name(&self) -> &'static str {
        if self.once { "per-herald" } else { "herald" }
    }

    fn summary(&self) -> &'static str {
        if self.once {
            "Each tag of the first channel at most once, if all others have one near it"
        } else {
            "Each combination of a tag of the first channel with one of each other within the window"
        }
    }

    fn is_span(&self, _: usize) -> bool {
        false
    }

    fn heralds(&self) -> Heralds {
        if self.once { Heralds::Once } else { Heralds::Every }
    }

    /// From a tag before the herald to a tag after it. A herald that counts once may have been complete before.
    fn look_back(&self, window: i64, size: usize) -> i64 {
        if size == 2 && !self.once { window } else { window.saturating_mul(2) }
    }

    fn first_times(&self, time: i64, window: i64) -> [i64; 2] {
        [2, 1].map(|windows| time.saturating_sub(window.saturating_mul(windows)))
    }

    fn counts_every_way(&self) -> bool {
        !self.once
    }

    fn expected(&self, tags: &[u64], live: f64, window: i64) -> Option<f64> {
        if self.once { None } else { expected_tuples(tags, live, self.full_width(window) as f64) }
    }

    /// With m tags of an arm in its window of 2w + 1, a shared herald with k arms left forms Πm of these. j
    /// shared arms without the herald lie in the window of another herald 2m/(j + 1) times, which then takes
    /// Πm of the remaining arms.
    fn clumping(&self, x: &[f64]) -> f64 {
        if self.once {
            return 1.0;
        }
        let m: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        let (herald, arms) = (m[0], &m[1..]);
        let choices = symmetric(arms);
        let with_herald: f64 = choices[1..].iter().sum();
        let without = |j: usize| 2.0 / (j as f64 + 1.0) * herald * choices[arms.len() - j];
        1.0 + (with_herald + (1..=arms.len()).map(without).sum::<f64>())
    }
}

/// The delayed times of one channel. The first `head` are only looked back at and own nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<'a> {
    pub time: &'a [i64],
    pub head: usize,
}

/// The tags of one list in the window of the current herald.
struct Near<'a> {
    list: List<'a>,
    start: usize,
    end: usize,
}

/// Counts the coincidences of the lists in `group`, the herald's first, that are complete only with a tag
/// that is not in a head: the number with all tags minus the number with the tags in the heads.
pub(crate) fn count(lists: &[List<'_>], group: &[u8], window: i64, once: bool) -> u128 {
    let heralds = lists[usize::from(group[0])];
    let mut others: Vec<Near<'_>> = group[1..]
        .iter()
        .map(|&number| Near { list: lists[usize::from(number)], start: 0, end: 0 })
        .collect();
    let mut count = 0_u128;
    for (row, &herald) in heralds.time.iter().enumerate() {
        let is_near = others.iter_mut().all(|other| other.move_to(herald, window));
        if is_near {
            let is_before = row < heralds.head;
            let more =
                if once { becomes_complete(&others, is_before) } else { ways(&others, is_before) };
            count = count.saturating_add(more);
        }
    }
    count
}

/// Returns 1 if the herald has its first coincidence with a tag that is not in a head.
fn becomes_complete(others: &[Near<'_>], is_before: bool) -> u128 {
    u128::from(!(is_before && others.iter().all(|other| other.in_head() > 0)))
}

/// Returns the number of ways that contain a tag that is not in a head. Saturates at 128 bits.
fn ways(others: &[Near<'_>], is_before: bool) -> u128 {
    let all = product(others.iter().map(Near::all));
    if !is_before {
        return all;
    }
    let before = product(others.iter().map(Near::in_head));
    match all {
        // Both products are too large. Their difference is 0 if they are equal; otherwise it is too large as
        // well, because each additional tag adds as many ways as the other lists have together.
        u128::MAX if others.iter().any(|other| other.all() > other.in_head()) => u128::MAX,
        u128::MAX => 0,
        _ => all - before,
    }
}

fn product(factors: impl Iterator<Item = usize>) -> u128 {
    factors.fold(1_u128, |product, factor| product.saturating_mul(factor as u128))
}

impl Near<'_> {
    /// Moves on to a later herald; returns whether there is a tag in its window.
    fn move_to(&mut self, herald: i64, window: i64) -> bool {
        let time = self.list.time;
        while self.start < time.len() && is_later(herald, time[self.start], window) {
            self.start += 1;
        }
        self.end = self.end.max(self.start);
        while self.end < time.len() && !is_later(time[self.end], herald, window) {
            self.end += 1;
        }
        self.end > self.start
    }

    fn all(&self) -> usize {
        self.end - self.start
    }

    fn in_head(&self) -> usize {
        self.end.min(self.list.head) - self.start.min(self.list.head)
    }
}

/// Returns whether `a` is more than `window` after `b`. Differences must fit in `i64`.
fn is_later(a: i64, b: i64, window: i64) -> bool {
    a - b > window
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clumping_of_equal_rates_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        let (x, every): (f64, _) = (0.2, Herald { once: false });
        near(every.clumping(&[x, x]), 1.0 + 4.0 * x);
        // m = 2x: the herald with one arm 2m, alone m²; an arm 2m², both 2/3 m.
        let m = 2.0 * x;
        near(every.clumping(&[x; 3]), 1.0 + 8.0 / 3.0 * m + 3.0 * m * m);
        near(every.clumping(&[x; 4]), 1.0 + 3.5 * m + 5.0 * m * m + 4.0 * m.powi(3));
        near(Herald { once: true }.clumping(&[x; 3]), 1.0);
    }
}
