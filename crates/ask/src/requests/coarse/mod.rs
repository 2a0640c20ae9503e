//! Bins and windows that are chosen from the tags: `scan` looks at the correlation of two channels coarsely, `choose` makes bins
//! that show its structure, `window` suggests a window.

mod choose;
mod scan;
#[cfg(test)]
mod tests;
mod window;

pub(super) use choose::{Chosen, Structure, choose, of_neighbours};
pub(super) use window::window_missing;
