//! `tagq serve`: where it answers, and whom.

use std::net::SocketAddr;

use clap::value_parser;
use tagq::{
    HOLD_BACK,
    store::{Duration, UnitError},
};

use super::options::{QueryArgs, SetupArgs};
use crate::Usage;

/// Show runs in a browser while they are recorded, and answer queries over HTTP
///
/// New files and new parts of files are ingested as by `tagq watch`. The page at the printed address shows rates,
/// coincidences, g2 and micro times live. Programs of this computer ask by JSON: GET /api/run, /api/info, /api/kinds,
/// /api/watch, /api/openapi.json, POST /api/query, /api/command ("Queries over HTTP" in the book). Another address than one of this computer
/// needs the token that is printed at the start. Ctrl-C ends the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq serve run/ --open
  tagq serve run/ --bind 0.0.0.0:8417 --allow-host lab.example.org")]
pub(crate) struct ServeArgs {
    /// The address and port to answer at; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8417")]
    pub bind: SocketAddr,
    /// Open the page in the browser of this computer
    #[arg(long)]
    pub open: bool,
    /// A name by which a proxy or another computer reaches the server, besides localhost and its address; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Answer below this path, such as /lab, for a proxy
    #[arg(long, value_name = "PATH", default_value = "")]
    pub base_path: String,
    /// Need the token also at an address of this computer, which all its users reach
    #[arg(long)]
    pub token: bool,
    /// Queries that are counted at a time; others are refused until one is done
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub queries: usize,
    /// Time after which a query is stopped
    #[arg(long, value_name = "D", default_value = "60s")]
    time_limit: Duration,
    /// Memory of one answer or event at most, in MiB; larger ones are refused
    #[arg(long, value_name = "MIB", default_value_t = 128, value_parser = value_parser!(u32).range(1..))]
    answer_limit: u32,
    /// Memory of all answers that are not sent yet, in MiB, and as much of all events; above it, queries are refused
    #[arg(long, value_name = "MIB", default_value_t = 512, value_parser = value_parser!(u32).range(1..))]
    unsent_limit: u32,
    /// Hold back the newest D of a growing file, because recorders may hand over tags late [default: 10ms]
    #[arg(long, value_name = "D")]
    hold_back: Option<Duration>,
    #[command(flatten)]
    pub setup: SetupArgs,
    #[command(flatten)]
    pub query: QueryArgs,
}

impl ServeArgs {
    /// Returns the time after which a query is stopped.
    pub(crate) fn time_limit(&self) -> Result<std::time::Duration, UnitError> {
        self.time_limit.on_the_clock()
    }

    /// Returns the bytes of one answer, and of all that are not sent, at most.
    pub(crate) fn bytes(&self) -> Result<(usize, usize), Usage> {
        let (answer, unsent) = (self.answer_limit, self.unsent_limit);
        // A table, the text of its event, and the event before.
        if answer.saturating_mul(3) > unsent {
            let reason = format!(
                "`--unsent-limit {unsent}` has no room for three times `--answer-limit {answer}`; raise the first or lower the second"
            );
            return Err(Usage(reason));
        }
        let bytes = |mib: u32| (mib as usize).saturating_mul(1 << 20);
        Ok((bytes(answer), bytes(unsent)))
    }

    /// Returns the hold-back of a growing file.
    pub(crate) fn hold_back(&self) -> Result<Duration, UnitError> {
        self.hold_back.clone().map_or_else(|| HOLD_BACK.parse(), Ok)
    }
}
