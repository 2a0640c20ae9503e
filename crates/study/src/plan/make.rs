//! Making a plan: the question is settled and resolved in its runs, and each run is divided.
//!
//! Cuts at 100 and 200 make the parts up to 100, from 100 to 200, and from 200 on: together they have every time
//! exactly once. A query whose counts do not add up over parts is refused here, before anything is counted.

use tagq_ask::{Question, requests::QueryContext, requests::Request, requests::Seams};
use tagq_run::{RequestError, Run, Silent};

use super::{
    cuts::{Division, cuts},
    file::{Part, Plan, PlannedBins, PlannedRun},
};

use crate::error::Error;

/// Returns the options that repeat the question for bins and blocks of time. A plan is checked without them, because
/// whether counts add up does not depend on them.
fn per_time(query: &str) -> &'static [&'static str] {
    match query {
        "coincidences" | "rates" => &["errors", "bin"],
        "micro" => &["trace"],
        _ => &["errors", "covariance"],
    }
}

impl Plan {
    /// Divides a question over `runs`, at least one part for each run. The counts of
    /// all runs are added up.
    ///
    /// # Errors
    /// Errors of the request; [`tagq_run::Error::Query`] with [`tagq_query::Error::NoPartial`] for a query that cannot be
    /// counted in parts.
    pub fn make(
        question: &Question,
        runs: &[(&Run, &QueryContext<'_>)],
        division: Division,
    ) -> Result<Self, Error> {
        let question = question.settled(runs)?;
        let (query, request) = (question.of().name, question.request()?);
        if request.divided_by().is_some() {
            return Err(RequestError::options(
                &["by"],
                "`by` is not evaluated in the parts of a plan; ask the run itself".into(),
            )
            .into());
        }
        if runs.iter().any(|(_, context)| request.needs_views(context.setup)) {
            return Err(RequestError::options(&["derived", "gates"], 
                "derived channels and gates are not evaluated in the parts of a plan; plan the store that \
                 `tagq derive RUN -o NEW.tagq` makes"
                    .into(),
            ).into());
        }
        let mut plain = question.options().clone();
        plain.retain(|name, _| !per_time(query).contains(&name.as_str()));
        let silent: Vec<QueryContext<'_>> = runs
            .iter()
            .map(|(_, context)| QueryContext { progress: &Silent, ..**context })
            .collect();
        let in_silence: Vec<(&Run, &QueryContext<'_>)> =
            runs.iter().map(|&(run, _)| run).zip(&silent).collect();
        let bins = Request::of_options(query, plain)?.check_parts(runs, &in_silence)?;
        let seams = request.check_work(runs, bins.as_ref())?;
        let tags: u64 = runs.iter().map(|(run, _)| run.store().manifest().rows).sum();
        division.check(tags)?;
        let (mut planned, mut intervals) = (Vec::new(), Vec::new());
        for (number, (&(run, context), Seams { gap, reach })) in runs.iter().zip(seams).enumerate()
        {
            let manifest = run.store().manifest();
            let rows = division.rows(manifest.rows, tags);
            let cuts = run.count_as(request.selection().join, None, |recording| {
                Ok(cuts(recording, &rows, gap))
            })?;
            if gap.is_some() && cuts.len() < rows.len() {
                context.progress.note(&format!(
                    "{}: {} parts instead of {}: a part begins after a gap between tags that is longer than \
                     the window, and there are no more",
                    run.path().display(),
                    cuts.len() + 1,
                    rows.len() + 1
                ));
            }
            let begins = [None].into_iter().chain(cuts.iter().copied().map(Some));
            let ends = cuts.iter().copied().map(Some).chain([None]);
            intervals.extend(begins.zip(ends).map(|(from, to)| Part { run: number, from, to }));
            let light = run.kept_light_note();
            planned.push(PlannedRun { reach, light, ..PlannedRun::of(run, context.setup)? });
        }
        let bins = bins.as_ref().map(|bins| {
            PlannedBins::of(bins).ok_or_else(|| {
                RequestError::not_found(
                    "pulsed",
                    "a plan has no period that is found in the tags; give it: `pulsed` 12.5ns"
                        .into(),
                )
            })
        });
        Self::new(query, question.options().clone(), bins.transpose()?, planned, intervals)
    }
}
