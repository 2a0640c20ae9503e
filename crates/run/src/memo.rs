//! Values found in the rows of an open run, kept for later requests to it.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
};

/// Maximum number of values; a full memo is cleared.
const VALUES_MAX: usize = 1 << 10;

/// Values by their type and their arguments. The rows of an open run do not change, so that a value that depends on
/// them and its arguments alone stays right.
#[derive(Default)]
pub struct Memo {
    values: Mutex<HashMap<(TypeId, String), Box<dyn Any + Send + Sync>>>,
}

impl Memo {
    /// Returns the value for these arguments, which `find` finds if it is not known; an error is not kept. `find` runs
    /// without a lock, because it may give tasks to threads that take up another request to this run.
    pub fn get<T: Clone + Send + Sync + 'static, E>(
        &self,
        arguments: &impl fmt::Debug,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let key = (TypeId::of::<T>(), format!("{arguments:?}"));
        let known = |values: &HashMap<_, Box<dyn Any + Send + Sync>>| {
            values.get(&key).and_then(|value| value.downcast_ref::<T>()).cloned()
        };
        if let Some(value) = known(&self.values.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(value);
        }
        let value = find()?;
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        if values.len() >= VALUES_MAX {
            values.clear();
        }
        values.insert(key, Box::new(value.clone()));
        Ok(value)
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.lock().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Memo").field("values", &values).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_once_for_its_arguments_and_type() {
        let memo = Memo::default();
        let mut found = 0;
        let mut get = |arguments: (u16, i64)| {
            memo.get(&arguments, || {
                found += 1;
                if found == 1 { Err("damaged") } else { Ok(arguments.1) }
            })
        };
        assert_eq!(get((1, 5)), Err("damaged"));
        assert_eq!([get((1, 5)), get((1, 5)), get((2, 7)), get((1, 5))], [5, 5, 7, 5].map(Ok));
        assert_eq!(found, 3);
        let other = memo.get(&(1_u16, 5_i64), || Ok::<_, ()>("another type"));
        assert_eq!(other, Ok("another type"));
    }
}
