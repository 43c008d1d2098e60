//! What calls and their recorded statuses say: checks that ran, files that were changed, what the user decided, what is to be
//! done. It has no opinion about what a program's output means; the one exception is a test run without a status of its own (`says_passed`).

pub mod anchor;
pub(crate) mod check;
pub mod facts;
mod gathered;

pub(crate) use gathered::Evidence;
