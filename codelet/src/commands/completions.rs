//! `codelet completions`: what a shell needs to complete the command line.

use crate::args::{Codelet, Completions};
use crate::exit::Failure;
use crate::output::Output;
use clap::CommandFactory;

/// Prints it, from the same definitions as the help.
///
/// # Errors
/// When standard output takes no more.
pub fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Codelet::command(), "codelet", &mut script);
    Output::Stdout.write(|out| out.write_all(&script))
}
