//! The file format of price cards: one card per line.

use super::{Lifetime, MOST_DOLLARS, PriceCard, Rates, Tier};
use crate::message::tokens::Tokens;
use std::time::Duration;
use thiserror::Error;

/// An invalid line in a file of price cards.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}, line {line}, column {column}: expected {expected}, found {found:?}")]
pub struct BadCard {
    /// The file.
    file: String,
    /// The line, counted from 1.
    pub(crate) line: usize,
    /// The column of the invalid text, in characters, counted from 1.
    pub(crate) column: usize,
    /// The invalid text.
    pub(crate) found: String,
    /// The expected text.
    expected: &'static str,
}

/// Parses price cards, one per line: a name, then `key=value` pairs separated by white space; `#` starts a comment
/// line. The head of the built-in file (`src/budget/prices.txt`) lists the keys. `file` names the text in errors.
///
/// # Errors
/// The first invalid line: an unknown or repeated key, an invalid number, a duplicate name.
pub fn parse(text: &str, file: &str) -> Result<Vec<PriceCard>, BadCard> {
    let mut cards: Vec<PriceCard> = Vec::new();
    // Some editors write a byte order mark.
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

/// The column at which a piece of a line starts, in characters, counted from 1.
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
                    _ => match value.parse() {
                        Ok(marks @ 1..) => Some(marks),
                        _ => return Err((value, "a number of marks, 1 or more, or none")),
                    },
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
        return Err((name, "write-1h=… after the name, which uses=1h asks for"));
    }
    let input = input.ok_or((name, "input=… after the name"))?;
    let write = write.unwrap_or(input);
    card.rates = Rates {
        input,
        output: output.ok_or((name, "output=… after the name"))?,
        cache_read: read.unwrap_or(input),
        cache_write: write,
        cache_write_1h: write_1h.unwrap_or(write),
    };
    Ok(card)
}

fn dollars(value: &str) -> Result<f64, (&str, &'static str)> {
    const EXPECTED: &str = "US dollars per million tokens, 0 to 1,000,000";
    let dollars = number(value).filter(|dollars| (0.0..=MOST_DOLLARS).contains(dollars));
    dollars.ok_or((value, EXPECTED))
}

fn tier(value: &str) -> Result<Tier, (&str, &'static str)> {
    const EXPECTED: &str = "tokens:times or tokens:times:times, such as 200000:2:1.5, with times of 1 to 1,000";
    // No tier lowers prices.
    let times = |field| number(field).filter(|times| (1.0..=1e3).contains(times));
    let mut fields = value.split(':');
    let above = fields.next().and_then(|field| field.parse().ok());
    let above = above.filter(|&above: &Tokens| above > 0);
    let prompt = fields.next().and_then(times);
    let output = match fields.next() {
        Some(field) => times(field),
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
    // A year is longer than the life of any cache and keeps sums of durations in bounds.
    let count = value[..value.len() - 1].parse::<u32>().ok().map(u64::from);
    count
        .map(|count| count * unit)
        .filter(|&seconds| (1..=31_536_000).contains(&seconds))
        .map(Duration::from_secs)
        .ok_or((value, EXPECTED))
}

/// Parses a number written in plain digits.
fn number(value: &str) -> Option<f64> {
    let plain = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    value.parse::<f64>().ok().filter(|_| plain)
}
