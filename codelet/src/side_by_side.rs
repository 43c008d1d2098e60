//! Work that comes in pieces, on several threads.

use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _};
use std::num::NonZero;

/// How many threads are worth having: as many as there are cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Does `count` pieces of work on so many threads, and returns what came of each. It stands where its piece does, so that the order does
/// not depend on who was faster.
pub fn side_by_side<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    match ThreadPoolBuilder::new()
        .num_threads(threads.clamp(1, count.max(1)))
        .build()
    {
        Ok(threads) => threads.install(|| (0..count).into_par_iter().with_max_len(1).map(work).collect()),
        // Where no thread can be had, this one does the work.
        Err(_) => (0..count).map(work).collect(),
    }
}
