//! OpenOptions that several commands take.

use std::path::PathBuf;

use clap::{ArgMatches, Command, FromArgMatches};
use tagq::{
    Bounds, OpenOptions,
    files::{Columns, FormatName, Settings},
    requests::Selection,
    store::Tick,
};
use tagq_export::report::Format;

use super::{
    table,
    values::{Io, formats},
};

/// Over the options of the selection.
pub(super) const SELECTION: &str = "Selection";

/// Over the options of plots and output.
pub(crate) const OUTPUT: &str = "Plots and output";

/// Declares arguments that state a part of a selection: a struct with the selection.
macro_rules! selection_args {
    ($(#[$doc:meta])* $of:ident, $names:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $of(pub Selection);

        impl clap::Args for $of {
            fn augment_args(command: Command) -> Command {
                command.args(table::selection_args($names))
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl FromArgMatches for $of {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                table::selection($names, matches).map(Self)
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

selection_args!(
    /// A range of time and channels.
    TagsArgs, &["channels", "from", "to", "last"]
);
selection_args!(
    /// The channels and gates of a derived run.
    DerivedArgs, &["channels", "gates", "delays", "from", "to", "join"]
);

/// What is known of the experiment.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = SELECTION)]
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
#[command(next_help_heading = "Files and threads")]
pub(crate) struct QueryArgs {
    /// A folder of recordings (PicoQuant, quTAG, Becker & Hickl, Swabian, Photon-HDF5, tables, text, .tags; `tagq
    /// formats` lists all), one such file, a store, or - for standard input
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
    /// Count everything from scratch, and cache nothing
    #[arg(long)]
    pub no_cache: bool,
    /// Let derived channels have at most N times the tags of the run
    #[arg(long, value_name = "N", default_value_t = Bounds::default().view_factor)]
    pub view_factor: u32,
    /// Count also what takes longer than a day
    #[arg(long)]
    pub long: bool,
    /// Threads to ingest and scan with [default: one a core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

/// Where the store is and what its times mean.
#[derive(Debug, clap::Args)]
pub(crate) struct StoreArgs {
    /// The unit of the recorded times: 156.25ps, 1/3ps, 1/12.288GHz; holds for this call, `tagq ingest` and
    /// `tagq set` keep it [default: that of the store; 156.25ps, assumed; text has none]
    #[arg(long, value_name = "TICK")]
    pub tick: Option<Tick>,
    /// Where the store is, instead of in or beside the source
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
    /// Find sources in nested folders, too; give it each time
    #[arg(long)]
    pub recursive: bool,
    /// The format of the sources, whatever their content says; `tagq formats` lists them [default: as
    /// recognised, or as it was taken before]
    #[arg(long, value_name = "NAME")]
    pub source_format: Option<FormatName>,
    /// The columns of a table or text: time=NAME,channel=NAME; of text without a header their order:
    /// channel,time or time,channel; time=NAME,time=NAME or time,time if each column has the times of a
    /// channel. Times that are no ticks have a unit: time=NAME:ns or channel,time:ns, or a
    /// name that says it, as `Time [ps]` or time_ps
    /// [default: usual names; channel,time; or as it was taken before]
    #[arg(long, value_name = "NAMES")]
    pub columns: Option<Columns>,
    /// Lines of a text before its header and its tags [default: 0; or as it was taken before]
    #[arg(long, value_name = "N")]
    pub skip_lines: Option<u64>,
    /// The unit of the micro times of files that do not say it, as of .spc without .set: 4.07ps [default: as it was
    /// taken before]
    #[arg(long, value_name = "TICK")]
    pub micro_tick: Option<Tick>,
    /// The channel of a text without a column of channels, as one of a time in each line; of several columns of
    /// times, that of the first one [default: as the file is named, ch3.csv; or as it was taken before]
    #[arg(long, value_name = "N")]
    pub channel: Option<u16>,
    /// No progress and no notes, only errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl QueryArgs {
    /// Returns the runs and the store that are read.
    pub(crate) fn reads(&self) -> Vec<PathBuf> {
        self.runs.iter().chain(&self.store.store).cloned().collect()
    }
}

impl StoreArgs {
    /// The columns of texts and tables, and what is stated with them.
    fn columns(&self) -> Option<Columns> {
        let columns = self.columns.clone().unwrap_or_default();
        let skip_lines = self.skip_lines.unwrap_or(columns.skip_lines);
        let micro_tick = self.micro_tick.or(columns.micro_tick);
        let channel = self.channel.or(columns.channel);
        let columns = Columns { skip_lines, micro_tick, channel, ..columns };
        Some(columns).filter(|of| *of != Columns::default())
    }

    /// Whether any of them is given, besides `--quiet`.
    pub(crate) fn is_given(&self) -> bool {
        let is_reading = self.tick.is_some() || self.source_format.is_some();
        is_reading || self.columns().is_some() || self.store.is_some() || self.recursive
    }

    /// How they say to open a run.
    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions {
            store: self.store.clone(),
            recursive: self.recursive,
            tick_here: self.tick,
            format: self.source_format,
            columns: self.columns(),
            ..OpenOptions::default()
        }
    }

    /// How they say to read a file.
    pub(crate) fn reading(&self) -> Settings {
        Settings {
            format: self.source_format,
            columns: self.columns(),
            tick: self.tick,
            ..Settings::default()
        }
    }
}

/// How an answer is given.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = OUTPUT)]
#[command(group = clap::ArgGroup::new("files").multiple(true))]
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
pub(crate) struct OutputArgs {
    /// How to give the answer [default: as FILE is named; table on a terminal, else json]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: Option<Format>,
    /// JSON: short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// In tables on a terminal: all rows, in place of the first 40
    #[arg(long)]
    pub all: bool,
    /// In tables: all digits, plain seconds and hertz
    #[arg(long)]
    pub exact: bool,
    /// Write the answer to FILE, named .txt (a table), .json, .csv, .arrow, .parquet or as a figure
    #[arg(long, short, value_name = "FILE", group = "files")]
    pub output: Option<PathBuf>,
    /// Replace FILE if it is there
    #[arg(long, requires = "files")]
    pub force: bool,
}

impl OutputArgs {
    /// Returns those of a command that writes nothing but a figure.
    pub(crate) fn of_figure(force: bool) -> Self {
        Self { force, ..Self::default() }
    }

    /// Returns the format that is asked for.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format.or(self.json.then_some(Format::Json))
    }
}
