//! Errors from opening a run to answering a request, with their exit codes.

use std::path::{Path, PathBuf};

use tagq_ingest::FormatName;
use tagq_store::{pasted, quoted};

/// A request is invalid, for any run or for this one. Texts have names of options in backticks: `live_time`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The value of an option is invalid.
    #[error("{option}: {reason}")]
    Option {
        /// The option.
        option: String,
        /// The number of the value, if the option has several.
        place: Option<usize>,
        /// Why it is invalid.
        reason: String,
    },
    /// No query, search or model has this name.
    #[error("`{name}` is none of {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A query or a model has no option of this name.
    #[error("{of} has no option `{option}`; its options are {}", known.join(", "))]
    UnknownOption {
        /// The query or the model.
        of: String,
        /// The option.
        option: String,
        /// The options that there are.
        known: Vec<&'static str>,
    },
    /// An option is not given that has no default.
    #[error("`{option}` is missing{what}")]
    Missing {
        /// The option.
        option: String,
        /// The meaning of the option, with a punctuation mark in front; or nothing.
        what: String,
    },
    /// Only one of two options can be given.
    #[error("`{option}` excludes `{other}`; give one of them")]
    Excluded {
        /// One of them.
        option: String,
        /// The other one.
        other: String,
    },
    /// An option is given without another one that it belongs to.
    #[error("`{option}` needs `{other}`")]
    Needs {
        /// The option that is given.
        option: String,
        /// The one that is missing.
        other: String,
    },
    /// Options contradict each other, the query, or the run.
    #[error("{reason}")]
    Options {
        /// The options that are to be changed or left out.
        options: Vec<String>,
        /// Why, and what would work.
        reason: String,
    },
    /// A value that was to be found in the tags is not found: a delay, a period. The option can state it.
    #[error("{reason}")]
    NotFound {
        /// The option.
        option: String,
        /// The value that was not found, and how to state it.
        reason: String,
    },
    /// The request would take more than a day. The option `long` allows that.
    #[error("this would take about {about}: {what}; `long` allows that")]
    TooLong {
        /// The time, in words.
        about: String,
        /// The work.
        what: String,
    },
    /// The request needs more memory or space on the disk than is allowed, or numbers that are too large. The text says
    /// what would work.
    #[error("{0}")]
    TooLarge(String),
    /// The runs cannot be merged, added, or asked together.
    #[error("{0}")]
    Runs(String),
    /// A file that holds counts in place of tags does not have the counts for this request.
    #[error("{0}")]
    Held(String),
    /// Another contradiction.
    #[error("{0}")]
    Invalid(String),
}

impl RequestError {
    /// Returns the error for options that contradict each other, the query, or the run.
    pub fn options(options: &[&str], reason: String) -> Self {
        let options = options.iter().map(|&option| option.into()).collect();
        Self::Options { options, reason }
    }

    /// Returns the error for an option that is not given; `what` says what the option means, with a punctuation mark in
    /// front.
    pub fn missing(option: &str, what: &str) -> Self {
        Self::Missing { option: option.into(), what: what.into() }
    }

    /// Returns the error for two options that are given and exclude each other.
    pub fn excluded(option: &str, other: &str) -> Self {
        Self::Excluded { option: option.into(), other: other.into() }
    }

    /// Returns the error for a value that is not found in the tags, and that the option can state.
    pub fn not_found(option: &str, reason: String) -> Self {
        Self::NotFound { option: option.into(), reason }
    }
}

/// An error from opening a run or updating its store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path does not exist.
    #[error("{path}: no such file or folder", path = path.display())]
    NoSuchPath {
        /// The path that the user gave.
        path: PathBuf,
    },
    /// The folder for a file that is to be written does not exist.
    #[error(
        "{path}: there is no folder {folder}; make it first: mkdir -p {folder}",
        path = path.display(), folder = pasted(folder)
    )]
    NoFolder {
        /// The file to write.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The folder contains no sources.
    #[error(
        "{path}: no tags in this folder; a run is a folder of recordings, one recording, or a store made by `tagq \
         ingest`; `tagq formats` lists the files that are read, of PicoQuant, quTAG, Becker & Hickl, Swabian, text and \
         others",
        path = path.display()
    )]
    NoSources {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the run holds counts in place of tags.
    #[error(
        "{path}: it holds counts and no tags; `tagq micro {run}` has its decay curves and `tagq image {run}` its images; \
         the tags of a measurement in FIFO mode are in the `.spc` file beside it",
        path = path.display(), run = pasted(path)
    )]
    NoTags {
        /// The run.
        path: PathBuf,
    },
    /// Ingest is disabled, and there is no store to answer from.
    #[error(
        "{path}: nothing was ingested yet; run `tagq ingest {run}` first; queries do so if you leave --no-ingest out",
        path = path.display(), run = pasted(path)
    )]
    NothingIngested {
        /// The run.
        path: PathBuf,
    },
    /// The default store of a run is a symbolic link.
    #[error(
        "{store}: a symbolic link, and links to the store of a run are not followed; name the folder \
         that it leads to with --store DIR, or remove the link",
        store = store.display()
    )]
    LinkedStore {
        /// Location of the store.
        store: PathBuf,
    },
    /// Not enough disk space for the tags of the sources.
    #[error(
        "{store}: no room for its new sources: going by how they begin, they take about {needed} MB, and \
         {free} MB are free; make room, or name a folder on another disk with --store DIR",
        store = store.display(), needed = needed.div_ceil(1_000_000), free = free / 1_000_000
    )]
    NoRoom {
        /// Location of the store.
        store: PathBuf,
        /// Estimated bytes that the new rows will take.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// Not enough disk space for columns that are made.
    #[error(
        "{store}: no room for its new columns: they take {needed} MB, and {free} MB are free; make room first",
        store = store.display(), needed = needed.div_ceil(1_000_000), free = free / 1_000_000
    )]
    NoRoomForColumns {
        /// Location of the store.
        store: PathBuf,
        /// Bytes that the new columns take.
        needed: u64,
        /// Free bytes.
        free: u64,
    },
    /// A store would have neither times nor gaps.
    #[error("a store without a column of times needs its gaps: drop one of them, times or gaps")]
    NeitherColumn,
    /// A source has changed since it was ingested.
    #[error(
        "{path}: changed since it was ingested ({what}), and the store would not be what the file \
         says; `tagq ingest --rebuild {run}` ingests all sources again",
        path = path.display(), run = pasted(run)
    )]
    Changed {
        /// The source.
        path: PathBuf,
        /// The run.
        run: PathBuf,
        /// The difference.
        what: String,
    },
    /// The first source of a run is text or a table, and no tick was given.
    #[error(
        "{path}: the tick is missing: the file does not say the unit of its times; add `--tick 1ps`, or \
         what the unit is, once, and the store keeps it{}",
        command.as_ref().map(|command| format!(" (`{command}`)")).unwrap_or_default(),
        path = path.display()
    )]
    NoTick {
        /// The source.
        path: PathBuf,
        /// A command that sets the tick.
        command: Option<String>,
    },
    /// A file cannot state this tick.
    #[error("{needs}; this tick is {}", tick.exact())]
    TickForm {
        /// The tick.
        tick: tagq_store::Tick,
        /// The ticks that such a file can state, in words.
        needs: &'static str,
    },
    /// A source has another tick than the run.
    #[error(
        "{path}: its tick is {}, and that of the run is {}; ingest it into a run of its own",
        stated.exact(), tick.exact(), path = path.display()
    )]
    OtherTick {
        /// The source.
        path: PathBuf,
        /// The tick that its header states.
        stated: tagq_store::Tick,
        /// The tick of the run.
        tick: tagq_store::Tick,
    },
    /// Different columns are requested for a text or a table that was already ingested.
    #[error(
        "{path}: was taken with {}; `tagq ingest --rebuild --columns {given} {run}` \
         ingests all sources again",
        if before.is_empty() { "no such columns".into() } else { format!("the columns {before}") },
        path = path.display(), given = quoted(given), run = pasted(run)
    )]
    Columns {
        /// The source.
        path: PathBuf,
        /// The run.
        run: PathBuf,
        /// The columns in the store.
        before: String,
        /// The requested columns.
        given: String,
    },
    /// The tick of times that became ticks at ingest is to be replaced.
    #[error(
        "the times of {name} were converted to ticks when it was ingested; `tagq ingest --rebuild --tick {} \
         {run}` converts them again",
        given.paste(), run = pasted(run)
    )]
    ConvertedTimes {
        /// The run.
        run: PathBuf,
        /// The name of the source.
        name: String,
        /// The tick that was given.
        given: tagq_store::Tick,
    },
    /// A source was ingested in another format than the one requested now.
    #[error(
        "{path}: was ingested as {before}, and --source-format says {given}; leave --source-format out, or \
         `tagq ingest --rebuild --source-format {given} {run}` ingests all sources again",
        path = path.display(), run = pasted(run)
    )]
    OtherFormat {
        /// The source.
        path: PathBuf,
        /// The run.
        run: PathBuf,
        /// The format in the store.
        before: FormatName,
        /// The requested format.
        given: FormatName,
    },
    /// A source starts before the end of the run.
    #[error(
        "{path}: begins at {begins} ticks, before the end of {before} ({ends} ticks), and a run is in \
         order of time; if a counter began again, {} puts such files 1 s after the end; if the files were recorded \
         at the same time, {} makes one run of them{}; if these are separate measurements, name the files in the query \
         instead of the run",
        command("ingest --rebase", rebase.as_ref()),
        command("merge", merge.as_ref()),
        rebuild.as_ref().map(|_| format!("; if it came late, {} ingests all sources again",
            command("ingest --rebuild", rebuild.as_ref()))).unwrap_or_default(),
        path = path.display()
    )]
    Overlap {
        /// The source.
        path: PathBuf,
        /// The command that puts it after the run; `None` if it is too long to be shown.
        rebase: Option<String>,
        /// The command that merges all sources of the run; `None` if it is too long to be shown.
        merge: Option<String>,
        /// The command that ingests all sources again, if some were ingested before.
        rebuild: Option<String>,
        /// Its first time in ticks.
        begins: i64,
        /// The last time of the run in ticks.
        ends: i64,
        /// The source that ends there.
        before: String,
    },
    /// A source has grown, and a new tag belongs before committed tags.
    #[error("{source}")]
    LateRest {
        /// The source.
        path: PathBuf,
        /// The tag.
        source: Box<tagq_ingest::Error>,
    },
    /// The hash of a source does not match.
    #[error(
        "{path}: damaged: its bytes are not those that were ingested; the store of {run} still holds \
         its tags",
        path = path.display(), run = pasted(run)
    )]
    SourceDamaged {
        /// The source.
        path: PathBuf,
        /// The run.
        run: PathBuf,
    },
    /// The rows of a store are not in time order.
    #[error(
        "{path}: damaged: row {row}, in block {block}, is out of order of time; `tagq verify {store}` \
         looks at all blocks, and `tagq ingest --rebuild RUN` rebuilds the store from its sources",
        path = path.display(), store = pasted(path.parent().unwrap_or(path))
    )]
    Unordered {
        /// The column of times.
        path: PathBuf,
        /// The row.
        row: u64,
        /// The block of 65,536 rows that it lies in.
        block: u64,
    },
    /// A kept result is damaged: a cached one, a view, or a partial one.
    #[error(
        "{path}: damaged; nothing is counted from it: it is made again when it is needed, and may be removed",
        path = path.display()
    )]
    KeptDamaged {
        /// The file, or the folder of the view.
        path: PathBuf,
    },
    /// A store cannot be rebuilt from the existing sources.
    #[error(
        "{store}: not rebuilt: its source {name} is gone, and its {rows} rows would be lost; put the \
         file back first, or remove the store yourself",
        store = store.display()
    )]
    SourceGone {
        /// The store.
        store: PathBuf,
        /// The source.
        name: String,
        /// Its rows in the store.
        rows: u64,
    },
    /// The store cannot be created at its location.
    #[error(
        "{store}: cannot make the store here ({reason}); name a folder for it with --store DIR",
        store = store.display()
    )]
    NotWritable {
        /// Location of the store.
        store: PathBuf,
        /// The error message of the system.
        reason: String,
    },
    /// A stream cannot be buffered in a file.
    #[error(
        "cannot set standard input aside in {folder}: {source}; it needs a folder with room for all \
         of it: the one around the store, else the one that TMPDIR names",
        folder = folder.display()
    )]
    Aside {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The name of an output file selects no format.
    #[error(
        "{path}: its name does not say what to write; it ends with .tags, .tsv, .csv, .ptu or .swabian, \
         or with one of these and .zst or .gz, or with .h5, .npz, .arrow or .parquet, or is `-` for text to standard output",
        path = path.display()
    )]
    NoForm {
        /// The file.
        path: PathBuf,
    },
    /// An output file already exists.
    #[error("{path}: is there already; --force replaces it if it is a file", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The location of a new store is already taken.
    #[error("{path}: is there already; name a folder that is not there yet", path = path.display())]
    StoreThere {
        /// The folder.
        path: PathBuf,
    },
    /// An output file would lie in a store.
    #[error(
        "{path}: lies in the store {store}, whose files only tagq itself writes; write it elsewhere",
        path = path.display(), store = store.display()
    )]
    InStore {
        /// The file.
        path: PathBuf,
        /// The folder of the store.
        store: PathBuf,
    },
    /// An output would replace a file that a store was made from.
    #[error(
        "{path}: is a source of the store {store}, and never replaced; write to another name, or remove the store first",
        path = path.display(), store = store.display()
    )]
    OntoSource {
        /// The file.
        path: PathBuf,
        /// The folder of the store.
        store: PathBuf,
    },
    /// An output file is also an input.
    #[error("{path}: is a file to read; write to another name", path = path.display())]
    OntoItself {
        /// The file.
        path: PathBuf,
    },
    /// The output of a whole folder would be written into that folder.
    #[error(
        "{path}: lies in the folder that is read, and would be one of its sources; write it elsewhere",
        path = path.display()
    )]
    IntoItsRun {
        /// The file.
        path: PathBuf,
    },
    /// An operation of the operating system failed.
    #[error("{path}: cannot {action}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        action: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The setup is invalid.
    #[error("{path}: no setup of tagq: {reason}", path = path.display())]
    Setup {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// No channel has this name.
    #[error("no channel is called `{name}`{}", other_names(alike, known))]
    NoSuchChannel {
        /// The name.
        name: String,
        /// Similar names.
        alike: Vec<String>,
        /// All names.
        known: Vec<String>,
    },
    /// A derived channel is named, and the run has no tags of it.
    #[error(
        "`{name}` is a derived channel of the setup; `tagq derive RUN -o NEW.tagq` makes a run that has its tags"
    )]
    DerivedChannel {
        /// The name.
        name: String,
    },
    /// A definition of a channel or a gate is invalid.
    #[error(transparent)]
    View(Box<tagq_derived::Error>),
    /// The request is invalid.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// A source cannot be read.
    #[error(transparent)]
    Files(#[from] tagq_ingest::Error),
    /// The store returned an error.
    #[error(transparent)]
    Store(#[from] tagq_store::Error),
    /// A duration is invalid for the run.
    #[error(transparent)]
    Unit(#[from] tagq_store::UnitError),
    /// The query is invalid.
    #[error(transparent)]
    Query(#[from] tagq_query::Error),
}

/// Implements `From` of errors of lower layers for the error of a layer, of which one variant holds them.
#[macro_export]
#[doc(hidden)]
macro_rules! from_lower_errors {
    ($error:ident::$variant:ident: $($lower:ty),*) => {
        $(impl From<$lower> for $error {
            fn from(error: $lower) -> Self {
                Self::$variant(error.into())
            }
        })*
    };
}

impl From<tagq_derived::Error> for Error {
    fn from(error: tagq_derived::Error) -> Self {
        Self::View(Box::new(error))
    }
}

impl Error {
    /// Replaces the path `old` of a file in the error with `new`, the path that the user knows.
    pub(crate) fn renamed(mut self, old: &Path, new: &Path) -> Self {
        match &mut self {
            Self::LateRest { path, .. }
            | Self::Changed { path, .. }
            | Self::NoTick { path, .. }
            | Self::Overlap { path, .. }
            | Self::OtherTick { path, .. }
            | Self::Columns { path, .. }
            | Self::OtherFormat { path, .. }
            | Self::Io { path, .. }
                if path == old =>
            {
                new.clone_into(path);
            }
            _ => {}
        }
        match self {
            Self::Files(error) => Self::Files(error.renamed(old, new)),
            Self::LateRest { path, source } => {
                Self::LateRest { path, source: Box::new(source.renamed(old, new)) }
            }
            error => error,
        }
    }

    /// Whether the work was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(
            self,
            Self::Files(tagq_ingest::Error::Cancelled) | Self::Query(tagq_query::Error::Cancelled)
        )
    }

    /// Whether another process is writing the store.
    pub fn is_busy(&self) -> bool {
        matches!(
            self,
            Self::Store(tagq_store::Error::Busy { .. })
                | Self::Files(tagq_ingest::Error::Store(tagq_store::Error::Busy { .. }))
        )
    }

    /// Whether the sources do not say their tick.
    pub fn is_without_tick(&self) -> bool {
        matches!(self, Self::NoTick { .. } | Self::Files(tagq_ingest::Error::NoTick { .. }))
    }

    /// Whether the text names options in backticks: `live_time`. Other texts have words of files in them.
    pub fn names_options(&self) -> bool {
        matches!(self, Self::Request(_) | Self::Query(_))
    }

    /// Returns the exit code of a program that ends with this error: 1 failure, 2 invalid request, 3
    /// damaged data, 4 another process is writing.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::SourceDamaged { .. }
            | Self::Unordered { .. }
            | Self::KeptDamaged { .. }
            | Self::Query(
                tagq_query::Error::Unordered { .. } | tagq_query::Error::Damaged { .. },
            ) => 3,
            Self::Unit(_)
            | Self::Query(_)
            | Self::Setup { .. }
            | Self::NoSuchChannel { .. }
            | Self::NoTags { .. }
            | Self::DerivedChannel { .. }
            | Self::View(_)
            | Self::Request(_)
            | Self::Columns { .. }
            | Self::NoTick { .. }
            | Self::OtherTick { .. }
            | Self::NoForm { .. }
            | Self::ConvertedTimes { .. }
            | Self::NeitherColumn
            | Self::Files(tagq_ingest::Error::Columns { .. } | tagq_ingest::Error::NoTick { .. }) => {
                2
            }
            Self::Store(error) | Self::Files(tagq_ingest::Error::Store(error)) => store_code(error),
            Self::Files(error) if error.is_damage() => 3,
            _ => 1,
        }
    }
}

/// Suggests other names in place of an unknown one.
fn other_names(alike: &[String], known: &[String]) -> String {
    match (alike, known) {
        (_, []) => "; names are given by `tagq.toml` in the run's folder, or --setup FILE".into(),
        ([], known) => format!("; the names are {}", known.join(", ")),
        (alike, _) => format!("; did you mean {}?", alike.join(" or ")),
    }
}

fn store_code(error: &tagq_store::Error) -> u8 {
    match error {
        tagq_store::Error::Busy { .. } => 4,
        tagq_store::Error::TickGiven { .. } => 2,
        error if error.is_damage() => 3,
        _ => 1,
    }
}

/// Returns a command in quotes; one that is too long by its name.
fn command(name: &str, command: Option<&String>) -> String {
    command.map_or_else(
        || format!("`tagq {name}` with the same files"),
        |command| format!("`{command}`"),
    )
}
