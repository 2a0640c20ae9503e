//! Groups with a herald: every way to take one herald and one tag of each other channel within the window of
//! the herald, or each herald once.

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
