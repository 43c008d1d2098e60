//! `codelet mcp`: tests of the configured MCP servers, and logins.

mod login;

use crate::args::{self, Mcp};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::paint::{Ink, Look, clean, clip, count};
use crate::place::Place;
use crate::progress::Progress;
use crate::settings::servers::ServerFile;
use crate::settings::{Places, Settings};
use crate::startup;
use crate::world;
use codelet_agent::model::ToolSpec;
use codelet_agent::prompts::usage;
use codelet_mcp::{Checked, Found};
use codelet_text::near;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Tests servers and prints what each offers, its startup time and its errors; or logs in or out at one.
///
/// # Errors
/// If a settings file is invalid or contains no such server, or the folder does not exist.
pub fn run(args: &Mcp) -> Result<Exit, Failure> {
    match args {
        Mcp::List(place) => list(place),
        Mcp::Test(args) => test(&args.name, &args.place),
        Mcp::Login(args) => login::log_in(args),
        Mcp::Logout(args) => login::log_out(args),
    }
}

fn list(args: &args::DirectoryArgs) -> Result<Exit, Failure> {
    let place = Place::find(args.directory.as_deref())?;
    let settings = Settings::read(&Places::of(&place))?;
    super::warn(&Look::stderr(), &settings.notices);
    if settings.mcp.is_empty() {
        let told = format!(
            "No MCP servers configured: add one to {} as [mcp.NAME].",
            file(&settings)
        );
        Output::Stdout.write(|out| writeln!(out, "{told}"))?;
        return Ok(Exit::Done);
    }
    let Some(checked) = check(&settings, &settings.mcp, &place)? else {
        return Ok(Exit::Interrupted);
    };
    let look = Look::stdout();
    let mut text = String::new();
    for (name, server) in &settings.mcp {
        match checked.iter().find(|checked| checked.name == *name) {
            Some(checked) => text.push_str(&summary(checked, server, &look)),
            None => {
                let shown = clean(&server.show());
                let _ = writeln!(text, "{}: disabled\n  {shown}", look.ink(Ink::Cyan, name));
            }
        }
    }
    Output::Stdout.write(|out| write!(out, "{text}"))?;
    Ok(status(&checked))
}

fn test(name: &str, args: &args::DirectoryArgs) -> Result<Exit, Failure> {
    let place = Place::find(args.directory.as_deref())?;
    let settings = Settings::read(&Places::of(&place))?;
    super::warn(&Look::stderr(), &settings.notices);
    let server = of_name(&settings, name)?;
    // A disabled server is tested too: it may work by now.
    let one = BTreeMap::from([(name.to_owned(), server.enabled())]);
    let Some(checked) = check(&settings, &one, &place)? else {
        return Ok(Exit::Interrupted);
    };
    let look = Look::stdout();
    let mut text = String::new();
    for checked in &checked {
        text.push_str(&summary(checked, server, &look));
        if let Ok(found) = &checked.found {
            text.push_str(&details(found, &look));
        }
    }
    Output::Stdout.write(|out| write!(out, "{text}"))?;
    Ok(status(&checked))
}

/// Returns the server with this name.
fn of_name<'a>(settings: &'a Settings, name: &str) -> Result<&'a ServerFile, Failure> {
    settings.mcp.get(name).ok_or_else(|| {
        let names: Vec<&str> = settings.mcp.keys().map(String::as_str).collect();
        let known = match names.as_slice() {
            [] => "none is configured".to_owned(),
            names => format!("configured: {}", names.join(", ")),
        };
        let meant = near::hint(name, names.iter().copied());
        let (name, file) = (clean(name), file(settings));
        Failure::Told(format!("no MCP server {name} in {file}: {known}{meant}"))
    })
}

/// Returns the file that configures servers.
fn file(settings: &Settings) -> String {
    let file = settings.user_file.as_ref();
    file.map_or("your settings".to_owned(), |path| clean(&path.display().to_string()))
}

fn status(checked: &[Checked]) -> Exit {
    match checked.iter().all(|checked| checked.found.is_ok()) {
        true => Exit::Done,
        false => Exit::Failed,
    }
}

/// Returns the test results of servers by name; `None` if the user interrupted.
fn check(
    settings: &Settings,
    files: &BTreeMap<String, ServerFile>,
    place: &Place,
) -> Result<Option<Vec<Checked>>, Failure> {
    let runtime = startup::runtime()?;
    let interrupt = startup::heed_signals()?;
    let (named, options) = world::named_servers(settings, files, place, true);
    super::warn(&Look::stderr(), &named.notices);
    let progress = Progress::start("connecting to MCP servers");
    let mut checked = runtime.block_on(codelet_mcp::check(
        named.servers,
        options,
        &interrupt,
        startup::FAREWELL,
    ));
    drop(progress);
    // A hanging server must not keep the process alive.
    runtime.shutdown_background();
    if interrupt.is_thrown() {
        return Ok(None);
    }
    let unusable = named.unusable.into_iter().map(|(name, why)| Checked {
        name,
        took: Duration::ZERO,
        found: Err(why),
    });
    checked.extend(unusable);
    Ok(Some(checked))
}

/// Formats a server's state, its address or command, and its errors.
fn summary(checked: &Checked, server: &ServerFile, look: &Look) -> String {
    let (state, told) = match &checked.found {
        Ok(found) => (works(found, checked.took), &found.notices[..]),
        Err(why) => (
            format!("{} ({})", look.ink(Ink::Red, "does not work"), seconds(checked.took)),
            std::slice::from_ref(why),
        ),
    };
    let label = match &checked.found {
        Ok(_) => look.ink(Ink::Yellow, "note:"),
        Err(_) => look.ink(Ink::Red, "error:"),
    };
    let mut text = format!("{}: {state}\n", look.ink(Ink::Cyan, &checked.name));
    let _ = writeln!(text, "  {}", clean(&server.show()));
    for what in told {
        let _ = writeln!(text, "  {label} {}", clean(what));
    }
    text
}

fn works(found: &Found, took: Duration) -> String {
    let prompts = match found.prompts.len() {
        0 => String::new(),
        some => format!(", {}", count(some, "prompt")),
    };
    format!(
        "works, {}{prompts}, ready in {}",
        count(found.tools.len(), "tool"),
        seconds(took)
    )
}

fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

/// Formats a server's own name, its tools with parameters, and its prompts as written in a session.
fn details(found: &Found, look: &Look) -> String {
    let mut text = String::new();
    if !found.title.is_empty() {
        let _ = writeln!(text, "  server: {}", clean(&found.title));
    }
    let _ = writeln!(text, "  protocol: {}", clean(&found.protocol));
    for tool in &found.tools {
        let _ = writeln!(text, "  {}({})", look.ink(Ink::Green, &tool.name), parameters(tool));
        let first = tool.description.lines().next().unwrap_or_default();
        let _ = writeln!(text, "    {}", clip(&clean(first), look.width.saturating_sub(5)));
    }
    for prompt in &found.prompts {
        let _ = writeln!(text, "  {}", look.ink(Ink::Green, &clean(&usage(prompt))));
        if !prompt.description.is_empty() {
            let _ = writeln!(
                text,
                "    {}",
                clip(&clean(&prompt.description), look.width.saturating_sub(5))
            );
        }
    }
    text
}

/// Formats the names of a tool's parameters; optional ones with a question mark.
fn parameters(tool: &ToolSpec) -> String {
    let required = tool.parameters.get("required").and_then(|required| required.as_array());
    let is_required = |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
    let properties = tool.parameters.get("properties").and_then(|all| all.as_object());
    let names = properties
        .into_iter()
        .flatten()
        .map(|(name, _)| match is_required(name) {
            true => name.clone(),
            false => format!("{name}?"),
        });
    clean(&names.collect::<Vec<_>>().join(", "))
}
