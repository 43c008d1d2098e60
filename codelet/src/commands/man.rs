//! `codelet man`: the manual pages.

use crate::args::{Codelet, Man};
use crate::exit::Failure;
use crate::output::Output;
use clap::CommandFactory;
use codelet_text::near;

/// Prints a page, from the same definitions as the help.
///
/// # Errors
/// When there is no such command, or standard output takes no more.
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
    // A command has no version of its own.
    let source = concat!("codelet ", env!("CARGO_PKG_VERSION"));
    Output::Stdout.write(|out| clap_mangen::Man::new(page).source(source).render(out))
}
