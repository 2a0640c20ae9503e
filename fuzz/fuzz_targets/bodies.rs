#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| tagq_checks::bodies(input));
