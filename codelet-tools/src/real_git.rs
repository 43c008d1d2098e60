//! Git with all settings of a repository: for actions that the user has approved, and for queries that start no
//! program.

use crate::bash;
use crate::files;
use crate::git;
use crate::handed::{self, Numbers};
use crate::process::{self, End};
use crate::sandbox::Sandbox;
use crate::spawn::{Program, Unstarted};
use crate::tool_context::{ToolContext, program_folders};
use command_fds::FdMapping;
use std::ffi::OsString;
use std::io::PipeReader;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// Timeout: hooks run tests.
const LONGEST: Duration = Duration::from_secs(30 * 60);
/// Timeout of a query, which starts nothing: a pipe in place of one of git's files would block it.
const ASKED: Duration = Duration::from_secs(10);
/// Grace period for processes that hooks left running.
const PATIENCE: Duration = Duration::from_millis(50);
/// Bytes of git's output that are kept.
const PRINTED: usize = 256 * 1024;
/// Last lines of the output that are shown on failure: there a hook says why it failed.
const TOLD: usize = 30;
/// Switches off the file system monitor, which is a program, and git's own maintenance, which would go on in the
/// background.
const QUIET: [&str; 7] = [
    "--no-pager", "-c", "core.fsmonitor=false", "-c", "maintenance.auto=false", "-c", "gc.auto=0",
];
/// Variables set by an outer git for another repository, which do not apply to this one.
const ELSEWHERE: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
];

/// Missing objects are not fetched: the repository's settings could name a program for that, and these variables
/// override them.
const NO_LAZY_FETCH: (&str, &str) = ("GIT_NO_LAZY_FETCH", "1");
const NO_FETCH: (&str, &str) = ("GIT_ALLOW_PROTOCOL", "none");

/// Git with the settings of the repository, at its root.
pub(crate) struct RealGit<'a> {
    pub context: &'a ToolContext,
    pub root: &'a Path,
    /// True if programs that it starts may fetch: hooks that the user has approved.
    pub fetches: bool,
    /// The pipe whose other end is closed when nobody waits for git any more.
    pub stop: Option<&'a PipeReader>,
}

/// The result of a run.
pub(crate) struct Ran {
    pub end: End,
    /// The output, without secrets.
    pub output: String,
}

impl Ran {
    /// Returns the output.
    ///
    /// # Errors
    /// If git failed: these words, and the end of the output.
    pub(crate) fn succeeded(self, else_told: &str) -> Result<String, String> {
        let output = self.output.trim_end();
        let lines: Vec<&str> = output.lines().collect();
        let first = lines.len().saturating_sub(TOLD);
        let before = match first {
            0 => String::new(),
            more => format!("[… {more} more lines]\n"),
        };
        match self.end {
            End::Exited(0) => Ok(output.to_owned()),
            End::Interrupted => Err("Interrupted; `! git status` shows the current state.".to_owned()),
            End::TimedOut => Err("Git was ended, as it took too long.".to_owned()),
            _ if output.is_empty() => Err(format!("{else_told}.")),
            _ => Err(format!("{else_told}:\n{before}{}", lines[first..].join("\n"))),
        }
    }
}

impl RealGit<'_> {
    /// Runs a query that starts no program and changes nothing.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<Ran, String> {
        let arguments = arguments.iter().map(OsString::from).collect();
        let offline = RealGit {
            fetches: false,
            ..*self
        };
        offline.start(arguments, None, Vec::new(), Some(Sandbox::new([])), ASKED)
    }

    /// Runs git with this stdin and, if there are pathspecs, with a file of them.
    pub(crate) fn run(
        &self,
        arguments: &[&str],
        input: Option<&[u8]>,
        pathspecs: Option<&[u8]>,
        sandbox: Option<Sandbox>,
    ) -> Result<Ran, String> {
        let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let mut handed = Vec::new();
        if let Some(pathspecs) = pathspecs {
            let number = Numbers::free()?.script;
            let name = handed::name(number);
            arguments.push(format!("--pathspec-from-file={name}").into());
            arguments.push("--pathspec-file-nul".into());
            handed.push(handed::hand(handed::script(pathspecs)?, number));
        }
        let input = input.map(handed::script).transpose()?;
        self.start(arguments, input, handed, sandbox, LONGEST)
    }

    fn start(
        &self,
        arguments: Vec<OsString>,
        input: Option<OwnedFd>,
        handed: Vec<FdMapping>,
        sandbox: Option<Sandbox>,
        timeout: Duration,
    ) -> Result<Ran, String> {
        let mut environment = bash::environment(self.context, sandbox.as_ref(), self.root);
        environment.retain(|(name, _)| !ELSEWHERE.iter().any(|elsewhere| name == elsewhere));
        let own = [Some(NO_LAZY_FETCH), (!self.fetches).then_some(NO_FETCH)];
        for (name, value) in own.into_iter().flatten() {
            environment.retain(|(known, _)| known != name);
            environment.push((name.into(), value.into()));
        }
        let widest = self.context.widest();
        let folders = program_folders(&environment, git::USUAL, &widest);
        let found = git::program(folders, self.root, &widest);
        let program = found.ok_or("Git is not installed, or only in a place that commands can change.")?;
        let held = files::hold_folder(self.root).map_err(|error| files::reason(&error))?;
        let quiet = QUIET.iter().map(OsString::from);
        let program = Program {
            program: program.into(),
            arguments: quiet.chain(arguments).collect(),
            directory: self.root.to_owned(),
            held: Some(held),
            input,
            errors: None,
            environment,
            handed,
            sandbox,
            timeout,
        };
        let mut printed = Vec::new();
        let ended = process::run(program, self.stop, &mut |bytes| {
            let room = PRINTED - printed.len();
            printed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        });
        let ended = ended.map_err(|error| match error {
            Unstarted::NoSandbox(missing) => {
                format!("Git was not run: there is no sandbox here ({missing}); permission `all` runs it without one.")
            }
            Unstarted::Refused(error) => format!("Git cannot be started: {}.", files::reason(&error)),
        })?;
        // A hook's background processes must not go on unseen.
        ended.family.end(PATIENCE, || {});
        let printed = String::from_utf8_lossy(&printed);
        Ok(Ran {
            end: ended.end,
            output: self.context.secrets().hide_with_parts(&printed).into_owned(),
        })
    }
}
