//! Differences between models of one provider.

/// For each family of Claude models: the last version whose thinking may follow changed messages. Newer ones, and
/// families that are not listed, refuse it there: "The block is bound to a different conversation".
///
/// Source: "Preserved thinking" and "Prefix checks on thinking blocks", platform.claude.com, read in November 2026.
/// They list Fable and Mythos 5.1 and 5.2, Opus, Sonnet and Haiku 5.5.
const LAST_UNBOUND: &[(&str, Version)] = &[
    ("opus", (5, 0)),
    ("sonnet", (5, 0)),
    ("haiku", (5, 0)),
    ("fable", (5, 0)),
    ("mythos", (5, 0)),
    ("instant", (1, 9)),
];
/// The last Claude models whose names had a version but no family.
const LAST_WITHOUT_FAMILY: Version = (3, 99);

type Version = (u32, u32);

/// Returns whether a model refuses signed thinking after a changed prefix, ignoring anything that gateways add to its
/// name. An unknown Claude model counts as one that does.
pub fn binds_thinking(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    let Some((_, name)) = name.split_once("claude") else {
        return false;
    };
    let words = || {
        name.split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
    };
    // A date is not a version, and neither is a gateway's suffix (`-v1:0`).
    let numbers = words().take_while(|word| !word.starts_with('v'));
    let mut numbers = numbers
        .filter(|word| word.len() <= 2)
        .filter_map(|word| word.parse().ok());
    let version = numbers.next().map(|major| (major, numbers.next().unwrap_or(0)));
    let family = LAST_UNBOUND
        .iter()
        .find(|(family, _)| words().any(|word| word == *family));
    let has_family = words()
        .next()
        .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
    match (family, version) {
        (Some((_, last)), Some(version)) => version > *last,
        (None, Some(version)) => has_family || version > LAST_WITHOUT_FAMILY,
        // `claude-opus-latest` is the newest one.
        (_, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_claude_models_and_those_that_nobody_knows_bind_their_thinking() {
        let bound = [
            "claude-fable-5-1",
            "claude-fable-5-2-20261105",
            "claude-mythos-5-1",
            "claude-opus-5-5",
            "anthropic/claude-sonnet-5.5",
            "us.anthropic.claude-haiku-5-5-20261001-v1:0",
            "claude-opus-5-1",
            "claude-opus-6",
            "claude-saga-1",
            "claude-saga-7",
            "claude-opus-latest",
            "Claude-Opus-5-5@20260901",
        ];
        for model in bound {
            assert!(binds_thinking(model), "{model}");
        }
    }

    #[test]
    fn older_claude_models_and_other_vendors_do_not() {
        let free = [
            "claude-opus-5",
            "claude-opus-5-20260601",
            "claude-opus-4-8",
            "claude-sonnet-4-20250514",
            "anthropic/claude-opus-4.8:thinking",
            "anthropic.claude-3-7-sonnet-20250219-v1:0",
            "claude-3-opus-20240229",
            "claude-2.1",
            "claude-instant-1.2",
            "deepseek-v4",
            "kimi-k3-thinking",
            "",
        ];
        for model in free {
            assert!(!binds_thinking(model), "{model}");
        }
    }
}
