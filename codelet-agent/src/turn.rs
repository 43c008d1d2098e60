//! The actions of a session: it carries a prompt to its end, and makes some requests of its own.
//!
//! `user` takes the prompt, `reminders` adds the reminders in front of it, and `driver` does what the run says: `ask`
//! makes a request, `account` puts it on the bill, `step` runs the calls, each by `call`, and `compaction` edits the
//! conversation.

mod account;
mod again;
mod ask;
mod call;
mod call_hooks;
mod commit_message;
mod compaction;
mod driver;
mod keep_alive;
mod nearer;
mod refused;
mod reminders;
mod session_hooks;
mod step;
mod truncation;
mod user;
