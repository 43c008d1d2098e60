//! A prompt carried to its end, and what else a session asks its model beside it.

mod account;
mod again;
mod ask;
mod call;
mod commit_message;
mod compaction;
mod driver;
mod hooked;
mod hooked_call;
mod keep_alive;
mod nearer;
mod refused;
mod step;
mod user;
