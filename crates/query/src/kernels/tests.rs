//! Every kernel on times in any order: none panics or accesses memory outside its slices, which an address
//! sanitizer detects.
//!
//! Slices are separate boxes, so that no readable memory follows their ends.

use proptest::prelude::*;
use tagq_sampling::random_cases;

use super::{
    compress, compress_labels, compress_offsets,
    distances::{
        Distances, distances,
        narrow::{LIMIT, Narrow},
    },
    first_fall,
    gathered::Gathered,
    matching,
    matrix::Matrix,
    merges::{EDGES, Merges},
    neighbours::{
        DelayedWindow, Differences, PairDistances, REACH, TakeDifferences, chains, differences,
        matrix, near, pairs,
    },
    rows::{MASK_ROWS, low_half},
    two_lists::{far_pairs, merge},
};
use crate::{kernels::simd::Simd, scan::selection::Ready};

/// Times that no recorder writes, and damaged times: a column in order with a few changed rows.
fn times(len: std::ops::Range<usize>) -> impl Strategy<Value = Box<[i64]>> {
    let edges = vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
    let value = || prop_oneof![any::<i64>(), -300_i64..300, prop::sample::select(edges.clone())];
    let in_order = prop::collection::vec(0_i64..40, len.clone()).prop_map(|mut gaps| {
        gaps.iter_mut().fold(0, |time, gap| {
            *gap += time;
            *gap
        });
        gaps
    });
    let damage = prop::collection::vec((any::<prop::sample::Index>(), value(), 0_u32..64), 0..4);
    let damaged = (in_order, damage).prop_map(|(mut time, damage)| {
        for (at, value, bit) in damage {
            if !time.is_empty() {
                let row = at.index(time.len());
                time[row] = if value % 2 == 0 { value } else { time[row] ^ 1 << bit };
            }
        }
        time
    });
    prop_oneof![prop::collection::vec(value(), len), damaged].prop_map(Vec::into_boxed_slice)
}

fn labels(time: &[i64], seed: u64) -> Box<[u8]> {
    let label = |row: u64| (row.wrapping_mul(seed | 1) >> 7).to_le_bytes()[0];
    (0..time.len() as u64)
        .map(label)
        .map(|label| if seed.is_multiple_of(3) { label } else { label % 5 })
        .collect()
}

fn windows() -> impl Strategy<Value = i64> {
    prop_oneof![0_i64..200, 0..=i64::MAX, Just(0), Just(i64::MAX)]
}

/// The largest difference that was taken.
struct Largest(u64);

impl TakeDifferences for &mut Largest {
    fn narrow(&mut self, differences: &mut [u16]) {
        let wide: Vec<u64> = differences.iter().copied().map(u64::from).collect();
        self.wide(&wide);
    }

    fn wide(&mut self, differences: &[u64]) {
        self.0 = differences.iter().copied().fold(self.0, u64::max);
    }
}

proptest! {
    #![proptest_config(random_cases(500))]

    #[test]
    fn neighbours(
        time in times(0..400),
        seed in any::<u64>(),
        window in windows(),
        k in 1..=REACH,
        head in any::<prop::sample::Index>(),
    ) {
        let id = labels(&time, seed);
        let falls = time.windows(2).position(|two| two[1] < two[0]).map(|row| row + 1);
        let mut dense = [4_u8; 256];
        dense[..4].copy_from_slice(&[0, 1, 2, 3]);
        let head = head.index(time.len() + 1);
        for simd in Simd::available() {
            prop_assert_eq!(first_fall(simd, &time), falls);
            let ready = Ready { time: &time, id: &id, head, number_of: &dense };
            let rows = ready.rows();
            let is_seen = !time[head.saturating_sub(REACH)..].is_sorted();
            let mut masks = vec![0; rows.range.len().div_ceil(MASK_ROWS)].into_boxed_slice();
            let distances = PairDistances::between(-window, window).unwrap();
            let found = [
                pairs(simd, &rows, [0, 1], &distances).map(drop),
                matrix(simd, &rows, &DelayedWindow::new(window, &[0]).unwrap(), &mut Matrix::new(5)),
                chains(simd, &rows, window, &mut Matrix::new(5), |_| ()),
                near(simd, &rows, k, window, &mut masks),
            ];
            prop_assert!(!is_seen || found == [None; 4], "{:?} {found:?}", simd);
        }
    }

    #[test]
    fn taking_out(time in times(0..300), seed in any::<u64>(), delay in any::<i64>()) {
        let id = labels(&time, seed);
        for simd in Simd::available() {
            let mut masks = vec![0; time.len().div_ceil(MASK_ROWS)].into_boxed_slice();
            matching(simd, &id, &[0, 3, 255], &mut masks);
            let len: usize = masks.iter().map(|mask| mask.count_ones() as usize).sum();
            let mut into = vec![0; len + MASK_ROWS].into_boxed_slice();
            let mut again = into.clone();
            let is_in_order =
                compress(simd, &time, [&masks, &masks], [delay, 0], [&mut into, &mut again]);
            prop_assert_eq!(is_in_order, time.is_sorted(), "{:?}", simd);
            let offsets: Box<[u32]> = time.iter().map(|&time| low_half(time)).collect();
            let of_offset = |&offset: &u32| 7 + i64::from(offset);
            let moved: Box<[i64]> = offsets.iter().map(of_offset).collect();
            let mut known = again.clone();
            compress(simd, &moved, [&masks], [delay], [&mut known]);
            let times = [7, delay.wrapping_add(7)];
            compress_offsets(simd, &offsets, [&masks; 2], times, [&mut again, &mut into]);
            prop_assert_eq!(&into[..len], &known[..len], "{:?}", simd);
            for (&late, &early) in known[..len].iter().zip(&again[..len]) {
                prop_assert_eq!(early, late.wrapping_sub(delay));
            }
            let mut numbers = vec![0; len + MASK_ROWS].into_boxed_slice();
            compress_labels(simd, &id, &masks, &mut numbers);
            let wanted = id.iter().copied().filter(|label| [0, 3, 255].contains(label));
            prop_assert!(wanted.eq(numbers[..len].iter().copied()));
        }
    }

    #[test]
    fn two_lists(
        a in times(0..300),
        b in times(0..300),
        window in windows(),
        heads in prop::array::uniform2(any::<prop::sample::Index>()),
        seed in any::<u64>(),
    ) {
        let numbers = [labels(&a, seed), labels(&b, seed / 3)];
        let mut time = vec![0; a.len() + b.len()].into_boxed_slice();
        let mut number = vec![0; a.len() + b.len()].into_boxed_slice();
        merge([&a, &b], [&numbers[0], &numbers[1]], &mut time, &mut number);
        // Every merged tag occurs once, in any order.
        let mut all = [&a[..], &b[..]].concat();
        all.sort_unstable();
        time.sort_unstable();
        prop_assert_eq!(&all[..], &time[..]);
        let heads = [heads[0].index(a.len() + 1), heads[1].index(b.len() + 1)];
        far_pairs([&a, &b], heads, window);
    }

    #[test]
    fn differences_of_neighbours(
        time in times(0..300),
        seed in any::<u64>(),
        head in any::<prop::sample::Index>(),
        ends in prop::array::uniform2(prop_oneof![any::<i64>(), -300_i64..300]),
        pair in prop::array::uniform2(0_u8..4),
    ) {
        let id = labels(&time, seed);
        let head = head.index(time.len() + 1);
        let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let Some(distances) = PairDistances::between(low, high) else { return Ok(()) };
        for simd in Simd::available() {
            let rows = Ready { time: &time, id: &id, head, number_of: &[0; 256] }.rows();
            let is_seen = !time[head.saturating_sub(REACH)..].is_sorted();
            let (mut largest, mut buffers) = (Largest(0), Differences::new());
            let end = differences(simd, &rows, pair, &distances, &mut buffers, &mut largest);
            // Differences are used to compute numbers of bins.
            prop_assert!(largest.0 <= high.abs_diff(low), "{:?} {}", simd, largest.0);
            prop_assert!(!is_seen || end.is_err(), "{:?}", simd);
            let last = end.err().unwrap_or(rows.range.start);
            prop_assert!((rows.range.start..=rows.range.end).contains(&last));
        }
    }

    #[test]
    fn distances_of_lists(
        owners in times(0..200),
        others in times(0..200),
        (first, last, low) in (any::<i64>(), any::<i64>(), any::<i64>()),
        edges in prop::array::uniform::<_, EDGES>(any::<i64>()),
        is_negative in any::<bool>(),
    ) {
        let wanted = Distances { first, last, low, is_negative };
        let narrow = Distances { first: first % LIMIT, last: last % LIMIT, ..wanted };
        let parts = [&others[..], &others[others.len() / 2..], &others[..0], &others[..others.len() / 3]];
        for simd in Simd::available() {
            let lists = [&owners[..], &others[..]];
            distances(simd, lists, &wanted, &mut Gathered::new(), |_| ());
            let mut room = Narrow::new();
            room.distances(simd, lists, &narrow, |_| ());
            room.numbers(simd, lists, &narrow, 3, |_| ());
            Merges::default().reaching(simd, &owners, parts, edges);
        }
    }
}

/// A lost page at every place, also where the last whole step ends: its decrease is 2^63 ticks or more.
#[test]
fn a_deep_decrease_is_noticed_at_every_row() {
    let id: Box<[u8]> = (0..200_u8).map(|row| row % 2).collect();
    for lost in 1..200 {
        let mut time: Box<[i64]> = (0..200).map(|row| 34 * row).collect();
        let end = (lost + 30).min(time.len());
        time[lost..end].fill(i64::MIN);
        let mut masks = vec![0; time.len().div_ceil(MASK_ROWS)].into_boxed_slice();
        for simd in Simd::available() {
            let rows = Ready { time: &time, id: &id, head: 0, number_of: &[0; 256] }.rows();
            let distances = PairDistances::between(-5, 5).unwrap();
            let found = [
                pairs(simd, &rows, [0, 1], &distances).map(drop),
                matrix(simd, &rows, &DelayedWindow::new(5, &[0]).unwrap(), &mut Matrix::new(2)),
                chains(simd, &rows, 5, &mut Matrix::new(2), |_| ()),
                near(simd, &rows, 2, 5, &mut masks),
            ];
            assert_eq!(found, [None; 4], "{simd:?}, row {lost}");
            masks.fill(0);
            let mut into = vec![0; MASK_ROWS];
            assert!(!compress(simd, &time, [&masks], [0], [&mut into]), "{simd:?}, row {lost}");
            let (mut largest, mut buffers) = (Largest(0), Differences::new());
            let end = differences(simd, &rows, [0, 1], &distances, &mut buffers, &mut largest);
            assert!(end.is_err(), "{simd:?}, row {lost}");
        }
    }
}
