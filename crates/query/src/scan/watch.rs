//! Records the rows that the stages of a scan read, for tests to compare with a plan.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

/// A column that is watched.
struct Watched {
    bytes: Range<usize>,
    taken: Vec<Range<usize>>,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

fn bytes_of<T>(rows: &[T]) -> Range<usize> {
    let bytes = rows.as_ptr_range();
    bytes.start.addr()..bytes.end.addr()
}

/// Records that a stage reads these rows.
pub(crate) fn took<T>(rows: &[T]) {
    let bytes = bytes_of(rows);
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    let holds =
        |column: &&mut Watched| column.bytes.start <= bytes.start && bytes.end <= column.bytes.end;
    if let Some(column) = watched.iter_mut().find(holds).filter(|_| !bytes.is_empty()) {
        column.taken.push(bytes);
    }
}

/// Returns the rows of a column that `scan` reads, in the order of reading.
pub(crate) fn taken<T>(column: &[T], scan: impl FnOnce()) -> Vec<Range<usize>> {
    let bytes = bytes_of(column);
    let lock = || WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    lock().push(Watched { bytes: bytes.clone(), taken: Vec::new() });
    scan();
    let mut watched = lock();
    let at = watched.iter().position(|column| column.bytes == bytes).unwrap();
    let row = |address: usize| (address - bytes.start) / size_of::<T>();
    watched.remove(at).taken.into_iter().map(|rows| row(rows.start)..row(rows.end)).collect()
}
