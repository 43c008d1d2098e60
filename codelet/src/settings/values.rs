//! Values that have names, and what is said where there is no such name.

use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_terminal::render::Background;

/// Whether commands reach the network, by name.
///
/// # Errors
/// When the name says neither.
pub fn network(name: &str) -> Result<bool, String> {
    match name {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("unknown network {name:?}, expected off or on")),
    }
}

/// The thinking effort of that name.
///
/// # Errors
/// When there is none; the words list what there is.
pub fn effort(name: &str) -> Result<Effort, String> {
    Effort::from_name(name).ok_or_else(|| {
        format!(
            "unknown effort {name:?}, expected one of {}",
            codelet_agent::effort::names(&Effort::ALL)
        )
    })
}

/// The permission of that name.
///
/// # Errors
/// When there is none; the words list what there is.
pub fn permission(name: &str) -> Result<Permission, String> {
    Permission::from_name(name).ok_or_else(|| format!("unknown permission {name:?}, expected plan, read, edit or all"))
}

/// Who writes summaries, by name.
///
/// # Errors
/// When nobody has that name; the words list who does.
pub fn summary(name: &str) -> Result<SummaryBy, String> {
    match name {
        "template" => Ok(SummaryBy::Template),
        "model" => Ok(SummaryBy::Model),
        _ => Err(format!("unknown summary {name:?}, expected template or model")),
    }
}

/// What a terminal writes upon, by name.
///
/// # Errors
/// When it has no such name.
pub fn background(name: &str) -> Result<Background, String> {
    match name {
        "light" => Ok(Background::Light),
        "dark" => Ok(Background::Dark),
        _ => Err(format!("unknown background {name:?}, expected light or dark")),
    }
}

/// How a terminal calls its user back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotifyBy {
    /// Not at all.
    Off,
    /// The bell.
    Bell,
    /// A desktop notification, by OSC 9.
    Osc9,
}

impl NotifyBy {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            NotifyBy::Off => "off",
            NotifyBy::Bell => "bell",
            NotifyBy::Osc9 => "osc9",
        }
    }
}

/// How a terminal calls its user back, by name.
///
/// # Errors
/// When there is no such way.
pub fn notify(name: &str) -> Result<NotifyBy, String> {
    [NotifyBy::Off, NotifyBy::Bell, NotifyBy::Osc9]
        .into_iter()
        .find(|by| by.name() == name)
        .ok_or_else(|| format!("unknown notify {name:?}, expected off, bell or osc9"))
}

/// Whose hooks run besides those of Codelet's own settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HooksFrom {
    /// Nobody's.
    #[default]
    Nowhere,
    /// Those that the user has set up for Claude Code.
    Claude,
}

impl HooksFrom {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            HooksFrom::Nowhere => "off",
            HooksFrom::Claude => "claude",
        }
    }
}

/// Whose hooks run besides, by name.
///
/// # Errors
/// When it has no such name.
pub fn hooks_from(name: &str) -> Result<HooksFrom, String> {
    [HooksFrom::Nowhere, HooksFrom::Claude]
        .into_iter()
        .find(|from| from.name() == name)
        .ok_or_else(|| format!("unknown hooks_from {name:?}, expected off or claude"))
}

/// How readily history is edited, by name.
///
/// # Errors
/// When there is no such preset; the words list what there is.
pub fn economics(name: &str) -> Result<Preset, String> {
    Preset::from_name(name)
        .ok_or_else(|| format!("unknown economics {name:?}, expected faithful, balanced, thrifty or off"))
}

/// When a session compacts by itself: at a share of the window, or not at all.
///
/// # Errors
/// When it is neither, or a share outside of 0.1 to 0.95.
pub fn compact_at(text: &str) -> Result<CompactAt, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.1..=0.95).contains(&share) => Ok(CompactAt::Share(share)),
        Err(_) if text.trim() == "off" => Ok(CompactAt::Never),
        _ => Err(format!(
            "unknown compact_at {text:?}, expected a share of the context window from 0.1 to 0.95, or off"
        )),
    }
}

/// Who stands beside the user in commits, as written; nobody where it says `off`.
///
/// # Errors
/// When it is no name with an address.
pub fn co_author(name: &str) -> Result<Option<String>, String> {
    if name == "off" {
        return Ok(None);
    }
    let written = name.strip_suffix('>').and_then(|rest| rest.split_once(" <"));
    let is_one = written.is_some_and(|(name, address)| {
        let is_plain =
            |text: &str| !text.trim().is_empty() && !text.contains(['<', '>']) && !text.chars().any(char::is_control);
        is_plain(name) && is_plain(address) && !address.contains(char::is_whitespace)
    });
    match is_one {
        true => Ok(Some(name.to_owned())),
        false => Err(format!(
            "unknown co_author {name:?}, expected \"Name <address>\" or off"
        )),
    }
}
