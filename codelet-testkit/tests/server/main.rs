//! The server on loopback does what vendors do: a small reader of its own compares.

mod client;
mod faults;
