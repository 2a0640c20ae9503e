//! Counts the rows that carry a label.
//!
//! Sums of one byte per lane are emptied after 255 steps, before one can overflow.

use crate::kernels::simd::{Simd, Work};

/// Returns the number of rows with this label.
pub(crate) fn count<L: Copy + Eq>(simd: Simd, labels: &[L], label: L) -> u64 {
    simd.run(Count { labels, label })
}

struct Count<'a, L> {
    labels: &'a [L],
    label: L,
}

impl<L: Copy + Eq> Work for Count<'_, L> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        const LANES: usize = 64;
        let Self { labels, label } = self;
        let mut count = 0;
        for run in labels.chunks(LANES * 255) {
            let mut lanes = [0_u8; LANES];
            let (steps, rest) = run.as_chunks::<LANES>();
            for step in steps {
                for (lane, &found) in lanes.iter_mut().zip(step) {
                    *lane += u8::from(found == label);
                }
            }
            count += lanes.iter().map(|&lane| u64::from(lane)).sum::<u64>();
            count += rest.iter().map(|&found| u64::from(found == label)).sum::<u64>();
        }
        count
    }
}
