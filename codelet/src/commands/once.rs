//! `codelet -p`: a single non-interactive prompt.

use crate::args::{Chat, InputForm, OutputForm};
use crate::assembled::{Assembled, Assembly};
use crate::exit::{Exit, Failure};
use crate::front::{Done, Front, Json, Outlet, Plain, StoodStill, Stream};
use crate::hooks;
use crate::incoming::Incoming;
use crate::paint::{Ink, Look, clean};
use crate::pictures::Pictures;
use crate::place::Place;
use crate::progress::Progress;
use crate::schema::Schema;
use crate::settings::Settings;
use crate::toolset::Toolset;
use crate::transcript::Transcript;
use crate::{loading, pictures, piped, startup, worktree, world};
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Profile;
use codelet_agent::permission::{Permission, Rules};
use codelet_agent::prompts::{self, PromptSource};
use codelet_agent::run::Ending;
use codelet_agent::session::{Prompt, Session};
use codelet_terminal::command::Said;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Returns the explanation for an exit status that differs from that of an answer.
fn held_up(permission: Permission) -> String {
    let how = match permission {
        Permission::Plan | Permission::Read => {
            "--permission edit permits changes and, with --allow 'PATTERN', commands"
        }
        Permission::Edit | Permission::All => "--allow 'PATTERN' permits commands, --permission all everything",
    };
    format!("exit status 1: a command or change was not permitted under --permission {permission}; {how}")
}

/// Runs the prompt.
///
/// # Errors
/// If it cannot start: invalid settings, no prompt, missing folder, unknown model. The outcome of the run itself is an
/// exit status.
pub fn run(chat: &Chat, began: Instant) -> Result<Exit, Failure> {
    let (place, tree) = worktree::enter(chat)?;
    let notices = tree.iter().flat_map(worktree::Entered::notices).collect();
    let mut is_saved = false;
    let done = run_in(place, notices, chat, began, &mut is_saved);
    if let Some(tree) = tree {
        tree.tell(is_saved);
    }
    done
}

/// Runs the prompt in this place, with these notices; says whether the session was saved.
fn run_in(
    mut place: Place,
    told: Vec<String>,
    chat: &Chat,
    began: Instant,
    is_saved: &mut bool,
) -> Result<Exit, Failure> {
    world::begin();
    let mut settings = startup::settings(chat, &place)?;
    settings.notices.extend(told);
    settings.widen(&mut place, &chat.add_dir)?;
    let (transcript, recorded) = startup::files(chat, &mut settings, &place)?;
    let hooks = hooks::of_session(&mut settings, &place, false)?;
    let schema = chat.schema.as_deref().map(Schema::read).transpose()?.map(Arc::new);
    let mut said = match chat.input {
        InputForm::Text => Some(prompt(chat, &place)?),
        InputForm::StreamJson => {
            no_prompt(chat)?;
            None
        }
    };
    let runtime = startup::runtime()?;
    let interrupt = startup::heed_signals()?;
    let mut front = front(chat.output, &interrupt)?;
    if let Some(warning) = startup::in_the_clear(&settings) {
        front.on(Event::Notice(warning));
    }
    let mut told = loading::Told::default();
    let mut waits = |loading| match chat.output {
        OutputForm::Text => told.on(&loading),
        OutputForm::Json | OutputForm::StreamJson => front.on(loading::event(loading)),
    };
    let models = runtime.block_on(async {
        tokio::select! {
            biased;
            () = interrupt.thrown() => Ok(None),
            models = startup::models(&settings, &mut waits) => models.map(Some),
        }
    })?;
    let Some(models) = models else {
        return Ok(Exit::Interrupted);
    };
    let mut assembly = Assembly::new(&settings, &place, models, Toolset::of(chat))?;
    // Prompts of a stream may come much later, and hooks may change what is asked for.
    if said.is_some() && hooks.is_empty() {
        assembly.begin();
    }
    let profile = assembly.model().profile().clone();
    assembly.hooks = hooks;
    assembly.transcript = transcript.as_ref();
    assembly.recorded = recorded;
    let rules = Rules {
        permission: settings.permission.value,
        allow: settings.allowed(),
        deny: settings.deny.value.clone(),
    };
    let connecting = (!settings.mcp.is_empty()).then(|| Progress::start("connecting to MCP servers"));
    let Assembled {
        mut session,
        offers,
        prompts,
        notices,
        taken,
    } = runtime.block_on(assembly.assembled(Arc::new(rules), &interrupt));
    drop(connecting);
    if let Some(schema) = &schema {
        session.check_answers(schema.clone());
    }
    if interrupt.is_thrown() {
        return Ok(Exit::Interrupted);
    }
    let of_input = said.as_mut().and_then(|said| said.of_input.take());
    let unseen = said.as_mut().and_then(|said| said.pictures.unseen_by(&profile));
    for notice in notices.into_iter().chain(of_input).chain(unseen) {
        front.on(Event::Notice(notice));
    }
    if let Some(taken) = taken {
        for notice in [taken.told].into_iter().chain(taken.elsewhere) {
            front.on(Event::Notice(notice));
        }
        if let Some((reason, notice)) = taken.compacted {
            front.on(Event::Compacted { reason, notice });
        }
    }
    let fetching = Fetching {
        source: &*prompts,
        settings: &settings,
        place: &place,
        profile,
        runtime: &runtime,
        interrupt: &interrupt,
    };
    let said = said.map(|said| said.fetched(&fetching, &mut *front));
    let said = match said.transpose() {
        Err(_) if interrupt.is_thrown() => return Ok(Exit::Interrupted),
        said => said?,
    };
    let with_schema = |text: String| match &schema {
        Some(schema) => schema.asked_with(&text),
        None => text,
    };
    let asked = |prompt: Prompt, transcript| PromptRun {
        prompt: Prompt {
            text: with_schema(prompt.text),
            ..prompt
        },
        output: chat.output,
        permission: settings.permission.value,
        transcript,
        began,
    };
    let transcript = transcript.as_ref();
    let done = match said {
        Some(prompt) => {
            let asked = asked(prompt, transcript);
            carry(&mut session, asked, &runtime, &interrupt, &mut *front)
        }
        None => {
            // The transcript is written incrementally until the end.
            let asked = |prompt| asked(prompt, None);
            let done = carry_each(&mut session, &asked, &fetching, &mut *front);
            and_written(done, transcript, &session)
        }
    };
    *is_saved = transcript.is_some_and(Transcript::is_saved);
    if interrupt.is_thrown() {
        drop(offers);
    } else {
        runtime.block_on(offers.end(startup::FAREWELL));
    }
    // A hanging tool must not keep the process alive.
    runtime.shutdown_background();
    done
}

/// A prompt to run.
pub struct PromptRun<'a> {
    /// The prompt.
    pub prompt: Prompt,
    /// The output format.
    pub output: OutputForm,
    /// The permission of the session.
    pub permission: Permission,
    /// The transcript to write.
    pub transcript: Option<&'a Transcript>,
    /// The start time of the process.
    pub began: Instant,
}

/// Runs the prompt and prints the output.
pub fn carry(
    session: &mut Session,
    asked: PromptRun<'_>,
    runtime: &Runtime,
    interrupt: &Interrupt,
    front: &mut dyn Front,
) -> Result<Exit, Failure> {
    let PromptRun {
        prompt,
        output,
        permission,
        transcript,
        began,
    } = asked;
    let ending = runtime.block_on(session.prompt(prompt, interrupt, front));
    // The model's final text may say that it was not permitted to act.
    let exit = match Exit::of(&ending) {
        Exit::Done if session.is_held_up() => {
            front.on(Event::Notice(held_up(permission)));
            Exit::Failed
        }
        exit => exit,
    };
    let finish = |front: &mut dyn Front, exit: Exit| {
        front.finish(&Done {
            session,
            ending: &ending,
            exit: exit.status(),
            elapsed: began.elapsed(),
        })
    };
    // The text output does not wait for the transcript. The other formats contain the exit status, which depends on it.
    let first = (output == OutputForm::Text).then(|| finish(front, exit));
    let written = match transcript {
        Some(transcript) => transcript.end(session),
        None => Ok(()),
    };
    let printed = first.unwrap_or_else(|| match &written {
        Err(Failure::Told(problem)) => {
            front.on(Event::Notice(format!("the transcript was not written: {problem}")));
            // The outcome of the task itself matters more to the caller.
            let told = if exit == Exit::Done { Exit::Usage } else { exit };
            finish(front, told)
        }
        _ => finish(front, exit),
    });
    match written {
        Err(Failure::Told(problem)) if exit != Exit::Done => crate::tell("error", Ink::Red, &problem),
        written => written?,
    }
    match printed {
        // After an interruption, a stalled reader is not waited for.
        Err(error) if StoodStill::is(&error) => Ok(Exit::Interrupted),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => unread(exit, output),
        Err(error) => Err(Failure::at("standard output", crate::exit::words(&error))),
        Ok(()) => Ok(exit),
    }
}

/// Runs each prompt of standard input in one session. A failed one does not end the others: the sender reads how each
/// has ended. The exit status is that of the last one.
fn carry_each<'a>(
    session: &mut Session,
    asked: &dyn Fn(Prompt) -> PromptRun<'a>,
    fetching: &Fetching<'_>,
    front: &mut dyn Front,
) -> Result<Exit, Failure> {
    let Fetching { runtime, interrupt, .. } = *fetching;
    let mut incoming = Incoming::start().map_err(|error| startup::not_run(&error))?;
    let mut exit = Exit::Done;
    loop {
        let next = runtime.block_on(async {
            tokio::select! {
                biased;
                () = interrupt.thrown() => Ok(None),
                next = incoming.next() => next,
            }
        })?;
        let Some(mut prompt) = next else { break };
        for notice in runtime.block_on(fetching.source.refresh_prompts()) {
            front.on(Event::Notice(notice));
        }
        if let Some(mut fetched) = fetching.prompt(&prompt.text, front)? {
            fetched.images.append(&mut prompt.images);
            prompt = fetched;
        }
        let profile = session.model().profile();
        if !prompt.images.is_empty() && !profile.sees_images {
            prompt.images.clear();
            front.on(Event::Notice(pictures::unseen(profile, "its images")));
        }
        exit = carry(session, asked(prompt), runtime, interrupt, front)?;
    }
    Ok(match interrupt.is_thrown() {
        true => Exit::Interrupted,
        false => exit,
    })
}

/// Ends a finished session by writing its transcript.
fn and_written(
    done: Result<Exit, Failure>,
    transcript: Option<&Transcript>,
    session: &Session,
) -> Result<Exit, Failure> {
    match transcript.map_or(Ok(()), |transcript| transcript.end(session)) {
        Err(failure) if matches!(done, Ok(Exit::Done)) => Err(failure),
        Err(Failure::Told(problem)) => {
            crate::tell("error", Ink::Red, &problem);
            done
        }
        _ => done,
    }
}

/// Handles a reader that closed the output: a success, unless the run had failed by then.
fn unread(exit: Exit, form: OutputForm) -> Result<Exit, Failure> {
    match exit {
        Exit::Done => Err(Failure::PipeClosed),
        // The closed output caused the interruption.
        Exit::Interrupted if form == OutputForm::StreamJson => Err(Failure::PipeClosed),
        exit => Ok(exit),
    }
}

/// Rejects a prompt argument together with prompts on standard input.
fn no_prompt(chat: &Chat) -> Result<(), Failure> {
    match words(chat).is_empty() {
        true => Ok(()),
        false => Err(Failure::Told(
            "with --input stream-json, prompts come on standard input only; leave the prompt after -p out".to_owned(),
        )),
    }
}

/// Returns the prompt of the command line: the value of `-p`, other words, and everything after `--`.
fn words(chat: &Chat) -> String {
    // `-` is standard input, as for other commands.
    let said = chat.prompt.iter().flatten().filter(|said| said.trim() != "-");
    said.chain(&chat.words)
        .chain(&chat.rest)
        .cloned()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The parts of a single prompt.
struct Once {
    /// The command-line text.
    words: String,
    /// Standard input; empty if there is none.
    piped: String,
    /// The images that the text mentions.
    pictures: Pictures,
    /// A notice about standard input.
    of_input: Option<String>,
}

impl Once {
    /// Returns the prompt. If the text is the command of an MCP server's prompt, that prompt is fetched and shown
    /// before it is sent.
    fn fetched(self, fetching: &Fetching<'_>, front: &mut dyn Front) -> Result<Prompt, Failure> {
        let fetched = fetching.prompt(&self.words, front)?;
        let mut prompt = fetched.unwrap_or_else(|| Prompt::from(self.words.as_str()));
        if !self.piped.trim().is_empty() {
            if !prompt.text.trim().is_empty() {
                prompt.text.push_str("\n\n");
            }
            prompt.text.push_str(&self.piped);
        }
        let Prompt { text, images, .. } = self.pictures.with(prompt.text);
        prompt.images.extend(images);
        Ok(Prompt { text, ..prompt })
    }
}

/// Context for expanding prompt commands.
struct Fetching<'a> {
    source: &'a dyn PromptSource,
    settings: &'a Settings,
    place: &'a Place,
    profile: Profile,
    runtime: &'a Runtime,
    interrupt: &'a Interrupt,
}

impl Fetching<'_> {
    /// Returns the prompt of a command, which is shown before it is sent; `None` if the text is not a command.
    fn prompt(&self, text: &str, front: &mut dyn Front) -> Result<Option<Prompt>, Failure> {
        // Without such a server, it is ordinary text.
        let is_known = |(command, _): &(&str, &str)| self.settings.mcp.contains_key(prompts::server_of(command));
        let served = || prompts::command(text).filter(is_known);
        let Some((command, words)) = prompts::command_of_file(text, &self.source.prompts()).or_else(served) else {
            let is_command = || {
                matches!(
                    codelet_terminal::command::read(text),
                    Said::Command(..) | Said::Refused(_)
                )
            };
            if text.trim_start().starts_with('/') && is_command() {
                let word = text.split_whitespace().next().unwrap_or_default();
                return Err(Failure::Told(format!(
                    "{word} needs an interactive session: `codelet`, then {word}"
                )));
            }
            return Ok(None);
        };
        let fetched = prompts::fetch(self.source, command, words, self.interrupt);
        let fetched = self.runtime.block_on(fetched).map_err(Failure::Told)?;
        let shown: Vec<String> = fetched.shown().lines().map(clean).collect();
        let mut pictures = pictures::of(&fetched.mentions, self.place);
        let unseen = pictures.unseen_by(&self.profile);
        for notice in fetched.notices.iter().chain(&pictures.troubles).chain(&unseen) {
            front.on(Event::Notice(notice.clone()));
        }
        front.on(Event::Notice(format!("sending {}", shown.join("\n"))));
        let mut prompt = fetched.prompt;
        let images = pictures.with(String::new()).images;
        prompt.images.extend(images);
        Ok(Some(prompt))
    }
}

/// Combines the command-line prompt and standard input. Only the command line can attach images, since piped input is
/// data. A missing image is an error: nobody is there to notice an answer given without it.
fn prompt(chat: &Chat, place: &Place) -> Result<Once, Failure> {
    let words = words(chat);
    let pictures = pictures::of(&words, place);
    if let Some(why) = pictures.troubles.first() {
        return Err(Failure::Told(format!(
            "{why} (@ attaches it; without the @ it is only a name)"
        )));
    }
    let (mut piped, mut of_input) = (String::new(), None);
    if !std::io::stdin().is_terminal() {
        let input = piped::read(!words.trim().is_empty())?;
        if chat.output != OutputForm::Text
            && let Some(notice) = &input.notice
        {
            // The other formats report it in their own place.
            crate::tell("note", Ink::Yellow, notice);
        }
        of_input = input.notice;
        piped = input.text;
    }
    if words.trim().is_empty() && piped.trim().is_empty() {
        return Err(Failure::Told(
            "no prompt: pass one after -p or on standard input".to_owned(),
        ));
    }
    Ok(Once {
        words,
        piped,
        pictures,
        of_input,
    })
}

/// Creates the front end of the run, which interrupts the run if nobody follows it any more.
///
/// # Errors
/// If no thread can be started.
pub fn front(form: OutputForm, interrupt: &Interrupt) -> Result<Box<dyn Front>, Failure> {
    let out = crate::output::stdout()?;
    Ok(match form {
        OutputForm::Text => {
            let is_terminal = out.is_terminal();
            Box::new(Plain::new(out, is_terminal, std::io::stderr(), Look::stderr()))
        }
        OutputForm::Json => Box::new(Json::new(out)),
        OutputForm::StreamJson => {
            let out = Outlet::new(out, interrupt.clone()).map_err(|error| startup::not_run(&error))?;
            Box::new(Stream::new(out, interrupt.clone()))
        }
    })
}

/// Exit statuses for the endings of a run.
impl Exit {
    /// Returns the exit status of an ending.
    pub fn of(ending: &Ending) -> Exit {
        match ending {
            Ending::Answered(_) => Exit::Done,
            Ending::Declined(_)
            | Ending::StepLimit(_)
            | Ending::CostLimit(_)
            | Ending::Loop { .. }
            | Ending::Blocked(_)
            | Ending::Stale { .. } => Exit::Failed,
            Ending::Unfit { .. } | Ending::Unchecked(_) => Exit::Unfit,
            Ending::NoAnswer(_) | Ending::Provider(_) => Exit::Provider,
            Ending::TooLong(_) => Exit::TooLong,
            Ending::Interrupted => Exit::Interrupted,
        }
    }
}
