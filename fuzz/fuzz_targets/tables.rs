#![no_main]

use std::{panic, process};

// The readers of tables catch panics of the libraries that decode them, and report damage. A panic of the project's
// own code is a finding, wherever it is caught.
fn forgive_libraries() {
    drop(panic::take_hook());
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.location().is_some_and(|at| at.file().contains("/registry/src/")) {
            return;
        }
        default(panic);
        process::abort();
    }));
}

libfuzzer_sys::fuzz_target!(init: forgive_libraries(), |input: &[u8]| tagq_checks::tables(input));
