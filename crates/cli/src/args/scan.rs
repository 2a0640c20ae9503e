//! `tagq scan`: a query for several values of an option, or of runs that differ in a setting.

use tagq::{
    Error, Question, SettingOf, SettingScan,
    requests::{OptionValues, RequestType},
};

use super::{
    answer::AnswerArgs,
    options::QueryArgs,
    questions::{QuestionArgs, QuestionCommand},
};

/// Ask a query for several values of an option, or runs that differ in a setting
///
/// An option has several values as FIRST..LAST:N, N of them at equal distances, both ends included: `--window 0.5ns..10ns:20`,
/// `--delay 15=-10ns..10ns:41`. Runs have a setting with --x. The answer is one table, and its figure shows the counts against the
/// value (--quantity for others).
#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "QUERY", subcommand_help_heading = "Queries")]
#[command(after_help = "Examples:
  tagq scan coincidences 3,15 --window 0.5ns..10ns:20 run/
  tagq scan coincidences 3,15 --window 2ns --delay 15=-10ns..10ns:41 run/ --plot")]
pub(crate) struct ScanCommand {
    #[command(subcommand)]
    pub query: QuestionCommand<ScanArgs>,
}

/// What a scan takes besides its query.
#[derive(Debug, clap::Args)]
pub(crate) struct ScanArgs {
    /// The setting of each run: the number in a group of a pattern that fits its path, 'phase=([\d.]+)', or a column of
    /// settings.csv beside it, whose first column has names of runs
    #[arg(long, value_name = "X", help_heading = "Scan")]
    pub x: Option<SettingOf>,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

impl QuestionArgs for ScanArgs {
    const COMMAND: &'static str = "tagq scan";
    const EXAMPLE: &'static str = "";

    fn query(&mut self) -> &mut QueryArgs {
        &mut self.answer.query
    }

    fn takes(of: &RequestType) -> bool {
        SettingScan::takes(of)
    }

    fn question(name: &str, options: &OptionValues) -> Result<Question, Error> {
        SettingScan::of_options(name, options.clone(), None)?.first()
    }
}
