//! Work on a thread of libuv's pool, so that JavaScript's own thread continues.

use crate::wrong::Wrong;
use napi::bindgen_prelude::{AsyncTask, Either, ToNapiValue, TypeName};
use napi::{Env, Task};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call, or an error. Both are values, so that the error codes are ours and not those of Node-API.
pub type Outcome<T> = Either<T, Wrong>;

/// A promise of an outcome.
pub type Promised<T> = AsyncTask<Job<T>>;

/// Work that runs once.
pub struct Job<T>(Option<Box<dyn FnOnce() -> Result<T, Wrong> + Send>>);

impl<T> Job<T> {
    /// A job with this work.
    pub fn new(work: impl FnOnce() -> Result<T, Wrong> + Send + 'static) -> Self {
        Self(Some(Box::new(work)))
    }

    /// Does the work. A panic becomes an error: it would end the process otherwise.
    pub fn run(&mut self) -> Outcome<T> {
        let Some(work) = self.0.take() else {
            return Either::B(Wrong::internal("the work was done before"));
        };
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(done)) => Either::A(done),
            Ok(Err(wrong)) => Either::B(wrong),
            Err(panic) => Either::B(Wrong::internal(words_of(&*panic))),
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panic")
}

impl<T: Send + ToNapiValue + TypeName + 'static> Task for Job<T> {
    type Output = Outcome<T>;
    type JsValue = Outcome<T>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(self.run())
    }

    fn resolve(&mut self, _: Env, outcome: Self::Output) -> napi::Result<Self::JsValue> {
        Ok(outcome)
    }
}

/// A promise of the outcome of this work.
pub fn promise<T: Send + ToNapiValue + TypeName + 'static>(
    work: impl FnOnce() -> Result<T, Wrong> + Send + 'static,
) -> Promised<T> {
    AsyncTask::new(Job::new(work))
}
