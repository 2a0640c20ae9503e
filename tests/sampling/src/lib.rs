//! How many of their cases tests run: a tenth, or the percentage in `TAGQ_CASES_PERCENT`. `cargo xtask nightly` runs all.
//!
//! `PROPTEST_RNG_SEED` is the seed of random cases, and where a part of a list begins. `cargo xtask test` chooses it, and prints
//! it.

use std::{collections::BTreeSet, env};

use proptest::test_runner::Config;
use serde_json::{Map, Value};

/// Percentage of the cases, if none is given.
const PERCENT: u32 = 10;

/// Returns a configuration with a part of `number` random cases.
pub fn random_cases(number: u32) -> Config {
    Config::with_cases((number * percent()).div_ceil(100))
}

/// Returns a part of a list, evenly spread, but at least one. Where it begins depends on the seed.
pub fn some<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let all: Vec<T> = all.into_iter().collect();
    let step = (100 / percent()).max(1) as usize;
    let seed = env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<usize>().ok());
    let first = seed.unwrap_or(0) % step.min(all.len().max(1));
    all.into_iter().skip(first).step_by(step)
}

/// Returns some of the cases of requests: each kind, each of its options and each word that is the value of one stands in
/// at least one of them.
pub fn some_requests(
    all: Vec<(&'static str, Map<String, Value>)>,
) -> Vec<(&'static str, Map<String, Value>)> {
    if percent() >= 100 {
        return all;
    }
    let mut seen = BTreeSet::new();
    let mut is_new = |kind: &str, options: &Map<String, Value>| {
        let before = seen.len();
        seen.insert(kind.to_owned());
        for (option, value) in options {
            seen.insert(format!("{kind} {option}"));
            // Words choose a way of counting, numbers do not.
            let is_word = |word: &&str| word.starts_with(char::is_alphabetic);
            if let Some(word) = value.as_str().filter(is_word) {
                let word = word.split(':').next().unwrap_or_default();
                seen.insert(format!("{kind} {option} {word}"));
            }
        }
        seen.len() > before
    };
    // Cases with many options first: fewer are needed.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(all[at].1.len()));
    let mut taken: Vec<usize> =
        order.into_iter().filter(|&at| is_new(all[at].0, &all[at].1)).collect();
    taken.sort_unstable();
    let mut all: Vec<Option<_>> = all.into_iter().map(Some).collect();
    taken.into_iter().filter_map(|at| all[at].take()).collect()
}

fn percent() -> u32 {
    let percent = env::var("TAGQ_CASES_PERCENT").ok();
    percent.map_or(PERCENT, |percent| percent.parse().expect("a number of percent")).max(1)
}
