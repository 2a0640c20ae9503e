//! How many threads are started: with 8 cores, 0 asks for 8 threads, and 300 for 256.

use std::thread;

/// Maximum number of threads on a machine with fewer cores. More would only take memory and time to start.
const THREADS_MAX: usize = 256;

/// Returns how many threads to start if `asked` are asked for: one for each core if it is 0, and at most 256, or one
/// for each core if there are more.
pub fn threads(asked: usize) -> usize {
    if (1..=THREADS_MAX).contains(&asked) {
        return asked;
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    if asked == 0 { cores } else { asked.min(cores.max(THREADS_MAX)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_bounded() {
        assert!(threads(0) >= 1);
        assert_eq!((threads(1), threads(256)), (1, 256));
        for many in [20_000, 99_999_999, usize::MAX] {
            assert_eq!(threads(many), threads(0).max(256));
        }
    }
}
