//! Startup of commands that use a model or wait for the user: signals, settings, models, and notices.

use crate::args::{Chat, Overrides};
use crate::exit::{self, Exit, Failure};
use crate::fallback::Standby;
use crate::model;
use crate::place::{Place, shown, variable};
use crate::saved;
use crate::settings::{From, Places, Settings};
use crate::takeover::{self, Recording};
use crate::transcript::Transcript;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Model;
use codelet_agent::permission::Permission;
use codelet_agent::retry::Patience;
use codelet_agent::run::Limits;
use codelet_providers::{Loading, address, catalogue};
use codelet_terminal::signals::{EndSignals, is_ignored, status};
use codelet_text::near;
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// The time that MCP servers have to exit by themselves at the end.
pub const FAREWELL: Duration = Duration::from_millis(300);

/// Returns the transcript file to write and the recorded conversation to continue, as named on the command line or by
/// the settings for all sessions. If files from the settings are not usable, the session runs without them, with a
/// notice.
///
/// # Errors
/// If something that the command line names is not usable.
pub fn files(
    chat: &Chat,
    settings: &mut Settings,
    place: &Place,
) -> Result<(Option<Transcript>, Option<Recording>), Failure> {
    let from = match chat.go_on {
        true => Some(newest(settings, place)?),
        false => chat.from.clone(),
    };
    let recorded = from.as_deref().map(|file| takeover::read(file, chat.index));
    let recorded = recorded.transpose()?;
    if let Some(path) = &chat.transcript {
        let from = from.as_deref().zip(recorded.as_ref().map(Recording::format));
        return Ok((Some(Transcript::find(path, from, place)?), recorded));
    }
    if chat.no_transcript {
        return Ok((None, recorded));
    }
    let saved = saved(from.as_deref(), recorded.as_ref(), settings, place);
    let is_run = chat.prompt.is_some() && recorded.as_ref().is_none_or(Recording::is_run);
    let saved = saved.map(|saved| if is_run { saved.of_run() } else { saved });
    Ok((saved, recorded))
}

/// Returns the file in which the settings save a session: the saved session of this project that it continues, or a new
/// file.
pub fn saved(
    from: Option<&Path>,
    recorded: Option<&Recording>,
    settings: &mut Settings,
    place: &Place,
) -> Option<Transcript> {
    let folder = settings.transcripts.value.clone()?;
    let is_own = recorded.is_some_and(|recorded| recorded.is_of_project(place));
    let saved = match from.filter(|from| is_own && saved::holds(&folder, from)) {
        Some(from) => match Transcript::save_on(from, &folder, place) {
            Ok(None) => {
                settings.notices.push(
                    "another session still works on this conversation; this one is saved to a file of its own"
                        .to_owned(),
                );
                Transcript::save_in(&folder, place)
            }
            Ok(Some(saved)) => Ok(saved.after(
                recorded.and_then(Recording::cost),
                recorded.map_or_else(Vec::new, |recorded| recorded.unsent().to_vec()),
            )),
            Err(why) => Err(why),
        },
        None => Transcript::save_in(&folder, place),
    };
    match saved {
        Ok(saved) => Some(saved),
        Err(why) => {
            let from = &settings.transcripts.from;
            let notice = format!("this session is not saved: {why} (transcripts, {from})");
            settings.notices.push(notice);
            None
        }
    }
}

/// The line of the settings that saves sessions.
pub const SAVING: &str = "transcripts = \"~/.local/share/codelet/sessions\"";

/// Returns the newest saved session of this project.
fn newest(settings: &Settings, place: &Place) -> Result<PathBuf, Failure> {
    let home = place.home.as_deref();
    let Some(folder) = &settings.transcripts.value else {
        let file = settings.user_file.as_ref();
        let file = file.map_or("your settings".to_owned(), |file| shown(file, home));
        return Err(Failure::Told(format!(
            "there is no saved session to continue. To save sessions, add `{SAVING}` to {file}; --from continues a session \
             from a file"
        )));
    };
    saved::newest(folder, place).ok_or_else(|| {
        Failure::Told(format!(
            "no saved session of {} in {}; `codelet sessions` lists all sessions, and --from @N continues one",
            shown(&place.root, home),
            shown(folder, home)
        ))
    })
}

/// Connects to the model of the settings, and to the fallback.
///
/// # Errors
/// If one of them cannot be used.
pub async fn models(
    settings: &Settings,
    told: &mut (dyn FnMut(Loading) + Send),
) -> Result<(Box<dyn Model>, Standby), Failure> {
    let model = model::connect(settings, told).await?;
    Ok((model, Standby::connect(settings, told).await?))
}

/// The number of open files that a session may need at once: command pipes, connections, edited files.
const OPEN_FILES: u64 = 64;

/// Creates the async runtime: a single thread, since nothing here computes for long.
///
/// # Errors
/// If the system's limits are too low.
pub fn runtime() -> Result<Runtime, Failure> {
    if let Some(most) = getrlimit(Resource::Nofile).current.filter(|most| *most < OPEN_FILES) {
        return Err(Failure::Told(format!(
            "the limit of open files is {most}, and a session needs {OPEN_FILES}: raise it with `ulimit -n {OPEN_FILES}`"
        )));
    }
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let built = built.map_err(|error| not_run(&error))?;
    heed_children(&built);
    Ok(built)
}

/// Makes sure that exit statuses of children are reported: they are lost if SIGCHLD is ignored. Any handler undoes that,
/// for this process and its children.
pub fn heed_children(runtime: &Runtime) {
    if is_ignored(SignalKind::child()) {
        let _entered = runtime.enter();
        let _ = signal(SignalKind::child());
    }
}

/// Returns an interrupt that the first signal triggers; the second one ends the process. Signals are handled on a
/// separate thread, so that the second works even if the main thread is blocked on a file or a full pipe.
///
/// # Errors
/// If no handler can be installed, or no thread started.
pub fn heed_signals() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::new();
    let thrown = interrupt.clone();
    let runtime = runtime()?;
    let entered = runtime.enter();
    let mut ends = EndSignals::listen().map_err(|error| not_run(&error))?;
    drop(entered);
    let heed = async move {
        loop {
            let kind = ends.next().await;
            if thrown.is_thrown() {
                // Processes that the first signal has not ended yet would otherwise be left running.
                codelet_process::end_all();
                std::process::exit(Exit::Interrupted.status().into());
            }
            exit::interrupted_with(status(kind));
            thrown.throw();
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(heed))
        .map_err(|error| not_run(&error))?;
    Ok(interrupt)
}

/// Returns the settings of the files, overridden by the command line, with values of the environment where neither sets
/// them.
///
/// # Errors
/// If a settings file is invalid.
pub fn settings(chat: &Chat, place: &Place) -> Result<Settings, Failure> {
    let mut overrides = chat.overrides.clone();
    overrides.permission = overrides.permission.or(chat.plan.then_some(Permission::Plan));
    let mut settings = overridden(&overrides, place)?;
    let from = &From::CommandLine;
    settings.fallback.take(chat.fallback.clone().map(Some), from);
    settings.summary.take(chat.summary, from);
    settings.policy.take(chat.policy, from);
    settings.compact_at.take(chat.compact_at, from);
    settings.append_system.take(chat.append_system.clone().map(Some), from);
    Ok(settings)
}

/// Returns the settings of the files, overridden by these options.
///
/// # Errors
/// If a settings file is invalid.
pub fn overridden(overrides: &Overrides, place: &Place) -> Result<Settings, Failure> {
    let mut settings = Settings::read(&Places::of(place))?;
    let from = &From::CommandLine;
    settings.model.take(overrides.model.clone(), from);
    settings.base_url.take(overrides.base_url.clone().map(Some), from);
    settings.effort.take(overrides.effort.map(Some), from);
    settings.permission.take(overrides.permission, from);
    if !overrides.allow.is_empty() {
        let allow = settings.allow.value.iter().chain(&overrides.allow).cloned().collect();
        settings.allow.take(Some(allow), from);
    }
    settings.deny(overrides.deny.clone(), from);
    settings.max_steps.take(overrides.max_steps.map(Some), from);
    settings.max_cost.take(overrides.max_cost.map(Some), from);
    settings.window.take(overrides.window.map(Some), from);
    settings.window_is_bound &= overrides.window.is_none();
    settings.heed(&variable);
    Ok(settings)
}

/// Returns the session's settings, including whether it has skills.
pub fn session_settings(settings: &Settings, skills: bool) -> codelet_agent::session::Settings {
    codelet_agent::session::Settings {
        limits: Limits {
            max_steps: settings.max_steps.value,
            max_cost: settings.max_cost.value,
            patience: Patience {
                total: Duration::from_secs(settings.patience.value),
                is_named: settings.patience.from != From::Default,
                ..Patience::default()
            },
        },
        summary: settings.summary.value,
        policy: settings.policy.value,
        compact_at: settings.compact_at.value,
        keep_alive: settings.keep_alive.value,
        append_system: settings.append_system.value.clone(),
        skills,
        // Unique enough to distinguish a user's sessions, and the same in every request.
        id: format!("codelet-{}-{:x}", std::process::id(), started()),
    }
}

fn started() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros())
}

/// Returns the failure for insufficient system resources at startup.
pub fn not_run(error: &std::io::Error) -> Failure {
    Failure::Told(format!("could not start: {}", crate::exit::words(error)))
}

/// Returns the notices about the settings and the model.
pub fn notices(settings: &Settings, model: &dyn Model) -> Vec<String> {
    let mut notices = settings.notices.clone();
    let profile = model.profile();
    if let Some(effort) = settings
        .effort
        .value
        .filter(|_| model.effort() != settings.effort.value)
    {
        let why = model::effort_refused(model, effort);
        notices.push(format!(
            "{why} (effort, {}); its provider's default is used",
            settings.effort.from
        ));
    }
    let listed = profile
        .name
        .split_once('/')
        .and_then(|(vendor, model)| catalogue::find(vendor, model));
    if let (Some(window), Some(listed)) = (settings.window.value, listed)
        && !settings.window_is_bound
        && window > listed.window
    {
        let grouped = |tokens: u64| codelet_text::short::grouped(tokens as usize);
        notices.push(format!(
            "{} has a context window of {} tokens; it is set to {} (window, {})",
            profile.name,
            grouped(listed.window),
            grouped(window),
            settings.window.from
        ));
    }
    if profile.is_unknown && (settings.window.value.is_none() || settings.window_is_bound) {
        let (name, window) = (&profile.name, codelet_text::short::grouped(profile.window as usize));
        // The user's price cards may still contain the price.
        let price = if profile.price.is_none() {
            "; its price is unknown"
        } else {
            ""
        };
        let listed: Vec<String> = catalogue::listed()
            .map(|(vendor, model)| format!("{vendor}/{model}"))
            .collect();
        let meant = near::hint(name, listed.iter().map(String::as_str));
        notices.push(format!(
            "unknown model {name}: assuming a context window of {window} tokens (set another with --window){price}{meant}"
        ));
    }
    notices
}

/// Returns the warning if an API key would be sent unencrypted. It must be shown before the first request.
pub fn in_the_clear(settings: &Settings) -> Option<String> {
    let url = settings.base_url.value.as_deref()?;
    model::key(settings, settings.vendor()?)?;
    address::is_in_the_clear(url).then(|| {
        format!(
            "the API key and the conversation are sent unencrypted to {}; use https:// if the server supports it",
            address::shown(url)
        )
    })
}
