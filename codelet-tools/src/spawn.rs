//! Starts a program in a session of its own, with nothing open but what it is given.
//!
//! To start one from a copy of this process takes the longer the more memory a session holds: the copy gets tables of all of it, and
//! what either of the two writes then is copied first. So it is started without a copy where a thread can have a working directory of
//! its own, which such a start has no other way to set.

use crate::process::Program;
use rustix::process::Pid;
use std::io::{self, PipeWriter};

/// A program that is about to be started by the thread that made this.
pub(crate) struct Start {
    program: Program,
    mark: (&'static str, String),
    output: PipeWriter,
    /// The thread stands in the program's folder, and no other thread does.
    #[cfg(target_os = "linux")]
    stands: bool,
}

impl Start {
    /// Gets ready, on a thread that ends after the start. To be called before that is restricted.
    ///
    /// # Errors
    /// When the program's folder cannot be entered.
    pub(crate) fn new(program: Program, mark: (&'static str, String), output: PipeWriter) -> io::Result<Start> {
        Ok(Start {
            #[cfg(target_os = "linux")]
            stands: without_copy::stand(&program)?,
            program,
            mark,
            output,
        })
    }

    /// Starts it. Without a terminal, nothing asks for a password there, and nothing draws on it.
    ///
    /// # Errors
    /// When the system refuses.
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
    use super::Start;
    use crate::process::Program;
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

    /// Has the calling thread alone stand in the program's folder. Says no where it cannot part from the others, as in some containers.
    pub(super) fn stand(program: &Program) -> io::Result<bool> {
        if unshare(CloneFlags::CLONE_FS).is_err() {
            return Ok(false);
        }
        match &program.held {
            Some(held) => fchdir(held)?,
            None => chdir(&program.directory)?,
        }
        Ok(true)
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
        // As the standard library starts programs: this process passes over broken pipes, and others do not.
        attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
        attributes.set_sigmask(&SigSet::empty())?;
        let session = PosixSpawnFlags::from_bits_retain(i32::from(libc::POSIX_SPAWN_SETSID));
        attributes
            .set_flags(session | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
        let path = text(&program.program)?;
        let arguments = std::iter::once(&program.program).chain(&program.arguments);
        let arguments: Vec<CString> = arguments.map(|argument| text(argument)).collect::<io::Result<_>>()?;
        let mark = (OsString::from(mark.0), OsString::from(mark.1));
        // Of variables with one name the last counts.
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
        // A process has a number above 0.
        Pid::from_raw(pid.as_raw()).ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// The same descriptor under a number that is none of these: one is put in the place of the other while the program starts.
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
        // The folder is held until the program has begun there.
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
    use crate::process_tree::MARK;
    use rustix::io::fcntl_dupfd_cloexec;
    use std::io::Read as _;
    use std::os::fd::AsRawFd as _;
    use std::time::Duration;

    /// What a shell prints that is started with a copy of this process, or without one, and gets what is handed to it.
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
            let mut start = Start::new(program, (MARK, "x".to_owned()), output).unwrap();
            start.stands &= !copies;
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
            // Far above those of other tests, which open and close files beside this one.
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
