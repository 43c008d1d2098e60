//! The entry point: parses the arguments, runs the command, and sets the exit status.

mod args;
mod assembled;
mod clouds;
mod commands;
mod escaped;
mod exit;
mod explain;
mod fallback;
mod front;
mod hooks;
mod incoming;
mod input;
mod live_page;
mod loading;
mod model;
mod network;
mod opening;
mod output;
mod paint;
mod pictures;
mod piped;
mod place;
mod progress;
mod recorded;
mod saved;
mod schema;
mod secrets;
mod settings;
mod side_by_side;
mod startup;
mod stores;
mod takeover;
mod tasks;
mod toolset;
mod transcript;
mod worktree;
mod world;

use args::{Codelet, Command};
use clap::Parser;
use exit::{Exit, Failure};
use paint::{Ink, Look};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Stack size in bytes: the usual size of a main thread. `ulimit -s` may allow less.
const STACK: usize = 8 * 1024 * 1024;

fn main() -> ExitCode {
    let began = Instant::now();
    codelet_tools::sandbox::hand_on_nothing();
    // Exceeding the file size limit (`ulimit -f`) becomes a write error instead of ending the process midway.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    let main = std::thread::Builder::new().name("codelet".to_owned()).stack_size(STACK);
    let done = main.spawn(move || menu(began)).map(|main| main.join());
    match done {
        Ok(Ok(status)) => status,
        // The panic has already been reported.
        Ok(Err(_)) => exit::BROKEN.into(),
        Err(error) => {
            tell(
                "error",
                Ink::Red,
                &format!("could not start a thread: {}", exit::words(&error)),
            );
            Exit::Usage.into()
        }
    }
}

fn menu(began: Instant) -> ExitCode {
    let mut typed: Vec<_> = std::env::args_os().collect();
    // Many programs have it as a command.
    if let [_, word] = &mut typed[..]
        && word == "version"
    {
        *word = "--version".into();
    }
    // Not among the commands: only `Read` starts it, and completions would offer it.
    if let [_, command, numbers @ ..] = &typed[..]
        && command == codelet_tools::pdf::COMMAND
    {
        return match codelet_tools::pdf::serve(numbers) {
            true => Exit::Done.into(),
            false => Exit::Failed.into(),
        };
    }
    let args = match Codelet::try_parse_from(&typed) {
        Ok(args) => args,
        Err(told) if told.use_stderr() => {
            let _ = told.print();
            if let Some(advice) = opening::advice(&told, &typed) {
                let _ = writeln!(std::io::stderr(), "{advice}");
            }
            return Exit::Usage.into();
        }
        // clap treats help as an error; the user who asked for it does not.
        Err(help) => {
            let done = output::stdout().and_then(|mut out| output::printed(help.print().and_then(|()| out.flush())));
            return ended(done.map(|()| Exit::Done));
        }
    };
    if matches!(
        args.command,
        None | Some(Command::Acp(_) | Command::Mcp(_) | Command::Gateway(_) | Command::Run(_) | Command::Doctor(_))
    ) {
        // A session holds keys, and so do commands that connect to servers.
        codelet_tools::sandbox::conceal_process();
    }
    let has_command = args.command.is_some();
    let done = match args.command {
        Some(Command::Compact(args)) => commands::compact::run(&args),
        Some(Command::Inspect(args)) => commands::inspect::run(&args).map(|()| Exit::Done),
        Some(Command::Check(args)) => commands::check::run(&args),
        Some(Command::Replay(args)) => commands::replay::run(&args).map(|()| Exit::Done),
        Some(Command::Report(args)) => commands::report::run(&args).map(|()| Exit::Done),
        Some(Command::Restore(args)) => commands::restore::run(&args).map(|()| Exit::Done),
        Some(Command::Sessions(args)) => commands::sessions::run(&args).map(|()| Exit::Done),
        Some(Command::Gateway(args)) => commands::gateway::run(&args),
        Some(Command::Run(args)) => match commands::gateway::run_agent(&args) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Some(Command::Recall(args)) => commands::gateway::recall(&args).map(|()| Exit::Done),
        Some(Command::Acp(args)) => commands::acp::run(&args),
        Some(Command::Formats) => commands::formats::run().map(|()| Exit::Done),
        Some(Command::Demo(args)) => commands::demo::run(&args, began),
        Some(Command::Settings(args)) => commands::settings::run(&args).map(|()| Exit::Done),
        Some(Command::Doctor(args)) => commands::doctor::run(&args),
        Some(Command::Completions(args)) => commands::completions::run(&args).map(|()| Exit::Done),
        Some(Command::Man(args)) => commands::man::run(&args).map(|()| Exit::Done),
        Some(Command::Mcp(args)) => commands::mcp::run(&args),
        Some(Command::Models(args)) => commands::models::run(&args).map(|()| Exit::Done),
        None if args.chat.prompt.is_some() => commands::once::run(&args.chat, began),
        None => match commands::chat::run(&args.chat) {
            Ok(status) => {
                codelet_process::end_all();
                return status;
            }
            Err(failure) => Err(failure),
        },
    };
    if has_command
        && matches!(done, Err(Failure::Told(_)))
        && let Some(advice) = opening::said_as_arguments(&typed)
    {
        let status = ended(done);
        let _ = writeln!(std::io::stderr(), "{advice}");
        return status;
    }
    // An interrupted run does not wait for its tools, so processes that they were about to end are ended here.
    codelet_process::end_all();
    ended(done)
}

/// Returns the exit status, and reports a failure.
fn ended(done: Result<Exit, Failure>) -> ExitCode {
    match done {
        Ok(exit) => exit.into(),
        Err(Failure::PipeClosed) => Exit::Done.into(),
        Err(Failure::Told(problem)) => {
            tell("error", Ink::Red, &problem);
            Exit::Usage.into()
        }
    }
}

/// Prints a line on standard error, ignoring errors: there is nowhere left to report them.
fn tell(label: &str, ink: Ink, text: &str) {
    let label = Look::stderr().ink(ink, &format!("{label}:"));
    let _ = writeln!(std::io::stderr(), "{label} {text}");
}
