//! The reference for each query, stated as plainly as code can: slow, and correct by inspection.
//!
//! These functions share no code with the engine. They follow docs/queries.md sentence by sentence and
//! compute in `i128`, where nothing overflows.

mod image;
mod image_repair;
mod scope;

pub use image::{
    ImageFrame, ImageLine, ImagePlace, image, image_dwell, image_faults, image_frames, image_lines,
    image_markers,
};
pub use image_repair::MarkerTimes;

use self::scope::{delayed, is_within};
use crate::rules::rule::Rule;

/// Counts pairs by rule `all`: every way to take one tag of channel `a` and one of channel `b` of one source
/// whose delayed times differ by at most `window` ticks.
///
/// `sources` holds the (time, channel) of every tag, `delays` the (channel, ticks) of the delayed channels.
/// Cost: the square of the number of tags.
pub fn pairs(
    sources: &[Vec<(i64, u16)>],
    a: u16,
    b: u16,
    window: i64,
    delays: &[(u16, i64)],
) -> u64 {
    let mut count = 0;
    for tags in sources {
        for &(time_a, channel_a) in tags {
            for &(time_b, channel_b) in tags {
                let difference =
                    delayed(time_b, channel_b, delays) - delayed(time_a, channel_a, delays);
                if channel_a == a && channel_b == b && difference.abs() <= i128::from(window) {
                    count += 1;
                }
            }
        }
    }
    count
}

/// Counts coincidences of a group by a rule. They are the ways to take one tag of each channel of `group`,
/// all of one source, that the rule takes and whose latest delayed time is at least `range.0` and below
/// `range.1`, if given. A way is rejected if a channel of `veto.0` has a tag between `veto.1` ticks before
/// its earliest tag and `veto.1` ticks after its latest tag. For rule `cluster` the channels in use are those
/// of the group.
///
/// Cost: the product of the tags of each channel.
pub fn coincidences(
    sources: &[Vec<(i64, u16)>],
    group: &[u16],
    rule: Rule,
    window: i64,
    delays: &[(u16, i64)],
    veto: (&[u16], i64),
    range: (Option<i64>, Option<i64>),
) -> u128 {
    let (from, to) = range;
    if rule == Rule::Once {
        return once(sources, group, window, delays, veto, [from, to]).into();
    }
    if rule == Rule::Cluster {
        let sets = clusters(sources, group, window, delays, [from, to]);
        return sets.iter().filter(|set| set.len() == group.len()).count() as u128;
    }
    let window = i128::from(window);
    let mut latest_times = Vec::new();
    for tags in sources {
        let mut of_herald: Vec<(usize, i128)> = Vec::new();
        for way in ways(tags, group, delays) {
            let times: Vec<i128> = way.iter().map(|&(_, time)| time).collect();
            let earliest = times.iter().fold(times[0], |a, &b| a.min(b));
            let latest = times.iter().fold(times[0], |a, &b| a.max(b));
            let is_taken = match rule {
                Rule::All => latest - earliest <= window,
                Rule::Herald | Rule::PerHerald => {
                    times.iter().all(|time| (time - times[0]).abs() <= window)
                }
                Rule::Grid => times.iter().all(|time| time / window == times[0] / window),
                Rule::Once | Rule::Cluster => false,
            } && !is_vetoed(tags, delays, veto, earliest, latest);
            if is_taken && rule == Rule::PerHerald {
                of_herald.push((way[0].0, latest));
            } else if is_taken {
                latest_times.push(latest);
            }
        }
        // Each herald counts once, when its first way is complete.
        of_herald.sort_unstable();
        of_herald.dedup_by_key(|&mut (herald, _)| herald);
        latest_times.extend(of_herald.iter().map(|&(_, latest)| latest));
    }
    latest_times.retain(|&time| from.is_none_or(|from| time >= i128::from(from)));
    latest_times.retain(|&time| to.is_none_or(|to| time < i128::from(to)));
    latest_times.len() as u128
}

/// Returns whether a tag of a veto channel lies between the guard before `earliest` and the guard after
/// `latest`.
fn is_vetoed(
    tags: &[(i64, u16)],
    delays: &[(u16, i64)],
    (veto, guard): (&[u16], i64),
    earliest: i128,
    latest: i128,
) -> bool {
    let near = earliest - i128::from(guard)..=latest + i128::from(guard);
    tags.iter().any(|&(time, channel)| {
        veto.contains(&channel) && near.contains(&delayed(time, channel, delays))
    })
}

/// Returns every way to take one tag of each channel, as (row, delayed time) of each.
fn ways(tags: &[(i64, u16)], group: &[u16], delays: &[(u16, i64)]) -> Vec<Vec<(usize, i128)>> {
    let mut ways = vec![Vec::new()];
    for &channel in group {
        let mut longer = Vec::new();
        for way in &ways {
            for (row, &(time, of_channel)) in tags.iter().enumerate() {
                if of_channel == channel {
                    let mut way: Vec<(usize, i128)> = way.clone();
                    way.push((row, delayed(time, channel, delays)));
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    ways
}

// Rates and histograms.

/// Counts the tags of `channel` whose delayed time lies in `from..to`; `None` means no limit.
pub fn singles(
    sources: &[Vec<(i64, u16)>],
    channel: u16,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> u64 {
    let mut count = 0;
    for &(time, of_channel) in sources.iter().flatten() {
        if of_channel == channel && is_within(delayed(time, channel, delays), from, to) {
            count += 1;
        }
    }
    count
}

/// Returns the live ticks: last minus first undelayed time of each source, cut to `from..to`, summed.
pub fn live(sources: &[Vec<(i64, u16)>], [from, to]: [Option<i64>; 2]) -> i128 {
    let mut live = 0;
    for tags in sources {
        if let (Some(&(first, _)), Some(&(last, _))) = (tags.first(), tags.last()) {
            let first = i128::from(first).max(from.map_or(i128::MIN, i128::from));
            let last = i128::from(last).min(to.map_or(i128::MAX, i128::from));
            if last > first {
                live += last - first;
            }
        }
    }
    live
}

/// Returns every Δ of the starts and stops of one source, in ticks, with the time by which it is selected:
/// the time of the later tag. All times are delayed.
pub fn differences(
    tags: &[(i64, u16)],
    [start, stop]: [u16; 2],
    delays: &[(u16, i64)],
) -> Vec<(i128, i128)> {
    let mut differences = Vec::new();
    for (i, &(time_start, channel_start)) in tags.iter().enumerate() {
        for (j, &(time_stop, channel_stop)) in tags.iter().enumerate() {
            if channel_start == start && channel_stop == stop && i != j {
                let time_start = delayed(time_start, start, delays);
                let time_stop = delayed(time_stop, stop, delays);
                differences.push((time_stop - time_start, time_stop.max(time_start)));
            }
        }
    }
    differences
}

/// Counts all pairs: bin k holds `edges[k]` ≤ Δ < `edges[k+1]`.
pub fn histogram(
    sources: &[Vec<(i64, u16)>],
    ends: [u16; 2],
    edges: &[i64],
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<u64> {
    let mut counts = vec![0; edges.len() - 1];
    for tags in sources {
        for (difference, latest) in differences(tags, ends, delays) {
            for k in 0..counts.len() {
                let low = i128::from(edges[k]);
                let high = i128::from(edges[k + 1]);
                if is_within(latest, from, to) && low <= difference && difference < high {
                    counts[k] += 1;
                }
            }
        }
    }
    counts
}

/// Counts all triples of a tag of each of the channels [H, A, B] of one source: cell a·n + b holds those with
/// `edges[a]` ≤ t_A − t_H < `edges[a+1]` and `edges[b]` ≤ t_B − t_H < `edges[b+1]`, n = `edges.len()` − 1. A
/// triple is selected by its latest tag.
pub fn histogram2d(
    sources: &[Vec<(i64, u16)>],
    channels: [u16; 3],
    edges: &[i64],
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<u64> {
    let bins = edges.len() - 1;
    let mut counts = vec![0; bins * bins];
    for tags in sources {
        for way in ways(tags, &channels, delays) {
            let times: Vec<i128> = way.iter().map(|&(_, time)| time).collect();
            let latest = times[0].max(times[1]).max(times[2]);
            for (cell, count) in counts.iter_mut().enumerate() {
                let is_in = |time: i128, bin: usize| {
                    let (low, high) = (i128::from(edges[bin]), i128::from(edges[bin + 1]));
                    low <= time - times[0] && time - times[0] < high
                };
                if is_within(latest, from, to)
                    && is_in(times[1], cell / bins)
                    && is_in(times[2], cell % bins)
                {
                    *count += 1;
                }
            }
        }
    }
    counts
}

/// Counts the tags of a channel by their micro time, the third number of each: bin k holds those with `edges[k]` ≤ d <
/// `edges[k+1]`. Tags without a micro time are in no bin.
pub fn micro_times(
    sources: &[Vec<(i64, u16, Option<u32>)>],
    channel: u16,
    edges: &[i64],
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<u64> {
    let mut counts = vec![0; edges.len() - 1];
    for &(time, of, micro) in sources.iter().flatten() {
        let Some(micro) = micro else { continue };
        for (k, count) in counts.iter_mut().enumerate() {
            let is_in_bin = edges[k] <= i64::from(micro) && i64::from(micro) < edges[k + 1];
            if of == channel && is_in_bin && is_within(delayed(time, of, delays), from, to) {
                *count += 1;
            }
        }
    }
    counts
}

/// Counts all pairs by rule `grid`: times are cells of `width` ticks, truncated toward zero; bin k holds the
/// pairs whose cells differ by `low` / `width` + k, with k from 0 to `bins`, both included.
pub fn histogram_grid(
    sources: &[Vec<(i64, u16)>],
    [start, stop]: [u16; 2],
    [low, width, bins]: [i64; 3],
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<u64> {
    let mut counts = Vec::new();
    for k in 0..=i128::from(bins) {
        let mut count = 0;
        for tags in sources {
            for (i, &(time_a, channel_a)) in tags.iter().enumerate() {
                for (j, &(time_b, channel_b)) in tags.iter().enumerate() {
                    let time_a = delayed(time_a, channel_a, delays);
                    let time_b = delayed(time_b, channel_b, delays);
                    let cells = time_b / i128::from(width) - time_a / i128::from(width);
                    let is_pair = channel_a == start && channel_b == stop && i != j;
                    let is_in_bin = cells == i128::from(low) / i128::from(width) + k;
                    if is_pair && is_in_bin && is_within(time_a.max(time_b), from, to) {
                        count += 1;
                    }
                }
            }
        }
        counts.push(count);
    }
    counts
}

/// Counts mode `next` (`is_next`: each start with its first stop at Δ ≥ 0) or `last` (each stop with its
/// latest start at Δ ≥ 0), and how many of those tags are in no bin. With one channel the partner is the
/// adjacent tag. Δ is folded by the period [ticks, periods] if there is one.
pub fn histogram_nearest(
    sources: &[Vec<(i64, u16)>],
    [start, stop]: [u16; 2],
    edges: &[i64],
    is_next: bool,
    period: Option<[u64; 2]>,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> (Vec<u64>, u64) {
    let mut counts = vec![0; edges.len() - 1];
    let mut dropped = 0;
    for tags in sources {
        let times_of = |channel: u16| -> Vec<i128> {
            let tags = tags.iter().filter(|&&(_, of_channel)| of_channel == channel);
            tags.map(|&(time, _)| delayed(time, channel, delays)).collect()
        };
        let (starts, stops) = (times_of(start), times_of(stop));
        let own = if is_next { &starts } else { &stops };
        for (i, &time) in own.iter().enumerate() {
            let partner = match (is_next, start == stop) {
                (true, true) => starts.get(i + 1).copied(),
                (true, false) => stops.iter().copied().filter(|&stop| stop >= time).min(),
                (false, true) => i.checked_sub(1).map(|i| stops[i]),
                (false, false) => starts.iter().copied().filter(|&start| start <= time).max(),
            };
            let latest = partner.map_or(time, |partner| partner.max(time));
            if !is_within(latest, from, to) {
                continue;
            }
            let mut bin = None;
            if let Some(partner) = partner {
                // The unit is a tick divided by the number of periods; in it, the period is a whole number.
                let [ticks, periods] =
                    period.map_or([1 << 100, 1], |period| period.map(i128::from));
                let folded = (partner - time).abs() * periods % ticks;
                for k in 0..counts.len() {
                    let low = i128::from(edges[k]) * periods;
                    let high = i128::from(edges[k + 1]) * periods;
                    if low <= folded && folded < high {
                        bin = Some(k);
                    }
                }
            }
            match bin {
                Some(k) => counts[k] += 1,
                None => dropped += 1,
            }
        }
    }
    (counts, dropped)
}

/// The expectation of one source for the bin `low` ≤ Δ < `high` for uncorrelated light: starts and stops whose
/// partner at the undelayed lag of the bin's middle lies in `partners`, the live time in which these can lie, and the
/// pairs of live times over the lags of the bin. Times are in half ticks, because a middle may be, pairs in quarters.
pub struct Expectation {
    /// Starts and stops.
    pub tags: [i128; 2],
    /// The times in which they can lie.
    pub times: [i128; 2],
    /// The pairs of times.
    pub pairs: f64,
}

/// Returns the expectation of a source that recorded in the intervals `live`, ends included.
pub fn expectation(
    tags: &[(i64, u16)],
    [live, partners]: [&[(i64, i64)]; 2],
    [start, stop]: [u16; 2],
    [low, high]: [i64; 2],
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Expectation {
    let twice = |time: i64| 2 * i128::from(time);
    let halves = |of: &[(i64, i64)]| -> Vec<[i128; 2]> {
        of.iter().map(|&(begin, end)| [twice(begin), twice(end)]).collect()
    };
    let [live, partners] = [live, partners].map(halves);
    let moves = [start, stop].map(|channel| 2 * delayed(0, channel, delays));
    let later = |lag: i128| usize::from(lag >= 0);
    let in_range = |end: usize, time: i128, lag: i128| {
        let start = if end == 0 { time } else { time + moves[1] - lag - moves[0] };
        let times = [start + moves[0], start + moves[0] + lag];
        let later = times[later(lag)];
        from.is_none_or(|from| later >= twice(from)) && to.is_none_or(|to| later < twice(to))
    };
    let partner = |end: usize, time: i128, lag: i128| {
        let apart = lag + moves[0] - moves[1];
        if end == 0 { time + apart } else { time - apart }
    };
    let middle = i128::from(low) + i128::from(high) - 1;
    let is_possible = |end: usize, time: i128| {
        let other = partner(end, time, middle);
        partners.iter().any(|&[begin, last]| (begin..=last).contains(&other))
            && in_range(end, time, middle)
    };
    let count = |end: usize, channel: u16| {
        let of = tags.iter().filter(|&&(time, of)| of == channel && is_possible(end, twice(time)));
        of.count() as i128
    };
    // The live times of one end whose partner lies in `others`.
    let shared = |end: usize, others: &[[i128; 2]], lag: i128| -> i128 {
        let apart = partner(end, 0, lag);
        let moved = if later(lag) == end { moves[end] } else { moves[1 - end] + apart };
        let limits = [
            from.map_or(i128::MIN / 4, |from| twice(from) - moved),
            to.map_or(i128::MAX / 4, |to| twice(to) - moved),
        ];
        let of = |own: &[i128; 2]| {
            let common = |other: &[i128; 2]| {
                let begin = own[0].max(other[0] - apart).max(limits[0]);
                (own[1].min(other[1] - apart).min(limits[1]) - begin).max(0)
            };
            others.iter().map(common).sum::<i128>()
        };
        live.iter().map(of).sum()
    };
    let pairs = if live.len() == 1 {
        2.0 * shared(0, &live, middle) as f64 * (i128::from(high) - i128::from(low)) as f64
    } else {
        (low..high).map(|lag| 2.0 * shared(0, &live, twice(lag)) as f64).sum()
    };
    Expectation {
        tags: [count(0, start), count(1, stop)],
        times: [0, 1].map(|end| shared(end, &partners, middle)),
        pairs,
    }
}

// Rules that use tags up.

/// Counts coincidences by rule `once`, greedy: take the earliest unused tag of each channel of `group`; if
/// they lie within `window`, they count and are used up; otherwise the earliest one is dropped. A match is
/// not counted if its latest tag is not in `from..to`, or if a `veto` channel has a tag between `guard` ticks
/// before its earliest tag and `guard` ticks after its latest tag.
pub fn once(
    sources: &[Vec<(i64, u16)>],
    group: &[u16],
    window: i64,
    delays: &[(u16, i64)],
    veto: (&[u16], i64),
    [from, to]: [Option<i64>; 2],
) -> u64 {
    let mut count = 0;
    for tags in sources {
        let times_of = |channel: u16| {
            let of_channel = tags.iter().filter(|&&(_, other)| other == channel);
            let mut times: Vec<i128> =
                of_channel.map(|&(time, _)| delayed(time, channel, delays)).collect();
            times.sort_unstable();
            times
        };
        let mut unused: Vec<Vec<i128>> = group.iter().map(|&channel| times_of(channel)).collect();
        while unused.iter().all(|times| !times.is_empty()) {
            let earliest = unused.iter().map(|times| times[0]).min().unwrap_or(0);
            let latest = unused.iter().map(|times| times[0]).max().unwrap_or(0);
            if latest - earliest > i128::from(window) {
                for times in &mut unused {
                    if times[0] == earliest {
                        times.remove(0);
                        break;
                    }
                }
                continue;
            }
            for times in &mut unused {
                times.remove(0);
            }
            if is_within(latest, from, to) && !is_vetoed(tags, delays, veto, earliest, latest) {
                count += 1;
            }
        }
    }
    count
}

/// Finds events by rule `cluster`: a cluster opens at the first tag of `channels` after the previous cluster,
/// and takes every tag up to `window` after that tag. Returns the channels of each cluster that opens in
/// `from..to`, sorted and without duplicates.
pub fn clusters(
    sources: &[Vec<(i64, u16)>],
    channels: &[u16],
    window: i64,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<Vec<u16>> {
    let mut clusters = Vec::new();
    for tags in sources {
        let mut rest: Vec<(i128, u16)> = tags
            .iter()
            .filter(|&&(_, channel)| channels.contains(&channel))
            .map(|&(time, channel)| (delayed(time, channel, delays), channel))
            .collect();
        rest.sort_unstable();
        while let Some(&(first, _)) = rest.first() {
            let (cluster, later): (Vec<_>, Vec<_>) =
                rest.into_iter().partition(|&(time, _)| time - first <= i128::from(window));
            let mut set: Vec<u16> = cluster.into_iter().map(|(_, channel)| channel).collect();
            set.sort_unstable();
            set.dedup();
            if is_within(first, from, to) {
                clusters.push(set);
            }
            rest = later;
        }
    }
    clusters
}

/// Returns the smallest difference of two tags of a channel in one source; `None` if no source has two.
pub fn shortest_interval(sources: &[Vec<(i64, u16)>], channel: u16) -> Option<i128> {
    let mut shortest = None;
    for tags in sources {
        for (i, &(time, of)) in tags.iter().enumerate() {
            for &(other, of_other) in &tags[..i] {
                let apart = (i128::from(time) - i128::from(other)).abs();
                if of == channel
                    && of_other == channel
                    && shortest.is_none_or(|least| apart < least)
                {
                    shortest = Some(apart);
                }
            }
        }
    }
    shortest
}

// The tuples.

/// Returns the tuples that [`coincidences`] counts, for all rules but `cluster`: the delayed time of the
/// latest tag, and the row of the tag of each channel of `group`, with rows numbered over all sources. In
/// order of time, then of sources, then of rows.
pub fn tuples(
    sources: &[Vec<(i64, u16)>],
    group: &[u16],
    rule: Rule,
    window: i64,
    delays: &[(u16, i64)],
    veto: (&[u16], i64),
    [from, to]: [Option<i64>; 2],
) -> Vec<(i128, Vec<usize>)> {
    let window = i128::from(window);
    let mut all = Vec::new();
    let mut first_row = 0;
    for tags in sources {
        let mut of_source: Vec<(i128, Vec<usize>)> = Vec::new();
        // For rule `once`, in order of time and then of rows: earlier tags are used up first.
        let mut ways = ways(tags, group, delays);
        let latest = |way: &[(usize, i128)]| way.iter().map(|&(_, time)| time).max();
        let earliest = |way: &[(usize, i128)]| way.iter().map(|&(_, time)| time).min();
        ways.sort_by_key(|way| (latest(way), way.clone()));
        for way in ways {
            let rows: Vec<usize> = way.iter().map(|&(row, _)| row).collect();
            let times: Vec<i128> = way.iter().map(|&(_, time)| time).collect();
            let (Some(earliest), Some(latest)) = (earliest(&way), latest(&way)) else { continue };
            let is_taken = match rule {
                Rule::All | Rule::Once => latest - earliest <= window,
                Rule::Herald | Rule::PerHerald => {
                    times.iter().all(|time| (time - times[0]).abs() <= window)
                }
                Rule::Grid => times.iter().all(|time| time / window == times[0] / window),
                Rule::Cluster => false,
            };
            let is_vetoed = is_vetoed(tags, delays, veto, earliest, latest);
            let is_used = of_source.iter().any(|(_, used)| match rule {
                Rule::PerHerald => used[0] == rows[0],
                Rule::Once => rows.iter().any(|row| used.contains(row)),
                _ => false,
            });
            // A match that is rejected by a veto uses its tags up, too.
            if is_taken && !is_used && (!is_vetoed || rule == Rule::Once) {
                of_source.push((latest, rows));
            }
        }
        for (latest, rows) in of_source {
            let times = rows.iter().map(|&row| delayed(tags[row].0, tags[row].1, delays));
            let earliest = times.fold(latest, i128::min);
            let is_vetoed = is_vetoed(tags, delays, veto, earliest, latest);
            if is_within(latest, from, to) && !is_vetoed {
                all.push((latest, rows.iter().map(|row| first_row + row).collect()));
            }
        }
        first_row += tags.len();
    }
    all.sort();
    all
}

/// Returns the tags of each cluster that [`clusters`] returns: the delayed time of its first tag, and the
/// rows of all its tags, in order of delayed time and then of rows. In order of the first tag, then of
/// sources.
pub fn cluster_tags(
    sources: &[Vec<(i64, u16)>],
    channels: &[u16],
    window: i64,
    delays: &[(u16, i64)],
    [from, to]: [Option<i64>; 2],
) -> Vec<(i128, Vec<usize>)> {
    let mut clusters: Vec<(i128, Vec<usize>)> = Vec::new();
    let mut first_row = 0;
    for tags in sources {
        let mut rest: Vec<(i128, usize)> = Vec::new();
        for (row, &(time, channel)) in tags.iter().enumerate() {
            if channels.contains(&channel) {
                rest.push((delayed(time, channel, delays), first_row + row));
            }
        }
        rest.sort_unstable();
        while let Some(&(first, _)) = rest.first() {
            let is_in = |&&(time, _): &&(i128, usize)| time - first <= i128::from(window);
            let cluster: Vec<usize> = rest.iter().filter(is_in).map(|&(_, row)| row).collect();
            rest.drain(..cluster.len());
            if is_within(first, from, to) {
                clusters.push((first, cluster));
            }
        }
        first_row += tags.len();
    }
    clusters.sort_by_key(|&(first, _)| first);
    clusters
}
