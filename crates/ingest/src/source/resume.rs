//! Resume points: places at which reading of a source can begin again without a change of committed rows.
//!
//! Rows are committed while other tags are still held to be put in order. A later call starts at a byte before those
//! and skips the rows that are already stored. This gives the same rows if all tags before the byte are committed. A
//! tag at 20 that comes after a point whose tags end at 30 crosses that point: it belongs before tags that precede the
//! point.

use tagq_store::ResumePoint;

use crate::formats::format::Checkpoint;

/// The resume points of a source that may still be needed, in ascending order.
#[derive(Debug)]
pub(crate) struct Points {
    points: Vec<Point>,
    /// Minimum distance of points, in tags.
    spacing: u64,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    at: ResumePoint,
    /// Whether a tag after the point belongs before a tag that precedes it.
    is_crossed: bool,
}

impl Points {
    /// Starts with the point at which reading began. Some hundreds of points are kept per `horizon`.
    pub(crate) fn new(first: ResumePoint, horizon: usize) -> Self {
        let points = vec![Point { at: first, is_crossed: false }];
        Self { points, spacing: horizon as u64 / 256 }
    }

    /// Adds the point that reading has reached.
    pub(crate) fn add(&mut self, point: ResumePoint) {
        if let [.., before, last] = self.points[..]
            && last.at.rows - before.at.rows < self.spacing
        {
            self.points.pop();
        }
        self.points.push(Point { at: point, is_crossed: false });
    }

    /// Returns the place after `rows` tags, if reading can begin again there.
    pub(crate) fn end(&self, rows: u64) -> Option<Checkpoint> {
        let last = self.points.last().filter(|point| point.at.rows == rows)?;
        Some(Checkpoint { byte: last.at.byte, overflow: last.at.overflow })
    }

    /// Notes a late tag of this time: it belongs before tags that precede points of a later time.
    pub(crate) fn late(&mut self, time: i64) {
        let later = self.points.partition_point(|point| point.at.time <= Some(time));
        self.points[later..].iter_mut().for_each(|point| point.is_crossed = true);
    }

    /// Returns the last point before which all tags are committed, given that the first `rows` tags in
    /// order are committed, up to the time `last`. Earlier points are dropped.
    pub(crate) fn committed(&mut self, rows: u64, last: Option<i64>) -> ResumePoint {
        let is_committed = |point: &Point| {
            // If the point is not crossed, the tags before it are the first in order. Otherwise only tags
            // before the last time are certainly committed.
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
        ResumePoint { byte: rows * 10, rows, time: Some(time), reordered: 0, overflow: 0 }
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
