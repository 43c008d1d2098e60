//! The use of the context window: by kind, by tool, and the largest items.

use super::bars;
use super::bucket::layers;
use super::chart::swatch;
use super::course::{ratio, tokens};
use super::html::Html;
use super::played::LARGEST;
use super::table::{Cell, figures, table, words};
use super::words::{number, share};
use super::{Course, Report};
use codelet_context::inspect::{Item, Kind};

/// The maximum number of rows in the list of tools.
pub const MOST_TOOLS: usize = 20;

/// Writes the section.
pub fn section(html: &mut Html, report: &Report, course: Option<&Course>) {
    html.element("section", &[("aria-labelledby", "went")], |html| {
        html.line("h2", &[("id", "went")], "What used the context window");
        if report.contents.kinds.is_empty() {
            html.line("p", &[], "The conversation is empty.");
            return;
        }
        html.line("h3", &[], "By kind");
        kinds(html, report, course);
        if !report.contents.tools.is_empty() {
            html.line("h3", &[], "By tool");
            tools(html, report);
        }
        html.line("h3", &[], "Largest items");
        largest(html, report);
    });
}

fn scaled(report: &Report, tokens: u64) -> u64 {
    (tokens as f64 * report.ratio).round() as u64
}

fn kinds(html: &mut Html, report: &Report, course: Option<&Course>) {
    let found = &report.contents;
    let most = found.kinds.values().map(|share| share.tokens).max().unwrap_or(0) as f64;
    // What is sent again with each request determines the cost.
    let mut sent = [0_u64; super::bucket::LAYERS];
    for step in course.iter().flat_map(|course| &course.run.steps) {
        for (sum, tokens) in sent.iter_mut().zip(layers(step)) {
            *sum = sum.saturating_add(tokens);
        }
    }
    let all_sent = sent.iter().fold(0_u64, |sum, tokens| sum.saturating_add(*tokens));
    let columns = [
        words("Kind"),
        words("Size"),
        figures("Items"),
        figures("Tokens"),
        figures("Share"),
        figures("Sent, all requests"),
        figures("Share"),
    ];
    let mut rows = Vec::new();
    for (at, kind) in Kind::ALL.iter().enumerate() {
        let said = found.kinds.get(kind).copied().unwrap_or_default();
        let again = sent[at + 1];
        if said.parts == 0 && again == 0 {
            continue;
        }
        let length = said.tokens as f64;
        let name = kind.name();
        rows.push(vec![
            Cell::Drawn(Box::new(move |html: &mut Html| {
                swatch(html, at + 1);
                html.text(name);
            })),
            Cell::Drawn(Box::new(move |html: &mut Html| bars::plain(html, length, most, "read"))),
            Cell::Figure(number(said.parts as u64), said.parts as f64),
            tokens(scaled(report, said.tokens)),
            ratio(share(said.tokens, found.tokens)),
            tokens(again),
            ratio(share(again, all_sent)),
        ]);
    }
    if sent[0] > 0 {
        let fixed = sent[0];
        rows.push(vec![
            Cell::Drawn(Box::new(|html: &mut Html| {
                swatch(html, 0);
                html.text("outside the messages");
            })),
            Cell::Own(String::new()),
            Cell::none(0.0),
            Cell::none(0.0),
            Cell::none(0.0),
            tokens(fixed),
            ratio(share(fixed, all_sent)),
        ]);
    }
    let caption = match course {
        Some(course) if course.is_billed => "Content, and how much of it was sent in all requests together".to_owned(),
        Some(course) => format!(
            "Content, and how much of it was sent in all requests together under {}",
            course.name
        ),
        None => "Content".to_owned(),
    };
    table(html, "kinds", &caption, &columns, rows);
}

fn tools(html: &mut Html, report: &Report) {
    let found = &report.contents;
    let most = found.tools.first().map_or(0, |tool| tool.tokens()) as f64;
    let columns = [
        words("Tool"),
        words("Calls and results"),
        figures("Calls"),
        figures("Failed"),
        figures("Tokens"),
        figures("Share"),
    ];
    let rows = found.tools.iter().take(MOST_TOOLS).map(|tool| {
        let length = tool.tokens() as f64;
        let name = if tool.tool.is_empty() { "(unknown)" } else { &*tool.tool };
        vec![
            Cell::Foreign(name.to_owned()),
            Cell::Drawn(Box::new(move |html: &mut Html| bars::plain(html, length, most, "read"))),
            Cell::Figure(number(tool.calls.parts as u64), tool.calls.parts as f64),
            Cell::Figure(number(tool.failed as u64), tool.failed as f64),
            tokens(scaled(report, tool.tokens())),
            ratio(share(tool.tokens(), found.tokens)),
        ]
    });
    let caption = match found.tools.len() {
        all if all > MOST_TOOLS => format!("Tools: the {MOST_TOOLS} largest of {}", number(all as u64)),
        _ => "Tools".to_owned(),
    };
    table(html, "tools", &caption, &columns, rows.collect());
}

fn largest(html: &mut Html, report: &Report) {
    let found = &report.contents;
    let has_handles = !report.handles.is_empty();
    let mut columns = vec![
        words("Item"),
        words("Kind"),
        words("Tool"),
        figures("Tokens"),
        figures("Turn"),
        figures("Requests since"),
    ];
    if has_handles {
        columns.push(words("Removed; recall with"));
    }
    let row = |item: &Item| {
        let age = report.ages.get(item.message).copied().unwrap_or(0);
        let turn = item.place.map(|place| place.turn as u64 + 1);
        let mut row = vec![
            Cell::Foreign(item.label.clone()),
            Cell::Own(item.kind.name().to_owned()),
            Cell::Foreign(item.tool.as_deref().unwrap_or("–").to_owned()),
            tokens(scaled(report, item.tokens)),
            turn.map_or(Cell::none(0.0), |turn| Cell::Figure(number(turn), turn as f64)),
            Cell::Figure(number(age), age as f64),
        ];
        if has_handles {
            let handle = report.handles.get(&(item.message, item.part));
            row.push(Cell::Foreign(
                handle.map_or_else(|| "–".to_owned(), |handle| handle.clone()),
            ));
        }
        row
    };
    let parts: usize = found.kinds.values().map(|share| share.parts).sum();
    let shown = found.largest.len().min(LARGEST);
    let caption = if shown < parts {
        format!("The {shown} largest of {} items", number(parts as u64))
    } else {
        "All items, largest first".to_owned()
    };
    table(
        html,
        "largest",
        &caption,
        &columns,
        found.largest.iter().take(LARGEST).map(row).collect(),
    );
}
