//! Starts a program in its own session, with no descriptors open but those that it is given.
//!
//! The cost of fork grows with the memory of a session: the child gets a copy of the page tables, and pages that either
//! of the two writes are copied first. So programs are started with `posix_spawn` where a thread can have its own
//! working directory, which `posix_spawn` has no other way to set.

use crate::sandbox::Sandbox;
use command_fds::FdMapping;
use rustix::process::Pid;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// A program to run.
pub(crate) struct Program {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub directory: PathBuf,
    /// A descriptor of that folder, if it must not be another one that has taken its name.
    pub held: Option<OwnedFd>,
    /// The whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its stdin; empty if `None`.
    pub input: Option<OwnedFd>,
    /// Its stderr; the same pipe as stdout if `None`.
    pub errors: Option<OwnedFd>,
    /// Descriptors that it gets besides the standard streams. It gets no others.
    pub handed: Vec<FdMapping>,
    pub sandbox: Option<Sandbox>,
    pub timeout: Duration,
}

/// Reasons why a program was not started.
#[derive(Debug)]
pub(crate) enum Unstarted {
    /// The sandbox in which it was to run cannot be set up; says what is missing.
    NoSandbox(String),
    /// The system refused.
    Refused(io::Error),
}

impl From<io::Error> for Unstarted {
    fn from(error: io::Error) -> Self {
        Unstarted::Refused(error)
    }
}

/// A program that is about to be started by the thread that created this.
pub(crate) struct Start {
    program: Program,
    mark: (&'static str, String),
    output: PipeWriter,
    /// True if this thread has the program's folder as its working directory.
    #[cfg(target_os = "linux")]
    stands: bool,
}

/// Separates the working directory of the calling thread from that of the others. Returns false if that is not possible,
/// as in some containers.
pub(crate) fn stand_apart() -> bool {
    #[cfg(target_os = "linux")]
    let is_apart = without_copy::stand_apart();
    #[cfg(not(target_os = "linux"))]
    let is_apart = false;
    is_apart
}

/// Leaves the folder in which a thread that stands apart has started a program.
pub(crate) fn leave() {
    // If this fails, that folder stays in use, and nothing else.
    let _ = rustix::process::chdir("/");
}

impl Start {
    /// Prepares the start on a thread that is about to be restricted, and that may [stand apart](stand_apart).
    ///
    /// # Errors
    /// If the program's folder cannot be entered.
    pub(crate) fn new(
        program: Program,
        mark: (&'static str, String),
        output: PipeWriter,
        is_apart: bool,
    ) -> io::Result<Start> {
        #[cfg(target_os = "linux")]
        if is_apart {
            without_copy::stand(&program)?;
        }
        #[cfg(not(target_os = "linux"))]
        let _ = is_apart;
        Ok(Start {
            #[cfg(target_os = "linux")]
            stands: is_apart,
            program,
            mark,
            output,
        })
    }

    /// Starts the program. It has no controlling terminal, so nothing asks for a password or draws there.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn spawn(self) -> io::Result<Pid> {
        #[cfg(target_os = "linux")]
        if self.stands {
            return without_copy::spawn(self);
        }
        with_copy::spawn(self)
    }
}

#[cfg(target_os = "linux")]
mod without_copy {
    use super::{Program, Start};
    use nix::sched::{CloneFlags, unshare};
    use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
    use nix::sys::signal::{SigSet, Signal};
    use rustix::io::fcntl_dupfd_cloexec;
    use rustix::process::{Pid, chdir, fchdir};
    use std::collections::BTreeMap;
    use std::ffi::{CString, OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
    use std::os::unix::ffi::OsStrExt as _;

    pub(super) fn stand_apart() -> bool {
        unshare(CloneFlags::CLONE_FS).is_ok()
    }

    /// Enters the program's folder.
    pub(super) fn stand(program: &Program) -> io::Result<()> {
        match &program.held {
            Some(held) => Ok(fchdir(held)?),
            None => Ok(chdir(&program.directory)?),
        }
    }

    pub(super) fn spawn(start: Start) -> io::Result<Pid> {
        let Start {
            program, mark, output, ..
        } = start;
        let mut actions = PosixSpawnFileActions::init()?;
        let input = match program.input {
            Some(input) => input,
            None => File::open("/dev/null")?.into(),
        };
        actions.add_dup2(input.as_raw_fd(), 0)?;
        actions.add_dup2(output.as_raw_fd(), 1)?;
        actions.add_dup2(
            program
                .errors
                .as_ref()
                .map_or(output.as_raw_fd(), |errors| errors.as_raw_fd()),
            2,
        )?;
        let numbers: Vec<RawFd> = program.handed.iter().map(|handed| handed.child_fd).collect();
        let handed = program.handed.into_iter();
        let handed: Vec<(OwnedFd, RawFd)> = handed
            .map(|handed| Ok((apart(handed.parent_fd, &numbers)?, handed.child_fd)))
            .collect::<io::Result<_>>()?;
        for (held, number) in &handed {
            actions.add_dup2(held.as_raw_fd(), *number)?;
        }
        let mut attributes = PosixSpawnAttr::init()?;
        // As the standard library does: this process ignores SIGPIPE, its children must not.
        attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
        attributes.set_sigmask(&SigSet::empty())?;
        let session = PosixSpawnFlags::from_bits_retain(i32::from(libc::POSIX_SPAWN_SETSID));
        attributes
            .set_flags(session | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
        let path = text(&program.program)?;
        let arguments = std::iter::once(&program.program).chain(&program.arguments);
        let arguments: Vec<CString> = arguments.map(|argument| text(argument)).collect::<io::Result<_>>()?;
        let mark = (OsString::from(mark.0), OsString::from(mark.1));
        // If a variable is repeated, the last one counts.
        let environment: BTreeMap<OsString, OsString> = std::iter::once(mark).chain(program.environment).collect();
        let environment: Vec<CString> = environment
            .into_iter()
            .map(|(mut variable, value)| {
                variable.push("=");
                variable.push(value);
                text(&variable)
            })
            .collect::<io::Result<_>>()?;
        let pid = posix_spawn(path.as_c_str(), &actions, &attributes, &arguments, &environment)?;
        // A PID is above 0.
        Pid::from_raw(pid.as_raw()).ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// Duplicates the descriptor to a number that is none of these, since `dup2` during the start would overwrite it.
    fn apart(held: OwnedFd, numbers: &[RawFd]) -> io::Result<OwnedFd> {
        let mut all = vec![held];
        while let Some(held) = all.pop_if(|held| numbers.contains(&held.as_raw_fd())) {
            let next = fcntl_dupfd_cloexec(&held, 3)?;
            all.extend([held, next]);
        }
        all.pop().ok_or_else(|| io::ErrorKind::Other.into())
    }

    fn text(text: &OsStr) -> io::Result<CString> {
        Ok(CString::new(text.as_bytes())?)
    }
}

mod with_copy {
    use super::Start;
    use crate::files;
    use command_fds::CommandFdExt as _;
    use process_wrap::std::{CommandWrap, ProcessSession};
    use rustix::process::Pid;
    use std::io;
    use std::process::{Command, Stdio};

    pub(super) fn spawn(start: Start) -> io::Result<Pid> {
        let Start {
            program, mark, output, ..
        } = start;
        let mut command = Command::new(&program.program);
        command
            .args(&program.arguments)
            .current_dir(
                program
                    .held
                    .as_ref()
                    .and_then(files::name_of)
                    .unwrap_or(program.directory),
            )
            .env_clear()
            .env(mark.0, mark.1)
            .envs(program.environment)
            .stdin(program.input.map_or_else(Stdio::null, Stdio::from))
            .stderr(match program.errors {
                Some(errors) => Stdio::from(errors),
                None => Stdio::from(output.try_clone()?),
            })
            .stdout(output);
        command.fd_mappings(program.handed).map_err(io::Error::other)?;
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessSession);
        // The folder is held until the program has started there.
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::ErrorKind::Other.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::handed::hand;
    use codelet_process::MARK;
    use rustix::io::fcntl_dupfd_cloexec;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::time::Duration;

    /// The output of a shell started with or without fork, with these descriptors handed to it.
    fn printed(line: &'static str, handed: Vec<command_fds::FdMapping>, copies: bool) -> String {
        let (mut printed, output) = io::pipe().unwrap();
        let program = Program {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), line.into()],
            directory: "/usr".into(),
            held: None,
            input: None,
            errors: None,
            handed,
            environment: [("A", "1"), ("B", "2"), ("A", "3")]
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
            sandbox: None,
            timeout: Duration::from_secs(20),
        };
        let starting = move || {
            let is_apart = !copies && stand_apart();
            let start = Start::new(program, (MARK, "x".to_owned()), output, is_apart).unwrap();
            start.spawn().unwrap();
        };
        std::thread::spawn(starting).join().unwrap();
        let mut text = String::new();
        printed.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn it_gets_what_it_is_given_and_leads_a_session_of_its_own() {
        for copies in [false, true] {
            let told = printed(
                "pwd; echo $A$B$CODELET_CALL; ps -o sid= -p $$ | grep -c $$; cat",
                Vec::new(),
                copies,
            );
            assert_eq!(told, "/usr\n32x\n1\n");
        }
    }

    #[test]
    fn descriptors_may_have_each_others_numbers() {
        for copies in [false, true] {
            let (mut one, first) = io::pipe().unwrap();
            let (mut two, second) = io::pipe().unwrap();
            // Far above the descriptors of other tests, which open and close files concurrently.
            let far = |pipe: PipeWriter| fcntl_dupfd_cloexec(&pipe, 700).unwrap();
            let (first, second) = (far(first), far(second));
            let numbers = [second.as_raw_fd(), first.as_raw_fd()];
            let handed = vec![hand(first, numbers[0]), hand(second, numbers[1])];
            let line = "cd /proc/self/fd; for n in 70?; do echo $n > $n; done";
            assert_eq!(printed(line, handed, copies), "");
            for (pipe, number) in [&mut one, &mut two].into_iter().zip(numbers) {
                let mut text = String::new();
                pipe.read_to_string(&mut text).unwrap();
                assert_eq!(text, format!("{number}\n"));
            }
        }
    }
}
