//! The models that can be fitted, each with its options.

use tagq_ask::requests::{RequestOption, ValueType};

/// A model that a user can fit by name.
#[derive(Debug)]
pub struct FitType {
    /// Its name.
    pub name: &'static str,
    /// Other words for it.
    pub others: &'static [&'static str],
    /// The title of its figure.
    pub title: &'static str,
    /// Summary of what it fits, in one line.
    pub summary: &'static str,
    /// The formula and the parameters.
    pub details: &'static str,
    /// Its own options.
    pub own: &'static [RequestOption],
    /// Examples: the words after the name of the model.
    pub examples: &'static [&'static str],
}

impl FitType {
    /// Returns the model with this name, or with another word for it.
    pub fn named(word: &str) -> Option<&'static Self> {
        FIT_TYPES.iter().find(|of| of.name == word || of.others.contains(&word))
    }

    /// Iterates over all options, those that every model has last.
    pub fn options(&self) -> impl Iterator<Item = &'static RequestOption> {
        self.own.iter().chain(&COMMON)
    }
}

/// The options of every model.
const COMMON: [RequestOption; 5] = [
    RequestOption::new(
        "between",
        ValueType::Text("A..B"),
        "Fit the bins whose middle is in this range [default: all]",
    )
    .signed(),
    RequestOption::new(
        "fix",
        ValueType::Texts("NAME=V"),
        "Keep a parameter at this value: tau=2.3ns, background=0",
    ),
    RequestOption::new(
        "guess",
        ValueType::Texts("NAME=V"),
        "Start a parameter from this value [default: found in the data]",
    ),
    RequestOption::new(
        "intervals",
        ValueType::Choice(|| INTERVALS.to_vec()),
        "Intervals of all parameters by profile likelihood [default: near bounds]",
    ),
    RequestOption::new(
        "methods",
        ValueType::Flag,
        "Describe the fit in a sentence for the methods of a publication",
    ),
];

/// The intervals of parameters, the first by default.
pub(super) const INTERVALS: [[&str; 2]; 2] = [
    ["near-bounds", "Standard errors; intervals if a parameter is within three errors of a bound"],
    ["profile", "Intervals of 68.3 % by profile likelihood for all parameters"],
];

/// Treatments of photons that the first one of a pulse hides, the first by default.
pub(super) const PILE_UP: [[&str; 2]; 2] = [
    ["corrected", "The detector sees the first photon of a pulse alone (Coates)"],
    ["ignored", "Every photon is seen"],
];

/// The shapes of a dip, the first by default.
pub(super) const SHAPES: [[&str; 2]; 2] = [
    ["gaussian", "Photons after Gaussian filters"],
    ["triangle", "Photons of a long crystal, unfiltered"],
];

/// The forms of g2, the first by default.
pub(super) const EMISSIONS: [[&str; 2]; 3] = [
    ["two-level", "1 - C exp(-|t|/tau)"],
    ["three-level", "1 - C ((1 + B) exp(-|t|/tau) - B exp(-|t|/tau_bunching))"],
    ["bunching", "1 + C exp(-|t|/tau)"],
];

/// The models.
pub const FIT_TYPES: [FitType; 6] = [
    FitType {
        name: "decay",
        others: &["lifetime", "exponential", "tcspc"],
        title: "Fit of a decay",
        summary: "Fit one to three exponentials over a background",
        details: "Parameters: photons and tau of each exponential, background in counts a bin; with a measured instrument response \
                  also shift, how much later the decay is than the response, and with --irf auto the centre and the fwhm of a \
                  Gaussian. Without a response, fit from some time after the pulse with --between. Of an image, the decay of \
                  each region of a --mask is fitted.",
        own: &DECAY,
        examples: &[
            "--between 3ns..40ns micro 1 run/",
            "--exponentials 2 --irf-channel 2 micro 1 run/",
            "--irf auto image --mask cells.tif scan.ptu",
            "histogram 3,15 --bin 100ps --range 0ns..50ns run/",
        ],
    },
    FitType {
        name: "g2",
        others: &["antibunching", "bunching", "hbt"],
        title: "Fit of g2",
        summary: "Fit antibunching or bunching of g2",
        details: "Parameters: level (1 for light that is not correlated over long times), contrast, tau, centre; with three levels \
                  also bunching and tau_bunching. g2_0 is the value in the centre.",
        own: &G2,
        examples: &["g2 3,15 --bin 1ns --range 200ns run/"],
    },
    FitType {
        name: "fcs",
        others: &["diffusion"],
        title: "Fit of diffusion (FCS)",
        summary: "Fit molecules that diffuse through a confocal volume (FCS)",
        details: "Free diffusion in three dimensions, of g2 in bins of any width. Parameters: amplitude, tau (or tau_1, tau_2 and \
                  fraction_1), kappa (fixed at 5) and offset (fixed at 0) unless --fix or --guess names them; with --triplet also \
                  triplet, its fraction, and tau_triplet. molecules = 1/amplitude are in the volume.",
        own: &FCS,
        examples: &[
            "--triplet --waist 250nm g2 3,15 --log 20 --range 1us..100ms --errors blocks run/",
        ],
    },
    FitType {
        name: "dip",
        others: &["hom", "hong-ou-mandel"],
        title: "Fit of a dip",
        summary: "Fit the dip of two-photon interference",
        details: "Parameters: level, visibility (depth over level), centre and fwhm, the full width at half of the depth.",
        own: &DIP,
        examples: &["--shape triangle histogram 3,15 --bin 100ps --range 10ns run/"],
    },
    FitType {
        name: "sin",
        others: &["sine", "fringe", "cosine"],
        title: "Fit of a fringe",
        summary: "Fit a fringe",
        details: "Parameters: level, visibility ((max - min) / (max + min)), period, and maximum, the place of the maximum next to \
                  zero.",
        own: &[],
        examples: &["rates 3 --bin 100ms run/"],
    },
    FitType {
        name: "peak",
        others: &["gauss", "gaussian"],
        title: "Fit of a peak",
        summary: "Fit a Gaussian peak over a flat background",
        details: "Parameters: net (counts above the background), centre, fwhm and background, in counts a bin.",
        own: &[],
        examples: &["histogram 3,15 --bin 100ps --range 10ns run/"],
    },
];

const DECAY: [RequestOption; 5] = [
    RequestOption::new(
        "exponentials",
        ValueType::Text("N"),
        "Number of exponentials, 1 to 3, or auto: as many as are significant [default: 1]",
    ),
    RequestOption::new(
        "irf",
        ValueType::Path("PATH"),
        "Instrument response: a run, asked like the decay, a text file with one count a bin, auto (a Gaussian at the rise) or tail \
         (only photons after it are used) [default: none]",
    ),
    RequestOption::new(
        "irf_channel",
        ValueType::Channel("CH"),
        "Instrument response: this channel, of the same run or of --irf",
    ),
    RequestOption::new(
        "pulse_period",
        ValueType::Text("P"),
        "Period of the pulses: adds the decays of earlier pulses [default: of the file's header]",
    ),
    RequestOption::new(
        "pile_up",
        ValueType::Choice(|| PILE_UP.to_vec()),
        "Photons that the first one of a pulse hides [default: corrected]",
    ),
];

const G2: [RequestOption; 2] = [
    RequestOption::new(
        "emission",
        ValueType::Choice(|| EMISSIONS.to_vec()),
        "Form of g2 [default: two-level]",
    ),
    RequestOption::new(
        "jitter",
        ValueType::Text("S"),
        "Standard deviation of a time difference: 1.41 times that of one detector [default: 0]",
    ),
];

const FCS: [RequestOption; 3] = [
    RequestOption::new(
        "components",
        ValueType::Number("N"),
        "Number of components of the same brightness, 1 or 2 [default: 1]",
    ),
    RequestOption::new("triplet", ValueType::Flag, "With a triplet state"),
    RequestOption::new(
        "waist",
        ValueType::Text("W"),
        "Distance from the axis where the light is e^-2 of that on it, as 250nm: gives diffusion coefficients",
    ),
];

const DIP: [RequestOption; 1] = [RequestOption::new(
    "shape",
    ValueType::Choice(|| SHAPES.to_vec()),
    "Shape of the dip [default: gaussian]",
)];
