//! The requested price card, built in or from a file.

use super::view::lifetime;
use crate::args::Ttl;
use crate::exit::Failure;
use crate::input::Input;
use crate::paint::{clean, count};
use codelet_context::price::{self, Lifetime, PriceCard};
use std::path::Path;
use std::time::Duration;

/// A card, and all cards of its file.
#[derive(Debug)]
pub struct Prices {
    /// The requested card.
    pub card: PriceCard,
    /// The cards of the file; empty for a built-in card.
    pub own: Vec<PriceCard>,
}

/// Returns a built-in price card, or one from a file.
///
/// # Errors
/// If there is neither, or the file cannot be read or lacks the card.
pub fn prices(name: &str) -> Result<Prices, Failure> {
    let built_in = |card: &PriceCard| Prices {
        card: card.clone(),
        own: Vec::new(),
    };
    if let Some(card) = price::built_in().iter().find(|card| *card.name == *name) {
        return Ok(built_in(card));
    }
    let (file, wanted) = match name.rsplit_once('#') {
        Some((file, wanted)) if !Path::new(name).exists() => (file, Some(wanted)),
        _ => (name, None),
    };
    if !Path::new(file).exists() {
        return price::find(name).map(built_in).ok_or_else(|| {
            Failure::Told(format!(
                "{:?} is neither a price card (5m, 1h, no-write-fee, a model's name) nor a file with one",
                clean(name)
            ))
        });
    }
    if Path::new(file).is_dir() {
        return Err(Failure::at(file, "is a folder, expected a file of price cards"));
    }
    let input = Input::read(Some(Path::new(file)))?;
    let text = String::from_utf8_lossy(&input.bytes);
    let cards = price::parse(&text, &clean(file)).map_err(|bad| Failure::Told(bad.to_string()))?;
    let found = match wanted {
        Some(wanted) => price::among(&cards, wanted),
        None if cards.len() > 1 => {
            let problem = format!("contains {}; choose one as {file}#NAME", count(cards.len(), "card"));
            return Err(Failure::at(file, problem));
        }
        None => cards.first(),
    };
    match (found, wanted) {
        (Some(card), _) => Ok(Prices {
            card: card.clone(),
            own: cards.clone(),
        }),
        (None, Some(wanted)) if !cards.is_empty() => {
            Err(Failure::at(file, format!("has no card named {}", clean(wanted))))
        }
        (None, _) => Err(Failure::at(
            file,
            "contains no price card, expected a line such as: my-model input=3 output=15 read=0.3",
        )),
    }
}

/// Returns the card with the requested cache lifetime.
///
/// # Errors
/// If the vendor does not offer that lifetime.
pub fn living(card: PriceCard, ttl: Ttl) -> Result<PriceCard, Failure> {
    let sells_an_hour = card.rates.cache_write_1h > card.rates.cache_write;
    let (lifetime_asked, name, asked) = match ttl {
        Ttl::Minutes => (Lifetime::FiveMinutes, "5m", Duration::from_secs(300)),
        Ttl::Hour if sells_an_hour => (Lifetime::Hour, "1h", Duration::from_secs(3_600)),
        Ttl::Hour => (Lifetime::FiveMinutes, "1h", Duration::from_secs(3_600)),
    };
    let lives = lifetime(card.lives.as_secs());
    let named = clean(&card.name);
    let card = card.living(lifetime_asked);
    if card.expires_after() == asked {
        return Ok(card);
    }
    let what = match sells_an_hour {
        true => format!("its shorter lifetime is {lives}"),
        false => format!("its only lifetime is {lives}"),
    };
    let help = match ttl {
        Ttl::Hour if !sells_an_hour => ", or set write-1h=… in your own card",
        Ttl::Hour => ", or set lives=… to at most an hour in your own card",
        Ttl::Minutes => ", or set lives=5m in your own card",
    };
    Err(Failure::Told(format!(
        "--ttl {name}: the price card {named} has no cache with that lifetime; {what}. Omit --ttl{help}"
    )))
}
