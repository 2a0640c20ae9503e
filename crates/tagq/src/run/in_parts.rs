//! A run that is counted in parts.

use std::sync::{Mutex, PoisonError};

use tagq_query::InParts;

/// How a run answers that is counted in parts.
#[derive(Debug)]
pub(crate) struct RunInParts {
    role: InParts,
    /// The note that its light is not steady: kept where it is looked for, and taken from there where no tags are.
    light: Mutex<Option<String>>,
}

impl RunInParts {
    pub(crate) fn new(role: InParts, light: Option<String>) -> Self {
        Self { role, light: Mutex::new(light) }
    }

    pub(super) fn role(&self) -> &InParts {
        &self.role
    }

    /// Returns the note that the light is not steady. `find` looks for it, where there are tags.
    pub(super) fn light(&self, find: Option<impl FnOnce() -> Option<String>>) -> Option<String> {
        let mut kept = self.light.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(find) = find {
            *kept = find();
        }
        kept.clone()
    }
}
