//! The start of the page, with the session's title and a summary in text; and the end of the page.

use super::html::Html;
use super::words::{count, dollars, number, percent, span};
use super::{Course, Report, csv};
use crate::policy::Policy;
use crate::run::Sums;
use codelet_context::economics::Preset;
use codelet_text::short::clip;

/// Writes title and theme.
pub fn banner(html: &mut Html, report: &Report) {
    html.element("div", &[("class", "brand")], |html| {
        html.line("span", &[("class", "mark"), ("aria-hidden", "true")], "▤");
        html.text(if report.is_live {
            "Codelet · current session"
        } else {
            "Codelet · session report"
        });
    });
    html.element("h1", &[], |html| html.foreign(&report.title));
    html.element("p", &[("class", "about")], |html| {
        html.foreign(&report.agent);
        if let Some(model) = &report.model {
            html.text(" · ");
            html.foreign(model);
        }
        html.text(&format!(" · window {}", number(report.settings.window)));
        if let Some(lasted) = report.lasted {
            html.text(&format!(" · {}", span(lasted)));
        }
    });
}

/// Writes the summary.
pub fn section(html: &mut Html, report: &Report, courses: &[Course], first: usize) {
    html.element("section", &[("aria-labelledby", "short")], |html| {
        html.line("h2", &[("id", "short")], "Summary");
        let Some(course) = courses.get(first).filter(|course| !course.run.steps.is_empty()) else {
            let words = if report.is_live {
                "No request was sent yet."
            } else if courses.iter().any(|course| course.run.refused.is_some()) {
                "The first request does not fit into the context window, so nothing can be simulated. The conversation is shown below."
            } else {
                "The recording contains no request, so nothing can be simulated. The conversation is shown below."
            };
            html.line("p", &[("class", "lead")], words);
            return;
        };
        let sums = course.run.sums();
        let never = courses.iter().find(|course| course.is_never());
        html.element("p", &[("class", "lead")], |html| {
            html.text(&if report.is_live {
                billed(report, course, courses, never)
            } else {
                simulated(course, &sums, never)
            });
        });
        tiles(html, report, course, &sums, never);
        if let Some(words) = against_bills(report) {
            html.line("p", &[], &words);
        }
    });
}

fn billed(report: &Report, course: &Course, courses: &[Course], never: Option<&Course>) -> String {
    let sums = course.run.sums();
    let mut words = format!(
        "{} sent {} prompt tokens, of which {} were read from the cache, and returned {} tokens",
        count(sums.steps, "request", "requests"),
        number(sums.usage.prompt()),
        percent(sums.hit_share()),
        number(sums.usage.output),
    );
    if report.is_priced {
        words += &format!(", for {}", dollars(sums.dollars.total()));
    }
    words += &match course.edits.len() {
        0 => ". The context was not edited.".to_owned(),
        1 => ". The context was edited once.".to_owned(),
        edits => format!(". The context was edited {} times.", number(edits as u64)),
    };
    let Some(never) = never.filter(|never| never.run.refused.is_none()) else {
        return words;
    };
    words += &format!(
        " In a simulation, the same conversation costs {} without edits until the context window is full",
        dollars(never.run.sums().cost())
    );
    let own = courses
        .iter()
        .find(|of| !of.is_billed && of.run.policy == course.run.policy);
    if let Some(own) = own {
        let cost = dollars(own.run.sums().cost());
        words += &format!(", and {cost} under this session's own policy, {}", own.name);
    }
    words + "."
}

fn simulated(course: &Course, sums: &Sums, never: Option<&Course>) -> String {
    let mut words = format!(
        "A simulation of the {} in this recording: ",
        count(sums.steps, "request", "requests")
    );
    let is_engine = matches!(course.run.policy, Policy::Preset(preset) if preset != Preset::Off);
    let who = if is_engine {
        format!("Codelet ({})", course.name)
    } else {
        format!("the policy {}", course.name)
    };
    if let Some(refused) = course.run.refused {
        return words
            + &format!(
                "under {who} it would have ended at request {}, which holds {} tokens and does not fit into the window.",
                number(refused.step as u64 + 1),
                number(refused.tokens),
            );
    }
    let cost = sums.cost();
    let never = never.filter(|never| never.run.refused.is_none());
    let never = never.map(|never| never.run.sums().cost()).filter(|&never| never > 0.0);
    words += &match never {
        Some(never) if course.run.policy != Policy::Never => {
            let share = cost / never - 1.0;
            let held = format!(
                "compared with {} without edits until the context window is full",
                dollars(never)
            );
            match share {
                _ if share.abs() < 0.000_5 => {
                    format!("{who} would have cost {}, the same as without edits.", dollars(cost))
                }
                _ if share < 0.0 => {
                    format!(
                        "{who} would have cost {} {held}: {} less.",
                        dollars(cost),
                        percent(-share)
                    )
                }
                _ => format!(
                    "{who} would have cost {} {held}: {} more.",
                    dollars(cost),
                    percent(share)
                ),
            }
        }
        _ => format!("{who} would have cost {}.", dollars(cost)),
    };
    if sums.refetch > 0.0 {
        words += &format!(
            " That includes {} for reading removed content again when it was needed later.",
            dollars(sums.refetch)
        );
    }
    words += &match sums.edits {
        0 => " Nothing was worth editing.".to_owned(),
        edits => {
            let removed: u64 = course.edits.iter().map(super::Edit::removed).sum();
            format!(" {} removed {} tokens.", count(edits, "edit", "edits"), number(removed))
        }
    };
    words
}

fn tiles(html: &mut Html, report: &Report, course: &Course, sums: &Sums, never: Option<&Course>) {
    let mut tiles = vec![
        (
            "Requests",
            number(sums.steps),
            format!("{} output tokens", number(sums.usage.output)),
        ),
        (
            "Prompt tokens",
            number(sums.usage.prompt()),
            format!("{} per request", number(sums.mean().round() as u64)),
        ),
        (
            "Largest request",
            number(sums.peak),
            format!(
                "{} of the window",
                percent(sums.peak as f64 / report.settings.window.max(1) as f64)
            ),
        ),
        (
            "Read from cache",
            percent(sums.hit_share()),
            count(sums.planned + sums.cold + sums.unplanned, "cache miss", "cache misses"),
        ),
    ];
    if report.is_priced {
        // Billed costs are not compared with simulated ones.
        let below = match never.filter(|never| never.name != course.name && !course.is_billed) {
            Some(never) if never.run.refused.is_none() => format!("{} without edits", dollars(never.run.sums().cost())),
            _ => format!("{} for prompts", dollars(sums.dollars.prompt())),
        };
        let name = if course.is_billed { "Billed" } else { "Simulated cost" };
        tiles.push((name, dollars(sums.cost()), below));
    }
    if !report.is_live {
        tiles.push((
            "Still in context when needed",
            percent(sums.recall()),
            format!("of {}", count(sums.referred, "reference", "references")),
        ));
    }
    html.element("dl", &[("class", "tiles")], |html| {
        for (name, figure, below) in tiles {
            html.element("div", &[], |html| {
                html.line("dt", &[], name);
                html.element("dd", &[], |html| {
                    html.line("span", &[("class", "big")], &figure);
                    html.line("span", &[("class", "below")], &below);
                });
            });
        }
    });
}

/// Returns a sentence about the simulator's error compared with the bills.
fn against_bills(report: &Report) -> Option<String> {
    let names = || {
        let names = report.unknown.iter().take(3).map(|name| clip(name, 80));
        names.collect::<Vec<_>>().join(", ")
    };
    let Some(check) = report.check else {
        if report.unknown.is_empty() {
            return None;
        }
        let bills = if report.has_bills {
            ", and billed costs are left out"
        } else {
            ""
        };
        return Some(format!(
            "The price of the recorded model ({}) is unknown. Costs here use the price card {}{bills}; choose \
             another card, or your own, with --prices.",
            names(),
            report.settings.card.name,
        ));
    };
    let left_out = match check.unpriced as u64 {
        0 => String::new(),
        all => {
            let names = if report.unknown.is_empty() {
                String::new()
            } else {
                format!(" ({})", names())
            };
            format!(
                " {} to a model without a known price{names} {} left out.",
                count(all, "request", "requests"),
                if all == 1 { "is" } else { "are" },
            )
        }
    };
    let error = |error: f64| match error {
        _ if error.abs() < 0.000_5 => "exactly this".to_owned(),
        _ if error > 0.0 => format!("{} more", percent(error)),
        _ => format!("{} less", percent(-error)),
    };
    Some(format!(
        "The prompts of the recorded {} were billed {}. From their times and sizes alone, the simulation predicts {}; knowing \
         where other sessions had filled the cache or the provider lost it, {}. The figures of the policies are simulated, not \
         billed.{left_out}",
        count(check.requests as u64, "request", "requests"),
        dollars(check.billed),
        error(check.blind_error()),
        error(check.told_error()),
    ))
}

/// Writes how to read the figures, and links to files of them.
pub fn footer(html: &mut Html, report: &Report, courses: &[Course]) {
    let first = report.first.min(courses.len().saturating_sub(1));
    html.element("section", &[("aria-labelledby", "figures")], |html| {
        html.line("h2", &[("id", "figures")], "Files");
        html.element("p", &[("class", "files")], |html| {
            for (at, course) in courses
                .iter()
                .enumerate()
                .filter(|(_, course)| !course.run.steps.is_empty())
            {
                let most = match at == first || course.is_never() {
                    true => csv::MOST_ROWS,
                    false => csv::MOST_OTHER_ROWS,
                };
                let requests = course.run.steps.len();
                let part = match requests > most {
                    true => format!(", the first {} of {}", number(most as u64), number(requests as u64)),
                    false => String::new(),
                };
                let words = match course.is_billed {
                    true => format!("Requests as billed (CSV{part})"),
                    false => format!("Requests under {} (CSV{part})", course.name),
                };
                csv::link(html, &file(course), &words, &csv::steps(course, most));
            }
            if !courses.is_empty() {
                csv::link(html, "policies.csv", "Policies (CSV)", &csv::policies(courses));
            }
        });
        html.line("h2", &[("id", "how")], "About the figures");
        html.element("ul", &[("class", "notes")], |html| {
            for note in conditions(report).iter().chain(&report.notes) {
                html.element("li", &[], |html| html.text(&clip(note, 600)));
            }
        });
    });
}

fn file(course: &Course) -> String {
    let name: String = course
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    format!("requests-{name}.csv")
}

/// Returns the source of a card's prices.
fn found(source: &str) -> String {
    match source {
        // Nobody sells at these prices.
        "" | "generic" | "local" => String::new(),
        "memory" => " from memory, not from the provider's page".to_owned(),
        "other-price-tables" => " from price tables of other programs".to_owned(),
        page => format!(" by {page}"),
    }
}

fn conditions(report: &Report) -> Vec<String> {
    let settings = &report.settings;
    let card = &settings.card;
    let mut notes = Vec::new();
    if report.is_priced {
        let dated = if card.as_of.is_empty() {
            String::new()
        } else {
            format!(", as of {}{}", card.as_of, found(&card.source))
        };
        notes.push(format!(
            "Prices of the card {}{dated}, per million tokens: input {}, cache read {}, cache write {}, \
             output {}. Cache lifetime {}.",
            card.name,
            dollars(card.rates.input),
            dollars(card.rates.cache_read),
            dollars(card.write()),
            dollars(card.rates.output),
            span(u64::try_from(card.expires_after().as_millis()).unwrap_or(u64::MAX)),
        ));
    } else {
        notes.push("The price of the model is unknown, so costs are left out or zero.".to_owned());
    }
    if report.is_live {
        notes.push(
            "The saving of an edit in the session is what each later request was expected to cost less, times the number of \
             these requests."
                .to_owned(),
        );
    }
    if report.courses.iter().any(|course| !course.is_billed) {
        if report.is_live {
            notes.push(
                "Every row but the first is simulated. The simulation scales text sizes to this session's billed usage and \
                 uses the recorded replies; it leaves out what you compacted, pinned or undid yourself. \
                 Compare these rows with one another, and the bill with the row of the session's own policy."
                    .to_owned(),
            );
        }
        notes.push(format!(
            "Every policy compacts when a request would exceed {} tokens: the context window minus {} for output.",
            number(settings.limit()),
            number(settings.window - settings.limit()),
        ));
        notes.push(format!(
            "When a reply refers to removed content, the simulation assumes a chance of {} that the agent reads it again.",
            percent(settings.refetch)
        ));
        notes.push(
            "The cost of a simulated edit is the price of writing the cached tokens after it again. Its saving is \
             what the removed tokens would have cost in all later requests."
                .to_owned(),
        );
    }
    notes
}
