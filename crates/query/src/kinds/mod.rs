//! The kinds of query: one folder per kind, with its struct, its counts and its result.
//!
//! A kind is a plain struct that implements [`Kind`]. Shared code lies in the modules below: the rules,
//! the scan, the estimates.

mod coincidences;
mod histogram;
mod histogram2d;
mod image;
pub(crate) mod kind;
mod micro;
mod micro_bins;
mod rates;
mod shortest;
mod tuples;
mod windows;

pub use coincidences::{Coincidences, Counted, GroupCount, SinglesInScope};
pub use histogram::{Binned, Bins, Fold, Histogram, Mode, Period, mean_spacing, normalised};
pub use histogram2d::{Binned2d, Histogram2d};
pub use image::{
    IMAGE_SIDE_MAX, Image, ImageReport, Imaged, Markers, PixelCounts, PixelMicro, REGIONS_MAX,
    Raster, Regions, Sine,
};
pub use kind::Kind;
pub use micro::MicroTimes;
pub use rates::{Rated, Rates, SourceRates, Trace, TraceBin};
pub use shortest::{ShortestInterval, shortest_intervals};
pub use tuples::{ClusterTag, ListedTag, Tuple, Tuples};
pub use windows::{OverWindows, WindowPlan, Windows};
