//! A figure as lines, areas and text: the common basis of SVG, PDF and PNG.
//!
//! (0, 0) is the upper left corner, and y grows downward. All formats draw the same elements, so that a figure is the
//! same in each of them.

use crate::{colour::Colour, font, words::cut};

/// Elements with positions in points from the upper left corner; later elements cover earlier ones.
#[derive(Debug)]
pub(crate) struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) is_dark: bool,
    pub(crate) things: Vec<Thing>,
}

/// A position: to the right, and down.
pub(crate) type Place = (f64, f64);

#[derive(Debug)]
pub(crate) enum Thing {
    /// A filled area.
    Area { corners: Vec<Place>, fill: Colour, opacity: f64 },
    /// Lines, each through its positions.
    Lines { lines: Vec<Vec<Place>>, colour: Colour, width: f64, dash: Dash },
    /// Filled circles.
    Dots { at: Vec<Place>, radius: f64, fill: Colour },
    /// Cells that fill a rectangle.
    Cells(Cells),
    /// Text on one line.
    Words(Words),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dash {
    None,
    Long,
    Short,
}

impl Dash {
    /// Returns the lengths of strokes and gaps.
    pub(crate) fn pattern(self) -> Option<[f64; 2]> {
        match self {
            Self::None => None,
            Self::Long => Some([7.0, 4.0]),
            Self::Short => Some([2.0, 3.0]),
        }
    }
}

/// Cells of one size between two corners of a rectangle.
#[derive(Debug)]
pub(crate) struct Cells {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Column by column from the left, each from bottom to top; `None` is not drawn.
    pub(crate) fills: Vec<Option<Colour>>,
}

impl Cells {
    /// Returns the colour of a cell; rows are numbered from the top.
    pub(crate) fn fill(&self, column: usize, row: usize) -> Option<Colour> {
        self.fills[column * self.rows + self.rows - 1 - row]
    }

    /// Returns each cell as an area.
    pub(crate) fn areas(&self) -> impl Iterator<Item = Thing> {
        let (width, height) = (
            (self.to.0 - self.from.0) / self.columns as f64,
            (self.to.1 - self.from.1) / self.rows as f64,
        );
        let area = move |(at, fill): (usize, &Option<Colour>)| {
            let (column, row) = (at / self.rows, at % self.rows);
            let left = self.from.0 + width * column as f64;
            let top = self.to.1 - height * (row + 1) as f64;
            // Half a point of overlap avoids gaps.
            let (right, bottom) = (left + width + 0.5, top + height + 0.5);
            let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
            Some(Thing::Area { corners, fill: (*fill)?, opacity: 1.0 })
        };
        self.fills.iter().enumerate().filter_map(area)
    }
}

#[derive(Debug)]
pub(crate) struct Words {
    pub(crate) text: String,
    /// Position on the baseline of the text.
    pub(crate) at: Place,
    pub(crate) size: f64,
    pub(crate) colour: Colour,
    pub(crate) anchor: Anchor,
    /// Whether the text is rotated to run upward.
    pub(crate) is_turned: bool,
}

/// The part of the text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Words {
    /// Returns how far before its position a text of this width starts.
    pub(crate) fn before(&self) -> f64 {
        let share = match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => 0.5,
            Anchor::End => 1.0,
        };
        share * font::width(&self.text, self.size)
    }
}

impl Drawing {
    pub(crate) fn words(
        &mut self,
        text: &str,
        at: Place,
        size: f64,
        colour: Colour,
        anchor: Anchor,
    ) {
        let text = text.to_owned();
        self.things.push(Thing::Words(Words { text, at, size, colour, anchor, is_turned: false }));
    }

    pub(crate) fn turned(&mut self, text: &str, at: Place, size: f64, anchor: Anchor) {
        let (text, colour) = (text.to_owned(), Colour::Ink);
        self.things.push(Thing::Words(Words { text, at, size, colour, anchor, is_turned: true }));
    }

    pub(crate) fn line(&mut self, from: Place, to: Place, colour: Colour, width: f64) {
        self.lines(vec![vec![from, to]], colour, width, Dash::None);
    }

    pub(crate) fn lines(&mut self, lines: Vec<Vec<Place>>, colour: Colour, width: f64, dash: Dash) {
        let lines: Vec<_> = lines.into_iter().filter(|line| line.len() > 1).collect();
        if !lines.is_empty() {
            self.things.push(Thing::Lines { lines, colour, width, dash });
        }
    }

    pub(crate) fn area(&mut self, corners: Vec<Place>, fill: Colour, opacity: f64) {
        if corners.len() > 2 {
            self.things.push(Thing::Area { corners, fill, opacity });
        }
    }

    pub(crate) fn rectangle(&mut self, from: Place, to: Place, fill: Colour) {
        self.area(vec![from, (to.0, from.1), to, (from.0, to.1)], fill, 1.0);
    }

    pub(crate) fn dots(&mut self, at: Vec<Place>, radius: f64, fill: Colour) {
        if !at.is_empty() {
            self.things.push(Thing::Dots { at, radius, fill });
        }
    }
}

/// Splits the text into lines of at most this width: after semicolons if that leaves no line half
/// empty, otherwise between words; wider words are cut.
pub(crate) fn broken(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split_inclusive("; ") {
        match lines.last_mut() {
            Some(line) if font::width(&format!("{line}{part}"), size) <= room => {
                line.push_str(part);
            }
            Some(line) if font::width(line, size) < 0.5 * room => {
                wrap(&mut lines, part, size, room);
            }
            _ => {
                lines.push(String::new());
                wrap(&mut lines, part, size, room);
            }
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

fn wrap(lines: &mut Vec<String>, part: &str, size: f64, room: f64) {
    for word in part.split_inclusive(' ') {
        match lines.last_mut() {
            Some(line) if font::width(&format!("{line}{}", word.trim_end()), size) <= room => {
                line.push_str(word);
            }
            _ => lines.push(fitted(word, size, room)),
        }
    }
    lines.retain(|line| !line.is_empty());
}

/// Returns the text, cut if it is wider than `room`.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    let mut most = text.chars().count();
    while most > 1 && font::width(&cut(text, most), size) > room {
        most -= 1;
    }
    cut(text, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_broken_and_nothing_is_lost() {
        let header = "rule all: |\u{394}t| \u{2264} 12 ticks = 1.875 ns (asked 2 ns); full width 25 ticks = \
                      3.90625 ns; 15 delayed by -26 ticks = -4.0625 ns; T = 2.31683285 s; tick 156.25 ps \
                      (assumed)";
        for room in [200.0, 400.0, 904.0, 1e4] {
            let lines = broken(header, 13.0, room);
            assert!(lines.iter().all(|line| font::width(line, 13.0) <= room), "{lines:?}");
            assert_eq!(lines.join(" "), header);
        }
        assert_eq!(broken(header, 13.0, 1e4).len(), 1);
        let long = format!("{} = 1 ns", "x".repeat(300));
        let lines = broken(&long, 13.0, 300.0);
        assert!(lines.iter().all(|line| font::width(line, 13.0) <= 300.0), "{lines:?}");
        assert!(lines[0].ends_with('\u{2026}') && lines[1].ends_with("= 1 ns"), "{lines:?}");
    }
}
