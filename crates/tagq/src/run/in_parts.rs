//! A run that is counted in parts.

use std::sync::{Mutex, PoisonError};

use tagq_query::InParts;

/// How a run answers that is counted in parts.
#[derive(Debug)]
pub(crate) struct RunInParts {
    role: InParts,
    /// The note that its light is pulsed: kept where it is looked for, and taken from there where no tags are.
    pulses: Mutex<Option<String>>,
}

impl RunInParts {
    pub(crate) fn new(role: InParts, pulses: Option<String>) -> Self {
        Self { role, pulses: Mutex::new(pulses) }
    }

    pub(super) fn role(&self) -> &InParts {
        &self.role
    }

    /// Returns the note that the light is pulsed. `find` looks for it, where there are tags.
    pub(super) fn pulses(&self, find: Option<impl FnOnce() -> Option<String>>) -> Option<String> {
        let mut kept = self.pulses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(find) = find {
            *kept = find();
        }
        kept.clone()
    }
}
