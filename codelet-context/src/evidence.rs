//! Evidence from calls and their recorded statuses: checks that ran, files that changed, the user's refusals, the
//! to-do list. It does not interpret the output of programs, with one exception: a test run without its own status
//! (`says_passed`).

pub mod anchor;
pub(crate) mod check;
pub mod facts;
mod gathered;
pub mod pipe;

pub(crate) use gathered::Evidence;
