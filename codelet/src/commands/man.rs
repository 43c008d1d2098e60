//! `codelet man`: prints the manual pages.

use crate::args::{Codelet, Man};
use crate::exit::Failure;
use crate::output::Output;
use clap::CommandFactory;
use codelet_text::near;

/// Prints a page, generated from the same definitions as the help.
///
/// # Errors
/// If there is no such command, or standard output cannot be written.
pub fn run(args: &Man) -> Result<(), Failure> {
    let mut program = Codelet::command();
    program.build();
    let mut page = program;
    for name in &args.command {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| {
            let meant = near::hint(name, page.get_subcommands().map(clap::Command::get_name));
            Failure::Told(format!("unknown command {name:?}{meant}"))
        })?;
    }
    // Subcommands have no version of their own.
    let source = concat!("codelet ", env!("CARGO_PKG_VERSION"));
    Output::Stdout.write(|out| clap_mangen::Man::new(page).source(source).render(out))
}
