//! `tagq simulate`.

use std::path::PathBuf;

use clap::ArgAction;
use tagq::store::{Duration, Tick, units::Frequency};

use super::values::{ChannelDelay, ForChannel};

/// Make a .tags.zst file of simulated photon detections
///
/// OUT may also end with .tags, .tsv, .tsv.zst, .csv or .csv.zst, for the same tags in that form.
/// Photon pairs fall on the channels two by two (1 and 2, 3 and 4, …). The same options and seed
/// give the same file. It is there whole or not at all, but with --live.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq simulate --rate 100kHz --delay 2=5ns pairs.tags.zst
  tagq simulate --coherent --rate 1MHz --files 3 --gap 1s light/
  tagq simulate --live 1MHz --rate 400kHz --duration 60s live.tags.zst")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct SimulateArgs {
    /// The file to write; with --files, a folder
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// How long each file records
    #[arg(long, value_name = "D", default_value = "1s")]
    pub duration: Duration,
    /// The tick of the file
    #[arg(long, value_name = "TICK", default_value = "156.25ps")]
    pub tick: Tick,
    /// The time of the first tick recorded
    #[arg(long, value_name = "T", default_value = "0t", allow_hyphen_values = true)]
    pub start: Duration,
    /// Equal seeds give equal files
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The channels of the detectors
    #[arg(long, value_name = "A,B,…", value_delimiter = ',', default_values_t = [1, 2])]
    pub channels: Vec<u64>,
    /// Pairs a second of each pair source, or photons a second on each detector with --coherent
    #[arg(long, value_name = "RATE", default_value = "100kHz")]
    pub rate: Frequency,
    /// Laser light instead of photon pairs
    #[arg(long)]
    pub coherent: bool,
    /// Emit light only in pulses, one each PERIOD
    #[arg(long, value_name = "PERIOD")]
    pub pulsed: Option<Duration>,
    /// One source: a herald on the first channel, its partner on the second or third; with --coherent
    /// one beam shared by all channels
    #[arg(long)]
    pub beam_splitter: bool,
    /// The chance that a photon is detected: for all channels, or CH=E for one; may be repeated
    #[arg(long, value_name = "[CH=]E", default_value = "1", action = ArgAction::Append)]
    pub efficiency: Vec<ForChannel<f64>>,
    /// Dark counts a second: for all channels, or CH=RATE for one; may be repeated
    #[arg(long, value_name = "[CH=]RATE", default_value = "0Hz", action = ArgAction::Append)]
    pub dark: Vec<ForChannel<Frequency>>,
    /// Standard deviation of the detection time: for all channels, or CH=D for one; may be repeated
    #[arg(long, value_name = "[CH=]D", default_value = "0t", action = ArgAction::Append)]
    pub jitter: Vec<ForChannel<Duration>>,
    /// Add D to the photons of channel CH; may be repeated
    #[arg(long = "delay", value_name = "CH=D", allow_hyphen_values = true)]
    pub delays: Vec<ChannelDelay>,
    /// Time after a detection in which there is no other: for all channels, or CH=D for one
    #[arg(long, value_name = "[CH=]D", default_value = "0t", action = ArgAction::Append)]
    pub dead_time: Vec<ForChannel<Duration>>,
    /// Frames of each file; a recorder appends one every 250 ms
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub frames: u64,
    /// Write N files into the folder OUT, recorded one after the other
    #[arg(long, value_name = "N")]
    pub files: Option<u64>,
    /// Time between the files
    #[arg(long, value_name = "T", default_value = "1s", requires = "files")]
    pub gap: Duration,
    /// Give frames a checksum, which a recorder does not
    #[arg(long)]
    pub checksum: bool,
    /// Append frames as a recorder does while it records, one each 250 ms, so many tags a second
    #[arg(long, value_name = "RATE", conflicts_with_all = ["frames", "files", "checksum"])]
    pub live: Option<Frequency>,
    /// With --live: some tags come up to D later than others of their time
    #[arg(long, value_name = "D", requires = "live")]
    pub late: Option<Duration>,
    /// With --live: frames of no tags, frames in pieces, and a recorder that dies now and then and begins
    /// another file in the folder OUT
    #[arg(long, requires = "live")]
    pub faults: bool,
    /// Replace the files that are there
    #[arg(long)]
    pub force: bool,
    /// Only errors
    #[arg(long, short)]
    pub quiet: bool,
}
