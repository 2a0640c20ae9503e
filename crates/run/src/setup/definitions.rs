//! Definitions of a setup: tables whose order matters.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
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

/// Reads `NAME = DEFINITION`.
///
/// # Errors
/// If there is no `=`.
pub fn definition(text: &str) -> Result<Definition, String> {
    let (name, definition) = text
        .split_once('=')
        .ok_or_else(|| format!("`{text}` is no definition; write NAME = DEFINITION"))?;
    Ok((name.trim().into(), definition.trim().into()))
}

/// Writes definitions as texts, `NAME = DEFINITION`.
pub fn serialize<S: Serializer>(
    definitions: &[Definition],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let texts = definitions.iter().map(|(name, definition)| format!("{name} = {definition}"));
    texts.collect::<Vec<_>>().serialize(serializer)
}

/// Reads definitions from texts, `NAME = DEFINITION`.
pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Definition>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| definition(text)).collect::<Result<_, _>>().map_err(D::Error::custom)
}
