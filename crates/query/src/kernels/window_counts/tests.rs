//! Every level against plain loops, and accumulators at their largest values.

use proptest::prelude::*;
use tagq_sampling::random_cases;

use super::{sums::FEWEST_ROWS, *};

/// A value for every edge of a list, and all different.
fn values(len: usize) -> Vec<u64> {
    (0..=len as u64).map(|edge| edge.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1).collect()
}

proptest! {
    #![proptest_config(random_cases(400))]

    #[test]
    fn edges_are_those_of_a_plain_search(
        gaps in prop::collection::vec(prop_oneof![6 => 0..40_i64, 2 => Just(0), 1 => 500..9_000_i64], 0..300),
        start in prop_oneof![Just(i64::MIN), Just(0), Just(i64::MAX - 3_000_000)],
        beyond in prop_oneof![
            6 => -300..300_i64,
            1 => -20_000..20_000_i64,
            1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, i64::MAX - 1, i64::MAX]),
        ],
        rows in prop::array::uniform2(any::<prop::sample::Index>()),
    ) {
        let times = gaps.iter().scan(start, |time, gap| { *time += gap; Some(*time) });
        let time: Vec<i64> = times.collect();
        let [a, b] = rows.map(|row| row.index(time.len() + 1));
        let (rows, values) = (a.min(b)..a.max(b), values(time.len()));
        let of_row = |row: usize| {
            let is_beyond = |&&earlier: &&i64| i128::from(time[row]) - i128::from(earlier) > beyond.into();
            values[time.iter().filter(is_beyond).count()]
        };
        let expected: Vec<u64> = rows.clone().map(of_row).collect();
        for simd in Simd::available() {
            let mut into = vec![0; rows.len()];
            at_edges(simd, &time, rows.clone(), beyond, &values, &mut into);
            prop_assert_eq!(&into, &expected, "{:?}", simd);
        }
    }

    #[test]
    fn sums_are_those_of_plain_products(
        number in prop::collection::vec(0..16_u8, 1..200),
        channels in 3..=16_u8,
        size in 1..=6_usize,
        ends in prop::collection::vec(prop::array::uniform2(any::<prop::sample::Index>()), 0..200),
        chosen in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..500), 16),
        once in any::<bool>(),
        all_counts in any::<bool>(),
    ) {
        let number: Vec<u8> = number.iter().map(|number| number % channels).collect();
        let size = size.min(channels.into());
        let factors = |chosen: &Vec<prop::sample::Index>| -> Vec<u8> {
            let product = |chosen: &[prop::sample::Index]| -> Vec<u8> {
                let mut left: Vec<u8> = (0..channels).collect();
                chosen.iter().map(|at| left.remove(at.index(left.len()))).collect()
            };
            chosen.chunks_exact(size).flat_map(product).collect()
        };
        let factors = if all_counts && size == 1 {
            vec![(0..channels).collect(); 16]
        } else {
            chosen.iter().map(factors).collect()
        };
        let made = Products::new(size, factors);
        let [mut from, mut to] = [Vec::new(), Vec::new()];
        for ends in ends {
            let [a, b] = ends.map(|end| end.index(number.len() + 1) as u64);
            from.push(a.min(b));
            to.push(a.max(b));
        }
        let own: Vec<u8> = (0..from.len()).map(|row| number[row % number.len()]).collect();
        let longest = from.iter().zip(&to).map(|(from, to)| to - from).max().unwrap_or(0);
        prop_assert!(made.fit(longest, once, from.len()));
        let case = Case { number: &number, ends: [&from, &to], own: &own, longest, once, made: &made };
        case.check::<16>()?;
        if channels <= 8 {
            case.check::<8>()?;
        }
    }

    #[test]
    fn one_product_is_that_of_plain_counts(
        number in prop::collection::vec(0..4_u8, 1..300),
        channels in 1..=4_u8,
        counted in 1..=4_u8,
        once in any::<bool>(),
        ends in prop::collection::vec(prop::array::uniform2(any::<prop::sample::Index>()), 300),
    ) {
        let number: Vec<u8> = number.iter().map(|number| number % channels).collect();
        let mut words = Vec::new();
        words_before(&number, &mut words);
        let [mut from, mut to] = [Vec::new(), Vec::new()];
        let mut expected = 0;
        for (&own, ends) in number.iter().zip(ends) {
            let [a, b] = ends.map(|end| end.index(number.len() + 1));
            let (start, end) = (a.min(b), a.max(b));
            from.push(words[start]);
            to.push(words[end]);
            let others = (0..channels).filter(|&other| other != own);
            let count = |other| {
                let tags: usize = number[start..end].iter().map(|&n| usize::from(n == other)).sum();
                if once { tags.min(1) } else { tags }
            };
            expected += u128::from(own < counted) * others.map(count).product::<usize>() as u128;
        }
        let product = OneProduct::new(channels.into(), |number| number < counted, once);
        for simd in Simd::available() {
            prop_assert_eq!(one_product(simd, product, &words, [&from, &to]), expected, "{:?}", simd);
        }
    }

    /// None panics or accesses memory outside its slices, whatever the times are.
    #[test]
    fn edges_in_any_times(
        time in prop::collection::vec(prop_oneof![any::<i64>(), -300..300_i64], 0..200),
        beyond in prop_oneof![any::<i64>(), -200..200_i64],
        start in any::<prop::sample::Index>(),
    ) {
        let values = values(time.len()).into_boxed_slice();
        let time = time.into_boxed_slice();
        let start = start.index(time.len() + 1);
        for simd in Simd::available() {
            let mut into = vec![0; time.len() - start].into_boxed_slice();
            at_edges(simd, &time, start..time.len(), beyond, &values, &mut into);
            prop_assert!(into.iter().all(|value| values.contains(value)));
        }
    }
}

/// Windows, and the products over them.
struct Case<'a> {
    number: &'a [u8],
    ends: [&'a [u64]; 2],
    own: &'a [u8],
    longest: u64,
    once: bool,
    made: &'a Products,
}

impl Case<'_> {
    fn check<const L: usize>(&self) -> Result<(), TestCaseError> {
        let Self { number, ends, own, longest, once, made } = *self;
        let mut expected = vec![0_u128; 16 * made.most];
        let mut before = vec![[0_u64; 16]];
        for &number in number {
            let mut next = before[before.len() - 1];
            next[usize::from(number)] += 1;
            before.push(next);
        }
        for ((&from, &to), &own) in ends[0].iter().zip(ends[1]).zip(own) {
            let [from, to] = [from, to].map(|at| &before[index(at)]);
            let products = made.factors[usize::from(own)].chunks_exact(made.size);
            for (place, factors) in products.enumerate() {
                let count = |&factor: &u8| {
                    let tags = to[usize::from(factor)] - from[usize::from(factor)];
                    u128::from(if once { tags.min(1) } else { tags })
                };
                let product: u128 = factors.iter().map(count).product();
                expected[usize::from(own) * made.most + place] += product;
            }
        }
        let mut of_32_bits = Vec::new();
        count_before::<u32, L>(number, number.len() / 3, &mut of_32_bits);
        count_before::<u32, L>(number, number.len(), &mut of_32_bits);
        let wide = Windows { before: &of_32_bits, ends, number: own, longest, once };
        let mut of_16_bits = Vec::new();
        count_before::<u16, L>(number, number.len(), &mut of_16_bits);
        let narrow = Windows { before: &of_16_bits, ends, number: own, longest, once };
        for simd in Simd::available() {
            let mut found = vec![Sums::default()];
            products(simd, &wide, made, &mut found[0]);
            if made.are_of_16_bits(simd, longest, once) {
                found.push(Sums::default());
                products(simd, &narrow, made, &mut found[1]);
            }
            for sums in found {
                for (at, &expected) in expected.iter().enumerate() {
                    let own = u8::try_from(at / made.most).unwrap();
                    let sum = sums.get(own, at % made.most);
                    prop_assert_eq!(u128::from(sum), expected, "{:?} {}", simd, at);
                }
            }
        }
        Ok(())
    }
}

/// Windows of the longest lengths for each kind of sum, and one row longer, with as many rows as sums of 32 bits can
/// take, and one more: with the tags divided equally among the factors, which makes the largest products.
#[test]
fn sums_hold_the_largest_products() {
    for size in 1..=5_usize {
        let made = Products::new(size, vec![(0..8).take(size).collect(); 16]);
        let is_narrow = |longest: &u64| {
            Simd::available().iter().any(|&simd| made.are_of_16_bits(simd, *longest, false))
        };
        let edge = (1..=70_000).rev().find(is_narrow);
        let lengths = edge.map_or(vec![5_000], |edge| vec![edge - 1, edge, edge + 1, edge + 2]);
        for longest in lengths {
            let each = usize::try_from(longest).unwrap().div_ceil(size);
            let number: Vec<u8> = (0..size)
                .flat_map(|factor| vec![u8::try_from(factor).unwrap(); each])
                .take(usize::try_from(longest).unwrap())
                .collect();
            let rows = made
                .rows_of_32_bits(Simd::best(), longest, false)
                .unwrap_or(usize::try_from(FEWEST_ROWS).unwrap());
            for rows in [rows, rows + 1, 2 * rows + 1] {
                let (from, to) = (vec![0; rows], vec![longest; rows]);
                let own = vec![5; rows];
                let ends = [&from[..], &to[..]];
                let case =
                    Case { number: &number, ends, own: &own, longest, once: false, made: &made };
                case.check::<8>().unwrap();
                case.check::<16>().unwrap();
            }
        }
    }
}

/// The largest products of one group: two and three factors of a window with as many rows as words can count, over
/// more rows than are added at once.
#[test]
fn words_hold_the_largest_counts() {
    for factors in [2, 3_u8] {
        let each = WORD_ROWS / usize::from(factors);
        let mut number: Vec<u8> = (0..factors).flat_map(|factor| vec![factor; each]).collect();
        let (first, rows) = (number.len(), WORDS + 10);
        number.extend(vec![factors; rows]);
        let mut words = Vec::new();
        words_before(&number, &mut words);
        let (from, to) = (vec![words[0]; rows], vec![words[first]; rows]);
        let product = OneProduct::new(usize::from(factors) + 1, |_| true, false);
        let expected = (each as u128).pow(factors.into()) * rows as u128;
        for simd in Simd::available() {
            let sum = one_product(simd, product, &words[first..], [&from, &to]);
            assert_eq!(sum, expected, "{simd:?}");
        }
    }
}

#[test]
fn sums_that_do_not_fit_are_refused() {
    let made = Products::new(3, vec![vec![0, 1, 2]]);
    // (3n / 3)^3 over r rows.
    assert!(made.fit(3 * 1_000_000, false, 18));
    assert!(!made.fit(3 * 1_000_000, false, 19));
    assert!(!made.fit(u64::MAX, false, 1));
    assert!(made.fit(u64::MAX, true, 1 << 40));
}
