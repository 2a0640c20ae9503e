//! Threads that write blocks. Tasks begin in the order in which they are given and end in any order.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
};

type Task = Box<dyn FnOnce() + Send>;

/// Threads that run tasks, in the order in which they are given.
pub(super) struct Workers {
    tasks: Option<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts so many threads, or as many as the system allows.
    pub(super) fn start(threads: usize) -> Self {
        let (tasks, dealt) = channel::<Task>();
        let dealt = Arc::new(Mutex::new(dealt));
        let run = |dealt: Arc<Mutex<Receiver<Task>>>| {
            move || {
                let next = || dealt.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(task) = next() {
                    task();
                }
            }
        };
        let threads = (0..threads)
            .map_while(|_| thread::Builder::new().spawn(run(Arc::clone(&dealt))).ok())
            .collect();
        Self { tasks: Some(tasks), threads }
    }

    /// Runs `task` on one of the threads, or here if there is none. Its result comes from the receiver.
    pub(super) fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce() -> T + Send + 'static,
    ) -> Receiver<T> {
        let (sender, result) = channel();
        // Nobody waits for the result after an error.
        let task = move || drop(sender.send(task()));
        match self.tasks.as_ref().filter(|_| !self.threads.is_empty()) {
            Some(tasks) => drop(tasks.send(Box::new(task))),
            None => task(),
        }
        result
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.tasks = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked gave no result, which was noticed there.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}
