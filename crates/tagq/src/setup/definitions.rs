//! Definitions of a setup: tables whose order matters.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

/// The name of a derived channel or a gate, and its definition.
pub type Definition = (String, String);

/// The entries of a table in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct InOrder(pub Vec<Definition>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;

        impl<'de> Visitor<'de> for Table {
            type Value = InOrder;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of names and definitions")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(InOrder(all))
            }
        }

        deserializer.deserialize_map(Table)
    }
}
