//! Plain code: the level of every machine, and of others if an edge or a sum does not fit in their lanes.

use std::ops::Range;

use super::sums::{Count, OneProduct, Products, Windows};

/// Walks that advance in turn: each step of one runs while the others wait for their loads.
const WALKS: usize = 4;

/// See [`super::at_edges`]. No branch depends on the times, until a walk reaches its end.
pub(super) fn at_edges(
    time: &[i64],
    rows: Range<usize>,
    beyond: i64,
    values: &[u64],
    into: &mut [u64],
) {
    let part = into.len().div_ceil(WALKS).max(1);
    let mut parts = into.chunks_mut(part);
    let mut walks: [RowWalk<'_>; WALKS] = std::array::from_fn(|n| {
        let into = parts.next().unwrap_or_default();
        let row = (rows.start + n * part).min(rows.end);
        RowWalk { row, into, done: 0, edge: edge(time, row, beyond) }
    });
    loop {
        // No walk reaches the end of its rows or of the times in so many steps.
        let steps = walks.iter().map(|walk| walk.left().min(time.len() - walk.edge)).min();
        let steps = steps.unwrap_or(0);
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            for walk in &mut walks {
                let now = time[walk.row + walk.done];
                let is_beyond = now.wrapping_sub(time[walk.edge]) > beyond;
                walk.into[walk.done] = values[walk.edge];
                walk.edge += usize::from(is_beyond);
                walk.done += usize::from(!is_beyond);
            }
        }
    }
    for walk in &mut walks {
        let left = &time[walk.row..][walk.done..walk.into.len()];
        tile_at_edges((time, values, beyond), walk.edge, left, &mut walk.into[walk.done..]);
    }
}

/// Writes the values at the edges of rows with these times, from the edge `at` on. Returns the edge of the last row.
#[cold]
pub(super) fn tile_at_edges(
    (time, values, beyond): (&[i64], &[u64], i64),
    mut at: usize,
    tile: &[i64],
    into: &mut [u64],
) -> usize {
    for (&now, into) in tile.iter().zip(into) {
        while time.get(at).is_some_and(|&time| now.wrapping_sub(time) > beyond) {
            at += 1;
        }
        *into = values[at];
    }
    at
}

/// The rows of one walk.
struct RowWalk<'a> {
    row: usize,
    into: &'a mut [u64],
    done: usize,
    edge: usize,
}

impl RowWalk<'_> {
    fn left(&self) -> usize {
        self.into.len() - self.done
    }
}

/// Returns how many rows are more than `beyond` ticks before a row, or 0 if there is no such row.
pub(super) fn edge(time: &[i64], row: usize, beyond: i64) -> usize {
    let Some(&now) = time.get(row) else { return 0 };
    time.partition_point(|&time| now.wrapping_sub(time) > beyond)
}

/// See [`super::products`].
pub(super) fn products<C: Count, const L: usize>(
    windows: &Windows<'_, C, L>,
    products: &Products,
    sums: &mut [u64],
    stride: usize,
) {
    let are_counts =
        |factors: &Vec<u8>| factors.iter().copied().map(usize::from).eq(0..products.most);
    match products.size {
        // Each product is one count, in order of number; the counts after the last number are 0.
        1 if L <= stride && products.factors.iter().all(are_counts) => {
            for (number, counts) in windows.rows() {
                let sums = &mut sums[usize::from(number) * stride..][..L];
                for (sum, count) in sums.iter_mut().zip(counts) {
                    *sum = sum.wrapping_add(count.into());
                }
            }
        }
        1 => add::<C, L, 1>(windows, products, sums, stride),
        2 => add::<C, L, 2>(windows, products, sums, stride),
        3 => add::<C, L, 3>(windows, products, sums, stride),
        4 => add::<C, L, 4>(windows, products, sums, stride),
        size => {
            for (number, counts) in windows.rows() {
                let number = usize::from(number);
                let sums = &mut sums[number * stride..][..stride];
                for (sum, factors) in
                    sums.iter_mut().zip(products.factors[number].chunks_exact(size))
                {
                    *sum = sum.wrapping_add(product(factors, &counts));
                }
            }
        }
    }
}

/// Adds products of F factors: a loop without a branch.
fn add<C: Count, const L: usize, const F: usize>(
    windows: &Windows<'_, C, L>,
    products: &Products,
    sums: &mut [u64],
    stride: usize,
) {
    for (number, counts) in windows.rows() {
        let number = usize::from(number);
        let sums = &mut sums[number * stride..][..stride];
        for (sum, factors) in sums.iter_mut().zip(products.factors[number].as_chunks::<F>().0) {
            *sum = sum.wrapping_add(product(factors, &counts));
        }
    }
}

#[inline]
fn product<const L: usize>(factors: &[u8], counts: &[u32; L]) -> u64 {
    let counts = factors.iter().map(|&lane| u64::from(counts[usize::from(lane) % L]));
    counts.fold(1, u64::wrapping_mul)
}

/// See [`super::one_product`]; inlined into the code of each level.
#[inline(always)]
pub(super) fn one_product(
    OneProduct { counted, unused, once }: OneProduct,
    [now, next]: [&[u64]; 2],
    [from, to]: [&[u64]; 2],
) -> u64 {
    const ONES: u64 = 0x0001_0001_0001_0001;
    const EVEN: u64 = 0x0000_ffff_0000_ffff;
    const LOW: u64 = u32::MAX as u64;
    let mut sum = 0_u64;
    for ((now, next), (from, to)) in now.iter().zip(next).zip(from.iter().zip(to)) {
        let own = next.wrapping_sub(*now);
        let mut counts = to.wrapping_sub(*from);
        if once {
            // The highest bit of each lane that is not 0.
            let high = ONES << 15;
            counts = (((counts & !high) + !high) | counts) >> 15 & ONES;
        }
        // The lane of the row itself counts once, if such rows are counted; unused lanes change nothing.
        let own_lane = (own << 16).wrapping_sub(own);
        let factors = counts & !own_lane | own & counted | unused;
        let (even, odd) = (factors & EVEN, factors >> 16 & EVEN);
        let first = (even & LOW) * (odd & LOW);
        let second = (even >> 32) * (odd >> 32);
        sum = sum.wrapping_add((first & LOW) * (second & LOW));
    }
    sum
}
