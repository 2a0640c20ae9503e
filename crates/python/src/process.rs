//! What a child that was forked cannot use: threads are not inherited, locks stay as they were, and files that
//! the parent still writes are shared.

use std::{
    mem, process,
    sync::{Mutex, PoisonError},
};

use pyo3::PyResult;

use crate::errors;

/// A value of the process that made it.
pub(crate) struct Own<T> {
    value: Option<T>,
    process: u32,
}

impl<T> Own<T> {
    pub fn new(value: T) -> Self {
        Self { value: Some(value), process: process::id() }
    }

    /// The value; nothing in another process.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_here())
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Drop for Own<T> {
    /// What is the parent's is left to it: to wait for its threads would take for ever, and to remove its files
    /// would take them away.
    fn drop(&mut self) {
        if !self.is_here() {
            mem::forget(self.value.take());
        }
    }
}

/// A value that one thread uses at a time, in the process that made it, until it is closed.
pub(crate) struct OwnMutex<T>(Own<Mutex<Option<T>>>);

impl<T> OwnMutex<T> {
    pub fn new(value: T) -> Self {
        Self(Own::new(Mutex::new(Some(value))))
    }

    /// Works with what is there, nothing once it was closed. In a child that was forked an error: `what` is the
    /// parent's.
    pub fn with<R>(
        &self,
        what: &str,
        work: impl FnOnce(&mut Option<T>) -> PyResult<R>,
    ) -> PyResult<R> {
        // Before the lock, which a thread of the parent may have held.
        let value = self.0.get().ok_or_else(|| errors::forked(what))?;
        work(&mut value.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
