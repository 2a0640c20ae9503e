//! The key of a query: identical for all queries that count the same thing (docs/partials.md).

use super::Rates;
use crate::partial::words::{channels, delays};

impl Rates {
    /// Returns the key of the query, without its range. A trace has no partial, so its bins are not part of
    /// the key.
    pub(super) fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { scope, bin: _ } = self;
        let delays = delays(scope, scope.channels.as_deref());
        format!("rates; {}{delays}", channels(scope))
    }
}
