//! The text and CSV output of a replay.

use super::ReplayResult;
use crate::paint::{self, Ink, Look, clean, clip, count, fit, number};
use codelet_replay::csv;
use codelet_replay::policy::Policy;
use codelet_replay::totals::{Played, Total, by_source, checked, totals};
use std::fmt::Write;

/// The number of files listed individually; of more there is only a total, and `--csv` has them all.
const LISTED: usize = 12;

/// Formats the tables.
pub(super) fn table(look: &Look, outcome: &ReplayResult) -> String {
    let mut text = String::new();
    let played = &outcome.played;
    head(&mut text, look, outcome);
    let all = totals(played);
    policies(&mut text, look, &all);
    let refused: Vec<String> = all.iter().filter_map(|total| ended(total, played)).collect();
    if !refused.is_empty() {
        note(&mut text, look, "left out, because a request did not fit:", refused);
    }
    let sources = by_source(played);
    if sources.len() > 1 {
        heading(
            &mut text,
            look,
            "By source",
            "cost compared with never editing, and its 95 % interval",
        );
        for (name, (sessions, totals)) in &sources {
            let of = format!("{} ({sessions})", clip(&clean(name), 24));
            ratios(
                &mut text,
                look,
                &of,
                totals.iter().map(|total| (total.policy, total.ratio, total.interval)),
            );
        }
    }
    if played.len() > 1 && played.len() <= LISTED {
        heading(&mut text, look, "By file", "cost compared with never editing");
        for (session, name) in played.iter().zip(&outcome.names) {
            let name = paint::clip_path(&clean(name), 40);
            let sums = session.sums.iter();
            let each = sums.map(|(policy, _)| (*policy, session.ratio(*policy), None));
            ratios(&mut text, look, &name, each);
        }
    }
    check(&mut text, look, played);
    text
}

fn head(text: &mut String, look: &Look, outcome: &ReplayResult) {
    let played = &outcome.played;
    let requests: usize = played.iter().map(|session| session.requests).sum();
    let settings = &outcome.settings;
    let mut parts = vec![
        count(played.len(), "conversation"),
        count(requests, "request"),
        format!("window {}", number(settings.window)),
        format!("prices {}", clean(&settings.card.name)),
        format!("cache lifetime {}", lifetime(settings.card.expires_after().as_secs())),
        format!("refetch probability {} %", (settings.refetch * 100.0).round()),
    ];
    if !outcome.skipped.is_empty() {
        parts.push(count(outcome.skipped.len(), "file") + " skipped");
    }
    flow(text, look, parts, "");
    let passed = outcome.passed.words();
    if !passed.is_empty() {
        note(text, look, "skipped in directories:", passed);
    }
    let filled = played
        .iter()
        .filter(|session| session.is_timed && session.untimed > 0)
        .count();
    if filled > 0 {
        let requests: usize = played
            .iter()
            .filter(|session| session.is_timed)
            .map(|session| session.untimed)
            .sum();
        let words = format!("{} in {}", count(requests, "request"), count(filled, "file"));
        note(text, look, "times copied from the previous request:", vec![words]);
    }
    let partly = played.iter().filter(|session| session.is_partly_read).count();
    if partly > 0 {
        let words = format!("damaged or cut off, and read in part: {partly}");
        note(text, look, "", vec![words]);
    }
    let untimed = played.iter().filter(|session| !session.is_timed).count();
    let guessed = played.iter().filter(|session| !session.is_calibrated).count();
    if untimed > 0 {
        let words = format!("without times, cache assumed warm: {untimed}");
        let more = format!("without billed usage, sizes estimated: {guessed}");
        note(text, look, "", vec![words, more]);
    }
}

/// Describes sessions that a policy could not complete: how many of them, or for a single session at which request.
fn ended(total: &Total, played: &[Played]) -> Option<String> {
    let name = total.policy.name();
    let sums = |session: &Played| {
        let mut all = session.sums.iter();
        all.find(|(policy, _)| *policy == total.policy)
            .map(|(_, sums)| sums.steps + 1)
    };
    match (total.refused, played) {
        (0, _) => None,
        (_, [session]) => {
            let at = number(sums(session).unwrap_or(0));
            Some(format!("{name} at {at} of {}", number(session.requests as u64)))
        }
        (refused, _) => Some(format!(
            "{name} {} of {}",
            number(refused as u64),
            count(refused + total.sessions, "session")
        )),
    }
}

/// Formats a duration as people say it: `5 min`.
pub(super) fn lifetime(seconds: u64) -> String {
    match seconds {
        s if s % 3_600 == 0 => format!("{} h", s / 3_600),
        s if s % 60 == 0 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

/// Formats one row per policy: all columns in a width of 80, else the most important ones.
fn policies(text: &mut String, look: &Look, totals: &[Total]) {
    let heads = [
        "dollars", "share", "95 %", "p95", "hits", "broken+cold", "edits", "recall",
    ];
    let widths = [8, 6, 10, 5, 6, 11, 6, 6];
    let shown: &[usize] = match look.width {
        80.. => &[0, 1, 2, 3, 4, 5, 6, 7],
        60.. => &[0, 1, 4, 6, 7],
        _ => &[1, 7],
    };
    let row = |name: &str, cells: [String; 8]| {
        let mut line = fit(name, 14);
        for &column in shown {
            let (cell, width) = (&cells[column], widths[column]);
            let _ = write!(
                line,
                " {}{cell}",
                " ".repeat(usize::saturating_sub(width, paint::width(cell)))
            );
        }
        line
    };
    let title = row("policy", heads.map(str::to_owned));
    let _ = writeln!(text, "\n{}", look.ink(Ink::Dim, &title));
    // A policy that ended early is not cheaper for that.
    let cheapest = totals
        .iter()
        .filter(|total| total.refused == 0)
        .map(|total| total.sums.cost())
        .fold(f64::INFINITY, f64::min);
    for total in totals {
        let sums = &total.sums;
        let share =
            |value: Option<f64>, digits: usize| value.map_or("–".to_owned(), |value| format!("{value:.digits$}"));
        let interval = total
            .interval
            .map_or("–".to_owned(), |(low, high)| format!("{low:.2}–{high:.2}"));
        if total.sessions == 0 {
            let _ = writeln!(
                text,
                "{}",
                row(total.policy.name(), [const { "–" }; 8].map(str::to_owned))
            );
            continue;
        }
        let line = row(
            total.policy.name(),
            [
                format!("{:.2}", sums.cost()),
                share(total.ratio, 3),
                interval,
                share(total.worst, 2),
                format!("{:.1}%", sums.hit_share() * 100.0),
                format!("{}+{}", number(sums.planned + sums.unplanned), number(sums.cold)),
                number(sums.edits),
                format!("{:.1}%", sums.recall() * 100.0),
            ],
        );
        let is_cheapest = sums.cost() == cheapest && totals.len() > 1 && total.refused == 0;
        let _ = writeln!(text, "{}", if is_cheapest { look.ink(Ink::Green, &line) } else { line });
    }
}

/// A policy, its cost as a share of never editing, and the interval of that.
type Share = (Policy, Option<f64>, Option<(f64, f64)>);

fn ratios(text: &mut String, look: &Look, name: &str, each: impl Iterator<Item = Share>) {
    let parts = each
        .filter(|(policy, ..)| *policy != Policy::Never)
        .map(|(policy, ratio, interval)| {
            let ratio = ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
            let interval = interval.map_or(String::new(), |(low, high)| format!(" ({low:.2}–{high:.2})"));
            format!("{} {ratio}{interval}", policy.name())
        })
        .collect::<Vec<_>>();
    let _ = writeln!(text, "  {}", look.ink(Ink::Bold, name));
    flow(text, look, parts, "    ");
}

fn check(text: &mut String, look: &Look, played: &[Played]) {
    let Some(found) = checked(played) else { return };
    heading(
        text,
        look,
        "Compared with billed usage",
        "error of the input cost, by session",
    );
    let percent = |(median, p90): (f64, f64)| format!("median {:.1}%, p90 {:.1}%", median * 100.0, p90 * 100.0);
    let sessions = vec![
        count(found.sessions, "session"),
        count(found.requests, "request"),
        format!(
            "{} without billed usage, times or a known model",
            number(found.without as u64)
        ),
    ];
    let sessions = match found.unpriced {
        0 => sessions,
        all => [
            sessions,
            vec![format!("{} left out, price unknown", count(all, "request"))],
        ]
        .concat(),
    };
    flow(text, look, sessions, "  ");
    let _ = writeln!(text, "  {} {}", fit("recording alone", 15), percent(found.blind));
    let _ = writeln!(text, "  {} {}", fit("with events", 15), percent(found.told));
    let words = vec![
        format!("{} cached by other sessions", count(found.warm_heads, "system prompt")),
        format!("{} without an expiry", count(found.lost, "unexplained cache miss")),
    ];
    note(text, look, "  events not in the recordings: ", words);
}

fn heading(text: &mut String, look: &Look, title: &str, about: &str) {
    let room = look.width.saturating_sub(paint::width(title) + 2);
    let _ = writeln!(
        text,
        "\n{}  {}",
        look.ink(Ink::Bold, title),
        look.ink(Ink::Dim, &clip(about, room))
    );
}

/// Formats a de-emphasized note: a label and its parts.
fn note(text: &mut String, look: &Look, label: &str, parts: Vec<String>) {
    let label = label.trim();
    let labelled = match parts.split_first() {
        Some((first, rest)) if !label.is_empty() && paint::width(label) + paint::width(first) + 4 < look.width => {
            let first = format!("{label} {first}");
            std::iter::once(first).chain(rest.iter().cloned()).collect()
        }
        _ if label.is_empty() => parts,
        _ => std::iter::once(label.to_owned()).chain(parts).collect(),
    };
    let room = look.width.saturating_sub(2);
    let parts = labelled.into_iter().map(|part| clip(&part, room));
    let parts = parts.map(|part| (paint::width(&part), look.ink(Ink::Dim, &part)));
    let _ = writeln!(text, "  {}", paint::flow(parts, " · ", room, "  "));
}

fn flow(text: &mut String, look: &Look, parts: Vec<String>, indent: &str) {
    let room = look.width.saturating_sub(indent.len());
    let parts = parts.into_iter().map(|part| clip(&part, room));
    let parts = parts.map(|part| (paint::width(&part), part));
    let _ = writeln!(text, "{indent}{}", paint::flow(parts, " · ", room, indent));
}

/// Formats one line per file and policy.
pub(super) fn csv(outcome: &ReplayResult) -> String {
    let mut text = format!("file,source,policy,ratio,{},refused_at\n", csv::SUMS);
    for session in &outcome.played {
        for (policy, sums) in &session.sums {
            let ratio = session.ratio(*policy);
            let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.6}"));
            let refused = match sums.overflows {
                0 => String::new(),
                _ => (sums.steps + 1).to_string(),
            };
            let _ = writeln!(
                text,
                "{},{},{},{ratio},{},{refused}",
                csv::whole(&session.file),
                csv::field(&session.source),
                policy.name(),
                csv::sums(sums),
            );
        }
    }
    text
}
