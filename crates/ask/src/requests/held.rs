//! Requests of a run whose file holds counts in place of tags: the labels that are asked, and tables to find their
//! places.

use tagq_ingest::HeldCounts;
use tagq_query::Bins;
use tagq_run::{RequestError, Run};

use crate::error::Error;

/// Returns the labels that are counted: of all curves or of those that are named.
pub(super) fn labels(
    run: &Run,
    named: Option<&[u16]>,
    labels: impl Iterator<Item = u16>,
) -> Result<Vec<u16>, Error> {
    let all: Vec<u16> = labels.collect();
    match named.map(|named| (named, named.iter().find(|label| !all.contains(label)))) {
        None => Ok(all),
        Some((named, None)) => Ok(named.to_vec()),
        Some((_, Some(label))) => Err(RequestError::Held(format!(
            "channel {label} is not in {}: it holds {}",
            run.path().display(),
            match &all[..] {
                [only] => format!("channel {only} alone"),
                [first, .., last] => format!("channels {first} to {last}"),
                [] => "none of this kind".into(),
            }
        ))
        .into()),
    }
}

/// Tables for a fast search: the place of each label among those that are asked, and the bin of each micro time.
pub(super) struct CountPlaces {
    of_label: Vec<Option<usize>>,
    /// The bin of each micro time.
    pub bins: Vec<Option<usize>>,
}

impl CountPlaces {
    pub(super) fn new(labels: &[u16], bins: &Bins, counts: &HeldCounts) -> Self {
        let largest = labels.iter().max().map_or(0, |&largest| usize::from(largest));
        let mut of_label = vec![None; largest + 1];
        for (place, &label) in labels.iter().enumerate() {
            of_label[usize::from(label)] = Some(place);
        }
        Self {
            of_label,
            bins: (0..counts.bins()).map(|micro| bins.holding(micro.into())).collect(),
        }
    }

    /// Returns the place of a label.
    pub(super) fn of(&self, label: u16) -> Option<usize> {
        *self.of_label.get(usize::from(label))?
    }
}
