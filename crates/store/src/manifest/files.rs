//! The files of a store, as its manifest lists them.

use serde::{Deserialize, Serialize};

/// The name, kind and width of a file of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileName {
    pub name: String,
    pub kind: String,
    pub width: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileNames {
    pub time: FileName,
    pub channel: FileName,
    pub blocks: FileName,
    pub counts: FileName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro: Option<FileName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<FileName>,
    /// The checksums of the gaps of full blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<FileName>,
}
