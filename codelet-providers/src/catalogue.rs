//! The catalogue of models: context windows, maximum outputs, prices, and ways of thinking.
//!
//! The figures are dated data (`catalogue.tsv`); prices of vendors that sell their own models are on the engine's price
//! cards, those of a gateway here. A [`Choice`](crate::Choice) can override them.

use crate::host::names;
use crate::vendor;
use codelet_context::price::{self, PriceCard, Rates};
use codelet_context::tokens::Tokens;

const TABLE: &str = include_str!("catalogue.tsv");

/// A model in the catalogue.
#[derive(Clone, PartialEq, Debug)]
pub struct Known {
    /// The vendor whose API is used.
    pub vendor: &'static str,
    /// The vendor's own name of the model.
    pub model: &'static str,
    /// The context window, in tokens.
    pub window: Tokens,
    /// The maximum output, in tokens.
    pub max_output: Tokens,
    /// True if it accepts images.
    pub sees_images: bool,
    /// The price and cache rules, if known.
    pub price: Option<PriceCard>,
    /// The environment variables for the vendor's key, the most common first.
    pub keys: &'static [&'static str],
    pub(crate) thinks: Thinks,
}

/// A model's way of thinking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Thinks {
    /// None.
    Never,
    /// As much as the model decides; an effort can be given.
    Adaptive,
    /// Up to a budget in tokens.
    Budget,
    /// By effort, the default or a given one.
    Effort,
    /// By effort, in Gemini's terms.
    Level,
}

/// Returns all models in the catalogue. Where names suffice, [`listed`] looks up no prices.
pub fn known() -> impl Iterator<Item = Known> {
    TABLE.lines().filter_map(row)
}

/// Returns vendor and name of all models in the catalogue, in its order.
pub fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut fields = line.split('\t');
        fields.next().zip(fields.next())
    })
}

/// Finds the model that a vendor serves under this name; for a cloud, its own name of another vendor's model. An
/// unlisted dated snapshot (`…-20251001`, `…-2025-08-07`) has the figures of its model.
pub fn find(vendor: &str, model: &str) -> Option<Known> {
    if let Some((maker, model)) = served(vendor, model) {
        return find(maker, &model);
    }
    let exact = |model: &str| first(|of, listed| of == vendor && listed == model);
    exact(model).or_else(|| exact(price::undated(model)?))
}

/// Returns the vendor and its own name for a model that a cloud serves under this name; `None` if the vendor is not a
/// cloud, or the model's maker is unknown.
fn served(vendor: &str, model: &str) -> Option<(&'static str, String)> {
    let cloud = vendor::find(vendor).filter(|vendor| vendor.host.is_some())?;
    let (maker, model) = names::known_as(cloud.name, model);
    (maker != cloud.name).then_some((maker, model))
}

/// The figures of a model that is used through a gateway or under a name that no vendor lists.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Figures {
    pub window: Tokens,
    pub max_output: Tokens,
    pub sees_images: bool,
}

/// Model families whose members appear faster than they are listed: name prefixes, and the minimum figures of all
/// members. The longest prefix counts.
const FAMILIES: &[(&str, Tokens, Tokens, bool)] = &[
    ("gpt-5", 400_000, 128_000, true),
    ("gpt-6", 400_000, 128_000, true),
    ("gpt-4.1", 1_047_576, 32_768, true),
    ("gpt-4o", 128_000, 16_384, true),
    ("o3", 200_000, 100_000, true),
    ("o4", 200_000, 100_000, true),
    ("claude", 200_000, 32_000, true),
    ("gemini-2.5", 1_048_576, 65_536, true),
    ("gemini-3", 1_048_576, 65_536, true),
    ("deepseek-v4", 1_000_000, 128_000, false),
    ("glm-4.6", 200_000, 16_384, false),
    ("glm-4.7", 200_000, 65_536, false),
    ("glm-5", 200_000, 65_536, false),
    ("kimi-k2", 131_072, 16_384, false),
];
/// The context window and maximum output of a family's chat models without thinking, which are those of older models.
const CHATS: (&str, Tokens, Tokens) = ("-chat", 128_000, 16_384);

/// Returns the figures of the model that this name means at any provider: of the model with that name, without a
/// gateway's prefix (`azure/`, `openai/`) or suffix (`:nitro`), or of its family. `None` if nothing similar is known.
pub(crate) fn like(name: &str) -> Option<Figures> {
    let name = name.to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or(&name);
    let name = name.split([':', '@']).next().unwrap_or(name);
    // Gateways prefix a vendor with a dot, and clouds also an area.
    let (_, name) = names::known_as("bedrock", name);
    let name = name.as_str();
    let listed = |name: &str| first(|vendor, model| vendor != "openrouter" && model == name);
    let listed = listed(name)
        .or_else(|| listed(price::undated(name)?))
        .or_else(|| first(|_, model| model.rsplit('/').next() == Some(name)));
    if let Some(known) = listed {
        return Some(Figures {
            window: known.window,
            max_output: known.max_output,
            sees_images: known.sees_images,
        });
    }
    let is_of = |family: &str| {
        let rest = name.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', '_']))
    };
    let families = FAMILIES.iter().filter(|(family, ..)| is_of(family));
    let (family, window, max_output, sees_images) = *families.max_by_key(|(family, ..)| family.len())?;
    let is_chat = family.starts_with("gpt-") && name.contains(CHATS.0);
    let (window, max_output) = match is_chat {
        true => (CHATS.1.min(window), CHATS.2.min(max_output)),
        false => (window, max_output),
    };
    Some(Figures {
        window,
        max_output,
        sees_images,
    })
}

/// Returns whether a model rejects replies with tool calls that lack the thinking field, at any provider: DeepSeek
/// from V4 on (`deepseek-reasoner` is V4, too), and Kimi's thinking models.
pub(crate) fn wants_reasoning(model: &str) -> bool {
    let name = model.to_ascii_lowercase();
    let version = |stem: &str| {
        let digits = &name[name.find(stem)? + stem.len()..];
        let end = digits
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(digits.len());
        digits[..end].trim_end_matches('.').parse::<f64>().ok()
    };
    name.contains("deepseek-reasoner")
        || version("deepseek-v").is_some_and(|version| version >= 4.0)
        || version("kimi-k").is_some_and(|version| version >= 2.5)
        || name.contains("kimi") && name.contains("thinking")
}

/// Returns the price of a vendor's model, even if only a price card lists it.
pub fn price(vendor: &str, model: &str) -> Option<PriceCard> {
    if let Some((maker, model)) = served(vendor, model) {
        return price(maker, &model);
    }
    let card = || {
        price::find(&format!("{vendor}/{model}"))
            .filter(|card| card.name.split_once('/').is_some_and(|it| it.0 == vendor))
    };
    match find(vendor, model) {
        Some(known) => known.price,
        None => card().cloned(),
    }
}

/// Returns the first model in the table that satisfies `is_meant` by vendor and name. The other rows are not parsed,
/// which saves looking up prices.
fn first(is_meant: impl Fn(&str, &str) -> bool) -> Option<Known> {
    let mut lines = TABLE.lines().filter(|line| {
        let mut fields = line.split('\t');
        let names = fields.next().zip(fields.next());
        names.is_some_and(|(vendor, model)| is_meant(vendor, model))
    });
    lines.find_map(row)
}

fn row(line: &'static str) -> Option<Known> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = line.split('\t');
    let vendor = fields.next()?;
    let model = fields.next()?;
    let window = fields.next()?.parse().ok()?;
    let max_output = fields.next()?.parse().ok()?;
    let sees_images = fields.next()? == "images";
    let thinks = match fields.next()? {
        "adaptive" => Thinks::Adaptive,
        "budget" => Thinks::Budget,
        "effort" => Thinks::Effort,
        "level" => Thinks::Level,
        _ => Thinks::Never,
    };
    let price = match fields.next()? {
        "card" => price::find(&format!("{vendor}/{model}")).cloned(),
        input => resold(model, input, fields),
    };
    Some(Known {
        vendor,
        model,
        window,
        max_output,
        sees_images,
        price,
        keys: crate::vendor::find(vendor)?.keys,
        thinks,
    })
}

/// Returns the price card of a model that a gateway sells at these prices, with the cache rules of its vendor.
fn resold<'a>(model: &str, input: &str, mut fields: impl Iterator<Item = &'a str>) -> Option<PriceCard> {
    let input: f64 = input.parse().ok()?;
    let mut dollars = || fields.next()?.parse::<f64>().ok();
    let rates = Rates {
        input,
        output: dollars()?,
        cache_read: dollars()?,
        cache_write: dollars()?,
        cache_write_1h: dollars()?,
    };
    let plain = model.split_once(':').map_or(model, |(plain, _)| plain);
    Some(match price::find(plain) {
        Some(card) => card.clone().costing(rates),
        None if plain.starts_with("anthropic/") => price::usual().costing(rates),
        None => PriceCard::flat(model, rates),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_model_with_sane_figures() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        let all: Vec<Known> = known().collect();
        assert_eq!(all.len(), lines);
        assert!(listed().eq(all.iter().map(|known| (known.vendor, known.model))));
        for model in &all {
            assert!((1_000..=20_000_000).contains(&model.window), "{model:?}");
            assert!(model.max_output <= model.window, "{model:?}");
            if let Some(price) = &model.price {
                assert!(price.rates.cache_read <= price.rates.input.max(0.0) + 1e-9, "{model:?}");
                assert!((0.0..1_000.0).contains(&price.rates.output), "{model:?}");
            }
        }
    }

    /// Models for which the vendors' pages are more accurate than the client library: newer models, and one whose
    /// context window was temporarily larger.
    const BETTER: &[&str] = &[
        "claude-haiku-5-5", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5",
        "gpt-6.2-sol",
    ];

    #[test]
    fn the_table_agrees_with_the_catalogue_of_the_client_library() {
        let library = rig_core::catalog::Catalog::builtin();
        for model in known().filter(|known| !BETTER.contains(&known.model)) {
            let vendor = if model.vendor == "gemini" {
                "gcp.gemini"
            } else {
                model.vendor
            };
            let other = library.resolve(&format!("{vendor}/{}", model.model)).unwrap();
            assert_eq!(
                other.context_window.map(Tokens::from),
                Some(model.window),
                "{}",
                model.model
            );
            assert_eq!(
                other.max_output_tokens.map(Tokens::from),
                Some(model.max_output),
                "{}",
                model.model
            );
            assert_eq!(other.input.image, model.sees_images, "{}", model.model);
            assert_eq!(
                other.pricing.map(|price| price.output),
                model.price.as_ref().map(|price| price.rates.output),
                "{}",
                model.model
            );
        }
    }

    #[test]
    fn every_row_that_refers_to_a_price_card_has_one() {
        let refers = |line: &&str| line.split('\t').nth(6) == Some("card");
        let rows: Vec<&str> = TABLE.lines().filter(refers).collect();
        assert!(rows.len() >= 50, "{}", rows.len());
        for line in rows {
            assert!(row(line).unwrap().price.is_some(), "{line}");
        }
    }

    #[test]
    fn a_model_that_a_vendors_price_card_names_is_listed_or_retired() {
        const RETIRED: &[&str] = &[
            "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-1-20250805", "claude-opus-4-20250514",
            "claude-sonnet-4-0", "claude-sonnet-4-20250514",
        ];
        for card in price::built_in() {
            if let Some((vendor, model)) = card.name.split_once('/') {
                assert_eq!(find(vendor, model).is_none(), RETIRED.contains(&model), "{}", card.name);
                assert!(price(vendor, model).is_some(), "{}", card.name);
            }
        }
        assert_eq!(price("compatible", "gpt-5.4"), None);
        assert_eq!(price("openai", "nothing-of-the-kind"), None);
    }

    #[test]
    fn a_gateways_price_has_the_rules_of_the_vendor_behind_it() {
        let opus = find("openrouter", "anthropic/claude-opus-4.5").unwrap().price.unwrap();
        assert_eq!((opus.marks, opus.minimum), (Some(4), 4_096));
        let unmarked = known().filter(|known| known.vendor == "openrouter" && !known.model.starts_with("anthropic/"));
        assert!(
            unmarked
                .filter_map(|known| known.price)
                .all(|card| card.marks.is_none())
        );
    }

    #[test]
    fn a_name_that_no_list_has_has_the_figures_of_its_model_or_its_family() {
        for (name, window, max_output) in [
            ("azure/gpt-5.4", 1_050_000, 128_000),
            ("azure/gpt-5.1", 400_000, 128_000),
            ("gpt-5.3-codex-spark", 128_000, 32_000),
            ("gpt-5.2-codex", 400_000, 128_000),
            ("gpt-5-codex", 400_000, 128_000),
            ("openai/gpt-5.9-mini-2027-01-02", 400_000, 128_000),
            ("GPT-5.1-Codex", 400_000, 128_000),
            ("gpt-5.7-chat-latest", 128_000, 16_384),
            ("anthropic.claude-fable-9", 200_000, 32_000),
            ("z-ai/glm-4.6:exacto", 204_800, 16_384),
        ] {
            let figures = like(name).unwrap_or_else(|| panic!("{name}"));
            assert_eq!((figures.window, figures.max_output), (window, max_output), "{name}");
        }
        for name in ["gpt-50", "my-finetune", "o30", "gpt-neo"] {
            assert_eq!(like(name), None, "{name}");
        }
    }

    #[test]
    fn a_snapshot_has_the_figures_of_its_model() {
        let model = find("anthropic", "claude-opus-5-5-20261101").unwrap();
        assert_eq!(model.model, "claude-opus-5-5");
        assert_eq!(find("openai", "gpt-5.4-2026-03-05").unwrap().model, "gpt-5.4");
        assert_eq!(find("openai", "gpt-99"), None);
        assert_eq!(find("nobody", "gpt-5.4"), None);
    }
}
