//! Arguments that every request takes besides its own: output, files and threads.

use super::{
    options::{OUTPUT, OutputArgs, QueryArgs, SELECTION, SetupArgs},
    plots::PlotArgs,
};

/// How a request is answered.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Several runs as one answer: their counts are added up
    #[arg(long, help_heading = SELECTION)]
    pub sum: bool,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    /// List the tuples themselves, in order of time: rows, recorded times, differences
    #[arg(long, conflicts_with_all = ["plot", "explain"], help_heading = OUTPUT)]
    pub list: bool,
    /// State what would be read, and do not count
    #[arg(long, conflicts_with = "plot", help_heading = OUTPUT)]
    pub explain: bool,
    #[command(flatten)]
    pub query: QueryArgs,
}

impl AnswerArgs {
    /// Returns the arguments that select the tags, other than the options of the request and the runs.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let Self { sum, setup, query, .. } = self;
        let path = |path: &std::path::PathBuf| path.display().to_string();
        let flags = [
            (*sum, "--sum"),
            (setup.no_setup, "--no-setup"),
            (query.store.recursive, "--recursive"),
        ];
        let values = [
            ("--setup", setup.setup.as_ref().map(path)),
            ("--tick", query.store.tick.map(tagq::store::Tick::paste)),
            ("--store", query.store.store.as_ref().map(path)),
        ];
        let flags = flags.into_iter().filter(|(is_given, _)| *is_given);
        let flags = flags.map(|(_, flag)| flag.to_owned());
        let values = values.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        flags.chain(values.flatten()).collect()
    }
}
