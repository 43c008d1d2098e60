//! `codelet mcp login` and `codelet mcp logout`: the only ways to start and end a login.

use super::of_name;
use crate::args::{McpLogin, McpServer};
use crate::commands::warn;
use crate::exit::{Exit, Failure, words};
use crate::output::Output;
use crate::paint::{Ink, Look, clean};
use crate::place::{Place, variable};
use crate::settings::{Places, Settings};
use crate::startup;
use crate::world;
use codelet_mcp::Invitation;
use codelet_tools::outside::Outside;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Logs the user in at a server, in a browser.
///
/// # Errors
/// If a settings file is invalid or contains no such server, the folder does not exist, or output cannot be printed.
pub fn log_in(args: &McpLogin) -> Result<Exit, Failure> {
    let (name, place) = (&args.server.name, &args.server.place);
    let place = Place::find(place.directory.as_deref())?;
    let settings = Settings::read(&Places::of(&place))?;
    let look = Look::stderr();
    warn(&look, &settings.notices);
    let one = BTreeMap::from([(name.clone(), of_name(&settings, name)?.enabled())]);
    let (named, options) = world::named_servers(&settings, &one, &place, false);
    if let Some((_, why)) = named.unusable.first() {
        return Err(Failure::Told(format!("MCP server {name}: {why}")));
    }
    let runtime = startup::runtime()?;
    let interrupt = startup::heed_signals()?;
    let outside = Outside::new(&world::options(&settings, &place, false));
    let mut printed = Ok(());
    let mut invite = |invitation: &Invitation| {
        printed = print(name, invitation);
        if printed.is_ok() && !args.no_browser {
            open(&invitation.url, &outside);
        }
    };
    let mut came = Err(String::new());
    for server in &named.servers {
        came = runtime.block_on(codelet_mcp::log_in(server, &options, &mut invite, &interrupt));
    }
    runtime.shutdown_background();
    printed?;
    if interrupt.is_thrown() {
        return Ok(Exit::Interrupted);
    }
    match came {
        Ok(()) => {
            let told = format!("Logged in to {name}. `codelet mcp logout {name}` deletes the login.");
            Output::Stdout.write(|out| writeln!(out, "{told}"))?;
            Ok(Exit::Done)
        }
        Err(why) => {
            let label = look.ink(Ink::Red, "error:");
            let _ = writeln!(std::io::stderr(), "{label} not logged in to {name}: {}", clean(&why));
            Ok(Exit::Failed)
        }
    }
}

/// Deletes the login for a server, even one that the settings no longer contain.
///
/// # Errors
/// If a settings file is invalid, the folder does not exist, or the file cannot be deleted.
pub fn log_out(args: &McpServer) -> Result<Exit, Failure> {
    let name = clean(&args.name);
    let place = Place::find(args.place.directory.as_deref())?;
    let removed = match place.logins() {
        None => false,
        Some(logins) => {
            let path = logins.path(&args.name);
            let removed = logins.remove(&args.name);
            removed.map_err(|error| Failure::at(path.display(), words(&error)))?
        }
    };
    let told = match removed {
        true => format!("Logged out of {name}. The server may accept the old tokens until they expire."),
        false => format!("No login is saved for {name}."),
    };
    Output::Stdout.write(|out| writeln!(out, "{told}"))?;
    Ok(Exit::Done)
}

fn print(name: &str, invitation: &Invitation) -> Result<(), Failure> {
    let (authority, url) = (clean(&invitation.authority), clean(&invitation.url));
    Output::Stdout.write(|out| {
        writeln!(
            out,
            "To log in to {name}, open this address of {authority} in a browser on this machine:"
        )?;
        writeln!(out, "\n{url}\n")?;
        writeln!(out, "Waiting for your login there; Ctrl-C cancels.")?;
        out.flush()
    })
}

/// Opens a URL in the user's browser if there is a display. If that fails, the URL is on the screen anyway.
fn open(url: &str, outside: &Outside) {
    let program = match () {
        () if cfg!(target_os = "macos") => "open",
        () if variable("DISPLAY").is_some() || variable("WAYLAND_DISPLAY").is_some() => "xdg-open",
        () => return,
    };
    let Ok(program) = outside.program(program) else {
        return;
    };
    let mut command = Command::new(program);
    command.arg(url).env_clear().envs(outside.environment().iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // The process ends by itself, long before the user has logged in.
        std::thread::spawn(move || child.wait());
    }
}
