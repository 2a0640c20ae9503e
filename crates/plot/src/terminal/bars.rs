//! Writes values one below the other, as bars of eighths of a character.

use std::fmt::Write as _;

use super::{Room, canvas::painted, right, widest};
use crate::{
    Bars,
    colour::{Colour, whole},
};

/// Eighths of a cell from the left, from empty to full.
const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

pub(super) fn text(bars: &Bars, room: Room) -> String {
    let names = widest(bars.bars.iter().map(|bar| &*bar.name)).min(room.columns / 3);
    let numbers = bars.texts();
    let wide = widest(numbers.iter().map(String::as_str));
    let columns = room.columns.saturating_sub(names + wide + 3).max(5);
    let most = bars.axis.high / 1.05;
    let mut text = String::new();
    for (bar, number) in bars.bars.iter().zip(&numbers) {
        let eighths = bar.value.map_or(0, |value| {
            let eighths = whole((value / most * (8 * columns) as f64).round()).min(8 * columns);
            // Values above zero are always visible.
            if value > 0.0 { eighths.max(1) } else { 0 }
        });
        let mut drawn = EIGHTHS[8].to_string().repeat(eighths / 8);
        if eighths % 8 > 0 {
            drawn.push(EIGHTHS[eighths % 8]);
        }
        let drawn = painted(&drawn, Colour::Series(0), room.is_coloured);
        let _ = writeln!(text, "{} │{drawn} {number}", right(&bar.name, names));
    }
    text
}
