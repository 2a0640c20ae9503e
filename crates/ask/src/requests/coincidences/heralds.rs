//! Counts of heralds: those of a heralded g2, and of heralds that a veto leaves.
//!
//! A pair by rule `all` with a veto and 10 shifts has 24 more scans: each of its two channels is the herald once, with
//! one scan for the heralds, one for their pairs and one for each shift. `scans` must say as many as
//! `OfHeralds::counted` and `heralded` ask, since the estimate of the work follows from it.

use tagq_query::{
    Coincidences as Query, Error as QueryError, Groups, Heralded, Heralding, Kind as _, Ledger,
    Rule, Shifted, SourceSingles,
};

use crate::requests::coincidences::shifted::{Moved, Shift, found};

/// The pairs of some heralds.
#[derive(Clone)]
pub(super) struct OfHeralds {
    pub count: u64,
    pub heralds: u64,
    pub moved: Vec<Moved>,
}

impl OfHeralds {
    /// Counts the pairs of the channel `of` of a pair as the herald, if a veto selects heralds and accidentals are
    /// measured. The other channel is moved: a veto belongs to its herald.
    pub(super) fn counted(
        ledger: &Ledger<'_>,
        query: &Query,
        (channels, of): (&[u16], usize),
        shift: Option<Shift>,
    ) -> Result<Option<Self>, QueryError> {
        let (Some(shift), &[a, b]) = (shift, channels) else { return Ok(None) };
        if !is_counted(query, of) {
            return Ok(None);
        }
        let [herald, other] = if of == 0 { [a, b] } else { [b, a] };
        let pairs = |query: &Query| Ok(query.of_heralds_left(ledger, herald, &[&[other]])?[0]);
        let heralds = query.of_heralds_left(ledger, herald, &[&[]])?[0];
        let moved = shift.counts_by(ledger.facts(), query, &[herald, other], &pairs)?;
        Ok(Some(Self { count: pairs(query)?, heralds, moved }))
    }

    /// Returns the numbers for the estimates; `None` if no shift could be used.
    pub(super) fn estimate(&self) -> Option<Heralding> {
        match found(2, &self.moved).shifted {
            Shifted::Counted { mean: accidentals, .. } => {
                Some(Heralding { count: self.count, accidentals, heralds: self.heralds })
            }
            Shifted::Nowhere => None,
        }
    }
}

/// Returns the counts of a heralded g2 for a group of three; with a veto, those of the heralds that it leaves.
pub(super) fn heralded(
    ledger: &Ledger<'_>,
    query: &Query,
    (channels, count, sources): (&[u16], u64, &[SourceSingles]),
) -> Result<Option<Heralded>, QueryError> {
    let (Some(arms), &[herald, a, b]) = (arms(query, channels), channels) else { return Ok(None) };
    let delay = |channel: u16| query.scope.delay_of(channel);
    let shared = |channels: &[u16]| {
        let delays: Vec<i64> = channels.iter().map(|&channel| delay(channel)).collect();
        let live = ledger.facts().iter().map(|of| of.live().overlap(&delays, query.scope.range));
        live.fold(0, i64::saturating_add)
    };
    let live = [&[herald][..], &[herald, a], &[herald, b], channels].map(shared);
    if query.veto.is_some() {
        let partners: [&[u16]; 4] = [&[], &[a], &[b], &[a, b]];
        let left = query.of_heralds_left(ledger, herald, &partners)?;
        let &[heralds, a, b, triples] = &left[..] else { return Ok(None) };
        return Ok(Some(Heralded { triples, heralds, arms: [a, b], live }));
    }
    let rows = arms.ask(ledger)?.rows;
    let heralds = sources.iter().map(|source| source.singles[0]).sum();
    let arms = [rows[0].count, rows[1].count];
    Ok(Some(Heralded { triples: count, heralds, arms, live }))
}

/// Returns whether the pairs of a channel of a pair, 0 or 1, are counted with the heralds that a veto leaves.
fn is_counted(query: &Query, of: usize) -> bool {
    let is_herald = match query.rule {
        Rule::All | Rule::Herald => true,
        Rule::PerHerald => of == 0,
        Rule::Once | Rule::Cluster | Rule::Grid => false,
    };
    is_herald && query.veto.is_some()
}

/// Returns the number of scans besides that of the group itself and of its moved channels.
pub(super) fn scans(query: &Query, channels: &[u16], shift: Option<Shift>) -> u64 {
    let of_pair = |shift: Shift| {
        let of = (0..2).filter(|&of| channels.len() == 2 && is_counted(query, of));
        of.count() as u64 * (2 + shift.scans(2))
    };
    let of_g2 = match (arms(query, channels), &query.veto) {
        (None, _) => 0,
        (Some(_), None) => 1,
        (Some(_), Some(_)) => 4,
    };
    of_g2 + shift.map_or(0, of_pair)
}

/// Combines two heralded g2, count by count.
pub(super) fn combined(
    one: &Heralded,
    other: &Heralded,
    count: impl Fn(u64, u64) -> Option<u64>,
    ticks: impl Fn(i64, i64) -> Option<i64>,
) -> Option<Heralded> {
    let mut live = one.live;
    for (live, &other) in live.iter_mut().zip(&other.live) {
        *live = ticks(*live, other)?;
    }
    Some(Heralded {
        triples: count(one.triples, other.triples)?,
        heralds: count(one.heralds, other.heralds)?,
        arms: [count(one.arms[0], other.arms[0])?, count(one.arms[1], other.arms[1])?],
        live,
    })
}

/// Returns the query that is counted next to a group of three with rule `herald`, also with each herald
/// once: the pairs of its herald by the same rule.
fn arms(query: &Query, channels: &[u16]) -> Option<Query> {
    let [herald, a, b] = channels[..] else { return None };
    let groups = Groups::Listed(vec![vec![herald, a], vec![herald, b]]);
    matches!(query.rule, Rule::Herald | Rule::PerHerald).then(|| Query { groups, ..query.clone() })
}
