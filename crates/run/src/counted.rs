//! Numbers of things, for a reader: `1 tag`, `1,234 tags`.

/// Formats 1234567 as 1,234,567.
pub fn thousands(n: u64) -> String {
    grouped(&n.to_string())
}

/// Separates groups of three digits of a whole number.
pub fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats 1 and "tag" as 1 tag, 1234 as 1,234 tags.
pub fn counted(n: u64, of: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {of}{plural}", thousands(n))
}

/// Returns the verb of so many things.
pub fn are(n: u64) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

#[test]
fn one_thing_is_no_plural() {
    let said = |n| format!("{} {}", counted(n, "tag"), are(n));
    assert_eq!(
        [0, 1, 2, 1_000].map(said),
        ["0 tags are", "1 tag is", "2 tags are", "1,000 tags are"]
    );
}
