//! The actions of signals in this process.
#![expect(unsafe_code, reason = "no safe wrapper asks for the action of a signal")]

use std::{mem::MaybeUninit, ptr};

/// Returns the action of a signal; `None` if the system has no such signal.
pub(super) fn action_of(signal: i32) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null pointer changes nothing, and the other one leads to a `sigaction` of ours.
    let is_known = unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } == 0;
    // SAFETY: zeroed above, which is a valid action, and filled in by the call.
    is_known.then(|| unsafe { action.assume_init() })
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> bool {
    action_of(signal).is_some_and(|action| action.sa_sigaction == libc::SIG_IGN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_ignores_broken_pipes_alone() {
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGXCPU));
        assert!(!is_ignored(-1));
    }
}
