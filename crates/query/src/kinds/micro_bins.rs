//! Micro times as they are stored, and the bins that hold them.
//!
//! Of bins from 0 to 10 and from 10 to 20, the table of the first 20 micro times has ten zeros and ten ones.

use tagq_store::format::{MICRO_NONE, MICRO_NONE_U16};

use super::histogram::Bins;

/// The most micro times whose bins a table has.
const TABLE_MAX: i64 = 1 << 16;
/// The entry of a micro time that no bin holds.
const NO_BIN: u32 = u32::MAX;

/// A micro time as it is stored.
pub(crate) trait Micro: Copy {
    /// Returns the micro time; `None` if a row has none.
    fn get(self) -> Option<u32>;
}

impl Micro for u16 {
    #[inline]
    fn get(self) -> Option<u32> {
        (self != MICRO_NONE_U16).then_some(self.into())
    }
}

impl Micro for u32 {
    #[inline]
    fn get(self) -> Option<u32> {
        (self != MICRO_NONE).then_some(self)
    }
}

/// Finds the bins of micro times.
pub(crate) struct BinTable<'a> {
    bins: &'a Bins,
    /// The bin of each short micro time.
    table: Vec<u32>,
}

impl<'a> BinTable<'a> {
    pub fn new(bins: &'a Bins) -> Self {
        let end = bins.edge(bins.count()).clamp(0, TABLE_MAX);
        let bin = |micro: i64| bins.holding(micro).and_then(|bin| u32::try_from(bin).ok());
        Self { bins, table: (0..end).map(|micro| bin(micro).unwrap_or(NO_BIN)).collect() }
    }

    /// Returns the micro time of the first bin if each bin holds one; `None` for wider ones.
    pub fn single(&self) -> Option<u32> {
        match self.bins {
            Bins::Linear { low, width: 1, .. } => u32::try_from(*low).ok(),
            Bins::Linear { .. } | Bins::Edges(_) => None,
        }
    }

    /// Returns the bin of a micro time; `None` if no bin holds it, or there is none.
    #[inline]
    pub fn holding(&self, micro: impl Micro) -> Option<usize> {
        let micro = micro.get()?;
        match self.table.get(micro as usize) {
            Some(&NO_BIN) => None,
            Some(&bin) => Some(bin as usize),
            None => self.bins.holding(micro.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_bins() {
        for bins in [
            Bins::linear(-5, 40, 7).unwrap(),
            Bins::linear(3, 100_000, 1_000).unwrap(),
            Bins::linear(70_000, 90_000, 10).unwrap(),
            Bins::Edges(vec![2, 3, 50]),
        ] {
            let table = BinTable::new(&bins);
            for micro in (0_u32..100).chain(60_000..100_100) {
                assert_eq!(table.holding(micro), bins.holding(micro.into()), "{micro} of {bins:?}");
                if let Ok(narrow) = u16::try_from(micro) {
                    let expected = bins.holding(micro.into()).filter(|_| narrow != MICRO_NONE_U16);
                    assert_eq!(table.holding(narrow), expected, "{micro} of {bins:?}");
                }
            }
            assert_eq!(table.holding(MICRO_NONE), None);
        }
    }
}
