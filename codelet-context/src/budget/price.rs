//! Price cards: token prices of models and the rules of their prompt caches, as dated data.

mod file;
mod spelling;

pub use file::{BadCard, parse};
pub use spelling::undated;

use crate::budget::usage::Usage;
use crate::message::tokens::Tokens;
use std::iter::Sum;
use std::ops::Add;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The built-in cards; the file names the sources of its figures.
const TABLE: &str = include_str!("prices.txt");

/// The card for unknown models: a cache with breakpoints that lives five minutes, the rules under which an edit costs
/// most.
pub const USUAL: &str = "5m";

/// The highest price on a card, in US dollars per million tokens. Nothing costs a dollar per token, and below it sums
/// of costs stay finite.
pub const MOST_DOLLARS: f64 = 1e6;

/// The lifetime of cache entries, for vendors that offer a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lifetime {
    /// Five minutes after the last use, or the lifetime of the vendor's only cache.
    #[default]
    FiveMinutes,
    /// An hour after the last use; writing costs more.
    Hour,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rates {
    /// Prompt tokens not involving a cache.
    pub input: f64,
    /// Output tokens, thinking included.
    pub output: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache that lives five minutes (or as long as the vendor's only one).
    pub cache_write: f64,
    /// Prompt tokens written to a cache that lives an hour.
    pub cache_write_1h: f64,
}

/// A cost in US dollars by kind of token.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Prompt tokens not involving a cache.
    pub fresh: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache that lives five minutes.
    pub cache_write: f64,
    /// Prompt tokens written to a cache that lives an hour.
    pub cache_write_1h: f64,
    /// Output tokens, thinking included.
    pub output: f64,
}

impl Cost {
    /// The cost of the prompt.
    pub fn prompt(self) -> f64 {
        self.fresh + self.cache_read + self.write()
    }

    /// The cost of writing to a cache of either lifetime.
    pub fn write(self) -> f64 {
        self.cache_write + self.cache_write_1h
    }

    /// The sum over all kinds.
    pub fn total(self) -> f64 {
        self.prompt() + self.output
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            fresh: self.fresh + other.fresh,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            output: self.output + other.output,
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Cost>>(all: I) -> Cost {
        all.fold(Cost::default(), Add::add)
    }
}

/// A price tier for long prompts: beyond its size, the whole request costs more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tier {
    /// The longest prompt, in tokens, that does not cost more.
    pub above: Tokens,
    /// The factor on the price of prompt tokens of every kind.
    pub prompt: f64,
    /// The factor on the price of output tokens.
    pub output: f64,
}

/// The token prices of a model and the rules of its cache.
#[derive(Clone, PartialEq, Debug)]
pub struct PriceCard {
    /// The name of the model or of the set of rules.
    pub name: Arc<str>,
    /// The prices of a prompt below every tier.
    pub rates: Rates,
    /// Tiers for longer prompts, ascending.
    pub tiers: Vec<Tier>,
    /// The shortest prefix that is cached, in tokens.
    pub minimum: Tokens,
    /// The lifetime that requests ask for.
    pub lifetime: Lifetime,
    /// The time for which an unused entry of the shorter lifetime is kept.
    pub lives: Duration,
    /// The maximum number of cache breakpoints (marks) in a request. `None`: the cache finds the longest prefix sent
    /// before without breakpoints.
    pub marks: Option<u32>,
    /// The year and month in which the figures were read.
    pub as_of: Arc<str>,
    /// Their source.
    pub source: Arc<str>,
}

impl PriceCard {
    /// A card with these prices and the rules of a cache that needs no breakpoints and lives five minutes.
    pub fn flat(name: &str, rates: Rates) -> Self {
        PriceCard {
            name: name.into(),
            rates,
            tiers: Vec::new(),
            minimum: 1_024,
            lifetime: Lifetime::FiveMinutes,
            lives: Duration::from_secs(300),
            marks: None,
            as_of: "".into(),
            source: "".into(),
        }
    }

    /// Replaces the prices and keeps the rules, tier factors included.
    pub fn costing(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// Sets the lifetime that requests ask for.
    pub fn living(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// The time for which an unused entry is kept, by the lifetime in use.
    pub fn expires_after(&self) -> Duration {
        match self.lifetime {
            Lifetime::FiveMinutes => self.lives,
            Lifetime::Hour => self.lives.max(Duration::from_secs(3_600)),
        }
    }

    /// The price of a cache write with the lifetime in use, in dollars per million tokens below every tier.
    pub fn write(&self) -> f64 {
        match self.lifetime {
            Lifetime::FiveMinutes => self.rates.cache_write,
            Lifetime::Hour => self.rates.cache_write_1h,
        }
    }

    /// The tier of a prompt of this size.
    pub fn tier(&self, prompt: Tokens) -> Option<&Tier> {
        self.tiers.iter().rev().find(|tier| prompt > tier.above)
    }

    /// The price factor for the tokens of a prompt of this size.
    pub fn factor(&self, prompt: Tokens) -> f64 {
        self.tier(prompt).map_or(1.0, |tier| tier.prompt)
    }

    /// The cache writes of a request that live an hour, if all live as long as the card says.
    pub fn write_1h(&self, usage: Usage) -> Tokens {
        match self.lifetime {
            Lifetime::FiveMinutes => 0,
            Lifetime::Hour => usage.cache_write,
        }
    }

    /// The cost of a request in dollars; `write_1h` of its cache writes went to a cache that lives an hour.
    pub fn cost(&self, usage: Usage, write_1h: Tokens) -> f64 {
        self.cost_by_kind(usage, write_1h).total()
    }

    /// The same by kind of token.
    pub fn cost_by_kind(&self, usage: Usage, write_1h: Tokens) -> Cost {
        let rates = &self.rates;
        let write_1h = write_1h.min(usage.cache_write);
        let (of_prompt, of_output) = match self.tier(usage.prompt()) {
            Some(tier) => (tier.prompt, tier.output),
            None => (1.0, 1.0),
        };
        let dollars = |tokens: Tokens, rate: f64, factor: f64| tokens as f64 * rate * factor / 1_000_000.0;
        Cost {
            fresh: dollars(usage.fresh, rates.input, of_prompt),
            cache_read: dollars(usage.cache_read, rates.cache_read, of_prompt),
            cache_write: dollars(usage.cache_write - write_1h, rates.cache_write, of_prompt),
            cache_write_1h: dollars(write_1h, rates.cache_write_1h, of_prompt),
            output: dollars(usage.output, rates.output, of_output),
        }
    }
}

/// The built-in cards.
pub fn built_in() -> &'static [PriceCard] {
    static CARDS: OnceLock<Vec<PriceCard>> = OnceLock::new();
    // The table is part of this crate; a test parses it.
    CARDS.get_or_init(|| parse(TABLE, "prices.txt").unwrap_or_default())
}

/// Finds the built-in card for a model by `vendor/model`, by the model alone, or by the name of a set of rules. A dated
/// snapshot (`…-20261101`, `…-2026-11-01`) without its own card has its model's prices.
pub fn find(name: &str) -> Option<&'static PriceCard> {
    among(built_in(), name)
}

/// Like [`find`], among these cards. Clouds, gateways and agents spell model names in their own ways
/// (`us.anthropic.claude-…-v1:0`, `claude-…@20251101`, `anthropic/claude-opus-4.5`, `claude-…[1m]`); all of these are
/// recognised.
pub fn among<'a>(cards: &'a [PriceCard], name: &str) -> Option<&'a PriceCard> {
    let of_model = |card: &&PriceCard| card.name.rsplit_once('/').is_some_and(|(_, model)| model == name);
    let spelled = |name: &str| {
        cards
            .iter()
            .find(|card| !name.is_empty() && spelling::canonical(&card.name) == name)
    };
    let exact = cards.iter().find(|card| *card.name == *name);
    let whole = spelling::canonical(name);
    let model = |name: &str| spelled(&spelling::canonical(name));
    exact
        .or_else(|| cards.iter().find(of_model))
        .or_else(|| spelled(&whole))
        .or_else(|| model(whole.strip_suffix("-latest").or_else(|| undated(&whole))?))
}

/// The card for an unknown model; see [`USUAL`].
pub fn usual() -> PriceCard {
    find(USUAL)
        .cloned()
        .unwrap_or_else(|| PriceCard::flat(USUAL, Rates::default()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_built_in_card_is_read_and_makes_sense() {
        let cards = parse(TABLE, "prices.txt").unwrap();
        assert_eq!(cards.len(), built_in().len());
        for card in &cards {
            let rates = card.rates;
            assert!(rates.cache_read <= rates.input, "{card:?}");
            assert!(
                rates.cache_write >= rates.input && rates.cache_write_1h >= rates.cache_write,
                "{card:?}"
            );
            assert!(rates.output >= rates.input && rates.output < 1_000.0, "{card:?}");
            assert!(card.as_of.len() == 7 && card.as_of.starts_with("20"), "{card:?}");
            assert!(!card.source.is_empty() && card.minimum >= 1, "{card:?}");
            assert!(card.tiers.iter().all(|tier| tier.prompt > 1.0), "{card:?}");
        }
    }

    #[test]
    fn every_built_in_card_names_the_vendor_s_page_or_says_that_there_was_none() {
        for card in built_in() {
            let page = match card.name.split_once('/').map(|(vendor, _)| vendor) {
                Some("anthropic") => "platform.claude.com/docs",
                Some("openai") => "developers.openai.com/api/docs",
                Some("gemini") => "ai.google.dev/gemini-api/docs",
                Some("deepseek") => "api-docs.deepseek.com",
                Some(vendor) => panic!("{vendor} has no page"),
                None if card.rates == Rates::default() && &*card.name != "free" => "local",
                None => "generic",
            };
            let is_vendor = card.name.contains('/');
            let is_known =
                *card.source == *page || is_vendor && ["other-price-tables", "memory"].contains(&&*card.source);
            assert!(is_known, "{card:?}");
        }
    }

    #[test]
    fn rules_to_compare_under_are_there_by_name() {
        let (minutes, hour) = (find("5m").unwrap(), find("1h").unwrap());
        assert_eq!((minutes.write(), hour.write()), (3.75, 6.0));
        assert_eq!(hour.expires_after(), Duration::from_secs(3_600));
        let free = find("no-write-fee").unwrap();
        assert_eq!((free.write(), free.marks), (free.rates.input, None));
        assert_eq!(find("read-0.05").unwrap().rates.cache_read, 0.15);
        assert_eq!(find("tier-5x").unwrap().factor(100_000), 1.0);
        assert_eq!(find("tier-5x").unwrap().factor(100_001), 5.0);
        assert_eq!(find("ollama").unwrap().rates, Rates::default());
    }

    #[test]
    fn a_card_is_found_by_vendor_and_model_by_model_and_by_snapshot() {
        let name = |asked: &str| find(asked).map(|card| &*card.name);
        let opus = Some("anthropic/claude-opus-5-5");
        assert_eq!(name("anthropic/claude-opus-5-5"), opus);
        assert_eq!(name("claude-opus-5-5"), opus);
        assert_eq!(name("claude-opus-5-5-20261101"), opus);
        assert_eq!(name("openrouter/anthropic/claude-opus-5-5"), opus);
        assert_eq!(name("gpt-5.4-2026-03-05"), Some("openai/gpt-5.4"));
        assert_eq!(name("gpt-99"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn beyond_a_tier_the_whole_request_costs_more() {
        let card = find("gemini/gemini-2.5-pro").unwrap();
        let usage = |prompt| Usage::from_inclusive(prompt, 0, 1_000_000);
        assert!((card.cost(usage(200_000), 0) - (0.25 + 10.0)).abs() < 1e-9);
        assert!((card.cost(usage(200_001), 0) - (0.500_002_5 + 15.0)).abs() < 1e-6);
    }

    #[test]
    fn an_hours_writes_cost_more_than_those_of_five_minutes() {
        let usage = Usage::from_exclusive(0, 1_000_000, 0, 0);
        let card = find("5m").unwrap();
        assert!((card.cost(usage, 0) - 3.75).abs() < 1e-9);
        assert!((card.cost(usage, 400_000) - (0.6 * 3.75 + 0.4 * 6.0)).abs() < 1e-9);
        assert!((card.cost(usage, Tokens::MAX) - 6.0).abs() < 1e-9);
    }

    #[test]
    fn a_bad_line_is_named_with_what_was_expected() {
        let said = |text: &str| parse(text, "my.prices").unwrap_err().to_string();
        assert_eq!(
            said("# mine\n\nm input=1 output=dear"),
            "my.prices, line 3, column 18: expected US dollars per million tokens, 0 to 1,000,000, found \"dear\""
        );
        for (line, expected) in [
            ("m input=1", "output=… after the name"),
            ("m output=1", "input=… after the name"),
            ("m input=1 output=1 cost=3", "one of input, output"),
            ("m input=1 input=2 output=1", "each key once"),
            ("m input=1 output=1 stray", "key=value"),
            ("input=1 output=1", "the name of a model"),
            ("m input=-1 output=1", "0 to 1,000,000"),
            ("m input=nan output=1", "0 to 1,000,000"),
            ("m input=1000001 output=1", "0 to 1,000,000"),
            ("m input=1 output=1 tier=0:2", "tokens:times"),
            ("m input=1 output=1 tier=9:0:0", "tokens:times"),
            ("m input=1 output=1 tier=9:2:0.5", "tokens:times"),
            ("m input=1 output=1 tier=9:1001", "tokens:times"),
            ("m input=1 output=1 marks=0", "a number of marks"),
            ("m input=1 output=1 tier=5", "tokens:times"),
            ("m input=1 output=1 tier=9:2 tier=9:3", "ascending"),
            ("m input=1 output=1 lives=5", "a time such as"),
            ("m input=1 output=1 lives=0m", "a time such as"),
            ("m input=1 output=1 marks=few", "a number of marks"),
            ("m input=1 output=1 uses=2h", "5m or 1h"),
            ("m input=1 output=1 uses=1h", "write-1h=… after the name"),
            ("m input=1 output=1\nm input=2 output=2", "no earlier line"),
        ] {
            assert!(said(line).contains(expected), "{line}: {}", said(line));
        }
    }

    #[test]
    fn a_mark_of_the_byte_order_is_no_part_of_a_name_and_columns_are_counted_in_characters() {
        let cards = parse("\u{feff}mine input=2 output=8", "f").unwrap();
        assert_eq!(&*cards[0].name, "mine");
        let bad = parse("\u{feff}  größer input=2 output=8\n  größer input=1 output=1", "f").unwrap_err();
        assert_eq!((bad.line, bad.column), (2, 3));
        let bad = parse("größer input=zwei output=8", "f").unwrap_err();
        assert_eq!((bad.line, bad.column, &*bad.found), (1, 14, "zwei"));
    }

    #[test]
    fn what_a_line_leaves_out_costs_what_input_does() {
        let cards = parse("mine/m input=2 output=8", "f").unwrap();
        let rates = cards[0].rates;
        assert_eq!(
            (rates.cache_read, rates.cache_write, rates.cache_write_1h),
            (2.0, 2.0, 2.0)
        );
        assert_eq!(among(&cards, "m").map(|card| &*card.name), Some("mine/m"));
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(text in "[a-z0-9 =.:\n#-]{0,200}|\\PC{0,200}") {
            if let Ok(cards) = parse(&text, "f") {
                for card in cards {
                    prop_assert!(card.cost(Usage::from_exclusive(1_000, 1_000, 1_000, 1_000), 500).is_finite());
                }
            }
        }

        #[test]
        fn a_longer_prompt_never_costs_less(a in 0u64..400_000, more in 0u64..400_000) {
            for card in built_in() {
                let cost = |prompt| card.cost(Usage::from_inclusive(prompt, 0, 0), 0);
                prop_assert!(cost(a) <= cost(a + more) + 1e-12);
            }
        }
    }
}
