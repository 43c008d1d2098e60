//! `codelet settings`: shows each setting and its source.

use crate::args;
use crate::exit::Failure;
use crate::hooks::{FoundHooks, consent};
use crate::model;
use crate::network;
use crate::output::Output;
use crate::paint::{Ink, Look, clean, lined_up};
use crate::place::{Place, variable};
use crate::secrets;
use crate::settings::{From, NotifyBy, Places, Set, Settings};
use codelet_agent::session::SummaryBy;
use codelet_context::policy::CompactAt;
use codelet_network::Named;
use codelet_providers::address;
use codelet_terminal::render::Background;
use std::path::PathBuf;

/// Columns of a value; a longer one pushes its source to the right.
const WIDEST: usize = 48;

/// Prints the settings that apply in a folder. Keys are named, never shown.
///
/// # Errors
/// If a settings file is invalid, or the folder does not exist.
pub fn run(args: &args::DirectoryArgs) -> Result<(), Failure> {
    let place = Place::find(args.directory.as_deref())?;
    let mut settings = Settings::read(&Places::of(&place))?;
    settings.heed(&variable);
    let found = FoundHooks::look(&settings, &place)?;
    settings.notices.extend(found.notices.iter().cloned());
    let secrets = secrets::source(&settings, &place).now();
    let mut rows = rows(&settings, &place);
    rows.extend(hooks(&found, &settings, &place));
    for [_, value, _] in &mut rows {
        *value = secrets.hide(value).into_owned();
    }
    let look = Look::stdout();
    for [.., from] in &mut rows {
        *from = look.ink(Ink::Cyan, from);
    }
    let lines = lined_up(&rows, &[], WIDEST).join("\n");
    Output::Stdout.write(|out| writeln!(out, "{lines}"))?;
    super::warn(&Look::stderr(), &settings.notices);
    Ok(())
}

fn rows(settings: &Settings, place: &Place) -> Vec<[String; 3]> {
    fn row<T>(name: &str, set: &Set<T>, show: impl Fn(&T) -> String) -> [String; 3] {
        [name.to_owned(), clean(&show(&set.value)), clean(&set.from.to_string())]
    }
    fn or<T: ToString>(missing: &'static str) -> impl Fn(&Option<T>) -> String {
        move |value| value.as_ref().map_or(missing.to_owned(), ToString::to_string)
    }
    fn list(missing: &str, items: impl Iterator<Item = String>) -> String {
        let items: Vec<String> = items.collect();
        if items.is_empty() {
            missing.to_owned()
        } else {
            items.join(", ")
        }
    }
    fn patterns(missing: &'static str) -> impl Fn(&Vec<String>) -> String {
        move |patterns| list(missing, patterns.iter().cloned())
    }
    fn folders(missing: &'static str) -> impl Fn(&Vec<PathBuf>) -> String {
        move |folders| list(missing, folders.iter().map(|folder| folder.display().to_string()))
    }
    let mut rows = vec![
        row("model", &settings.model, String::clone),
        row("fallback", &settings.fallback, or("none")),
        row("base_url", &settings.base_url, |url| {
            url.as_deref().map_or("the vendor's".to_owned(), address::shown)
        }),
    ];
    rows.extend([
        row("effort", &settings.effort, or("the provider's default")),
        row("permission", &settings.permission, ToString::to_string),
        row("allow", &settings.allow, patterns("no commands")),
        row(
            "projects.allow",
            &settings.project_allow,
            patterns("no additional patterns"),
        ),
        row("add_dirs", &settings.add_dirs, folders("none")),
        row("write", &settings.write, folders("the workspace and temporary files")),
        row("network", &settings.network, |network| {
            if *network { "on" } else { "off" }.to_owned()
        }),
        row("web", &settings.web, bool::to_string),
        row("web_private", &settings.web_private, patterns("no private addresses")),
        row("deny", &settings.deny, patterns("nothing")),
        row("max_steps", &settings.max_steps, or("no limit")),
        row("max_cost", &settings.max_cost, or("no limit")),
        row("window", &settings.window, or("the model's")),
        row("summary", &settings.summary, |summary| {
            let name = match summary {
                SummaryBy::Template => "template",
                SummaryBy::Model => "model",
            };
            name.to_owned()
        }),
        row("policy", &settings.policy, |preset| preset.name().to_owned()),
        row("compact_at", &settings.compact_at, |at| match at {
            CompactAt::Full => "when the context window is full".to_owned(),
            CompactAt::Share(share) => share.to_string(),
            CompactAt::Never => "off".to_owned(),
        }),
        row("prices", &settings.prices, |cards| match cards.len() {
            0 => "built in".to_owned(),
            count => format!("built in, and {count} of your own"),
        }),
        row("keep_alive", &settings.keep_alive, |most| match most {
            0 => "no keep-alive requests".to_owned(),
            most => format!("at most {most} keep-alive requests in a row"),
        }),
        row("transcripts", &settings.transcripts, |folder| {
            let folder = folder.as_ref().map(|folder| folder.display().to_string());
            folder.unwrap_or("sessions are not saved".to_owned())
        }),
        row("append_system", &settings.append_system, or("nothing")),
        row("patience", &settings.patience, |seconds| format!("{seconds} s")),
        row("idle_timeout", &settings.idle_timeout, |seconds| {
            seconds.map_or("the provider's".to_owned(), |seconds| format!("{seconds} s"))
        }),
        row("background", &settings.background, |background| {
            let name = background.map(|background| match background {
                Background::Light => "light",
                Background::Dark => "dark",
            });
            name.unwrap_or("detected from the terminal").to_owned()
        }),
        row("notify", &settings.notify, |notify| {
            notify.map_or("depends on the terminal", NotifyBy::name).to_owned()
        }),
        row("co_author", &settings.co_author, |author| {
            author.clone().unwrap_or("off".to_owned())
        }),
    ]);
    rows.push(row("hooks_from", &settings.hooks_from, |from| from.name().to_owned()));
    rows.extend(proxies());
    for vendor in codelet_providers::vendor::vendors() {
        let (value, from) = match model::let_in(settings, vendor) {
            Some(from) => ("set", from),
            None => ("not set", format!("${}", vendor.keys.join(" or $"))),
        };
        if !vendor.keys.is_empty() {
            rows.push([format!("keys.{}", vendor.name), value.to_owned(), from]);
        }
    }
    for (name, server) in &settings.mcp {
        let from = settings.user_file.as_ref();
        let from = from.map_or_else(String::new, |path| path.display().to_string());
        rows.push([format!("mcp.{name}"), clean(&server.show()), clean(&from)]);
    }
    for (name, path) in [
        ("your file", Places::of(place).user),
        ("project's file", Some(Places::of(place).project)),
    ] {
        let Some(path) = path else { continue };
        let there = if path.is_file() { "read" } else { "does not exist" };
        rows.push([name.to_owned(), there.to_owned(), clean(&path.display().to_string())]);
    }
    rows
}

/// Returns a row per hook; for the project's, with whether it runs.
fn hooks(found: &FoundHooks, settings: &Settings, place: &Place) -> Vec<[String; 3]> {
    let of_project = if consent::is_kept(found, settings, place) {
        ""
    } else {
        ", not permitted yet"
    };
    let own = found.own.iter().map(|source| (source, ""));
    let sources = own.chain(found.project.iter().map(|source| (source, of_project)));
    let rows = sources.flat_map(|(source, told)| {
        source.hooks.iter().map(move |hook| {
            let free = if hook.wants_freedom { " (no sandbox)" } else { "" };
            let matcher = if hook.matcher.is_empty() { "*" } else { &hook.matcher };
            [
                format!("hooks.{}", hook.event),
                clean(&format!("{matcher}: {}{free}", hook.command)),
                clean(&format!("{}{told}", source.file.display())),
            ]
        })
    });
    rows.collect()
}

/// Returns the proxies for connections.
fn proxies() -> [[String; 3]; 3] {
    let proxies = network::proxies(&variable);
    let row = |name: &str, named: &Option<Named>, show: &dyn Fn(&Named) -> String| {
        let (value, from) = match named {
            Some(named) => (clean(&show(named)), format!("${}", named.name)),
            None => ("none".to_owned(), From::Default.to_string()),
        };
        [name.to_owned(), value, from]
    };
    let unusable = |error| format!("cannot be used: {error}");
    let proxy = |named: &Named| named.proxy().map_or_else(unusable, |proxy| proxy.shown());
    [
        row("proxy for http", &proxies.http, &proxy),
        row("proxy for https", &proxies.https, &proxy),
        row("no proxy for", &proxies.direct, &|named| named.value.clone()),
    ]
}
