//! The font of figures: text widths and letter outlines.
//!
//! The width of "A A" at size 10 is (2·1,401 + 651)/204.8 points. Layout measures with this font, and PNG and PDF
//! draw with it, so that no text is wider than it was measured.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// A subset of DejaVu Sans; its licence is in the same folder.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

static FACE: LazyLock<Option<Face<'static>>> = LazyLock::new(|| Face::parse(FONT, 0).ok());

/// Returns the width of a text in letters of this size. A letter that the font lacks is drawn as a box.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let Some(face) = &*FACE else { return 0.6 * size * text.chars().count() as f64 };
    let advance = |letter| f64::from(face.glyph_hor_advance(glyph(face, letter)).unwrap_or(0));
    text.chars().map(advance).sum::<f64>() * size / f64::from(face.units_per_em())
}

/// Passes the outlines of a text to `builder`, letter by letter, each with its horizontal offset and
/// the scale of its units.
pub(crate) fn outline(
    text: &str,
    size: f64,
    mut letter_at: impl FnMut(f64, f64) -> Pen,
) -> Vec<Pen> {
    let Some(face) = &*FACE else { return Vec::new() };
    let scale = size / f64::from(face.units_per_em());
    let mut right = 0.0;
    let mut pens = Vec::new();
    for letter in text.chars() {
        let id = glyph(face, letter);
        let mut pen = letter_at(right, scale);
        if face.outline_glyph(id, &mut pen).is_some() {
            pens.push(pen);
        }
        right += f64::from(face.glyph_hor_advance(id).unwrap_or(0)) * scale;
    }
    pens
}

fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or_default()
}

/// The font file, and its measures in thousandths of a letter, for a file that embeds it.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) file: &'static [u8],
    pub(crate) ascent: f32,
    pub(crate) descent: f32,
    pub(crate) capitals: f32,
    /// The box around all letters: left, below, right, above.
    pub(crate) bounds: [f32; 4],
    /// The width of each glyph.
    pub(crate) widths: Vec<f32>,
}

/// Returns the font for a file that embeds it.
pub(crate) fn embedded() -> Option<Embedded> {
    let face = FACE.as_ref()?;
    let scaled = |units: f32| units * 1000.0 / f32::from(face.units_per_em());
    let bounds = face.global_bounding_box();
    let advance = |id| f32::from(face.glyph_hor_advance(GlyphId(id)).unwrap_or(0));
    Some(Embedded {
        file: FONT,
        ascent: scaled(face.ascender().into()),
        descent: scaled(face.descender().into()),
        capitals: scaled(face.capital_height().unwrap_or(face.ascender()).into()),
        bounds: [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max]
            .map(|end| scaled(end.into())),
        widths: (0..face.number_of_glyphs()).map(|id| scaled(advance(id))).collect(),
    })
}

/// Returns the number of the glyph of a letter; zero is the box for letters that the font lacks.
pub(crate) fn number(letter: char) -> u16 {
    FACE.as_ref().map_or(0, |face| glyph(face, letter).0)
}

/// Draws letters into a path, starting at a position, upright or rotated to the left.
pub(crate) struct Pen {
    pub(crate) path: tiny_skia::PathBuilder,
    /// Position of units (0, 0).
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) scale: f32,
    pub(crate) is_turned: bool,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        let (along, above) = (x * self.scale, y * self.scale);
        if self.is_turned {
            (self.x - above, self.y - along)
        } else {
            (self.x + along, self.y - above)
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_the_letters_of_every_figure() {
        let face = FACE.as_ref().unwrap();
        for letter in "AZaz09,;.:()[]|/%+-=\u{b5}\u{b1}\u{b2}\u{2079}\u{2076}\u{394}\u{3c4}\u{2212}\u{2013}\u{2026}\u{2264}\u{d7}\u{e4}\u{e9}".chars() {
            assert!(face.glyph_index(letter).is_some(), "{letter}");
        }
        // 1401 of 2048 units, and 651: the widths of A and of the space in DejaVu Sans.
        assert!((width("A", 2048.0) - 1401.0).abs() < 1e-9);
        assert!((width("A A", 10.0) - (2.0 * 1401.0 + 651.0) / 204.8).abs() < 1e-9);
    }
}
