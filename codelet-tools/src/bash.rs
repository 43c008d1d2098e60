//! `Bash`: runs a command line and returns its output as a terminal would finally show it.

use crate::arguments;
use crate::bounded::Bounded;
use crate::caches;
use crate::cwd::{CwdPipe, NOTING, NOTING_FREE, NOTING_STATUSES};
use crate::ending;
use crate::files;
use crate::handed::{self, Numbers};
use crate::lack;
use crate::left::Left;
use crate::process::{self, End};
use crate::run_blocking::{INTERRUPTED, watched};
use crate::sandbox::{Sandbox, is_program_of_the_system};
use crate::secrets::Hiding;
use crate::spawn::{Program, Unstarted};
use crate::tool_context::{PATH, ToolContext, spec};
use codelet_agent::model::ToolSpec;
use codelet_agent::orders;
use codelet_agent::permission::{Looks, Permission, looks};
use codelet_agent::tool::{Call, Lack, Live, Looking, Need, Output, Owner, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::printed::Cleaner;
use codelet_text::shell::word;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval at which output is shown while the command runs.
const PACE: Duration = Duration::from_millis(50);
/// Bytes of output buffered for display; a person sees the end of it.
const WAITING: usize = 8192;
/// Makes programs work without a terminal: no pagers, editors, prompts or colours.
const MANNERS: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];
/// Additional variables for read-only commands. They have no home: settings there would be unreadable, and programs,
/// above all git, fail on files that exist and cannot be read. Git accepts a repository of any owner, since its
/// settings can do nothing here.
const LOOKING: [(&str, &str); 8] = [
    ("HOME", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.directory"),
    ("GIT_CONFIG_VALUE_0", "*"),
];

/// Returns whether read-only commands get this variable: search path, user, language and time zone. All others may name
/// files or programs.
fn is_for_looks(name: &str) -> bool {
    matches!(name, "PATH" | "USER" | "LOGNAME" | "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_")
}

/// Limits per process of a read-only command, which runs without a prompt: an hour of CPU time, which also ends
/// background jobs, and 4 GiB of data segment (mapped files do not count). The number of processes has no limit, since
/// the kernel counts it per user.
const BOUNDS: &str = "{ ulimit -t 3600; ulimit -d 4194304; } 2>/dev/null; ";

/// Variables that commands do not get: startup files of shells, directories other than the working directory, and the
/// mark of another session.
const DROPPED: [&str; 6] = ["BASH_ENV", "ENV", "PWD", "OLDPWD", "CDPATH", codelet_process::MARK];

/// The tool.
pub(crate) struct Bash {
    spec: ToolSpec,
    context: Arc<ToolContext>,
    shell: PathBuf,
    is_bash: bool,
    left: Arc<Left>,
}

impl Bash {
    pub(crate) fn new(context: &Arc<ToolContext>) -> Self {
        let longest = context.options.bash_longest.as_millis();
        let parameters = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {"type": "integer", "description": format!("ms, at most {longest}; {} if not given", context.options.bash_timeout.as_millis())},
                "stop": {"type": "integer", "description": "a job to end first, with all that its command left running"},
            },
            "required": ["command"],
        });
        let bash = bash(context);
        Bash {
            spec: spec("Bash", include_str!("bash.md"), parameters),
            is_bash: bash.is_some(),
            shell: bash.unwrap_or_else(|| PathBuf::from("/bin/sh")),
            context: Arc::clone(context),
            left: Arc::default(),
        }
    }

    /// Builds the program to run and the note that will report its final working directory.
    ///
    /// # Errors
    /// Says why nothing can be run.
    fn program(
        &self,
        command: &str,
        timeout: Duration,
        (sandbox, is_shut_in): (Option<Sandbox>, bool),
    ) -> Result<(Program, CwdPipe), String> {
        let context = &self.context;
        let (directory, held) = self.stand(is_shut_in)?;
        let numbers = Numbers::free()?;
        let only_looks = sandbox.as_ref().is_some_and(Sandbox::only_looks);
        // `exec` would be named in the message that a program is not installed.
        let is_installed = || {
            command
                .split_whitespace()
                .next()
                .is_some_and(|name| self.found(name).is_some())
        };
        let replaces = only_looks && is_one_program(command) && is_installed();
        let (note, pipe) = CwdPipe::begin(replaces).map_err(|error| files::reason(&error))?;
        let mut handed = vec![handed::hand(pipe, numbers.note)];
        // The trap notes the final directory however the command ends, unless the command sets its own EXIT trap or
        // `exec`s another program. Shells other than bash can use such a high descriptor number only through its name.
        let note_where = match &sandbox {
            None => NOTING_FREE,
            Some(_) => NOTING,
        };
        let noting = match self.is_bash {
            // Shows nothing of it, even with `set -x`.
            true => format!("{{ {NOTING_STATUSES}{note_where}; }} >&{} 2>/dev/null", numbers.note),
            false => format!("{note_where} > {}", handed::name(numbers.note)),
        };
        let mut line = match replaces {
            true => format!("exec {command}"),
            false => format!("trap {} EXIT; {command}", word(&noting)),
        };
        if self.is_bash {
            // The shell has read the script by then under its own descriptor; closing this one keeps it from the
            // command's programs.
            line.insert_str(0, &format!("exec {}<&-; ", numbers.script));
        }
        if only_looks {
            line.insert_str(0, BOUNDS);
        }
        // Not passed as an argument: anything that finds processes by command line (`pkill -f`, `pgrep -f`, `ps |
        // grep`) would match the shell that runs this very line.
        handed.push(handed::hand(handed::script(&line)?, numbers.script));
        let environment = environment(context, sandbox.as_ref(), &directory);
        let program = Program {
            program: self.shell.clone().into(),
            arguments: vec![handed::name(numbers.script).into()],
            directory,
            held: Some(held),
            input: None,
            errors: None,
            environment,
            handed,
            sandbox,
            timeout,
        };
        Ok((program, note))
    }

    /// Makes the next sandboxed command start in this folder, which is relative to the session's directory.
    fn begin_in(&self, folder: &str) {
        let begin = match folder {
            "" => self.context.paths.directory().to_owned(),
            folder => self.context.paths.directory().join(folder),
        };
        // A non-UTF-8 name cannot be expressed here; the shell's directory then stays as it is.
        if begin.is_dir() {
            self.context.shells().go(begin, true);
        }
    }

    /// Returns the working directory of the next command and a descriptor for it.
    ///
    /// # Errors
    /// Says that the shell's directory has changed, so a command meant for the earlier one must not run.
    fn stand(&self, is_shut_in: bool) -> Result<(PathBuf, OwnedFd), String> {
        let context = &self.context;
        let mut shells = context.shells();
        let turned = shells.turn(is_shut_in);
        let now = shells.at(is_shut_in).to_owned();
        let again = "repeat the command if it should run there";
        if let Some(was) = turned {
            return Err(format!(
                "a directory change made in the sandbox does not apply outside it. The shell is in {} now; {again}, or begin it with `cd {} && `",
                context.paths.show(&now),
                word(&was.display().to_string())
            ));
        }
        match files::hold_folder(&now) {
            Ok(held) => Ok((now, held)),
            Err(_) if now != context.paths.directory() => {
                let begin = context.paths.directory();
                shells.go(begin.to_owned(), is_shut_in);
                let (gone, begin) = (context.paths.show(&now), begin.display());
                Err(format!(
                    "{gone}, the shell's directory, was removed or replaced by a link. The shell is in {begin} now; {again}"
                ))
            }
            Err(error) => Err(format!(
                "the shell cannot be started in {}: {}",
                now.display(),
                files::reason(&error)
            )),
        }
    }
}

impl Bash {
    /// Returns the reason if read-only commands, started in the shell's directory, may see something outside the
    /// workspace or start a program that is not the system's. Whatever this check misses, their sandbox refuses.
    fn reaches_beyond(&self, looks: &Looks, at: &Path) -> Option<String> {
        let is_bounded = match looks.is_all {
            true => self.context.looks_stay_inside(),
            // When mixed with other commands, they are not kept from the dot files of a home.
            false => !self.context.owned.holds_home(),
        };
        if !is_bounded {
            return Some("the workspace or the home directory is in a directory of the system".to_owned());
        }
        let foreign = |name: &str| -> Option<PathBuf> {
            if is_word_of_the_shell(name) {
                return None;
            }
            // A line that only reads puts no program in place of a missing one.
            let missing = (!looks.is_all).then(|| name.into());
            let program = self.found(name).or(missing);
            program.filter(|program| !is_program_of_the_system(program))
        };
        let named = looks.programs.iter().map(|name| (name.as_str(), foreign(name)));
        let shell = (
            "bash",
            Some(self.shell.clone()).filter(|shell| !is_program_of_the_system(shell)),
        );
        if let Some((name, path)) = named.chain([shell]).find_map(|(name, path)| Some((name, path?))) {
            return Some(format!("`{name}` is {}, not a program of the system", path.display()));
        }
        if looks.programs.iter().any(|program| program == "git") && !self.has_plain_repository(at) {
            return Some("there is no git repository in the workspace, or it is stored elsewhere".to_owned());
        }
        let outside = looks.operands.iter().find(|operand| self.is_outside(operand, at))?;
        Some(format!("it reads {outside}, which is outside the workspace"))
    }

    /// Returns whether a word names a path outside the workspace. A word that names nothing is not a path, unless it
    /// plainly leads outside.
    fn is_outside(&self, word: &str, at: &Path) -> bool {
        let path = at.join(word);
        let mut pieces = Path::new(word).components();
        let leads = match pieces.next() {
            // `/users/{id}` is a pattern if there is no such folder.
            Some(Component::RootDir) => pieces.next().is_some_and(|first| Path::new("/").join(first).exists()),
            _ => Path::new(word).components().any(|piece| piece == Component::ParentDir),
        };
        let is_inside = || {
            let place = self.context.paths.resolve(&path.to_string_lossy());
            place.is_ok_and(|place| place.is_inside && !self.context.owned.is_of_home(&place.path))
        };
        (leads || path.symlink_metadata().is_ok()) && !is_inside()
    }

    /// Finds the program that the shell starts under this name.
    fn found(&self, name: &str) -> Option<PathBuf> {
        let path = self.context.options.env.iter().find(|(variable, _)| variable == "PATH");
        let path = path.map_or_else(|| OsString::from(PATH), |(_, value)| value.clone());
        let found = std::env::split_paths(&path).map(|folder| match folder.as_os_str().is_empty() {
            true => PathBuf::from(name),
            false => folder.join(name),
        });
        found.into_iter().find(|file| file.exists())
    }

    /// Returns whether git would use a repository inside the workspace there, and not one elsewhere to which a file or
    /// link refers.
    fn has_plain_repository(&self, at: &Path) -> bool {
        let is_inside = |folder: &&Path| self.context.paths.roots().any(|root| folder.starts_with(root));
        let mut folders = at.ancestors().take_while(is_inside);
        let is_there = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
        let holds = folders
            .find(is_there)
            .and_then(|folder| folder.join(".git").symlink_metadata().ok());
        holds.is_some_and(|repository| repository.is_dir())
    }
}

/// Returns whether a read-only line is plainly one program and its arguments. Such a program can replace the shell
/// (`exec`), as `sh -c` does with a single command: the final directory is known, and it is not a pipeline.
fn is_one_program(line: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !";&|<(){}$`\\!#".contains(c);
    let Some(looks) = looks(line).filter(|_| line.chars().all(is_plain)) else {
        return false;
    };
    let is_begin = |program: &String| line.starts_with(program.as_str()) && !is_word_of_the_shell(program);
    matches!(looks.programs.as_slice(), [program] if is_begin(program))
}

/// Returns whether this is a shell builtin, regardless of `PATH`.
fn is_word_of_the_shell(name: &str) -> bool {
    matches!(
        name,
        "command" | "echo" | "printf" | "true" | "false" | ":" | "pwd" | "test" | "["
    )
}

impl Drop for Bash {
    fn drop(&mut self) {
        for family in self.left.families().drain(..) {
            family.end(Duration::from_millis(50), || {});
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn action(&self, parameters: &Parameters) -> Action {
        Action::command(parameters.str("command").unwrap_or_default())
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let command = arguments::text(parameters, "command")?.to_owned();
        arguments::number(parameters, "timeout")?;
        arguments::number(parameters, "stop")?;
        elsewhere(parameters)?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err("`command` has to be a command line".to_owned());
        }
        let is_shut_in = self.context.permission() != Permission::All;
        let at = self.context.shells().at(is_shut_in).to_owned();
        let looks = looks(&command).filter(|_| is_shut_in);
        let beyond = looks.as_ref().and_then(|looks| self.reaches_beyond(looks, &at));
        let looks = match (looks.map(|looks| looks.is_all), beyond) {
            (Some(true), None) => Looking::Only,
            (Some(true), Some(why)) => Looking::Beyond(why),
            (Some(false), None) => Looking::Inside,
            // A command line that cannot be analysed may reach anything.
            (Some(false), Some(_)) | (None, _) => Looking::Outside,
        };
        let folder = at.strip_prefix(self.context.paths.directory()).unwrap_or(&at);
        Ok(vec![Need::Run {
            command,
            folder: folder.to_string_lossy().into_owned(),
            looks,
        }])
    }

    fn describe(&self, parameters: &Parameters) -> String {
        parameters.str("command").unwrap_or_default().trim().to_owned()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            if call.interrupt.is_thrown() {
                return Output::failure(INTERRUPTED);
            }
            let command = call.parameters.str("command").unwrap_or_default();
            let permission = self.context.permission();
            let is_shut_in = permission != Permission::All;
            let objection = || self.context.owned.committed.objection(command);
            if let Some(objection) = is_shut_in.then(objection).flatten() {
                return Output::failure(objection);
            }
            let timeout = match arguments::number(call.parameters, "timeout") {
                Ok(Some(ms)) if ms > 0 => Duration::from_millis(ms).min(self.context.options.bash_longest),
                _ => self.context.options.bash_timeout,
            };
            let begun = || {
                // A retry starts in the directory of the first try, which may have moved elsewhere.
                if let Some(folder) = call.permitted.iter().find_map(begun_in).filter(|_| is_shut_in) {
                    self.begin_in(folder);
                }
                let sandbox = match is_shut_in && call.permitted.iter().all(Need::only_looks) {
                    true => Some(self.context.looking()),
                    false => self.context.sandbox(permission),
                };
                // Exceptions granted in a session apply only while its permission allows changes.
                let sandbox = match permission {
                    Permission::Edit => sandbox.and_then(|sandbox| widened(sandbox, command, call.permitted)),
                    Permission::Plan | Permission::Read | Permission::All => sandbox,
                };
                self.program(command, timeout, (sandbox, is_shut_in))
            };
            let (program, note) = match begun() {
                Ok(begun) => begun,
                Err(why) => return Output::failure(format!("nothing was run: {why}")),
            };
            let (context, left, live) = (Arc::clone(&self.context), Arc::clone(&self.left), call.live.clone());
            let job = arguments::number(call.parameters, "stop").ok().flatten();
            let run = move |stopped: PipeReader| {
                let (output, open) = ran((&context, permission), program, &stopped, live, note, (&left, job));
                if let Some(open) = open {
                    // Without a thread, jobs that still write are ended by that.
                    let apart = std::thread::Builder::new().name("discard".to_owned());
                    let _ = apart.spawn(move || discard(open));
                }
                output
            };
            match watched("bash", &call.interrupt, run) {
                Ok(answer) => {
                    let unwatched = || Output::failure("the command could not be watched");
                    answer.await.unwrap_or_else(unwatched)
                }
                Err(error) => Output::failure(format!("no command can be run: {}", files::reason(&error))),
            }
        })
    }
}

/// What a command of the shell's has for an environment in this sandbox, or outside of any, and in this folder.
pub(crate) fn environment(
    context: &ToolContext,
    sandbox: Option<&Sandbox>,
    directory: &Path,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = context
        .secrets()
        .environment(&context.options.env, &context.options.env_allowed)
        .filter(|(name, _)| !DROPPED.iter().any(|dropped| name == dropped))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if !environment.iter().any(|(name, _)| name == "PATH") {
        environment.push(("PATH".into(), PATH.into()));
    }
    if !reads_utf8(&environment) {
        environment.retain(|(name, _)| name != LC_ALL);
        environment.push((LC_ALL.into(), "C.UTF-8".into()));
    }
    if sandbox.is_some_and(Sandbox::only_looks) {
        environment.retain(|(name, _)| is_for_looks(&name.to_string_lossy()));
        environment.extend(LOOKING.map(|(name, value)| (name.into(), value.into())));
    }
    environment.extend(MANNERS.map(|(name, value)| (name.into(), value.into())));
    environment.push(("PWD".into(), directory.to_owned().into()));
    if let Some(sandbox) = sandbox.filter(|sandbox| !sandbox.only_looks()) {
        let temporary = context.temporary(sandbox);
        if temporary != context.options.temporary {
            environment.retain(|(name, _)| name != TMPDIR);
            environment.push((TMPDIR.into(), temporary.into()));
        }
        if let Some(caches) = context.caches() {
            caches::redirect(&mut environment, caches, context.options.home.as_deref(), sandbox);
        }
    }
    environment
}

/// The directory in which a command that is retried was first run.
fn begun_in(need: &Need) -> Option<&str> {
    match need {
        Need::RunWith { folder, .. } => Some(folder),
        _ => None,
    }
}

/// Applies the exceptions granted for this command to the sandbox; `None` if it may run outside it.
fn widened(sandbox: Sandbox, command: &str, permitted: &[Need]) -> Option<Sandbox> {
    let mut sandbox = sandbox;
    for need in permitted {
        match need {
            Need::RunWith {
                command: meant, lack, ..
            } if meant == command => match lack {
                Lack::Network => sandbox = sandbox.with_network(true),
                Lack::Freedom => return None,
            },
            _ => {}
        }
    }
    Some(sandbox)
}

/// Rejects parameters that other agents' shells take and for which this one uses the command line. A command that runs
/// in another folder than intended could do harm there.
///
/// # Errors
/// Says what to write instead.
fn elsewhere(parameters: &Parameters) -> Result<(), String> {
    const FOLDERS: [&str; 6] = ["cwd", "workdir", "working_directory", "working_dir", "directory", "dir"];
    const APART: [&str; 4] = ["run_in_background", "background", "is_background", "isBackground"];
    for name in FOLDERS {
        if let Some(folder) = arguments::optional_text(parameters, name)? {
            return Err(format!(
                "nothing was run: for another folder begin the command with `cd {} && `; the next one starts where it ended",
                word(folder)
            ));
        }
    }
    for name in APART {
        if arguments::flag(parameters, name)? {
            return Err(
                "nothing was run: for the background end the command with `> FILE 2>&1 &`, and look at the file later"
                    .to_owned(),
            );
        }
    }
    Ok(())
}

/// Ends this job of an earlier command if there is one, and runs the program. Returns its output, and the pipe if another
/// process still writes to it.
fn ran(
    (context, permission): (&ToolContext, Permission),
    program: Program,
    stop: &PipeReader,
    live: Live,
    note: CwdPipe,
    (left, job): (&Left, Option<u64>),
) -> (Output, Option<PipeReader>) {
    let stopped = job.map(|pid| ending::stopped(pid, &left.stop(pid)));
    let timeout = program.timeout;
    let from = program.directory.clone();
    let script = program.arguments.first().cloned().unwrap_or_default();
    // A command that runs outside the sandbox by exception still uses the directory of sandboxed commands.
    let is_shut_in = permission != Permission::All;
    let sandbox = program.sandbox.clone();
    // While a job of an earlier command runs, anything may change during a read-only command.
    let has_jobs = !left.families().is_empty();
    let may_change = has_jobs || !program.sandbox.as_ref().is_some_and(Sandbox::only_looks);
    // A job that an earlier command left may have changed it.
    let mut between = left.look(context, is_shut_in);
    // Without any jobs, the change came from the user or the user's editor.
    if !has_jobs {
        between.retain(|path| gives_orders(context, path).is_none());
    }
    let between = named(context, &between);
    let mut notices: Vec<String> = between.iter().map(|(what, does)| format!(
        "{what} changed between two commands, through a background job or another program; it {does}: please check it"
    )).collect();
    let mut paper = Paper::new(context, &script, live);
    let ended = match process::run(program, Some(stop), &mut |bytes| paper.print(bytes)) {
        Ok(ended) => ended,
        Err(error) => {
            let told = match error {
                Unstarted::NoSandbox(missing) => format!(
                    "nothing was run: commands need a sandbox, which is not available here: {missing}. `/permission all` runs them without one"
                ),
                Unstarted::Refused(error) => format!(
                    "the shell cannot be started in {}: {}",
                    from.display(),
                    files::reason(&error)
                ),
            };
            let output = Output {
                notices,
                ..Output::failure(told)
            };
            return (output, None);
        }
    };
    let stands = note.read(&[&from, context.paths.directory()]);
    let moved = ending::moved(context, &stands, &from);
    let pipe = match ended.end {
        End::Exited(_) => stands.pipe,
        _ => Box::default(),
    };
    context.shells().go(stands.directory, is_shut_in);
    let (mut text, lost) = paper.finish();
    let success = ended.end == End::Exited(0);
    // A command before the last pipe has its own exit status.
    let has_failed = matches!(ended.end, End::Exited(status) if status != 0 || pipe.iter().any(|status| *status != 0));
    let earlier = left.earlier(&ended.left);
    let mut notes = stopped.unwrap_or_default();
    notes.push_str(&ending::notes(
        context,
        &ended,
        timeout,
        (&text, sandbox.as_ref()),
        moved,
        &pipe,
        &earlier,
    ));
    let lack = sandbox
        .filter(|_| has_failed && permission == Permission::Edit)
        .and_then(|sandbox| lack::of(context, &sandbox, &from, &text));
    // A read-only command changes nothing, and changes that the user makes meanwhile are found before the next command.
    let during = match may_change {
        true => left.look(context, is_shut_in),
        false => Vec::new(),
    };
    if let Some((what, does)) = between {
        notes.push_str(&format!(
            "[{what}, which {does}, changed before this command began; the user is told]\n"
        ));
    }
    // This cannot be prevented: the command may write in the workspace, and committing writes there.
    if let Some((what, does)) = named(context, &during).filter(|_| is_shut_in) {
        notes.push_str(&format!(
            "[{what}, which {does}, changed while this ran; the user is told]\n"
        ));
        notices.push(format!(
            "{what}, which {does}, changed while a sandboxed command ran: please check it"
        ));
    }
    if !text.is_empty() && !text.ends_with('\n') && !notes.is_empty() {
        text.push('\n');
    }
    text.push_str(&notes);
    let output = Output {
        success,
        pipe,
        remarks: notes.len(),
        lost,
        lack,
        notices,
        ..Output::success(text)
    };
    if !ended.left.is_empty() {
        left.families().push(ended.family);
    }
    (output, ended.open)
}

/// Says what a file does, if it instructs programs other than git.
fn gives_orders(context: &ToolContext, path: &Path) -> Option<&'static str> {
    let below = context.paths.below(path);
    match orders::obeys(&below.to_string_lossy())? {
        Owner::Obeyed(does) => Some(does),
        Owner::Codelet => Some(Owner::Codelet.reason()),
        Owner::Git | Owner::Home => None,
    }
}

/// Names the first of these files, counts the rest, and says what the first one does.
pub(crate) fn named(context: &ToolContext, paths: &[PathBuf]) -> Option<(String, &'static str)> {
    let path = paths.first()?;
    let first = context.paths.show(path);
    let does = gives_orders(context, path).unwrap_or("may make git start programs outside of the sandbox");
    let what = match paths.len() - 1 {
        0 => first,
        more => format!("{first} and {more} more"),
    };
    Some((what, does))
}

/// Reads and discards the output of background jobs, so that writing does not end them.
fn discard(mut open: PipeReader) {
    let flags = rustix::fs::fcntl_getfl(&open).map(|flags| flags - rustix::fs::OFlags::NONBLOCK);
    if flags.is_ok_and(|flags| rustix::fs::fcntl_setfl(&open, flags).is_ok()) {
        let mut buffer = [0; 4096];
        while open.read(&mut buffer).is_ok_and(|read| read > 0) {}
    }
}

/// The output as it arrives: cleaned, without secrets, bounded, and displayed.
struct Paper {
    /// Prefix of the shell's error messages: the name of its script.
    complaint: String,
    cleaner: Cleaner,
    hiding: Hiding,
    kept: Bounded,
    live: Live,
    waiting: String,
    shown: Instant,
}

impl Paper {
    fn new(context: &ToolContext, script: &OsStr, live: Live) -> Self {
        Paper {
            complaint: format!("{}: line ", script.display()),
            cleaner: Cleaner::default(),
            hiding: Hiding::new(context.options.secrets.clone()),
            kept: Bounded::default(),
            live,
            waiting: String::new(),
            shown: Instant::now(),
        }
    }

    fn print(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            let text = self.cleaner.push(bytes);
            let text = self.hiding.push(text);
            self.keep(&text);
        }
        if !self.waiting.is_empty() && self.shown.elapsed() >= PACE {
            self.live.show(&self.waiting);
            self.waiting.clear();
            self.shown = Instant::now();
        }
    }

    fn keep(&mut self, text: &str) {
        // As bash prints it for a command typed at a prompt.
        let text = text.replace(&self.complaint, "bash: line ");
        self.kept.push(&text);
        self.waiting.push_str(&text);
        if self.waiting.len() > WAITING {
            let from = self.waiting.ceil_char_boundary(self.waiting.len() - WAITING / 2);
            self.waiting.drain(..from);
        }
    }

    fn finish(mut self) -> (String, u64) {
        let text = self.cleaner.finish();
        let text = self.hiding.push(text) + &self.hiding.finish();
        self.keep(&text);
        if !self.waiting.is_empty() {
            self.live.show(&self.waiting);
        }
        self.kept.finish()
    }
}

/// Bash, where there is one that no command can put another program in place of: by the name that it has without links, since
/// any of those may lead elsewhere later.
pub(crate) fn bash(context: &ToolContext) -> Option<PathBuf> {
    let sandbox = context.widest();
    let folders = context
        .program_folders(&sandbox)
        .chain(["/bin".into(), "/usr/bin".into()]);
    folders
        .map(|folder| folder.join("bash"))
        .filter(|bash| bash.is_file())
        .filter_map(|bash| bash.canonicalize().ok())
        .filter(|bash| !sandbox.writes(bash))
        // A multi-call binary chooses its program by its name.
        .find(|bash| {
            bash.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"bash"))
        })
}
/// The variable that names the folder for temporary files.
const TMPDIR: &str = "TMPDIR";
/// The variable that decides a shell's encoding before all others.
const LC_ALL: &str = "LC_ALL";

/// Returns whether a shell reads a line in the encoding in which it was judged. In encodings such as GBK and BIG5, a
/// backslash or quote can be the second byte of a character, so the shell would split the line differently; also,
/// output is read as UTF-8.
fn reads_utf8(environment: &[(OsString, OsString)]) -> bool {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| value.to_string_lossy())
            .filter(|value| !value.is_empty())
    };
    let locale = [LC_ALL, "LC_CTYPE", "LANG"].into_iter().find_map(value);
    locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        matches!(locale.as_str(), "c" | "posix") || locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_more_than_one_program_keeps_its_shell() {
        for line in [
            "cat a", "ls", "git log --oneline -5", "grep -rn 'a b' src", "ls *.rs 2>/dev/null",
        ] {
            assert!(is_one_program(line), "{line}");
        }
        for line in [
            "echo a", "pwd", "cd sub", "cat a; cat b", "cat a\ncat b", "cat a | wc -l", "cd sub && ls", "! grep a b",
            "cat $(ls)", "cat <<'E'\na\nE", "'cat' a", "A=1 cat a", "cargo test", "",
        ] {
            assert!(!is_one_program(line), "{line}");
        }
    }
}
