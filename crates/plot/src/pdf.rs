//! Figures as PDF: one page of vector graphics, with the font, so that the text can be searched and edited.
//!
//! A page of 960 pixels of 1/96 inch is 720 points of 1/72 inch wide. y grows upward in PDF, and downward in a
//! drawing.

use std::{collections::BTreeMap, io::Write as _};

use flate2::{Compression, write::ZlibEncoder};
use pdf_writer::{
    Content, Filter, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr,
    types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap},
};

use crate::{
    colour::Colour,
    drawing::{Drawing, Place, Thing, Words},
    font,
};

/// Points of PDF, 1/72 inch, in a pixel of 1/96 inch.
const SCALE: f32 = 0.75;
/// How far control points of a quarter of a circle are from its ends, in radii.
const CIRCLE: f32 = 0.552_285;

/// Names of the resources of the page.
const FONT: Name<'static> = Name(b"F0");
const FONT_NAME: Name<'static> = Name(b"DejaVuSans");
const SYSTEM: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The objects of the file.
#[derive(Clone, Copy)]
enum Object {
    Catalog = 1,
    Pages,
    Page,
    Content,
    Info,
    Font,
    Letters,
    Descriptor,
    FontFile,
    Unicode,
    /// The first of the states that set an opacity.
    Opacity,
}

fn reference(object: Object) -> Ref {
    Ref::new(object as i32)
}

/// Returns the bytes of a PDF with this title.
pub(crate) fn bytes(drawing: &Drawing, title: &str) -> Vec<u8> {
    let mut painter = Painter { drawing, content: Content::new(), opacities: BTreeMap::new() };
    painter.draw();
    let Painter { content, opacities, .. } = painter;
    let mut pdf = Pdf::new();
    pdf.catalog(reference(Object::Catalog)).pages(reference(Object::Pages));
    pdf.pages(reference(Object::Pages)).kids([reference(Object::Page)]).count(1);
    let mut page = pdf.page(reference(Object::Page));
    page.parent(reference(Object::Pages));
    page.media_box(Rect::new(
        0.0,
        0.0,
        number(drawing.width) * SCALE,
        number(drawing.height) * SCALE,
    ));
    page.contents(reference(Object::Content));
    let mut resources = page.resources();
    resources.fonts().pair(FONT, reference(Object::Font));
    let mut states = resources.ext_g_states();
    for &state in opacities.values() {
        states.pair(Name(name(state).as_bytes()), state_of(state));
    }
    states.finish();
    resources.finish();
    page.finish();
    for (&percent, &state) in &opacities {
        pdf.ext_graphics(state_of(state)).non_stroking_alpha(f32::from(percent) / 100.0);
    }
    let content = packed(&content.finish());
    pdf.stream(reference(Object::Content), &content).filter(Filter::FlateDecode);
    pdf.document_info(reference(Object::Info)).title(TextStr(title)).creator(TextStr("tagq"));
    write_font(&mut pdf, drawing);
    pdf.finish()
}

/// Writes the font and the letters that the drawing has of it.
fn write_font(pdf: &mut Pdf, drawing: &Drawing) {
    let Some(face) = font::embedded() else { return };
    pdf.type0_font(reference(Object::Font))
        .base_font(FONT_NAME)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(reference(Object::Letters))
        .to_unicode(reference(Object::Unicode));
    let mut letters = pdf.cid_font(reference(Object::Letters));
    letters.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(SYSTEM);
    letters.font_descriptor(reference(Object::Descriptor)).default_width(0.0);
    letters.cid_to_gid_map_predefined(Name(b"Identity"));
    letters.widths().consecutive(0, face.widths.iter().copied());
    letters.finish();
    let [left, below, right, above] = face.bounds;
    pdf.font_descriptor(reference(Object::Descriptor))
        .name(FONT_NAME)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(left, below, right, above))
        .italic_angle(0.0)
        .ascent(face.ascent)
        .descent(face.descent)
        .cap_height(face.capitals)
        .stem_v(80.0)
        .font_file2(reference(Object::FontFile));
    let file = packed(face.file);
    let length = i32::try_from(face.file.len()).unwrap_or(i32::MAX);
    pdf.stream(reference(Object::FontFile), &file)
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), length);
    let mut used = BTreeMap::new();
    for thing in &drawing.things {
        if let Thing::Words(words) = thing {
            used.extend(words.text.chars().map(|letter| (font::number(letter), letter)));
        }
    }
    let mut map = UnicodeCmap::new(Name(b"Letters"), SYSTEM);
    for (glyph, letter) in used {
        map.pair(glyph, letter);
    }
    pdf.cmap(reference(Object::Unicode), &map.finish());
}

/// Writes the drawing as content of the page.
struct Painter<'a> {
    drawing: &'a Drawing,
    content: Content,
    /// The number of the state of each opacity, in percent.
    opacities: BTreeMap<u8, u8>,
}

impl Painter<'_> {
    fn draw(&mut self) {
        let Drawing { width, height, .. } = *self.drawing;
        self.fill_colour(Colour::Paper);
        self.content.rect(0.0, 0.0, number(width) * SCALE, number(height) * SCALE);
        self.content.fill_nonzero();
        for thing in &self.drawing.things {
            self.thing(thing);
        }
    }

    fn thing(&mut self, thing: &Thing) {
        match thing {
            Thing::Area { corners, fill, opacity } => {
                self.content.save_state();
                if *opacity < 1.0 {
                    self.opacity(*opacity);
                }
                self.fill_colour(*fill);
                self.path(corners);
                self.content.close_path().fill_nonzero().restore_state();
            }
            Thing::Lines { lines, colour, width, dash } => {
                self.content.save_state();
                let [red, green, blue] = self.rgb(*colour);
                self.content.set_stroke_rgb(red, green, blue);
                self.content.set_line_width(number(*width) * SCALE);
                if let Some(lengths) = dash.pattern() {
                    self.content.set_dash_pattern(lengths.map(|of| number(of) * SCALE), 0.0);
                }
                for line in lines {
                    self.path(line);
                }
                self.content.stroke().restore_state();
            }
            Thing::Dots { at, radius, fill } => {
                self.fill_colour(*fill);
                for &at in at {
                    self.circle(at, number(*radius) * SCALE);
                }
                self.content.fill_nonzero();
            }
            Thing::Cells(cells) => cells.areas().for_each(|area| self.thing(&area)),
            Thing::Words(words) => self.words(words),
        }
    }

    fn opacity(&mut self, opacity: f64) {
        let percent = u8::try_from(crate::colour::whole((100.0 * opacity).round())).unwrap_or(100);
        let next = u8::try_from(self.opacities.len()).unwrap_or(u8::MAX);
        let state = *self.opacities.entry(percent).or_insert(next);
        self.content.set_parameters(Name(name(state).as_bytes()));
    }

    fn rgb(&self, colour: Colour) -> [f32; 3] {
        colour.rgb(self.drawing.is_dark).map(|part| f32::from(part) / 255.0)
    }

    fn fill_colour(&mut self, colour: Colour) {
        let [red, green, blue] = self.rgb(colour);
        self.content.set_fill_rgb(red, green, blue);
    }

    /// Returns a position from the lower left corner.
    fn at(&self, (x, y): Place) -> (f32, f32) {
        (number(x) * SCALE, number(self.drawing.height - y) * SCALE)
    }

    fn path(&mut self, places: &[Place]) {
        for (number, &place) in places.iter().enumerate() {
            let (x, y) = self.at(place);
            if number == 0 {
                self.content.move_to(x, y);
            } else {
                self.content.line_to(x, y);
            }
        }
    }

    fn circle(&mut self, middle: Place, radius: f32) {
        let (x, y) = self.at(middle);
        let control = CIRCLE * radius;
        let (left, right, below, above) = (x - radius, x + radius, y - radius, y + radius);
        self.content.move_to(right, y);
        self.content.cubic_to(right, y + control, x + control, above, x, above);
        self.content.cubic_to(x - control, above, left, y + control, left, y);
        self.content.cubic_to(left, y - control, x - control, below, x, below);
        self.content.cubic_to(x + control, below, right, y - control, right, y);
        self.content.close_path();
    }

    fn words(&mut self, words: &Words) {
        let before = words.before();
        let (x, y) = words.at;
        let start = if words.is_turned { (x, y + before) } else { (x - before, y) };
        let (x, y) = self.at(start);
        let [cos, sin] = if words.is_turned { [0.0, 1.0] } else { [1.0, 0.0] };
        let glyphs: Vec<u8> =
            words.text.chars().flat_map(|letter| font::number(letter).to_be_bytes()).collect();
        self.fill_colour(words.colour);
        self.content.begin_text().set_font(FONT, number(words.size) * SCALE);
        self.content.set_text_matrix([cos, sin, -sin, cos, x, y]).show(Str(&glyphs)).end_text();
    }
}

fn name(state: u8) -> String {
    format!("G{state}")
}

fn state_of(state: u8) -> Ref {
    Ref::new(Object::Opacity as i32 + i32::from(state))
}

/// Returns compressed bytes.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

/// Converts to the number type of the file.
#[expect(clippy::cast_possible_truncation, reason = "places on a page")]
fn number(value: f64) -> f32 {
    value as f32
}
