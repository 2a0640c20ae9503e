//! Distributes the groups of a query over scans.
//!
//! A scan has at most 255 channels, because the number of a channel is a byte and one number stands for all others.
//! Every pair of 600 channels takes 15 scans: one for each two of five blocks of channels, and one for each block.
//! Each group is in exactly one scan.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    kernels::{neighbours::DelayedWindow, pair_bins::PairBins},
    rules::{
        definition::{Definition, Heralds, Method},
        groups::channels_of,
        veto::{Forbidding, Veto},
        ways::closing::{Closing, amount},
    },
    run::scope::Scope,
    scan::{route::Work, selection::Selection},
};

/// The largest number of channels that one scan can distinguish: their numbers, plus one for all others, are
/// bytes.
const MOST_NUMBERS: usize = 255;

/// The condition that tags must meet to form a coincidence.
#[derive(Clone, Copy)]
pub(crate) struct Condition<'q> {
    pub rule: &'static dyn Definition,
    pub window: i64,
    pub veto: Option<&'q Veto>,
    /// The channel whose tags the veto rejects; `None` if it rejects coincidences.
    pub vetoed: Option<u16>,
    pub scope: &'q Scope,
}

/// The groups that one scan counts.
#[derive(Debug)]
pub(crate) struct GroupScan {
    /// The indices of the groups in the query.
    pub groups: Vec<usize>,
    /// The groups, with the numbers of their channels.
    pub numbered: Vec<Vec<u8>>,
    pub closing: Closing,
    /// The channels of these numbers; the number after the last stands for all others.
    pub channels: Vec<u16>,
    /// The delay of each channel.
    pub delays: Vec<i64>,
    pub method: Method,
    /// The width of the cells that times are divided into; `None` if times are compared.
    pub cells: Option<i64>,
    pub selection: Selection,
    pub window: i64,
    /// The window with the delays of the channels; `None` if its reach does not fit in 64 bits.
    pub near: Option<DelayedWindow>,
    /// How far before the time of a coincidence its other tags can lie.
    pub look_back: i64,
    pub scope: Scope,
    pub veto: Option<Forbidding>,
    /// The bins of the differences of pairs, which are then counted in place of groups.
    pub bins: Option<PairBins>,
}

impl GroupScan {
    /// Returns all parts of a query: pairs and larger groups separately, none with more channels than one
    /// scan can distinguish.
    pub(crate) fn all(groups: &[Vec<u16>], condition: Condition<'_>) -> Vec<Self> {
        let is_pair = |&at: &usize| groups[at].len() == 2;
        let (pairs, larger): (Vec<usize>, Vec<usize>) = (0..groups.len()).partition(is_pair);
        let mut packs = packed_pairs(pairs, groups);
        packs.extend(packed(larger, groups));
        packs.into_iter().map(|pack| Self::new(pack, groups, condition)).collect()
    }

    /// Counts the pairs of each group in bins of their differences: the time of the later channel of a group less that
    /// of the other, from one of the edges of the group to below the next. Delays must be equal, and edges must not
    /// be further from 0 than the window.
    #[must_use]
    pub(crate) fn in_bins(self, edges: &[&[i64]]) -> Self {
        let pairs = self.groups.iter().zip(&self.numbered);
        let pairs = pairs.map(|(&group, pair)| ([pair[0], pair[1]], edges[group]));
        let bins = Some(PairBins::new(self.channels.len() + 1, pairs));
        let selection = Selection::new(&self.channels, &self.delays);
        Self { method: Method::Pairs, selection, bins, ..self }
    }

    /// Returns the kind of count, by which the route is chosen.
    pub(super) fn work(&self) -> Work {
        if self.bins.is_some() { Work::PairsInBins } else { self.method.work() }
    }

    /// Returns the number of counts: one for each group, or for each bin of all groups.
    pub(super) fn counts(&self) -> usize {
        self.bins.as_ref().map_or(self.groups.len(), PairBins::bins)
    }

    fn new(pack: Vec<usize>, groups: &[Vec<u16>], condition: Condition<'_>) -> Self {
        let groups: Vec<Vec<u16>> = pack.iter().map(|&at| groups[at].clone()).collect();
        let channels = channels_of(&groups);
        let mut number_of = vec![0; 1 << 16];
        for (number, &channel) in (0..=u8::MAX).zip(&channels) {
            number_of[usize::from(channel)] = number;
        }
        let in_numbers = |group: &Vec<u16>| -> Vec<u8> {
            group.iter().map(|&channel| number_of[usize::from(channel)]).collect()
        };
        let numbered: Vec<Vec<u8>> = groups.iter().map(in_numbers).collect();
        let method = Method::new(condition.rule, &groups, amount(&groups));
        // Of two channels, either can be the herald. Rules that use tags up are counted elsewhere.
        let (closed, heralds) = match method {
            Method::Pair | Method::Pairs => (&numbered[..], Heralds::None),
            Method::Groups { .. } | Method::Heralds { .. } => {
                (&numbered[..], condition.rule.heralds())
            }
            Method::Matches => (&[][..], Heralds::None),
        };
        let closing = Closing::new(closed, channels.len(), heralds);
        let delays: Vec<i64> = channels.iter().map(|&c| condition.scope.delay_of(c)).collect();
        let selection = match method {
            Method::Pair => Selection::by_channel(&channels, &delays),
            Method::Pairs | Method::Groups { .. } | Method::Heralds { .. } | Method::Matches => {
                Selection::new(&channels, &delays)
            }
        };
        let Condition { rule, window, .. } = condition;
        let scope = condition.scope.clone();
        let (cells, look_back) = (rule.cells(window), rule.look_back(window, groups[0].len()));
        let vetoed = condition.vetoed.map(|channel| number_of[usize::from(channel)]);
        let veto =
            condition.veto.map(|veto| Forbidding::new(veto, condition.scope).of_tags(vetoed));
        let (groups, near) = (pack, DelayedWindow::new(window, &delays));
        Self {
            groups,
            numbered,
            closing,
            channels,
            delays,
            method,
            cells,
            selection,
            window,
            near,
            look_back,
            scope,
            veto,
            bins: None,
        }
    }
}

/// Packs pairs so that each pack has few channels: those between two blocks of channels, or inside one block.
fn packed_pairs(pairs: Vec<usize>, groups: &[Vec<u16>]) -> Vec<Vec<usize>> {
    let channels = channels_of(&pairs.iter().map(|&at| groups[at].clone()).collect::<Vec<_>>());
    if channels.len() <= MOST_NUMBERS {
        return if pairs.is_empty() { Vec::new() } else { vec![pairs] };
    }
    let block = |channel| channels.partition_point(|&c| c < channel) / (MOST_NUMBERS / 2);
    let mut packs = BTreeMap::<_, Vec<usize>>::new();
    for pair in pairs {
        let mut blocks = [block(groups[pair][0]), block(groups[pair][1])];
        blocks.sort_unstable();
        packs.entry(blocks).or_default().push(pair);
    }
    packs.into_values().collect()
}

/// Packs groups in order, each pack with as many groups as it can hold.
fn packed(larger: Vec<usize>, groups: &[Vec<u16>]) -> Vec<Vec<usize>> {
    let mut packs: Vec<Vec<usize>> = Vec::new();
    let mut held: BTreeSet<u16> = BTreeSet::new();
    for at in larger {
        let more = groups[at].iter().filter(|channel| !held.contains(*channel)).count();
        if packs.is_empty() || held.len() + more > MOST_NUMBERS {
            packs.push(Vec::new());
            held.clear();
        }
        held.extend(&groups[at]);
        packs.last_mut().into_iter().for_each(|pack| pack.push(at));
    }
    packs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::groups::choices;

    #[test]
    fn packs_hold_every_group_once_and_few_channels() {
        let many: Vec<u16> = (0..600).map(|c| c * 3).collect();
        let pairs = choices(&many, 2).unwrap();
        let triples: Vec<Vec<u16>> = many.windows(3).map(<[u16]>::to_vec).collect();
        let groups = [pairs, triples].concat();
        let (first, rest): (Vec<usize>, Vec<usize>) =
            (0..groups.len()).partition(|&at| groups[at].len() == 2);
        let packs = [packed_pairs(first, &groups), packed(rest, &groups)].concat();
        for pack in &packs {
            let of_pack: Vec<Vec<u16>> = pack.iter().map(|&at| groups[at].clone()).collect();
            assert!(channels_of(&of_pack).len() <= MOST_NUMBERS);
        }
        let mut all = packs.concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..groups.len()));
        // 5 blocks of 127: one pack for each two of them and for each one; 3 runs of triples.
        assert_eq!(packs.len(), 15 + 3);
    }
}
