//! The request and its options.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use tagq_run::{BinWidth, Channel};
use tagq_store::Duration;

use crate::requests::{
    histogram::Reach,
    instrument::ResponseAsked,
    options::{self, RequestOption, RequestType, ValueType},
    selection::{self, Selection},
};

/// An image by markers (docs/queries.md, section "Images").
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Image {
    /// The marker at which a line begins; by default that of the header.
    pub line: Option<Channel>,
    /// The marker at which a line ends; by default that of the header.
    pub line_end: Option<Channel>,
    /// The marker at which a frame begins; by default that of the header.
    pub frame: Option<Channel>,
    /// Pixels of a line; by default as the header says.
    pub pixels: Option<u32>,
    /// Lines of a frame; by default as the header says.
    pub lines: Option<u32>,
    /// How lines are scanned; by default as the header says.
    pub scan: Option<ScanPath>,
    /// The part of a sine that a line covers, in percent; by default as the header says, or 100.
    pub sine: Option<u32>,
    /// What it is a part of; by default as the header says, or the amplitude.
    pub sine_of: Option<SineOf>,
    /// The line of each frame that is the first of the image; by default 0.
    pub first_line: Option<u32>,
    /// The first frame that is counted; by default 0.
    pub first_frame: Option<u32>,
    /// Put in lost markers and leave out double ones.
    pub repair: bool,
    /// Whether each frame has pixels of its own.
    pub frames: Together,
    /// Whether each channel of photons has pixels of its own.
    pub detectors: Together,
    /// Also count the micro times of each pixel, in bins.
    pub micro: bool,
    /// Bin width of micro times; by default one unit of them.
    pub bin: Option<BinWidth>,
    /// Refuse bins that are no whole number of ticks.
    pub exact_bins: bool,
    /// Range of micro times; by default from 0 to the largest one.
    pub range: Option<Reach>,
    /// The lifetime of each pixel.
    pub lifetime: Option<LifetimeMethod>,
    /// The response of the instrument; by default a Gaussian at the rise.
    pub irf: Option<ResponseAsked>,
    /// The channel with the response of the instrument.
    pub irf_channel: Option<Channel>,
    /// The response is that of a dye with this lifetime.
    pub reference_lifetime: Option<Duration>,
    /// The period of the pulses; by default that of the file.
    pub pulse_period: Option<Duration>,
    /// The harmonic of the pulses at which phasors are; by default the first.
    pub harmonic: Option<u32>,
    /// Mean micro times and lifetimes are those of pixels with so many photons; by default all, and for lifetimes 20.
    pub min_photons: Option<u64>,
    /// Pixels are blocks of so many pixels on each side.
    pub bin_pixels: Option<u32>,
    /// A file with the label of each pixel: regions of pixels with the same label are counted.
    pub mask: Option<String>,
    /// The tags that are used: photons are those of its channels.
    pub selection: Selection,
}

/// The fewest photons of a pixel that has a lifetime, by default.
pub(super) const LIFETIME_PHOTONS: u64 = 20;

/// How the lifetime of a pixel is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifetimeMethod {
    /// By likelihood if pixels have photons enough, else by the mean arrival time.
    Auto,
    /// From the mean arrival time.
    Mean,
    /// From the phase of the phasor.
    Phasor,
    /// By the likelihood of an exponential over a background.
    Exp,
}

/// How lines are scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanPath {
    /// Every line from left to right, at constant speed.
    OneWay,
    /// Every other line from right to left.
    TwoWay,
    /// Every line from left to right, along a sine.
    Sinusoidal,
    /// Every other line from right to left, along a sine.
    TwoWaySinusoidal,
}

/// What the part of a sine that a line covers is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SineOf {
    /// The amplitude.
    Amplitude,
    /// The half period in which a line lies.
    Period,
}

/// Whether frames, or the photons of channels, are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Together {
    /// All are added up.
    #[default]
    Together,
    /// Each has pixels of its own.
    Apart,
}

/// The request as a user states it.
pub const IMAGE: RequestType = RequestType {
    name: "image",
    summary: "Count photons in the pixels of a scan, by the markers of its lines and frames",
    details: "A line lasts from its start marker to its end marker, and pixel ⌊(t − start)·N/(end − start)⌋ of it counts \
              the photon at t. Markers and sizes are those of the file's header if it states them.",
    channels: None,
    options: &[&OPTIONS, &[options::EXACT_BINS]],
    selection: &[&selection::COMMON],
    preset: &[],
    unlisted: None,
    examples: &[
        &[("line", "3"), ("line_end", "4"), ("pixels", "256"), ("lines", "256")],
        &[
            ("line", "3"),
            ("pixels", "64"),
            ("lines", "64"),
            ("scan", "two-way"),
            ("frames", "apart"),
        ],
    ],
    cases,
};

/// See [`RequestType::cases`].
fn cases() -> Vec<Value> {
    vec![
        json!({"line": "3", "line_end": "4", "pixels": 4, "lines": 3, "channels": ["1", "2"]}),
        json!({"line": "3", "frame": "4", "pixels": 3, "lines": 2, "scan": "two-way", "frames": "apart"}),
        json!({"line": "4", "pixels": 3, "lines": 40, "scan": "sinusoidal", "sine": 80}),
        json!({"line": "4", "pixels": 3, "lines": 40, "scan": "sinusoidal", "sine": 80, "sine_of": "period"}),
        json!({
            "line": "3", "frame": "4", "pixels": 3, "lines": 2, "first_line": 1, "first_frame": 1, "repair": true,
            "frames": "apart", "detectors": "apart",
        }),
        json!({
            "line": "4", "line_end": "3", "pixels": 2, "lines": 2, "micro": true, "bin": "9t", "range": "0t..27t",
        }),
        json!({"line": "3", "line_end": "4", "pixels": 4, "lines": 3, "min_photons": 13}),
        json!({"line": "3", "line_end": "4", "pixels": 4, "lines": 3, "bin_pixels": 3}),
        json!({
            "line": "3", "line_end": "4", "pixels": 4, "lines": 3, "lifetime": "exp", "irf": "tail",
            "pulse_period": "300t", "min_photons": 1,
        }),
    ]
}

const OPTIONS: [RequestOption; 25] = [
    RequestOption::new(
        "line",
        ValueType::Channel("M"),
        "The marker at which a line begins [default: that of the header]",
    ),
    RequestOption::new(
        "line_end",
        ValueType::Channel("M"),
        "The marker at which a line ends [default: that of the header; without one, the next line or frame]",
    ),
    RequestOption::new(
        "frame",
        ValueType::Channel("M"),
        "The marker at which a frame begins [default: that of the header; without one, after so many lines]",
    ),
    RequestOption::new(
        "pixels",
        ValueType::Number("N"),
        "Pixels of a line [default: as the header says]",
    ),
    RequestOption::new(
        "lines",
        ValueType::Number("N"),
        "Lines of a frame [default: as the header says]",
    ),
    RequestOption::new(
        "scan",
        ValueType::Choice(scans),
        "How lines are scanned [default: as the header says, or one-way]",
    ),
    RequestOption::new(
        "sine",
        ValueType::Number("PERCENT"),
        "The part of the sine that a line covers [default: as the header says, or 100]",
    ),
    RequestOption::new(
        "sine_of",
        ValueType::Choice(parts_of_sines),
        "What that is a part of [default: as the header says, or amplitude]",
    ),
    RequestOption::new(
        "first_line",
        ValueType::Number("N"),
        "The line of each frame that is the first of the image; those before it are left out [default: 0]",
    ),
    RequestOption::new(
        "first_frame",
        ValueType::Number("N"),
        "The first frame that is counted; those before it are left out [default: 0]",
    ),
    RequestOption::new(
        "repair",
        ValueType::Flag,
        "Put in lost markers by the median time of lines and frames, and leave out double ones",
    ),
    RequestOption::new("frames", ValueType::Choice(together), "Whether frames are added up")
        .default("together"),
    RequestOption::new(
        "detectors",
        ValueType::Choice(together),
        "Whether the photons of all channels are added up",
    )
    .default("together"),
    RequestOption::new(
        "micro",
        ValueType::Flag,
        "Also count the micro times of each pixel, in bins",
    ),
    RequestOption::new(
        "bin",
        ValueType::Text("W"),
        "Width of a bin of micro times, rounded to their units [default: one unit; of lifetimes at most 256 bins]",
    ),
    RequestOption::new(
        "range",
        ValueType::Text("R"),
        "Micro times that are counted in bins, LO..HI [default: 0 to the largest]",
    )
    .signed(),
    RequestOption::new("lifetime", ValueType::Choice(methods), "Find the lifetime of each pixel")
        .alone("auto"),
    RequestOption::new(
        "irf",
        ValueType::Path("PATH"),
        "Instrument response, for lifetimes: a run, a text file with one count a bin, auto (a Gaussian at the rise) or tail \
         (only photons after it are used) [default: auto]",
    )
    .requires("lifetime"),
    RequestOption::new(
        "irf_channel",
        ValueType::Channel("CH"),
        "Instrument response: this channel, of the same run or of `irf`",
    )
    .requires("lifetime"),
    RequestOption::new(
        "reference_lifetime",
        ValueType::Text("D"),
        "Calibrate phasors by a dye with this lifetime, measured in `irf` with the same instrument",
    )
    .requires("lifetime"),
    RequestOption::new(
        "pulse_period",
        ValueType::Text("D"),
        "Period of the pulses, for lifetimes [default: that of the file]",
    )
    .requires("lifetime"),
    RequestOption::new(
        "harmonic",
        ValueType::Number("H"),
        "Harmonic of the pulses at which phasors are [default: 1]",
    )
    .requires("lifetime"),
    RequestOption::new(
        "min_photons",
        ValueType::Number("N"),
        "Leave out mean micro times and lifetimes of pixels with fewer photons [default: 1; of lifetimes 20]",
    ),
    RequestOption::new(
        "bin_pixels",
        ValueType::Number("K"),
        "Take blocks of K x K pixels as pixels",
    ),
    RequestOption::new(
        "mask",
        ValueType::Path("FILE"),
        "Count regions in place of pixels: the label of each pixel, 0 outside, as .npy or as .tif of one page",
    ),
];

const METHODS: [(LifetimeMethod, [&str; 2]); 4] = [
    (
        LifetimeMethod::Auto,
        ["auto", "exp if most photons are in pixels with at least 100, else mean"],
    ),
    (LifetimeMethod::Mean, ["mean", "From the mean arrival time, less that of the background"]),
    (LifetimeMethod::Phasor, ["phasor", "From the phase at a harmonic of the pulses"]),
    (LifetimeMethod::Exp, ["exp", "The likeliest exponential over a background"]),
];

const SCANS: [(ScanPath, [&str; 2]); 4] = [
    (ScanPath::OneWay, ["one-way", "Every line from left to right, at constant speed"]),
    (ScanPath::TwoWay, ["two-way", "Every other line from right to left"]),
    (ScanPath::Sinusoidal, ["sinusoidal", "Every line from left to right, along a sine"]),
    (
        ScanPath::TwoWaySinusoidal,
        ["two-way-sinusoidal", "Every other line from right to left, along a sine"],
    ),
];

const SINES: [(SineOf, [&str; 2]); 2] = [
    (SineOf::Amplitude, ["amplitude", "The amplitude, as PicoQuant counts it"]),
    (SineOf::Period, ["period", "The half period in which a line lies, as Leica counts it"]),
];

const TOGETHER: [(Together, [&str; 2]); 2] = [
    (Together::Together, ["together", "All are added up"]),
    (Together::Apart, ["apart", "Each has pixels of its own"]),
];

fn methods() -> Vec<[&'static str; 2]> {
    METHODS.map(|(_, named)| named).to_vec()
}

fn scans() -> Vec<[&'static str; 2]> {
    SCANS.map(|(_, named)| named).to_vec()
}

fn parts_of_sines() -> Vec<[&'static str; 2]> {
    SINES.map(|(_, named)| named).to_vec()
}

fn together() -> Vec<[&'static str; 2]> {
    TOGETHER.map(|(_, named)| named).to_vec()
}

impl ScanPath {
    pub(super) fn is_two_way(self) -> bool {
        matches!(self, Self::TwoWay | Self::TwoWaySinusoidal)
    }

    pub(super) fn is_sinusoidal(self) -> bool {
        matches!(self, Self::Sinusoidal | Self::TwoWaySinusoidal)
    }
}

impl LifetimeMethod {
    pub(super) fn name(self) -> &'static str {
        METHODS.iter().find(|(of, _)| *of == self).map_or("", |(_, [name, _])| name)
    }
}

impl Serialize for LifetimeMethod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for LifetimeMethod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        options::choice(deserializer, &METHODS)
    }
}

impl Serialize for ScanPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = SCANS.iter().find(|(of, _)| of == self).map_or("", |(_, [name, _])| name);
        serializer.serialize_str(name)
    }
}

impl<'de> Deserialize<'de> for ScanPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        options::choice(deserializer, &SCANS)
    }
}

impl SineOf {
    pub(super) fn of(is_of_period: bool) -> Self {
        if is_of_period { Self::Period } else { Self::Amplitude }
    }
}

impl Serialize for SineOf {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = SINES.iter().find(|(of, _)| of == self).map_or("", |(_, [name, _])| name);
        serializer.serialize_str(name)
    }
}

impl<'de> Deserialize<'de> for SineOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        options::choice(deserializer, &SINES)
    }
}

impl Together {
    pub(super) fn is_apart(self) -> bool {
        self == Self::Apart
    }

    pub(super) fn name(self) -> &'static str {
        TOGETHER.iter().find(|(of, _)| *of == self).map_or("", |(_, [name, _])| name)
    }
}

impl Serialize for Together {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Together {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        options::choice(deserializer, &TOGETHER)
    }
}
