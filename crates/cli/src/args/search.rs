//! The arguments of a search besides its options.

use std::path::PathBuf;

use tagq::{is_search, requests::RequestType};

use super::{
    options::{OutputArgs, QueryArgs, SetupArgs},
    plots::PlotArgs,
    questions::QuestionArgs,
};

/// How a search is answered.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Write what is found into this tagq.toml and keep its other content
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub plot: PlotArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub query: QueryArgs,
}

impl QuestionArgs for SearchArgs {
    fn query(&mut self) -> &mut QueryArgs {
        &mut self.query
    }

    fn takes(of: &RequestType) -> bool {
        is_search(of)
    }
}
