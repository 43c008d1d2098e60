//! `codelet doctor`: checks whether a session can work here, and says what to do about problems.

use crate::args::Doctor;
use crate::clouds;
use crate::exit::{Exit, Failure};
use crate::model;
use crate::network;
use crate::output::Output;
use crate::paint::{Ink, Look, clean, count, flow, width};
use crate::place::{Place, shown, variable};
use crate::saved;
use crate::secrets;
use crate::settings::{Places, Set, Settings};
use crate::startup;
use crate::world;
use codelet_agent::instructions;
use codelet_agent::model::ModelError;
use codelet_context::tokens::estimate_bytes;
use codelet_network::TrustedBy;
use codelet_providers::{Vendor, catalogue};
use codelet_tools::outside::Outside;
use codelet_tools::sandbox::{Sandbox, Sandboxing};
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Instant;

/// The minimum width of the text column.
const NARROWEST: usize = 20;

/// The result of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It works.
    Fine,
    /// It works in part, or was not checked.
    Warning,
    /// Sessions do not work.
    Problem,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Fine => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        }
    }

    fn ink(self) -> Ink {
        match self {
            State::Fine => Ink::Green,
            State::Warning => Ink::Yellow,
            State::Problem => Ink::Red,
        }
    }
}

/// A check with its result and text.
struct Point {
    name: &'static str,
    state: State,
    text: String,
}

impl Point {
    fn new(name: &'static str, state: State, text: impl Into<String>) -> Self {
        Point {
            name,
            state,
            text: text.into(),
        }
    }
}

/// Runs all checks and prints the results; keys are named, never shown. The provider is asked for its list of models,
/// which is free, unless `--offline` is given. The exit status says whether there is a problem.
///
/// # Errors
/// If the folder does not exist, or standard output cannot be written.
pub fn run(args: &Doctor) -> Result<Exit, Failure> {
    let place = Place::find(args.place.directory.as_deref())?;
    let points = match Settings::read(&Places::of(&place)) {
        Ok(mut settings) => {
            settings.heed(&variable);
            let mut points = points(&settings, &place, args.offline)?;
            let secrets = secrets::source(&settings, &place).now();
            for point in &mut points {
                point.text = secrets.hide(&point.text).into_owned();
            }
            points
        }
        Err(Failure::Told(why)) => vec![Point::new("settings", State::Problem, why)],
        Err(closed) => return Err(closed),
    };
    match args.json {
        true => Output::Stdout.write(|out| writeln!(out, "{}", as_json(&points)))?,
        false => Output::Stdout.write(|out| write!(out, "{}", as_text(&points, &Look::stdout())))?,
    }
    let is_well = points.iter().all(|point| point.state != State::Problem);
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

fn points(settings: &Settings, place: &Place, is_offline: bool) -> Result<Vec<Point>, Failure> {
    let mut points = vec![version(), files(settings, place)];
    let others = settings.notices.iter();
    points.extend(others.map(|notice| Point::new("settings", State::Warning, notice)));
    points.push(model(settings));
    points.push(key(settings));
    points.push(certificates());
    if !is_offline {
        points.push(provider(settings)?);
    }
    points.push(sandbox());
    points.push(git(settings, place));
    points.push(told(settings, place));
    points.extend(sessions(settings, place));
    points.push(servers(settings));
    points.push(terminal());
    Ok(points)
}

fn version() -> Point {
    let (version, system, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    Point::new("version", State::Fine, format!("codelet {version}, {system} {machine}"))
}

fn files(settings: &Settings, place: &Place) -> Point {
    let files = Places::of(place);
    let (there, missing): (Vec<&PathBuf>, Vec<&PathBuf>) = settings
        .user_file
        .iter()
        .chain([&files.project])
        .partition(|file| file.is_file());
    let listed = |files: &[&PathBuf]| {
        let shown = files.iter().map(|file| shown(file, place.home.as_deref()));
        shown.collect::<Vec<_>>().join(" and ")
    };
    let text = match there.as_slice() {
        [] => format!(
            "defaults; there is no {}",
            listed(&missing).replace(" and ", " and no ")
        ),
        there => listed(there),
    };
    Point::new("settings", State::Fine, text)
}

fn model(settings: &Settings) -> Point {
    let Set { value: name, from } = &settings.model;
    let known = name
        .split_once('/')
        .and_then(|(vendor, model)| catalogue::find(vendor, model));
    let is_told =
        settings.window.value.is_some() || settings.models.get(name).is_some_and(|file| file.window.is_some());
    match known {
        Some(known) => {
            let window = crate::paint::number(known.window);
            Point::new(
                "model",
                State::Fine,
                format!("{name} ({from}), context window {window} tokens"),
            )
        }
        None if is_told => Point::new(
            "model",
            State::Fine,
            format!("{name} ({from}), context window from your settings"),
        ),
        None => Point::new(
            "model",
            State::Warning,
            format!(
                "{name} ({from}) is not a listed model; its context window and prices are unknown unless its server reports them or you set them"
            ),
        ),
    }
}

fn key(settings: &Settings) -> Point {
    if let Some(vendor) = model::without_key(settings) {
        return Point::new(
            "key",
            State::Problem,
            format!(
                "no API key for {}: set ${}, or add it under [keys] in your settings",
                vendor.name,
                vendor.keys.join(" or $")
            ),
        );
    }
    match settings
        .vendor()
        .map(|vendor| (vendor, model::let_in(settings, vendor)))
    {
        None => Point::new("key", State::Warning, "not checked: unknown provider"),
        Some((vendor, Some(from))) => Point::new("key", State::Fine, format!("{from} (for {})", vendor.name)),
        Some((vendor, None)) if vendor.host.is_some() => cloud(vendor),
        Some((_, None)) => Point::new("key", State::Fine, "none is needed"),
    }
}

/// Returns the check of a cloud without credentials.
fn cloud(vendor: &Vendor) -> Point {
    let missing = clouds::access(vendor, &variable).site.missing;
    let text = missing.unwrap_or_else(|| {
        let names = vendor.keys.iter().chain(vendor.tokens).copied().collect::<Vec<_>>();
        format!("no API key for {}: set ${}", vendor.name, names.join(" or $"))
    });
    Point::new("key", State::Problem, text)
}

fn certificates() -> Point {
    let network = network::network(&variable);
    match network.trust.count() {
        Ok((0, _)) => Point::new(
            "certificates",
            State::Problem,
            "none are trusted: install your system's CA certificates",
        ),
        Ok((count, by)) => {
            let whose = match by {
                TrustedBy::User => "from your settings or environment",
                TrustedBy::System => "from the system",
                TrustedBy::Program => "built in, since the system has none",
            };
            Point::new("certificates", State::Fine, format!("{count} trusted, {whose}"))
        }
        Err(error) => Point::new("certificates", State::Problem, error.to_string()),
    }
}

/// Asks the provider at the endpoint and with the key that a session would use.
fn provider(settings: &Settings) -> Result<Point, Failure> {
    let choice = model::choice(settings);
    let at = Some(model::asked_at(settings)).filter(|at| !at.is_empty());
    let at = at.unwrap_or_else(|| "the provider".to_owned());
    let began = Instant::now();
    let reached = startup::runtime()?.block_on(codelet_providers::reach(&choice));
    let took = began.elapsed().as_millis();
    let point = |state, text: String| Point::new("provider", state, text);
    Ok(match reached {
        // The missing key is already reported.
        Err(codelet_providers::ConnectError::NoKey { .. }) => {
            point(State::Warning, format!("not checked: {at} needs a key"))
        }
        Err(error) => point(State::Problem, error.to_string()),
        Ok(Ok(())) => point(State::Fine, format!("{at} answered in {took} ms")),
        Ok(Err(error @ (ModelError::Cut { .. } | ModelError::Credentials { .. }))) => {
            point(State::Problem, format!("{at}: {error}"))
        }
        // The server responds but may have no list of models.
        Ok(Err(error)) => point(
            State::Warning,
            format!("{at} answered in {took} ms, but without a list of models, so the key was not checked: {error}"),
        ),
    })
}

fn sandbox() -> Point {
    let (state, text) = match Sandbox::probe() {
        Sandboxing::Full => (State::Fine, "works: commands that you allow run inside it".to_owned()),
        Sandboxing::Partial(what) => (State::Warning, format!("incomplete: {what}")),
        Sandboxing::None(why) => (
            State::Problem,
            format!("none; commands run only with --permission all: {why}"),
        ),
    };
    Point::new("sandbox", state, text)
}

fn git(settings: &Settings, place: &Place) -> Point {
    let outside = Outside::new(&world::options(settings, place, false));
    // If git is not found, the path is only its name.
    let found = outside.program("git").ok().filter(|program| program.is_absolute());
    let is_repository = place.root.join(".git").exists();
    match (found, is_repository) {
        (Some(git), true) => Point::new(
            "git",
            State::Fine,
            format!(
                "{}, repository {}",
                git.display(),
                shown(&place.root, place.home.as_deref())
            ),
        ),
        (Some(git), false) => Point::new("git", State::Fine, format!("{}, no repository here", git.display())),
        (None, true) => Point::new(
            "git",
            State::Warning,
            "not found; the model does not learn about this repository's branch and changes",
        ),
        (None, false) => Point::new("git", State::Fine, "not found, and no repository here"),
    }
}

/// Returns the check of the folder for saved sessions, if one is set.
fn sessions(settings: &Settings, place: &Place) -> Option<Point> {
    let folder = settings.transcripts.value.as_ref()?;
    let name = shown(folder, place.home.as_deref());
    let (state, text) = match saved::check(folder) {
        Ok(true) => (State::Fine, format!("saved in {name}")),
        Ok(false) => (State::Fine, format!("saved in {name}, created with the first session")),
        Err(why) => (State::Warning, format!("not saved: {why}")),
    };
    Some(Point::new("sessions", state, text))
}

/// Returns the check of the instruction files that the model would receive.
fn told(settings: &Settings, place: &Place) -> Point {
    let world = world::surroundings(settings, place);
    let gathered = instructions::gather(&world);
    let tokens = estimate_bytes(gathered.text.len());
    match (gathered.text.is_empty(), gathered.notices.as_slice()) {
        (_, [notice, ..]) => Point::new("instructions", State::Warning, notice.as_str()),
        (true, []) => Point::new("instructions", State::Fine, "none (AGENTS.md, CLAUDE.md)"),
        (false, []) => {
            let tokens = crate::paint::number(tokens);
            Point::new(
                "instructions",
                State::Fine,
                format!("about {tokens} tokens of AGENTS.md and CLAUDE.md in each request"),
            )
        }
    }
}

fn servers(settings: &Settings) -> Point {
    let text = match settings.mcp.len() {
        0 => "none configured".to_owned(),
        servers => format!(
            "{}; `codelet mcp list` starts and checks them",
            count(servers, "configured server")
        ),
    };
    Point::new("mcp", State::Fine, text)
}

fn terminal() -> Point {
    let name = variable("TERM");
    let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    let look = Look::stdout();
    let (state, text) = match (is_terminal, name.as_deref()) {
        (false, _) => (State::Fine, "none here; sessions use plain lines".to_owned()),
        (true, None | Some("dumb")) => (
            State::Warning,
            "$TERM names no terminal with cursor control; sessions use plain lines".to_owned(),
        ),
        (true, Some(name)) => {
            let colours = if look.colour { "colours" } else { "no colours" };
            (State::Fine, format!("{name}, {} columns, {colours}", look.width))
        }
    };
    Point::new("terminal", state, text)
}

fn as_json(points: &[Point]) -> serde_json::Value {
    let points = points
        .iter()
        .map(|point| json!({"check": point.name, "state": point.state.name(), "text": point.text}));
    points.collect()
}

/// Formats one line per check, wrapped to the terminal's width.
fn as_text(points: &[Point], look: &Look) -> String {
    let names = points.iter().map(|point| width(point.name)).max().unwrap_or(0);
    let states = State::Problem.name().len();
    let indent = " ".repeat(states + names + 4);
    let mut text = String::new();
    for point in points {
        let state = look.ink(point.state.ink(), &format!("{:<states$}", point.state.name()));
        let head = (indent.len() - 1, format!("{state}  {:<names$} ", point.name));
        let words = clean(&point.text);
        let words = words.split_whitespace().map(|word| (width(word), word.to_owned()));
        let columns = look.width.max(indent.len() + NARROWEST);
        text.push_str(&flow([head].into_iter().chain(words), " ", columns, &indent));
        text.push('\n');
    }
    text
}
