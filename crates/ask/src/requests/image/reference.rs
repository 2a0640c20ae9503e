//! The response of the instrument from a reference: a dye of known lifetime, measured with the same instrument.
//!
//! Its phasor is divided by that of an exponential of its lifetime. An image of channels 1 and 2 takes the photons of channels 1
//! and 2 of the reference, because each detector has a delay of its own.

use tagq_fit::{Data, Error as FitError, Noise, lifetimes::Reference};
use tagq_query::{Bins, Image as Query};
use tagq_run::{Channel, RequestError};

use super::{
    super::{
        instrument::{ResponseAsked, response_of_text},
        kind::Resolved,
    },
    lifetime::ResponseCounts,
    request::{Image, LifetimeMethod},
};
use crate::{answer::Answer, error::Error};

impl Image {
    /// Returns the response by the reference that is asked for, at a harmonic of pulses with this period in seconds.
    pub(super) fn reference(
        &self,
        all: &[Resolved<'_, Query>],
        bins: &Bins,
        pooled: &Data,
        (period, harmonic): (f64, u32),
    ) -> Result<Option<(Reference, f64)>, Error> {
        let Some(lifetime) = self.reference_lifetime_of(&all[0])? else { return Ok(None) };
        let photons = all[0].query.photons.iter().map(|&of| Channel::Number(of));
        let decay = match self.response_counts(all, bins, photons.collect())? {
            ResponseCounts::Text(path) => response_of_text(path, pooled)?,
            ResponseCounts::Counted(answer) => decay_of(&answer, pooled),
        };
        let stop = || all[0].context.progress.is_cancelled();
        match Reference::new(&decay, lifetime, (period, harmonic), &stop) {
            Ok(reference) => Ok(Some((reference, lifetime))),
            Err(FitError::Cancelled) => Err(tagq_query::Error::Cancelled.into()),
            Err(error) => {
                let reason = format!("the decay of the reference is not fitted: {error}");
                Err(RequestError::options(&["irf"], reason).into())
            }
        }
    }

    /// Returns the lifetime of the reference in seconds; checks the options that go with it.
    fn reference_lifetime_of(&self, resolved: &Resolved<'_, Query>) -> Result<Option<f64>, Error> {
        let Some(lifetime) = &self.reference_lifetime else { return Ok(None) };
        if self.lifetime != Some(LifetimeMethod::Phasor) {
            let reason = "`reference_lifetime` calibrates phasors; ask for `lifetime` phasor";
            let options = &["reference_lifetime", "lifetime"];
            return Err(RequestError::options(options, reason.into()).into());
        }
        if !matches!(self.irf, Some(ResponseAsked::At(_))) && self.irf_channel.is_none() {
            let reason = "`reference_lifetime` is that of a dye; name its run with `irf`";
            let options = &["reference_lifetime", "irf"];
            return Err(RequestError::options(options, reason.into()).into());
        }
        let seconds = lifetime.ticks(resolved.tick())? * resolved.tick().seconds();
        if seconds <= 0.0 {
            let reason = "`reference_lifetime` is longer than zero".into();
            return Err(RequestError::options(&["reference_lifetime"], reason).into());
        }
        Ok(Some(seconds))
    }
}

/// Returns the counts of all channels of an answer together, in the bins of `like`.
fn decay_of(answer: &Answer, like: &Data) -> Data {
    let mut values = vec![0.0; like.values.len()];
    let counts = answer.rows.numbers("count");
    for of_channel in counts.chunks(values.len()) {
        values.iter_mut().zip(of_channel).for_each(|(sum, count)| *sum += count.unwrap_or(0.0));
    }
    Data { bins: like.bins.clone(), values, noise: Noise::Poisson, exposure: None }
}
