//! Places where reading a source can begin again, so that its committed rows stay as they are.
//!
//! Rows are committed while tags that were read still wait to be put in order. A later call
//! begins at a byte before them, and skips as many rows as are there already. That gives
//! the same rows again where all tags before the byte are committed: the committed tags after the byte are
//! then the first of theirs in order.

use tagq_store::ResumePoint;

/// The points of a source that may still be needed, ascending.
#[derive(Debug)]
pub(crate) struct Points {
    points: Vec<Point>,
    /// Points closer to each other than this many tags are thinned out.
    spacing: u64,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    at: ResumePoint,
    /// A tag after it belongs before one that stands before it.
    is_crossed: bool,
}

impl Points {
    /// Reading began at `first`. Order is repaired over `horizon` tags: of its points some hundreds
    /// are kept.
    pub(crate) fn new(first: ResumePoint, horizon: usize) -> Self {
        let points = vec![Point { at: first, is_crossed: false }];
        Self { points, spacing: horizon as u64 / 256 }
    }

    /// Reading came to another one.
    pub(crate) fn add(&mut self, point: ResumePoint) {
        if let [.., before, last] = self.points[..]
            && last.at.rows - before.at.rows < self.spacing
        {
            self.points.pop();
        }
        self.points.push(Point { at: point, is_crossed: false });
    }

    /// The byte after `rows` tags, if reading can begin again there.
    pub(crate) fn end(&self, rows: u64) -> Option<u64> {
        self.points.last().filter(|point| point.at.rows == rows).map(|point| point.at.byte)
    }

    /// A tag of this time came: it belongs before what stands before points of a later time.
    pub(crate) fn late(&mut self, time: i64) {
        let later = self.points.partition_point(|point| point.at.time <= Some(time));
        self.points[later..].iter_mut().for_each(|point| point.is_crossed = true);
    }

    /// The last point before which all tags are committed, when the first `rows` tags in order are, up to
    /// the time `last`. Those before it are forgotten.
    pub(crate) fn committed(&mut self, rows: u64, last: Option<i64>) -> ResumePoint {
        let is_committed = |point: &Point| {
            // Not crossed, the tags before it are the first in order. Else those of the last time may be
            // committed or not, and the earlier ones are.
            point.at.rows <= rows && (!point.is_crossed || point.at.time < last)
        };
        let within = self.points.partition_point(|point| point.at.rows <= rows);
        let found = self.points[..within].iter().rposition(is_committed).unwrap_or(0);
        self.points.drain(..found);
        self.points[0].at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACING: u64 = 4096;

    fn point(rows: u64, time: i64) -> ResumePoint {
        ResumePoint { byte: rows * 10, rows, time: Some(time), reordered: 0 }
    }

    #[test]
    fn a_late_tag_leaves_the_points_before_which_all_is_committed() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=5 {
            points.add(point(i * SPACING, i.cast_signed() * 100));
        }
        // After a tag of the same time it stays; after an earlier one it does when all before it are
        // committed, which those of the last time need not be.
        points.late(400);
        assert_eq!(points.committed(u64::MAX, None), point(4 * SPACING, 400));
        points.late(350);
        assert_eq!(
            points.committed(u64::MAX, Some(400)),
            point(4 * SPACING, 400),
            "no other is left"
        );
        points.add(point(6 * SPACING, 600));
        points.add(point(7 * SPACING, 700));
        points.late(550);
        assert_eq!(points.committed(u64::MAX, Some(600)), point(5 * SPACING, 500));
        assert_eq!(points.committed(7 * SPACING, Some(601)), point(6 * SPACING, 600));
        assert_eq!(points.committed(7 * SPACING - 1, Some(701)), point(6 * SPACING, 600));
        assert_eq!(points.committed(7 * SPACING, Some(701)), point(7 * SPACING, 700));
    }

    #[test]
    fn the_last_point_within_the_rows_is_found() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=5 {
            points.add(point(i * SPACING, 0));
        }
        assert_eq!(points.committed(SPACING - 1, None), ResumePoint::default());
        assert_eq!(points.committed(SPACING * 3 - 1, None), point(2 * SPACING, 0));
        assert_eq!(points.committed(SPACING * 3, None), point(3 * SPACING, 0));
        assert_eq!(points.committed(u64::MAX, None), point(5 * SPACING, 0));
    }

    #[test]
    fn points_in_a_crowd_are_thinned_out_but_for_the_last() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=10 * SPACING {
            points.add(point(i, 0));
        }
        assert!(points.points.len() <= 12, "{}", points.points.len());
        assert_eq!(points.committed(u64::MAX, None), point(10 * SPACING, 0));
    }
}
