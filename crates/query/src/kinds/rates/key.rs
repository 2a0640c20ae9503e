//! The key of a query: the same for all queries that count the same (docs/partials.md).

use super::Rates;
use crate::partial::words::{channels, delays};

impl Rates {
    /// The query in words and numbers, without its range. A trace has no partial: its bins are no part of it.
    pub(super) fn key(&self) -> String {
        // Without `..`: a new field has to be put in.
        let Self { scope, bin: _ } = self;
        let delays = delays(scope, scope.channels.as_deref());
        format!("rates; {}{delays}", channels(scope))
    }
}
