//! The request and its range of differences.

use tagq_query::Mode;
use tagq_store::Duration;

use crate::{
    requests::{blocks::Errors, selection::Selection},
    setup::arguments::{BinWidth, Channel},
};

/// Histogram of the time differences of two channels (docs/queries.md, section "Histogram").
#[derive(Debug, Clone)]
pub struct Histogram {
    /// Differences from the tags of this channel …
    pub start: Channel,
    /// … to the tags of this channel.
    pub stop: Channel,
    /// Bin width; by default chosen from the tags of the channels.
    pub bin: Option<BinWidth>,
    /// Range of differences; by default chosen.
    pub range: Option<Reach>,
    /// Bins per decade, in place of bins of equal width.
    pub log: Option<u32>,
    /// The pairs that are counted.
    pub mode: Mode,
    /// Fold into this period.
    pub period: Option<Duration>,
    /// Fold into the period of a sync of which only each n-th pulse was recorded.
    pub sync_divider: Option<u32>,
    /// Normalise by the expectation for uncorrelated light.
    pub g2: bool,
    /// Method for errors.
    pub errors: Errors,
    /// Also compute the covariance of the g2 of all bins, from blocks.
    pub covariance: bool,
    /// The tags that are used.
    pub selection: Selection,
}

/// The range of differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Symmetric around zero, with the middle bin centred on zero.
    Around(Duration),
    /// From one difference to another, the latter excluded.
    Between(Duration, Duration),
}

impl std::str::FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |text: &str| text.parse::<Duration>().map_err(|e| e.to_string());
        match text.split_once("..") {
            Some((low, high)) => Ok(Self::Between(parse(low)?, parse(high)?)),
            None => parse(text).map(Self::Around),
        }
    }
}
