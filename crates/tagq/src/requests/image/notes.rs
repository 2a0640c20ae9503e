//! Notes on markers that are not as expected.

use tagq_query::Image as Query;

use super::counts::ImageCounts;
use crate::requests::kind::Resolved;

/// Notes missing and double markers, and photons that no pixel counts.
pub(super) fn note(resolved: &Resolved<'_, Query>, counts: &ImageCounts) {
    let (report, frames) = (&counts.report, &counts.frames);
    let lines = resolved.query.raster.lines;
    let mut notes = Vec::new();
    // Without end markers, the last line of each file has no end.
    let has_ends = resolved.query.markers.line_end.is_some();
    let sources = resolved.run.store().manifest().sources.len() as u64;
    if report.starts_without_end > if has_ends { 0 } else { sources } {
        notes.push(format!(
            "{} of {} line starts have no end before the next start: their photons are in no pixel, and lines \
             after them keep their numbers",
            report.starts_without_end, report.line_starts
        ));
    }
    if report.ends_without_start > 0 {
        notes.push(format!("{} line ends are in no line, and end none", report.ends_without_start));
    }
    if frames.fewer + frames.more > 0 {
        let listed: Vec<String> = (frames.other.iter().take(3))
            .map(|(frame, lines)| format!("frame {frame} has {lines}"))
            .collect();
        notes.push(format!(
            "of {} frames {} have fewer than {lines} lines and {} have more: {}",
            frames.count,
            frames.fewer,
            frames.more,
            listed.join(", ")
        ));
    }
    if report.photons_beyond > 0 {
        notes.push(format!(
            "{} photons are in lines after line {} of a frame, and in no pixel",
            report.photons_beyond,
            lines - 1
        ));
    }
    if report.frames_empty > 0 {
        notes.push(format!("{} frame markers have no line after them", report.frames_empty));
    }
    if report.frames_inside_lines > 0 {
        notes.push(format!(
            "{} frame markers are inside of a line, which stays in the frame that it began in",
            report.frames_inside_lines
        ));
    }
    for note in &notes {
        resolved.context.progress.note(note);
    }
}
