//! Where reading a source can begin anew, so that its committed rows stay as they are.
//!
//! Rows are committed while tags that were read still wait to be put in order. Whoever reads on
//! later begins at a byte before them, and passes over the rows that are there already. That gives
//! the same rows again only where no tag behind the byte belongs before one that stands before it.

use tagq_store::ResumePoint;

/// The points of a source that may still be needed, ascending.
#[derive(Debug)]
pub(crate) struct Points {
    points: Vec<ResumePoint>,
    /// Points closer to each other than this many tags are thinned out.
    spacing: u64,
}

impl Points {
    /// Reading began at `first`. Order is repaired over `horizon` tags: of its points some hundreds
    /// are kept.
    pub(crate) fn new(first: ResumePoint, horizon: usize) -> Self {
        Self { points: vec![first], spacing: horizon as u64 / 256 }
    }

    /// Reading came to another one.
    pub(crate) fn add(&mut self, point: ResumePoint) {
        if let [.., before, last] = self.points[..]
            && last.rows - before.rows < self.spacing
        {
            self.points.pop();
        }
        self.points.push(point);
    }

    /// A tag of this time came: it belongs before what stands before points of a later time.
    pub(crate) fn late(&mut self, time: i64) {
        while self.points.len() > 1 && self.points.last().is_some_and(|p| p.time > Some(time)) {
            self.points.pop();
        }
    }

    /// The last point that no more than `rows` tags stand before. Those before it are forgotten.
    pub(crate) fn at_most(&mut self, rows: u64) -> ResumePoint {
        let behind = self.points.partition_point(|point| point.rows <= rows);
        self.points.drain(..behind.saturating_sub(1));
        self.points[0]
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
    fn a_late_tag_takes_the_points_that_it_belongs_before() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=5 {
            points.add(point(i * SPACING, i.cast_signed() * 100));
        }
        // Behind a tag of the same time it stays.
        points.late(400);
        assert_eq!(points.at_most(u64::MAX), point(4 * SPACING, 400));
        points.late(i64::MIN);
        assert_eq!(points.at_most(u64::MAX), point(4 * SPACING, 400), "one is always left");
    }

    #[test]
    fn the_last_point_within_the_rows_is_found() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=5 {
            points.add(point(i * SPACING, 0));
        }
        assert_eq!(points.at_most(SPACING - 1), ResumePoint::default());
        assert_eq!(points.at_most(SPACING * 3 - 1), point(2 * SPACING, 0));
        assert_eq!(points.at_most(SPACING * 3), point(3 * SPACING, 0));
        assert_eq!(points.at_most(u64::MAX), point(5 * SPACING, 0));
    }

    #[test]
    fn points_in_a_crowd_are_thinned_out_but_for_the_last() {
        let mut points = Points::new(ResumePoint::default(), 256 * 4096);
        for i in 1..=10 * SPACING {
            points.add(point(i, 0));
        }
        assert!(points.points.len() <= 12, "{}", points.points.len());
        assert_eq!(points.at_most(u64::MAX), point(10 * SPACING, 0));
    }
}
