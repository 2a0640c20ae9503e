//! How many random cases a test takes.

use std::env;

use proptest::prelude::ProptestConfig;

/// So many, or as many percent of them as `TAGQ_CASES_PERCENT` says: on an emulated processor each takes long.
pub(crate) fn cases(number: u32) -> ProptestConfig {
    let percent = env::var("TAGQ_CASES_PERCENT").ok();
    let percent = percent.map_or(100, |percent| percent.parse().expect("a number of percent"));
    ProptestConfig::with_cases((number * percent).div_ceil(100))
}
