//! Histograms around the peaks that were found, to be drawn.

use serde_json::json;
use tagq_run::Run;

use crate::{
    answer::Answer,
    cell::Cell,
    error::Error,
    requests::{OptionValues, QueryContext, Request},
    search::Searched,
};

/// Bins on each side of a peak.
const BINS: i64 = 40;
/// How far a histogram reaches on each side of its peak, in widths of the peak.
const WIDTHS: f64 = 10.0;

impl Searched {
    /// Returns a histogram around the peak of each pair that has one, in the recorded times.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn histograms(&self, run: &Run, context: &QueryContext<'_>) -> Result<Vec<Answer>, Error> {
        let rows = &self.answer.rows;
        let (Some(pairs), Some(peaks)) = (rows.get("channels"), rows.get("peak_ticks")) else {
            return Ok(Vec::new());
        };
        let tick_s = run.store().manifest().tick.seconds();
        let mut answers = Vec::new();
        let each = pairs.cells.iter().zip(peaks.cells.iter()).zip(rows.numbers("width_s"));
        for ((pair, peak), width) in each {
            let (&[start, stop], Cell::Integer(peak)) = (&pair.group()[..], peak) else { continue };
            #[expect(clippy::cast_possible_truncation, reason = "within the searched range")]
            let reach = (WIDTHS * width.unwrap_or(0.0) / tick_s).ceil() as i64;
            let bin = (reach / BINS).max(1);
            let (low, high) = (peak - BINS * bin, peak + BINS * bin);
            // Those of the setup are not applied.
            let delayed = context.setup.delays.iter().map(|(channel, _)| *channel);
            let delays = delayed.filter(|channel| [start, stop].contains(channel));
            let options = json!({
                "start": start,
                "stop": stop,
                "range": format!("{low}t..{high}t"),
                "bin": format!("{bin}t"),
                "delays": delays.map(|channel| json!([channel, "0t"])).collect::<Vec<_>>(),
            });
            let serde_json::Value::Object(options) = options else { continue };
            let options: OptionValues = options;
            answers.push(Request::of_options("histogram", options)?.ask(run, context)?);
        }
        Ok(answers)
    }
}
