//! The page of a figure.

use serde::{Deserialize, Serialize};

/// Width of a page if no other one is given.
const WIDTH: f64 = 960.0;

/// The page that a figure is laid out on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Its width in pixels of 1/96 inch.
    pub width: f64,
    /// Its height; by default as high as the figure needs.
    pub height: Option<f64>,
    /// Whether it is for a dark background.
    pub is_dark: bool,
}

impl Default for Page {
    fn default() -> Self {
        Self { width: WIDTH, height: None, is_dark: false }
    }
}
