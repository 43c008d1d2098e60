//! Parsers of option values, with error messages of their own.

use crate::settings::SMALLEST_WINDOW;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use codelet_gateway::Provider;
use codelet_replay::policy::Policy;
use codelet_transcript::Format;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;

/// The format of an input; `None` means that it is detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source(pub Option<Format>);

/// Returns a parser of values with these names, which shells complete.
pub(super) fn named<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [&'static str; N],
    read: fn(&str) -> Result<T, String>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).try_map(move |name| read(&name))
}

pub(super) fn source() -> impl TypedValueParser<Value = Source> {
    let auto = PossibleValue::new("auto");
    // `auto` is not a format name, so it becomes `None`.
    PossibleValuesParser::new([auto].into_iter().chain(formats(Format::is_read)))
        .map(|name| Source(Format::from_name(&name)))
}

/// Returns the names of some formats; shells complete the first name of each.
fn formats(is_one: fn(Format) -> bool) -> impl Iterator<Item = PossibleValue> {
    let formats = Format::ALL.iter().filter(move |format| is_one(**format));
    formats.map(|format| PossibleValue::new(format.name()).aliases(format.second_name()))
}

/// Returns a parser of a file name, or of `@` followed by the number or id of a recorded session.
pub(super) fn recorded() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(crate::recorded::named)
}

/// Returns a parser of the name of an agent whose sessions can be listed.
pub(super) fn agent() -> impl TypedValueParser<Value = String> {
    let others = crate::recorded::AGENTS.iter().map(|agent| agent.name);
    let mut names: Vec<&str> = others.chain([crate::saved::AGENT]).collect();
    names.sort_unstable();
    names.dedup();
    PossibleValuesParser::new(names)
}

pub(super) fn policy() -> impl TypedValueParser<Value = Policy> {
    let names = Policy::ALL.iter().map(|policy| policy.name());
    PossibleValuesParser::new(names).try_map(|name| Policy::from_name(&name).ok_or("no such policy"))
}

/// Parses the size of a context window.
pub(super) fn window(text: &str) -> Result<u64, String> {
    match tokens(text)? {
        window if window < SMALLEST_WINDOW => Err(format!(
            "the context window must have at least {SMALLEST_WINDOW} tokens"
        )),
        window => Ok(window),
    }
}

/// Parses a number from 0 to 1.
pub(super) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("expected a number from 0 to 1 such as 0.5".to_owned()),
    }
}

pub(super) fn written() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(formats(Format::is_written))
        .try_map(|name| Format::from_name(&name).ok_or("no such form"))
}

pub(super) fn vendor() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(formats(|format| {
        !codelet_transcript::vendor::list_of(format).is_empty()
    }))
    .try_map(|name| Format::from_name(&name).ok_or("no such vendor"))
}

/// Parses an amount such as `0.50`.
pub(super) fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(sum) if sum.is_finite() && sum > 0.0 => Ok(sum),
        _ => Err("expected an amount in US dollars above 0, such as 0.50".to_owned()),
    }
}

/// Parses a budget.
pub(super) fn budget(text: &str) -> Result<u64, String> {
    let is_nothing = |problem: String| match problem.starts_with("expected more") {
        true => format!("{problem}; if the budget is too small, a warning names the smallest possible one"),
        false => problem,
    };
    tokens(text).map_err(is_nothing)
}

/// Parses `200000`, `200_000`, `200,000`, `200k`, `1M` or `1.5M`.
pub fn tokens(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a number of tokens such as 40000, 40_000, 40k or 1M";
    let plain: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let (digits, unit) = match plain.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match plain.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1_000_000),
            None => (plain.as_str(), 1),
        },
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let no_fraction_allowed = unit == 1 && digits.contains('.');
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || no_fraction_allowed {
        return Err(EXPECTED.to_owned());
    }
    let mut value = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(unit));
    let mut weight = unit;
    for digit in fraction.bytes() {
        weight /= 10;
        value = value.and_then(|value| value.checked_add(u64::from(digit - b'0') * weight));
    }
    match value {
        Some(0) => Err("expected more than 0 tokens".to_owned()),
        Some(value) => Ok(value),
        None => Err(format!("the number is too large; {EXPECTED}")),
    }
}

/// Parses `A..B`, `A..` or `..B`.
pub(super) fn range(text: &str) -> Result<Range<usize>, String> {
    let bound = |text: &str, missing| {
        if text.is_empty() {
            Some(missing)
        } else {
            text.parse().ok()
        }
    };
    let parsed = text
        .split_once("..")
        .and_then(|(from, to)| Some(bound(from, 0)?..bound(to, usize::MAX)?));
    match parsed {
        Some(range) if range.start <= range.end => Ok(range),
        Some(_) => Err("the range ends before it begins".to_owned()),
        None => Err("expected two byte offsets such as 0..2000".to_owned()),
    }
}

/// Parses an address to listen at.
pub(super) fn listen(text: &str) -> Result<SocketAddr, String> {
    let here = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    let address = here.as_deref().unwrap_or(text).parse();
    address.map_err(|_| "expected an address and a port, such as 127.0.0.1:4114".to_owned())
}

/// Parses `NAME=URL`.
pub(super) fn upstream(text: &str) -> Result<(Provider, String), String> {
    let (name, address) = text.split_once('=').unwrap_or_default();
    let provider = Provider::from_name(name);
    let provider = provider.ok_or("expected anthropic=URL, openai=URL or gemini=URL")?;
    Ok((provider, address.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_people_write_them() {
        for text in ["200000", "200_000", "200,000", "200k", "200K", "0.2M", ".2M"] {
            let expected = if text.starts_with('.') { None } else { Some(200_000) };
            assert_eq!(tokens(text).ok(), expected, "{text}");
        }
        assert_eq!(tokens("1M"), Ok(1_000_000));
        assert_eq!(tokens("1.5k"), Ok(1_500));
        assert_eq!(tokens("1.23456k"), Ok(1_234));
        for text in [
            "", "k", "0", "0k", "-5", "12.5", "1e5", "lots", "99999999999999999999", "99999999999999999M",
        ] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_may_leave_out_an_end() {
        assert_eq!(range("3..9"), Ok(3..9));
        assert_eq!(range("3.."), Ok(3..usize::MAX));
        assert_eq!(range("..9"), Ok(0..9));
        for text in ["9..3", "3", "a..b", "3...9", ""] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
