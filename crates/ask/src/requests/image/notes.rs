//! Notes on markers that are not as expected: lines without an end, frames with another number of lines, photons in no
//! pixel.

use tagq_query::Image as Query;
use tagq_run::{are, counted};

use super::counts::ImageCounts;
use crate::requests::kind::Resolved;

/// Notes missing and double markers, and photons that no pixel counts.
pub(super) fn note(resolved: &Resolved<'_, Query>, counts: &ImageCounts) {
    let (report, frames) = (&counts.report, &counts.frames);
    let lines = resolved.query.raster.all_lines();
    let mut notes = Vec::new();
    // Without end markers, the last line of each file has no end.
    let has_ends = resolved.query.markers.line_end.is_some();
    let sources = resolved.run.store().manifest().sources.len() as u64;
    if report.starts_without_end > if has_ends { 0 } else { sources } {
        notes.push(format!(
            "{} of {} without an end before the next start: photons there are in no pixel, and later lines keep \
             their numbers",
            report.starts_without_end,
            counted(report.line_starts, "line start")
        ));
    }
    let added = [
        (report.starts_added, "line start"),
        (report.ends_added, "line end"),
        (report.frames_added, "frame marker"),
    ];
    let added: Vec<String> =
        added.iter().filter(|(n, _)| *n > 0).map(|&(n, of)| counted(n, of)).collect();
    if !added.is_empty() {
        notes.push(format!("repaired: put in {}", added.join(", ")));
    }
    if report.doubles_left_out > 0 {
        let doubles = counted(report.doubles_left_out, "double marker");
        notes.push(format!("repaired: left out {doubles}"));
    }
    if report.ends_without_start > 0 {
        let (ends, are) =
            (counted(report.ends_without_start, "line end"), are(report.ends_without_start));
        notes.push(format!("{ends} {are} in no line"));
    }
    if frames.fewer + frames.more > 0 {
        let listed: Vec<String> = (frames.other.iter().take(3))
            .map(|(frame, lines)| format!("frame {frame} has {lines}"))
            .collect();
        notes.push(format!(
            "of {}, {} with fewer than {lines} lines and {} with more: {}",
            counted(frames.count, "frame"),
            frames.fewer,
            frames.more,
            listed.join(", ")
        ));
    }
    if report.photons_beyond > 0 {
        notes.push(format!(
            "{} {} in lines after line {} of a frame, and in no pixel",
            counted(report.photons_beyond, "photon"),
            are(report.photons_beyond),
            lines - 1
        ));
    }
    if report.frames_empty > 0 {
        let (markers, are) =
            (counted(report.frames_empty, "frame marker"), are(report.frames_empty));
        notes.push(format!("{markers} {are} followed by no line"));
    }
    if report.frames_inside_lines > 0 {
        notes.push(format!(
            "{} {} inside of a line, which stays in the frame that it began in",
            counted(report.frames_inside_lines, "frame marker"),
            are(report.frames_inside_lines)
        ));
    }
    for note in &notes {
        resolved.context.progress.note(note);
    }
}
