//! How the rows of an answer are drawn, independent of the renderer. Keys name columns of the table.

use std::borrow::Cow;

use tagq_query::Bins;
use tagq_store::Tick;

/// What a series of values is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesOf {
    /// All that was counted: there is one series.
    All,
    /// A channel or a group of channels.
    Channels(Vec<u16>),
    /// A region of an image.
    Region {
        /// Its frame, if frames are apart.
        frame: Option<i64>,
        /// The channel of its photons, if detectors are apart.
        channel: Option<u16>,
        /// Its label.
        label: i64,
    },
}

impl SeriesOf {
    /// Returns its name, of channels as `name` has it; `None` if there is one series.
    pub fn name(&self, name: impl Fn(&[u16]) -> String) -> Option<String> {
        match self {
            Self::All => None,
            Self::Channels(group) => Some(name(group)),
            Self::Region { frame, channel, label } => {
                let frame = frame.map(|frame| format!("frame {frame}, "));
                let channel = channel.map(|channel| format!("{}, ", name(&[channel])));
                let [frame, channel] = [frame, channel].map(Option::unwrap_or_default);
                Some(format!("{frame}{channel}label {label}"))
            }
        }
    }
}

/// The values of one channel, group or region, and the curve that was fitted to them.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedSeries {
    /// What they are of.
    pub of: SeriesOf,
    /// Start and end of each bin on the axis.
    pub bins: Vec<(f64, f64)>,
    /// Each value with its standard error, if it is defined.
    pub values: Vec<Option<[f64; 2]>>,
    /// The fitted curve: start and end of bins, and its value.
    pub curve: Vec<(f64, f64, Option<f64>)>,
    /// The difference of each value and its fit in standard errors: its part of the deviance, as a root with a sign.
    pub residuals: Vec<f64>,
}

/// How the rows of an answer are drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum FigureKind {
    /// One value per bin of a time difference (`first_tick`, `width_ticks`).
    Bins {
        /// The counted quantity.
        title: String,
        /// The channels; `None` if each row names its channel.
        name: Option<String>,
        /// The unit of the differences.
        unit: Tick,
        /// Labels of the axes.
        labels: [&'static str; 2],
        /// Columns of the value and of its error.
        value: [&'static str; 2],
        /// Whether the value is a ratio that is 1 by chance, drawn as points; otherwise counts, drawn
        /// as steps.
        is_ratio: bool,
        /// Whether bins have equal widths on a logarithmic axis.
        is_logarithmic: bool,
    },
    /// One count per peak of pulsed light (`peak`, `first_tick`, `width_ticks`), over the histogram of all differences.
    Peaks {
        /// The channels.
        title: String,
        /// The unit of the differences.
        unit: Tick,
        /// The edges of the histogram in ticks: a bin holds those before the next edge.
        edges: Vec<i64>,
        /// The counts of the histogram.
        counts: Vec<u64>,
        /// The counts of the histogram by a fit, if peaks overlap.
        curve: Option<Vec<f64>>,
        /// The first and the last tick of the one peak that is far lower than those beside it, if it is not at zero.
        low_peak: Option<[i64; 2]>,
    },
    /// Values with the curve that was fitted to them, and the residuals.
    Fit {
        /// The model.
        title: String,
        /// Labels of the axes.
        labels: [String; 2],
        /// Whether the horizontal axis is a time in seconds; otherwise a setting without a unit.
        is_time: bool,
        /// Whether values are ratios; otherwise counts.
        is_ratio: bool,
        /// Whether bins have equal widths on a logarithmic axis.
        is_logarithmic: bool,
        /// The fits, one for each channel, group or region.
        series: Vec<FittedSeries>,
    },
    /// One value per value of an option or of a setting, and channel or group.
    Scan {
        /// The name of the scanned option or setting.
        label: String,
        /// Its column.
        key: String,
        /// Whether its values are times in seconds.
        is_time: bool,
        /// The column that is drawn, and its label.
        value: &'static str,
        /// The label of the values.
        values: Cow<'static, str>,
    },
    /// One value per cell of two time differences (`first_tick_a`, `first_tick_b`), as a map of colours.
    Map {
        /// The counted quantity and the channels.
        title: String,
        /// Labels of the horizontal axis (A) and of the vertical one (B).
        labels: [String; 2],
        /// Column of the value.
        value: &'static str,
        /// Whether the value is a ratio; otherwise a count.
        is_ratio: bool,
    },
    /// One value per pixel (`line`, `pixel`), as a map of colours with the first line at the top. Counts of frames are
    /// added up.
    Image {
        /// The title.
        title: String,
        /// Pixels of a line.
        pixels: u32,
        /// Lines of a frame.
        lines: u32,
        /// The side of a pixel in micrometres.
        pixel_um: Option<f64>,
        /// The column that is drawn: `count` or `lifetime_s`.
        value: &'static str,
        /// The frequency of phasors (`phasor_g`, `phasor_s`) in hertz, if there are some.
        phasor_hz: Option<f64>,
    },
    /// One value per region of an image (`label`, and `frame` if frames are apart), as bars.
    Regions {
        /// The title.
        title: String,
        /// The column that is drawn: `count` or `lifetime_s`.
        value: &'static str,
        /// The bins of the decays (`micro_counts`) and their unit, if these were counted.
        micro: Option<(Bins, Tick)>,
    },
    /// One rate per bin of time (`start_s`) and key.
    Trace {
        /// The counted quantity, in singular for one key and in plural for several.
        title: [&'static str; 2],
        /// Label of the axis of rates.
        label: &'static str,
        /// Width of a bin in seconds; `None` if each has its own (`length_s`).
        width_s: Option<f64>,
    },
    /// One value per bin of time (`start_s`) and bin of delays (`first_tick`, `width_ticks`), as a map of colours.
    /// Counts of several channels are added up.
    MapOverTime {
        /// The title.
        title: String,
        /// Labels of the axis of delays and of the values.
        labels: [&'static str; 2],
        /// The column of the values.
        value: &'static str,
        /// The unit of delays.
        unit: Tick,
        /// Whether the bins of delays widen by the same factor.
        is_logarithmic: bool,
        /// Width of a bin of time in seconds; `None` if each has its own, so that they are drawn by their numbers
        /// (`interval`).
        width_s: Option<f64>,
    },
    /// Channels and gates, one below the other (`lane`): the tags in columns of time (`start_s`, `length_s`, `count`), and the
    /// times in which a gate is open.
    Lanes {
        /// The name of each lane.
        names: Vec<String>,
        /// The first and the last time, in seconds after the first tag of the run.
        times_s: [f64; 2],
        /// So many of the last lanes are gates, the others tags.
        gates: usize,
    },
    /// One number per group of channels (`channels`, `count`): a matrix if the groups are pairs, otherwise bars.
    Groups {
        /// The counted quantity.
        title: &'static str,
        /// Label of the axis.
        label: &'static str,
    },
    /// One rate per channel (`channel`, `rate_hz`), as bars.
    Rates,
}
