//! What a session does: it carries a prompt to its end, and asks the model some things beside that.
//!
//! `user` takes the prompt, `reminders` says what is told before it, `driver` does what the run says: `ask` makes a request, `account`
//! puts it on the bill, `step` has the calls made, each by `call`, and `compaction` edits the conversation.

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
