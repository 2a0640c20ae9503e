//! Memory of the answers and events that are not sent yet.
//!
//! With a budget of 4 MiB, of which one answer may have 3, an answer of 2 MiB and 1 byte is charged 3 MiB: another one
//! of 1 MiB and 1 byte is refused (503) until the first one is dropped, and one of more than 3 MiB is always refused
//! (400). A charge is raised before bytes are written, never after, so that clients that read nothing cannot fill the
//! memory.

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{body::Bytes, http::StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Refusal;

/// Charges are multiples of these bytes. One of them covers the pieces of an answer that wait for its client.
const CHARGE_MIN: usize = 1 << 20;

/// A limit on the bytes of all answers, or of all events, and on the bytes of one of them.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    one: usize,
    has_freed: Arc<AtomicBool>,
}

/// A part of the budget. It is free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    permit: OwnedSemaphorePermit,
    bytes: usize,
    has_freed: Arc<AtomicBool>,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.has_freed.store(true, Ordering::Relaxed);
    }
}

impl Budget {
    /// Creates a budget of `all` bytes. One answer or event has at most `one` bytes.
    pub fn new(one: usize, all: usize) -> Self {
        let free = Arc::new(Semaphore::new(all.div_ceil(CHARGE_MIN).max(1)));
        Self { free, one, has_freed: Arc::default() }
    }

    /// Whether something was freed since the last call.
    pub fn has_freed(&self) -> bool {
        self.has_freed.swap(false, Ordering::Relaxed)
    }

    /// Charges the bytes of an answer or event.
    pub fn charge(&self, bytes: usize) -> Result<Charge, Refusal> {
        let permit = Arc::clone(&self.free).try_acquire_owned().map_err(|_| Refusal::busy())?;
        let mut charge =
            Charge { permit, bytes: CHARGE_MIN, has_freed: Arc::clone(&self.has_freed) };
        self.raise(&mut charge, bytes)?;
        Ok(charge)
    }

    /// Raises a charge to at least this number of bytes.
    pub fn raise(&self, charge: &mut Charge, bytes: usize) -> Result<(), Refusal> {
        if bytes > self.one {
            let reason = format!(
                "the answer is larger than {} MiB, which is as much as is sent; use wider bins, a part of the run, or the command",
                self.one >> 20
            );
            return Err(Refusal::new(StatusCode::BAD_REQUEST, reason));
        }
        let more = bytes.saturating_sub(charge.bytes).div_ceil(CHARGE_MIN);
        if more == 0 {
            return Ok(());
        }
        let more_permits = u32::try_from(more).map_err(|_| Refusal::busy())?;
        let free = Arc::clone(&self.free);
        charge
            .permit
            .merge(free.try_acquire_many_owned(more_permits).map_err(|_| Refusal::busy())?);
        charge.bytes += more * CHARGE_MIN;
        Ok(())
    }
}

/// Bytes that are charged as they are written.
pub(crate) struct ChargedBytes {
    bytes: Vec<u8>,
    charge: Charge,
    budget: Budget,
    refusal: Option<Refusal>,
}

impl ChargedBytes {
    pub fn new(budget: &Budget) -> Result<Self, Refusal> {
        let charge = budget.charge(0)?;
        Ok(Self { bytes: Vec::new(), charge, budget: budget.clone(), refusal: None })
    }

    /// Returns what was written, which is charged until the last copy is dropped, or the refusal of the budget, or that of
    /// the writer.
    pub fn written(self, outcome: Result<(), Refusal>) -> Result<Bytes, Refusal> {
        let Self { bytes, charge, refusal, .. } = self;
        match refusal {
            Some(refusal) => Err(refusal),
            None => outcome.map(|()| Bytes::from_owner(Owned { bytes, _charge: charge })),
        }
    }
}

impl Write for ChargedBytes {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let len = self.bytes.len() + more.len();
        if let Err(refusal) = self.budget.raise(&mut self.charge, len) {
            self.refusal = Some(refusal);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(more);
        Ok(more.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes and their charge.
struct Owned {
    bytes: Vec<u8>,
    _charge: Charge,
}

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn what_is_charged_is_free_again_when_it_is_sent() {
        let budget = Budget::new(3 * MIB, 4 * MIB);
        let status = |bytes| budget.charge(bytes).map_err(|refusal| refusal.status).map(drop);
        assert_eq!(status(3 * MIB + 1), Err(StatusCode::BAD_REQUEST));
        let mut out = ChargedBytes::new(&budget).unwrap();
        assert_eq!((status(3 * MIB), status(0)), (Ok(()), Ok(())));
        out.write_all(&vec![7; 2 * MIB + 1]).unwrap();
        assert_eq!(status(MIB + 1), Err(StatusCode::SERVICE_UNAVAILABLE));
        let sent = out.written(Ok(())).unwrap();
        let copy = sent.clone();
        drop(sent);
        assert_eq!((copy.len(), status(MIB)), (2 * MIB + 1, Ok(())));
        assert_eq!(status(MIB + 1), Err(StatusCode::SERVICE_UNAVAILABLE));
        drop(copy);
        assert_eq!(status(3 * MIB), Ok(()));
    }

    #[test]
    fn bytes_above_the_limit_are_refused_with_the_reason_of_the_budget() {
        let budget = Budget::new(2 * MIB, 8 * MIB);
        let mut out = ChargedBytes::new(&budget).unwrap();
        let written = out.write_all(&vec![7; 2 * MIB]).and_then(|()| out.write_all(b"8"));
        let refusal = out.written(written.map_err(|error| Refusal::failed(error.to_string())));
        assert_eq!(refusal.unwrap_err().status, StatusCode::BAD_REQUEST);
        assert!(budget.charge(2 * MIB).is_ok());
    }
}
