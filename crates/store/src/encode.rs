//! Gaps, far distances and steps from times: the inverse of `decode`.
//!
//! The times 10, 15 and 70,000 of a new source have the gaps 65,535, 5 and 65,535 and the far distances 0 and 69,985.
//! The first row of a source always has the largest gap, so a far distance belongs to it too.

use std::borrow::Cow;

use crate::format::{self, GAP_MAX, STEP_ROWS, Step};

/// The far distances and the steps of rows that follow each other.
#[derive(Debug, Default)]
pub(crate) struct DistancePart {
    pub far: FarValues,
    /// Their [`Step::far`] counts the far distances from the first of these rows on, not from the first of the store.
    pub steps: Vec<Step>,
}

/// Far distances in the width that they need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FarValues {
    U32(Vec<u32>),
    U64(Vec<u64>),
}

impl DistancePart {
    /// Adds rows and appends their gaps to `gaps`. The first of them has the number `row`. `before` is the time of the
    /// row before, `None` if the first row is that of a source.
    pub(crate) fn add(
        &mut self,
        row: u64,
        mut before: Option<i64>,
        times: &[i64],
        gaps: &mut Vec<u16>,
    ) {
        let mut rest = times;
        #[expect(clippy::cast_possible_truncation, reason = "a remainder below 1,024")]
        let mut at_in_step = (row % STEP_ROWS as u64) as usize;
        while let Some(&first) = rest.first() {
            let (now, later) = rest.split_at(rest.len().min(STEP_ROWS - at_in_step));
            if at_in_step == 0 {
                self.steps.push(Step { time: first, far: self.far.len() });
            }
            let start = gaps.len();
            format::append_gaps(before, now, gaps);
            self.add_far(before, now, &gaps[start..]);
            before = now.last().copied();
            (rest, at_in_step) = (later, 0);
        }
    }

    /// Adds the far distances of at most a step of rows, which have these gaps.
    fn add_far(&mut self, before: Option<i64>, times: &[i64], gaps: &[u16]) {
        if gaps.iter().copied().max() != Some(GAP_MAX) {
            return;
        }
        let mut far = [0; STEP_ROWS];
        let mut count = 0;
        let mut last = before.or_else(|| times.first().copied()).unwrap_or_default();
        // Each distance is written, and counts only if its gap is the largest one: no branch depends on the rows.
        for (&time, &gap) in times.iter().zip(gaps) {
            if let Some(far) = far.get_mut(count) {
                *far = time.wrapping_sub(last).cast_unsigned();
            }
            count += usize::from(gap == GAP_MAX);
            last = time;
        }
        self.far.extend(&far[..count]);
    }
}

impl FarValues {
    pub(crate) fn len(&self) -> u64 {
        let len = match self {
            Self::U32(far) => far.len(),
            Self::U64(far) => far.len(),
        };
        len as u64
    }

    /// Returns the bytes of a value.
    pub(crate) fn width(&self) -> u16 {
        match self {
            Self::U32(_) => 4,
            Self::U64(_) => 8,
        }
    }

    /// Returns the values in `width` bytes each, at least as many as they have.
    pub(crate) fn encode(&self, width: u16) -> Cow<'_, [u8]> {
        match self {
            Self::U32(far) if width == 8 => Cow::Owned(bytemuck::cast_slice(&widen(far)).to_vec()),
            Self::U32(far) => Cow::Borrowed(bytemuck::cast_slice(far)),
            Self::U64(far) => Cow::Borrowed(bytemuck::cast_slice(far)),
        }
    }

    fn extend(&mut self, more: &[u64]) {
        if let Self::U32(far) = self
            && more.iter().any(|&value| value > u32::MAX.into())
        {
            *self = Self::U64(widen(far));
        }
        match self {
            #[expect(clippy::cast_possible_truncation, reason = "all values were compared")]
            Self::U32(far) => far.extend(more.iter().map(|&value| value as u32)),
            Self::U64(far) => far.extend(more),
        }
    }
}

impl Default for FarValues {
    fn default() -> Self {
        Self::U32(Vec::new())
    }
}

/// Returns far distances in eight bytes each.
pub(crate) fn widen(far: &[u32]) -> Vec<u64> {
    far.iter().map(|&value| value.into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_from_the_largest_gap_on_are_far() {
        let mut distances = DistancePart::default();
        let mut gaps = Vec::new();
        // The first row of a source, in the middle of a step.
        distances.add(7, None, &[-10, -10, 65_524, 131_059], &mut gaps);
        assert_eq!(gaps, [65_535, 0, 65_534, 65_535]);
        assert_eq!(distances.far, FarValues::U32(vec![0, 65_535]));
        assert_eq!(distances.steps, []);
        // A row with the longest distance of four bytes, which begins a step, and one of eight bytes.
        let time = 131_059 + 0xFFFF_FFFF;
        distances.add(1_024, Some(131_059), &[time], &mut gaps);
        assert_eq!(distances.far.width(), 4);
        distances.add(1_025, Some(time), &[time + 0x1_0000_0000], &mut gaps);
        assert_eq!(gaps[4..], [65_535; 2]);
        assert_eq!(distances.far, FarValues::U64(vec![0, 65_535, 0xFFFF_FFFF, 0x1_0000_0000]));
        assert_eq!(distances.steps, [Step { time, far: 2 }]);
        // A whole step of far rows, and one of near rows.
        let times: Vec<i64> = (0..1_024).map(|row| row * 70_000).collect();
        let near = vec![times[1_023]; 1_024];
        let mut distances = DistancePart::default();
        distances.add(0, Some(-70_000), &[times, near].concat(), &mut gaps);
        assert_eq!(distances.far, FarValues::U32(vec![70_000; 1_024]));
        let second = Step { time: 1_023 * 70_000, far: 1_024 };
        assert_eq!(distances.steps, [Step { time: 0, far: 0 }, second]);
    }

    #[test]
    fn values_are_encoded_in_the_width_of_their_column() {
        let far = FarValues::U32(vec![1, 0x0102_0304]);
        assert_eq!(far.encode(4)[..], [1, 0, 0, 0, 4, 3, 2, 1]);
        assert_eq!(far.encode(8)[..], [1, 0, 0, 0, 0, 0, 0, 0, 4, 3, 2, 1, 0, 0, 0, 0]);
        let far = FarValues::U64(vec![0x0102_0304_0506]);
        assert_eq!(far.encode(8)[..], [6, 5, 4, 3, 2, 1, 0, 0]);
    }
}
