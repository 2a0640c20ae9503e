//! A number in large digits, drawn with block characters.
//!
//! A 0 is three dots wide and five high, and a character holds two dots, one above the other: the smallest 0 has three
//! columns and three lines.

/// Rows of the dots of a digit.
const ROWS: usize = 5;

/// Returns the dots of a character, from the top row, the leftmost dot first.
fn dots(of: char) -> Option<[&'static str; ROWS]> {
    Some(match of {
        '0' => ["###", "# #", "# #", "# #", "###"],
        '1' => [" # ", "## ", " # ", " # ", "###"],
        '2' => ["###", "  #", "###", "#  ", "###"],
        '3' => ["###", "  #", "###", "  #", "###"],
        '4' => ["# #", "# #", "###", "  #", "  #"],
        '5' => ["###", "#  ", "###", "  #", "###"],
        '6' => ["###", "#  ", "###", "# #", "###"],
        '7' => ["###", "  #", "  #", "  #", "  #"],
        '8' => ["###", "# #", "###", "# #", "###"],
        '9' => ["###", "# #", "###", "  #", "###"],
        '-' => ["   ", "   ", "###", "   ", "   "],
        '+' => ["   ", " # ", "###", " # ", "   "],
        '.' => [" ", " ", " ", " ", "#"],
        ',' => ["  ", "  ", "  ", " #", "# "],
        'e' => ["   ", "###", "###", "#  ", "###"],
        _ => return None,
    })
}

/// Returns the lines of a number as large as fits into this room; `None` if there is too little, or for a text that
/// is no number.
pub(super) fn digits(number: &str, columns: usize, rows: usize) -> Option<Vec<String>> {
    let glyphs: Vec<_> = number.chars().map(dots).collect::<Option<_>>()?;
    // An empty column is between two characters.
    let rows_of_dots = [0, 1, 2, 3, 4].map(|row| {
        glyphs.iter().map(|glyph: &[&str; ROWS]| glyph[row]).collect::<Vec<_>>().join(" ")
    });
    let wide = rows_of_dots[0].len();
    // A character is two dots high, because it is about twice as high as wide.
    let scale = columns.checked_div(wide)?.min(2 * rows / ROWS);
    if scale == 0 {
        return None;
    }
    let is_set = |row: usize, column: usize| {
        let dots = rows_of_dots.get(row / scale).map(String::as_bytes);
        dots.and_then(|dots| dots.get(column / scale)) == Some(&b'#')
    };
    let block = |row: usize, column: usize| match (is_set(row, column), is_set(row + 1, column)) {
        (true, true) => '\u{2588}',
        (true, false) => '\u{2580}',
        (false, true) => '\u{2584}',
        (false, false) => ' ',
    };
    let line = |row| (0..wide * scale).map(|column| block(row, column)).collect::<String>();
    Some((0..ROWS * scale).step_by(2).map(|row| line(row).trim_end().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_fills_the_room() {
        // Three dots by five, and half a character high.
        let small = ["\u{2588}\u{2580}\u{2588}", "\u{2588} \u{2588}", "\u{2580}\u{2580}\u{2580}"];
        assert_eq!(digits("0", 3, 3).unwrap(), small);
        let four = digits("4", 11, 100).unwrap();
        assert_eq!((four.len(), four[0].chars().count()), (8, 9), "three times as large");
        for (columns, rows) in [(80, 15), (44, 8), (200, 40), (26, 3)] {
            let lines = digits("-12,345", columns, rows).unwrap();
            assert!(
                lines.len() <= rows && lines.iter().all(|line| line.chars().count() <= columns)
            );
            let wide = lines.iter().map(|line| line.chars().count()).max().unwrap();
            // Another size would be 26 columns wider and two or three rows higher.
            let is_full = wide + 26 > columns || lines.len() + 3 > rows;
            assert!(is_full, "{columns} x {rows}: {wide} x {}", lines.len());
        }
        assert_eq!(digits("12,345", 21, 9), None);
        assert_eq!(digits("1", 80, 2), None);
        assert_eq!((digits("\u{2013}", 80, 20), digits("", 80, 20)), (None, None));
    }

    #[test]
    fn no_two_digits_look_alike() {
        let all = "0123456789-+.,e".chars();
        let drawn: std::collections::HashSet<_> = all.clone().map(|of| dots(of).unwrap()).collect();
        assert_eq!(drawn.len(), all.count());
    }
}
