//! The pixel of a time in a line: ⌊d·N/L⌋ for the tick d of a line of L ticks and N pixels at constant speed.
//!
//! A division per photon is slow, so it is a product with a reciprocal: with L ≤ 2^b, k = max(2b, 64) and m = ⌈N·2^k/L⌉
//! it is ⌊d·m/2^k⌋, the upper half of a product of 128 bits, moved by k − 64. Of 100 ticks and 4 pixels, ticks 24 and 25
//! are in pixels 0 and 1. Proof: m·L = N·2^k + r with 0 ≤ r < L, so d·m/2^k = d·N/L + d·r/(L·2^k). The fraction of d·N/L
//! is at most (L − 1)/L, and d·r < L² ≤ 2^k, so the second term is below 1/L: the whole part is that of d·N/L. m fits in
//! 64 bits if N·2^(k − 64) < L and the quotient is not rounded up to 2^64.

use super::Raster;

/// The rounding of an edge, as a part of the line: some units of double precision.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Finds the pixels of the ticks of lines of one length.
#[derive(Debug, Clone)]
pub(super) enum LinePixels {
    /// ⌊d·m/2^(64 + shift)⌋.
    Reciprocal { m: u64, shift: u32 },
    /// Lines so long that the reciprocal does not fit: ⌊d·N/L⌋.
    Division { pixels: u64, length: u64 },
    /// The first tick of each pixel, and the length of the line.
    Edges(Vec<u64>),
}

/// The sine of a raster: the first place of each pixel and the end, as parts of the length of a line.
#[derive(Debug, Clone)]
pub(super) struct SineEdges(Vec<f64>);

impl SineEdges {
    /// Pixel k begins at ½ + arcsin((2k/N − 1)·s)/(2·arcsin s) of the line.
    pub(super) fn of(raster: &Raster) -> Option<Self> {
        let amplitude = raster.sine?.amplitude();
        let pixels = f64::from(raster.pixels);
        let whole = libm::asin(amplitude);
        let edge = |k: u32| {
            0.5 + libm::asin((2.0 * f64::from(k) / pixels - 1.0) * amplitude) / (2.0 * whole)
        };
        Some(Self((0..=raster.pixels).map(edge).collect()))
    }
}

impl LinePixels {
    pub(super) fn of(raster: &Raster, sine: Option<&SineEdges>, length: u64) -> Self {
        if let Some(SineEdges(edges)) = sine {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and the length of the line"
            )]
            let tick = |edge: &f64| {
                let (place, rounding) = (edge * length as f64, ROUNDING * length as f64);
                // A third of the line, as the edge at a half of the sine, is a whole tick of lines divisible by three.
                let whole = place.round();
                if (place - whole).abs() <= rounding { whole as u64 } else { place.ceil() as u64 }
            };
            return Self::Edges(edges.iter().map(tick).collect());
        }
        let pixels = u64::from(raster.pixels);
        let division = Self::Division { pixels, length };
        if length > 1 << 62 {
            return division;
        }
        let shift = (2 * length.next_power_of_two().trailing_zeros()).saturating_sub(64);
        if u128::from(pixels) << shift >= u128::from(length) {
            return division;
        }
        let m = (u128::from(pixels) << (64 + shift)).div_ceil(length.into());
        u64::try_from(m).map_or(division, |m| Self::Reciprocal { m, shift })
    }

    /// Returns the first tick of a pixel of a line with so many pixels and ticks; of the pixel after the last one the length.
    pub(super) fn edge(&self, pixel: u32, pixels: u32, length: u64) -> u64 {
        let first = || (u128::from(pixel) * u128::from(length)).div_ceil(pixels.into());
        match self {
            Self::Reciprocal { .. } | Self::Division { .. } => {
                u64::try_from(first()).unwrap_or(length)
            }
            Self::Edges(edges) => {
                edges.get(pixel as usize).map_or(length, |&edge| edge.min(length))
            }
        }
    }

    /// Returns the pixel of a tick of the line; those of later ticks are not before it.
    #[cfg(test)]
    fn at(&self, tick: u64) -> u64 {
        match self {
            Self::Reciprocal { m, shift } => by_reciprocal(tick, *m, *shift),
            Self::Division { pixels, length } => by_division(tick, *pixels, *length),
            Self::Edges(edges) => edges.partition_point(|&edge| edge <= tick) as u64 - 1,
        }
    }
}

#[inline]
pub(super) fn by_reciprocal(tick: u64, m: u64, shift: u32) -> u64 {
    ((u128::from(tick) * u128::from(m)) >> 64) as u64 >> shift
}

#[expect(clippy::cast_possible_truncation, reason = "a pixel is below 65,535")]
#[inline]
pub(super) fn by_division(tick: u64, pixels: u64, length: u64) -> u64 {
    (u128::from(tick) * u128::from(pixels) / u128::from(length)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Sine, *};

    fn raster(pixels: u32, sine: Option<u16>) -> Raster {
        let sine = sine.map(|thousandths| Sine { thousandths, is_of_period: false });
        Raster { pixels, lines: 1, first_line: 0, first_frame: 0, is_two_way: false, sine }
    }

    proptest! {
        #[test]
        fn the_reciprocal_is_the_quotient(
            pixels in 1_u32..=65_535,
            bits in 0_u32..63,
            part in 0_u64..u64::MAX,
            ticks in prop::collection::vec(0_u64..u64::MAX, 20),
        ) {
            let length = 1 + part % (1 << bits);
            let of = LinePixels::of(&raster(pixels, None), None, length);
            // Ticks at the edges of pixels, and others.
            let edges = ticks.iter().flat_map(|tick| {
                let pixel = u128::from(tick % u64::from(pixels));
                let edge = u64::try_from((pixel * u128::from(length)).div_ceil(pixels.into())).unwrap();
                [edge, edge.saturating_sub(1), tick % length]
            });
            for tick in edges.chain([0, length - 1]).filter(|&tick| tick < length) {
                let expected = u128::from(tick) * u128::from(pixels) / u128::from(length);
                prop_assert_eq!(u128::from(of.at(tick)), expected, "tick {} of {}", tick, length);
            }
        }
    }

    /// With eight pixels and the cosine law, pixels 2 and 6 begin at thirds of the line, since sin(π/6) = 1/2.
    #[test]
    fn edges_at_thirds_of_a_line_are_whole() {
        let sine = raster(8, Some(1_000));
        let edges = SineEdges::of(&sine);
        for length in (30..30_000).step_by(3) {
            let of = LinePixels::of(&sine, edges.as_ref(), length);
            for (tick, pixel) in [(length / 3, 2), (2 * length / 3, 6)] {
                assert_eq!((of.at(tick - 1), of.at(tick)), (pixel - 1, pixel), "{length}");
            }
        }
    }

    #[test]
    fn a_full_sine_is_slow_at_its_ends() {
        // Four pixels of a half period: the edges are at arccos(1 − 2k/4)/π = 0, 1/3, 1/2, 2/3, 1.
        let sine = raster(4, Some(1_000));
        let of = LinePixels::of(&sine, SineEdges::of(&sine).as_ref(), 600);
        let LinePixels::Edges(edges) = &of else { panic!("a sine has edges") };
        for (edge, expected) in edges.iter().zip([0, 200, 300, 400, 600]) {
            // Rounded up, an edge can be one tick later.
            assert!((expected..=expected + 1).contains(edge), "{edges:?}");
        }
        assert_eq!((of.at(0), of.at(350), of.at(599)), (0, 2, 3));
    }

    /// A third of the period is half of the amplitude: sin(π/6) = 1/2.
    #[test]
    fn a_part_of_the_period_is_the_sine_of_it() {
        let edges = |thousandths, is_of_period| {
            let sine = Some(Sine { thousandths, is_of_period });
            SineEdges::of(&Raster { sine, ..raster(8, None) }).unwrap().0
        };
        let same = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 2e-4);
        assert!(same(edges(333, true), edges(500, false)));
        assert!(!same(edges(333, true), edges(333, false)));
        assert_eq!(edges(1_000, true), edges(1_000, false));
    }
}
