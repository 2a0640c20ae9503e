//! The groups of channels of a query.
//!
//! All groups of three of the channels 2, 3, 5 and 7 are (2, 3, 5), (2, 3, 7), (2, 5, 7) and (3, 5, 7). A query has
//! at most 2^20 groups; their number is computed and checked before the list is made.

use crate::{
    error::Error,
    run::{facts::Facts, scope::Scope},
};

/// The largest number of channels of a group.
const MOST_CHANNELS: usize = 16;
/// The largest number of groups of a query.
const MOST_GROUPS: usize = 1 << 20;

/// Selects the channels between which coincidences are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Groups {
    /// Every pair of the channels in use, in ascending order.
    EveryPair,
    /// Every choice of this many of the channels in use, 2 to 16, in ascending order.
    EveryFold(usize),
    /// These groups, in this order: 2 to 16 different channels each. A channel may have no tags.
    Listed(Vec<Vec<u16>>),
}

/// Returns the groups of a query in the order of the result, each of different channels in use.
pub(crate) fn asked(groups: &Groups, scope: &Scope, facts: &Facts) -> Result<Vec<Vec<u16>>, Error> {
    let of_size = |size: usize| {
        if (2..=MOST_CHANNELS).contains(&size) { Ok(size) } else { Err(Error::GroupSize { size }) }
    };
    let every = |size: usize| {
        let mut in_use = scope.in_use(facts);
        in_use.sort_unstable();
        in_use.dedup();
        choices(&in_use, of_size(size)?)
    };
    let listed = match groups {
        Groups::EveryPair => return every(2),
        Groups::EveryFold(size) => return every(*size),
        Groups::Listed(listed) => listed,
    };
    if listed.len() > MOST_GROUPS {
        return Err(Error::TooManyGroups { groups: listed.len() as u128, most: MOST_GROUPS });
    }
    for group in listed {
        of_size(group.len())?;
        for (i, &channel) in group.iter().enumerate() {
            if group[..i].contains(&channel) {
                return Err(Error::SameChannel { channel });
            }
            if scope.channels.as_ref().is_some_and(|in_use| !in_use.contains(&channel)) {
                return Err(Error::NotInUse { channel });
            }
        }
    }
    Ok(listed.clone())
}

/// Returns every choice of `size` of `channels`, in ascending order.
pub(crate) fn choices(channels: &[u16], size: usize) -> Result<Vec<Vec<u16>>, Error> {
    let mut groups = 1_u128;
    for i in 0..size {
        // A product of i + 1 consecutive numbers is divisible by i + 1.
        groups = groups * channels.len().saturating_sub(i) as u128 / (i as u128 + 1);
    }
    if groups > MOST_GROUPS as u128 {
        return Err(Error::TooManyGroups { groups, most: MOST_GROUPS });
    }
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for left in (0..size).rev() {
        let longer = |choice: Vec<usize>| {
            let next = choice.last().map_or(0, |last| last + 1);
            let last = channels.len().saturating_sub(left);
            (next..last).map(move |at| [&choice[..], &[at]].concat())
        };
        chosen = chosen.into_iter().flat_map(longer).collect();
    }
    Ok(chosen.into_iter().map(|choice| choice.iter().map(|&at| channels[at]).collect()).collect())
}

/// Returns the channels of the groups, ascending.
pub(crate) fn channels_of(groups: &[Vec<u16>]) -> Vec<u16> {
    let mut channels = groups.concat();
    channels.sort_unstable();
    channels.dedup();
    channels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_in_ascending_order() {
        let four = choices(&[2, 3, 5, 7], 3);
        assert_eq!(four, Ok(vec![vec![2, 3, 5], vec![2, 3, 7], vec![2, 5, 7], vec![3, 5, 7]]));
        assert_eq!(choices(&[2, 3], 3), Ok(vec![]));
        // 200·199·198·197/24.
        let many: Vec<u16> = (0..200).collect();
        let refused = Error::TooManyGroups { groups: 64_684_950, most: MOST_GROUPS };
        assert_eq!(choices(&many, 4), Err(refused));
    }
}
