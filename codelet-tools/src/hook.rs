//! Runs a command line beside the tools, as a hook is: it reads one text, and its output and errors are told apart. It has what a
//! command of `Bash` has, and no more: its sandbox, without the network in any case, and its environment without keys; and it leaves nothing running.

use crate::Reach;
use crate::bash;
use crate::files;
use crate::handed::{self, Numbers};
use crate::left::Left;
use crate::process::{self, End, Program, Unstarted};
use crate::tool_context::ToolContext;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Permission;
use std::ffi::OsString;
use std::io::{self, PipeReader, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// The most of its output that is kept, in bytes, and of its errors: far more than a model is told.
const MOST: usize = 256 * 1024;
/// How long what it has left running may take to end by itself.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long the last of its errors is waited for once all that could print them has ended.
const LAST: Duration = Duration::from_millis(200);
/// The folder of the project, under the name that hooks know from elsewhere, and under our own.
const PROJECT: [&str; 2] = ["CLAUDE_PROJECT_DIR", "CODELET_PROJECT_DIR"];

/// What is to be run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The command line, for a shell.
    pub line: String,
    /// What it reads.
    pub input: String,
    /// How long it may take.
    pub timeout: Duration,
    /// It runs outside of the sandbox, as its owner's own shell would run it.
    pub is_free: bool,
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It took too long, and was ended.
    TimedOut,
    /// The user interrupted, and it was ended.
    Interrupted,
    /// Nobody knows.
    Unknown,
}

/// What came of it. Texts are without known keys, and with whatever else was printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// How it ended.
    pub status: Status,
    /// What it has printed, at most 256 KiB.
    pub output: String,
    /// What it has printed as errors, at most 256 KiB.
    pub errors: String,
    /// Whether `output` is all of it.
    pub is_whole: bool,
    /// What it has changed that somebody obeys, for the user: it starts with "changed".
    pub changed: Option<String>,
}

impl Reach {
    /// Runs it where the session began. It is ended when the user interrupts, when it takes too long, or when the future is dropped.
    ///
    /// # Errors
    /// Says why it was not run, in a fragment: there is no sandbox, or no shell.
    pub async fn run_hook(&self, command: Command, interrupt: &Interrupt) -> Result<Ended, String> {
        let (stopped, stop) = io::pipe().map_err(|error| files::reason(&error))?;
        let (answer, mut answered) = oneshot::channel();
        let context = Arc::clone(&self.0);
        let run = move || {
            // Nobody may be waiting any more.
            let _ = answer.send(ran(&context, command, &stopped));
        };
        let thread = std::thread::Builder::new().name("hook".to_owned());
        thread.spawn(run).map_err(|error| files::reason(&error))?;
        // Dropped with this future, too: nobody who is not waited for goes on.
        let mut stop = Some(stop);
        let answer = tokio::select! {
            biased;
            answer = &mut answered => answer,
            () = interrupt.thrown() => {
                drop(stop.take());
                answered.await
            }
        };
        answer.unwrap_or_else(|_| Err("it could not be watched".to_owned()))
    }
}

fn ran(context: &ToolContext, command: Command, stopped: &PipeReader) -> Result<Ended, String> {
    let (errors, printed) = io::pipe().map_err(|error| files::reason(&error))?;
    // What can write nothing in the workspace changes nothing there.
    let may_change = command.is_free || context.permission() > Permission::Read;
    let mut program = program(context, &command)?;
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
    // What it has left must not go on unseen, and holds the pipes open.
    ended.family.end(PATIENCE, || {});
    let changed = may_change
        .then(|| bash::named(context, &left.look(context, true)))
        .flatten();
    let text = |bytes: &[u8]| {
        context
            .secrets()
            .hide_with_parts(&String::from_utf8_lossy(bytes))
            .into_owned()
    };
    Ok(Ended {
        status: match ended.end {
            End::Exited(status) => Status::Exited(status),
            End::Killed(signal) => Status::Killed(signal),
            End::TimedOut => Status::TimedOut,
            End::Interrupted => Status::Interrupted,
            End::Unknown => Status::Unknown,
        },
        errors: text(&errors.finish()),
        is_whole: !output.is_cut,
        changed: changed.map(|(what, does)| format!("changed {what}, which {does}: please check it")),
        output: text(&output.bytes),
    })
}

fn program(context: &ToolContext, command: &Command) -> Result<Program, String> {
    let sandbox = match (command.is_free, context.permission()) {
        (true, _) => None,
        (false, Permission::Plan | Permission::Read) => context.sandbox(Permission::Read),
        (false, Permission::Edit | Permission::All) => context.sandbox(Permission::Edit),
    };
    // Nobody sees what it does, so it has none either where commands have.
    let sandbox = sandbox.map(|sandbox| sandbox.with_network(false));
    let directory = context.paths.directory().to_owned();
    let held = files::hold_folder(&directory).map_err(|error| files::reason(&error))?;
    let script = Numbers::free()?.script;
    let bash = bash::bash(context);
    let line = match &bash {
        // Read by then under a number of the shell's own, so that no program of the command gets it.
        Some(_) => format!("exec {script}<&-; {}", command.line),
        None => command.line.clone(),
    };
    let mut environment = bash::environment(context, sandbox.as_ref(), &directory);
    let project: OsString = context.paths.root().into();
    environment.extend(PROJECT.map(|name| (name.into(), project.clone())));
    Ok(Program {
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
    })
}

/// The beginning of what is printed.
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

/// Errors while they come, on a thread of their own, so that a full pipe holds nobody up.
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
        // Ends with an error, which is what is waited for: nothing is ever sent.
        let _ = self.over.recv_timeout(LAST);
        std::mem::take(&mut lock(&self.kept).bytes)
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
