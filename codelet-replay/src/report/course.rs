//! A session under each policy: charts of the window and of the cache, edits and cache breaks.
//!
//! All of them are in the page. Buttons that work without a script select which one is visible.

use super::bucket::{Bucket, LAYERS, buckets, layer};
use super::chart::{self, Scale};
use super::html::{self, Html};
use super::table::{Cell, figures, table, words};
use super::words::{changed, count, dollars, number, percent, share};
use super::{Course, Edit, Report};
use serde_json::{Value, json};

/// The maximum number of rows in a list of edits or breaks.
const MOST_ROWS: usize = 40;

/// Writes the charts and lists of every run.
pub fn section(html: &mut Html, report: &Report, courses: &[Course], first: usize) {
    let peak = courses.iter().map(|course| course.run.sums().peak).max().unwrap_or(0);
    let scale = Scale::of(peak, report.settings.window);
    html.element(
        "section",
        &[("aria-labelledby", "over"), ("class", "courses")],
        |html| {
            html.line("h2", &[("id", "over")], "Request by request");
            if courses.len() > 1 {
                choice(html, courses, first);
            }
            for (at, course) in courses.iter().enumerate() {
                let number = at.to_string();
                let attributes = [("class", "course"), ("data-course", number.as_str())];
                html.element("div", &attributes, |html| one(html, report, at, course, &scale));
            }
        },
    );
}

fn choice(html: &mut Html, courses: &[Course], first: usize) {
    html.element("fieldset", &[("class", "choice")], |html| {
        html.line("legend", &[], "Policy");
        for (at, course) in courses.iter().enumerate() {
            let (id, value) = (format!("show-{at}"), at.to_string());
            let mut attributes = vec![
                ("type", "radio"),
                ("name", "policy"),
                ("id", id.as_str()),
                ("value", value.as_str()),
            ];
            if at == first {
                attributes.push(("checked", ""));
            }
            html.open("input", &attributes);
            html.line("label", &[("for", &id)], &course.name);
        }
    });
}

fn one(html: &mut Html, report: &Report, at: usize, course: &Course, scale: &Scale) {
    let window = report.settings.window;
    let buckets = buckets(&course.run);
    let sums = course.run.sums();
    html.element("p", &[("class", "under")], |html| {
        html.line("strong", &[], &course.name);
        // Next to billed figures, simulated ones must be marked.
        let how = if report.is_live && !course.is_billed {
            ", simulated"
        } else {
            ""
        };
        html.text(&format!("{how}: {}.", course.about.trim_end_matches('.')));
    });
    if let Some(refused) = course.run.refused {
        let words = format!(
            "Ended at request {}: its {} tokens do not fit into the context window of {}, even compacted. A \
             provider would reject it, so later requests are not counted, and the policy has no share.",
            number(refused.step as u64 + 1),
            number(refused.tokens),
            number(window),
        );
        html.line("p", &[], &words);
    }
    html.line("h3", &[], "Context window by kind");
    if course.run.steps.len() > buckets.len() {
        let words = format!(
            "{} in {} columns; each shows the largest of its {}.",
            count(sums.steps, "request", "requests"),
            number(buckets.len() as u64),
            number(course.run.steps.len().div_ceil(buckets.len().max(1)) as u64),
        );
        html.line("p", &[("class", "small")], &words);
    }
    chart::occupancy(html, at, course, &buckets, scale, window);
    readout(html, at, &buckets);
    html.element("div", &[("class", "keys")], |html| {
        chart::legend(html, &buckets);
        html.element("p", &[("class", "small")], |html| {
            html.element("span", &[("class", "edit sign")], |html| html.text("▼"));
            html.text(" edit, ");
            html.element("span", &[("class", "edit full sign")], |html| html.text("■"));
            html.text(" compaction because the window was full");
            if window > scale.top {
                html.text(&format!(
                    "; the window of {} is beyond the top of the chart",
                    number(window)
                ));
            }
        });
    });
    marked(html, "edits", "removed most", course.edits.len());
    html.element("details", &[], |html| {
        html.line("summary", &[], "Context window and cache, as a table");
        layers(html, at, &buckets);
    });
    html.line("h3", &[], "Edits");
    edits(html, report, at, course);
    html.line("h3", &[], "Cache");
    chart::cache(html, at, course, &buckets);
    html.element("ul", &[("class", "legend")], |html| {
        for (class, words) in [
            ("read", "read from the cache"),
            ("write", "written to the cache"),
            ("fresh", "not cached"),
        ] {
            html.element("li", &[], |html| {
                chart::swatch_in(html, format_args!("class=\"{class}\""));
                html.text(words);
            });
        }
        for (class, sign, words) in [
            ("planned", "◆", "missed after an edit"),
            ("cold", "○", "expired"),
            ("unplanned", "✕", "missed for another reason"),
        ] {
            html.element("li", &[], |html| {
                html.line(
                    "span",
                    &[("class", &format!("{class} sign")), ("aria-hidden", "true")],
                    sign,
                );
                html.text(words);
            });
        }
    });
    let broken = course.run.steps.iter().filter(|step| step.broken.is_some()).count();
    marked(html, "cache misses", "lost most", broken);
    breaks(html, at, course);
    html.element(
        "script",
        &[
            ("type", "application/json"),
            ("class", "steps"),
            ("data-course", &at.to_string()),
        ],
        |html| {
            html.raw(&html::json(&steps(course, &buckets)));
        },
    );
}

/// Writes the chart's values at its fullest; a script updates them for the pointer and a slider.
fn readout(html: &mut Html, at: usize, buckets: &[Bucket]) {
    let Some(bucket) = buckets.iter().rev().max_by_key(|bucket| bucket.tokens()) else {
        return;
    };
    let number_of = at.to_string();
    html.element("div", &[("class", "follow"), ("data-course", &number_of)], |html| {
        html.element("p", &[("class", "readout")], |html| {
            html.line("strong", &[], &format!("Request {}", number(bucket.fullest as u64 + 1)));
            html.text(", the largest: ");
            let mut parts: Vec<(usize, u64)> = bucket.layers.iter().copied().enumerate().collect();
            parts.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
            let parts: Vec<String> = parts
                .into_iter()
                .filter(|(_, tokens)| *tokens > 0)
                .map(|(at, tokens)| format!("{} {}", layer(at), number(tokens)))
                .collect();
            html.text(&format!("{} tokens ({})", number(bucket.tokens()), parts.join(", ")));
        });
    });
}

/// Returns the script's data for each column: the fullest request, tokens by layer, cache usage, cost so far, text.
fn steps(course: &Course, buckets: &[Bucket]) -> Value {
    let mut spent = 0.0;
    let columns: Vec<Value> = buckets
        .iter()
        .map(|bucket| {
            spent += bucket.dollars.total();
            let mut marks: Vec<String> = Vec::new();
            for at in bucket.steps.clone() {
                let step = &course.run.steps[at];
                if let Some(edit) = step.edit {
                    marks.push(format!(
                        "edit before {}: {} ({})",
                        number(at as u64 + 1),
                        changed(edit.before, edit.after),
                        edit.reason
                    ));
                }
                if let Some(broken) = step.broken {
                    let lost = number(broken.lost);
                    marks.push(format!(
                        "{} cache miss at {}: {lost} tokens",
                        broken.cause.name(),
                        number(at as u64 + 1)
                    ));
                }
            }
            let more = marks.len().saturating_sub(3);
            marks.truncate(3);
            if more > 0 {
                marks.push(format!("and {more} more"));
            }
            let usage = bucket.usage;
            json!([
                bucket.steps.start + 1,
                bucket.steps.end,
                bucket.fullest + 1,
                bucket.layers,
                [usage.cache_read, usage.cache_write, usage.fresh],
                dollars(spent),
                marks.join("; "),
            ])
        })
        .collect();
    let names: Vec<&str> = (0..LAYERS).map(layer).collect();
    json!({ "layers": names, "columns": columns })
}

/// Writes a note if a chart has no room for all marks.
fn marked(html: &mut Html, what: &str, which: &str, all: usize) {
    if all > chart::MOST_MARKS {
        let (shown, all) = (number(chart::MOST_MARKS as u64), number(all as u64));
        let words = format!("Only the {shown} {what} of {all} that {which} are marked.");
        html.line("p", &[("class", "small")], &words);
    }
}

/// Writes a table of the columns of both charts: the fullest request by kind, and the cache usage of all requests.
fn layers(html: &mut Html, at: usize, buckets: &[Bucket]) {
    let shown: Vec<usize> = (0..LAYERS)
        .filter(|&layer| buckets.iter().any(|bucket| bucket.layers[layer] > 0))
        .collect();
    let is_gathered = buckets.iter().any(|bucket| bucket.steps.len() > 1);
    let mut columns = vec![words(if is_gathered { "Requests" } else { "Request" })];
    if is_gathered {
        columns.push(figures("Largest"));
    }
    columns.extend(shown.iter().map(|&at| figures(layer(at))));
    columns.push(figures("All"));
    columns.extend(["Read from cache", "Written to cache", "Not cached", "Share read"].map(figures));
    let rows = buckets.iter().map(|bucket| {
        let (first, last) = (bucket.steps.start as u64 + 1, bucket.steps.end as u64);
        let range = if first == last {
            number(first)
        } else {
            format!("{}–{}", number(first), number(last))
        };
        let mut row = vec![Cell::Figure(range, first as f64)];
        if is_gathered {
            let fullest = bucket.fullest as u64 + 1;
            row.push(Cell::Figure(number(fullest), fullest as f64));
        }
        row.extend(shown.iter().map(|&layer| tokens(bucket.layers[layer])));
        let usage = bucket.usage;
        row.extend([bucket.tokens(), usage.cache_read, usage.cache_write, usage.fresh].map(tokens));
        row.push(ratio(share(usage.cache_read, usage.prompt())));
        row
    });
    let caption = if is_gathered {
        "Chart columns: tokens of the largest request by kind, and cache use of all requests of the column"
    } else {
        "Tokens of each request by kind, and its cache use"
    };
    table(html, &format!("layers-{at}"), caption, &columns, rows.collect());
}

fn edits(html: &mut Html, report: &Report, at: usize, course: &Course) {
    if course.edits.is_empty() {
        html.line("p", &[], "The context was not edited.");
        return;
    }
    let sum = |of: fn(&Edit) -> f64| course.edits.iter().map(of).sum::<f64>();
    let (cost, saved) = (sum(|edit| edit.actual.unwrap_or(edit.cost)), sum(|edit| edit.saved));
    let removed: u64 = course.edits.iter().map(Edit::removed).sum();
    let restored: u64 = course.edits.iter().map(Edit::restored).sum();
    let mut told = format!(
        "{} removed {} tokens",
        count(course.edits.len() as u64, "edit", "edits"),
        number(removed)
    );
    if restored > 0 {
        told += &format!(" and put {} back", number(restored));
    }
    if report.is_priced {
        let it = if course.edits.len() == 1 { "it" } else { "they" };
        told += &format!("; {it} cost {} and saved {}", dollars(cost), dollars(saved));
    }
    let compacts = |other: &Course| other.is_never() && !other.edits.is_empty();
    let more = match report.courses.iter().any(compacts) && !course.is_never() && !course.is_billed {
        true => {
            " The policy “never” also compacts when the window is full, so the difference in the table of dollars is smaller."
        }
        false => "",
    };
    html.line("p", &[], &format!("{told}.{more}"));
    let has_actual = course.edits.iter().any(|edit| edit.actual.is_some());
    let mut columns = vec![
        words("Before request"),
        words("Reason"),
        figures("Tokens before"),
        figures("Tokens after"),
        figures("Removed"),
        figures(if course.is_billed { "Cost, predicted" } else { "Cost" }),
    ];
    if has_actual {
        columns.push(figures("Cost, billed"));
    }
    columns.push(figures("Saved"));
    let mut shown: Vec<(usize, &Edit)> = course.edits.iter().enumerate().collect();
    shown.sort_by_key(|(_, edit)| std::cmp::Reverse(edit.before.abs_diff(edit.after)));
    shown.truncate(MOST_ROWS);
    // In the order in which they were made, even if several precede one request.
    shown.sort_by_key(|(at, _)| *at);
    let rows = shown.iter().map(|(_, edit)| {
        let mut row = vec![
            Cell::Figure(number(edit.step as u64 + 1), edit.step as f64),
            Cell::Own(edit.reason.to_owned()),
            tokens(edit.before),
            tokens(edit.after),
            match edit.restored() {
                0 => tokens(edit.removed()),
                back => Cell::Figure(format!("−{}", number(back)), -(back as f64)),
            },
            money(edit.cost),
        ];
        if has_actual {
            row.push(edit.actual.map_or(Cell::none(-1.0), money));
        }
        row.push(money(edit.saved));
        row
    });
    let caption = bounded("Edits", "that changed most", shown.len(), course.edits.len());
    table(html, &format!("edits-{at}"), &caption, &columns, rows.collect());
}

fn breaks(html: &mut Html, at: usize, course: &Course) {
    let sums = course.run.sums();
    let steps = course.run.steps.iter().enumerate();
    let mut broken: Vec<_> = steps.filter_map(|(at, step)| Some((at, step, step.broken?))).collect();
    if broken.is_empty() {
        html.line("p", &[], "No cache misses.");
        return;
    }
    let told = format!(
        "{} of all prompt tokens were read from the cache. Cache misses: {} after edits, {} after expiry, {} for other reasons.",
        percent(sums.hit_share()),
        number(sums.planned),
        number(sums.cold),
        number(sums.unplanned),
    );
    html.line("p", &[], &told);
    let all = broken.len();
    broken.sort_by_key(|(_, _, broken)| std::cmp::Reverse(broken.lost));
    broken.truncate(MOST_ROWS);
    broken.sort_by_key(|(at, _, _)| *at);
    let caption = bounded("Cache misses", "that lost most", broken.len(), all);
    let columns = [
        words("Request"),
        words("Reason"),
        figures("Cached, not read"),
        figures("Read"),
        figures("Written"),
        figures("Cost of the prompt"),
    ];
    let rows = broken.into_iter().map(|(at, step, broken)| {
        let reason = match (broken.cause, step.edit) {
            (crate::run::Cause::Planned, Some(edit)) => format!("edit ({})", edit.reason),
            (crate::run::Cause::Planned, None) => "edit".to_owned(),
            (crate::run::Cause::Cold, Some(edit)) => format!("expired; edit ({})", edit.reason),
            (crate::run::Cause::Cold, None) => "expired".to_owned(),
            (crate::run::Cause::Unplanned, _) => "other".to_owned(),
        };
        vec![
            Cell::Figure(number(at as u64 + 1), at as f64),
            Cell::Own(format!("{} {reason}", chart::sign(broken.cause))),
            tokens(broken.lost),
            tokens(step.usage.cache_read),
            tokens(step.usage.cache_write),
            money(step.dollars.prompt()),
        ]
    });
    table(html, &format!("breaks-{at}"), &caption, &columns, rows.collect());
}

/// Returns a caption that says if rows are missing.
fn bounded(what: &str, which: &str, shown: usize, all: usize) -> String {
    if shown == all {
        what.to_owned()
    } else {
        format!(
            "{what}: the {} {which}, of {}",
            number(shown as u64),
            number(all as u64)
        )
    }
}

/// Returns a cell with tokens.
pub fn tokens(tokens: u64) -> Cell {
    Cell::Figure(number(tokens), tokens as f64)
}

/// Returns a cell with dollars.
pub fn money(value: f64) -> Cell {
    Cell::Figure(dollars(value), value)
}

/// Returns a cell with a share.
pub fn ratio(value: f64) -> Cell {
    Cell::Figure(percent(value), value)
}
