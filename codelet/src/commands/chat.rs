//! `codelet`: an interactive session, full-screen or in plain lines.

use crate::args::Chat;
use crate::assembled::{Assembled, Assembly};
use crate::exit::{Exit, Failure, words};
use crate::hooks::runner::Waits;
use crate::hooks::{self, Hook};
use crate::live_page::Page;
use crate::model;
use crate::place::{Place, shown, variable};
use crate::progress::Progress;
use crate::saved;
use crate::secrets;
use crate::settings::{NotifyBy, Places, Settings, kept};
use crate::startup;
use crate::takeover::Recording;
use crate::toolset::Toolset;
use crate::transcript::Transcript;
use crate::{input, loading, opening, paint, pictures, worktree, world};
use codelet_agent::asking::{Asking, Question};
use codelet_agent::environment::Surroundings;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::permission::Rules;
use codelet_agent::session::Session;
use codelet_agent::spelling::spell;
use codelet_agent::tool::Tool;
use codelet_mcp::Offers;
use codelet_providers::{catalogue, vendor};
use codelet_terminal::render::look::{Background, Look, Styles};
use codelet_terminal::signals::{EndSignals, status as status_of};
use codelet_terminal::{Attach, Attached, Begun, Earlier, Edit, Left, Lived, Missed, Notify, Outfit, Past, Reach};
use codelet_text::shell::word;
use codelet_tools::secrets::Secrets;
use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write as _};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;

pub(super) mod connection;
mod export;

/// The maximum number of file names for completion.
const MOST_FILES: usize = 50_000;
/// The size limit of text from an external editor, in bytes: no context window holds more.
const LONGEST_PROMPT: u64 = 16 * 1024 * 1024;

/// Runs a session until the user leaves.
///
/// # Errors
/// If it cannot start: invalid settings, missing key, missing folder.
pub fn run(chat: &Chat) -> Result<ExitCode, Failure> {
    let opening = opening::prompt(chat)?;
    if let Some(prompt) = &opening
        && !(std::io::stdin().is_terminal() && (chat.plain || std::io::stdout().is_terminal()))
    {
        return Err(opening::without_terminal(prompt));
    }
    let (mut place, tree) = worktree::enter(chat)?;
    world::begin();
    let mut settings = startup::settings(chat, &place)?;
    settings
        .notices
        .extend(tree.iter().flat_map(worktree::Entered::notices));
    settings.widen(&mut place, &chat.add_dir)?;
    let (transcript, recorded) = startup::files(chat, &mut settings, &place)?;
    let is_saved = || transcript.as_ref().is_some_and(Transcript::is_saved);
    if let Some(told) = nobody_to_ask(&settings) {
        let told = paint::Look::stderr().between_words(&told);
        let _ = std::io::stderr().write_all(told.as_bytes());
        return Ok(Exit::Usage.into());
    }
    // Must precede any signal handler and any reader of the keyboard.
    let hooks = hooks::of_session(&mut settings, &place, true)?;
    let lived = guarded(secrets::source(&settings, &place).now(), || {
        live(chat, &settings, &place, opening, hooks, (transcript.as_ref(), recorded))
    });
    if let Some(tree) = tree {
        tree.tell(is_saved());
    }
    lived.unwrap_or_else(|| Ok(crate::exit::BROKEN.into()))
}

/// Runs `work` and catches panics: a panic is reported on standard error after the terminal is restored, with these
/// secrets redacted.
fn guarded<T>(secrets: Secrets, work: impl FnOnce() -> T) -> Option<T> {
    let report = PanicReport::begin(secrets);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    if done.is_err() {
        report.print();
    }
    done.ok()
}

fn live(
    chat: &Chat,
    settings: &Settings,
    place: &Place,
    opening: Option<String>,
    hooks: Vec<Hook>,
    (transcript, recorded): (Option<&Transcript>, Option<Recording>),
) -> Result<ExitCode, Failure> {
    let runtime = startup::runtime()?;
    let warning = startup::in_the_clear(settings);
    super::warn(&crate::paint::Look::stderr(), warning.as_slice());
    let ready = unless_signalled(&runtime, async {
        let mut told = loading::Told::default();
        startup::models(settings, &mut |loading| told.on(&loading)).await
    })?;
    let models = match ready {
        Ok(models) => models?,
        Err(status) => return Ok(status.into()),
    };
    let greeting = format!(
        "codelet {} · {} · {} · /help",
        env!("CARGO_PKG_VERSION"),
        models.0.profile().name,
        shown(&place.directory, place.home.as_deref())
    );
    let mut assembly = Assembly::new(settings, place, models, Toolset::of(chat))?;
    let has_hooks = !hooks.is_empty();
    let waits = Waits::default();
    assembly.hooks = hooks;
    assembly.waits = waits.clone();
    assembly.transcript = transcript;
    assembly.recorded = recorded;
    let settings = assembly.settings.clone();
    let settings = &settings;
    let is_typed = std::io::stdin().is_terminal();
    let is_dumb = variable("TERM").is_none_or(|term| term == "dumb");
    let on_terminal = is_typed && std::io::stdout().is_terminal() && !is_dumb && !chat.plain;
    let reach = assembly.reach();
    let Some(shell) = assembly.shell() else {
        return Err(Failure::Told("there is no shell".to_owned()));
    };
    let mut offers = Arc::<Offers>::default();
    let skip = Interrupt::new();
    let begin = async {
        let progress = (!on_terminal && !settings.mcp.is_empty()).then(|| {
            let skips = if is_typed { " (Ctrl-C skips)" } else { "" };
            Progress::start(&format!("connecting to MCP servers{skips}"))
        });
        let (mut begun, servers) = begun((settings, place), (assembly, shell), &skip).await;
        drop(progress);
        offers = servers;
        begun.opening = opening;
        begun
    };
    if !on_terminal {
        crate::output::stdout()?;
    }
    let lived = if on_terminal {
        let outfit = outfit(settings, place, reach.clone(), waits.clone());
        runtime.block_on(codelet_terminal::on_terminal(outfit, &greeting, &skip, begin))
    } else {
        let width = crate::paint::Look::stdout().width;
        runtime.block_on(codelet_terminal::in_lines(is_typed, width, &greeting, &skip, begin))
    };
    runtime.block_on(offers.end(startup::FAREWELL));
    // A hanging tool must not keep the process alive.
    runtime.shutdown_background();
    if has_hooks {
        // A hook that nothing waits for may still be running.
        codelet_process::end_all();
    }
    let mut lived = lived.map_err(|error| Failure::at("the terminal", words(&error)))?;
    let unsent = std::mem::take(&mut lived.unsent);
    match transcript {
        Some(transcript) => end_transcript(transcript, unsent, &lived.session, chat)?,
        None if is_typed && lived.left == Left::Left && lived.ending.is_some() => tell_unsaved(settings, place, chat),
        None => {}
    }
    status(lived, is_typed)
}

/// Writes the whole session, and prints the command that continues it where it is printed.
fn end_transcript(transcript: &Transcript, unsent: Vec<String>, session: &Session, chat: &Chat) -> Result<(), Failure> {
    let has_unsent = !unsent.is_empty();
    transcript.add_unsent(unsent);
    transcript.end(session)?;
    let mut here = String::new();
    for (option, value) in [
        ("-C", chat.directory.as_deref().map(Path::as_os_str)),
        ("--worktree", chat.worktree.as_deref().map(OsStr::new)),
    ] {
        let value = value.map(|value| word(&spell(value)).into_owned());
        here.extend(value.map(|value| format!(" {option} {value}")));
    }
    let mut told = String::new();
    // The working tree's own lines contain the command.
    if transcript.is_saved() && chat.worktree.is_none() {
        told = format!("To continue this session: codelet{here} --continue\n");
    }
    if transcript.is_saved() && has_unsent {
        told.push_str("What was not sent is in its input history (Up).\n");
    }
    if let Some(file) = chat.transcript.as_deref().filter(|_| !transcript.is_stream()) {
        let file = word(&spell(file.as_os_str())).into_owned();
        told.push_str(&format!(
            "To continue this session: codelet{here} --from {file} --transcript {file}\n"
        ));
    }
    let _ = std::io::stderr().write_all(told.as_bytes());
    Ok(())
}

/// Says that the session was not saved, and how to save the next one, if the user has not decided against it.
fn tell_unsaved(settings: &Settings, place: &Place, chat: &Chat) {
    if chat.no_transcript || settings.transcripts.value.is_some() {
        return;
    }
    let Some(file) = &settings.user_file else { return };
    let file = shown(file, place.home.as_deref());
    let _ = writeln!(
        std::io::stderr(),
        "Not saved. To save sessions, add to {file}:\n  {}",
        startup::SAVING
    );
}

fn status(lived: Lived, is_typed: bool) -> Result<ExitCode, Failure> {
    Ok(match (lived.left, &lived.ending) {
        (Left::Gone(status), _) => status.into(),
        (Left::Unwritable(why), _) => return Err(Failure::at("standard output", words(&why.into()))),
        // An interactive user has seen how each prompt ended; for piped prompts there is only the exit status.
        (Left::Left, Some(ending)) if !is_typed && Exit::of(ending) != Exit::Done => Exit::of(ending).into(),
        (Left::Left, _) => match lived.missed.filter(|_| !is_typed) {
            Some(Missed::Refused) => Exit::Usage.into(),
            Some(Missed::Failed) => Exit::Failed.into(),
            None => Exit::Done.into(),
        },
    })
}

/// Starts a session with all its equipment; returns its servers, too.
async fn begun(
    (settings, place): (&Settings, &Place),
    (assembly, shell): (Assembly<'_>, Arc<dyn Tool>),
    skip: &Interrupt,
) -> (Begun, Arc<Offers>) {
    let (gate, questions) = gate(settings, place);
    let (tools, world) = (assembly.reach(), assembly.surroundings());
    let Assembled {
        mut session,
        offers,
        prompts,
        notices,
        taken,
    } = assembly.assembled(Arc::new(gate.clone()), skip).await;
    session.journalled_by(tools.journal());
    let page = Page::new(session.overhead());
    session.watched_by(Box::new(page.clone()));
    let exported_from = place.clone();
    let permits = tools.clone();
    let reach = Reach {
        connect: connection::connect(settings.clone(), tools),
        export: Arc::new(move |file: &str, session: &Session| export::export(file, &exported_from, session, &page)),
        read_file: read_file(place.directory.clone(), Arc::clone(&world)),
        attach: attach(place.clone()),
        shell,
        permit: Box::new(move |permission| permits.permit(permission)),
        gate,
        questions,
        world,
        prompts,
        models: known_models(settings),
        effort: settings.effort.value,
        co_author: settings.co_author.value.clone(),
    };
    let earlier = taken.map(|taken| {
        let compacted = taken.compacted.map(|(_, notice)| notice.to_string());
        let [prompt, answer] = taken.end;
        Earlier {
            prompt,
            answer,
            told: [taken.told].into_iter().chain(compacted).collect(),
            warnings: taken.elsewhere.into_iter().collect(),
        }
    });
    let begun = Begun {
        session,
        reach,
        notices,
        earlier,
        opening: None,
    };
    (begun, offers)
}

/// Creates the gate that asks the user about calls that the settings do not permit, and the receiver of its questions.
pub(super) fn gate(settings: &Settings, place: &Place) -> (Asking, UnboundedReceiver<Question>) {
    let (gate, questions) = Asking::new(Rules {
        permission: settings.permission.value,
        allow: settings.allowed(),
        deny: settings.deny.value.clone(),
    });
    let (places, fenced) = (Places::of(place), world::written_by_commands(place));
    let gate = match places.user {
        Some(_) => gate.keeping(Arc::new(move |patterns: &[String]| {
            kept::keep(&places, &fenced, patterns)
        })),
        None => gate,
    };
    (gate, questions)
}

/// Runs `work` to its end, or returns the exit status of a signal that comes first: the session does not handle signals
/// itself yet.
fn unless_signalled<T>(runtime: &Runtime, work: impl Future<Output = T>) -> Result<Result<T, u8>, Failure> {
    runtime.block_on(async {
        let mut ends = EndSignals::listen().map_err(|error| startup::not_run(&error))?;
        Ok(tokio::select! {
            biased;
            kind = ends.next() => Err(status_of(kind)),
            done = work => Ok(done),
        })
    })
}

/// Returns help for a setup without a key; `None` if a model can be used.
fn nobody_to_ask(settings: &Settings) -> Option<String> {
    let name = &settings.model.value;
    let vendor = model::without_key(settings)?;
    Some(format!(
        "No API key for {name}.\n\
         Set ${}, or choose a model of a provider whose key you have: `codelet models` lists all.\n\
         For a model server on this machine: codelet --model ollama/NAME (--base-url URL for other servers)\n\
         Or watch a demo, which needs no key and no network: codelet demo\n",
        vendor.keys.join(" or $"),
    ))
}

/// Lists the models of vendors whose key is set.
pub(super) fn known_models(settings: &Settings) -> Vec<String> {
    catalogue::known()
        .filter(|known| vendor::find(known.vendor).is_some_and(|vendor| model::key(settings, vendor).is_some()))
        .map(|known| format!("{}/{}", known.vendor, known.model))
        .collect()
}

fn read_file(directory: PathBuf, world: Arc<dyn Surroundings>) -> codelet_terminal::ReadFile {
    Box::new(move |file, most| match world.text(&directory.join(file), most) {
        Some((text, size)) if size > text.len() as u64 => {
            let (shown, size) = (crate::paint::bytes(text.len() as u64), crate::paint::bytes(size));
            Ok(format!("{text}\n[the first {shown} of {size}]"))
        }
        Some((text, _)) => Ok(text),
        None => Err(format!("{file}: no such file, or not a text file")),
    })
}

/// Attaches the available images to a prompt; unavailable ones do not hold a typed prompt back.
fn attach(place: Place) -> Attach {
    Box::new(move |text, model| {
        let dropped = codelet_tools::pictures::dropped(&text);
        let mut pictures = pictures::of(dropped.as_deref().unwrap_or(&text), &place);
        let unseen = pictures.unseen_by(model);
        let missing = pictures
            .troubles
            .iter()
            .map(|why| format!("{why}. The prompt was sent without it."));
        Attached {
            warnings: missing.chain(unseen).collect(),
            told: pictures.told(),
            prompt: pictures.with(text),
        }
    })
}

fn outfit(settings: &Settings, place: &Place, reach: codelet_tools::Reach, waits: Waits) -> Outfit {
    let terminal = variable("TERM").unwrap_or_default();
    let directory = place.directory.clone();
    let folder = settings.transcripts.value.clone();
    let past = folder.map(|folder| {
        let place = place.clone();
        Past(Arc::new(move || saved::prompts(&folder, &place)))
    });
    Outfit {
        past,
        look: look(settings.background.value),
        notify: notify(settings, &terminal),
        terminal,
        files: Arc::new(move || codelet_tools::files(&directory, MOST_FILES)),
        edit: edit(reach),
        slow_hook: Arc::new(move || waits.slow()),
    }
}

/// Determines the session's styles for this terminal; without a configured background, the terminal's own hint is used.
pub(super) fn look(background: Option<Background>) -> Look {
    let terminal = variable("TERM").unwrap_or_default();
    // Terminals of the VT100 family, and those named accordingly, are monochrome.
    let is_monochrome = terminal.starts_with("vt") || terminal.ends_with("-m") || terminal.ends_with("-mono");
    let styles = if variable("NO_COLOR").is_some() || is_monochrome {
        Styles::Monochrome
    } else {
        Styles::Colour
    };
    // `COLORFGBG` ends with the background colour; 7 and 15 are the light ones.
    let is_light = variable("COLORFGBG").is_some_and(|colours| matches!(colours.rsplit(';').next(), Some("7" | "15")));
    let background = background.unwrap_or(match is_light {
        true => Background::Light,
        false => Background::Dark,
    });
    Look::new(80, styles, background)
}

/// Determines how to notify the user of this terminal.
fn notify(settings: &Settings, terminal: &str) -> Notify {
    let in_tmux = variable("TMUX").is_some();
    match settings.notify.value {
        Some(NotifyBy::Off) => Notify::Off,
        Some(NotifyBy::Bell) => Notify::Bell,
        Some(NotifyBy::Osc9) => Notify::Osc9 { in_tmux },
        None => Notify::suited(terminal, &variable("TERM_PROGRAM").unwrap_or_default(), in_tmux),
    }
}

/// Runs the user's editor on a temporary file. Its content becomes the user's own words, so the file is where no
/// sandboxed command can change it.
fn edit(reach: codelet_tools::Reach) -> Edit {
    const NAME: &str = "prompt.md";
    let editor = variable("VISUAL")
        .or_else(|| variable("EDITOR"))
        .unwrap_or_else(|| "vi".to_owned());
    Arc::new(move |text: &str| {
        let told = |error: std::io::Error| format!("{editor}: {}", words(&error));
        let scratch = reach
            .scratch()
            .map_err(|why| format!("cannot create a temporary file for {editor}: {why}"))?;
        scratch.write(NAME, text).map_err(told)?;
        let file = scratch.path().join(NAME);
        // The setting may contain arguments in shell syntax.
        let status = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(&file)
            // A command may have placed a program with the editor's name in the workspace.
            .env("PATH", reach.search_path())
            .status()
            .map_err(told)?;
        if !status.success() {
            return Err(format!("{editor} failed ({status}); your text is unchanged"));
        }
        // Some editors replace the file, so it is opened again by name.
        let bytes = input::regular(&file, LONGEST_PROMPT).map_err(told)?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{editor} did not save UTF-8 text"))?;
        Ok(text.trim_end_matches('\n').to_owned())
    })
}

/// The panic report. It is held back until the terminal is restored: a panic caught in a tool must not overwrite the
/// screen.
struct PanicReport(Arc<Mutex<Option<String>>>);

impl PanicReport {
    fn begin(secrets: Secrets) -> Self {
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        std::panic::set_hook(Box::new(move |panic| {
            let payload = panic.payload();
            let said = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no reason was given");
            let place = panic.location().map_or(String::new(), |at| format!(" at {at}"));
            let told = secrets.hide(&format!("{said}{place}")).into_owned();
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        }));
        PanicReport(last)
    }

    fn print(&self) {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let told: String = told.unwrap_or_default().chars().take(LONGEST_REPORT).collect();
        let lines: Vec<String> = told.lines().map(crate::paint::clean).collect();
        let (version, system, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
        let _ = writeln!(
            std::io::stderr(),
            "internal error, this is a bug in codelet: {}\ncodelet {version}, {system} {machine}. The terminal was restored.",
            lines.join("\n  ")
        );
    }
}

/// The maximum length of a report, in characters.
const LONGEST_REPORT: usize = 4_000;

#[cfg(test)]
mod tests;
