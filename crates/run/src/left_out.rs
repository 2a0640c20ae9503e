//! Damaged blocks of a store, which a copy can leave out.
//!
//! If a damaged block has the times 500 to 900, and the next block begins at 900, the dead time is 500 to 899: the time
//! of an intact tag is never dead.

use tagq_store::{Recording, Tick};

use crate::{Run, counted::are, counted::counted, error::Error};

/// The blocks of 65,536 rows that a copy leaves out because they do not have their checksums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Their numbers, ascending.
    pub blocks: Vec<u64>,
    /// Their tags.
    pub tags: u64,
    /// The times that they span, in ticks, both ends included, without those of tags in other blocks.
    pub dead: Vec<(i64, i64)>,
}

impl Run {
    /// Finds the blocks of its store that are damaged. Reads all columns.
    ///
    /// # Errors
    /// [`tagq_store::Error::Damaged`] if the index is damaged, and errors from reading the columns.
    pub fn left_out(&self) -> Result<LeftOut, Error> {
        let mut left_out = LeftOut::default();
        let blocks = self.store().blocks()?;
        for number in self.store().damaged_blocks()? {
            let Some(block) = blocks.get(number) else { continue };
            left_out.blocks.push(number as u64);
            left_out.tags += block.rows.end - block.rows.start;
            // A neighbour may have a tag at the same time.
            let before = number.checked_sub(1).and_then(|before| blocks.get(before));
            let is_shared = before.is_some_and(|before| before.time_max == block.time_min);
            let first = block.time_min.saturating_add(is_shared.into());
            let next = blocks.get(number + 1);
            let is_shared = next.is_some_and(|next| next.time_min == block.time_max);
            let last = block.time_max.saturating_sub(is_shared.into());
            left_out.dead.extend((first <= last).then_some((first, last)));
        }
        Ok(left_out)
    }
}

impl LeftOut {
    /// Returns a note with the blocks, tags and time that are left out; `None` if there are none.
    pub fn remark(&self, tick: Tick) -> Option<String> {
        let blocks = self.blocks.len();
        let ticks = self.dead.iter().map(|&(first, last)| i128::from(last) - i128::from(first) + 1);
        (blocks > 0).then(|| {
            format!(
                "{} {} left out: {}, and a dead time of {}",
                counted(blocks as u64, "damaged block"),
                are(blocks as u64),
                counted(self.tags, "tag"),
                tick.format(ticks.sum())
            )
        })
    }

    /// Adds their times to the dead times of a recording.
    pub fn add_to(&self, recording: &mut Recording) {
        if self.dead.is_empty() {
            return;
        }
        let own = std::mem::take(&mut recording.dead);
        recording.set_dead(own.into_iter().chain(self.dead.iter().copied()));
    }

    /// Whether a block is left out.
    pub(crate) fn holds(&self, block: u64) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_times_that_overlap_are_joined_and_none_overflows() {
        let left_out =
            LeftOut { blocks: vec![1], tags: 3, dead: vec![(i64::MIN, -5), (10, i64::MAX)] };
        let mut recording = Recording { dead: vec![(-10, 20)], ..Recording::default() };
        left_out.add_to(&mut recording);
        assert_eq!(recording.dead, [(i64::MIN, i64::MAX)]);
        let remark = left_out.remark(Tick::DEFAULT).unwrap();
        assert!(remark.starts_with("1 damaged block is left out: 3 tags, and a dead time of "));
        assert_eq!(LeftOut::default().remark(Tick::DEFAULT), None);
    }
}
