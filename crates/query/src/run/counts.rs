//! Counts as integers that add up over intervals of time.
//!
//! Bins 2, 1 and bins 0, 3 add up to 2, 4. A sum that does not fit is an error; no sum wraps.

use std::collections::BTreeMap;

use crate::error::Error;

/// The counts of a query in a range of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counts {
    /// The count of each group, or of each set of channels that was a cluster; 0 for those not listed.
    Groups(BTreeMap<Vec<u16>, u128>),
    /// The count of each bin, and the tags in no bin.
    Bins(Vec<u64>, u64),
    /// The tags of each channel of each source.
    Tags(BTreeMap<(u32, u16), u64>),
}

/// The error for counts of another shape than the query has.
const OTHER_SHAPE: Error = Error::PartialDamaged { what: "counts of another kind" };

impl Counts {
    /// Returns the counts of groups.
    pub(crate) fn groups(self) -> Result<BTreeMap<Vec<u16>, u128>, Error> {
        if let Self::Groups(groups) = self { Ok(groups) } else { Err(OTHER_SHAPE) }
    }

    /// Returns the counts of `len` bins, and the tags in no bin.
    pub(crate) fn bins(self, len: usize) -> Result<(Vec<u64>, u64), Error> {
        match self {
            Self::Bins(bins, dropped) if bins.len() == len => Ok((bins, dropped)),
            _ => Err(OTHER_SHAPE),
        }
    }

    /// Returns the tags of each channel of each source.
    pub(crate) fn tags(self) -> Result<BTreeMap<(u32, u16), u64>, Error> {
        if let Self::Tags(tags) = self { Ok(tags) } else { Err(OTHER_SHAPE) }
    }

    /// Returns whether they are of the same shape, as those of one query are.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bins(bins, _), Self::Bins(others, _)) => bins.len() == others.len(),
            (Self::Groups(_), Self::Groups(_)) | (Self::Tags(_), Self::Tags(_)) => true,
            _ => false,
        }
    }

    pub(crate) fn add(&mut self, more: &Self) -> Result<(), Error> {
        let add = |count: &mut u64, more: u64| {
            *count = count.checked_add(more).ok_or(Error::PartialSum)?;
            Ok(())
        };
        match (self, more) {
            (Self::Groups(counts), Self::Groups(more)) => {
                more.iter().try_for_each(|(group, &more)| {
                    let count = counts.entry(group.clone()).or_default();
                    *count = count.checked_add(more).ok_or(Error::PartialSum)?;
                    Ok(())
                })
            }
            (Self::Tags(counts), Self::Tags(more)) => {
                more.iter().try_for_each(|(&of, &more)| add(counts.entry(of).or_default(), more))
            }
            (Self::Bins(counts, dropped), Self::Bins(more, more_dropped))
                if counts.len() == more.len() =>
            {
                counts.iter_mut().zip(more).try_for_each(|(count, &more)| add(count, more))?;
                add(dropped, *more_dropped)
            }
            _ => Err(OTHER_SHAPE),
        }
    }
}
