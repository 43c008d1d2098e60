//! `codelet models`: lists known models with their context windows and prices.

use crate::args::Models;
use crate::clouds;
use crate::exit::Failure;
use crate::output::Output;
use crate::paint::{Ink, Look, clean, clip, lined_up, width};
use crate::place::variable;
use codelet_context::price::Rates;
use codelet_providers::Host;
use codelet_providers::catalogue::{Known, known, listed};
use codelet_providers::vendor::{self, Vendor};
use codelet_text::near;

const HEADS: [&str; 7] = [
    "model", "window", "max output", "input", "output", "cache read", "cache write",
];
const UNITS: &str =
    "Window and max output in tokens; prices in US dollars per million tokens; ? where the price is not known.";

/// Prints the list, and which keys are set.
///
/// # Errors
/// If no model has these words in its name, or standard output cannot be written.
pub fn run(args: &Models) -> Result<(), Failure> {
    let look = Look::stdout();
    let found: Vec<Known> = known().filter(|known| is_named(&name(known), &args.search)).collect();
    if found.is_empty() {
        return Err(nothing(&args.search));
    }
    // A gateway sells hundreds of models; a search shows only the vendors that it found.
    let is_found = |vendor: &Vendor| {
        let of =
            |known: &Known| known.vendor == vendor.name || (known.vendor, vendor.name) == ("openai", "openai-chat");
        args.search.is_empty() || found.iter().any(of)
    };
    let heads = HEADS.map(str::to_owned);
    let mut rows: Vec<[String; 7]> = std::iter::once(heads).chain(found.iter().map(row)).collect();
    let mut lines = lined_up(&rows, &[1, 2, 3, 4, 5, 6], usize::MAX);
    // On a narrow terminal, the last columns are left out.
    for last in (1..HEADS.len()).rev() {
        if !look.terminal || lines.iter().all(|line| width(line.trim_end()) <= look.width) {
            break;
        }
        rows.iter_mut().for_each(|row| row[last].clear());
        lines = lined_up(&rows, &[1, 2, 3, 4, 5, 6], usize::MAX);
    }
    Output::Stdout.write(|out| {
        for (at, line) in lines.iter().map(|line| line.trim_end()).enumerate() {
            match at {
                0 => writeln!(out, "{}", look.ink(Ink::Cyan, line))?,
                _ => writeln!(out, "{line}")?,
            }
        }
        writeln!(
            out,
            "\n{UNITS}\n\nAPI keys (unlisted models of these vendors work too):"
        )?;
        for vendor in vendor::vendors().filter(|vendor| is_found(vendor)) {
            let key = match vendor
                .tokens
                .iter()
                .chain(vendor.keys)
                .find(|name| variable(name).is_some())
            {
                Some(name) => format!("${name} is set"),
                None if vendor.keys.is_empty() => "needs no key".to_owned(),
                None => match clouds::access(vendor, &variable).from {
                    Some(from) => from,
                    None => format!("set ${}{}", vendor.keys.join(" or $"), otherwise(vendor)),
                },
            };
            writeln!(out, "  {:<12} {key}", vendor.name)?;
        }
        writeln!(
            out,
            "Any server with a compatible API: --model PROVIDER/NAME --base-url URL"
        )
    })
}

/// Describes a cloud's credentials other than a key.
fn otherwise(vendor: &Vendor) -> &'static str {
    match vendor.host {
        Some(Host::Bedrock) => ", or have AWS keys ($AWS_PROFILE): bedrock/us.anthropic.claude-sonnet-5-5",
        Some(Host::Vertex) => ", or run gcloud auth application-default login: vertex/claude-sonnet-5-5",
        Some(Host::Azure) => " and $AZURE_OPENAI_ENDPOINT; the model is the name of a deployment",
        None => "",
    }
}

/// Formats `vendor/model`.
fn name(known: &Known) -> String {
    format!("{}/{}", known.vendor, known.model)
}

/// Returns whether a name contains all of these words. Versions are written with dots or dashes, so both match.
fn is_named(name: &str, words: &[String]) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['.', '_', ' '], "-");
    let name = plain(name);
    let mut words = words.iter().flat_map(|words| words.split_whitespace());
    words.all(|word| name.contains(&plain(word)))
}

/// Returns the error for a search without results: suggests a similar name or a word that occurs in names.
fn nothing(words: &[String]) -> Failure {
    let names: Vec<String> = listed().map(|(vendor, model)| format!("{vendor}/{model}")).collect();
    let searched = words.join(" ");
    // Users often omit the vendor.
    let bare = names.iter().filter_map(|name| name.rsplit('/').next());
    let mut meant = near::hint(&searched, names.iter().map(String::as_str).chain(bare));
    let is_part = |word: &&str| names.iter().any(|name| is_named(name, &[(*word).to_owned()]));
    if meant.is_empty()
        && let Some(slip) = searched.split_whitespace().find(|word| !is_part(word))
    {
        meant = near::hint(slip, names.iter().flat_map(|name| name.split(['/', '-', ':'])));
    }
    let searched = clean(&clip(&searched, 60));
    Failure::Told(format!("no listed model has {searched:?} in its name{meant}"))
}

fn row(known: &Known) -> [String; 7] {
    let money = |pick: fn(&Rates) -> f64| {
        known
            .price
            .as_ref()
            .map_or("?".to_owned(), |price| dollars(pick(&price.rates)))
    };
    [
        name(known),
        thousands(known.window),
        thousands(known.max_output),
        money(|price| price.input),
        money(|price| price.output),
        money(|price| price.cache_read),
        money(|price| price.cache_write),
    ]
}

fn thousands(tokens: u64) -> String {
    match tokens {
        1_000_000.. if tokens % 1_000_000 < 50_000 => format!("{}M", tokens / 1_000_000),
        1_000.. => format!("{}k", tokens / 1_000),
        _ => tokens.to_string(),
    }
}

/// Formats an amount with as many decimals as needed.
fn dollars(sum: f64) -> String {
    let text = format!("{sum:.4}");
    let text = text.trim_end_matches('0');
    match text.split_once('.') {
        Some((whole, places)) if places.len() < 2 => format!("{whole}.{places:0<2}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_two_places_or_as_many_as_they_need() {
        let shown = [0.0, 3.0, 0.3, 0.075, 1.25, 0.0028].map(dollars);
        assert_eq!(shown, ["0.00", "3.00", "0.30", "0.075", "1.25", "0.0028"]);
    }

    #[test]
    fn a_model_is_found_by_words_of_its_name_however_its_version_is_written() {
        let is = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            is_named("anthropic/claude-sonnet-5-5", &words)
        };
        for words in [
            &["sonnet", "5.5"][..],
            &["Sonnet 5-5"],
            &["anthropic"],
            &["5.5", "claude"],
            &[],
        ] {
            assert!(is(words), "{words:?}");
        }
        assert!(!is(&["sonnet", "4.5"]));
        assert!(!is(&["sonet"]));
    }

    #[test]
    fn windows_are_rounded_for_people() {
        let shown = [1_048_576, 1_000_000, 200_000, 128_000, 500].map(thousands);
        assert_eq!(shown, ["1M", "1M", "200k", "128k", "500"]);
    }
}
