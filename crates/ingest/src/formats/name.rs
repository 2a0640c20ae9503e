//! The name of an input format, as a user demands it.

use std::fmt;

/// The name of an input format. It overrules what the content of a file says.
///
/// ```
/// let name: tagq_ingest::FormatName = "qutag".parse()?;
/// assert_eq!(name.to_string(), "qutag");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatName(pub(super) &'static str);

impl fmt::Display for FormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
