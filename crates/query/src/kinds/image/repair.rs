//! Lost and double markers: what the median distances of markers say is missing is put in.
//!
//! Lines begin at 0, 10, 20, 40 and 41: the median distance is 10, so that a beginning at 30 was lost, and that at 41 is
//! the one at 40 once more.

use super::{Image, ImageReport};
use crate::run::time_range::TimeRange;

/// A distance may be off by this part of a median: one in four.
const PART: i128 = 4;

/// A marker, in the order in which markers of the same time count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Marker {
    End,
    Frame,
    Start,
}

/// A marker that was found, in the order in which markers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundMarker {
    /// The delayed time.
    pub time: i64,
    pub marker: Marker,
    pub row: usize,
}

/// Returns the markers of a source with lost ones put in and double ones left out, and how many of these are in
/// `range`.
pub(super) fn repaired(
    found: &[FoundMarker],
    image: &Image,
    range: TimeRange,
) -> (Vec<FoundMarker>, ImageReport) {
    let of =
        |kind| found.iter().copied().filter(|of| of.marker == kind).collect::<Vec<FoundMarker>>();
    let mut repair = Repair { range, report: ImageReport::default() };
    let (starts, frames) = (of(Marker::Start), of(Marker::Frame));
    let line = spacing(&starts, &frames);
    let frames = repair.frames(&frames, &starts, line);
    let starts = match line {
        Some(line) => repair.starts(&starts, &frames, line, image),
        None => starts,
    };
    let ends = of(Marker::End);
    let added = match image.markers.line_end {
        Some(_) => repair.ends(&starts, &ends),
        None => repair.last_end(&starts, &frames, line),
    };
    let mut all = [frames, starts, ends, added].concat();
    all.sort_unstable();
    (all, repair.report)
}

struct Repair {
    range: TimeRange,
    report: ImageReport,
}

impl Repair {
    fn counted(&self, time: i64) -> u64 {
        u64::from(self.range.contains(time))
    }

    /// Returns the frame markers. A lost one is at the first beginning of a line after it.
    fn frames(
        &mut self,
        found: &[FoundMarker],
        starts: &[FoundMarker],
        line: Option<i128>,
    ) -> Vec<FoundMarker> {
        let (Some(frame), Some(line)) = (spacing(found, &[]), line) else {
            return found.to_vec();
        };
        let mut all: Vec<FoundMarker> = Vec::new();
        let mut added = 0;
        let kept = self.without_doubles(found, &[], frame);
        for (at, of) in kept.iter().enumerate() {
            all.push(*of);
            let begin = i128::from(of.time);
            let expected: Vec<i128> = if let Some(next) = kept.get(at + 1) {
                let gap = i128::from(next.time) - begin;
                let parts = parts(gap, frame, found.len() - added);
                (1..parts).map(|part| begin + part * gap / parts).collect()
            } else {
                let last = starts.last().map_or(begin, |of| i128::from(of.time));
                let frames = ((last - begin + line / 2) / frame).min(to_i128(found.len() - added));
                (1..=frames).map(|of| begin + of * frame).collect()
            };
            let end = kept.get(at + 1).map(|next| next.time);
            for time in expected {
                let place = starts.partition_point(|of| i128::from(of.time) < time - line / 2);
                let before = all.last().map_or(i64::MIN, |of| of.time);
                if let Some(start) = starts.get(place)
                    && start.time > before
                    && end.is_none_or(|end| start.time < end)
                {
                    self.report.frames_added += self.counted(start.time);
                    all.push(FoundMarker { marker: Marker::Frame, ..*start });
                    added += 1;
                }
            }
        }
        all
    }

    /// Returns the beginnings of lines. A frame has no more of them than it should, if some are put in.
    fn starts(
        &mut self,
        found: &[FoundMarker],
        frames: &[FoundMarker],
        line: i128,
        image: &Image,
    ) -> Vec<FoundMarker> {
        let kept = self.without_doubles(found, frames, line);
        let lead = median(leads(&kept, frames));
        let of_frame = i128::from(image.raster.all_lines());
        let mut all: Vec<FoundMarker> = Vec::with_capacity(kept.len());
        let (mut in_frame, mut added) = (0, 0);
        for (at, start) in kept.iter().enumerate() {
            let time = i128::from(start.time);
            let begun = frame_at(frames, start.time);
            let before = at.checked_sub(1).map(|before| kept[before]);
            let before = before.filter(|of| begun.is_none_or(|begun| begun <= of.time));
            let most = found.len() - added;
            let times: Vec<i128> = if let Some(before) = before {
                let (before, gap) = (i128::from(before.time), time - i128::from(before.time));
                let parts = parts(gap, line, most);
                let last = (parts - 1).min(of_frame - in_frame);
                (1..=last).map(|part| before + part * gap / parts).collect()
            } else {
                in_frame = 0;
                let first = begun.zip(lead).map_or(0, |(begun, lead)| {
                    let late = time - i128::from(begun) - lead;
                    (parts(late + line, line, most) - 1).min(of_frame - 1)
                });
                let begun = i128::from(begun.unwrap_or(i64::MIN));
                (1..=first).rev().map(|line_of| (time - line_of * line).max(begun)).collect()
            };
            for time in times.into_iter().filter_map(|time| i64::try_from(time).ok()) {
                self.report.starts_added += self.counted(time);
                all.push(FoundMarker { time, ..*start });
                (in_frame, added) = (in_frame + 1, added + 1);
            }
            if image.markers.frame.is_none() && in_frame >= of_frame {
                in_frame = 0;
            }
            all.push(*start);
            in_frame += 1;
        }
        all
    }

    /// Returns the ends of lines that have none.
    fn ends(&mut self, starts: &[FoundMarker], ends: &[FoundMarker]) -> Vec<FoundMarker> {
        let next = |at: usize| starts.get(at + 1).map(|of| of.time);
        let end_of = |at: usize| {
            let place = ends.partition_point(|of| of.time <= starts[at].time);
            ends.get(place).map(|of| of.time).filter(|&end| next(at).is_none_or(|next| end <= next))
        };
        let lengths = (0..starts.len())
            .filter_map(|at| Some(i128::from(end_of(at)?) - i128::from(starts[at].time)));
        let Some(length) = median(lengths.collect()) else { return Vec::new() };
        let mut added = Vec::new();
        for (at, start) in starts.iter().enumerate().filter(|&(at, _)| end_of(at).is_none()) {
            let end = i64::try_from(i128::from(start.time) + length).unwrap_or(i64::MAX);
            let time = next(at).map_or(end, |next| next.min(end));
            if time > start.time {
                self.report.ends_added += self.counted(time);
                added.push(FoundMarker { time, marker: Marker::End, row: start.row });
            }
        }
        added
    }

    /// Returns the end of the last line, if no marker tells where lines end.
    fn last_end(
        &mut self,
        starts: &[FoundMarker],
        frames: &[FoundMarker],
        line: Option<i128>,
    ) -> Vec<FoundMarker> {
        let (Some(last), Some(line)) = (starts.last(), line) else { return Vec::new() };
        let time = i64::try_from(i128::from(last.time) + line).unwrap_or(i64::MAX);
        if frames.last().is_some_and(|frame| frame.time > last.time) {
            return Vec::new();
        }
        self.report.ends_added += self.counted(time);
        vec![FoundMarker { time, marker: Marker::End, row: last.row }]
    }

    /// Leaves out markers that follow one of their kind within half of a distance, with no frame marker between.
    fn without_doubles(
        &mut self,
        found: &[FoundMarker],
        frames: &[FoundMarker],
        distance: i128,
    ) -> Vec<FoundMarker> {
        let mut kept: Vec<FoundMarker> = Vec::with_capacity(found.len());
        for of in found {
            let is_double = kept.last().is_some_and(|before| {
                2 * (i128::from(of.time) - i128::from(before.time)) < distance
                    && frame_at(frames, of.time).is_none_or(|frame| frame <= before.time)
            });
            if is_double {
                self.report.doubles_left_out += self.counted(of.time);
            } else {
                kept.push(*of);
            }
        }
        kept
    }
}

/// Returns the last frame marker up to a time.
fn frame_at(frames: &[FoundMarker], time: i64) -> Option<i64> {
    let after = frames.partition_point(|frame| frame.time <= time);
    Some(frames.get(after.checked_sub(1)?)?.time)
}

/// Returns the median distance of markers that have no frame marker between them, if it is more than zero.
fn spacing(found: &[FoundMarker], frames: &[FoundMarker]) -> Option<i128> {
    let pairs = found.windows(2).map(|pair| (pair[0].time, pair[1].time));
    let apart = pairs.filter(|&(one, next)| frame_at(frames, next).is_none_or(|at| at <= one));
    let distances = apart.map(|(one, next)| i128::from(next) - i128::from(one));
    median(distances.collect()).filter(|&of| of > 0)
}

/// Returns how long after its frame marker the first line of each frame begins.
fn leads(starts: &[FoundMarker], frames: &[FoundMarker]) -> Vec<i128> {
    let of_frame = |(at, frame): (usize, &FoundMarker)| {
        let start = starts.get(starts.partition_point(|of| of.time < frame.time))?.time;
        let is_own = frames.get(at + 1).is_none_or(|next| start < next.time);
        is_own.then(|| i128::from(start) - i128::from(frame.time))
    };
    frames.iter().enumerate().filter_map(of_frame).collect()
}

/// Returns the median of at least two distances, of an even number the lower one.
fn median(mut of: Vec<i128>) -> Option<i128> {
    if of.len() < 2 {
        return None;
    }
    let middle = (of.len() - 1) / 2;
    Some(*of.select_nth_unstable(middle).1)
}

/// Returns how many distances a gap holds: 1 if that is no whole number, within a part of a distance, or if it is more
/// than `most` and one.
fn parts(gap: i128, distance: i128, most: usize) -> i128 {
    let parts = (2 * gap + distance).div_euclid(2 * distance);
    let is_whole = PART * (gap - parts * distance).abs() <= distance;
    if parts >= 2 && is_whole && parts - 1 <= to_i128(most) { parts } else { 1 }
}

fn to_i128(of: usize) -> i128 {
    i128::try_from(of).unwrap_or(i128::MAX)
}
