//! Spellings of model names: those of vendors, of the clouds and gateways that sell the models, and of agents.

/// Vendors whose models clouds sell under names that start with the vendor and a dot.
const VENDORS: [&str; 4] = ["anthropic", "openai", "deepseek", "google"];
/// Suffixes, after a colon or a dash, for variants of the same model at the same price. (`:free` has another price and
/// is left as it is.)
const MANNERS: [&str; 5] = [":thinking", ":beta", ":extended", ":latest", "-latest"];

/// The names under which a model may be listed, starting with the given one, each simpler than the one before.
///
/// `us.anthropic.claude-opus-4-5-20251101-v1:0` (Bedrock), `claude-opus-4-5@20251101` (Vertex),
/// `anthropic/claude-opus-4.5` and `anthropic/claude-4.5-opus-20251101` (gateways) and `claude-opus-4-5[1m]` (an agent,
/// for a larger window) all end in `claude-opus-4-5`.
pub(super) fn spellings(asked: &str) -> Vec<String> {
    let mut names = vec![asked.to_owned()];
    let mut now = asked.trim().to_ascii_lowercase();
    let mut note = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    note(&now);
    for simpler in [larger, manner, edition, at] {
        if let Some(name) = simpler(&now) {
            now = name;
            note(&now);
        }
    }
    // Gateways precede the vendor; the address of a cloud resource is a path too. At every stage, a dated name may be
    // listed.
    loop {
        if let Some(name) = undated(&now) {
            note(name);
            note(&dashed(name));
        }
        note(&dashed(&now));
        match now.split_once('/') {
            Some((_, inner)) => now = inner.to_owned(),
            None => break,
        }
        note(&now);
    }
    let simpler = [
        of_cloud,
        |name: &str| undated(name).map(str::to_owned),
        |name: &str| Some(dashed(name)),
        family_first,
    ];
    for simpler in simpler {
        if let Some(name) = simpler(&now) {
            now = name;
            note(&now);
        }
    }
    names
}

/// `claude-opus-4-5[1m]`: the same model with a larger window.
fn larger(name: &str) -> Option<String> {
    let (name, _) = name.strip_suffix(']')?.rsplit_once('[')?;
    Some(name.to_owned())
}

fn manner(name: &str) -> Option<String> {
    let found = MANNERS.iter().find_map(|manner| name.strip_suffix(manner));
    found.map(str::to_owned)
}

/// `…-v1:0`, `…-v2`: Bedrock's own version, in some cases followed by the window (`…-v1:0:200k`).
fn edition(name: &str) -> Option<String> {
    let (rest, edition) = name.rsplit_once("-v")?;
    let is_edition = edition.starts_with(|c: char| c.is_ascii_digit())
        && edition.bytes().all(|b| b.is_ascii_digit() || b == b':' || b == b'k');
    is_edition.then(|| rest.to_owned())
}

/// `claude-opus-4-5@20251101`, `…@default`: Vertex's notation for a snapshot.
fn at(name: &str) -> Option<String> {
    let (model, snapshot) = name.rsplit_once('@')?;
    if snapshot.bytes().all(|b| b.is_ascii_digit()) {
        return Some(format!("{model}-{snapshot}"));
    }
    Some(model.to_owned())
}

/// `us.anthropic.claude-…`, `anthropic.claude-…`: a region and a vendor, each followed by a dot.
fn of_cloud(name: &str) -> Option<String> {
    let starts = VENDORS.iter().filter_map(|vendor| {
        let start = name.find(&format!("{vendor}."))?;
        let is_word = start == 0 || name[..start].ends_with('.');
        is_word.then_some(start + vendor.len() + 1)
    });
    starts.max().map(|start| name[start..].to_owned())
}

/// `claude-opus-4.5`: gateways write a dot where the vendor writes a dash.
fn dashed(name: &str) -> String {
    name.replace('.', "-")
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
            let names = spellings(&name);
            prop_assert!(names.len() < 100 && names[0] == name);
        }
    }
}
