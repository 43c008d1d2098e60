//! The commands, one file each.

pub mod acp;
pub mod chat;
pub mod check;
pub mod compact;
pub mod completions;
pub mod demo;
pub mod doctor;
pub mod formats;
pub mod gateway;
pub mod inspect;
pub mod man;
pub mod mcp;
pub mod models;
pub mod once;
pub mod replay;
pub mod report;
pub mod restore;
pub mod sessions;
pub mod settings;

use crate::paint::{Ink, Look, clean, number};
use std::fmt::Display;
use std::io::Write;

/// The maximum number of warning lines for a file, which may have thousands of odd entries.
const WARNINGS_SHOWN: usize = 8;

/// Formats the reader's warnings, with the file's name, and the engine's.
fn told_warnings<R: Display, E: Display>(name: &str, reader: &[R], engine: impl Iterator<Item = E>) -> Vec<String> {
    let reader = reader.iter().map(|warning| clean(&format!("{name}: {warning}")));
    reader
        .chain(engine.map(|warning| clean(&warning.to_string())))
        .collect()
}

fn warn(look: &Look, warnings: &[String]) {
    let label = look.ink(Ink::Yellow, "warning:");
    for warning in warnings.iter().take(WARNINGS_SHOWN) {
        let _ = writeln!(std::io::stderr(), "{label} {warning}");
    }
    if let Some(more) = warnings.len().checked_sub(WARNINGS_SHOWN).filter(|&more| more > 0) {
        let _ = writeln!(std::io::stderr(), "{label} and {} more", number(more as u64));
    }
}
