//! Lines and frames from the tags of markers.
//!
//! Line starts at 0, 100 and 200 without end markers: the lines are 0 to 100 and 100 to 200; the last one has no end
//! and is not counted. With end markers, a start without an end keeps its number, so that the lines after it stay in
//! their rows.

use rayon::prelude::*;
use tagq_store::{Channels, TimeReader};

use super::{
    Image, ImageReport, Raster,
    repair::{FoundMarker, Marker, repaired},
};
use crate::{
    run::{
        recording::{Recording, Source},
        time_range::TimeRange,
    },
    scan::{morsels::Execution, route::COLUMN_ROWS},
};

/// Rows whose labels are compared with those of markers together.
const SEARCHED: usize = 1 << 6;

/// A line that has an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    /// The times of the line: from `start` up to, not including, `end`.
    pub start: i64,
    pub end: i64,
    /// Its number in the frame.
    pub number: u64,
    /// The frame, numbered in the run.
    pub frame: usize,
    /// The row of the marker that begins it.
    pub row: usize,
}

/// The place of a line in its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePlace {
    /// A row of the image.
    Row(usize),
    /// After the last row.
    Beyond,
    /// In lines or frames that are left out.
    Skipped,
}

impl Line {
    pub(super) fn place(&self, raster: &Raster) -> LinePlace {
        let &Raster { lines, first_line, first_frame, .. } = raster;
        let is_skipped = self.frame < first_frame as usize;
        match self.number.checked_sub(first_line.into()).filter(|_| !is_skipped) {
            None => LinePlace::Skipped,
            Some(row) if row >= lines.into() => LinePlace::Beyond,
            #[expect(clippy::cast_possible_truncation, reason = "below the lines of the raster")]
            Some(row) => LinePlace::Row(row as usize),
        }
    }
}

/// The lines of a source.
#[derive(Debug)]
pub(super) struct SourceLines {
    /// In order of time, and apart from each other.
    pub lines: Vec<Line>,
    /// The number of its first frame.
    pub first_frame: usize,
    pub counts: MarkerCounts,
}

/// The markers in a range.
#[derive(Debug)]
pub(super) struct MarkerCounts {
    pub report: ImageReport,
    /// The lines of each frame of the source that begins there.
    pub lines: Vec<u64>,
}

/// Returns the lines of each source, and the counts of its markers in `range`.
pub(super) fn of_sources(
    image: &Image,
    recording: &Recording<'_>,
    range: TimeRange,
    execution: &Execution,
) -> Vec<SourceLines> {
    let mut first_frame = 0;
    let of_source = |source: &Source<'_>| {
        let mut markers = markers(image, source, execution);
        let mut report = ImageReport::default();
        if image.markers.is_repaired {
            (markers, report) = repaired(&markers, image, range);
        }
        let mut lines = LineMaker { report, ..LineMaker::new(image, range, first_frame) };
        for FoundMarker { time, marker, row } in markers {
            lines.take(time, marker, row);
        }
        let lines = lines.finish();
        first_frame += lines.counts.lines.len();
        lines
    };
    recording.sources.iter().map(of_source).collect()
}

/// The channel of a marker, and its delay.
struct MarkerChannel {
    channel: u16,
    marker: Marker,
    delay: i64,
}

/// Returns the markers of a source, in order of delayed time.
fn markers(image: &Image, source: &Source<'_>, execution: &Execution) -> Vec<FoundMarker> {
    let markers = image.markers;
    let channels = [
        (Some(markers.line), Marker::Start),
        (markers.line_end, Marker::End),
        (markers.frame, Marker::Frame),
    ];
    let channels: Vec<MarkerChannel> = channels
        .into_iter()
        .filter_map(|(channel, marker)| {
            let channel = channel?;
            Some(MarkerChannel { channel, marker, delay: image.scope.delay_of(channel) })
        })
        .collect();
    let starts: Vec<usize> = (0..source.tags.len()).step_by(COLUMN_ROWS).collect();
    let of_piece = |&start: &usize| {
        let rows = start..source.tags.len().min(start + COLUMN_ROWS);
        match source.tags.channels {
            Channels::U8(labels) => {
                markers_among(source, labels.read(rows.clone()), &channels, rows.start, execution)
            }
            Channels::U16(labels) => {
                markers_among(source, labels.read(rows.clone()), &channels, rows.start, execution)
            }
        }
    };
    let mut found = starts.par_iter().map(of_piece).collect::<Vec<_>>().concat();
    // Delays can change the order.
    found.sort_unstable();
    found
}

fn markers_among<L: Copy + Eq + TryFrom<u16> + Into<u16>>(
    source: &Source<'_>,
    labels: &[L],
    channels: &[MarkerChannel],
    first_row: usize,
    execution: &Execution,
) -> Vec<FoundMarker> {
    let narrow = |of: &MarkerChannel| L::try_from(of.channel).ok();
    let wanted: Vec<L> = channels.iter().filter_map(narrow).collect();
    let mut found = Vec::new();
    // The end of a line and the beginning of the next one are near each other.
    let mut times = TimeReader::new(source.tags.time);
    for (number, labels) in labels.chunks(SEARCHED).enumerate() {
        // Compares all labels without an early exit, so that the compiler can compare many at once.
        let has = |of: &L| labels.iter().fold(0, |any, label| any | u8::from(label == of)) > 0;
        if !wanted.iter().any(has) {
            continue;
        }
        let start = first_row + number * SEARCHED;
        if !source.is_in_order(execution.simd, start..start + labels.len()) {
            continue;
        }
        for (row, &label) in (start..).zip(labels) {
            for of in channels.iter().filter(|of| of.channel == label.into()) {
                let time = times.at(row).wrapping_add(of.delay);
                found.push(FoundMarker { time, marker: of.marker, row });
            }
        }
    }
    found
}

/// A line that has begun.
struct OpenLine {
    start: i64,
    number: u64,
    frame: usize,
    row: usize,
}

/// Makes lines of markers that arrive in order.
struct LineMaker<'a> {
    image: &'a Image,
    range: TimeRange,
    lines: Vec<Line>,
    first_frame: usize,
    report: ImageReport,
    /// The first time of each frame so far, and its lines: those in the range are reported.
    frames: Vec<(i64, u64)>,
    /// The line that has begun and has no end yet.
    open: Option<OpenLine>,
}

impl<'a> LineMaker<'a> {
    fn new(image: &'a Image, range: TimeRange, first_frame: usize) -> Self {
        let (lines, frames) = (Vec::new(), Vec::new());
        Self {
            image,
            range,
            lines,
            first_frame,
            report: ImageReport::default(),
            frames,
            open: None,
        }
    }

    fn take(&mut self, time: i64, marker: Marker, row: usize) {
        let in_range = u64::from(self.range.contains(time));
        let has_ends = self.image.markers.line_end.is_some();
        match marker {
            Marker::End => {
                if self.open.is_none() {
                    self.report.ends_without_start += in_range;
                }
                self.close(time);
            }
            Marker::Frame => {
                if !has_ends {
                    self.close(time);
                } else if self.open.is_some() {
                    self.report.frames_inside_lines += in_range;
                }
                self.frames.push((time, 0));
            }
            Marker::Start => {
                if has_ends {
                    self.abandon();
                } else {
                    self.close(time);
                }
                self.report.line_starts += in_range;
                let lines = self.image.raster.all_lines();
                let is_full = self.frames.last().is_none_or(|&(_, of)| of >= lines);
                if self.frames.is_empty() || (self.image.markers.frame.is_none() && is_full) {
                    self.frames.push((time, 0));
                }
                let frame = self.first_frame + self.frames.len() - 1;
                if let Some((_, of_frame)) = self.frames.last_mut() {
                    self.open = Some(OpenLine { start: time, number: *of_frame, frame, row });
                    *of_frame += 1;
                }
            }
        }
    }

    /// Ends the open line, if there is one, at a time.
    fn close(&mut self, time: i64) {
        let Some(OpenLine { start, number, frame, row }) = self.open.take() else { return };
        if start < time {
            self.lines.push(Line { start, end: time, number, frame, row });
        } else {
            self.report.starts_without_end += u64::from(self.range.contains(start));
        }
    }

    /// Leaves out the open line, because it has no end.
    fn abandon(&mut self) {
        if let Some(open) = self.open.take() {
            self.report.starts_without_end += u64::from(self.range.contains(open.start));
        }
    }

    fn finish(mut self) -> SourceLines {
        self.abandon();
        // After the last frame marker no frame begins if no line does.
        if self.frames.last().is_some_and(|&(_, lines)| lines == 0) {
            self.frames.pop();
        }
        let mut report = self.report;
        let mut lines = Vec::new();
        let skipped = self.image.raster.first_frame as usize;
        for (frame, &(begin, of_frame)) in (self.first_frame..).zip(&self.frames) {
            let in_range = frame >= skipped && self.range.contains(begin);
            report.frames_empty += u64::from(in_range && of_frame == 0);
            lines.push(if in_range { of_frame } else { 0 });
        }
        SourceLines {
            lines: self.lines,
            first_frame: self.first_frame,
            counts: MarkerCounts { report, lines },
        }
    }
}
