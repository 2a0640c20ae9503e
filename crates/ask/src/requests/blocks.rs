//! The option that selects the method for standard errors: formulas, or blocks of time, each left out in turn
//! (docs/estimates.md, "Block errors").

use std::{fmt, ops::RangeInclusive, str::FromStr};

use tagq_run::serde_as_text;

use super::options::{RequestOption, ValueType};

/// The method for the standard errors of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Errors {
    /// The formulas of docs/estimates.md, which hold for steady light.
    #[default]
    Formula,
    /// From the values without one of this many blocks of time each, for any light.
    Blocks(u32),
}

impl Errors {
    /// Default number of blocks.
    pub const DEFAULT_BLOCKS: u32 = 50;
    /// Allowed number of blocks.
    pub const BLOCKS: RangeInclusive<u32> = 2..=1_000;

    /// Returns the number of blocks; `None` for formulas.
    pub(super) fn blocks(self) -> Option<u32> {
        match self {
            Self::Formula => None,
            Self::Blocks(blocks) => Some(blocks),
        }
    }

    /// Returns the text for the header, preceded by a semicolon.
    pub(super) fn words(self) -> String {
        self.blocks().map_or(String::new(), |blocks| format!("; errors from {blocks} blocks"))
    }
}

/// The option that selects the method for errors.
pub(super) const OPTION: RequestOption = RequestOption::new(
    "errors",
    ValueType::Text("HOW"),
    "Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time",
)
.default("formula");

serde_as_text!(Errors);

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Formula => f.write_str("formula"),
            Self::Blocks(blocks) => write!(f, "blocks:{blocks}"),
        }
    }
}

impl FromStr for Errors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let blocks = match text.split_once(':') {
            None if text == "formula" => return Ok(Self::Formula),
            None if text == "blocks" => Ok(Self::DEFAULT_BLOCKS),
            Some(("blocks", blocks)) => blocks.parse(),
            _ => return Err(format!("`{text}` is neither formula, blocks nor blocks:N")),
        };
        let blocks = blocks.ok().filter(|blocks| Self::BLOCKS.contains(blocks));
        blocks.map(Self::Blocks).ok_or_else(|| {
            format!("blocks:N wants {} to {} blocks", Self::BLOCKS.start(), Self::BLOCKS.end())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_formula_or_a_number_of_blocks() {
        assert_eq!("formula".parse(), Ok(Errors::Formula));
        assert_eq!("blocks".parse(), Ok(Errors::Blocks(50)));
        assert_eq!("blocks:20".parse(), Ok(Errors::Blocks(20)));
        for wrong in ["block", "blocks:1", "blocks:x", "formula:3", "blocks:1001"] {
            assert!(wrong.parse::<Errors>().is_err(), "{wrong}");
        }
    }
}
