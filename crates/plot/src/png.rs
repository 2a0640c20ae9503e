//! Figures as PNG.
//!
//! A page of 960 points is 1,920 pixels wide, unless its size was given in pixels.

use tiny_skia::{
    Color, ColorU8, FillRule, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform,
};

use crate::{
    Error,
    colour::{Colour, whole},
    drawing::{Cells, Drawing, Place, Thing, Words},
    font::{self, Pen},
};

/// Pixels per point, unless the size of the page was given in pixels.
const SCALE: f32 = 2.0;

/// Returns the bytes of a PNG.
pub(crate) fn bytes(drawing: &Drawing, is_sized: bool) -> Result<Vec<u8>, Error> {
    let scale = if is_sized { 1.0 } else { SCALE };
    let pixels = |points: f64| u32::try_from(whole(points * f64::from(scale))).unwrap_or(u32::MAX);
    let (width, height) = (pixels(drawing.width), pixels(drawing.height));
    let mut pixmap = Pixmap::new(width, height).ok_or(Error::Size { width, height })?;
    let is_dark = drawing.is_dark;
    let [red, green, blue] = Colour::Paper.rgb(is_dark);
    pixmap.fill(Color::from_rgba8(red, green, blue, u8::MAX));
    for thing in &drawing.things {
        paint(&mut pixmap, thing, (is_dark, scale));
    }
    pixmap.encode_png().map_err(|error| Error::Png(Box::new(error)))
}

/// Returns a PNG with a pixel for each cell; `None` if there is no memory for it.
pub(crate) fn of_cells(cells: &Cells, is_dark: bool) -> Option<Vec<u8>> {
    let Cells { columns, rows, .. } = *cells;
    let mut pixmap = Pixmap::new(u32::try_from(columns).ok()?, u32::try_from(rows).ok()?)?;
    for (at, pixel) in pixmap.pixels_mut().iter_mut().enumerate() {
        if let Some(fill) = cells.fill(at % columns, at / columns) {
            let [red, green, blue] = fill.rgb(is_dark);
            *pixel = ColorU8::from_rgba(red, green, blue, u8::MAX).premultiply();
        }
    }
    pixmap.encode_png().ok()
}

fn paint(pixmap: &mut Pixmap, thing: &Thing, (is_dark, scale): (bool, f32)) {
    match thing {
        Thing::Area { corners, fill, opacity } => {
            let path = path(std::slice::from_ref(corners), true);
            fill_path(pixmap, path.as_ref(), &paint_of(*fill, *opacity, is_dark), scale);
        }
        Thing::Lines { lines, colour, width, dash } => {
            let dash = dash
                .pattern()
                .and_then(|lengths| StrokeDash::new(lengths.map(points).to_vec(), 0.0));
            let stroke = Stroke { width: points(*width), dash, ..Stroke::default() };
            if let Some(path) = path(lines, false) {
                let paint = paint_of(*colour, 1.0, is_dark);
                pixmap.stroke_path(&path, &paint, &stroke, scaled(scale), None);
            }
        }
        Thing::Dots { at, radius, fill } => {
            let mut circles = PathBuilder::new();
            for (x, y) in at {
                circles.push_circle(points(*x), points(*y), points(*radius));
            }
            fill_path(pixmap, circles.finish().as_ref(), &paint_of(*fill, 1.0, is_dark), scale);
        }
        Thing::Cells(cells) => {
            for area in cells.areas() {
                paint(pixmap, &area, (is_dark, scale));
            }
        }
        Thing::Words(words) => {
            let paint = paint_of(words.colour, 1.0, is_dark);
            for pen in letters(words) {
                fill_path(pixmap, pen.path.finish().as_ref(), &paint, scale);
            }
        }
    }
}

fn letters(words: &Words) -> Vec<Pen> {
    let (before, is_turned) = (words.before(), words.is_turned);
    font::outline(&words.text, words.size, |right, scale| {
        let along = right - before;
        let (x, y) = words.at;
        let (x, y) = if is_turned { (x, y - along) } else { (x + along, y) };
        let path = PathBuilder::new();
        Pen { path, x: points(x), y: points(y), scale: points(scale), is_turned }
    })
}

fn path(lines: &[Vec<Place>], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for line in lines {
        let mut places = line.iter().map(|&(x, y)| (points(x), points(y)));
        if let Some((x, y)) = places.next() {
            path.move_to(x, y);
        }
        places.for_each(|(x, y)| path.line_to(x, y));
        if is_closed {
            path.close();
        }
    }
    path.finish()
}

fn fill_path(pixmap: &mut Pixmap, path: Option<&Path>, paint: &Paint<'_>, scale: f32) {
    if let Some(path) = path {
        pixmap.fill_path(path, paint, FillRule::Winding, scaled(scale), None);
    }
}

fn paint_of(colour: Colour, opacity: f64, is_dark: bool) -> Paint<'static> {
    let [red, green, blue] = colour.rgb(is_dark);
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let alpha = u8::try_from(whole((opacity * 255.0).round())).unwrap_or(u8::MAX);
    paint.set_color_rgba8(red, green, blue, alpha);
    paint
}

fn scaled(scale: f32) -> Transform {
    Transform::from_scale(scale, scale)
}

/// Converts points to the number type of the renderer.
#[expect(clippy::cast_possible_truncation, reason = "places on a page")]
fn points(value: f64) -> f32 {
    value as f32
}
