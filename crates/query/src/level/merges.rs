//! How many pairs of two sorted lists are at least so far apart: a merge, whatever the number of pairs.
//!
//! Differences between any two times of one call fit in `i64`: the caller checked the span.

#[cfg(target_arch = "x86_64")]
use crate::simd::Level;
use crate::simd::Simd;

/// Edges that are merged at once.
pub(crate) const EDGES: usize = 4;

/// For each edge, how many pairs of an owner and one of its `others` have owner − other ≥ edge. The last
/// owner is that far from all of its others.
pub(crate) fn reaching(
    simd: Simd,
    owners: &[i64],
    others: [&[i64]; EDGES],
    edges: [i64; EDGES],
) -> [u64; EDGES] {
    match simd.level() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => std::array::from_fn(|e| {
            // SAFETY: a token of this level is made only where its features were detected.
            unsafe { avx512::reaching(owners, others[e], edges[e]) }
        }),
        _ => interleaved(owners, others, edges),
    }
}

/// Step by step, all edges in turn: each waits for its own loads only.
fn interleaved(owners: &[i64], others: [&[i64]; EDGES], edges: [i64; EDGES]) -> [u64; EDGES] {
    let mut at = [0_usize; EDGES];
    let mut sums = [0_u64; EDGES];
    let mut step_of = |e: usize, step: usize| {
        let i = at[e];
        let is_far = others[e].get(i).is_some_and(|&other| owners[step - i] - other >= edges[e]);
        sums[e] += i as u64;
        at[e] = i + usize::from(is_far);
    };
    // A step takes the next owner or the next other. All merges have this many steps or more, and the
    // last step of each takes an owner.
    let shortest = others.iter().map(|others| others.len()).min().unwrap_or(0);
    for step in 0..shortest + owners.len() {
        for e in 0..EDGES {
            step_of(e, step);
        }
    }
    for (e, others) in others.iter().enumerate() {
        for step in shortest + owners.len()..others.len() + owners.len() {
            step_of(e, step);
        }
    }
    for (sum, others) in sums.iter_mut().zip(others) {
        // Steps that took an other are not counted for anyone: those added 0, 1, … .
        let others = others.len() as u64;
        *sum -= others * others.saturating_sub(1) / 2;
    }
    sums
}

/// The same for one edge, from the others that all of `owners` reach on.
#[cfg(target_arch = "x86_64")]
fn plain(owners: &[i64], others: &[i64], edge: i64, mut at: usize) -> u64 {
    let mut sum = 0;
    for &owner in owners {
        while others.get(at).is_some_and(|&other| owner - other >= edge) {
            at += 1;
        }
        sum += at as u64;
    }
    sum
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        _mm512_cmple_epi64_mask, _mm512_loadu_epi64, _mm512_mask_add_epi64,
        _mm512_reduce_add_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_sub_epi64,
    };

    use super::plain;

    /// Owners of a tile.
    const OWNERS: usize = 8;
    /// Others of a tile: with lists of equal density rarely more lie between the first and the last of
    /// its owners.
    const OTHERS: usize = 16;

    /// Tile by tile: all owners of it against all others of it, without a branch that depends on times.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn reaching(owners: &[i64], others: &[i64], edge: i64) -> u64 {
        if owners.first().is_some_and(|&first| first.checked_sub(edge).is_none()) {
            return plain(owners, others, edge, 0);
        }
        let by = _mm512_set1_epi64(edge);
        let one = _mm512_set1_epi64(1);
        let mut sums = _mm512_setzero_si512();
        let (mut sum, mut at, mut done) = (0, 0, 0);
        while let (Some(tile), Some(near)) =
            (owners[done..].first_chunk::<OWNERS>(), others[at..].first_chunk::<OTHERS>())
        {
            // SAFETY: `tile` has 8 readable values; the load needs no alignment.
            let limits = _mm512_sub_epi64(unsafe { _mm512_loadu_epi64(tile.as_ptr()) }, by);
            for &other in near {
                let reached = _mm512_cmple_epi64_mask(_mm512_set1_epi64(other), limits);
                sums = _mm512_mask_add_epi64(sums, reached, sums, one);
            }
            // Others that the last owner reaches, the owners behind it reach, too.
            let last = _mm512_set1_epi64(tile[OWNERS - 1] - edge);
            let mut behind = 0;
            for half in near.as_chunks::<8>().0 {
                // SAFETY: `half` has 8 readable values; the load needs no alignment.
                let half = unsafe { _mm512_loadu_epi64(half.as_ptr()) };
                behind += _mm512_cmple_epi64_mask(half, last).count_ones() as usize;
            }
            sum += (OWNERS * at) as u64;
            at += behind;
            if behind == OTHERS {
                // There may be more between these owners.
                let more = &others[at..];
                let all = more.partition_point(|&other| tile[OWNERS - 1] - other >= edge);
                sum += plain(tile, &more[..all], edge, 0);
                at += all;
            }
            done += OWNERS;
        }
        sum += _mm512_reduce_add_epi64(sums).cast_unsigned();
        // What is left has no whole tile. Others that were passed are reached by all owners left.
        sum + plain(&owners[done..], others, edge, at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists of all densities and lengths around a tile, also where 64 bits begin.
        #[test]
        fn every_level_equals_counting_one_by_one(
            mut owners in prop::collection::vec(0_i64..200, 1..60),
            mut others in prop::collection::vec(0_i64..200, 0..90),
            edges in prop::array::uniform4(0_i64..200),
            origin in prop::sample::select(vec![0, -100, i64::MIN, i64::MAX - 200]),
        ) {
            for times in [&mut owners, &mut others] {
                times.sort_unstable();
                for time in times.iter_mut() {
                    *time += origin;
                }
            }
            let last = owners[owners.len() - 1];
            let reached = |edge| others.partition_point(|&other| last - other >= edge);
            let parts = edges.map(|edge| &others[..reached(edge)]);
            let one_by_one = edges.map(|edge| {
                let is_far = |&(owner, other): &(i64, i64)| owner - other >= edge;
                let pairs = owners.iter().flat_map(|&owner| others.iter().map(move |&o| (owner, o)));
                pairs.filter(is_far).count() as u64
            });
            for simd in Simd::available() {
                prop_assert_eq!(reaching(simd, &owners, parts, edges), one_by_one, "{:?}", simd);
            }
        }
    }
}
