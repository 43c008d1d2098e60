//! Threads for edits. The allocator keeps for each thread what an edit has needed for a moment; so the one that was free last works next,
//! and where one is enough there is one.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Tells what came of some work.
type Reply = Box<dyn FnOnce() + Send>;
type Work = Box<dyn FnOnce() -> Reply + Send>;

/// The only way to give work to a thread that waits: it ends when this is dropped.
struct Waiting(Sender<(Work, Waiting)>);

/// Threads that wait for work, the one that was free last at the end.
#[derive(Default)]
pub(crate) struct Threads {
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

impl Threads {
    /// Begins this work, whether anybody waits for its result or not. There is none if the work panics.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
        let (tell, result) = oneshot::channel();
        let work: Work = Box::new(move || {
            let done = work();
            Box::new(move || drop(tell.send(done)))
        });
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match waiting {
            // It waits, so it takes the work.
            Some(Waiting(thread)) => drop(thread.clone().send((work, Waiting(thread)))),
            None => self.start(work),
        }
        result
    }

    fn start(&self, first: Work) {
        let (send, works) = channel();
        let list = self.waiting.clone();
        let work = move || {
            let mut next = Some((first, Waiting(send)));
            while let Some((work, this)) = next {
                let reply = work();
                // Before anybody knows the result: what is asked next comes here.
                list.lock().unwrap_or_else(PoisonError::into_inner).push(this);
                reply();
                next = works.recv().ok();
            }
        };
        let _ = std::thread::Builder::new().name("edit".to_owned()).spawn(work);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::{self, ThreadId};

    #[tokio::test]
    async fn one_thread_works_for_all_who_ask_in_turn() {
        let threads = Threads::default();
        let first: ThreadId = threads.run(|| thread::current().id()).await.expect("a result");
        for _ in 0..100 {
            assert_eq!(threads.run(|| thread::current().id()).await, Ok(first));
        }
    }

    #[tokio::test]
    async fn work_that_hangs_or_panics_holds_up_nobody_else() {
        let threads = Threads::default();
        let (release, held) = channel::<()>();
        let hangs = threads.run(move || held.recv().is_err());
        let panics = threads.run(|| panic!("on purpose"));
        let other = threads.run(|| 7);
        assert_eq!(other.await, Ok(7));
        let panicked: Result<(), _> = panics.await;
        assert!(panicked.is_err());
        drop(release);
        assert_eq!(hangs.await, Ok(true));
    }
}
