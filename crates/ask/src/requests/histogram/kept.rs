//! Chosen bins that stay while a run grows.
//!
//! Bins of 10 ticks up to 640 on both sides stay for a structure up to 150 ticks or 300, and are replaced when it
//! reaches 3,000. Bins of a saved answer stay in any case, because they are counted again to be compared.

use std::{
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use tagq_query::Bins;

use crate::requests::coarse::{Chosen, Structure};

/// Bins are replaced if new ones show a range that is shorter by this factor.
const RANGES: i128 = 8;
/// The fewest bins of a structure.
const BINS: f64 = 3.0;

/// The bins that a request has chosen, by the path of the run. Requests that are copies of each other share them.
#[derive(Clone, Default)]
pub struct KeptBins(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    runs: HashMap<PathBuf, Bins>,
    /// The bins of a saved answer.
    stated: Option<Bins>,
}

/// Prints no bins: requests that differ only in their kept bins are the same request.
impl fmt::Debug for KeptBins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeptBins")
    }
}

impl KeptBins {
    /// Returns the bins that were chosen for this run before, if they show the structure that its tags have now, else the new
    /// ones.
    pub(super) fn of(&self, run: &Path, new: Chosen) -> Bins {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stated) = &kept.stated {
            return stated.clone();
        }
        if let Some(old) = kept.runs.get(run)
            && new.structure.is_none_or(|structure| shows(old, structure, &new.bins))
        {
            return old.clone();
        }
        kept.runs.insert(run.to_owned(), new.bins.clone());
        new.bins
    }

    /// Keeps the bins of an answer, from its `query`.
    pub(super) fn state(&self, query: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stated = chosen(query);
    }
}

/// Returns the bins that were chosen, if any, from the `query` of an answer.
fn chosen(query: &Value) -> Option<Bins> {
    query.get("chosen")?.as_array().filter(|chosen| !chosen.is_empty())?;
    let range = query.get("range_ticks")?;
    let [low, high] = [0, 1].map(|end| range.get(end).and_then(Value::as_i64));
    Bins::linear(low?, high?, query.get("bin_ticks")?.as_i64()?).ok()
}

/// Whether bins show a structure for which `new` ones would be chosen.
fn shows(bins: &Bins, structure: Structure, new: &Bins) -> bool {
    let range = |bins: &Bins| i128::from(bins.edge(bins.count())) - i128::from(bins.edge(0));
    let width = |bins: &Bins| bins.edge(1).saturating_sub(bins.edge(0)) as f64;
    let widest = ((structure.high - structure.low) / BINS).max(width(new));
    width(bins) <= widest
        && bins.edge(0) as f64 <= structure.low
        && bins.edge(bins.count()) as f64 >= structure.high
        && range(bins) <= RANGES * range(new)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bins_stay_while_they_show_the_structure() {
        let kept = KeptBins::default();
        let of = |aside: i64, width: i64, structure: Option<[f64; 2]>| {
            let bins = Bins::centred(aside, width).unwrap();
            let structure = structure.map(|[low, high]| Structure { low, high });
            let bins = kept.of(Path::new("run"), Chosen { bins, structure });
            (bins.edge(1) - bins.edge(0), bins.count())
        };
        assert_eq!(of(6_400, 100, None), (100, 129));
        assert_eq!(of(3_200, 50, None), (100, 129), "more tags, and still no structure");
        assert_eq!(of(640, 10, Some([-150.0, 150.0])), (10, 129), "ten times shorter");
        assert_eq!(of(1_280, 20, Some([-300.0, 300.0])), (10, 129), "it is within them");
        assert_eq!(of(640, 10, None), (10, 129), "it is not lost");
        assert_eq!(of(12_800, 200, Some([-3_000.0, 3_000.0])), (200, 129), "it is beyond them");
        let narrow = of(64, 1, Some([-20.0, 20.0]));
        assert_eq!(narrow, (1, 129), "it is narrower than a bin");
        let other = kept.clone();
        other.state(
            &json!({ "chosen": ["bin", "range"], "bin_ticks": 7, "range_ticks": [-70, 70] }),
        );
        assert_eq!(of(64, 1, Some([-20.0, 20.0])), (7, 20), "as a saved answer says");
        other.state(&json!({ "bin_ticks": 7, "range_ticks": [-70, 70] }));
        assert_eq!(of(64, 1, Some([-20.0, 20.0])), (1, 129), "nothing was chosen there");
    }
}
