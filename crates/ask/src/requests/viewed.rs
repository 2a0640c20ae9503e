//! Requests that name derived channels or gates: they are counted in a view of each run (docs/queries.md, section
//! "Derived channels and gates").
//!
//! Coincidences of `Pair` and 3 count a view with these two channels; rates without channels count one with all
//! channels of the run and those that the request derives. A derived channel has no delay of its own: its tags are made
//! from delayed times.

use std::sync::Arc;

use tagq_query::TimeInterval;
use tagq_run::{
    Channel, Definition, Derivation, RequestError, Run, Setup, View, intervals_by, view_of,
};

use super::{
    context::QueryContext,
    kind::OfRun,
    request::Request,
    selection::{DelayAsked, NO_PAIRS, Selection},
};

use crate::error::Error;

/// A run as a request counts it.
pub(super) struct ViewedRun<'a> {
    of: OfRun<'a>,
    /// A view of it, with a setup that has the names of derived channels; `None` for the run itself.
    view: Option<(Run, Setup)>,
    /// The intervals that its time is divided into.
    intervals: Option<Arc<[TimeInterval]>>,
}

impl ViewedRun<'_> {
    /// Returns the run that is counted.
    pub(super) fn run(&self) -> &Run {
        self.view.as_ref().map_or(self.of.0, |(run, _)| run)
    }

    /// Returns the context in which it is counted.
    pub(super) fn context(&self) -> QueryContext<'_> {
        let context = self.of.1;
        let setup = self.view.as_ref().map_or(context.setup, |(_, setup)| setup);
        QueryContext { setup, intervals: self.intervals.as_ref(), ..*context }
    }
}

impl Request {
    /// Returns the view of a run that it counts, or the run itself.
    pub(super) fn viewed<'a>(&self, of: OfRun<'a>) -> Result<ViewedRun<'a>, Error> {
        let (run, context) = of;
        let (setup, threads) = (context.setup, context.pool.current_num_threads());
        if self.divided_by().is_some() || self.needs_views(setup) {
            run.check_tags()?;
        }
        let intervals = self.divided_by().map(|by| self.intervals(of, by)).transpose()?;
        if run.is_derived() || !self.needs_views(setup) {
            return Ok(ViewedRun { of, view: None, intervals });
        }
        let derivation = self.derivation(run, setup)?;
        let View { run: view, derived, without_statistics } =
            view_of(run, setup, &derivation, threads, context.progress)?;
        if !without_statistics.is_empty() && self.has_formula_errors() {
            context.progress.note(&format!(
                "{}: its tags do not scatter as those of light, for which the errors are; with `errors` blocks they come from \
                 the data",
                without_statistics.join(", ")
            ));
        }
        let mut setup = setup.clone();
        setup.names.extend(derived);
        setup.names.sort_unstable();
        Ok(ViewedRun { of, view: Some((view, setup)), intervals })
    }

    /// Returns the intervals that divide the time of a run.
    fn intervals(&self, (run, context): OfRun<'_>, by: &str) -> Result<Arc<[TimeInterval]>, Error> {
        let selection = self.selection();
        let threads = context.pool.current_num_threads();
        let (mut setup, mut of) =
            (context.setup.clone(), selection.derivation(selection.derive.clone())?);
        if run.is_derived() {
            // It has them as channels of its own.
            (setup.derived, of.derived) = (Vec::new(), Vec::new());
        }
        Ok(intervals_by(run, &setup, &of, by, (threads, context.progress))?.into())
    }

    /// Asks the views of runs that it counts, or the runs themselves.
    pub(super) fn in_views<T>(
        &self,
        runs: &[OfRun<'_>],
        ask: impl FnOnce(&[OfRun<'_>]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let viewed = runs.iter().map(|&of| self.viewed(of)).collect::<Result<Vec<_>, _>>()?;
        let contexts: Vec<QueryContext<'_>> = viewed.iter().map(ViewedRun::context).collect();
        let runs: Vec<OfRun<'_>> = viewed.iter().map(ViewedRun::run).zip(&contexts).collect();
        ask(&runs)
    }

    /// Whether it names derived channels or gates.
    pub fn needs_views(&self, setup: &Setup) -> bool {
        let Selection { derive, gates, .. } = self.selection();
        !derive.is_empty() || !gates.is_empty() || self.derived_in(setup).next().is_some()
    }

    /// Checks that all channels that it names are known. They may be derived.
    ///
    /// # Errors
    /// [`tagq_run::Error::NoSuchChannel`].
    pub fn check_channels(&self, setup: &Setup) -> Result<(), Error> {
        let mut own = self.named().into_iter().filter(|channel| !self.is_derived(channel, setup));
        Ok(own.try_for_each(|channel| setup.channel(channel).map(drop))?)
    }

    fn is_derived(&self, channel: &Channel, setup: &Setup) -> bool {
        let Channel::Name(name) = channel else { return false };
        let is_it = |(other, _): &Definition| other == name;
        setup.derived.iter().chain(&self.selection().derive).any(is_it)
    }

    /// Returns the derived channels that it names.
    fn derived_in(&self, setup: &Setup) -> impl Iterator<Item = &Channel> {
        self.named().into_iter().filter(|channel| self.is_derived(channel, setup))
    }

    /// Returns the derivation of the rows that it counts: of the channels that it names, or of all channels of the run and
    /// those that it derives.
    fn derivation(&self, run: &Run, setup: &Setup) -> Result<Derivation, Error> {
        let selection = self.selection();
        for delay in &selection.delays {
            if let DelayAsked::Of(channel @ Channel::Name(name), _) = delay
                && self.is_derived(channel, setup)
            {
                return Err(RequestError::options(&["delays"], format!(
                    "`delays`: `{name}` is derived, and has no delay of its own; delay the channels that it is made from"
                )).into());
            }
        }
        let channels = if self.is_of_named() {
            self.counted().into_iter().cloned().collect()
        } else {
            let of_run = run.store().manifest().channels.iter();
            let own = selection.derive.iter().map(|(name, _)| Channel::Name(name.clone()));
            let named = self.derived_in(setup).cloned();
            of_run.map(|of| Channel::Number(of.channel)).chain(own).chain(named).collect()
        };
        let derived = selection.derive.clone();
        Ok(Derivation { channels, ..selection.derivation(derived)? })
    }
}

impl Selection {
    /// Returns the derivation of its channels, delays and gates, with these definitions.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] for delays that are to be found.
    pub fn derivation(&self, derived: Vec<Definition>) -> Result<Derivation, Error> {
        let delay = |delay: &DelayAsked| match delay {
            DelayAsked::Of(channel, delay) => Ok((channel.clone(), delay.clone())),
            DelayAsked::Auto => Err(RequestError::options(&["delays"], NO_PAIRS.into())),
        };
        Ok(Derivation {
            derived,
            gates: self.gates.clone(),
            channels: self.channels.clone(),
            delays: self.delays.iter().map(delay).collect::<Result<_, _>>()?,
            join: self.join,
        })
    }
}
