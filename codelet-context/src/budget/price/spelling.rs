//! Spellings of model names: those of vendors, of the clouds and gateways that sell the models, and of agents.

/// The starts of names under which clouds sell the models of a vendor.
const VENDORS: [&str; 4] = ["anthropic.", "openai.", "deepseek.", "google."];
/// Suffixes for variants of the same model at the same price. (`:free` has another price and is left as it is.)
const MANNERS: [&str; 4] = [":thinking", ":beta", ":extended", ":latest"];

/// One form for all spellings of a model's name, with its date, if it has one. Clouds and gateways precede it with a
/// path, or with a region and a vendor, each followed by a dot.
///
/// `us.anthropic.claude-opus-4-5-20251101-v1:0` (Bedrock), `claude-opus-4-5@20251101` (Vertex),
/// `anthropic/claude-opus-4.5` (gateways) and `claude-opus-4-5[1m]` (an agent, for a larger window) all begin with
/// `claude-opus-4-5`.
pub(super) fn canonical(name: &str) -> String {
    let name = name.trim().to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let larger = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
    let name = larger.map_or(name, |(name, _)| name);
    let manner = MANNERS.iter().find_map(|manner| name.strip_suffix(manner));
    let name = of_cloud(manner.unwrap_or(name)).replace('.', "-");
    // Vertex's notation for a snapshot.
    let name = match name.rsplit_once('@') {
        Some((model, snapshot)) if snapshot.bytes().all(|b| b.is_ascii_digit()) => format!("{model}-{snapshot}"),
        Some((model, _)) => model.to_owned(),
        None => name,
    };
    family_first(&name).unwrap_or(name)
}

/// The name behind a region and a vendor, without Bedrock's own version (`-v1:0`, `-v2`), in some cases followed by the
/// window (`-v1:0:200k`).
fn of_cloud(name: &str) -> &str {
    let model = VENDORS.iter().find_map(|vendor| {
        let (region, model) = name.split_once(vendor)?;
        (region.is_empty() || region.ends_with('.')).then_some(model)
    });
    let Some(model) = model else { return name };
    let is_edition = |edition: &str| {
        edition.starts_with(|c: char| c.is_ascii_digit())
            && edition.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'k')
    };
    let edition = model.rsplit_once("-v").filter(|(_, edition)| is_edition(edition));
    edition.map_or(model, |(model, _)| model)
}

/// `claude-4-5-opus`: some gateways write the number before the family.
fn family_first(name: &str) -> Option<String> {
    let rest = name.strip_prefix("claude-")?;
    let (number, family) = rest.rsplit_once('-')?;
    let is_number = number.bytes().all(|b| b.is_ascii_digit() || b == b'-') && !number.is_empty();
    let is_family = family.bytes().all(|b| b.is_ascii_lowercase()) && !family.is_empty();
    (is_number && is_family).then(|| format!("claude-{family}-{number}"))
}

/// Strips a date from the end of a model name (`-20251101`, `-2025-11-01`); `None` if there is none.
pub fn undated(name: &str) -> Option<&str> {
    let is_number = |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = name.rsplit_once('-')?;
    if is_number(last, 8) {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (is_number(last, 2) && is_number(month, 2) && is_number(year, 4)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::price::{among, built_in, find, parse};
    use proptest::prelude::*;

    #[test]
    fn a_model_is_known_however_clouds_gateways_and_agents_spell_it() {
        for (asked, wanted) in [
            (
                "us.anthropic.claude-opus-4-5-20251101-v1:0",
                "anthropic/claude-opus-4-5-20251101",
            ),
            ("anthropic.claude-opus-4-6-v1", "anthropic/claude-opus-4-6"),
            (
                "global.anthropic.claude-haiku-4-5-20251001-v1:0",
                "anthropic/claude-haiku-4-5-20251001",
            ),
            (
                "bedrock/eu.anthropic.claude-sonnet-4-20250514-v1:0",
                "anthropic/claude-sonnet-4-20250514",
            ),
            (
                "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-20251101-v1:0",
                "anthropic/claude-opus-4-5-20251101",
            ),
            ("claude-opus-4-5@20251101", "anthropic/claude-opus-4-5-20251101"),
            ("vertex_ai/claude-sonnet-4-6@default", "anthropic/claude-sonnet-4-6"),
            (
                "publishers/anthropic/models/claude-opus-4-1@20250805",
                "anthropic/claude-opus-4-1-20250805",
            ),
            ("anthropic/claude-opus-4.5", "anthropic/claude-opus-4-5"),
            (
                "openrouter/anthropic/claude-sonnet-4.6:thinking",
                "anthropic/claude-sonnet-4-6",
            ),
            ("anthropic/claude-4.5-sonnet-20250929", "anthropic/claude-sonnet-4-5"),
            ("github_copilot/claude-opus-4.5", "anthropic/claude-opus-4-5"),
            ("claude-opus-4-5[1m]", "anthropic/claude-opus-4-5"),
            ("claude-opus-4-5-20251101[1m]", "anthropic/claude-opus-4-5-20251101"),
            ("Claude-Sonnet-4.6", "anthropic/claude-sonnet-4-6"),
            ("google/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
            ("models/gemini-2.5-pro", "gemini/gemini-2.5-pro"),
            ("gemini-flash-latest", "gemini/gemini-flash-latest"),
            ("azure/gpt-5.4-2026-03-05", "openai/gpt-5.4"),
        ] {
            let found = find(asked).map(|card| &*card.name);
            assert_eq!(found, Some(wanted), "{asked}");
        }
        for unknown in [
            "acme-large-9", "<synthetic>", "anthropic/", "claude", "deepseek/deepseek-flash:free", "us.anthropic.",
        ] {
            assert_eq!(find(unknown).map(|card| &*card.name), None, "{unknown}");
        }
    }

    #[test]
    fn a_card_of_ones_own_is_found_by_every_spelling_too() {
        let cards = parse("claude-opus-4-5 input=100 output=100", "own").unwrap_or_default();
        for asked in [
            "us.anthropic.claude-opus-4-5-20251101-v1:0",
            "anthropic/claude-opus-4.5",
            "claude-opus-4-5[1m]",
        ] {
            assert!(among(&cards, asked).is_some(), "{asked}");
        }
        assert!(among(&cards, "claude-opus-4-6").is_none());
    }

    #[test]
    fn every_card_is_found_by_its_own_name() {
        for card in built_in() {
            assert_eq!(find(&card.name).map(|found| &found.name), Some(&card.name));
        }
    }

    proptest! {
        #[test]
        fn no_name_breaks_the_reader(name in "[a-z0-9@.:/\\[\\]-]{0,60}|\\PC{0,60}") {
            let form = canonical(&name);
            prop_assert!(!form.contains(['/', '.']), "{form}");
        }
    }
}
