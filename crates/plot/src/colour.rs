//! Colours that colour-blind readers can distinguish.
//!
//! Seven colours are distinct: the eighth series has the colour of the first, with dashes. Terminals, pages and
//! scripts use the same list.

/// The colour of an element.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Colour {
    /// The background.
    Paper,
    /// Text and frames.
    Ink,
    /// Secondary text.
    Faint,
    /// Grid lines in the background.
    Grid,
    /// The series with this number.
    Series(usize),
    /// A position on the colour map of counts, 0 to 1.
    Map(f64),
    /// A text colour that is readable on that position.
    OnMap(f64),
    /// A position on the colours of one lightness, grey without one, with a brightness from 0 to 1.
    Hue(Option<f64>, f64),
}

/// Okabe and Ito, Color Universal Design (2008), without black and yellow; each also as a terminal
/// colour.
const SERIES: [([u8; 3], u8); 7] = [
    ([0x00, 0x72, 0xb2], 32),
    ([0xd5, 0x5e, 0x00], 166),
    ([0x00, 0x9e, 0x73], 36),
    ([0xcc, 0x79, 0xa7], 175),
    ([0xe6, 0x9f, 0x00], 214),
    ([0x56, 0xb4, 0xe9], 74),
    ([0x80, 0x80, 0x80], 244),
];

/// The first of them, lighter, for a dark background.
const SERIES_DARK: [[u8; 3]; 3] = [[0x4a, 0xa8, 0xe0], [0xf0, 0x7c, 0x2e], [0x1f, 0xc4, 0x98]];

/// The colour map "viridis" of matplotlib, in steps of a tenth.
const MAP: [[u8; 3]; 11] = [
    [0x44, 0x01, 0x54],
    [0x48, 0x24, 0x75],
    [0x41, 0x44, 0x87],
    [0x35, 0x5f, 0x8d],
    [0x2a, 0x78, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x22, 0xa8, 0x84],
    [0x44, 0xbf, 0x70],
    [0x7a, 0xd1, 0x51],
    [0xbd, 0xdf, 0x26],
    [0xfd, 0xe7, 0x25],
];

/// Colours of one lightness (0.75 in OKLab, with a chroma of at most 0.14) from blue to orange, in steps of a tenth: only
/// brightness makes them darker.
const HUES: [[u8; 3]; 11] = [
    [0x85, 0xac, 0xfe],
    [0x4d, 0xb8, 0xfe],
    [0x09, 0xc1, 0xe6],
    [0x09, 0xc6, 0xc7],
    [0x1f, 0xca, 0xa4],
    [0x66, 0xc6, 0x7c],
    [0x97, 0xbe, 0x55],
    [0xbd, 0xb1, 0x35],
    [0xdb, 0xa3, 0x30],
    [0xef, 0x95, 0x4b],
    [0xf9, 0x8b, 0x6f],
];
/// Grey of that lightness.
const GREY: [u8; 3] = [0xae; 3];

impl Colour {
    /// Returns red, green and blue.
    pub(crate) fn rgb(self, is_dark: bool) -> [u8; 3] {
        match self {
            Self::Paper if is_dark => [0x15, 0x18, 0x1c],
            Self::Ink if is_dark => [0xec; 3],
            Self::Faint if is_dark => [0xa6, 0xad, 0xb5],
            Self::Grid if is_dark => [0x33, 0x3a, 0x42],
            Self::Series(number) if is_dark => {
                let number = number % SERIES.len();
                SERIES_DARK.get(number).copied().unwrap_or(SERIES[number].0)
            }
            Self::Ink => [0x1a; 3],
            Self::Faint => [0x59; 3],
            Self::Grid => [0xdd; 3],
            Self::Series(number) => SERIES[number % SERIES.len()].0,
            Self::Map(place) => on_map(place, &MAP),
            Self::Hue(place, brightness) => {
                let full = place.map_or(GREY, |place| on_map(place, &HUES));
                full.map(|part| {
                    let part = f64::from(part) * brightness.clamp(0.0, 1.0);
                    u8::try_from(whole(part.round())).unwrap_or(u8::MAX)
                })
            }
            Self::OnMap(place) if is_light(place) => [0x1a; 3],
            Self::Paper | Self::OnMap(_) => [0xff; 3],
        }
    }

    /// Returns the colour in HTML notation.
    pub(crate) fn hex(self, is_dark: bool) -> String {
        let [red, green, blue] = self.rgb(is_dark);
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    /// Returns the class of elements whose colour depends on the background; empty for others.
    pub(crate) fn class(self) -> String {
        match self {
            Self::Paper => "paper".into(),
            Self::Ink => "ink".into(),
            Self::Faint => "faint".into(),
            Self::Grid => "grid".into(),
            Self::Series(number) => format!("s{}", number % SERIES.len()),
            Self::Map(_) | Self::OnMap(_) | Self::Hue(..) => String::new(),
        }
    }

    /// Returns the number among the 256 terminal colours.
    pub(crate) fn of_terminal(self) -> u8 {
        match self {
            Self::Series(number) => SERIES[number % SERIES.len()].1,
            Self::Faint | Self::Grid => 244,
            colour => nearest(colour.rgb(false)),
        }
    }
}

/// Number of series with distinct colours.
pub(crate) const COLOURS: usize = SERIES.len();

/// Returns whether a position on the colour map requires dark text.
fn is_light(place: f64) -> bool {
    let [red, green, blue] = on_map(place, &MAP).map(f64::from);
    0.299 * red + 0.587 * green + 0.114 * blue > 128.0
}

fn on_map(place: f64, map: &[[u8; 3]; 11]) -> [u8; 3] {
    let tenths = place.clamp(0.0, 1.0) * 10.0;
    let low = whole(tenths.floor()).min(9);
    let share = tenths - low as f64;
    let mut colour = [0; 3];
    for (channel, value) in colour.iter_mut().enumerate() {
        let (from, to) = (f64::from(map[low][channel]), f64::from(map[low + 1][channel]));
        *value = u8::try_from(whole((from + share * (to - from)).round())).unwrap_or(u8::MAX);
    }
    colour
}

/// Returns the nearest colour of the 6 × 6 × 6 colour cube of terminals, which starts at number 16.
fn nearest(rgb: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let of = |value: u8| {
        let distance = |&(_, level): &(u8, u8)| level.abs_diff(value);
        (0..).zip(LEVELS).min_by_key(distance).map_or(0, |(at, _)| at)
    };
    let [red, green, blue] = rgb.map(of);
    16 + 36 * red + 6 * green + blue
}

/// Converts a non-negative number to an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small and not negative"
)]
pub(crate) fn whole(value: f64) -> usize {
    value.max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_goes_from_dark_to_light() {
        let ends = [-1.0, 0.0, 1.0].map(|place| Colour::Map(place).hex(false));
        assert_eq!(ends, ["#440154", "#440154", "#fde725"]);
        let light = |place: f64| {
            let [red, green, blue] = Colour::Map(place).rgb(false).map(f64::from);
            0.299 * red + 0.587 * green + 0.114 * blue
        };
        let steps: Vec<f64> = (0..=100).map(|i| light(f64::from(i) / 100.0)).collect();
        assert!(steps.windows(2).all(|pair| pair[1] >= pair[0] - 1.0), "{steps:?}");
        assert_eq!(
            (Colour::OnMap(0.0).hex(false), Colour::OnMap(1.0).hex(true)),
            ("#ffffff".into(), "#1a1a1a".into())
        );
        // All hues have the brightness that is asked for.
        let hues: Vec<f64> = (0..=10)
            .map(|i| {
                let [red, green, blue] =
                    Colour::Hue(Some(f64::from(i) / 10.0), 1.0).rgb(true).map(f64::from);
                0.299 * red + 0.587 * green + 0.114 * blue
            })
            .collect();
        assert!(hues.iter().all(|of| (135.0..180.0).contains(of)), "{hues:?}");
        assert_eq!(Colour::Hue(Some(0.0), 0.5).rgb(false), [0x43, 0x56, 0x7f]);
        assert_eq!(Colour::Hue(None, 0.0).rgb(false), [0; 3]);
        assert_eq!(
            (nearest([0, 0, 0]), nearest([255, 255, 255]), nearest([0xff, 0, 0])),
            (16, 231, 196)
        );
    }
}
