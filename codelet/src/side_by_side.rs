//! Parallel execution of independent work items.

use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use std::num::NonZero;

/// Returns the number of threads to use: the number of cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `count` work items on `threads` threads and returns the results in the order of the items, regardless of which
/// finishes first.
pub fn side_by_side<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match ThreadPoolBuilder::new()
        .num_threads(threads.clamp(1, count.max(1)))
        .build()
    {
        Ok(threads) => threads.install(|| (0..count).into_par_iter().with_max_len(1).map(work).collect()),
        // If no threads can be started, the current one does the work.
        Err(_) => (0..count).map(work).collect(),
    }
}
