//! Files of figures.

use std::path::Path;

use tagq::Answer;

use crate::{Error, Figure, html, layout, png, svg};

/// A form of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Lines and words, for papers and to be changed.
    Svg,
    /// Points: 1920 from left to right.
    Png,
    /// A page of its own with the values as a table, on a light or a dark screen.
    Html,
}

impl Picture {
    /// What the name of a file asks for.
    pub fn of_name(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            "html" => Some(Self::Html),
            _ => None,
        }
    }

    /// The bytes of the file: the same for the same answer.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Png`].
    pub fn of(self, figure: &Figure, answer: &Answer) -> Result<Vec<u8>, Error> {
        let drawing = layout::drawn(figure);
        match self {
            Self::Svg => Ok(svg::document(&drawing).into_bytes()),
            Self::Png => png::bytes(&drawing),
            Self::Html => Ok(html::page(figure, &drawing, answer).into_bytes()),
        }
    }
}
