//! The SIMD levels that the tests of this crate use.

use std::env;

use tagq_query::Simd;

/// `TAGQ_LEVEL` names the expected best level. `cargo xtask emulate` sets it for the processor that it
/// emulates.
#[test]
fn levels_ascend_to_the_best() {
    let levels: Vec<_> = Simd::available().into_iter().map(Simd::name).collect();
    println!("levels: {}", levels.join(", "));
    assert_eq!(levels, ["scalar", "avx2", "avx512", "avx512vbmi2"][..levels.len()]);
    let best = Simd::best().name();
    assert_eq!(levels.last(), Some(&best));
    if let Ok(expected) = env::var("TAGQ_LEVEL") {
        assert_eq!(best, expected);
    }
}
