//! The request and its range of differences.

use tagq_query::Mode;
use tagq_store::Duration;

use crate::{
    requests::{blocks::Errors, selection::Selection},
    setup::arguments::{BinWidth, Channel},
};

/// How the times of two channels differ (docs/queries.md, section "Histogram").
#[derive(Debug, Clone)]
pub struct Histogram {
    /// From the tags of this channel …
    pub start: Channel,
    /// … to those of this one.
    pub stop: Channel,
    /// The width of a bin; chosen by what the channels hold without it.
    pub bin: Option<BinWidth>,
    /// Of which differences; chosen without it.
    pub range: Option<Reach>,
    /// So many bins a decade, in place of bins of one width.
    pub log: Option<u32>,
    /// Which pairs.
    pub mode: Mode,
    /// Folded into this period.
    pub period: Option<Duration>,
    /// Folded into the period of a sync of which each n-th pulse was recorded.
    pub sync_divider: Option<u32>,
    /// Normalised by what light without correlation would give.
    pub g2: bool,
    /// How errors are found.
    pub errors: Errors,
    /// Also the covariance of the g2 of all bins, from blocks.
    pub covariance: bool,
    /// Of which tags.
    pub selection: Selection,
}

/// The range of differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// So far on either side of zero, the middle bin centred on it.
    Around(Duration),
    /// From one difference up to, not including, another.
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
