//! Price cards: what a model's tokens cost and how its prompt cache works, as dated data.

mod spelling;

pub use spelling::undated;

use crate::tokens::Tokens;
use crate::usage::Usage;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The cards that are built in; the file says where its figures come from.
const TABLE: &str = include_str!("prices.txt");

/// The card that is used where nobody knows the model: entries at marks that live five minutes, the rules under which
/// an edit costs most.
pub const USUAL: &str = "5m";

/// How long a cache keeps what is marked, where a vendor offers a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lifetime {
    /// Five minutes after the last use, or however long the vendor's only cache lives.
    #[default]
    FiveMinutes,
    /// An hour after the last use; writing costs more.
    Hour,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rates {
    /// Prompt tokens that no cache was involved in.
    pub input: f64,
    /// Tokens of the answer, thinking included.
    pub output: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to a cache that lives five minutes (or as long as the vendor's only one does).
    pub cache_write: f64,
    /// Prompt tokens written to a cache that lives an hour.
    pub cache_write_1h: f64,
}

/// Dearer prices for long prompts: beyond a size, the whole request costs more.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tier {
    /// The longest prompt that does not pay more, in tokens.
    pub above: Tokens,
    /// Prompt tokens of every kind cost so many times as much.
    pub prompt: f64,
    /// The answer costs so many times as much.
    pub output: f64,
}

/// What a model's tokens cost, and the rules of its cache.
#[derive(Clone, PartialEq, Debug)]
pub struct PriceCard {
    /// The model, or the rules that the card stands for.
    pub name: Arc<str>,
    /// The prices of a prompt below every tier.
    pub rates: Rates,
    /// Dearer prices for longer prompts, ascending.
    pub tiers: Vec<Tier>,
    /// The shortest prefix that is cached, in tokens.
    pub minimum: Tokens,
    /// The lifetime that requests are marked with.
    pub lifetime: Lifetime,
    /// How long an unused entry of the shorter lifetime is kept.
    pub lives: Duration,
    /// The most cache marks in a request. None: the longest prefix that was ever sent is found without marks.
    pub marks: Option<u32>,
    /// When the figures were read, as year and month.
    pub as_of: Arc<str>,
    /// Where they were read.
    pub source: Arc<str>,
}

impl PriceCard {
    /// A card of these prices, with the rules of a cache that needs no marks and lives five minutes.
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

    /// The same rules with other prices; tiers multiply them alike.
    pub fn costing(mut self, rates: Rates) -> Self {
        self.rates = rates;
        self
    }

    /// The same card for requests that are marked with this lifetime.
    pub fn living(mut self, lifetime: Lifetime) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// How long an unused entry is kept, by the lifetime in use.
    pub fn expires_after(&self) -> Duration {
        match self.lifetime {
            Lifetime::FiveMinutes => self.lives,
            Lifetime::Hour => self.lives.max(Duration::from_secs(3_600)),
        }
    }

    /// The price of writing to the cache with the lifetime in use, in dollars per million tokens below every tier.
    pub fn write(&self) -> f64 {
        match self.lifetime {
            Lifetime::FiveMinutes => self.rates.cache_write,
            Lifetime::Hour => self.rates.cache_write_1h,
        }
    }

    /// The tier that a prompt of this size falls in.
    pub fn tier(&self, prompt: Tokens) -> Option<&Tier> {
        self.tiers.iter().rev().find(|tier| prompt > tier.above)
    }

    /// The first tier that a prompt of this size has not reached.
    pub fn next_tier(&self, prompt: Tokens) -> Option<&Tier> {
        self.tiers.iter().find(|tier| prompt <= tier.above)
    }

    /// How many times as much the tokens of a prompt of this size cost.
    pub fn factor(&self, prompt: Tokens) -> f64 {
        self.tier(prompt).map_or(1.0, |tier| tier.prompt)
    }

    /// The dollars that a request cost; `write_1h` of its cache writes went to a cache that lives an hour.
    pub fn cost(&self, usage: Usage, write_1h: Tokens) -> f64 {
        let rates = &self.rates;
        let write_1h = write_1h.min(usage.cache_write);
        let prompt = usage.fresh as f64 * rates.input
            + usage.cache_read as f64 * rates.cache_read
            + (usage.cache_write - write_1h) as f64 * rates.cache_write
            + write_1h as f64 * rates.cache_write_1h;
        let output = usage.output as f64 * rates.output;
        let (prompt, output) = match self.tier(usage.prompt()) {
            Some(tier) => (prompt * tier.prompt, output * tier.output),
            None => (prompt, output),
        };
        (prompt + output) / 1_000_000.0
    }
}

/// The built-in cards.
pub fn built_in() -> &'static [PriceCard] {
    static CARDS: OnceLock<Vec<PriceCard>> = OnceLock::new();
    // The table is data of this crate; a test reads it.
    CARDS.get_or_init(|| parse(TABLE, "prices.txt").unwrap_or_default())
}

/// The built-in card for a model, by `vendor/model`, by the model alone, or by the name of a set of rules. A dated
/// snapshot (`…-20261101`, `…-2026-11-01`) that is not listed itself costs what its model does.
pub fn find(name: &str) -> Option<&'static PriceCard> {
    among(built_in(), name)
}

/// The same, among these cards. Clouds, gateways and agents spell the names of models in ways of their own
/// (`us.anthropic.claude-…-v1:0`, `claude-…@20251101`, `anthropic/claude-opus-4.5`, `claude-…[1m]`); all of them are known.
pub fn among<'a>(cards: &'a [PriceCard], name: &str) -> Option<&'a PriceCard> {
    let exact = |name: &str| cards.iter().find(|card| *card.name == *name);
    let model = |name: &str| {
        let of = |card: &&PriceCard| card.name.rsplit_once('/').is_some_and(|(_, model)| model == name);
        cards.iter().find(of)
    };
    let spellings = spelling::spellings(name);
    let mut names = spellings.iter().map(|name| &**name).filter(|name| !name.is_empty());
    names.find_map(|name| exact(name).or_else(|| model(name)))
}

/// The card for a model that nobody knows; see [`USUAL`].
pub fn usual() -> PriceCard {
    find(USUAL)
        .cloned()
        .unwrap_or_else(|| PriceCard::flat(USUAL, Rates::default()))
}

/// A line of a file of price cards that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadCard {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column at which it begins, counted in characters from 1.
    pub column: usize,
    /// What stands there.
    pub found: String,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for BadCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BadCard {
            file,
            line,
            column,
            found,
            expected,
        } = self;
        write!(
            f,
            "{file}, line {line}, column {column}: {found:?} stands where {expected} was expected"
        )
    }
}

impl std::error::Error for BadCard {}

/// Reads price cards, one a line: a name, then `key=value` with white space between; `#` begins a comment line. The head
/// of the built-in file (`prices.txt` beside this module) lists the keys. `file` names the text in errors.
///
/// # Errors
/// The first line that is no card: an unknown or repeated key, a number that is none, a name that stands twice.
pub fn parse(text: &str, file: &str) -> Result<Vec<PriceCard>, BadCard> {
    let mut cards: Vec<PriceCard> = Vec::new();
    // Editors on some systems put a mark of the byte order before everything.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (number, whole) in text.lines().enumerate() {
        let line = whole.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |(found, expected): (&str, &'static str)| BadCard {
            file: file.to_owned(),
            line: number + 1,
            column: column(whole, found),
            found: found.chars().take(80).collect(),
            expected,
        };
        let card = card(line).map_err(wrong)?;
        if cards.iter().any(|other| other.name == card.name) {
            let name = line.split_whitespace().next().unwrap_or_default();
            return Err(wrong((name, "a name that no earlier line has")));
        }
        cards.push(card);
    }
    Ok(cards)
}

/// The column at which a piece of a line begins, in characters from 1.
fn column(line: &str, piece: &str) -> usize {
    let at = (piece.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    1 + line.char_indices().take_while(|(byte, _)| *byte < at).count()
}

fn card(line: &str) -> Result<PriceCard, (&str, &'static str)> {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or_default();
    if name.contains('=') {
        return Err((name, "the name of a model"));
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut card = PriceCard::flat(name, Rates::default());
    let (mut input, mut output, mut read, mut write, mut write_1h) = (None, None, None, None, None);
    for word in words {
        let (key, value) = word.split_once('=').ok_or((word, "key=value"))?;
        if key != "tier" && seen.contains(&key) {
            return Err((word, "each key once"));
        }
        seen.push(key);
        match key {
            "input" => input = Some(dollars(value)?),
            "output" => output = Some(dollars(value)?),
            "read" => read = Some(dollars(value)?),
            "write" => write = Some(dollars(value)?),
            "write-1h" => write_1h = Some(dollars(value)?),
            "tier" => {
                let tier = tier(value)?;
                if card.tiers.last().is_some_and(|last| last.above >= tier.above) {
                    return Err((word, "tiers in ascending order"));
                }
                card.tiers.push(tier);
            }
            "minimum" => card.minimum = value.parse().map_err(|_| (value, "a number of tokens"))?,
            "lives" => card.lives = duration(value)?,
            "uses" => {
                card.lifetime = match value {
                    "5m" => Lifetime::FiveMinutes,
                    "1h" => Lifetime::Hour,
                    _ => return Err((value, "5m or 1h")),
                }
            }
            "marks" => {
                card.marks = match value {
                    "none" => None,
                    _ => Some(value.parse().map_err(|_| (value, "a number of marks, or none"))?),
                }
            }
            "as-of" => card.as_of = value.into(),
            "source" => card.source = value.into(),
            _ => {
                return Err((
                    word,
                    "one of input, output, read, write, write-1h, tier, minimum, lives, uses, marks, as-of, source",
                ));
            }
        }
    }
    if card.lifetime == Lifetime::Hour && write_1h.is_none() {
        return Err((name, "write-1h=… behind the name, which uses=1h asks for"));
    }
    let input = input.ok_or((name, "input=… behind the name"))?;
    let write = write.unwrap_or(input);
    card.rates = Rates {
        input,
        output: output.ok_or((name, "output=… behind the name"))?,
        cache_read: read.unwrap_or(input),
        cache_write: write,
        cache_write_1h: write_1h.unwrap_or(write),
    };
    Ok(card)
}

fn dollars(value: &str) -> Result<f64, (&str, &'static str)> {
    number(value).ok_or((value, "US dollars per million tokens, 0 or more"))
}

fn tier(value: &str) -> Result<Tier, (&str, &'static str)> {
    const EXPECTED: &str = "tokens:times or tokens:times:times, such as 200000:2:1.5";
    let mut fields = value.split(':');
    let above = fields.next().and_then(|field| field.parse().ok());
    let prompt = fields.next().and_then(number);
    let output = match fields.next() {
        Some(field) => number(field),
        None => prompt,
    };
    match (above, prompt, output, fields.next()) {
        (Some(above), Some(prompt), Some(output), None) => Ok(Tier { above, prompt, output }),
        _ => Err((value, EXPECTED)),
    }
}

fn duration(value: &str) -> Result<Duration, (&str, &'static str)> {
    const EXPECTED: &str = "a time such as 300s, 5m or 1h";
    let unit = match value.as_bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3_600,
        _ => return Err((value, EXPECTED)),
    };
    // A year is longer than any cache lives, and keeps sums of durations in bounds.
    let count = value[..value.len() - 1].parse::<u32>().ok().map(u64::from);
    count
        .map(|count| count * unit)
        .filter(|&seconds| (1..=31_536_000).contains(&seconds))
        .map(Duration::from_secs)
        .ok_or((value, EXPECTED))
}

/// A number that can be a price: finite, not negative, and written in digits.
fn number(value: &str) -> Option<f64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.parse::<f64>().ok().filter(|number| plain && number.is_finite())
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
        assert_eq!(card.next_tier(200_000).map(|tier| tier.above), Some(200_000));
        assert_eq!(card.next_tier(200_001), None);
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
            "my.prices, line 3, column 18: \"dear\" stands where US dollars per million tokens, 0 or more was expected"
        );
        for (line, expected) in [
            ("m input=1", "output=… behind the name"),
            ("m output=1", "input=… behind the name"),
            ("m input=1 output=1 cost=3", "one of input, output"),
            ("m input=1 input=2 output=1", "each key once"),
            ("m input=1 output=1 stray", "key=value"),
            ("input=1 output=1", "the name of a model"),
            ("m input=-1 output=1", "0 or more"),
            ("m input=nan output=1", "0 or more"),
            ("m input=1 output=1 tier=5", "tokens:times"),
            ("m input=1 output=1 tier=9:2 tier=9:3", "ascending"),
            ("m input=1 output=1 lives=5", "a time such as"),
            ("m input=1 output=1 lives=0m", "a time such as"),
            ("m input=1 output=1 marks=few", "a number of marks"),
            ("m input=1 output=1 uses=2h", "5m or 1h"),
            ("m input=1 output=1 uses=1h", "write-1h=… behind the name"),
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
