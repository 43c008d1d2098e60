//! `codelet formats`: lists the formats that can be read and written.

use crate::exit::Failure;
use crate::output::Output;
use crate::paint::{Ink, Look, clip, fit};
use codelet_transcript::Format;
use std::fmt::Write;

/// Prints the list.
///
/// # Errors
/// If standard output cannot be written.
pub fn run() -> Result<(), Failure> {
    let look = Look::stdout();
    Output::Stdout.write(|out| out.write_all(table(&look).as_bytes()))
}

fn table(look: &Look) -> String {
    let name = Format::ALL.iter().map(|format| format.name().len()).max().unwrap_or(0);
    let rest = look.width.saturating_sub(name + 17);
    let mut table = String::new();
    let heading = format!("{}  read  write  description", fit("name", name));
    let _ = writeln!(table, "{}", look.ink(Ink::Dim, &heading));
    for format in Format::ALL {
        let yes = |can: bool, columns| if can { fit("yes", columns) } else { fit("–", columns) };
        let _ = writeln!(
            table,
            "{}  {}  {}  {}",
            look.ink(Ink::Bold, &fit(format.name(), name)),
            yes(format.is_read(), 4),
            yes(format.is_written(), 5),
            clip(format.describe(), rest),
        );
    }
    table.push_str("\nThe input format is detected automatically (--from auto).\n");
    let second = Format::ALL
        .iter()
        .filter_map(|format| Some(format!("{} is {}", format.second_name()?, format.name())));
    let _ = writeln!(table, "Aliases: {}.", second.collect::<Vec<_>>().join(", "));
    table
}
