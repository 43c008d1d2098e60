//! `codelet gateway`, `codelet run` and `codelet recall`: compaction for other agents.

mod agents;

use self::agents::Address;
use crate::args::{Behind, Gateway as Args, Recall, Run};
use crate::commands::restore;
use crate::exit::{Exit, Failure, words};
use crate::network;
use crate::output::Output;
use crate::paint::{Ink, Look, clean};
use crate::startup;
use codelet_context::tokens::Tokens;
use codelet_gateway::edit::{Editor, Settings};
use codelet_gateway::{Gateway, Ledger, Options, Provider, Totals, Upstream};
use codelet_providers::catalogue;
use codelet_terminal::signals::EndSignals;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::SignalKind;

/// The variable in which an agent's commands find their gateway.
const VARIABLE: &str = "CODELET_GATEWAY";
/// The delay after which a gateway that was asked to end explains why it is still running.
const NOTICE: Duration = Duration::from_millis(300);
/// The variable that contains the token.
const TOKEN: &str = "CODELET_GATEWAY_TOKEN";

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Serves until interrupted.
///
/// # Errors
/// If it cannot listen at the address, or an option is invalid.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let runtime = runtime()?;
    let token = variable(TOKEN);
    let asks_for_token = token.is_some();
    let gateway = start(&runtime, args.listen, &args.behind, token)?;
    let (address, totals) = (gateway.address(), gateway.totals());
    let look = Look::stderr();
    let recall = args.behind.recall.is_on().then(|| gateway.recalls_at());
    Output::Stdout.write(|out| out.write_all(welcome(address, asks_for_token, recall.as_deref()).as_bytes()))?;
    runtime.block_on(async {
        let mut ends = ends()?;
        let end = tokio::sync::Notify::new();
        let serving = gateway.serve(end.notified());
        tokio::pin!(serving);
        tokio::select! {
            () = &mut serving => {}
            _ = ends.next() => end.notify_one(),
        }
        let now = async {
            tokio::time::sleep(NOTICE).await;
            let words = "requests are still being answered; Ctrl-C again ends them";
            let _ = writeln!(std::io::stderr(), "{} {words}", look.ink(Ink::Dim, "codelet gateway:"));
            ends.next().await;
        };
        tokio::select! {
            () = &mut serving => {}
            () = now => {}
        }
        Ok::<(), Failure>(())
    })?;
    runtime.shutdown_background();
    sum_up(&look, &totals());
    Ok(Exit::Done)
}

/// Returns the settings for an agent. The shell expands the token, which is not shown.
fn welcome(address: SocketAddr, asks_for_token: bool, recall: Option<&str>) -> String {
    let token = if asks_for_token {
        format!("/t/${TOKEN}")
    } else {
        String::new()
    };
    // If the gateway listens on all addresses, other machines reach it by a name that only they know.
    let host = match address.ip().is_unspecified() {
        true => format!("HOST:{}", address.port()),
        false => address.to_string(),
    };
    let recall = recall.map_or_else(String::new, |place| {
        let place = place.replacen(&address.to_string(), &host, 1);
        format!("  export {VARIABLE}={place}\n")
    });
    format!(
        "The gateway listens at http://{address}. Point an agent at it:\n\
         \x20 export ANTHROPIC_BASE_URL=http://{host}{token}\n\
         \x20 export OPENAI_BASE_URL=http://{host}{token}/v1\n\
         \x20 export GOOGLE_GEMINI_BASE_URL=http://{host}{token}\n\
         {recall}\
         Figures: http://{host}{token}/codelet · Ctrl-C ends it\n"
    )
}

/// Runs a program behind its own gateway, and returns its exit status.
///
/// # Errors
/// If the gateway or the program cannot be started.
pub fn run_agent(args: &Run) -> Result<ExitCode, Failure> {
    let runtime = runtime()?;
    let here = SocketAddr::from(([127, 0, 0, 1], 0));
    let gateway = start(&runtime, here, &args.behind, None)?;
    let (address, totals) = (gateway.address(), gateway.totals());
    let look = Look::stderr();
    let (program, rest) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::Told("no program given".to_owned()))?;
    let known = agents::of(Path::new(program));
    // An address that was named as an option is not the one in a variable.
    let is_named = args.behind.upstream(Provider::Openai).is_some();
    let set = |name: &str| variable(name).filter(|_| !is_named);
    let extension = known.extension(&set, address);
    let extension = extension.map_err(|error| Failure::io(&std::env::temp_dir(), &error))?;
    let mut command = Command::new(program);
    command
        .args(known.arguments(&set, address))
        .args(
            extension
                .iter()
                .flat_map(|it| [it.option.as_ref(), it.file.path().as_os_str()]),
        )
        .args(rest)
        .envs(known.variables(&set, address))
        .envs(unproxied(&variable))
        .env(VARIABLE, gateway.recalls_at())
        .stdin(Stdio::inherit());
    // Must precede the start of the program, so that no signal for it is missed.
    let mut ends = runtime.block_on(async { ends() })?;
    let mut child = command.spawn().map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "no such program".to_owned(),
            _ => words(&error),
        };
        Failure::at(clean(&program.to_string_lossy()), why)
    })?;
    let id = child.id();
    let status = runtime.block_on(async {
        let mut ended = tokio::task::spawn_blocking(move || child.wait());
        let serving = gateway.serve(std::future::pending());
        tokio::pin!(serving);
        loop {
            tokio::select! {
                () = &mut serving => {}
                status = &mut ended => return status.map_err(std::io::Error::other).and_then(|status| status),
                // The terminal sends Ctrl-C to both processes; a signal sent to this process alone is forwarded.
                kind = ends.next() => forward(id, kind),
            }
        }
    });
    runtime.shutdown_background();
    sum_up(&look, &totals());
    let status = status.map_err(|error| Failure::Told(words(&error)))?;
    Ok(status_of(status).into())
}

/// Returns the variables that list hosts which are reached without a proxy, with this machine among them: a proxy cannot
/// reach the gateway.
fn unproxied(variable: &dyn Fn(&str) -> Option<String>) -> [(&'static str, String); 2] {
    const HERE: &str = "127.0.0.1,localhost";
    let (upper, lower) = ("NO_PROXY", "no_proxy");
    [(upper, lower), (lower, upper)].map(|(name, other)| match variable(name).or_else(|| variable(other)) {
        None => (name, HERE.to_owned()),
        Some(all) if all.trim() == "*" => (name, all),
        Some(listed) => (name, format!("{listed},{HERE}")),
    })
}

fn forward(child: u32, kind: SignalKind) {
    let signal = match kind {
        kind if kind == SignalKind::terminate() => rustix::process::Signal::TERM,
        kind if kind == SignalKind::hangup() => rustix::process::Signal::HUP,
        _ => return,
    };
    if let Some(child) = i32::try_from(child).ok().and_then(rustix::process::Pid::from_raw) {
        // It may have exited by itself.
        let _ = rustix::process::kill_process(child, signal);
    }
}

/// Returns the exit status as a shell reports it.
fn status_of(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    let by_signal = || status.signal().map(|signal| 128 + signal);
    let code = status.code().or_else(by_signal).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

fn runtime() -> Result<Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let built = built.map_err(|error| startup::not_run(&error))?;
    startup::heed_children(&built);
    Ok(built)
}

fn ends() -> Result<EndSignals, Failure> {
    EndSignals::listen().map_err(|error| startup::not_run(&error))
}

fn sum_up(look: &Look, totals: &Totals) {
    let _ = writeln!(
        std::io::stderr(),
        "{} {}",
        look.ink(Ink::Dim, "codelet gateway:"),
        totals.sentence()
    );
}

/// Opens the ledger file and creates it if missing. A pipe or a device is rejected: it may stop accepting data, and the
/// losses would go unnoticed.
fn ledger(path: &Path) -> Result<File, Failure> {
    let refused = || Failure::at(path.display(), "is not a regular file; --ledger needs one");
    if path.metadata().is_ok_and(|there| !there.is_file()) {
        return Err(refused());
    }
    let mut options = OpenOptions::new();
    // Opening does not block on a pipe that was created meanwhile.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = options
        .create(true)
        .read(true)
        .append(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path);
    let failed = |error: std::io::Error| Failure::io(path, &error);
    let mut file = file.map_err(failed)?;
    let there = file.metadata().map_err(failed)?;
    if !there.is_file() {
        return Err(refused());
    }
    // A full disk, or a process that ended in the middle of a line, leaves the last line without a newline.
    if let Some(last) = there.len().checked_sub(1) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, last).map_err(failed)?;
        if byte != *b"\n" {
            file.write_all(b"\n").map_err(failed)?;
        }
    }
    Ok(file)
}

fn start(runtime: &Runtime, listen: SocketAddr, behind: &Behind, token: Option<String>) -> Result<Gateway, Failure> {
    let upstream = |provider: Provider| {
        let address = match behind.upstream(provider) {
            Some(url) => Address {
                url: url.to_owned(),
                variable: None,
                replaces_version: false,
            },
            None => agents::address(provider, &variable).map_err(Failure::Told)?,
        };
        let unusable = |problem: String| {
            let named = address.variable.map(|name| format!("{name}: {problem}"));
            Failure::Told(named.unwrap_or_else(|| format!("the address of {}: {problem}", provider.name())))
        };
        let network = network::network(&variable);
        let upstream = Upstream::new(&address.url, &network).map_err(|error| unusable(error.to_string()))?;
        let upstream = match address.replaces_version {
            true => upstream.replacing_version(),
            false => upstream,
        };
        match upstream.is_at(listen) {
            true => Err(unusable("that is the gateway itself".to_owned())),
            false => Ok(upstream),
        }
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~+=".contains(c);
    if token.as_ref().is_some_and(|token| !token.chars().all(is_plain)) {
        let words =
            format!("{TOKEN} must consist of letters, digits and -._~+=, since agents send it in their base URL");
        return Err(Failure::Told(words));
    }
    let ledger = behind.ledger.as_deref().map(ledger);
    let editor = Editor::new(Settings {
        preset: behind.policy,
        window: behind.window,
        windows,
        offers_recall: behind.recall.is_on(),
    });
    let options = Options {
        anthropic: upstream(Provider::Anthropic)?,
        openai: upstream(Provider::Openai)?,
        gemini: upstream(Provider::Gemini)?,
        editor: Arc::new(editor),
        is_dry_run: behind.dry_run,
        ledger: Ledger::new(ledger.transpose()?),
        token,
    };
    let bound = runtime.block_on(Gateway::bind(listen, options));
    bound.map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied if !listen.ip().is_loopback() => Failure::Told(format!(
            "other machines can reach {listen}: set {TOKEN} to a secret that agents must send"
        )),
        std::io::ErrorKind::AddrInUse => Failure::Told(format!(
            "{listen} is in use, perhaps by another gateway; choose another with --listen"
        )),
        _ => Failure::Told(format!("cannot listen at {listen}: {}", words(&error))),
    })
}

/// Returns the context window of a model by its own name.
fn windows(model: &str) -> Option<Tokens> {
    let vendors = ["anthropic", "openai", "gemini"];
    let exact = vendors.into_iter().find_map(|vendor| catalogue::find(vendor, model));
    exact
        .or_else(|| catalogue::known().find(|known| known.model == model))
        .map(|known| known.window)
}

/// Prints text that an edit removed, which the gateway keeps.
///
/// # Errors
/// If no gateway responds, or it has nothing under this handle.
pub fn recall(args: &Recall) -> Result<(), Failure> {
    let address = variable(VARIABLE).ok_or_else(|| {
        Failure::Told(format!(
            "{VARIABLE} is not set: `codelet run` sets it for an agent, and `codelet gateway` shows what to set"
        ))
    })?;
    let runtime = runtime()?;
    let text = runtime.block_on(codelet_gateway::recall(
        &address,
        &args.handle,
        variable(TOKEN).as_deref(),
    ));
    restore::print(&text.map_err(|problem| Failure::Told(clean(&problem)))?)
}
