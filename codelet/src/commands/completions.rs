//! `codelet completions`: prints a shell completion script.

use crate::args::{Codelet, Completions};
use crate::exit::Failure;
use crate::output::Output;
use clap::CommandFactory;

/// Prints the script, generated from the same definitions as the help.
///
/// # Errors
/// If standard output cannot be written.
pub fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Codelet::command(), "codelet", &mut script);
    Output::Stdout.write(|out| out.write_all(&script))
}
