//! The conditions of a replay.

use codelet_context::price::{self, PriceCard};
use codelet_context::tokens::Tokens;

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
    use crate::policy::Policy;
    use crate::session::Session;
    use crate::totals::{Played, totals};
    use codelet_context::price::Rates;

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
}
