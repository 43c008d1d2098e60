//! `codelet acp`: sessions in an editor.

use crate::args::Acp;
use crate::assembled::{Assembled, Assembly};
use crate::commands::chat::{connection, gate, known_models};
use crate::exit::{Exit, Failure};
use crate::hooks;
use crate::model;
use crate::pictures;
use crate::place::Place;
use crate::recorded::{self, peek};
use crate::settings::servers::ServerFile;
use crate::settings::{From, Settings};
use crate::startup;
use crate::takeover::{self, Recording};
use crate::toolset::Toolset;
use codelet_acp::{Begun, Command, Host, Listed, Pictures, Reach, Server, ServerReach, Unopened, Wanted};
use codelet_agent::interrupt::Interrupt;
use codelet_terminal::ModelLookup;
use codelet_terminal::command::COMMANDS;
use codelet_tools::pictures::from_base64;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use time::OffsetDateTime;
use tokio::sync::mpsc::unbounded_channel;

/// Terminal commands that are useful in an editor, except those for which editors have their own interface.
const OFFERED: [&str; 14] = [
    "context", "compact", "undo-compact", "summary", "pin", "unpin", "recall", "why", "cost", "plan", "retry", "clear",
    "rewind", "undo",
];
/// The width of command output, in columns.
const WIDTH: usize = 88;
/// The maximum number of sessions in the list.
const LISTED: usize = 200;

/// Serves an editor until it closes standard input.
///
/// # Errors
/// If the pipes break.
pub fn run(args: &Acp) -> Result<Exit, Failure> {
    let runtime = startup::runtime()?;
    let stop = startup::heed_signals()?;
    // Any other output on it would corrupt the protocol.
    crate::output::stdout()?;
    let host = SessionFactory { args: args.clone() };
    let served = runtime.block_on(codelet_acp::serve(host, tokio::io::stdin(), tokio::io::stdout(), &stop));
    // A read of standard input may be in progress.
    runtime.shutdown_background();
    match served {
        _ if stop.is_thrown() => Ok(Exit::Interrupted),
        Ok(()) => Ok(Exit::Done),
        Err(why) => Err(Failure::at("the editor's connection", why)),
    }
}

/// Creates sessions from the settings and the command line.
struct SessionFactory {
    args: Acp,
}

impl Host for SessionFactory {
    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    fn open(&self, wanted: Wanted, skip: Interrupt) -> LocalBoxFuture<'_, Result<Begun, Unopened>> {
        open(&self.args, wanted, skip).boxed_local()
    }

    fn recorded(&self, directory: Option<PathBuf>) -> LocalBoxFuture<'static, Vec<Listed>> {
        // Listing reads files, so it runs on a blocking thread.
        let listed = tokio::task::spawn_blocking(move || listed(directory.as_deref()));
        async move { listed.await.unwrap_or_default() }.boxed_local()
    }
}

async fn open(args: &Acp, wanted: Wanted, skip: Interrupt) -> Result<Begun, Unopened> {
    let mut place = Place::find(Some(&wanted.directory)).map_err(unfit)?;
    let mut settings = startup::overridden(&args.overrides, &place).map_err(failed)?;
    settings.widen(&mut place, &wanted.added).map_err(unfit)?;
    if let Some(more) = wanted.append_system {
        let all = settings.append_system.value.take().into_iter().chain([more]);
        let all = all.collect::<Vec<_>>().join("\n\n");
        settings.append_system.take(Some(Some(all)), &From::CommandLine);
    }
    let mut notices = add_servers(&mut settings.mcp, wanted.servers);
    notices.extend(startup::in_the_clear(&settings));
    let (file, recorded) = match wanted.recorded {
        Some(name) => read(&name, &place).map(|(file, recorded)| (Some(file), Some(recorded)))?,
        None => (None, None),
    };
    let transcript = startup::saved(file.as_deref(), recorded.as_ref(), &mut settings, &place);
    // An editor's user is not asked about project hooks: they run if the user has permitted them in a terminal session.
    let hooks = hooks::of_session(&mut settings, &place, false).map_err(failed)?;
    let models = startup::models(&settings, &mut |_| {}).await;
    let models = models.map_err(|failure| match model::without_key(&settings) {
        Some(_) => Unopened::NoKey(failure.words()),
        None => failed(failure),
    })?;
    let mut assembly = Assembly::new(&settings, &place, models, Toolset::default()).map_err(failed)?;
    assembly.hooks = hooks;
    assembly.transcript = transcript.as_ref();
    assembly.recorded = recorded;
    let (gate, questions) = gate(&settings, &place);
    let tools = assembly.reach();
    let Assembled {
        mut session,
        offers,
        prompts,
        notices: more,
        taken,
    } = assembly.assembled(Arc::new(gate.clone()), &skip).await;
    session.journalled_by(tools.journal());
    notices.extend(more);
    let mut compacted = None;
    if let Some(taken) = taken {
        notices.extend([taken.told].into_iter().chain(taken.elsewhere));
        compacted = taken.compacted;
    }
    let permits = tools.clone();
    let reach = Reach {
        gate,
        questions,
        permit: Box::new(move |permission| permits.permit(permission)),
        directory: place.directory.clone(),
        connect: connect(&settings, tools),
        model: settings.model.value.clone(),
        models: known_models(&settings),
        commands: commands(),
        of_terminals: COMMANDS.iter().map(|entry| entry.word).collect(),
        look: Arc::new(|session, word, arguments| codelet_terminal::shown(session, word, arguments, WIDTH)),
        pictures: pictures(),
        prompts,
        end: Box::new(move || async move { offers.end(startup::FAREWELL).await }.boxed_local()),
    };
    Ok(Begun {
        session,
        reach,
        notices,
        compacted,
    })
}

/// Reads the recorded session with this name: a file, or an id from `codelet sessions`.
fn read(name: &str, place: &Place) -> Result<(PathBuf, Recording), Unopened> {
    let unknown = |why| Unopened::Unknown(why);
    let file = place.directory.join(name);
    let file = match file.is_file() || file.to_string_lossy().contains('#') && Path::new(name).is_absolute() {
        true => file,
        false => recorded::named(PathBuf::from(format!("@{}", name.trim_start_matches('@')))).map_err(unknown)?,
    };
    let recorded = takeover::read(&file, None).map_err(|failure| unknown(failure.words()))?;
    Ok((file, recorded))
}

/// Adds the editor's servers and returns notices about unusable ones. A server replaces one of the same name in the
/// settings.
fn add_servers(all: &mut BTreeMap<String, ServerFile>, servers: Vec<Server>) -> Vec<String> {
    let mut notices = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for server in servers {
        let file = match server.reach {
            ServerReach::Program {
                command,
                arguments,
                environment,
            } => ServerFile::program(command.to_string_lossy().into_owned(), arguments, environment),
            ServerReach::Http { url, headers } => ServerFile::http(url, headers),
        };
        let name = server_name(&server.name, &taken);
        match file.check(&name) {
            Ok(()) => {
                taken.push(name.clone());
                all.insert(name, file);
            }
            Err(why) => notices.push(format!("MCP server {name}: {why}, so it is not used")),
        }
    }
    notices
}

/// Returns a valid prefix for tool names that no other server of the editor has.
fn server_name(shown: &str, taken: &[String]) -> String {
    /// Leaves room for a numeric suffix.
    const LONGEST: usize = 24;
    let letters = shown.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let letters: String = letters.collect();
    let name = letters.trim_matches(|c: char| !c.is_ascii_alphabetic() && !c.is_ascii_digit());
    let name: String = match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name.chars().take(LONGEST).collect(),
        false => format!("mcp-{name}").chars().take(LONGEST).collect(),
    };
    let name = name.trim_end_matches('-').to_owned();
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or(name)
}

fn connect(settings: &Settings, tools: codelet_tools::Reach) -> codelet_acp::Connect {
    let connect = connection::connect(settings.clone(), tools);
    Box::new(move |name| {
        // The response itself reports the wait.
        let (tell, _) = unbounded_channel();
        let found = connect(name, tell);
        async move {
            match found.await? {
                ModelLookup::Model { model, .. } => Ok(model),
                ModelLookup::Held(why) => Err(why),
            }
        }
        .boxed_local()
    })
}

fn commands() -> Vec<Command> {
    let entries = COMMANDS.iter().filter(|entry| OFFERED.contains(&entry.word));
    entries
        .map(|entry| Command {
            word: entry.word.to_owned(),
            // Files and messages are referred to differently in an editor's prompt than in a terminal.
            arguments: match entry.word {
                "pin" => "[SENTENCE]".to_owned(),
                "unpin" => "NUMBER | all".to_owned(),
                _ => entry.arguments.to_owned(),
            },
            help: match entry.word {
                "pin" => "keep a sentence through every compaction; without arguments: list pins".to_owned(),
                _ => entry.help.to_owned(),
            },
        })
        .collect()
}

fn pictures() -> Pictures {
    Box::new(|all, model| {
        if !all.is_empty() && !model.sees_images {
            return Ok((Vec::new(), Some(pictures::unseen(model, "its images"))));
        }
        Ok((from_base64(all.iter().map(String::as_str))?, None))
    })
}

/// Lists the newest recorded sessions whose folder is known.
fn listed(directory: Option<&Path>) -> Vec<Listed> {
    let wanted = directory.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let listed = recorded::all().sessions.into_iter().filter_map(|found| {
        let seen = peek(&found);
        let directory = PathBuf::from(seen.project?);
        let is_wanted = directory.is_absolute() && wanted.as_ref().is_none_or(|wanted| *wanted == directory);
        is_wanted.then(|| Listed {
            id: found.id,
            directory,
            title: seen.title,
            updated: written(found.modified),
        })
    });
    listed.take(LISTED).collect()
}

/// Formats a time as ISO 8601 in UTC.
fn written(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let moment = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (date, time) = (moment.date(), moment.time());
    format!("{date}T{:02}:{:02}:{:02}Z", time.hour(), time.minute(), time.second())
}

fn unfit(failure: Failure) -> Unopened {
    Unopened::Unfit(failure.words())
}

fn failed(failure: Failure) -> Unopened {
    Unopened::Failed(failure.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_has_a_name_that_tools_can_begin_with() {
        let taken = ["files".to_owned(), "files-2".to_owned()];
        for (shown, name) in [
            ("files", "files-3"),
            ("My Server!", "My-Server"),
            ("", "mcp"),
            ("42", "mcp-42"),
            ("__a__b__", "a--b"),
            ("名前", "mcp"),
            (&"x".repeat(99), &"x".repeat(24)),
        ] {
            assert_eq!(server_name(shown, &taken), name, "{shown}");
            assert!(codelet_mcp::is_name(name), "{name}");
        }
    }

    #[test]
    fn a_moment_is_written_as_others_read_it() {
        let moment = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_795_867_504);
        assert_eq!(written(moment), "2026-11-28T12:05:04Z");
    }
}
