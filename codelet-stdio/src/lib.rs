//! Detects a standard output that was closed when the program started (`codelet … >&-`).
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream, so that no other file gets its
//! number. Then everything written there is lost without an error. So a function that the loader runs checks earlier.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

// Sound: it allocates nothing and calls nothing of the runtime, which is not there yet.
#[allow(unsafe_code, reason = "the only way to run before the runtime does")]
mod before_main {
    use super::{Ordering, WAS_CLOSED};

    ctor::declarative::ctor! {
        #[ctor(unsafe)]
        fn look() {
            let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()).is_err();
            WAS_CLOSED.store(is_closed, Ordering::Relaxed);
        }
    }
}

/// Whether standard output was closed when the program was started; what is written there is lost then.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
