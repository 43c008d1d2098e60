//! Model names of clouds, and the catalogue's names of the same models.
//!
//! The engine's price cards know such names, too (`codelet_context::price::find`), for any provider of a recorded
//! conversation. Here the name also determines the maker, even of unlisted models, which decides the wire and the
//! content of requests.

use crate::wire::Wire;

/// Makers as prefixes of Bedrock's names, and the vendors that sell the same models directly.
const MAKERS: &[(&str, &str)] = &[
    ("anthropic.", "anthropic"),
    ("openai.", "openai"),
    ("deepseek.", "deepseek"),
];

/// Returns the catalogue's vendor and model for a cloud's name; the name itself if no rule matches.
///
/// - Bedrock: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, with an inference profile's area before the maker and a
///   version after the name, or an ARN with such a name; the target of an application inference profile is in no name.
/// - Vertex: `claude-opus-4-5@20251101`; `@default` is the newest snapshot.
/// - Azure: a deployment, which most users name after its model.
pub(crate) fn known_as(vendor: &'static str, name: &str) -> (&'static str, String) {
    match vendor {
        "azure" | "azure-chat" => ("openai", name.to_owned()),
        "bedrock" => bedrock(name).unwrap_or_else(|| (vendor, name.to_owned())),
        "vertex" if name.starts_with("claude") => {
            let (model, snapshot) = name.split_once('@').unwrap_or((name, ""));
            let is_date = snapshot.len() == 8 && snapshot.bytes().all(|byte| byte.is_ascii_digit());
            let model = if is_date {
                format!("{model}-{snapshot}")
            } else {
                model.to_owned()
            };
            ("anthropic", model)
        }
        "vertex" if name.starts_with("gemini") || name.starts_with("gemma") => ("gemini", name.to_owned()),
        _ => (vendor, name.to_owned()),
    }
}

/// Returns whether a model costs a tenth more than its maker charges: when it is bound to a region or area, rather than
/// global.
///
/// As Anthropic documents for its models from 4.5 on (platform.claude.com/docs/en/about-claude/pricing, November 2026).
pub(crate) fn has_surcharge(vendor: &str, name: &str, location: Option<&str>) -> bool {
    match vendor {
        "bedrock" => name.contains("anthropic.") && !bare(name).starts_with("global."),
        "vertex" => name.starts_with("claude") && location.is_some_and(|location| location != super::EVERYWHERE),
        _ => false,
    }
}

/// Returns the wire on which Bedrock serves a model. The target of an application inference profile is assumed to be
/// Claude.
pub(crate) fn bedrock_wire(name: &str) -> Wire {
    let Some((model, maker)) = made_by(name) else {
        let is_unnamed = name.starts_with("arn:");
        return if is_unnamed { Wire::Anthropic } else { Wire::Chat };
    };
    match maker {
        "anthropic" => Wire::Anthropic,
        // `gpt-oss` models have no Responses API on this endpoint.
        "openai" if !model.starts_with("gpt-oss") => Wire::Responses,
        _ => Wire::Chat,
    }
}

fn bedrock(name: &str) -> Option<(&'static str, String)> {
    let (model, maker) = made_by(name)?;
    let model = model.split(':').next().unwrap_or(model);
    // `-v1`, `-v2`; after `openai.gpt-oss-120b` the number alone.
    let model = match model.rsplit_once('-') {
        Some((model, version)) if is_version(version) => model,
        _ => model,
    };
    Some((maker, model.to_owned()))
}

fn is_version(text: &str) -> bool {
    let digits = text.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a name without its ARN.
fn bare(name: &str) -> &str {
    match name.starts_with("arn:") {
        true => name.rsplit('/').next().unwrap_or(name),
        false => name,
    }
}

/// Returns the model and its maker.
fn made_by(name: &str) -> Option<(&str, &'static str)> {
    let name = bare(name);
    MAKERS.iter().find_map(|(prefix, maker)| {
        let (area, model) = name.split_once(prefix)?;
        let is_area = area.is_empty() || area.ends_with('.') && !area.trim_end_matches('.').contains('.');
        (is_area && !model.is_empty()).then_some((model, *maker))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn a_clouds_name_is_the_catalogues_model() {
        for (vendor, name, model) in [
            (
                "bedrock",
                "anthropic.claude-sonnet-4-5-20250929-v1:0",
                "anthropic/claude-sonnet-4-5-20250929",
            ),
            (
                "bedrock",
                "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "anthropic/claude-haiku-4-5-20251001",
            ),
            (
                "bedrock",
                "us.anthropic.claude-opus-4-6-v1",
                "anthropic/claude-opus-4-6",
            ),
            (
                "bedrock",
                "global.anthropic.claude-sonnet-5-5",
                "anthropic/claude-sonnet-5-5",
            ),
            (
                "bedrock",
                "us-gov.anthropic.claude-opus-5-5",
                "anthropic/claude-opus-5-5",
            ),
            (
                "bedrock",
                "arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8",
                "anthropic/claude-opus-4-8",
            ),
            ("bedrock", "openai.gpt-5.4", "openai/gpt-5.4"),
            (
                "vertex",
                "claude-opus-4-5@20251101",
                "anthropic/claude-opus-4-5-20251101",
            ),
            ("vertex", "claude-sonnet-5-5", "anthropic/claude-sonnet-5-5"),
            ("vertex", "claude-opus-4-6@default", "anthropic/claude-opus-4-6"),
            ("vertex", "gemini-2.5-pro", "gemini/gemini-2.5-pro"),
            ("azure", "gpt-5.4", "openai/gpt-5.4"),
            ("azure-chat", "gpt-5.4-mini", "openai/gpt-5.4-mini"),
        ] {
            let (maker, found) = known_as(vendor, name);
            assert_eq!(format!("{maker}/{found}"), model, "{vendor}/{name}");
            assert!(catalogue::find(maker, &found).is_some(), "{model} is listed");
        }
    }

    #[test]
    fn a_name_that_no_rule_knows_stays_as_it_is() {
        for (vendor, name) in [
            (
                "bedrock",
                "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/ab12cd34",
            ),
            ("bedrock", "us.amazon.nova-pro-v1:0"),
            ("bedrock", "evil.host.anthropic.claude-opus-5-5"),
            ("bedrock", "anthropic."),
            ("vertex", "meta/llama-4-maverick-17b-128e-instruct-maas"),
        ] {
            assert_eq!(known_as(vendor, name), (vendor, name.to_owned()));
        }
    }

    #[test]
    fn each_model_of_bedrock_is_asked_on_its_makers_wire() {
        for (name, wire) in [
            ("us.anthropic.claude-opus-5-5", Wire::Anthropic),
            (
                "arn:aws:bedrock:us-east-1:1:application-inference-profile/ab12",
                Wire::Anthropic,
            ),
            ("openai.gpt-5.4", Wire::Responses),
            ("openai.gpt-oss-120b-1:0", Wire::Chat),
            ("qwen.qwen3-coder-480b-a35b-v1:0", Wire::Chat),
        ] {
            assert_eq!(bedrock_wire(name), wire, "{name}");
        }
    }

    #[test]
    fn a_place_costs_more_than_anywhere() {
        for (vendor, name, location, has) in [
            ("bedrock", "us.anthropic.claude-sonnet-5-5", Some("us-east-1"), true),
            ("bedrock", "anthropic.claude-sonnet-5-5", Some("us-east-1"), true),
            (
                "bedrock",
                "global.anthropic.claude-sonnet-5-5",
                Some("us-east-1"),
                false,
            ),
            ("bedrock", "openai.gpt-5.4", Some("us-east-1"), false),
            ("vertex", "claude-sonnet-5-5", None, false),
            ("vertex", "claude-sonnet-5-5", Some("global"), false),
            ("vertex", "claude-sonnet-5-5", Some("europe-west1"), true),
            ("vertex", "gemini-2.5-pro", Some("europe-west1"), false),
        ] {
            assert_eq!(
                has_surcharge(vendor, name, location),
                has,
                "{vendor}/{name} in {location:?}"
            );
        }
    }
}
