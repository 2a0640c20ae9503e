//! Counts the pairs of two sorted lists that are at least a given distance apart: a merge, whatever the
//! number of pairs.
//!
//! The counts are meaningful if the lists are in order and differences between any two times fit in `i64`.
//! Otherwise the counts are arbitrary, but only the lists are accessed ([`super`]).
//!
//! Owners at 5 and 9, others at 0 and 4, edge 5: the three pairs 5 − 0, 9 − 0 and 9 − 4.

use crate::kernels::simd::Simd;
#[cfg(target_arch = "x86_64")]
use crate::kernels::{rows::low_half, simd::Level};

/// Edges that are merged at once.
pub(crate) const EDGES: usize = 4;

/// Buffers for times in 32 bits: a vector holds twice as many of them as in 64 bits.
#[derive(Default)]
pub(crate) struct Merges {
    #[cfg(target_arch = "x86_64")]
    owners: Vec<i32>,
    #[cfg(target_arch = "x86_64")]
    others: [Vec<i32>; EDGES],
}

impl Merges {
    /// Returns for each edge how many pairs of an owner and one of its `others` have owner − other ≥ edge.
    /// The last owner must be that far from all of its others.
    pub(crate) fn reaching(
        &mut self,
        simd: Simd,
        owners: &[i64],
        others: [&[i64]; EDGES],
        edges: [i64; EDGES],
    ) -> [u64; EDGES] {
        match simd.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if fits(owners, edges) => {
                // SAFETY: a token of this level is made only where its features were detected.
                unsafe { avx2::reaching(self, owners, others, edges) }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Vbmi2 if fits(owners, edges) => {
                // SAFETY: as above.
                unsafe { avx512::reaching(self, owners, others, edges) }
            }
            _ => interleaved(owners, others, edges),
        }
    }
}

/// Returns whether the owners are less than 2^31 ticks apart, and their times minus an edge fit in 64 bits.
#[cfg(target_arch = "x86_64")]
fn fits(owners: &[i64], edges: [i64; EDGES]) -> bool {
    let (Some(&first), Some(&last)) = (owners.first(), owners.last()) else { return false };
    last.wrapping_sub(first) < i32::MAX.into()
        && edges.iter().all(|&edge| first.checked_sub(edge).is_some())
}

/// Advances all edges in turn, step by step: each waits for its own loads only.
fn interleaved(owners: &[i64], others: [&[i64]; EDGES], edges: [i64; EDGES]) -> [u64; EDGES] {
    let mut at = [0_usize; EDGES];
    let mut sums = [0_u64; EDGES];
    let mut step_of = |e: usize, step: usize| {
        let i = at[e];
        // If the last owner reaches all others as required, no others are left after it.
        let pair = others[e].get(i).zip(owners.get(step - i));
        let is_far = pair.is_some_and(|(&other, &owner)| owner.wrapping_sub(other) >= edges[e]);
        sums[e] += i as u64;
        at[e] = i + usize::from(is_far);
    };
    // A step takes the next owner or the next other. All merges have at least this many steps, and the last
    // step of each takes an owner.
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
        // Steps that took an other belong to no owner: they added 0, 1, … and are subtracted.
        let others = others.len() as u64;
        *sum = sum.wrapping_sub(others * others.saturating_sub(1) / 2);
    }
    sums
}

/// Owners of a tile.
#[cfg(target_arch = "x86_64")]
const OWNERS: usize = 8;
/// Others of a tile: with lists of equal density, there are rarely more between the first and the last of its owners.
#[cfg(target_arch = "x86_64")]
const OTHERS: usize = 16;

#[cfg(target_arch = "x86_64")]
impl Merges {
    /// Writes times in 32 bits: of owners after the first one, and of the others of each edge after the last time that
    /// the first owner reaches. Leaves out others that all owners reach, and returns how many pairs these are.
    #[expect(clippy::inline_always, reason = "compiled for the level of its caller")]
    #[inline(always)]
    fn narrow(
        &mut self,
        owners: &[i64],
        others: [&[i64]; EDGES],
        edges: [i64; EDGES],
    ) -> [u64; EDGES] {
        let Some(&first) = owners.first() else { return [0; EDGES] };
        let near = |distance: i64| low_half(distance).cast_signed();
        self.owners.clear();
        self.owners.extend(owners.iter().map(|&owner| near(owner.wrapping_sub(first))));
        let mut reached_by_all = [0; EDGES];
        // A closure would not be compiled for the level.
        for e in 0..EDGES {
            let (limit, others, room) = (first - edges[e], others[e], &mut self.others[e]);
            let all = others.partition_point(|&other| other <= limit);
            room.clear();
            room.extend(others[all..].iter().map(|&other| near(other.wrapping_sub(limit))));
            // One more tile always follows the last other; its times are out of reach of every owner.
            room.extend([i32::MAX; OTHERS]);
            reached_by_all[e] = (all * owners.len()) as u64;
        }
        reached_by_all
    }
}

/// Returns the number of pairs of these owners, which are left after the last whole tile. All of them reach the first
/// `at` others.
#[cfg(target_arch = "x86_64")]
fn rest_of(owners: &[i32], others: &[i32], mut at: usize) -> u64 {
    let reached = |&owner: &i32| {
        at += others[at..].partition_point(|&other| other <= owner);
        at as u64
    };
    owners.iter().map(reached).sum()
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256,
        _mm256_movemask_ps, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_storeu_si256,
    };

    use super::{EDGES, Merges, OTHERS, OWNERS, rest_of};

    /// A merge in progress.
    struct Merge<'a> {
        others: &'a [i32],
        /// The first of the others that not all owners of the tile reach.
        at: usize,
        /// Pairs counted, before `missed` is subtracted.
        sum: u64,
        /// For each place in a tile, the negative number of others that were not reached.
        missed: __m256i,
    }

    /// Works tile by tile, two edges in turn: the start of the next tile of others is known only when the
    /// current one is done. Owners must be less than 2^31 ticks apart.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn reaching(
        merges: &mut Merges,
        owners: &[i64],
        others: [&[i64]; EDGES],
        edges: [i64; EDGES],
    ) -> [u64; EDGES] {
        let mut sums = merges.narrow(owners, others, edges);
        let (twos, _) = merges.others.as_chunks::<2>();
        for (sums, two) in sums.as_chunks_mut::<2>().0.iter_mut().zip(twos) {
            let merged = both(&merges.owners, two.each_ref().map(|others| Merge::new(others)));
            for (sum, merged) in sums.iter_mut().zip(merged) {
                *sum += merged;
            }
        }
        sums
    }

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    fn both(owners: &[i32], [mut a, mut b]: [Merge<'_>; 2]) -> [u64; 2] {
        let (tiles, rest) = owners.as_chunks::<OWNERS>();
        for tile in tiles {
            a.take(tile);
            b.take(tile);
        }
        [a.finish(rest), b.finish(rest)]
    }

    impl<'a> Merge<'a> {
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        fn new(others: &'a [i32]) -> Self {
            Self { others, at: 0, sum: 0, missed: _mm256_setzero_si256() }
        }

        /// Compares all owners of a tile with the others that some of them may reach and some may not.
        #[inline]
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        fn take(&mut self, tile: &[i32; OWNERS]) {
            // SAFETY: `tile` has 8 readable values; the load needs no alignment.
            let owners = unsafe { _mm256_loadu_si256(tile.as_ptr().cast()) };
            let last = _mm256_set1_epi32(tile[OWNERS - 1]);
            self.sum += (OWNERS * self.at) as u64;
            while let Some(near) = self.others[self.at..].first_chunk::<OTHERS>() {
                for &other in near {
                    let is_missed = _mm256_cmpgt_epi32(_mm256_set1_epi32(other), owners);
                    self.missed = _mm256_add_epi32(self.missed, is_missed);
                }
                self.sum += (OWNERS * OTHERS) as u64;
                // Others that the last owner reaches are also reached by later owners.
                let mut after = 0;
                for half in near.as_chunks::<8>().0 {
                    // SAFETY: `half` has 8 readable values; the load needs no alignment.
                    let half = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
                    let beyond = _mm256_castsi256_ps(_mm256_cmpgt_epi32(half, last));
                    after += _mm256_movemask_ps(beyond).count_zeros() as usize - 24;
                }
                self.at += after;
                if after < OTHERS {
                    break;
                }
            }
        }

        /// Returns the sum, including the remaining owners.
        #[target_feature(enable = "avx2,bmi1,popcnt")]
        fn finish(self, rest: &[i32]) -> u64 {
            let mut missed = [0_i32; OWNERS];
            // SAFETY: `missed` has 32 writable bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(missed.as_mut_ptr().cast(), self.missed) };
            let missed: u64 = missed.iter().map(|missed| u64::from(missed.unsigned_abs())).sum();
            self.sum + rest_of(rest, self.others, self.at) - missed
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::{
        arch::x86_64::{
            __m512i, _mm512_cmpgt_epi32_mask, _mm512_cmple_epi32_mask, _mm512_loadu_si512,
            _mm512_mask_add_epi32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
        },
        hint::black_box,
    };

    use super::{EDGES, Merges, OTHERS, OWNERS, rest_of};

    /// A merge in progress.
    struct Merge<'a> {
        others: &'a [i32],
        /// The first of the others that not all owners of the tile reach.
        at: usize,
        /// Pairs counted, without those of `reached`.
        sum: u64,
        /// For each place of others in a tile, the owners that reached it.
        reached: __m512i,
    }

    /// Works tile by tile, all edges in turn: a tile of others fills a vector, which each of the owners is compared with.
    /// Owners must be less than 2^31 ticks apart.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
    pub(super) fn reaching(
        merges: &mut Merges,
        owners: &[i64],
        others: [&[i64]; EDGES],
        edges: [i64; EDGES],
    ) -> [u64; EDGES] {
        let mut sums = merges.narrow(owners, others, edges);
        let mut all = merges.others.each_ref().map(|others| Merge::new(others));
        let (tiles, rest) = merges.owners.as_chunks::<OWNERS>();
        // A known number would be added in two steps, with a vector made of the mask.
        let one = black_box(_mm512_set1_epi32(1));
        for tile in tiles {
            for merge in &mut all {
                merge.take(tile, one);
            }
        }
        for (sum, merge) in sums.iter_mut().zip(all) {
            *sum += merge.finish(rest);
        }
        sums
    }

    impl<'a> Merge<'a> {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
        fn new(others: &'a [i32]) -> Self {
            Self { others, at: 0, sum: 0, reached: _mm512_setzero_si512() }
        }

        /// Compares the owners of a tile with the others that some of them may reach and some may not.
        #[inline]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
        fn take(&mut self, tile: &[i32; OWNERS], one: __m512i) {
            self.sum += (OWNERS * self.at) as u64;
            let last = _mm512_set1_epi32(tile[OWNERS - 1]);
            while let Some(near) = self.others[self.at..].first_chunk::<OTHERS>() {
                // SAFETY: `near` has 16 readable values; the load needs no alignment.
                let near = unsafe { _mm512_loadu_si512(near.as_ptr().cast()) };
                for &owner in tile {
                    let is_reached = _mm512_cmple_epi32_mask(near, _mm512_set1_epi32(owner));
                    self.reached =
                        _mm512_mask_add_epi32(self.reached, is_reached, self.reached, one);
                }
                // Others that the last owner reaches are also reached by later owners.
                let after = _mm512_cmpgt_epi32_mask(near, last).trailing_zeros() as usize;
                self.at += after;
                if after < OTHERS {
                    break;
                }
            }
        }

        /// Returns the sum, including the remaining owners.
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,popcnt")]
        fn finish(self, rest: &[i32]) -> u64 {
            let mut reached = [0_u32; OTHERS];
            // SAFETY: `reached` has 64 writable bytes; the store needs no alignment.
            unsafe { _mm512_storeu_si512(reached.as_mut_ptr().cast(), self.reached) };
            let reached: u64 = reached.into_iter().map(u64::from).sum();
            self.sum + reached + rest_of(rest, self.others, self.at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lists of all densities and lengths around a tile, including near the limits of 64 bits.
        #[test]
        fn every_level_equals_counting_one_by_one(
            mut owners in prop::collection::vec(0_i64..200, 1..60),
            mut others in prop::collection::vec(0_i64..200, 0..90),
            edges in prop::array::uniform4(0_i64..200),
            (origin, unit) in prop::sample::select(vec![
                (0, 1),
                (-100, 1),
                (i64::MIN, 1),
                (i64::MAX - 200, 1),
                // Around 2^31 ticks from end to end, and far above.
                (-5, 1 << 24),
                (7, 1 << 40),
            ]),
        ) {
            for times in [&mut owners, &mut others] {
                times.sort_unstable();
                for time in times.iter_mut() {
                    *time = *time * unit + origin;
                }
            }
            let edges = edges.map(|edge| edge * unit);
            let last = owners[owners.len() - 1];
            let reached = |edge| others.partition_point(|&other| last - other >= edge);
            let parts = edges.map(|edge| &others[..reached(edge)]);
            let one_by_one = edges.map(|edge| {
                let is_far = |&(owner, other): &(i64, i64)| owner - other >= edge;
                let pairs = owners.iter().flat_map(|&owner| others.iter().map(move |&o| (owner, o)));
                pairs.filter(is_far).count() as u64
            });
            let mut merges = Merges::default();
            for simd in Simd::available() {
                let reaching = merges.reaching(simd, &owners, parts, edges);
                prop_assert_eq!(reaching, one_by_one, "{:?}", simd);
            }
        }
    }
}
