//! Counts by plain methods, different from those of the queries: pointers over the sorted times of each
//! channel.

use std::collections::BTreeMap;

use rayon::prelude::*;

/// Returns the times of each of the channels 0 to 8.
pub fn times_of_channels(time: &[i64], label: &[u8]) -> Vec<Vec<i64>> {
    let of = |channel: u8| -> Vec<i64> {
        let tags = time.iter().zip(label);
        tags.filter(|&(_, &label)| label == channel).map(|(&time, _)| time).collect()
    };
    (0..=8).into_par_iter().map(of).collect()
}

/// Returns the times with a delay added.
pub fn delayed(times: &[i64], delay: i64) -> Vec<i64> {
    times.iter().map(|time| time + delay).collect()
}

/// Counts the ways to take one tag of each list with latest minus earliest within the window: for each tag as
/// the earliest, the product of the numbers of tags in the other lists up to the window later. Of equal times
/// the tag of the first list is the earliest.
pub fn all(lists: &[&[i64]], window: i64) -> u64 {
    let of_first = |first: usize| -> u64 {
        let mut count = 0;
        let mut ends = vec![(0, 0); lists.len()];
        for &time in lists[first] {
            let mut product = 1;
            for (other, (from, to)) in ends.iter_mut().enumerate() {
                if other != first {
                    let earliest = if other > first { time } else { time + 1 };
                    product *= between(lists[other], earliest, time + window, from, to);
                }
            }
            count += product;
        }
        count
    };
    (0..lists.len()).into_par_iter().map(of_first).sum()
}

/// Counts the ways to take one tag of the first list and one of each other within the window around it. With
/// `once`, counts the tags of the first list that have at least one such way.
pub fn herald(lists: &[&[i64]], window: i64, once: bool) -> u64 {
    let mut count = 0;
    let mut ends = vec![(0, 0); lists.len()];
    for &time in lists[0] {
        let near = lists[1..].iter().zip(&mut ends);
        let product: u64 = near
            .map(|(list, (from, to))| between(list, time - window, time + window, from, to))
            .product();
        count += if once { product.min(1) } else { product };
    }
    count
}

/// Counts pairs within the window without a veto from `guard` before the earlier tag to `guard` after the later one.
pub fn allowed_pairs(a: &[i64], b: &[i64], vetoes: &[i64], window: i64, guard: i64) -> u64 {
    let mut count = 0;
    let (mut first, mut veto) = (0, 0);
    for &time in a {
        first += b[first..].iter().take_while(|&&other| other < time - window).count();
        for &other in b[first..].iter().take_while(|&&other| other <= time + window) {
            let (earliest, latest) = (time.min(other) - guard, time.max(other) + guard);
            // The earlier tag may be earlier than that of the pair before.
            while veto > 0 && vetoes[veto - 1] >= earliest {
                veto -= 1;
            }
            veto += vetoes[veto..].iter().take_while(|&&veto| veto < earliest).count();
            count += u64::from(vetoes.get(veto).is_none_or(|&veto| veto > latest));
        }
    }
    count
}

/// Counts pairs in one cell, for non-negative times.
pub fn grid(a: &[i64], b: &[i64], width: i64) -> u64 {
    let (mut from, mut to, mut count) = (0, 0, 0);
    for &time in b {
        let cell = time / width * width;
        count += between(a, cell, cell + width - 1, &mut from, &mut to);
    }
    count
}

/// Counts matches: takes the earliest unused tag of each list. If all lie within the window, they count and
/// are used up; otherwise the earliest of them is dropped.
pub fn once(lists: &[&[i64]], window: i64) -> u64 {
    let mut at = vec![0; lists.len()];
    let mut count = 0;
    loop {
        let Some(fronts) = lists
            .iter()
            .zip(&at)
            .map(|(list, &at)| list.get(at).copied())
            .collect::<Option<Vec<i64>>>()
        else {
            return count;
        };
        let (earliest, &first) =
            fronts.iter().enumerate().min_by_key(|&(_, &time)| time).unwrap_or((0, &0));
        if fronts.iter().all(|&time| time - first <= window) {
            for at in &mut at {
                *at += 1;
            }
            count += 1;
        } else {
            at[earliest] += 1;
        }
    }
}

/// Counts the events of the wanted channels for each set of channels that occurs, sorted by size and then by
/// channels.
pub fn clusters(time: &[i64], label: &[u8], wanted: &[u16], window: i64) -> Vec<u64> {
    let mut counts: BTreeMap<(u32, Vec<u8>), u64> = BTreeMap::new();
    let mut of_set = vec![0_u64; 512];
    let (mut first, mut set) = (i64::MIN, 0_usize);
    for (&time, &label) in time.iter().zip(label) {
        if !wanted.contains(&label.into()) {
            continue;
        }
        if set == 0 || time - first > window {
            of_set[set] += 1;
            (first, set) = (time, 0);
        }
        set |= 1 << label;
    }
    of_set[set] += 1;
    for (set, &count) in of_set.iter().enumerate().skip(1).filter(|&(_, &count)| count > 0) {
        let channels = (0..9).filter(|channel| set >> channel & 1 == 1).collect();
        counts.insert((set.count_ones(), channels), count);
    }
    counts.into_values().collect()
}

/// Counts pairs by the bin of their later tag, for bins of `width` from `first` to that of `last`.
pub fn trace(a: &[i64], b: &[i64], window: i64, first: i64, width: i64, last: i64) -> Vec<u64> {
    let bin = |time: i64| usize::try_from((time - first) / width).unwrap_or(0);
    let mut counts = vec![0; bin(last) + 1];
    let mut add = |later: &[i64], earlier: &[i64], end: i64| {
        let (mut from, mut to) = (0, 0);
        for &time in later {
            counts[bin(time)] += between(earlier, time - window, time - end, &mut from, &mut to);
        }
    };
    // Of equal times the tag of `a` counts as the later one.
    add(a, b, 0);
    add(b, a, 1);
    counts
}

/// Counts the times of `list` from `first` to `last`; both must increase from call to call.
fn between(list: &[i64], first: i64, last: i64, from: &mut usize, to: &mut usize) -> u64 {
    while *from < list.len() && list[*from] < first {
        *from += 1;
    }
    while *to < list.len() && list[*to] <= last {
        *to += 1;
    }
    (*to).saturating_sub(*from) as u64
}
