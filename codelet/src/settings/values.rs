//! Settings with named values, and the errors for unknown names. No error repeats the value, which may be a misplaced key.

use codelet_agent::effort::Effort;
use codelet_agent::permission::Permission;
use codelet_agent::session::SummaryBy;
use codelet_context::economics::Preset;
use codelet_context::policy::CompactAt;
use codelet_terminal::render::Background;

/// Parses the setting of network access for commands.
///
/// # Errors
/// If the name is neither `on` nor `off`.
pub fn network(name: &str) -> Result<bool, String> {
    match name {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("expected off or on".to_owned()),
    }
}

/// Parses a thinking effort.
///
/// # Errors
/// If the name is unknown; the message lists the known ones.
pub fn effort(name: &str) -> Result<Effort, String> {
    Effort::from_name(name).ok_or_else(|| format!("expected one of {}", codelet_agent::effort::names(&Effort::ALL)))
}

/// Parses a permission level.
///
/// # Errors
/// If the name is unknown; the message lists the known ones.
pub fn permission(name: &str) -> Result<Permission, String> {
    Permission::from_name(name).ok_or_else(|| "expected plan, read, edit or all".to_owned())
}

/// Parses the method of writing summaries.
///
/// # Errors
/// If the name is unknown; the message lists the known ones.
pub fn summary(name: &str) -> Result<SummaryBy, String> {
    match name {
        "template" => Ok(SummaryBy::Template),
        "model" => Ok(SummaryBy::Model),
        _ => Err("expected template or model".to_owned()),
    }
}

/// Parses a terminal's background.
///
/// # Errors
/// If the name is unknown.
pub fn background(name: &str) -> Result<Background, String> {
    match name {
        "light" => Ok(Background::Light),
        "dark" => Ok(Background::Dark),
        _ => Err("expected light or dark".to_owned()),
    }
}

/// The way of notifying a terminal's user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotifyBy {
    /// No notification.
    Off,
    /// The bell.
    Bell,
    /// A desktop notification through OSC 9.
    Osc9,
}

impl NotifyBy {
    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            NotifyBy::Off => "off",
            NotifyBy::Bell => "bell",
            NotifyBy::Osc9 => "osc9",
        }
    }
}

/// Parses the way of notifying a terminal's user.
///
/// # Errors
/// If the name is unknown.
pub fn notify(name: &str) -> Result<NotifyBy, String> {
    [NotifyBy::Off, NotifyBy::Bell, NotifyBy::Osc9]
        .into_iter()
        .find(|by| by.name() == name)
        .ok_or_else(|| "expected off, bell or osc9".to_owned())
}

/// The other agent whose hooks run in addition to Codelet's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HooksFrom {
    /// None.
    #[default]
    Nowhere,
    /// The hooks that the user has configured for Claude Code.
    Claude,
}

impl HooksFrom {
    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            HooksFrom::Nowhere => "off",
            HooksFrom::Claude => "claude",
        }
    }
}

/// Parses the other agent whose hooks also run.
///
/// # Errors
/// If the name is unknown.
pub fn hooks_from(name: &str) -> Result<HooksFrom, String> {
    [HooksFrom::Nowhere, HooksFrom::Claude]
        .into_iter()
        .find(|from| from.name() == name)
        .ok_or_else(|| "expected off or claude".to_owned())
}

/// Parses the policy of trimming old outputs.
///
/// # Errors
/// If there is no such policy; the message lists the known ones.
pub fn policy(name: &str) -> Result<Preset, String> {
    Preset::from_name(name).ok_or_else(|| "expected faithful, balanced, thrifty or off".to_owned())
}

/// Parses the condition for automatic compaction: a share of the context window, or `off`.
///
/// # Errors
/// If it is neither, or the share is outside 0.1 to 0.95.
pub fn compact_at(text: &str) -> Result<CompactAt, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if (0.1..=0.95).contains(&share) => Ok(CompactAt::Share(share)),
        Err(_) if text.trim() == "off" => Ok(CompactAt::Never),
        _ => Err("expected a share of the context window from 0.1 to 0.95, or off".to_owned()),
    }
}

/// Parses the co-author of commits; `off` means none.
///
/// # Errors
/// If it is not a name with an address.
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
        false => Err("expected \"Name <address>\" or off".to_owned()),
    }
}
