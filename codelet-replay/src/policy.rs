//! The compared policies: when and how each edits what has been sent.

use crate::editor::{Editor, Unedited};
use crate::engine::Engine;
use crate::mask::{Mask, Rule};
use crate::session::Session;
use codelet_context::economics::Preset;
use codelet_context::price::{self, PriceCard};
use codelet_context::tokens::Tokens;

/// A way of editing a conversation. Each of them compacts with the engine, without a model, if a request would not fit;
/// they differ only in the editing before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Policy {
    /// Nothing is edited before the window is full.
    Never,
    /// The seven strategies run before every request.
    Seven,
    /// All results except those of the last ten calls are masked, at every request.
    MaskTen,
    /// Beyond 100,000 tokens, all results but the last three are cleared.
    Clear,
    /// The same, but only if that removes 20,000 tokens or more.
    ClearAtLeast,
    /// Results older than the newest 40,000 tokens of results are cleared if they come to more than 20,000.
    Protect,
    /// The engine's own preset of that name, run by the engine.
    Preset(Preset),
}

impl Policy {
    /// All policies, in the order in which they are listed; the first is the baseline.
    pub const ALL: &[Policy] = &[
        Policy::Never,
        Policy::Seven,
        Policy::MaskTen,
        Policy::Clear,
        Policy::ClearAtLeast,
        Policy::Protect,
        Policy::Preset(Preset::Faithful),
        Policy::Preset(Preset::Balanced),
        Policy::Preset(Preset::Thrifty),
        Policy::Preset(Preset::Off),
    ];

    /// The default policies: all but `off`, which edits when `never` does.
    pub const USUAL: &[Policy] = Policy::ALL.split_at(Policy::ALL.len() - 1).0;

    /// The name by which users select it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Never => "never",
            Policy::Seven => "seven",
            Policy::MaskTen => "mask-10",
            Policy::Clear => "clear-100k",
            Policy::ClearAtLeast => "clear-100k-20k",
            Policy::Protect => "protect-40k",
            Policy::Preset(preset) => preset.name(),
        }
    }

    /// Returns the policy of that name.
    pub fn from_name(name: &str) -> Option<Policy> {
        Policy::ALL.iter().copied().find(|policy| policy.name() == name)
    }

    /// Returns the policies of these names.
    ///
    /// # Errors
    /// If one of them is unknown; the sentence lists the known ones.
    pub fn from_names(names: &[String]) -> Result<Vec<Policy>, String> {
        let policy = |name: &String| {
            Policy::from_name(name).ok_or_else(|| {
                let known: Vec<_> = Policy::ALL.iter().map(|policy| policy.name()).collect();
                format!("unknown policy {name:?}; policies: {}", known.join(", "))
            })
        };
        names.iter().map(policy).collect()
    }

    /// Returns the policies to replay for these arguments: each once, with the baseline first; the default ones if
    /// there are no arguments.
    pub fn played(asked: &[Policy]) -> Vec<Policy> {
        if asked.is_empty() {
            return Policy::USUAL.to_vec();
        }
        let mut policies = vec![Policy::Never];
        for policy in asked {
            if !policies.contains(policy) {
                policies.push(*policy);
            }
        }
        policies
    }

    /// A short description for a list.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Policy::Never => "edit nothing until the context window is full",
            Policy::Seven => "apply all seven strategies before every request",
            Policy::MaskTen => "mask all tool outputs but the last ten",
            Policy::Clear => "above 100k tokens, clear all tool outputs but the last three",
            Policy::ClearAtLeast => "the same, if that removes at least 20k tokens",
            Policy::Protect => "clear tool outputs before the newest 40k tokens once they exceed 20k",
            Policy::Preset(preset) => preset.explained(),
        }
    }

    pub(crate) fn editor<'a>(
        self,
        session: &'a Session,
        settings: &Settings,
        unedited: &'a Unedited<'a>,
    ) -> Box<dyn Editor + 'a> {
        let rule = match self {
            Policy::Preset(preset) => return Box::new(Engine::new(session, settings, preset)),
            Policy::Never => Rule::Nothing,
            Policy::Seven => Rule::Strategies,
            Policy::MaskTen => Rule::Last(10),
            Policy::Clear => Rule::Beyond {
                trigger: 100_000,
                keep: 3,
                least: 0,
            },
            Policy::ClearAtLeast => Rule::Beyond {
                trigger: 100_000,
                keep: 3,
                least: 20_000,
            },
            Policy::Protect => Rule::Behind {
                protected: 40_000,
                least: 20_000,
            },
        };
        Box::new(Mask::new(session, unedited, rule))
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The conditions under which sessions are replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct Settings {
    /// The model's context window, in tokens.
    pub window: Tokens,
    /// Tokens of it reserved for the reply.
    pub reserved: Tokens,
    /// The prices of tokens, and the rules of the cache. With prices that are not finite, amounts in dollars are
    /// meaningless.
    pub card: PriceCard,
    /// The probability that content that is referred to and not shown is read again, 0 to 1. Values outside are
    /// clamped, and NaN counts as 0.
    pub refetch: f64,
    /// The user's own price cards, which take precedence over the built-in ones for pricing bills.
    pub own: Vec<PriceCard>,
}

impl Settings {
    /// Returns the usual conditions for a window of this size: 8 % of it, 16,000 tokens at most, is reserved for the
    /// reply, and missing content is read again every other time.
    pub fn new(window: Tokens, card: PriceCard) -> Self {
        Settings {
            window,
            reserved: (window.saturating_mul(8) / 100).min(16_000),
            card,
            refetch: 0.5,
            own: Vec::new(),
        }
    }

    /// Returns the prices of a model: from the user's own cards, or from the built-in ones. If neither knows it, `card`
    /// if that is one of the user's own; an unknown model is never taken for another one.
    pub(crate) fn price_of(&self, model: Option<&str>) -> Option<&PriceCard> {
        let named = model.and_then(|model| price::among(&self.own, model).or_else(|| price::find(model)));
        named.or_else(|| (!self.own.is_empty()).then_some(&self.card))
    }

    /// Returns the probability that missing content is read again; see [`refetch`](Self::refetch).
    pub(crate) fn chance(&self) -> f64 {
        match self.refetch {
            chance if chance.is_nan() => 0.0,
            chance => chance.clamp(0.0, 1.0),
        }
    }

    /// The maximum size of a request, in tokens.
    pub fn limit(&self) -> Tokens {
        self.window - self.reserved.min(self.window / 2)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::totals::{Played, totals};
    use codelet_context::price::{self, Rates};

    fn session() -> Session {
        let words = "Look at the parser and at what it loses. ".repeat(200);
        let mut messages = Vec::new();
        for number in 0..12 {
            messages.push(serde_json::json!({"role": "user", "content": format!("{number}: {words}")}));
            messages.push(serde_json::json!({"role": "assistant", "content": format!("Part {number} is lost.")}));
        }
        let text = serde_json::json!({ "messages": messages }).to_string();
        Session::new("x", codelet_transcript::record(text.as_bytes(), None).unwrap())
    }

    #[test]
    fn no_window_is_too_large() {
        for window in [0, 1, 4_000, Tokens::MAX / 8, Tokens::MAX] {
            let settings = Settings::new(window, price::usual());
            assert!(settings.limit() <= window && settings.reserved <= 16_000, "{window}");
        }
        let settings = Settings::new(Tokens::MAX, price::usual());
        let played = Played::new(&session(), "x".to_owned(), Policy::ALL, &settings);
        assert_eq!(played.whole(Policy::Never).unwrap().steps, 12);
    }

    #[test]
    fn a_figure_that_is_no_number_is_in_no_ratio() {
        let session = session();
        let mut settings = Settings::new(200_000, price::usual());
        settings.refetch = f64::NAN;
        assert_eq!(settings.chance(), 0.0);
        let played = |settings: &Settings| Played::new(&session, "x".to_owned(), Policy::USUAL, settings);
        assert!(played(&settings).ratio(Policy::Never).is_some());
        for (asked, meant) in [(-1.0, 0.0), (7.0, 1.0), (0.3, 0.3)] {
            settings.refetch = asked;
            assert_eq!(settings.chance(), meant);
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let rates = Rates {
                output: bad,
                ..Rates::default()
            };
            settings.card = settings.card.clone().costing(rates);
            let played = played(&settings);
            assert_eq!(played.ratio(Policy::Never), None);
            assert!(totals([&played]).iter().all(|total| total.ratio.is_none()));
        }
    }

    #[test]
    fn a_policy_prints_as_the_name_by_which_it_is_asked_for() {
        assert!(Policy::ALL.iter().all(|policy| policy.to_string() == policy.name()));
    }
}
