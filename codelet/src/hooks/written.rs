//! The hook configuration, in a schema shared with other agents: events, matchers, commands.

use codelet_text::near;
use fancy_regex::Regex;
use serde_json::{Map, Value};
use std::time::Duration;

/// The supported events.
pub const EVENTS: [&str; 8] = [
    "PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "PreCompact", "PostCompact",
    "Notification",
];

/// The default and the maximum timeout of a hook.
const TIMEOUT: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(600);
/// The maximum number of hooks per file and bytes per command: nobody reads more before consenting.
const MOST: usize = 40;
const LINE: usize = 2_000;
/// The supported fields of a hook. `statusMessage`, which other agents show while the hook runs, has no effect here.
const FIELDS: [&str; 5] = ["type", "command", "timeout", "sandbox", "statusMessage"];

/// One hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hook {
    /// Its event, one of [`EVENTS`].
    pub event: &'static str,
    /// Its matcher, as configured.
    pub matcher: String,
    /// The command line.
    pub command: String,
    /// The timeout.
    pub timeout: Duration,
    /// True if it asks to run outside the sandbox.
    pub wants_freedom: bool,
}

/// The hooks of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HookFile {
    /// The hooks that can be run.
    pub hooks: Vec<Hook>,
    /// The unsupported parts of the others, each as a sentence without a period.
    pub unsupported: Vec<String>,
}

/// Parses the value of `hooks` in a settings file.
///
/// # Errors
/// Describes the invalid part and its location.
pub fn read(hooks: &Value) -> Result<HookFile, String> {
    let mut written = HookFile::default();
    for (name, groups) in object(hooks, "hooks")? {
        let at = format!("hooks.{name}");
        let Some(event) = EVENTS.into_iter().find(|event| event == name) else {
            let meant = near::hint(name, EVENTS);
            written
                .unsupported
                .push(format!("hooks of {name} are not supported and do not run{meant}"));
            continue;
        };
        for (index, group) in list(groups, &at)?.iter().enumerate() {
            let at = format!("{at}[{index}]");
            take(event, object(group, &at)?, &mut written).map_err(|why| format!("{at}: {why}"))?;
        }
    }
    match written.hooks.len() {
        0..=MOST => Ok(written),
        count => Err(format!("there are {count} hooks; the limit is {MOST}")),
    }
}

fn take(event: &'static str, group: &Map<String, Value>, written: &mut HookFile) -> Result<(), String> {
    let matcher = match group.get("matcher") {
        None => "",
        Some(matcher) => matcher.as_str().ok_or("expected `matcher` to be a text")?,
    };
    let hooks = group.get("hooks").ok_or("expected a list `hooks`")?;
    for hook in list(hooks, "hooks")? {
        match one(event, matcher, object(hook, "hooks")?)? {
            Ok(hook) => written.hooks.push(hook),
            Err(why) => written
                .unsupported
                .push(format!("a hook of {event} {why}; it does not run")),
        }
    }
    Ok(())
}

/// Parses a hook, or describes its unsupported part.
fn one(event: &'static str, matcher: &str, hook: &Map<String, Value>) -> Result<Result<Hook, String>, String> {
    let kind = hook.get("type").and_then(Value::as_str).ok_or("expected a `type`")?;
    if kind != "command" {
        return Ok(Err(format!("is of the type {kind:?}, which is not supported")));
    }
    if let Some(other) = hook.keys().find(|key| !FIELDS.contains(&key.as_str())) {
        let meant = near::hint(other, FIELDS);
        return Ok(Err(format!("has `{other}`, which is not supported{meant}")));
    }
    let command = hook.get("command").and_then(Value::as_str).unwrap_or_default();
    if command.trim().is_empty() || command.contains('\0') {
        return Err("expected a `command`".to_owned());
    }
    if command.len() > LINE {
        return Err(format!(
            "a command has {} bytes; the limit is {LINE}: put it into a script",
            command.len()
        ));
    }
    if let Err(why) = Matcher::new(matcher) {
        return Err(format!("the matcher {matcher:?} {why}"));
    }
    let timeout = match hook.get("timeout") {
        None => TIMEOUT,
        Some(seconds) => seconds
            .as_f64()
            .filter(|seconds| *seconds > 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or("expected `timeout` to be seconds, more than 0")?
            .min(LONGEST),
    };
    let is_sandboxed = match hook.get("sandbox") {
        None => true,
        Some(sandbox) => sandbox.as_bool().ok_or("expected `sandbox` to be true or false")?,
    };
    Ok(Ok(Hook {
        event,
        matcher: matcher.to_owned(),
        command: command.to_owned(),
        timeout,
        wants_freedom: !is_sandboxed,
    }))
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{at}: expected a table"))
}

fn list<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], String> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| format!("{at}: expected a list"))
}

/// The tools or kinds of an event that a hook applies to.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// All.
    All,
    /// Those with one of these names.
    Names(Vec<String>),
    /// Those whose name contains a match.
    Pattern(Regex),
}

impl Matcher {
    /// Parses a matcher: empty or `*` for all, names separated by `|`, or a regular expression.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn new(written: &str) -> Result<Self, &'static str> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|' | '-');
        if matches!(written.trim(), "" | "*") {
            return Ok(Matcher::All);
        }
        if written.chars().all(is_plain) {
            return Ok(Matcher::Names(written.split('|').map(str::to_owned).collect()));
        }
        Regex::new(written)
            .map(Matcher::Pattern)
            .map_err(|_| "is not a regular expression")
    }

    /// Returns whether a name matches. A pattern that exceeds the matching limit counts as a match: it may guard
    /// something.
    pub fn fits(&self, name: &str) -> bool {
        match self {
            Matcher::All => true,
            Matcher::Names(names) => names.iter().any(|known| known == name),
            Matcher::Pattern(pattern) => pattern.is_match(name).unwrap_or(true),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn a_matcher_is_names_or_a_pattern_or_everything() {
        for (written, name, fits) in [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "MultiEdit", false),
            ("mcp__.*", "mcp__files__stat", true),
            ("^Notebook", "NotebookEdit", true),
            ("^(?!Read$).*", "Read", false),
            ("^(?!Read$).*", "Bash", true),
        ] {
            assert_eq!(Matcher::new(written).unwrap().fits(name), fits, "{written}: {name}");
        }
        assert!(Matcher::new("Ba(sh").is_err());
    }

    #[test]
    fn what_is_not_supported_is_listed_and_what_is_wrong_is_told() {
        let of = |hook: Value| read(&json!({"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}));
        let hook = of(json!({"type": "command", "command": "./check", "timeout": 5}))
            .unwrap()
            .hooks;
        assert_eq!(
            (hook[0].timeout, hook[0].wants_freedom),
            (Duration::from_secs(5), false)
        );
        for hook in [
            json!({"type": "prompt", "prompt": "Is it fine?"}),
            json!({"type": "command", "command": "x", "async": true}),
            json!({"type": "command", "command": "x", "if": "Bash(rm *)"}),
        ] {
            let written = of(hook.clone()).unwrap();
            assert_eq!((written.hooks.len(), written.unsupported.len()), (0, 1), "{hook}");
        }
        for hook in [
            json!("x"),
            json!({"command": "x"}),
            json!({"type": "command"}),
            json!({"type": "command", "command": " "}),
            json!({"type": "command", "command": "x", "timeout": -1}),
            json!({"type": "command", "command": "x".repeat(3_000)}),
        ] {
            assert!(of(hook.clone()).is_err(), "{hook}");
        }
        let other = read(&json!({"SessionEnd": [{"hooks": []}]})).unwrap();
        assert_eq!(
            other.unsupported,
            ["hooks of SessionEnd are not supported and do not run"]
        );
        assert!(read(&json!([])).is_err() && read(&json!({"Stop": {}})).is_err());
        let many = vec![json!({"type": "command", "command": "x"}); 41];
        assert!(read(&json!({"Stop": [{"hooks": many}]})).is_err());
    }
}
