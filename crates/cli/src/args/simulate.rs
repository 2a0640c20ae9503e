//! `tagq simulate`.

use std::path::PathBuf;

use clap::ArgAction;
use tagq::{
    ForChannel, LifetimePart, ScanSize,
    store::{Duration, Tick, units::Frequency},
};

use super::values::channel;

/// Make a .tags.zst file of simulated photon detections
///
/// OUT may also end like the output of tagq convert, for the same tags in that format. Photon
/// pairs go to the channels two by two (1 and 2, 3 and 4, …). The same options and seed give the same file.
/// Except with --live, OUT appears only when it is complete.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Examples:
  tagq simulate --rate 100kHz --delay 2=5ns pairs.tags.zst
  tagq simulate --coherent --rate 1MHz --files 3 --gap 1s light/
  tagq simulate --emitter 1ns --pulsed 12.5ns --rate 1MHz emitter.tags.zst
  tagq simulate --fluorescence 3ns --pulsed 25ns --clock 0 decay.tags.zst
  tagq simulate --fluorescence 3ns --pulsed 25ns --scan 32x32 --disc 1ns a.ptu
  tagq simulate --live 1MHz --rate 400kHz --duration 60s live.tags.zst")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct SimulateArgs {
    /// The file to write; with --files, a folder
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Recording time of each file; that of a scan by default, else 1s
    #[arg(long, value_name = "D", conflicts_with = "scan")]
    pub duration: Option<Duration>,
    /// Tick of the file
    #[arg(long, value_name = "TICK", default_value = "156.25ps")]
    pub tick: Tick,
    /// Time of the first recorded tick
    #[arg(long, value_name = "T", default_value = "0t", allow_hyphen_values = true)]
    pub start: Duration,
    /// Seed of the random numbers; equal seeds give equal files
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Channels of the detectors
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_values_t = [1, 2], value_parser = channel)]
    pub channels: Vec<u16>,
    /// Pairs per second of each pair source; with --coherent, photons per second on each detector or on the beam splitter;
    /// with --fluorescence, on each detector
    #[arg(long, value_name = "RATE", default_value = "100kHz")]
    pub rate: Frequency,
    /// Simulate laser light instead of photon pairs
    #[arg(long)]
    pub coherent: bool,
    /// Simulate one quantum emitter with this lifetime, excited by the pulses of --pulsed: at most one photon a pulse; --rate
    /// is that of its photons, which the channels share
    #[arg(long, value_name = "LIFETIME", requires = "pulsed", conflicts_with_all = ["coherent", "beam_splitter"])]
    pub emitter: Option<Duration>,
    /// Emit light only in pulses, one each PERIOD
    #[arg(long, value_name = "PERIOD")]
    pub pulsed: Option<Duration>,
    #[command(flatten)]
    pub fluorescence: FluorescenceArgs,
    /// Record the pulses of --pulsed as channel CH
    #[arg(long, value_name = "CH", requires = "pulsed", value_parser = channel)]
    pub clock: Option<u16>,
    /// Record one of N pulses as the clock
    #[arg(long, value_name = "N", default_value_t = 1, requires = "clock")]
    pub clock_divider: u32,
    /// Use one source: a herald on the first channel, its partner on the second or third; with --coherent one
    /// beam shared by all channels
    #[arg(long)]
    pub beam_splitter: bool,
    /// Probability that a photon is detected: for all channels, or CH=E for one; may be repeated
    #[arg(long, value_name = "[CH=]E", default_value = "1", action = ArgAction::Append, value_parser = efficiency)]
    pub efficiency: Vec<ForChannel<f64>>,
    /// Dark counts per second: for all channels, or CH=RATE for one; may be repeated
    #[arg(long, value_name = "[CH=]RATE", default_value = "0Hz", action = ArgAction::Append)]
    pub dark: Vec<ForChannel<Frequency>>,
    /// Standard deviation of the detection time: for all channels, or CH=D for one; may be repeated
    #[arg(long, value_name = "[CH=]D", default_value = "0t", action = ArgAction::Append)]
    pub jitter: Vec<ForChannel<Duration>>,
    /// Add D to the photons of channel CH; may be repeated
    #[arg(long = "delay", value_name = "CH=D", allow_hyphen_values = true, value_parser = delay)]
    pub delays: Vec<ForChannel<Duration>>,
    /// Time after a detection without another one: for all channels, or CH=D for one; may be repeated
    #[arg(long, value_name = "[CH=]D", default_value = "0t", action = ArgAction::Append)]
    pub dead_time: Vec<ForChannel<Duration>>,
    /// Number of frames in each file; a recorder appends one every 250 ms
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = files())]
    pub frames: u64,
    /// Write N files into the folder OUT, recorded one after another
    #[arg(long, value_name = "N", value_parser = files())]
    pub files: Option<u64>,
    /// Time between the files
    #[arg(long, value_name = "T", default_value = "1s", requires = "files")]
    pub gap: Duration,
    /// Write a checksum for each frame, which a recorder does not
    #[arg(long)]
    pub checksum: bool,
    /// Append a frame every 250 ms, as a recorder does, with this many tags per second
    #[arg(long, value_name = "RATE", conflicts_with_all = ["frames", "files", "checksum"])]
    pub live: Option<Frequency>,
    /// With --live: hand over some tags up to D late
    #[arg(long, value_name = "D", requires = "live")]
    pub late: Option<Duration>,
    /// With --live: simulate empty frames, frames in pieces, and a recorder that stops at times and continues
    /// with another file in the folder OUT
    #[arg(long, requires = "live")]
    pub faults: bool,
    /// Replace existing files
    #[arg(long)]
    pub force: bool,
    /// Make also what takes longer than a day
    #[arg(long)]
    pub long: bool,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Fluorescence and its scan.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FluorescenceArgs {
    /// Simulate fluorescence with these lifetimes after the pulses of --pulsed, with PART of the photons each (equal parts by
    /// default); --jitter and --delay are the width and the place of the instrument's response
    #[arg(long, value_name = "TAU[=PART],…", value_delimiter = ',', requires = "pulsed", conflicts_with_all = ["coherent", "beam_splitter", "emitter"])]
    pub fluorescence: Vec<LifetimePart>,
    /// Scan a sample, a disc on a background, with so many pixels, lines and frames; the markers of lines, ends of lines and
    /// frames are channels 101, 102 and 103, and a .ptu has mode T3
    #[arg(long, value_name = "PIXELSxLINES[xFRAMES]", requires = "fluorescence")]
    pub scan: Option<ScanSize>,
    /// Time of a pixel, rounded to whole pulses
    #[arg(long, value_name = "D", default_value = "10us", requires = "scan")]
    pub dwell: Duration,
    /// Scan every other line backwards
    #[arg(long, requires = "scan")]
    pub two_way: bool,
    /// Move the mirror as a sine, of whose amplitude a line covers so many percent
    #[arg(long, value_name = "PERCENT", requires = "scan")]
    pub sine: Option<f64>,
    /// Lifetimes in the disc [default: those of --fluorescence]
    #[arg(long, value_name = "TAU[=PART],…", value_delimiter = ',', requires = "scan")]
    pub disc: Vec<LifetimePart>,
    /// Photons per second on each detector in the disc [default: --rate]
    #[arg(long, value_name = "RATE", requires = "scan")]
    pub disc_rate: Option<Frequency>,
}

/// Write three small simulated recordings, and show what to type next
///
/// Photon pairs with a delay between their channels, one quantum emitter under a pulsed laser, and a
/// scan of fluorescence. Recordings that are there
/// already stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq demo
  tagq demo first/")]
pub(crate) struct DemoArgs {
    /// The folder to write to; it has no other files
    #[arg(value_name = "FOLDER", default_value = "tagq-demo")]
    pub folder: PathBuf,
    /// Write the recordings again
    #[arg(long)]
    pub force: bool,
}

/// Parses a number of files or frames, which are all made.
fn files() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=1_000_000)
}

/// Parses a probability, or `CH=E`.
fn efficiency(text: &str) -> Result<ForChannel<f64>, String> {
    let value = text.rsplit_once('=').map_or(text, |(_, value)| value);
    if value.parse::<f64>().is_err() {
        let percent =
            value.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        let meant = percent.map_or(0.8, |percent| percent / 100.0);
        return Err(format!("`{value}` is no probability; write it as {meant}"));
    }
    text.parse()
}

/// Parses `CH=D`.
fn delay(text: &str) -> Result<ForChannel<Duration>, String> {
    if text.contains('=') {
        return text.parse();
    }
    Err(format!("`{text}` is no CH=D; write it as 15=-4.0625ns"))
}
