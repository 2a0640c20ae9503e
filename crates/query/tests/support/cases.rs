//! Number of random cases of a test.

use std::env;

use proptest::prelude::ProptestConfig;

/// Returns a configuration with `number` cases, or the percentage of them in `TAGQ_CASES_PERCENT`, because an
/// emulated processor is slow.
pub(crate) fn cases(number: u32) -> ProptestConfig {
    ProptestConfig::with_cases((number * percent()).div_ceil(100))
}

/// Returns a list of cases, or the percentage of them in `TAGQ_CASES_PERCENT`, evenly spread.
#[allow(dead_code, reason = "not every test that has random cases has such a list")]
pub(crate) fn some<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by((100 / percent()).max(1) as usize)
}

fn percent() -> u32 {
    let percent = env::var("TAGQ_CASES_PERCENT").ok();
    percent.map_or(100, |percent| percent.parse().expect("a number of percent"))
}
