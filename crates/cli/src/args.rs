//! The command line, word for word: the only file that names clap.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::{ArgAction, Parser, Subcommand, ValueEnum, error::ErrorKind};
use tagq::{
    HOLD_BACK,
    ask::{Channel, Moment, Reach},
    files::text::TextColumns,
    store::{Duration, Tick, UnitError, units::Frequency},
};
use tagq_export::{Form, TimeUnit};

/// Exact questions to photon time tags.
#[derive(Debug, Parser)]
#[command(name = "tagq", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Coincidences(CoincidencesArgs),
    Histogram(HistogramArgs),
    G2(G2Args),
    Rates(RatesArgs),
    Delays(DelaysArgs),
    Watch(WatchArgs),
    Ingest(IngestArgs),
    Info(InfoArgs),
    Cat(CatArgs),
    Convert(ConvertArgs),
    Export(ExportArgs),
    Verify(VerifyArgs),
    Name(NameArgs),
    Set(SetArgs),
    Simulate(Box<SimulateArgs>),
}

/// Count coincidences within a window, between every pair of channels or the groups named
///
/// By rule `all` a pair counts when its times differ by at most the window W: |Δt| ≤ W, half the full
/// width. Every answer names the rule, the window in ticks and the live time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq coincidences --window 2ns run/
  tagq coincidences --window 2ns --group 3,15 --delay 15=-4.0625ns run.tags.zst
  tagq coincidences --window 1us --group 3,15,16 --rule once run/")]
pub(crate) struct CoincidencesArgs {
    /// Largest time difference allowed: a duration (2ns, 156.25ps) or whole ticks (13t)
    #[arg(
        long,
        value_name = "W",
        allow_hyphen_values = true,
        required_unless_present = "full_width"
    )]
    pub window: Option<Duration>,
    /// The window as its full width: the largest w with 2w + 1 ticks in it
    #[arg(long, value_name = "F", allow_hyphen_values = true, conflicts_with = "window")]
    pub full_width: Option<Duration>,
    /// 2 to 16 channels, for example 3,15; may be repeated [default: every pair]
    #[arg(long = "group", value_name = "A,B[,C…]", action = ArgAction::Append)]
    pub groups: Vec<Group>,
    /// Every choice of N of the channels in use
    #[arg(long, value_name = "N", conflicts_with = "groups")]
    pub fold: Option<usize>,
    /// Which combinations of tags count
    #[arg(long, value_enum, default_value_t = RuleName::All)]
    pub rule: RuleName,
    /// With rule herald: each herald at most once
    #[arg(long)]
    pub per_herald: bool,
    /// Nothing counts that has a tag of these channels near it
    #[arg(long, value_name = "C[,D…]", value_delimiter = ',')]
    pub veto: Vec<Channel>,
    /// How far a veto reaches beyond the earliest and latest tag [default: the window]
    #[arg(long, value_name = "G", requires = "veto")]
    pub guard: Option<Duration>,
    /// How accidentals are found: formula, or shifted[:K] by K counts with a channel moved
    #[arg(long, value_name = "HOW", default_value = "formula")]
    pub accidentals: AccidentalsName,
    /// Move channels by multiples of P, the period of a pulsed source
    #[arg(long, value_name = "P")]
    pub shift: Option<Duration>,
    /// A trace: a row for each bin of this width and group
    #[arg(long, value_name = "B")]
    pub bin: Option<Duration>,
    /// The tuples themselves, in order of time: rows, recorded times, differences
    #[arg(long, conflicts_with = "bin")]
    pub list: bool,
    /// Say what would be read, and do not count
    #[arg(long, conflicts_with = "list")]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Count differences of the times of two channels, in bins
///
/// Bin k holds LO + k·W ≤ Δ < LO + (k+1)·W with Δ the delayed time of the stop minus that of the
/// start. All pairs count, however many; a tag is never paired with itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq histogram --start 3 --stop 15 --range -64t..65t run/
  tagq histogram --start 1 --stop 2 --mode last --bin 16t --range 0ns..100ns run/")]
pub(crate) struct HistogramArgs {
    /// From the tags of this channel
    #[arg(long, value_name = "A")]
    pub start: Channel,
    /// To the tags of this channel, which may be the same
    #[arg(long, value_name = "B")]
    pub stop: Channel,
    /// Which pairs
    #[arg(long, value_enum, default_value_t = ModeName::All)]
    pub mode: ModeName,
    /// Cells of a bin's width first, as the recorder's own tools count: grid
    #[arg(long, value_enum)]
    pub rule: Option<HistogramRule>,
    /// Normalised by what light without correlation would give
    #[arg(long)]
    pub g2: bool,
    /// Fold differences into [0, P), with mode next or last
    #[arg(long, value_name = "P")]
    pub period: Option<Duration>,
    /// The same by the recorded sync, which is each N-th pulse
    #[arg(long, value_name = "N", conflicts_with = "period")]
    pub sync_divider: Option<u32>,
    #[command(flatten)]
    pub bins: BinsArgs,
    /// Say what would be read, and do not count
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// The correlation g2 of two channels: `histogram --g2`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq g2 1,2 run/
  tagq g2 3,15 --log 20 --range 1ns..1ms run/")]
pub(crate) struct G2Args {
    /// The two channels, or one twice
    #[arg(value_name = "A,B")]
    pub pair: ChannelPair,
    #[command(flatten)]
    pub bins: BinsArgs,
    /// Say what would be read, and do not count
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// The bins of a histogram.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BinsArgs {
    /// Width of a bin, a whole number of ticks [default: 1t]
    #[arg(long, value_name = "W")]
    pub bin: Option<Duration>,
    /// Differences to count: D for both sides of zero, or LO..HI [default: 64 bins on either side]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    pub range: Option<Reach>,
    /// N bins a decade from LO to HI of the range, both above zero
    #[arg(long, value_name = "N", conflicts_with = "bin")]
    pub log: Option<u32>,
}

/// Count the tags of each channel, and their rates
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq rates run/
  tagq rates --bin 100ms --channels 3,15 run/")]
pub(crate) struct RatesArgs {
    /// A trace: a row for each bin of this width and channel
    #[arg(long, value_name = "W")]
    pub bin: Option<Duration>,
    /// Say what would be read, and do not count
    #[arg(long)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub selection: SelectionArgs,
}

/// Find the delays between channels: the peaks of their differences, from coarse to fine
///
/// Each pair of the channels is searched, in the times as recorded. Below the table stand the --delay
/// options that put the peaks at zero. A peak is said to be one when chance would put nothing as high
/// into the whole range (7 sigmas).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq delays --channels 3,15 run/
  tagq delays --channels 1,2,3,4 --range 10us --write run/tagq.toml run/")]
pub(crate) struct DelaysArgs {
    /// Two channels and more, by number or name
    #[arg(long, value_name = "A,B…", value_delimiter = ',', required = true)]
    pub channels: Vec<Channel>,
    /// How far to search on both sides of zero [default: 1ms]
    #[arg(long, value_name = "R")]
    pub range: Option<Duration>,
    /// Write the delays into this tagq.toml; what else stands there stays
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// From so long after the run's first tag; negative: before its last; @T: ticks as recorded
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Up to, not including, this moment
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the last D of the run
    #[arg(long, value_name = "D", conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// Sources follow each other without a gap: pairs may span them
    #[arg(long)]
    pub join: bool,
    /// The run, as for any query
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Answer from what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
    /// Threads to scan with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Answer queries again whenever something new was recorded
///
/// New files and what files have grown by are taken into the store as by `tagq ingest --follow`, and
/// each query is answered from the new commit. On a terminal the answers are drawn in place; elsewhere
/// each update is one line of JSON. With --last D a query counts the whole run and the last D beside
/// it. Ctrl-C ends it.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tagq watch [OPTIONS] QUERY [--and QUERY]…",
    after_help = "Examples:
  tagq watch rates --last 1s run/
  tagq watch coincidences --window 2ns --delay 15=-4.0625ns --last 1s run/ --and g2 3,15 --every 1s"
)]
pub(crate) struct WatchArgs {
    /// Answer not more often than this [default: each commit]
    #[arg(long, value_name = "D")]
    every: Option<Duration>,
    /// Keep back tags of a file that grows, up to D before its newest: recorders hand over late ones
    /// [default: 10ms]
    #[arg(long, value_name = "D")]
    hold_back: Option<Duration>,
    /// A query as on its own: coincidences, histogram, g2 or rates with their options. Others follow
    /// behind --and; without a RUN they ask that of the first
    #[arg(
        value_name = "QUERY",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<OsString>,
}

impl WatchArgs {
    /// The queries, each read as on its own; a mistake in one ends the program as it would there.
    pub(crate) fn queries(&self) -> Vec<Command> {
        let mut runs: Vec<PathBuf> = Vec::new();
        let mut queries = Vec::new();
        for words in self.split().0 {
            let words = || [OsString::from("tagq")].into_iter().chain(words.iter().cloned());
            let read = Args::try_parse_from(words()).or_else(|error| {
                if error.kind() != ErrorKind::MissingRequiredArgument || runs.is_empty() {
                    return Err(error);
                }
                let more = runs.iter().map(|run| run.clone().into_os_string());
                Args::try_parse_from(words().chain(more)).map_err(|_| error)
            });
            let command = read.unwrap_or_else(|error| error.exit()).command;
            if runs.is_empty()
                && let Some(query) = command.query()
            {
                runs.clone_from(&query.runs);
            }
            queries.push(command);
        }
        queries
    }

    /// The least time between two answers.
    pub(crate) fn interval(&self) -> Result<std::time::Duration, UnitError> {
        let every = self.split().1.or_else(|| self.every.clone());
        let Some(every) = every else { return Ok(std::time::Duration::ZERO) };
        let nanoseconds = every.nearest("1ns".parse()?)?;
        let negative = |_| UnitError::Negative { text: every.asked().into() };
        u64::try_from(nanoseconds).map(std::time::Duration::from_nanos).map_err(negative)
    }

    /// How much of a growing file is kept back.
    pub(crate) fn hold_back(&self) -> Result<Duration, UnitError> {
        match self.split().2.or_else(|| self.hold_back.clone()) {
            Some(hold_back) => Ok(hold_back),
            None => HOLD_BACK.parse(),
        }
    }

    /// The words of each query, without the options of watching, which may stand anywhere.
    fn split(&self) -> (Vec<Vec<OsString>>, Option<Duration>, Option<Duration>) {
        let mut parts = vec![Vec::new()];
        let (mut every, mut hold_back) = (None, None);
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            if word == OsStr::new("--and") {
                parts.push(Vec::new());
            } else if let Some(value) = option("--every", word, &mut words) {
                every = Some(value);
            } else if let Some(value) = option("--hold-back", word, &mut words) {
                hold_back = Some(value);
            } else if let Some(part) = parts.last_mut() {
                part.push(word.clone());
            }
        }
        (parts, every, hold_back)
    }
}

/// The duration of an option, written `NAME D` or `NAME=D`, when `word` begins it. What is no duration
/// ends the program as a mistake of the command line.
fn option<'a>(
    name: &str,
    word: &OsStr,
    words: &mut impl Iterator<Item = &'a OsString>,
) -> Option<Duration> {
    let word = word.to_str()?;
    let value = if word == name {
        words.next().map_or(String::new(), |value| value.to_string_lossy().into_owned())
    } else {
        word.strip_prefix(name)?.strip_prefix('=')?.to_owned()
    };
    let read = value.parse::<Duration>().map_err(|error| {
        clap::Error::raw(ErrorKind::ValueValidation, format!("{name}: {error}\n"))
    });
    Some(read.unwrap_or_else(|error| error.exit()))
}

impl Command {
    /// What a query is asked of.
    fn query(&self) -> Option<&QueryArgs> {
        match self {
            Self::Coincidences(args) => Some(&args.query),
            Self::Histogram(args) => Some(&args.query),
            Self::G2(args) => Some(&args.query),
            Self::Rates(args) => Some(&args.query),
            _ => None,
        }
    }
}

/// Which tags a query is about.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Only these channels, by number or name
    #[arg(long, value_name = "A,B…", value_delimiter = ',')]
    pub channels: Vec<Channel>,
    /// Add D to the times of channel CH, rounded to whole ticks; may be repeated
    #[arg(long = "delay", value_name = "CH=D", allow_hyphen_values = true)]
    pub delays: Vec<NamedDelay>,
    /// From so long after the run's first tag; negative: before its last; @T: ticks as recorded
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Up to, not including, this moment
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the last D of the run
    #[arg(long, value_name = "D", conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    /// The live time, in place of last minus first tag of each source
    #[arg(long, value_name = "T")]
    pub live_time: Option<Duration>,
    /// Sources follow each other without a gap: coincidences may span them
    #[arg(long)]
    pub join: bool,
    /// Several runs as one answer: what they hold is added up
    #[arg(long)]
    pub sum: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
}

/// What is known of the experiment.
#[derive(Debug, clap::Args)]
pub(crate) struct SetupArgs {
    /// Tick, channel names, delays and groups of the experiment [default: tagq.toml in the run's
    /// folder]
    #[arg(long, value_name = "FILE", conflicts_with = "no_setup")]
    pub setup: Option<PathBuf>,
    /// Use no tagq.toml
    #[arg(long)]
    pub no_setup: bool,
}

/// What every query takes.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArgs {
    /// A folder of .tags.zst, .tags, .tsv[.zst] or .csv[.zst] files, one such file, a store, or - for
    /// standard input
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Answer from what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
    /// How the columns are read: `read` copies them into memory first, for network file systems on
    /// which files may be cut short while they are mapped
    #[arg(long, value_enum, default_value_t = Io::Map)]
    pub io: Io,
    /// Count everything anew, and keep nothing for the next time
    #[arg(long)]
    pub no_cache: bool,
    /// Threads to scan with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// Where the store is and what its times mean.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The unit of the recorded times: 156.25ps, 1/3ps, 1/12.288GHz [default: 156.25ps, assumed]
    #[arg(long, value_name = "TICK")]
    pub tick: Option<Tick>,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// The order of the columns of text without a header: channel,time or time,channel [default:
    /// channel,time, or as it was taken before]
    #[arg(long, value_name = "NAMES")]
    pub columns: Option<TextColumns>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How an answer is given.
#[derive(Debug, clap::Args)]
pub(crate) struct OutputArgs {
    /// How to give the answer [default: as FILE is named; table on a terminal, else json]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the answer to FILE, named .txt (a table), .json, .csv, .arrow or .parquet
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace FILE if it is there
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Take new files into the store
///
/// A query does this by itself. The store of a folder is .tagq/ inside it, the store of one file x is
/// x.tagq/ beside it; with --store all sources become one run there.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq ingest run/
  tagq ingest --follow run/
  tagq ingest --tick 4ps --store night.tagq a.tags.zst b.tags.zst
  ssh lab cat run.tags.zst | tagq ingest - --store night.tagq")]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct IngestArgs {
    /// Files, or folders of files; - for standard input, with --store
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    /// Take everything anew, in one commit; every source must still be there
    #[arg(long)]
    pub rebuild: bool,
    /// Put a file that begins before the run's end 1 s behind it: its counter started anew
    #[arg(long)]
    pub rebase: bool,
    /// Take what can be read of a torn end, too; nothing can be added to such a file later
    #[arg(long)]
    pub salvage: bool,
    /// Go on while files grow and new ones appear, until Ctrl-C; one file or folder
    #[arg(long, conflicts_with_all = ["rebuild", "rebase", "salvage"])]
    pub follow: bool,
    /// Of a file that still grows, keep back the newest D: tags that come late can then still be put in
    /// order [default: 10ms]
    #[arg(long, value_name = "D", requires = "follow")]
    pub hold_back: Option<Duration>,
}

/// Say what a run holds: tick, live time, channels, sources
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Print the tags as text: channel TAB time, one line a tag, times in ticks
///
/// A file is printed as it stands, without a store; a folder or a store in order of time.
#[derive(Debug, clap::Args)]
pub(crate) struct CatArgs {
    /// A file, a folder of files, a store, or - for standard input
    #[arg(value_name = "RUN|FILE")]
    pub run: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
}

/// Write tags in another form: .tags.zst, .tags, .tsv, .tsv.zst, .csv or .csv.zst, as OUT is named
///
/// A file is converted as it stands, whatever its name; a folder or a store in order of time. Text has
/// the channel first, with tabs in .tsv, and commas and a header in .csv. What is compressed has
/// frames that can be read one by one, with checksums. OUT is there whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq convert run.tags.zst run.csv
  tagq convert --columns time,channel measured.txt run.tags.zst
  zcat old.txt.gz | tagq convert - run.tags.zst")]
pub(crate) struct ConvertArgs {
    /// A file, a folder of files, a store, or - for standard input
    #[arg(value_name = "IN")]
    pub from: PathBuf,
    /// The file to write, or - for text to standard output
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// Replace OUT if it is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub store: StoreArgs,
}

/// Write the tags of a run for other programs: .arrow, .parquet, .csv or .tsv, as FILE is named
///
/// The columns are time, in ticks as recorded, and channel, in order of time; the tick stands in the
/// metadata of .arrow and .parquet. Without --output an Arrow stream goes to standard output. FILE is
/// there whole or not at all, and memory does not grow with the run.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq export run/ -o run.parquet
  tagq export run/ --channels 3,15 --from 1s --to 2s --time-unit ns -o second.csv
  tagq export run/ | python3 -c 'import sys, pyarrow as pa; print(pa.ipc.open_stream(sys.stdin.buffer).read_all())'")]
pub(crate) struct ExportArgs {
    /// A folder of tag files, one such file, a store, or - for standard input
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to write: arrow, parquet, csv or tsv [default: as FILE is named, else an Arrow stream]
    #[arg(long, value_name = "FORM")]
    pub format: Option<Form>,
    /// Replace FILE if it is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// A column of floats beside the ticks, since the run's first tag: ps, ns, us or s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    /// Only these channels, by number or name
    #[arg(long, value_name = "A,B…", value_delimiter = ',')]
    pub channels: Vec<Channel>,
    /// From so long after the run's first tag; negative: before its last; @T: ticks as recorded
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub from: Option<Moment>,
    /// Up to, not including, this moment
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub to: Option<Moment>,
    /// Only the last D of the run
    #[arg(long, value_name = "D", conflicts_with_all = ["from", "to"])]
    pub last: Option<Duration>,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Write what is in the store, without taking in new files
    #[arg(long)]
    pub no_ingest: bool,
}

/// Hold every block of a store against its checksums
///
/// Exit code 3 and the block's number when something is not as it was committed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq verify run/
  tagq verify --sources run/")]
pub(crate) struct VerifyArgs {
    /// Runs or stores
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Hold the source files against their hashes, too
    #[arg(long)]
    pub sources: bool,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Name the channels of a run, in the tagq.toml of its folder
///
/// A name stands wherever a channel does, in every command. Without names those that there are are
/// listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq name run/ 3=Alice-H 15=Bob-H
  tagq name run/ 3=")]
pub(crate) struct NameArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// A channel and its name; without a name it has only its number
    #[arg(value_name = "CH=NAME")]
    pub names: Vec<ChannelName>,
}

/// Correct what a store says of its run
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// The run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The unit of the recorded times, whatever was said before
    #[arg(long, value_name = "TICK")]
    pub tick: Tick,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Make a .tags.zst file of simulated photon detections
///
/// Photon pairs fall on the channels two by two (1 and 2, 3 and 4, …). The same options and seed
/// give the same file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq simulate --duration 1s --channels 1,2 --rate 100kHz --delay 2=5ns pairs.tags.zst
  tagq simulate --coherent --rate 1MHz --files 3 --gap 1s light/
  tagq simulate --live 1MHz --rate 400kHz --dark 100kHz --duration 60s live.tags.zst")]
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuleName {
    /// Every way to take one tag of each channel with latest minus earliest within the window
    All,
    /// Every way to take one tag of the first channel and one of each other within the window of it
    Herald,
    /// One-to-one: matched tags are used up, the earliest first
    Once,
    /// Events: a cluster takes every tag up to the window behind its first; one row a set of channels
    Cluster,
    /// Pairs with both tags in one cell of t / W, as the recorder's own tools count
    Grid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Every start with every stop
    All,
    /// Each start with its first stop at or behind it
    Next,
    /// Each stop with its latest start at or before it
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistogramRule {
    /// Times in cells of a bin first, both ends of the range included
    Grid,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// Mapped: only what is used is read
    Map,
    /// Copied: nine bytes of memory a tag
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned for reading
    Table,
    /// One object, keys as in docs/queries.md
    Json,
    /// One line a row, a comment line before
    Csv,
    /// Arrow: a stream to a pipe, a file with --output
    Arrow,
    /// Parquet
    Parquet,
}

impl Format {
    /// What the name of a file asks for.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "txt" => Some(Self::Table),
            "json" => Some(Self::Json),
            "csv" => Some(Self::Csv),
            "arrow" => Some(Self::Arrow),
            "parquet" => Some(Self::Parquet),
            _ => None,
        }
    }
}

/// 2 to 16 channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group(pub Vec<Channel>);

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let channels: Vec<Channel> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        for (i, channel) in channels.iter().enumerate() {
            if channels[..i].contains(channel) {
                return Err(format!(
                    "`{}` stands twice; a coincidence takes one tag of each of different channels",
                    text.split(',').nth(i).unwrap_or_default().trim()
                ));
            }
        }
        match channels.len() {
            2..=16 => Ok(Self(channels)),
            n => Err(format!("{n} channels; a group has 2 to 16, for example 3,15")),
        }
    }
}

/// Two channels, which may be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelPair(pub [Channel; 2]);

impl FromStr for ChannelPair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (a, b) = text
            .split_once(',')
            .ok_or_else(|| format!("`{text}` is no pair; write two channels, for example 3,15"))?;
        Ok(Self([a.parse()?, b.parse()?]))
    }
}

/// `CH=D`, the channel by number or name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedDelay(pub Channel, pub Duration);

impl FromStr for NamedDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, delay) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=D; write it as 15=-4.0625ns"))?;
        let delay = delay.parse::<Duration>().map_err(|e| e.to_string())?;
        Ok(Self(name.parse()?, delay))
    }
}

/// `formula`, `shifted` or `shifted:K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccidentalsName {
    Formula,
    Shifted(u32),
}

impl FromStr for AccidentalsName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const COUNTS: u32 = 10;
        match text.split_once(':') {
            None if text == "formula" => Ok(Self::Formula),
            None if text == "shifted" => Ok(Self::Shifted(COUNTS)),
            Some(("shifted", counts)) => counts
                .parse()
                .map(Self::Shifted)
                .map_err(|_| format!("`{counts}` is no number of counts; write shifted:{COUNTS}")),
            _ => Err(format!("`{text}` is neither formula nor shifted nor shifted:{COUNTS}")),
        }
    }
}

/// `CH=D`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelDelay {
    pub channel: u16,
    pub delay: Duration,
}

impl FromStr for ChannelDelay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, delay) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=D; write it as 15=-4.0625ns"))?;
        let delay = delay.parse::<Duration>().map_err(|e| e.to_string())?;
        Ok(Self { channel: channel(name)?, delay })
    }
}

/// `CH=NAME`, or `CH=` for none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelName {
    pub channel: u16,
    pub name: Option<String>,
}

impl FromStr for ChannelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, name) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}` is no CH=NAME; write it as 3=Alice-H"))?;
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(Self { channel: channel(number)?, name })
    }
}

/// A value for all channels, or `CH=VALUE` for one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ForChannel<T> {
    pub channel: Option<u64>,
    pub value: T,
}

impl<T: FromStr<Err: std::fmt::Display>> FromStr for ForChannel<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |value: &str| value.parse().map_err(|e: T::Err| e.to_string());
        match text.split_once('=') {
            Some((name, value)) => {
                Ok(Self { channel: Some(u64::from(channel(name)?)), value: parse(value)? })
            }
            None => Ok(Self { channel: None, value: parse(text)? }),
        }
    }
}

fn channel(text: &str) -> Result<u16, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("`{text}` is no channel; channels are numbers from 0 to 65535"))
}
