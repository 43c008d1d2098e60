//! Work shared by two threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of cores of a small machine.
const THREADS: usize = 2;

/// Maps the items in parallel; the results are in the order of the items.
pub fn map<T: Sync, U: Send>(items: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((at, item)) = take(items, &next) {
                    let made = work(item);
                    done.lock()
                        .expect("no thread panics while it holds it")
                        .push((at, made));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("a panic has ended the scope");
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}

fn take<'a, T>(items: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, items.get(at)?))
}
