//! The reference for lost and double markers of images.

use crate::kinds::{Markers, Raster};

/// The delayed times of the markers of a source, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarkerTimes {
    /// Lines begin.
    pub starts: Vec<i128>,
    /// Lines end.
    pub ends: Vec<i128>,
    /// Frames begin.
    pub frames: Vec<i128>,
    /// Beginnings of lines that were put in.
    pub starts_added: Vec<i128>,
    /// Ends of lines that were put in.
    pub ends_added: Vec<i128>,
    /// Frame markers that were put in.
    pub frames_added: Vec<i128>,
    /// Beginnings of lines and frames that were left out.
    pub doubles: Vec<i128>,
}

/// The lower median of at least two distances.
fn median(distances: &[i128]) -> Option<i128> {
    let mut sorted = distances.to_vec();
    sorted.sort_unstable();
    if sorted.len() < 2 { None } else { Some(sorted[(sorted.len() - 1) / 2]) }
}

/// The distances of times that follow each other with no frame marker between.
fn distances(times: &[i128], frames: &[i128]) -> Vec<i128> {
    let mut distances = Vec::new();
    for pair in times.windows(2) {
        if !frames.iter().any(|&frame| pair[0] < frame && frame <= pair[1]) {
            distances.push(pair[1] - pair[0]);
        }
    }
    distances
}

/// The number of distances in a gap, if it is a whole number from 2 on within a quarter of a distance.
fn whole(gap: i128, distance: i128) -> Option<i128> {
    for parts in 2.. {
        if parts * distance - gap > distance / 4 + 1 {
            return None;
        }
        if 4 * (gap - parts * distance).abs() <= distance {
            // Half way between two numbers is off by more.
            return Some(parts);
        }
    }
    None
}

/// Returns the times without those that follow one within half of a distance, and those.
fn without_doubles(times: &[i128], frames: &[i128], distance: i128) -> (Vec<i128>, Vec<i128>) {
    let (mut kept, mut doubles): (Vec<i128>, Vec<i128>) = (Vec::new(), Vec::new());
    for &time in times {
        match kept.last() {
            Some(&last)
                if 2 * (time - last) < distance
                    && !frames.iter().any(|&frame| last < frame && frame <= time) =>
            {
                doubles.push(time);
            }
            _ => kept.push(time),
        }
    }
    (kept, doubles)
}

/// Returns the markers with lost ones put in and double ones left out (docs/queries.md, section "Images").
pub(super) fn repaired(found: &MarkerTimes, markers: Markers, raster: Raster) -> MarkerTimes {
    let mut of = found.clone();
    let line = median(&distances(&found.starts, &found.frames)).filter(|&line| line > 0);
    if let Some(line) = line {
        repair_frames(&mut of, found, line);
        repair_starts(&mut of, found, line, (markers, raster));
    }
    if markers.line_end.is_some() {
        repair_ends(&mut of, found);
    } else if let (Some(line), Some(&last)) = (line, of.starts.last())
        && of.frames.last().is_none_or(|&frame| frame <= last)
    {
        of.ends.push(last + line);
        of.ends_added.push(last + line);
    }
    of
}

fn repair_frames(of: &mut MarkerTimes, found: &MarkerTimes, line: i128) {
    let Some(length) = median(&distances(&found.frames, &[])).filter(|&length| length > 0) else {
        return;
    };
    let (kept, doubles) = without_doubles(&found.frames, &[], length);
    of.doubles.extend(doubles);
    of.frames.clear();
    for (at, &begin) in kept.iter().enumerate() {
        of.frames.push(begin);
        let left = found.frames.len() as i128 - of.frames_added.len() as i128;
        let mut expected = Vec::new();
        if let Some(next) = kept.get(at + 1) {
            let parts = whole(next - begin, length).filter(|parts| parts - 1 <= left);
            for part in 1..parts.unwrap_or(1) {
                expected.push(begin + part * (next - begin) / parts.unwrap_or(1));
            }
        } else {
            let last = found.starts.last().copied().unwrap_or(begin);
            for number in 1..=left {
                if begin + number * length <= last + line / 2 {
                    expected.push(begin + number * length);
                }
            }
        }
        for time in expected {
            let first = found.starts.iter().copied().find(|&start| start >= time - line / 2);
            let is_free = |start: &i128| {
                of.frames.iter().all(|frame| frame < start)
                    && kept.get(at + 1).is_none_or(|next| start < next)
            };
            if let Some(start) = first.filter(is_free) {
                of.frames.push(start);
                of.frames_added.push(start);
            }
        }
    }
}

fn repair_starts(
    of: &mut MarkerTimes,
    found: &MarkerTimes,
    line: i128,
    (markers, raster): (Markers, Raster),
) {
    let (kept, doubles) = without_doubles(&found.starts, &of.frames, line);
    of.doubles.extend(doubles);
    let mut leads = Vec::new();
    for (at, &frame) in of.frames.iter().enumerate() {
        let first = kept.iter().copied().find(|&start| start >= frame);
        if let Some(first) = first
            && of.frames.get(at + 1).is_none_or(|&next| first < next)
        {
            leads.push(first - frame);
        }
    }
    let lead = median(&leads);
    let lines = i128::from(raster.lines) + i128::from(raster.first_line);
    of.starts.clear();
    let mut in_frame = 0;
    for (at, &start) in kept.iter().enumerate() {
        let begun = of.frames.iter().copied().rfind(|&frame| frame <= start);
        let before = at.checked_sub(1).map(|before| kept[before]);
        let before = before.filter(|before| begun.is_none_or(|begun| begun <= *before));
        let left = found.starts.len() as i128 - of.starts_added.len() as i128;
        let mut added = Vec::new();
        if let Some(before) = before {
            if let Some(parts) = whole(start - before, line).filter(|parts| parts - 1 <= left) {
                for part in 1..parts {
                    if in_frame + part <= lines {
                        added.push(before + part * (start - before) / parts);
                    }
                }
            }
        } else {
            in_frame = 0;
            if let (Some(begun), Some(lead)) = (begun, lead) {
                let late = start - begun - lead + line;
                if let Some(parts) = whole(late, line).filter(|parts| parts - 1 <= left) {
                    for before in (1..parts.min(lines)).rev() {
                        added.push((start - before * line).max(begun));
                    }
                }
            }
        }
        in_frame += added.len() as i128;
        of.starts.extend(&added);
        of.starts_added.extend(added);
        if markers.frame.is_none() && in_frame >= lines {
            in_frame = 0;
        }
        of.starts.push(start);
        in_frame += 1;
    }
}

fn repair_ends(of: &mut MarkerTimes, found: &MarkerTimes) {
    let end_of = |at: usize| {
        let (start, next) = (of.starts[at], of.starts.get(at + 1));
        let end = found.ends.iter().copied().find(|&end| end > start);
        end.filter(|end| next.is_none_or(|next| end <= next))
    };
    let mut lengths = Vec::new();
    for at in 0..of.starts.len() {
        lengths.extend(end_of(at).map(|end| end - of.starts[at]));
    }
    let Some(length) = median(&lengths) else { return };
    for at in 0..of.starts.len() {
        let start = of.starts[at];
        let end =
            of.starts.get(at + 1).map_or(start + length, |next| start + length.min(next - start));
        if end_of(at).is_none() && end > start {
            of.ends_added.push(end);
        }
    }
    of.ends.extend(&of.ends_added);
    of.ends.sort_unstable();
}
