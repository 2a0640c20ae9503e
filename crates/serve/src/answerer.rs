//! Answers to bodies of requests without a connection, for tests and fuzz targets.

use std::{
    io,
    sync::{Arc, atomic::AtomicBool},
};

use axum::body::to_bytes;
use tagq::{Progress, Silent};
use tokio::runtime::{self, Runtime};

use crate::{
    counting::{Counting, Limits},
    error::{Error, Refusal},
    query::{self, Representation},
    question::Question,
    runs::{Runs, ServedRun},
};

/// Answers bodies of requests as the server does. Runs are those of its start.
pub struct Answerer {
    runtime: Runtime,
    runs: Runs,
    counting: Arc<Counting>,
}

impl std::fmt::Debug for Answerer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answerer").finish_non_exhaustive()
    }
}

impl Answerer {
    /// Opens the runs.
    ///
    /// # Errors
    /// Errors of starting threads.
    pub fn new(runs: Vec<ServedRun>, limits: &Limits) -> Result<Self, Error> {
        // They are opened, and followed no longer.
        let (runs, thread) =
            Runs::follow(runs, &Arc::new(AtomicBool::new(true)), Arc::new(Silent))?;
        thread.join().map_err(|_| io::Error::other("the runs cannot be opened"))?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, runs, counting: Arc::new(Counting::new(limits)?) })
    }

    /// Returns the status and the answer of `POST /api/query` in the form that `accept` states, and of `POST /api/command`
    /// to the same body.
    pub fn answer(&self, body: &[u8], accept: &str) -> [(u16, Vec<u8>); 2] {
        let refused = |refusal: Refusal| (refusal.status.as_u16(), refusal.json().into_bytes());
        let form = Representation::named(accept);
        let silent: Arc<dyn Progress + Send + Sync> = Arc::new(Silent);
        let answered = Question::of(body, &self.runs).map(|question| {
            self.runtime.block_on(async {
                let asked = query::answered(question, form, &self.runs, &self.counting, &silent);
                let response = asked.await?;
                let status = response.status().as_u16();
                let body = to_bytes(response.into_body(), usize::MAX).await;
                let body = body.map_err(|error| Refusal::failed(error.to_string()))?;
                Ok((status, body.to_vec()))
            })
        });
        let typed = Question::one_or_several(body, &self.runs).and_then(|(questions, _)| {
            questions
                .iter()
                .map(|question| question.typed(&self.runs))
                .collect::<Result<Vec<_>, _>>()
        });
        let typed = typed.map(|typed| (200, serde_json::json!(typed).to_string().into_bytes()));
        [
            answered.and_then(|answered| answered).unwrap_or_else(refused),
            typed.unwrap_or_else(refused),
        ]
    }
}
