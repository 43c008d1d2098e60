//! `codelet models`: the models that are known, with their windows and prices.

use crate::exit::Failure;
use crate::output::Output;
use crate::paint::{Ink, Look, width};
use crate::place::variable;
use codelet_context::price::Rates;
use codelet_providers::catalogue::{Known, known};

const HEADS: [&str; 7] = ["model", "window", "answer", "input", "output", "read", "write"];

/// Prints the list, and which keys are set.
///
/// # Errors
/// When standard output takes no more.
pub fn run() -> Result<(), Failure> {
    let look = Look::stdout();
    let rows: Vec<[String; 7]> = known().map(row).collect();
    let widest: Vec<usize> = HEADS
        .iter()
        .enumerate()
        .map(|(at, head)| {
            rows.iter()
                .map(|row| width(&row[at]))
                .max()
                .unwrap_or(0)
                .max(width(head))
        })
        .collect();
    let line = |cells: [&str; 7]| {
        let cells = cells
            .iter()
            .zip(&widest)
            .enumerate()
            .map(|(at, (cell, columns))| match at {
                0 => format!("{cell:<columns$}"),
                _ => format!("{cell:>columns$}"),
            });
        cells.collect::<Vec<_>>().join("  ")
    };
    Output::Stdout.write(|out| {
        writeln!(out, "{}", look.ink(Ink::Cyan, &line(HEADS)))?;
        for row in &rows {
            writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
        }
        writeln!(
            out,
            "\nTokens, and US dollars per million of them. Any other model of these vendors can be named too:"
        )?;
        for vendor in codelet_providers::vendor::vendors() {
            let key = match vendor
                .tokens
                .iter()
                .chain(vendor.keys)
                .find(|name| variable(name).is_some())
            {
                Some(name) => format!("${name} is set"),
                None if vendor.keys.is_empty() => "needs no key".to_owned(),
                None => format!("set ${}", vendor.keys.join(" or $")),
            };
            writeln!(out, "  {:<12} {key}", vendor.name)?;
        }
        writeln!(
            out,
            "Another server that speaks a known protocol: --model VENDOR/NAME --base-url URL"
        )
    })
}

fn row(known: Known) -> [String; 7] {
    let money = |pick: fn(&Rates) -> f64| {
        known
            .price
            .as_ref()
            .map_or("?".to_owned(), |price| dollars(pick(&price.rates)))
    };
    [
        format!("{}/{}", known.vendor, known.model),
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

/// As many places as the sum needs.
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
    fn windows_are_rounded_for_people() {
        let shown = [1_048_576, 1_000_000, 200_000, 128_000, 500].map(thousands);
        assert_eq!(shown, ["1M", "1M", "200k", "128k", "500"]);
    }
}
