//! The bins of a histogram: their edges, and which bin a difference falls into.
//!
//! Four bins of 10 ticks from −20: Δ = −20 is in bin 0, Δ = 19 in bin 3, Δ = 20 in none. [`Binning`] is the fast
//! form; it must give the bin of [`Bins::holding`] for every difference between the outer edges.

use crate::error::Error;

/// The largest number of bins held in memory: 1 GiB of counts.
const BINS_MAX: u64 = 1 << 27;

/// Contiguous, half-open bins of differences, in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bins {
    /// Bin k holds `low` + k·`width` ≤ Δ < `low` + (k+1)·`width`.
    Linear {
        /// The lower edge of bin 0.
        low: i64,
        /// The width of a bin in ticks.
        width: i64,
        /// The number of bins.
        count: u64,
    },
    /// Bin k holds `edges[k]` ≤ Δ < `edges[k+1]`; the edges ascend.
    Edges(Vec<i64>),
}

impl Bins {
    /// Creates bins of `width` ticks starting at `low`, as many as are needed to hold all Δ below `high`.
    ///
    /// # Errors
    /// Fails for a width below one tick, an empty range, and more bins than fit in memory.
    pub fn linear(low: i64, high: i64, width: i64) -> Result<Self, Error> {
        if low >= high {
            return Err(Error::EmptyRange { low, high });
        }
        let count = u128::from(high.abs_diff(low)).div_ceil(width.max(1).unsigned_abs().into());
        let count = u64::try_from(count).map_err(|_| too_many(count))?;
        let bins = Self::Linear { low, width, count };
        bins.check()?;
        Ok(bins)
    }

    /// Creates an odd number of bins of `width` ticks that hold all |Δ| ≤ `reach`. The middle bin is centred
    /// on Δ = 0: −width/2 ≤ Δ < width/2 for an even width.
    ///
    /// # Errors
    /// See [`Bins::linear`].
    pub fn centred(reach: i64, width: i64) -> Result<Self, Error> {
        if width < 1 {
            return Err(Error::BinWidth { width });
        }
        // The middle bin reaches width/2 below 0; the rest of it, including 0, lies above.
        let above = (width - 1) / 2;
        let aside = i128::from(reach - above).max(0).unsigned_abs();
        let aside = aside.div_ceil(width.unsigned_abs().into());
        let low = -(aside.cast_signed() * i128::from(width)) - i128::from(width / 2);
        let low = i64::try_from(low).map_err(|_| too_many(2 * aside + 1))?;
        let count = u64::try_from(2 * aside + 1).map_err(|_| too_many(2 * aside + 1))?;
        let bins = Self::Linear { low, width, count };
        bins.check()?;
        Ok(bins)
    }

    /// Creates `per_decade` bins per decade between `low` and `high`: edges are `low`·10^(k/`per_decade`),
    /// rounded half up and made strictly increasing; the last edge is `high`.
    ///
    /// # Errors
    /// Fails unless 0 < `low` < `high` and 1 ≤ `per_decade` ≤ 1,000.
    pub fn logarithmic(low: i64, high: i64, per_decade: u32) -> Result<Self, Error> {
        if low < 1 || low >= high {
            return Err(Error::LogRange { low, high });
        }
        if !(1..=1_000).contains(&per_decade) {
            return Err(Error::PerDecade { per_decade });
        }
        let mut edges = vec![low];
        for k in 1.. {
            let edge = log_edge(low.unsigned_abs(), k, per_decade, high.unsigned_abs());
            if edge >= high.unsigned_abs() {
                break;
            }
            // Rounding can put neighbouring edges on the same tick; duplicates are removed.
            let edge = edge.cast_signed();
            if edge > edges[edges.len() - 1] {
                edges.push(edge);
            }
        }
        edges.push(high);
        Ok(Self::Edges(edges))
    }

    /// Returns the number of bins.
    pub fn count(&self) -> usize {
        match self {
            Self::Linear { count, .. } => usize::try_from(*count).unwrap_or(usize::MAX),
            Self::Edges(edges) => edges.len().saturating_sub(1),
        }
    }

    /// Returns the edge between bin `k` − 1 and bin `k`.
    ///
    /// # Panics
    /// Panics if there is no such edge.
    pub fn edge(&self, k: usize) -> i64 {
        match *self {
            // The last edge was checked to fit.
            #[expect(clippy::cast_possible_wrap, reason = "below BINS_MAX")]
            Self::Linear { low, width, .. } => low.wrapping_add((k as i64).wrapping_mul(width)),
            Self::Edges(ref edges) => edges[k],
        }
    }

    /// Returns the largest distance from 0 of any edge, in ticks.
    pub fn longest(&self) -> i64 {
        let [low, high] = [self.edge(0), self.edge(self.count())];
        low.saturating_abs().max(high.saturating_abs())
    }

    /// Returns the bin that holds a difference, or `None` if no bin does.
    pub fn holding(&self, difference: i64) -> Option<usize> {
        match *self {
            Self::Linear { low, width, count } => {
                let distance = difference.wrapping_sub(low).cast_unsigned();
                let bin = distance / width.unsigned_abs();
                (difference >= low && bin < count).then_some(usize::try_from(bin).ok()?)
            }
            Self::Edges(ref edges) => {
                let after = edges.partition_point(|&edge| edge <= difference);
                (after > 0 && after < edges.len()).then(|| after - 1)
            }
        }
    }

    /// Returns the bins as a part of the key of a query.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Linear { low, width, count } => format!("{count} of {width} from {low}"),
            Self::Edges(edges) => {
                let edges: Vec<String> = edges.iter().map(i64::to_string).collect();
                format!("at {}", edges.join(","))
            }
        }
    }

    /// Rejects bins without a width or order, and more bins than fit in memory.
    ///
    /// # Errors
    /// The fault.
    pub fn check(&self) -> Result<(), Error> {
        match *self {
            Self::Linear { width, .. } if width < 1 => Err(Error::BinWidth { width }),
            Self::Linear { low, count: 0, .. } => Err(Error::EmptyRange { low, high: low }),
            Self::Linear { count, .. } if count > BINS_MAX => Err(too_many(count.into())),
            Self::Linear { low, width, count } => {
                let high = i128::from(low) + i128::from(width) * i128::from(count);
                i64::try_from(high).map(drop).map_err(|_| Error::BinRange {
                    low,
                    width,
                    bins: count,
                })
            }
            Self::Edges(ref edges) if edges.len() < 2 => Err(Error::EmptyRange { low: 0, high: 0 }),
            Self::Edges(ref edges) => match edges.windows(2).find(|pair| pair[0] >= pair[1]) {
                Some(pair) => Err(Error::EmptyRange { low: pair[0], high: pair[1] }),
                None => Ok(()),
            },
        }
    }
}

fn too_many(bins: u128) -> Error {
    Error::Bins { bins, max: BINS_MAX }
}

/// Returns `low`·10^(k/n), rounded half up; returns at least `high` if the value is not below `high`.
fn log_edge(low: u64, k: u32, n: u32, high: u64) -> u64 {
    let (decades, part) = (k / n, k % n);
    let Some(whole) = 10_u64.checked_pow(decades).and_then(|ten| ten.checked_mul(low)) else {
        return high;
    };
    if part == 0 {
        return whole;
    }
    let guess = whole as f64 * libm::pow(10.0, f64::from(part) / f64::from(n));
    // A hundred times the possible error of a float and its power.
    let doubt = guess * 1e-13;
    if guess - doubt > high as f64 + 1.0 {
        return high;
    }
    let rounded = |value: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, near high"
        )]
        let rounded = (value + 0.5).floor() as u64;
        rounded
    };
    let (mut below, mut above) = (rounded(guess - doubt), rounded(guess + doubt) + 1);
    // The edge is the largest e with e − 1/2 ≤ low·10^(k/n). Where the float is not precise enough, integers
    // decide: (2e − 1)^n ≤ (2·low)^n·10^k. Equality occurs only for whole decades, which are handled above.
    if below + 1 < above {
        let right = Natural::power(2 * u128::from(whole), n).times_power(10, part);
        while below + 1 < above {
            let middle = below + (above - below) / 2;
            if Natural::power(2 * u128::from(middle) - 1, n) <= right {
                below = middle;
            } else {
                above = middle;
            }
        }
    }
    below
}

/// A natural number of any size: 32-bit digits, least significant first, without leading zeros.
#[derive(PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    fn power(base: u128, exponent: u32) -> Self {
        let low = Self((0..4).map(|i| (base >> (32 * i) & 0xFFFF_FFFF) as u32).collect());
        let mut power = Self(vec![1]);
        for _ in 0..exponent {
            power = power.times(&low);
        }
        power
    }

    fn times_power(mut self, base: u32, exponent: u32) -> Self {
        for _ in 0..exponent {
            self = self.times(&Self(vec![base]));
        }
        self
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = vec![0_u32; self.0.len() + other.0.len()];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (j, &b) in other.0.iter().enumerate() {
                let sum = u64::from(a) * u64::from(b) + u64::from(product[i + j]) + carry;
                product[i + j] = (sum & 0xFFFF_FFFF) as u32;
                carry = sum >> 32;
            }
            product[i + other.0.len()] = u32::try_from(carry).unwrap_or(u32::MAX);
        }
        while product.last() == Some(&0) {
            product.pop();
        }
        Self(product)
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        let by_len = self.0.len().cmp(&other.0.len());
        Some(by_len.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev())))
    }
}

/// Bins prepared for counting: finds the bin of a difference, which is given as its distance from the lower
/// edge of bin 0.
pub(super) enum Binning {
    /// A width of 2^n ticks.
    Shift(u32),
    /// The reciprocal of the width times 2^64, exact for distances and widths below 2^32.
    Multiply(u64),
    Divide(u64),
    /// Edges as distances, and the index at which to start the search for a distance of a given size.
    Search {
        edges: Vec<u64>,
        starts: Vec<u32>,
    },
}

impl Binning {
    pub(super) fn of(bins: &Bins) -> Self {
        match bins {
            Bins::Linear { width, count, .. } => {
                let width = width.unsigned_abs();
                if width.is_power_of_two() {
                    Self::Shift(width.trailing_zeros())
                } else if width.saturating_mul(*count) < 1 << 32 {
                    Self::Multiply(u64::MAX / width + 1)
                } else {
                    Self::Divide(width)
                }
            }
            Bins::Edges(edges) => {
                let from_low = |edge: &i64| edge.wrapping_sub(edges[0]).cast_unsigned();
                let edges: Vec<u64> = edges.iter().map(from_low).collect();
                let first = |size| edges.partition_point(|&edge| size_of_distance(edge) < size);
                // Smaller distances of a size lie in the bin before the first edge of that size.
                let start = |size| u32::try_from(first(size).saturating_sub(1)).unwrap_or(u32::MAX);
                let starts = (0..SIZES).map(start).collect();
                Self::Search { edges, starts }
            }
        }
    }

    /// Calls `with` with the plain function of this binning, so that loops are compiled for each binning.
    pub(super) fn with<T>(&self, with: impl WithBin<T>) -> T {
        match self {
            Self::Shift(bits) => {
                let bits = *bits;
                with.call(move |distance| to_index(distance >> bits))
            }
            Self::Multiply(by) => {
                let by = *by;
                with.call(move |distance| to_index(high_half(distance, by)))
            }
            Self::Divide(width) => {
                let width = *width;
                with.call(move |distance| to_index(distance / width))
            }
            Self::Search { edges, starts } => with.call(move |distance| {
                let first = starts[size_of_distance(distance)] as usize;
                for bin in first..first + NEAR_EDGES {
                    if edges.get(bin + 1).is_none_or(|&edge| edge > distance) {
                        return bin;
                    }
                }
                let rest = &edges[first + NEAR_EDGES + 1..];
                first + NEAR_EDGES + rest.partition_point(|&edge| edge <= distance)
            }),
        }
    }
}

/// A computation that uses the function from distances to bins.
pub(super) trait WithBin<T> {
    fn call(self, bin: impl Fn(u64) -> usize) -> T;
}

/// Returns the upper half of a product.
#[inline]
fn high_half(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Converts the number of a bin; the number of bins is far below the limit.
#[inline]
fn to_index(bin: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "below BINS_MAX")]
    let index = bin as usize;
    index
}

/// Edges of a class of sizes that are tried one by one: logarithmic bins have few of them.
const NEAR_EDGES: usize = 8;
/// The number of size classes of distances.
const SIZES: usize = 64 * 16;

/// Returns the binary order of a distance and its next four bits; this increases with the distance.
fn size_of_distance(distance: u64) -> usize {
    let order = (distance | 15).ilog2();
    ((order - 3) * 16) as usize + (distance >> (order - 3).min(63) & 15) as usize
}
