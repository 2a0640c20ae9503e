//! Objects that a forked child cannot use: threads are not inherited, locks stay in their state, and files that the
//! parent still writes are shared.
//!
//! A child that asks a run counts on a pool of its own; a store that the parent still writes is an error there. A value
//! of the parent is never dropped in a child, because its files would be removed under the parent.

use std::{
    mem, process,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::PyResult;
use rayon::ThreadPool;

use crate::errors::{self, question};

/// A value that is valid only in the process that created it.
pub(crate) struct Own<T> {
    value: Option<T>,
    process: u32,
}

impl<T> Own<T> {
    pub fn new(value: T) -> Self {
        Self { value: Some(value), process: process::id() }
    }

    /// Returns the value; `None` in another process.
    pub fn get(&self) -> Option<&T> {
        self.value.as_ref().filter(|_| self.is_here())
    }

    fn is_here(&self) -> bool {
        self.process == process::id()
    }
}

impl<T> Drop for Own<T> {
    /// Values of the parent are not dropped in a child: waiting for its threads would never end, and
    /// removing its files would take them away from the parent.
    fn drop(&mut self) {
        if !self.is_here() {
            mem::forget(self.value.take());
        }
    }
}

/// A value for one thread at a time, in the process that created it, until it is closed.
pub(crate) struct OwnMutex<T>(Own<Mutex<Option<T>>>);

impl<T> OwnMutex<T> {
    pub fn new(value: T) -> Self {
        Self(Own::new(Mutex::new(Some(value))))
    }

    /// Calls `work` with the value, which is `None` after closing. Returns an error in a forked child;
    /// `what` is the name of the object of the parent.
    pub fn with<R>(
        &self,
        what: &str,
        work: impl FnOnce(&mut Option<T>) -> PyResult<R>,
    ) -> PyResult<R> {
        // Checked before the lock, which a thread of the parent may have held.
        let value = self.0.get().ok_or_else(|| errors::forked(what))?;
        work(&mut value.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Counting threads, which all runs with the same number of threads share.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Own<ThreadPool>>);

impl Pool {
    /// Returns the threads, which are of this process.
    pub fn here(&self) -> PyResult<&ThreadPool> {
        self.0.get().ok_or_else(|| errors::forked("this pool of threads"))
    }
}

/// The pools that were used, by their number of threads. The mutex is locked with the lock of the interpreter, which a
/// fork requires, too: a child never finds it locked.
static POOLS: Mutex<Vec<(usize, Pool)>> = Mutex::new(Vec::new());

/// Returns the pool of so many threads, one per core for 0. A forked child starts its own.
pub(crate) fn pool_of(threads: usize) -> PyResult<Pool> {
    let threads = tagq::store::threads(threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|(_, pool)| pool.0.is_here());
    if let Some((_, pool)) = pools.iter().find(|(of, _)| *of == threads) {
        return Ok(pool.clone());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|e| question(format!("threads: {e}")))?;
    let pool = Pool(Arc::new(Own::new(pool)));
    pools.push((threads, pool.clone()));
    Ok(pool)
}
