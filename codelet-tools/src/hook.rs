//! Runs a command line independently of the tools, as hooks need: it reads one text, and its stdout and stderr are kept
//! apart. It gets what a `Bash` command gets and no more: the sandbox, never with network access, and the environment
//! without keys; it leaves no process running.

use crate::Reach;
use crate::bash;
use crate::files;
use crate::handed::{self, Numbers};
use crate::left::Left;
use crate::process;
pub use crate::process::End as Status;
use crate::run_blocking::watched;
use crate::spawn::{Program, Unstarted};
use crate::tool_context::ToolContext;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Permission;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Bytes kept of stdout and of stderr each: far more than a model is sent.
const MOST: usize = 256 * 1024;
/// Grace period for processes that it left running.
const PATIENCE: Duration = Duration::from_millis(50);
/// Time to wait for the rest of stderr once all processes that could write it have ended.
const LAST: Duration = Duration::from_millis(200);
/// Variables for the project's folder: the name that hooks know from Claude Code, and our own.
const PROJECT: [&str; 2] = ["CLAUDE_PROJECT_DIR", "CODELET_PROJECT_DIR"];

/// A command to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The command line, for a shell.
    pub line: String,
    /// Its stdin.
    pub input: String,
    /// Its timeout.
    pub timeout: Duration,
    /// True if it runs outside the sandbox, as in its owner's own shell.
    pub is_free: bool,
}

/// The result of a command. Known keys are removed from the texts; everything else stays as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The way it ended.
    pub status: Status,
    /// Its stdout, at most 256 KiB.
    pub output: String,
    /// Its stderr, at most 256 KiB.
    pub errors: String,
    /// True if `output` is complete.
    pub is_whole: bool,
    /// Files it changed that instruct other programs, as a text for the user that starts with "changed".
    pub changed: Option<String>,
}

impl Reach {
    /// Runs the command in the session's directory. It is ended when the user interrupts, when it times out, or when
    /// the future is dropped.
    ///
    /// # Errors
    /// Says why it was not run, in a fragment: there is no sandbox, or no shell.
    pub async fn run_hook(&self, command: Command, interrupt: &Interrupt) -> Result<Ended, String> {
        let context = Arc::clone(&self.0);
        let run = move |stopped: PipeReader| ran(&context, command, &stopped);
        let answer = watched("hook", interrupt, run).map_err(|error| files::reason(&error))?;
        let answer = answer.await;
        answer.unwrap_or_else(|| Err("it could not be watched".to_owned()))
    }
}

fn ran(context: &ToolContext, command: Command, stopped: &PipeReader) -> Result<Ended, String> {
    let (errors, printed) = io::pipe().map_err(|error| files::reason(&error))?;
    // A command that cannot write in the workspace changes nothing there.
    let may_change = command.is_free || context.permission() > Permission::Read;
    let (mut program, script) = program(context, &command)?;
    program.errors = Some(printed.into());
    let errors = Errors::begin(errors).map_err(|error| files::reason(&error))?;
    let mut output = Kept::default();
    let left = Left::default();
    if may_change {
        left.look(context, true);
    }
    let ended = process::run(program, Some(stopped), &mut |bytes| output.push(bytes));
    let ended = ended.map_err(|error| match error {
        Unstarted::NoSandbox(missing) => format!("there is no sandbox here: {missing}"),
        Unstarted::Refused(error) => format!("the shell cannot be started: {}", files::reason(&error)),
    })?;
    // Its background jobs must not go on unseen, and they hold the pipes open.
    ended.family.end(PATIENCE, || {});
    let changed = may_change
        .then(|| bash::named(context, &left.look(context, true)))
        .flatten();
    // Shells begin an error with the name of the script, which says nothing to the user.
    let named = format!("{}: ", handed::name(script));
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&named, "");
        context.secrets().hide_with_parts(&text).into_owned()
    };
    Ok(Ended {
        status: ended.end,
        errors: text(&errors.finish()),
        is_whole: !output.is_cut,
        changed: changed.map(|(what, does)| format!("changed {what}, which {does}: please check it")),
        output: text(&output.bytes),
    })
}

/// Returns the program, and the number of the descriptor of its script.
fn program(context: &ToolContext, command: &Command) -> Result<(Program, RawFd), String> {
    let sandbox = match (command.is_free, context.permission()) {
        (true, _) => None,
        (false, Permission::Plan | Permission::Read) => context.sandbox(Permission::Read),
        (false, Permission::Edit | Permission::All) => context.sandbox(Permission::Edit),
    };
    // Nobody watches what it does, so it has no network access even where commands have it.
    let sandbox = sandbox.map(|sandbox| sandbox.with_network(false));
    let directory = context.paths.directory().to_owned();
    let held = files::hold_folder(&directory).map_err(|error| files::reason(&error))?;
    let script = Numbers::free()?.script;
    let bash = bash::bash(context);
    let line = match &bash {
        // The shell has read the script by then under its own descriptor; closing this one keeps it from the command's
        // programs.
        Some(_) => format!("exec {script}<&-; {}", command.line),
        None => command.line.clone(),
    };
    let mut environment = bash::environment(context, sandbox.as_ref(), &directory);
    let project: OsString = context.paths.root().into();
    environment.extend(PROJECT.map(|name| (name.into(), project.clone())));
    let program = Program {
        program: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")).into(),
        arguments: vec![handed::name(script).into()],
        directory,
        held: Some(held),
        input: Some(handed::script(&command.input)?),
        errors: None,
        environment,
        handed: vec![handed::hand(handed::script(&line)?, script)],
        sandbox,
        timeout: command.timeout,
    };
    Ok((program, script))
}

/// The beginning of a stream.
#[derive(Default)]
struct Kept {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        let room = MOST - self.bytes.len();
        self.is_cut |= bytes.len() > room;
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// Reads stderr on its own thread, so that a full pipe blocks nothing.
struct Errors {
    kept: Arc<Mutex<Kept>>,
    over: mpsc::Receiver<()>,
}

impl Errors {
    fn begin(mut pipe: PipeReader) -> io::Result<Errors> {
        let (ends, over) = mpsc::channel();
        let kept = Arc::new(Mutex::new(Kept::default()));
        let into = Arc::clone(&kept);
        let read = move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                lock(&into).push(&buffer[..read]);
            }
            drop(ends);
        };
        std::thread::Builder::new().name("hook-errors".to_owned()).spawn(read)?;
        Ok(Errors { kept, over })
    }

    fn finish(self) -> Vec<u8> {
        // Returns an error when the sender is dropped, which is the event that is waited for: nothing is ever sent.
        let _ = self.over.recv_timeout(LAST);
        std::mem::take(&mut lock(&self.kept).bytes)
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
