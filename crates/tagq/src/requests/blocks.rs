//! Errors from blocks of time: each value is computed again without one block (docs/queries.md, "Block
//! errors").

use std::{ops::RangeInclusive, str::FromStr};

use tagq_query::{Recording, TimeRange};

use super::options::{self, RequestOption, ValueType};
use crate::setup::arguments::deserialize_from_text;

/// The method for the standard errors of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Errors {
    /// The formulas of docs/queries.md, which hold for steady light.
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
    ValueType::Text("HOW", options::check::<Errors>),
    "Method for standard errors: formula, for steady light, or blocks[:N], from N blocks of time",
)
.default("formula");

deserialize_from_text!(Errors);

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

/// Returns the blocks of each source: `[i][s]` is part i of the live time of source s in `range`, in
/// delayed time. The first and the last block extend as far as delays move tags. If a source is too
/// short for all blocks, its blocks are empty.
pub(super) fn ranges(
    recording: &Recording<'_>,
    range: TimeRange,
    blocks: u32,
) -> Vec<Vec<TimeRange>> {
    let edges = recording.sources.iter().map(|source| {
        let edges = source.live().divided(range, blocks).into_iter().map(Some);
        std::iter::once(None).chain(edges).chain([None]).collect()
    });
    let edges: Vec<Vec<Option<i64>>> = edges.collect();
    let of = |block: usize| {
        let own = |edges: &Vec<Option<i64>>| {
            TimeRange { from: edges[block], to: edges[block + 1] }.and(&range)
        };
        edges.iter().map(own).collect()
    };
    (0..blocks as usize).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq_store::{Channels, Tags};

    #[test]
    fn blocks_follow_each_other_and_leave_nothing_out() {
        let time = [-7, 0, 3, 20];
        let recording =
            Recording::from_tags(Tags { time: &time, channels: Channels::U8(&[1, 1, 2, 1]) });
        let side = |from: Option<i64>, to: Option<i64>| vec![TimeRange { from, to }];
        // 27 ticks from -7 in three parts of 9.
        let open = ranges(&recording, TimeRange::default(), 3);
        assert_eq!(open, [side(None, Some(2)), side(Some(2), Some(11)), side(Some(11), None)]);
        // 10 ticks from 0.
        let range = TimeRange { from: Some(0), to: Some(10) };
        let cut = ranges(&recording, range, 2);
        assert_eq!(cut, [side(Some(0), Some(5)), side(Some(5), Some(10))]);
        // 17 of 27 ticks are live, 12 of them before 5: the second half begins 8.5 ticks from -7.
        let dead = recording.sources[0].clone().with_dead(&[(5, 15)]);
        let dead = ranges(&Recording::new(vec![dead]), TimeRange::default(), 2);
        assert_eq!(dead, [side(None, Some(1)), side(Some(1), None)]);
    }

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
