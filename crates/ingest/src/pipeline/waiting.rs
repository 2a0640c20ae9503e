//! Output of units that waits for the receiver: at most 32 MiB, and 8 MiB more for the unit that is received. Without
//! these 8 MiB, later units could take all room, and the receiver would wait for ever.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Bytes of all units together that may wait for the receiver.
const WAITING_BYTES: usize = 32 << 20;
/// Bytes above these that may wait of the unit that is received; no output has more.
pub(super) const RECEIVED_BYTES: usize = 8 << 20;
/// Output that waits for the receiver, in all units together.
#[derive(Default)]
pub(super) struct Waiting {
    state: Mutex<WaitingState>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct WaitingState {
    pub bytes: usize,
    /// The number of the unit that is received.
    pub received: usize,
    pub is_stopped: bool,
}

impl WaitingState {
    /// Whether there is room for output of unit number `unit`, or the receiver is gone.
    fn has_room(&self, bytes: usize, unit: usize) -> bool {
        let bytes_max = WAITING_BYTES + if unit == self.received { RECEIVED_BYTES } else { 0 };
        self.is_stopped || self.bytes + bytes <= bytes_max
    }
}

impl Waiting {
    fn state(&self) -> MutexGuard<'_, WaitingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is room for output of unit number `unit`.
    pub(super) fn add(&self, bytes: usize, unit: usize) {
        let room = self.changed.wait_while(self.state(), |state| !state.has_room(bytes, unit));
        room.unwrap_or_else(PoisonError::into_inner).bytes += bytes;
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut WaitingState)) {
        change(&mut self.state());
        self.changed.notify_all();
    }
}

/// Tells the decoders when nothing is received any more.
pub(super) struct Stop<'a>(pub &'a Waiting);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.is_stopped = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_that_is_received_has_room() {
        let mut state = WaitingState { received: 3, ..WaitingState::default() };
        assert!(state.has_room(WAITING_BYTES, 4) && !state.has_room(WAITING_BYTES + 1, 4));
        // Others took what they may take; any output has room, but only so many.
        state.bytes = WAITING_BYTES;
        let bytes = RECEIVED_BYTES;
        assert!(state.has_room(bytes, 3) && !state.has_room(1, 4));
        state.bytes += bytes;
        assert!(!state.has_room(1, 3));
        state.is_stopped = true;
        assert!(state.has_room(bytes, 3) && state.has_room(bytes, 4));
    }
}
