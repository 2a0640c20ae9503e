//! Files of figures.

use std::path::Path;

use tagq::Answer;

use crate::{Error, Figure, html, layout, pdf, png, svg};

/// A file format of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picture {
    /// Vector graphics, for papers and for editing.
    Svg,
    /// Vector graphics on one page, for papers.
    Pdf,
    /// A bitmap, 1920 pixels wide or as the page says.
    Png,
    /// A standalone page with the values as a table, for light and dark screens.
    Html,
}

impl Picture {
    /// Returns the format that the name of a file selects.
    pub fn of_name(path: &Path) -> Option<Self> {
        match &*path.extension()?.to_str()?.to_ascii_lowercase() {
            "svg" => Some(Self::Svg),
            "pdf" => Some(Self::Pdf),
            "png" => Some(Self::Png),
            "html" => Some(Self::Html),
            _ => None,
        }
    }

    /// Returns a figure as an SVG element, to be embedded in a page.
    pub fn element(figure: &Figure) -> String {
        svg::element(&layout::drawn(figure))
    }

    /// Returns the bytes of the file: identical for identical answers.
    ///
    /// # Errors
    /// [`Error::Size`], [`Error::Png`].
    pub fn draw(self, figure: &Figure, answer: &Answer) -> Result<Vec<u8>, Error> {
        let drawing = layout::drawn(figure);
        match self {
            Self::Svg => Ok(svg::document(&drawing).into_bytes()),
            Self::Pdf => Ok(pdf::bytes(&drawing, &figure.title)),
            Self::Png => png::bytes(&drawing, figure.page.height.is_some()),
            Self::Html => Ok(html::page(figure, &drawing, answer).into_bytes()),
        }
    }
}
