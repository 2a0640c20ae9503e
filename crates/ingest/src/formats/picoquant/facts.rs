//! Facts about a measurement, from the header of any of the formats.

use super::tags::Fault;

/// Facts about a measurement for readers.
#[derive(Default)]
pub(super) struct Facts(pub Vec<(String, String)>);

impl Facts {
    pub(super) fn add(&mut self, what: &str, value: Option<impl Into<String>>) {
        self.0.extend(value.map(|value| (what.to_owned(), value.into())));
    }
}

pub(super) fn milliseconds(value: i64) -> String {
    format!("{}.{:03} s", value / 1_000, value.unsigned_abs() % 1_000)
}

/// The fault of a resolution that cannot be a tick.
pub(super) fn no_tick(resolution: impl std::fmt::Display) -> Fault {
    Fault::Damaged(format!("a resolution of {resolution} s cannot be the unit of times"))
}
