//! The thinking efforts of each model, and the effect of a changed effort on its prompt cache.
//!
//! As the vendors documented them in November 2026:
//! - Anthropic: platform.claude.com/docs/en/build-with-claude/effort and the models' overview pages. Models before 4.6
//!   have a budget in tokens instead; the budget for each effort is our choice. Cache:
//!   code.claude.com/docs/en/prompt-caching (the effort is not part of the cache key) and
//!   platform.claude.com/docs/en/build-with-claude/prompt-caching (turning thinking on or off, or another budget,
//!   invalidates the cached messages).
//! - OpenAI: developers.openai.com/api/docs/guides/reasoning and the models' pages. Cache: the guide on prompt caching
//!   names another reasoning effort among the causes of a miss.
//! - Gemini: ai.google.dev/gemini-api/docs/thinking (levels of Gemini 3), and ai.google.dev/gemini-api/docs/openai (the
//!   budget for each effort with Gemini 2.5).
//! - DeepSeek: api-docs.deepseek.com/guides/thinking_mode. `low` and `medium` are treated as `high`, `xhigh` as `max`.
//! - OpenRouter: openrouter.ai/docs/guides/best-practices/reasoning-tokens. It translates for the model's provider.

use crate::catalogue::Thinks;
use crate::settings::{Settings, Thinking};
use crate::wire::Wire;
use codelet_agent::effort::{CacheAfter, Effort};
use codelet_context::tokens::Tokens;

use Effort::{High, Low, Max, Medium, Minimal, None as Off, Xhigh};

/// Vendors, model name prefixes, and the efforts that those models support. The longest prefix counts.
const TAKEN: &[(&str, &str, &[Effort])] = &[
    ("anthropic", "claude-haiku-4-5", &[Off, Low, Medium, High]),
    ("anthropic", "claude-opus-4-5", &[Off, Low, Medium, High]),
    ("anthropic", "claude-sonnet-4-5", &[Off, Low, Medium, High]),
    ("anthropic", "claude-opus-4-6", &[Off, Low, Medium, High, Max]),
    ("anthropic", "claude-sonnet-4-6", &[Off, Low, Medium, High, Max]),
    ("anthropic", "claude-opus-4-7", &[Off, Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-opus-4-8", &[Off, Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-sonnet-5", &[Off, Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-opus-5", &[Off, Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-haiku-5-5", &[Off, Low, Medium, High, Xhigh, Max]),
    // These models always think.
    ("anthropic", "claude-fable-5", &[Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-opus-5-5", &[Low, Medium, High, Xhigh, Max]),
    ("anthropic", "claude-sonnet-5-5", &[Low, Medium, High, Xhigh, Max]),
    ("openai", "o3", &[Low, Medium, High]),
    ("openai", "o4", &[Low, Medium, High]),
    ("openai", "gpt-5", &[Minimal, Low, Medium, High]),
    ("openai", "gpt-5-pro", &[High]),
    ("openai", "gpt-5.1", &[Off, Low, Medium, High]),
    ("openai", "gpt-5.2", &[Off, Low, Medium, High, Xhigh]),
    ("openai", "gpt-5.2-pro", &[Medium, High, Xhigh]),
    ("openai", "gpt-5.3-codex", &[Low, Medium, High, Xhigh]),
    ("openai", "gpt-5.4", &[Off, Low, Medium, High, Xhigh]),
    ("openai", "gpt-5.4-pro", &[Medium, High, Xhigh]),
    ("openai", "gpt-5.5", &[Off, Low, Medium, High, Xhigh]),
    ("openai", "gpt-5.5-pro", &[Medium, High, Xhigh]),
    ("openai", "gpt-5.6", &[Off, Low, Medium, High, Xhigh, Max]),
    ("openai", "gpt-6-sol", &[Off, Low, Medium, High, Xhigh, Max]),
    ("openai", "gpt-6-luna", &[Off, Low, Medium, High, Xhigh, Max]),
    ("openai", "gpt-6-astra", &[Low, Medium, High, Xhigh, Max]),
    ("openai", "gpt-6.1", &[Low, Medium, High, Xhigh, Max]),
    ("openai", "gpt-6.2", &[Low, Medium, High, Xhigh, Max]),
    ("gemini", "gemini-2.5-flash", &[Off, Low, Medium, High]),
    ("gemini", "gemini-2.5-pro", &[Low, Medium, High]),
    ("gemini", "gemini-3-pro", &[Low, High]),
    ("gemini", "gemini-3.1-pro", &[Low, Medium, High]),
    ("gemini", "gemini-3.7-flash", &[Low, Medium, High]),
    ("gemini", "gemini-3.8-flash", &[Low, Medium, High]),
    ("gemini", "gemini-", &[Minimal, Low, Medium, High]),
    ("deepseek", "", &[Off, Low, Medium, High, Xhigh, Max]),
    ("openrouter", "", &[Off, Minimal, Low, Medium, High, Xhigh]),
];

impl Settings {
    /// Returns the efforts that the model supports; for an unlisted model all that can be requested, since its server
    /// decides.
    pub(crate) fn efforts(&self) -> Vec<Effort> {
        if self.is_listed && self.thinks == Thinks::Never {
            return Vec::new();
        }
        let is_of = |begins: &str| {
            let rest = self.model.strip_prefix(begins);
            let ends = |rest: &str| {
                rest.is_empty() || begins.is_empty() || begins.ends_with('-') || rest.starts_with(['-', ':', '@'])
            };
            rest.is_some_and(ends)
        };
        let rows = TAKEN
            .iter()
            .filter(|(vendor, begins, _)| *vendor == self.vendor && is_of(begins));
        if let Some((.., taken)) = rows.max_by_key(|(_, begins, _)| begins.len()) {
            return taken.to_vec();
        }
        if self.wire == Wire::Gemini {
            return vec![Minimal, Low, Medium, High];
        }
        // No value for "no thinking" is common to all such servers.
        let has_off =
            matches!(self.wire, Wire::Anthropic | Wire::Responses) || matches!(self.vendor, "ollama" | "openai");
        let all = Effort::ALL.into_iter();
        all.filter(|effort| has_off || *effort != Off).collect()
    }

    /// Returns the requested effort; `None` for the vendor's default.
    pub(crate) fn effort(&self) -> Option<Effort> {
        match &self.thinking {
            Thinking::Off => Some(Off),
            Thinking::Effort(name) => Effort::from_name(name),
            Thinking::Usual | Thinking::Budget(_) => None,
        }
    }

    /// Returns the settings with another effort.
    pub(crate) fn with_effort(&self, effort: Option<Effort>) -> Settings {
        let thinking = match effort {
            None => Thinking::Usual,
            Some(Off) => Thinking::Off,
            Some(effort) => Thinking::Effort(effort.name().to_owned()),
        };
        let listed = self.is_listed.then_some(self.thinks);
        Settings {
            thinks: thinks(listed, self.vendor, self.wire, &thinking),
            thinking,
            ..self.clone()
        }
    }

    /// Returns the effect of a change to this effort on the provider's cache.
    pub(crate) fn cache_after(&self, effort: Option<Effort>) -> CacheAfter {
        let is_off = |effort: Option<Effort>| effort == Some(Off);
        match (self.wire, self.vendor) {
            _ if self.effort() == effort => CacheAfter::Kept,
            (Wire::Anthropic, "anthropic")
                if self.thinks == Thinks::Adaptive && is_off(effort) == is_off(self.effort()) =>
            {
                CacheAfter::Kept
            }
            (Wire::Anthropic, "anthropic") | (_, "openai") => CacheAfter::Lost,
            _ => CacheAfter::Unknown,
        }
    }
}

/// Returns a model's way of thinking; for an unlisted one, that of most of its vendor's models.
pub(crate) fn thinks(listed: Option<Thinks>, vendor: &str, wire: Wire, wanted: &Thinking) -> Thinks {
    match (listed, wire, wanted) {
        (Some(listed), ..) => listed,
        (None, Wire::Responses, _) if vendor == "openai" => Thinks::Effort,
        (None, _, Thinking::Usual) => Thinks::Never,
        (None, Wire::Anthropic | Wire::Gemini, Thinking::Budget(_)) => Thinks::Budget,
        (None, Wire::Anthropic, _) => Thinks::Adaptive,
        (None, Wire::Gemini, _) => Thinks::Level,
        (None, ..) => Thinks::Effort,
    }
}

/// Returns the budget for an effort with Anthropic models that require one: our choice, as far apart as an output of
/// 32,000 tokens allows.
pub(crate) fn anthropic_budget(effort: &str) -> Tokens {
    match effort {
        "minimal" | "low" => 2_048,
        "medium" => 8_192,
        "high" => 16_384,
        _ => 24_576,
    }
}

/// Returns the budget for an effort with Gemini 2.5, from the vendor's table.
pub(crate) fn gemini_budget(effort: &str) -> Tokens {
    match effort {
        "minimal" | "low" => 1_024,
        "medium" => 8_192,
        _ => 24_576,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn every_listed_model_that_thinks_takes_an_effort_and_no_other_does() {
        for known in catalogue::known().filter(|known| known.vendor != "openrouter") {
            let settings = Settings {
                wire: crate::vendor::find(known.vendor).unwrap().wire,
                model: known.model.to_owned(),
                vendor: known.vendor,
                thinks: known.thinks,
                is_listed: true,
                ..crate::body::tests::settings(Wire::Chat)
            };
            let efforts = settings.efforts();
            assert_eq!(efforts.is_empty(), known.thinks == Thinks::Never, "{}", known.model);
            assert!(efforts.is_sorted(), "{}", known.model);
        }
    }

    #[test]
    fn a_newer_model_does_not_take_what_an_older_one_of_a_like_name_takes() {
        let efforts = |vendor: &'static str, model: &str| {
            let settings = Settings {
                model: model.to_owned(),
                vendor,
                thinks: Thinks::Effort,
                is_listed: true,
                ..crate::body::tests::settings(Wire::Responses)
            };
            codelet_agent::effort::names(&settings.efforts())
        };
        for (vendor, model, taken) in [
            ("anthropic", "claude-opus-5", "none, low, medium, high, xhigh, max"),
            ("anthropic", "claude-opus-5-5", "low, medium, high, xhigh, max"),
            ("anthropic", "claude-sonnet-4-6", "none, low, medium, high, max"),
            ("openai", "gpt-5-2025-08-07", "minimal, low, medium, high"),
            ("openai", "gpt-5-pro", "high"),
            ("openai", "gpt-5.4-mini", "none, low, medium, high, xhigh"),
            ("gemini", "gemini-3.8-flash", "low, medium, high"),
            ("gemini", "gemini-3.5-flash-lite", "minimal, low, medium, high"),
        ] {
            assert_eq!(efforts(vendor, model), taken, "{model}");
        }
    }
}
