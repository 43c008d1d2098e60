//! What a command that asks a model, or waits for somebody, begins with: signals, settings, models, and what the user should know of them.

use crate::args::{Chat, Overrides};
use crate::exit::{Exit, Failure};
use crate::fallback::Standby;
use crate::place::{Place, shown, variable};
use crate::saved;
use crate::settings::{From, Settings};
use crate::takeover::{self, Recorded};
use crate::transcript::Transcript;
use crate::world;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::Model;
use codelet_agent::permission::Permission;
use codelet_agent::retry::Patience;
use codelet_agent::run::Limits;
use codelet_providers::{Loading, address, catalogue};
use codelet_text::near;
use rustix::process::{Resource, getrlimit};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::runtime::Runtime;

/// How long servers may take to end by themselves when the work is done.
pub const FAREWELL: Duration = Duration::from_millis(300);

/// The file to write the session to, and the recorded conversation to go on from, where the user names them: on the command line, or
/// for all sessions in the settings. Where those cannot be kept, the session goes on without, with a notice.
///
/// # Errors
/// When something that the command line names cannot be had.
pub fn files(
    chat: &Chat,
    settings: &mut Settings,
    place: &Place,
) -> Result<(Option<Transcript>, Option<Recorded>), Failure> {
    let from = match chat.go_on {
        true => Some(newest(settings, place)?),
        false => chat.from.clone(),
    };
    let recorded = from.as_deref().map(|file| takeover::read(file, chat.index));
    let recorded = recorded.transpose()?;
    if let Some(path) = &chat.transcript {
        let from = from.as_deref().zip(recorded.as_ref().map(Recorded::format));
        return Ok((Some(Transcript::find(path, from, place)?), recorded));
    }
    if chat.no_transcript {
        return Ok((None, recorded));
    }
    let saved = saved(from.as_deref(), recorded.as_ref(), settings, place);
    Ok((saved, recorded))
}

/// The file in which a session is saved by the settings: that of the saved session of this project which it goes on from, or a new one.
pub fn saved(
    from: Option<&Path>,
    recorded: Option<&Recorded>,
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
            Ok(Some(saved)) => Ok(saved.after(recorded.and_then(Recorded::cost))),
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

/// The newest saved session of this project.
fn newest(settings: &Settings, place: &Place) -> Result<PathBuf, Failure> {
    let home = place.home.as_deref();
    let Some(folder) = &settings.transcripts.value else {
        let file = settings.user_file.as_ref();
        let file = file.map_or("your settings".to_owned(), |file| shown(file, home));
        return Err(Failure::Told(format!(
            "--continue needs saved sessions, and nothing is saved unless you say so: add `transcripts = \"~/.local/share/codelet/sessions\"` to \
             {file}, or continue a file with --from"
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

/// Connects to the model of the settings, and to the one that waits for its turn.
///
/// # Errors
/// When one of them cannot be asked.
pub async fn models(
    settings: &Settings,
    told: &mut (dyn FnMut(Loading) + Send),
) -> Result<(Box<dyn Model>, Standby), Failure> {
    let model = world::model(settings, told).await?;
    Ok((model, Standby::connect(settings, told).await?))
}

/// Open files that a session may need at once: pipes of commands, connections, files under work.
const OPEN_FILES: u64 = 64;

/// What waits for everything: one thread, as nothing here computes for long.
///
/// # Errors
/// When the system gives too little for it.
pub fn runtime() -> Result<Runtime, Failure> {
    if let Some(most) = getrlimit(Resource::Nofile).current.filter(|most| *most < OPEN_FILES) {
        return Err(Failure::Told(format!(
            "the limit of open files is {most}, and a session needs {OPEN_FILES}: raise it with `ulimit -n {OPEN_FILES}`"
        )));
    }
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let built = built.map_err(|error| not_run(&error))?;
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Where it is ignored, nobody learns how a command ended. Any handler undoes that, here and in what is started.
        if codelet_terminal::signals::is_ignored(SignalKind::child()) {
            let _entered = built.enter();
            let _ = signal(SignalKind::child());
        }
    }
    Ok(built)
}

/// A switch that the first signal throws; the second ends the process. Set up before anything is waited for, and heeded
/// on a thread of its own, so that the second is heard whatever keeps this one: a file that takes no bytes, a full pipe.
///
/// # Errors
/// When nothing can be run beside.
pub fn heed_signals() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::new();
    let thrown = interrupt.clone();
    let signalled = move || {
        if thrown.is_thrown() {
            // What the first has not ended yet would be left behind.
            codelet_tools::end_all();
            codelet_mcp::end_all();
            std::process::exit(Exit::Interrupted as i32);
        }
        thrown.throw();
    };
    let runtime = runtime()?;
    let entered = runtime.enter();
    #[cfg(unix)]
    {
        use codelet_terminal::signals::Heeded;
        use tokio::signal::unix::SignalKind;
        // A handler that cannot be set leaves the signal's own effect: the process ends.
        for kind in [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ] {
            let signalled = signalled.clone();
            if let Ok(mut signals) = Heeded::of(kind) {
                runtime.spawn(async move {
                    while signals.recv().await.is_some() {
                        signalled();
                    }
                });
            }
        }
    }
    #[cfg(not(unix))]
    runtime.spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            signalled();
        }
    });
    drop(entered);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(std::future::pending::<()>()))
        .map_err(|error| not_run(&error))?;
    Ok(interrupt)
}

/// The settings of the files, with what the command line says over them, and what the environment says where neither does.
///
/// # Errors
/// When a settings file is wrong.
pub fn settings(chat: &Chat, place: &Place) -> Result<Settings, Failure> {
    let mut overrides = chat.overrides.clone();
    overrides.permission = overrides.permission.or(chat.plan.then_some(Permission::Plan));
    let mut settings = overridden(&overrides, place)?;
    let from = &From::CommandLine;
    settings.fallback.take(chat.fallback.clone().map(Some), from);
    settings.summary.take(chat.summary, from);
    settings.economics.take(chat.economics, from);
    settings.compact_at.take(chat.compact_at, from);
    settings.append_system.take(chat.append_system.clone().map(Some), from);
    Ok(settings)
}

/// The settings of the files with these over them.
///
/// # Errors
/// When a settings file is wrong.
pub fn overridden(overrides: &Overrides, place: &Place) -> Result<Settings, Failure> {
    let mut settings = Settings::read(&place.settings())?;
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

/// What the session is to know of the settings, and whether it has skills.
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
        economics: settings.economics.value,
        compact_at: settings.compact_at.value,
        keep_alive: settings.keep_alive.value,
        append_system: settings.append_system.value.clone(),
        skills,
        // Unique enough to keep two sessions of one user apart, and the same in each request.
        id: format!("codelet-{}-{:x}", std::process::id(), started()),
    }
}

fn started() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_micros())
}

/// What is said where the system gives too little to begin with.
pub fn not_run(error: &std::io::Error) -> Failure {
    Failure::Told(format!("could not start: {}", crate::exit::words(error)))
}

/// What the user should know of the settings and the model.
pub fn notices(settings: &Settings, model: &dyn Model) -> Vec<String> {
    let mut notices = settings.notices.clone();
    let profile = model.profile();
    if let Some(effort) = settings
        .effort
        .value
        .filter(|_| model.effort() != settings.effort.value)
    {
        let why = world::effort_refused(model, effort);
        notices.push(format!(
            "{why} (effort, {}); its provider's default is used",
            settings.effort.from
        ));
    }
    if profile.is_unknown && (settings.window.value.is_none() || settings.window_is_bound) {
        let (name, window) = (&profile.name, codelet_text::short::grouped(profile.window as usize));
        // Cards of the user's may know the price all the same.
        let price = if profile.price.is_none() {
            "; its price is unknown"
        } else {
            ""
        };
        let listed: Vec<String> = catalogue::known()
            .map(|known| format!("{}/{}", known.vendor, known.model))
            .collect();
        let meant = near::hint(name, listed.iter().map(String::as_str));
        notices.push(format!(
            "unknown model {name}: assuming a context window of {window} tokens (set another with --window){price}{meant}"
        ));
    }
    notices
}

/// The warning about an address to which an API key would go unencrypted. It is due before anything is asked there.
pub fn in_the_clear(settings: &Settings) -> Option<String> {
    let url = settings.base_url.value.as_deref()?;
    world::key(settings, settings.vendor()?)?;
    address::is_in_the_clear(url).then(|| {
        format!(
            "the API key and the conversation are sent unencrypted to {}; use https:// if the server supports it",
            address::shown(url)
        )
    })
}
