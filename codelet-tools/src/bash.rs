//! `Bash`: a command line, with its output as it would stand on paper.

use crate::arguments;
use crate::bounded::Bounded;
use crate::caches;
use crate::cwd::{NOTING, NOTING_FREE, NOTING_STATUSES, Note};
use crate::ending;
use crate::files;
use crate::handed::{self, Numbers};
use crate::lack;
use crate::left::Left;
use crate::process::{self, End, Program, Unstarted};
use crate::run_blocking::INTERRUPTED;
use crate::sandbox::{Sandbox, is_program_of_the_system};
use crate::secrets::Hiding;
use crate::tool_context::{PATH, ToolContext, spec};
use codelet_agent::model::ToolSpec;
use codelet_agent::orders;
use codelet_agent::permission::{Looks, Permission, looks};
use codelet_agent::tool::{Call, Lack, Live, Looking, Need, Output, Owner, Tool};
use codelet_context::message::{Action, Parameters};
use codelet_text::printed::Cleaner;
use futures_util::future::BoxFuture;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often output is shown while the command runs.
const PACE: Duration = Duration::from_millis(50);
/// Output that waits to be shown, in bytes; a person sees the end of it.
const WAITING: usize = 8192;
/// What makes programs behave without a terminal: no pagers, editors, questions or colours.
const MANNERS: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
];
/// What commands that only look get besides. They have no home: settings there could not be read, and programs, git before all, fail
/// at files that are there and cannot be read. Git looks at a repository whoever owns it, since its settings can do nothing here.
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

/// Whether commands that only look get this variable: where programs are, who asks, and how text and times are written. All others may
/// name files, or programs.
fn is_for_looks(name: &str) -> bool {
    matches!(name, "PATH" | "USER" | "LOGNAME" | "LANG" | "LANGUAGE" | "TZ") || name.starts_with("LC_")
}

/// Bounds for each process of a command that only looks, about which nobody was asked: an hour of computing, which also ends what it leaves behind,
/// and 4 GiB of memory of its own (files that it maps do not count). There is none for the number of processes, which the kernel counts per user.
const BOUNDS: &str = "{ ulimit -t 3600; ulimit -d 4194304; } 2>/dev/null; ";

/// Files that a shell would read first, variables of the last directory and of others than those where the shell stands, and marks of another session.
const DROPPED: [&str; 6] = ["BASH_ENV", "ENV", "PWD", "OLDPWD", "CDPATH", crate::process_tree::MARK];

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

    /// What is to run, and what will tell where it ended.
    ///
    /// # Errors
    /// Says why nothing can be run.
    fn program(
        &self,
        command: &str,
        timeout: Duration,
        (sandbox, is_shut_in): (Option<Sandbox>, bool),
    ) -> Result<(Program, Note), String> {
        let context = &self.context;
        let (directory, held) = self.stand(is_shut_in)?;
        let numbers = Numbers::free()?;
        let (note, pipe) = Note::begin(command).map_err(|error| files::reason(&error))?;
        let mut handed = vec![handed::hand(pipe, numbers.note)];
        // However the command ends, the shell notes where it stood; unless it sets such a trap itself, or is no shell then.
        // Other shells know a descriptor with so high a number only by its name.
        let note_where = match &sandbox {
            None => NOTING_FREE,
            Some(_) => NOTING,
        };
        let noting = match self.is_bash {
            // Also with `set -x`, nothing of it is shown.
            true => format!("{{ {NOTING_STATUSES}{note_where}; }} >&{} 2>/dev/null", numbers.note),
            false => format!("{note_where} > {}", handed::name(numbers.note)),
        };
        let only_looks = sandbox.as_ref().is_some_and(Sandbox::only_looks);
        let mut line = match only_looks && is_one_program(command) {
            true => format!("exec {command}"),
            false => format!("trap {} EXIT; {command}", quoted(&noting)),
        };
        if self.is_bash {
            // Read by then under a number of the shell's own, so that no program of the command gets it.
            line.insert_str(0, &format!("exec {}<&-; ", numbers.script));
        }
        if only_looks {
            line.insert_str(0, BOUNDS);
        }
        // Never an argument: what looks for a process by its command line (`pkill -f`, `pgrep -f`, `ps | grep`) would find the shell
        // that runs this very line.
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

    /// Has the next command in the sandbox begin in this folder, named from where the session began.
    fn begin_in(&self, folder: &str) {
        let begin = match folder {
            "" => self.context.paths.directory().to_owned(),
            folder => self.context.paths.directory().join(folder),
        };
        // A name that is no text cannot be told so; then the shell stands where it stands.
        if begin.is_dir() {
            self.context.shells().go(begin, true);
        }
    }

    /// The folder that the next command begins in.
    ///
    /// # Errors
    /// Says that the shell stands elsewhere than it did, which is no place for a command that was meant for there.
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
                quoted(&was.display().to_string())
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
    /// Whether commands that only look may see what is outside of the workspace, or start what is no program of the system's, from where
    /// the shell stands. What this does not see, their sandbox refuses.
    fn looks_outside(&self, looks: &Looks, at: &Path) -> bool {
        let is_program = |name: &String| {
            is_word_of_the_shell(name)
                || self
                    .found(name)
                    .is_some_and(|program| is_program_of_the_system(&program))
        };
        let is_git = looks.programs.iter().any(|program| program == "git");
        let is_bounded = match looks.is_all {
            true => self.context.looks_stay_inside(),
            // Beside other commands nothing keeps them from the dot files of a home.
            false => !self.context.owned.holds_home(),
        };
        !is_bounded
            || !is_program_of_the_system(&self.shell)
            || !looks.programs.iter().all(is_program)
            || is_git && !self.has_plain_repository(at)
            || looks.operands.iter().any(|operand| self.is_outside(operand, at))
    }

    /// Whether a word names a place outside of the workspace. A word that names nothing is no name, unless it plainly leads there.
    fn is_outside(&self, word: &str, at: &Path) -> bool {
        let path = at.join(word);
        let mut pieces = Path::new(word).components();
        let leads = match pieces.next() {
            // `/users/{id}` is a pattern where there is no such folder.
            Some(Component::RootDir) => pieces.next().is_some_and(|first| Path::new("/").join(first).exists()),
            _ => Path::new(word).components().any(|piece| piece == Component::ParentDir),
        };
        let is_inside = || {
            let place = self.context.paths.resolve(&path.to_string_lossy());
            place.is_ok_and(|place| place.is_inside && !self.context.owned.is_of_home(&place.path))
        };
        (leads || path.symlink_metadata().is_ok()) && !is_inside()
    }

    /// The program that the shell starts under this name.
    fn found(&self, name: &str) -> Option<PathBuf> {
        let path = self.context.options.env.iter().find(|(variable, _)| variable == "PATH");
        let path = path.map_or_else(|| OsString::from(PATH), |(_, value)| value.clone());
        let found = std::env::split_paths(&path).map(|folder| match folder.as_os_str().is_empty() {
            true => PathBuf::from(name),
            false => folder.join(name),
        });
        found.into_iter().find(|file| file.exists())
    }

    /// Whether git works there with a repository that lies in the workspace, and not with one elsewhere that a file or a link names.
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

/// Whether a line that only looks is plainly one program with its words. That can take the shell's place, as a shell with this one line in its
/// arguments does: where it ends is known, and it is no pipe.
fn is_one_program(line: &str) -> bool {
    let is_plain = |c: char| !c.is_control() && !";&|<(){}$`\\!#".contains(c);
    let Some(looks) = looks(line).filter(|_| line.chars().all(is_plain)) else {
        return false;
    };
    let is_begin = |program: &String| line.starts_with(program.as_str()) && !is_word_of_the_shell(program);
    matches!(looks.programs.as_slice(), [program] if is_begin(program))
}

/// Commands of the shell's own, whatever `PATH` says.
fn is_word_of_the_shell(name: &str) -> bool {
    matches!(name, "echo" | "printf" | "true" | "false" | ":" | "pwd")
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

    fn is_read_only(&self) -> bool {
        false
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        let command = arguments::text(parameters, "command")?.to_owned();
        arguments::number(parameters, "timeout")?;
        elsewhere(parameters)?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err("`command` has to be a command line".to_owned());
        }
        let is_shut_in = self.context.permission() != Permission::All;
        let at = self.context.shells().at(is_shut_in).to_owned();
        let looks = looks(&command).filter(|_| is_shut_in);
        // What cannot be followed may lead anywhere.
        let looks = match looks {
            Some(looks) if self.looks_outside(&looks, &at) => Looking::Outside,
            Some(looks) if looks.is_all => Looking::Only,
            Some(_) => Looking::Inside,
            None => Looking::Outside,
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
            let begun = || -> Result<_, String> {
                // Again is from where it was begun: the first try may have gone elsewhere.
                if let Some(folder) = call.permitted.iter().find_map(begun_in).filter(|_| is_shut_in) {
                    self.begin_in(folder);
                }
                let pipe = io::pipe().map_err(|error| files::reason(&error))?;
                let sandbox = match is_shut_in && call.permitted.iter().all(Need::only_looks) {
                    true => Some(self.context.looking()),
                    false => self.context.sandbox(permission),
                };
                // What somebody has permitted in a session holds as long as the session goes as far.
                let sandbox = match permission {
                    Permission::Edit => sandbox.and_then(|sandbox| widened(sandbox, command, call.permitted)),
                    Permission::Plan | Permission::Read | Permission::All => sandbox,
                };
                Ok((self.program(command, timeout, (sandbox, is_shut_in))?, pipe))
            };
            let ((program, note), (stopped, stop)) = match begun() {
                Ok(begun) => begun,
                Err(why) => return Output::failure(format!("nothing was run: {why}")),
            };
            let (answer, mut answered) = oneshot::channel();
            let (context, left, live) = (Arc::clone(&self.context), Arc::clone(&self.left), call.live.clone());
            let run = move || {
                let open = ran((&context, permission), program, &stopped, live, note, &left, answer);
                if let Some(open) = open {
                    discard(open);
                }
            };
            if let Err(error) = std::thread::Builder::new().name("bash".to_owned()).spawn(run) {
                return Output::failure(format!("no command can be run: {}", files::reason(&error)));
            }
            // Dropped with this future, too: nobody who is not waited for goes on.
            let mut stop = Some(stop);
            let answer = tokio::select! {
                answer = &mut answered => answer,
                () = call.interrupt.thrown() => {
                    drop(stop.take());
                    answered.await
                }
            };
            answer.unwrap_or_else(|_| Output::failure("the command could not be watched"))
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
    if let Some(sandbox) = sandbox.filter(|sandbox| !sandbox.only_looks())
        && let Some(caches) = context.caches()
    {
        caches::redirect(&mut environment, caches, context.options.home.as_deref(), sandbox);
    }
    environment
}

/// Where a command was begun that is run again.
fn begun_in(need: &Need) -> Option<&str> {
    match need {
        Need::RunWith { folder, .. } => Some(folder),
        _ => None,
    }
}

/// The sandbox with what was permitted for this command besides; none where it was permitted to run outside of it.
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

/// What other shells are told by parameters of their own, and this one in the command. A command that ran in another folder
/// than was meant could do harm there.
///
/// # Errors
/// Says how to say it.
fn elsewhere(parameters: &Parameters) -> Result<(), String> {
    const FOLDERS: [&str; 6] = ["cwd", "workdir", "working_directory", "working_dir", "directory", "dir"];
    const APART: [&str; 4] = ["run_in_background", "background", "is_background", "isBackground"];
    for name in FOLDERS {
        if let Some(folder) = arguments::optional_text(parameters, name)? {
            return Err(format!(
                "nothing was run: for another folder begin the command with `cd {} && `; the next one starts where it ended",
                quoted(folder)
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

/// Runs it and answers; gives back the pipe if somebody still prints into it.
fn ran(
    (context, permission): (&ToolContext, Permission),
    program: Program,
    stop: &PipeReader,
    live: Live,
    note: Note,
    left: &Left,
    answer: oneshot::Sender<Output>,
) -> Option<PipeReader> {
    let timeout = program.timeout;
    let from = program.directory.clone();
    let script = program.arguments.first().cloned().unwrap_or_default();
    // Also where it runs outside of the sandbox by exception, the shell stays where those in it stand.
    let is_shut_in = permission != Permission::All;
    let sandbox = program.sandbox.clone().filter(|_| permission == Permission::Edit);
    // While a job of an earlier command may run, anything may change beside one that only looks.
    let has_jobs = !left.families().is_empty();
    let may_change = has_jobs || !program.sandbox.as_ref().is_some_and(Sandbox::only_looks);
    // A job that an earlier command left may have been at it.
    let mut between = left.look(context, is_shut_in);
    // Where none was left, it was the user, or an editor of the user's.
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
            // Nobody may be waiting any more.
            let _ = answer.send(Output {
                notices,
                ..Output::failure(told)
            });
            return None;
        }
    };
    let stands = note.read(ended.seen_in.as_deref(), &[&from, context.paths.directory()]);
    let moved = ending::moved(context, &stands, &from);
    let pipe = match ended.end {
        End::Exited(_) => stands.pipe,
        _ => Box::default(),
    };
    context.shells().go(stands.directory, is_shut_in);
    let (mut text, lost) = paper.finish();
    let success = ended.end == End::Exited(0);
    // What stands before a pipe has failed by itself.
    let has_failed = matches!(ended.end, End::Exited(status) if status != 0 || pipe.iter().any(|status| *status != 0));
    let has_network = sandbox.as_ref().is_some_and(Sandbox::has_network);
    let lack = sandbox
        .filter(|_| has_failed)
        .and_then(|sandbox| lack::of(context, &sandbox, &text));
    let earlier = left.earlier(&ended.left);
    let mut notes = ending::notes(context, &ended, timeout, (&text, has_network), moved, &pipe, &earlier);
    // What only looks has changed nothing, and what the user has changed meanwhile is seen before the next command.
    let during = match may_change {
        true => left.look(context, is_shut_in),
        false => Vec::new(),
    };
    if let Some((what, does)) = between {
        notes.push_str(&format!(
            "[{what}, which {does}, changed before this command began; the user is told]\n"
        ));
    }
    // It cannot be kept from it: it may write in the workspace, and committing is writing there.
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
        lacked_time: ended.end == End::TimedOut,
        remarks: notes.len(),
        lost,
        lack,
        notices,
        ..Output::success(text)
    };
    if !ended.left.is_empty() {
        left.families().push(ended.family);
    }
    let _ = answer.send(output);
    ended.open
}

/// What a file does that gives orders to others than git.
fn gives_orders(context: &ToolContext, path: &Path) -> Option<&'static str> {
    let below = context.paths.below(path);
    match orders::obeys(&below.to_string_lossy())? {
        Owner::Obeyed(does) => Some(does),
        Owner::Codelet => Some(Owner::Codelet.reason()),
        Owner::Git | Owner::Home => None,
    }
}

/// Files by the first of them, and what that one does.
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

/// Lets background jobs print into nothing, so that they are not ended by it.
fn discard(mut open: PipeReader) {
    let flags = rustix::fs::fcntl_getfl(&open).map(|flags| flags - rustix::fs::OFlags::NONBLOCK);
    if flags.is_ok_and(|flags| rustix::fs::fcntl_setfl(&open, flags).is_ok()) {
        let mut buffer = [0; 4096];
        while open.read(&mut buffer).is_ok_and(|read| read > 0) {}
    }
}

/// The output while it comes: cleaned, without secrets, bounded, and shown.
struct Paper {
    /// How the shell begins a complaint: with the name of its script.
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
        // As it is where somebody types the command.
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

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
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
        // One program with many names knows by its name what it is to be.
        .find(|bash| {
            bash.file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"bash"))
        })
}
/// The variable that says in which encoding a shell reads, before all others.
const LC_ALL: &str = "LC_ALL";

/// Whether a shell reads a line as it was judged. In encodings such as GBK and BIG5 a backslash or a quote is the second byte of a
/// character, so that it would be split elsewhere; and what commands print is read as UTF-8.
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
            "cat a",
            "ls",
            "git log --oneline -5",
            "grep -rn 'a b' src",
            "ls *.rs 2>/dev/null",
        ] {
            assert!(is_one_program(line), "{line}");
        }
        for line in [
            "echo a",
            "pwd",
            "cd sub",
            "cat a; cat b",
            "cat a\ncat b",
            "cat a | wc -l",
            "cd sub && ls",
            "! grep a b",
            "cat $(ls)",
            "cat <<'E'\na\nE",
            "'cat' a",
            "A=1 cat a",
            "cargo test",
            "",
        ] {
            assert!(!is_one_program(line), "{line}");
        }
    }
}
