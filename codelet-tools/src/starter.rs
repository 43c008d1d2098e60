//! The threads that start programs.
//!
//! A [sandbox](crate::sandbox) restricts the calling thread for good, so each program is started by a thread of its own,
//! which then ends. The kernel checks and compiles a filter of system calls each time that one is installed, which takes
//! a tenth of a short command; a thread inherits the filter of the one that created it. So the thread of a sandboxed
//! command first creates that of the next one, which thereby has the filter and the privileges of its kind of sandbox,
//! and none of this command's file rules.

use crate::sandbox::{Calls, Sandbox, Sandboxing};
use crate::spawn::{self, Unstarted};
use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// For each kind of sandbox, the thread that waits for the next command.
static WAITING: [Mutex<Option<Starter>>; Calls::KINDS] = [const { Mutex::new(None) }; Calls::KINDS];

/// A restricted thread that waits for its work.
struct Starter {
    work: Sender<Work>,
    /// True if the thread may have its own working directory, which it shares with the next one only.
    is_apart: bool,
}

/// What such a thread does. It takes the thread for the next command.
type Work = Box<dyn FnOnce(Option<Starter>) + Send>;

/// Does this work on a thread that ends afterwards; with `calls`, on one that has the filter and the privileges of that
/// kind of sandbox. The work is told whether the thread may have its own working directory.
///
/// # Errors
/// Those of the work, or if there is no such thread.
pub(crate) fn run<T: Send + 'static>(
    calls: Option<Calls>,
    work: impl FnOnce(bool) -> Result<T, Unstarted> + Send + 'static,
) -> Result<T, Unstarted> {
    let Some(calls) = calls else {
        let thread = thread(move || work(spawn::stand_apart()))?;
        return thread.join().unwrap_or_else(|_| Err(failed()));
    };
    // Locked to the end: the threads of a kind share their working directory.
    let mut waiting = WAITING[calls as usize].lock().unwrap_or_else(PoisonError::into_inner);
    let starter = match waiting.take() {
        Some(starter) => starter,
        None => Starter::first(calls)?,
    };
    let is_apart = starter.is_apart;
    let (answer, answered) = mpsc::sync_channel(1);
    let work: Work = Box::new(move |next| {
        let done = work(is_apart);
        if is_apart {
            // The folder would stay in use until the next command.
            spawn::leave();
        }
        let _ = answer.send((next, done));
    });
    starter.work.send(work).map_err(|_| failed())?;
    let (next, done) = answered.recv().map_err(|_| failed())?;
    *waiting = next;
    done
}

impl Sandbox {
    /// Tests which isolation this machine supports, on a thread that could start a command.
    pub fn probe() -> Sandboxing {
        let sandbox = Sandbox::new([]);
        match run(Some(sandbox.calls()), move |_| Ok(sandbox.enter_files())) {
            Ok(sandboxing) => sandboxing,
            Err(Unstarted::NoSandbox(missing)) => Sandboxing::None(missing),
            Err(Unstarted::Refused(error)) => Sandboxing::None(crate::files::reason(&error)),
        }
    }
}

impl Starter {
    /// Creates the first thread of a kind.
    fn first(calls: Calls) -> Result<Starter, Unstarted> {
        let (work, works) = mpsc::channel();
        let (answer, answered) = mpsc::sync_channel(1);
        thread(move || {
            // Now, since the filter may refuse it.
            let is_apart = spawn::stand_apart();
            let entered = calls.enter();
            let is_in = entered.is_ok();
            let _ = answer.send(entered.map(|()| is_apart));
            if is_in {
                Starter::wait(&works, is_apart);
            }
        })?;
        let entered = answered.recv().map_err(|_| failed())?;
        let is_apart = entered.map_err(Unstarted::NoSandbox)?;
        Ok(Starter { work, is_apart })
    }

    /// Creates a thread that is restricted as the calling one is.
    fn next(is_apart: bool) -> io::Result<Starter> {
        let (work, works) = mpsc::channel();
        thread(move || Starter::wait(&works, is_apart))?;
        Ok(Starter { work, is_apart })
    }

    fn wait(works: &Receiver<Work>, is_apart: bool) {
        if let Ok(work) = works.recv() {
            // Before the work, which restricts this thread further. Without it, the next command makes a first one.
            let next = Starter::next(is_apart).ok();
            work(next);
        }
    }
}

fn thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> io::Result<JoinHandle<T>> {
    Builder::new().name("starter".to_owned()).spawn(run)
}

fn failed() -> Unstarted {
    io::Error::other("the thread that starts commands failed").into()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::print_stdout)]

    use super::*;
    use crate::process;
    use crate::spawn::Program;
    use std::path::Path;
    use std::time::Duration;

    /// What a shell prints that runs this line in this folder and sandbox.
    fn printed(line: &str, folder: &Path, sandbox: Sandbox) -> String {
        let program = Program {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), line.into()],
            directory: folder.to_owned(),
            held: None,
            input: None,
            errors: None,
            handed: Vec::new(),
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            sandbox: Some(sandbox),
            timeout: Duration::from_secs(20),
        };
        let mut told = Vec::new();
        process::run(program, None, &mut |bytes| told.extend_from_slice(bytes)).unwrap();
        String::from_utf8(told).unwrap()
    }

    #[test]
    fn each_command_has_rules_and_a_folder_of_its_own_and_the_filters_of_its_kind_once() {
        if Sandbox::probe() != Sandboxing::Full {
            println!("skipped: there is no sandbox");
            return;
        }
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let [one, two] = ["one", "two"].map(|name| base.join(name));
        for folder in [&one, &two] {
            std::fs::create_dir(folder).unwrap();
        }
        const LINE: &str = "pwd; for f in one two; do (echo > ../$f/new) 2> /dev/null && echo $f; done; \
            grep -h Seccomp_filters /proc/self/status";
        for _ in 0..2 {
            for folder in [&one, &two] {
                let name = folder.file_name().unwrap().display();
                let told = printed(LINE, folder, Sandbox::new([folder.clone()]));
                assert_eq!(told, format!("{}\n{name}\nSeccomp_filters:\t1\n", folder.display()));
            }
        }
    }

    #[test]
    fn work_that_fails_leaves_the_next_command_a_thread() {
        if Sandbox::probe() != Sandboxing::Full {
            println!("skipped: there is no sandbox");
            return;
        }
        for _ in 0..2 {
            let failed = run(Some(Calls::Network), |_| -> Result<(), _> { panic!("on purpose") });
            assert!(failed.is_err());
            assert!(run(Some(Calls::Network), |_| Ok(())).is_ok());
        }
    }
}
