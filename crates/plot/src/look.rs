//! The style that a user asks for: title, axis of values, size, colours.
//!
//! `3ns` on an axis of times is 3·10⁻⁹ s; `3` alone is refused, because it could be seconds or nanoseconds. A style
//! changes how values are drawn, never the values.

use serde::Deserialize;

use crate::{Axis, Error, Figure, Plot, Quantity, Scale, quantity::units, words::cut};

/// The longest title.
const TITLE_CHARS_MAX: usize = 200;
/// The smallest and largest width and height.
const SIZE_MIN: f64 = 240.0;
const SIZE_MAX: f64 = 8_000.0;

/// A figure of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureName {
    /// The value of each pixel.
    #[default]
    Map,
    /// How many pixels have each value.
    Histogram,
    /// How many pixels have each phasor.
    Phasor,
}

impl FigureName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Map, Self::Histogram, Self::Phasor];

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Histogram => "histogram",
            Self::Phasor => "phasor",
        }
    }

    /// Returns the figure of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|figure| figure.name() == name)
    }
}

/// The style of a figure, as a user asks for it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Look {
    /// The title, in place of the figure's own.
    pub title: Option<String>,
    /// Whether values are on a logarithmic axis, or in logarithmic colours.
    pub is_logarithmic: bool,
    /// The ends of the axis of values.
    pub limits: Option<(Limit, Limit)>,
    /// The column whose values are drawn, or the beginning of its name, in place of that which the answer is about.
    pub quantity: Option<String>,
    /// The figure of an image; by default the map.
    pub figure: Option<FigureName>,
    /// Whether pixels of a map are as bright as they have photons.
    pub brightness: bool,
    /// Width and height in pixels.
    pub size: Option<(f64, f64)>,
    /// Whether the figure is for a dark background.
    pub is_dark: bool,
    /// Whether the header and the note are left out, and the title unless it is given.
    pub no_caption: bool,
}

/// An end of an axis.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Limit {
    /// In counts, hertz or as a ratio. A time needs a unit.
    Number(f64),
    /// A number with a unit of the axis, such as `3ns` or `5kHz`, or without one.
    Text(String),
}

impl Look {
    /// Returns whether the figure must be drawn again from the answer, because it shows other values.
    #[must_use]
    pub fn is_of_answer(&self) -> bool {
        self.quantity.is_some() || self.figure.is_some() || self.brightness
    }
}

impl From<f64> for Limit {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl Limit {
    /// Returns the number and its unit, which is empty without one; `None` if it is no number.
    fn parts(&self) -> Option<(f64, &str)> {
        match self {
            Self::Number(number) => Some((*number, "")),
            Self::Text(text) => {
                let text = text.trim();
                let end = text.rfind(|letter: char| letter.is_ascii_digit() || letter == '.')? + 1;
                Some((text[..end].parse().ok()?, text[end..].trim()))
            }
        }
    }

    /// Returns whether it is a number, with a unit or without.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.parts().is_some_and(|(number, _)| number.is_finite())
    }

    /// Returns its value on an axis.
    ///
    /// # Errors
    /// [`Error::LimitUnit`] if it has a unit of another quantity, or is a time without one.
    fn on(&self, axis: &Axis) -> Result<f64, Error> {
        let (number, unit) = self.parts().unwrap_or((f64::NAN, ""));
        // The letter of the unit, which keyboards lack.
        let name = if unit == "us" || unit == "\u{3bc}s" { "\u{b5}s" } else { unit };
        let known = units(axis.quantity);
        let size = match name {
            "" if axis.quantity == Quantity::Time && number != 0.0 => None,
            "" => Some(1.0),
            name => known.iter().find(|(of, ..)| *of == name).map(|(_, size, _)| *size),
        };
        size.map(|size| number * size).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, ..)| *name).collect();
            let has_units = matches!(axis.quantity, Quantity::Time | Quantity::Rate);
            let text = match self {
                Self::Number(number) => number.to_string(),
                Self::Text(text) => tagq::escaped(text).into_owned(),
            };
            Error::LimitUnit {
                has: match name {
                    "" => "no unit".into(),
                    _ => format!("the unit {}", tagq::escaped(unit)),
                },
                text,
                axis: match names.split_last() {
                    Some((last, others)) if has_units => {
                        format!("is in {} or {last}, as in 3{}", others.join(", "), axis.unit().0)
                    }
                    _ => "has no unit".into(),
                },
            }
        })
    }
}

impl Figure {
    /// Adds a note on cells beyond the ends of the colours.
    pub(crate) fn noted(mut self) -> Self {
        if let Plot::Map(map) = &self.plot {
            self.note = joined(self.note.into_iter().chain(map.beyond_chosen()));
        }
        self
    }

    /// Returns the figure in the style of `look`.
    ///
    /// # Errors
    /// [`Error::Limits`], [`Error::PageSize`], and [`Error::NoAxis`] for bars, which start at zero, and for limits of
    /// a matrix.
    pub fn with(mut self, look: &Look) -> Result<Self, Error> {
        if let Some(title) = &look.title {
            self.title = cut(&tagq::escaped(title), TITLE_CHARS_MAX);
        }
        if look.no_caption {
            self.title = look.title.as_ref().map_or(String::new(), |_| self.title);
            (self.header, self.note) = (String::new(), None);
        }
        self.page.is_dark = look.is_dark;
        if let Some((width, height)) = look.size {
            let can_be = |length: f64| (SIZE_MIN..=SIZE_MAX).contains(&length);
            if !can_be(width) || !can_be(height) {
                return Err(Error::PageSize { least: SIZE_MIN, most: SIZE_MAX });
            }
            (self.page.width, self.page.height) = (width, Some(height));
        }
        let is_plain = !look.is_logarithmic && look.limits.is_none();
        match &mut self.plot {
            _ if is_plain => {}
            Plot::Chart(chart) => {
                let points = chart.series.iter().flat_map(|series| &series.points);
                let values: Vec<f64> = points.filter_map(|point| point.value).collect();
                chart.y = axis(&chart.y, look, &values)?;
            }
            Plot::Map(map) => {
                let values: Vec<f64> = map.cells.iter().flatten().copied().collect();
                let before = map.beyond_chosen().unwrap_or_default();
                map.values = axis(&map.values, look, &values)?;
                let own = self.note.take().unwrap_or_default();
                let own = own.trim_end_matches(&before).trim_end_matches("; ");
                let all = [own, &map.beyond().unwrap_or_default()];
                self.note = joined(all.iter().map(|note| (*note).to_owned()));
            }
            Plot::Matrix(matrix) if look.limits.is_none() => matrix.is_logarithmic = true,
            Plot::Matrix(_) | Plot::Bars(_) => return Err(Error::NoAxis),
        }
        Ok(self)
    }
}

/// Returns the notes as one; `None` without any.
fn joined(notes: impl Iterator<Item = String>) -> Option<String> {
    let notes: Vec<String> = notes.filter(|note| !note.is_empty()).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// Returns the axis of these values, in the style of `look`.
fn axis(axis: &Axis, look: &Look, values: &[f64]) -> Result<Axis, Error> {
    let limits = look.limits.as_ref().map(|(low, high)| Ok((low.on(axis)?, high.on(axis)?)));
    let limits = limits.transpose()?;
    if let Some((low, high)) = limits
        && !(low.is_finite() && high.is_finite() && low < high)
    {
        return Err(Error::Limits { low, high });
    }
    let (low, high) = limits.unwrap_or((axis.low, axis.high));
    if !look.is_logarithmic {
        return Ok(Axis { low, high, scale: Scale::Linear, ..axis.clone() });
    }
    match limits {
        Some((low, high)) if low <= 0.0 => Err(Error::Limits { low, high }),
        Some((low, _)) => Ok(Axis::logarithmic(axis.label.clone(), axis.quantity, low, high)),
        None => Ok(axis.clone().around(values.iter().copied())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bars, Chart, Page, Point, Series, Shape};

    fn figure(values: &[f64]) -> Figure {
        let point = |&value: &f64| Point {
            from: 0.0,
            to: 1.0,
            value: Some(value),
            err: 0.0,
            is_partial: false,
        };
        let points = values.iter().map(point).collect();
        let chart = Chart {
            x: Axis::linear("x", Quantity::Time, 0.0, 1.0),
            y: Axis::for_values("g2", Quantity::Ratio, 0.0, 100.0, false),
            shape: Shape::Line,
            reference: None,
            has_panels: false,
            series: vec![Series { name: "1,2".into(), shape: None, points }],
            below: None,
        };
        let (title, header) = ("t".into(), "from -5 ns".into());
        Figure { title, header, note: None, plot: Plot::Chart(chart), page: Page::default() }
    }

    fn ends(look: &Look, values: &[f64]) -> Result<(f64, f64, Scale), String> {
        let figure = figure(values).with(look).map_err(|error| error.to_string())?;
        let Plot::Chart(Chart { y, .. }) = figure.plot else { panic!("a chart") };
        Ok((y.low, y.high, y.scale))
    }

    #[test]
    fn an_axis_ends_where_it_was_asked_to() {
        let with = |limits: Option<(f64, f64)>, is_logarithmic| Look {
            is_logarithmic,
            limits: limits.map(|(low, high)| (low.into(), high.into())),
            ..Look::default()
        };
        assert_eq!(ends(&with(Some((-1.0, 2.5)), false), &[1.0]), Ok((-1.0, 2.5, Scale::Linear)));
        assert_eq!(
            ends(&with(Some((0.1, 10.0)), true), &[1.0]),
            Ok((0.1, 10.0, Scale::Logarithmic))
        );
        // The smallest value above zero, and a little below it.
        let low = ends(&with(None, true), &[0.0, 3.0, 60.0]).unwrap().0;
        assert!((low - 1.5).abs() < 1e-9, "{low}");
        for (limits, is_logarithmic) in
            [((2.0, 1.0), false), ((f64::NAN, 1.0), false), ((0.0, 1.0), true)]
        {
            let refused = ends(&with(Some(limits), is_logarithmic), &[1.0]).unwrap_err();
            assert!(refused.contains("LO..HI"), "{refused}");
        }
        // A number alone could be seconds or nanoseconds.
        let time = Axis::linear("delay", Quantity::Time, 0.0, 1e-8);
        let limit = |text: &str| Limit::Text(text.into());
        let close =
            |value: Result<f64, Error>, to: f64| (value.unwrap() - to).abs() < 1e-9 * to.abs();
        assert!(close(limit("3ns").on(&time), 3e-9) && close(limit("-2.5 us").on(&time), -2.5e-6));
        assert!(close(limit("1e3ps").on(&time), 1e-9) && limit("0").on(&time).unwrap() == 0.0);
        let refused = Limit::Number(3.0).on(&time).unwrap_err().to_string();
        assert!(refused.contains("`3` has no unit, and the axis is in h, min, s,"), "{refused}");
        assert!(limit("3kHz").on(&time).is_err() && !limit("x").is_number());
        let bars = Bars { axis: Axis::linear("", Quantity::Rate, 0.0, 1.0), bars: Vec::new() };
        let bars = Figure { plot: Plot::Bars(bars), ..figure(&[]) };
        assert!(bars.clone().with(&with(None, true)).is_err());
        let titled = Look { title: Some("Bell\u{7}".into()), ..Look::default() };
        assert_eq!(bars.with(&titled).unwrap().title, "Bell\\u{7}");
    }
}
