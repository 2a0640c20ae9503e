//! Figures as SVG.
//!
//! Each cell of a map is an area; more than 4,096 cells are one embedded picture, with a pixel for each. Text is
//! escaped as it is written.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::{
    colour::Colour,
    drawing::{Anchor, Cells, Dash, Drawing, Place, Thing, Words},
    png,
};

/// Most cells that are areas; more are one picture.
const CELLS: usize = 4_096;

/// Fonts that readers may have installed; the first one was used to measure the text, and the others
/// are not wider.
const FONTS: &str = "DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif";

/// Returns a standalone document.
pub(crate) fn document(drawing: &Drawing) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", element(drawing))
}

/// Returns the element, which can be embedded in a page. Elements have classes in addition to colours,
/// so that a page can override the colours.
pub(crate) fn element(drawing: &Drawing) -> String {
    let Drawing { width, height, is_dark, things } = drawing;
    let paper = Colour::Paper.hex(*is_dark);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\">\n\
         <rect class=\"paper\" width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>\n"
    );
    for thing in things {
        write_thing(&mut text, thing, *is_dark);
    }
    text.push_str("</svg>\n");
    text
}

fn write_thing(text: &mut String, thing: &Thing, is_dark: bool) {
    match thing {
        Thing::Area { corners, fill, opacity } => {
            let solid =
                if *opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
            let (class, colour) = (class(&fill.class(), "fill"), fill.hex(is_dark));
            // Cells of a map touch each other: smoothed edges would leave hairlines.
            let crisp = if matches!(fill, Colour::Map(_) | Colour::Hue(..)) {
                " shape-rendering=\"crispEdges\""
            } else {
                ""
            };
            let path = path(corners);
            let _ = writeln!(text, "<path{class} d=\"{path}Z\" fill=\"{colour}\"{solid}{crisp}/>");
        }
        Thing::Lines { lines, colour, width, dash } => {
            let class = class(&colour.class(), "line");
            let path: String = lines.iter().map(|line| path(line)).collect();
            let dashes = dashes(*dash);
            let colour = colour.hex(is_dark);
            let _ = writeln!(
                text,
                "<path{class} d=\"{path}\" fill=\"none\" stroke=\"{colour}\" \
                 stroke-width=\"{width}\"{dashes}/>"
            );
        }
        Thing::Dots { at, radius, fill } => {
            let class = class(&fill.class(), "fill");
            let _ = writeln!(text, "<g{class} fill=\"{}\">", fill.hex(is_dark));
            for (x, y) in at {
                let (x, y) = (number(*x), number(*y));
                let _ = writeln!(text, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>");
            }
            text.push_str("</g>\n");
        }
        Thing::Cells(cells) => write_cells(text, cells, is_dark),
        Thing::Words(words) => write_words(text, words, is_dark),
    }
}

/// Writes cells as areas, and many of them as one picture.
fn write_cells(text: &mut String, cells: &Cells, is_dark: bool) {
    let picture = (cells.fills.len() > CELLS).then(|| png::of_cells(cells, is_dark)).flatten();
    let Some(picture) = picture else {
        cells.areas().for_each(|area| write_thing(text, &area, is_dark));
        return;
    };
    let Cells { from: (x, y), to: (right, bottom), .. } = *cells;
    let _ = writeln!(
        text,
        "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
        number(x),
        number(y),
        number(right - x),
        number(bottom - y),
        STANDARD.encode(picture)
    );
}

fn write_words(text: &mut String, words: &Words, is_dark: bool) {
    let Words { text: shown, at: (x, y), size, colour, anchor, is_turned } = words;
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y, size) = (number(*x), number(*y), number(*size));
    let turned =
        if *is_turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let (class, colour) = (class(&colour.class(), "fill"), colour.hex(is_dark));
    let _ = writeln!(
        text,
        "<text{class} x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\" \
         text-anchor=\"{anchor}\"{turned}>{}</text>",
        escaped(shown)
    );
}

fn class(name: &str, of: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" class=\"{name} {of}\"") }
}

fn dashes(dash: Dash) -> String {
    let pattern = dash.pattern();
    pattern.map_or(String::new(), |[on, off]| format!(" stroke-dasharray=\"{on} {off}\""))
}

fn path(places: &[Place]) -> String {
    let mut text = String::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let letter = if at == 0 { 'M' } else { 'L' };
        let _ = write!(text, "{letter}{} {}", number(*x), number(*y));
    }
    text
}

/// Formats a number to a hundredth of a point.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text between tags.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in tagq::escaped(text).chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            letter => out.push(letter),
        }
    }
    out
}
