//! The gateway's page, its figures as JSON, and those that monitoring collects.

use crate::ledger::{Conversation, Ledger, Row, Shown, line, usage};
use crate::totals::Totals;
use codelet_context::usage::Usage;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::SystemTime;

/// The content security policy: a browser may only show the page.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Conversations and requests on the page.
const CONVERSATIONS: usize = 30;
const REQUESTS: usize = 400;
/// The picture of a conversation, in pixels.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 36.0;

/// The page.
pub(crate) fn html(ledger: &Ledger) -> String {
    let shown = ledger.shown(REQUESTS);
    let mut out = String::from(HEAD);
    let totals = &shown.totals;
    // Writing to a string cannot fail.
    let _ = write!(out, "<p class=sum>{}</p>", escape(&upper(&totals.sentence())));
    let prompt = totals.usage.prompt();
    let cards = [
        ("Requests", totals.requests.to_string()),
        ("Edits", totals.edits.to_string()),
        ("Billed", dollars(totals.dollars, totals.usage)),
        ("Estimate without the gateway", dollars(totals.passing, totals.usage)),
        ("Prompt read from the cache", percent(totals.usage.cache_read, prompt)),
        ("Could not be edited", totals.fail_opens.to_string()),
        ("Refused and sent again", totals.sent_again.to_string()),
        ("Other requests", totals.others.to_string()),
    ];
    out.push_str("<dl>");
    // What is seldom is shown where it is so.
    let seldom = [
        ("At unknown prices", totals.unpriced),
        ("Not written to the ledger", totals.unwritten),
    ];
    let seldom = seldom.into_iter().filter(|(_, count)| *count > 0);
    let seldom = seldom.map(|(name, count)| (name, count.to_string()));
    for (name, figure) in cards.into_iter().chain(seldom) {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{figure}</dd></div>");
    }
    out.push_str("</dl>");
    if !shown.conversations.is_empty() {
        conversations(&mut out, &shown);
        edits(&mut out, &shown.rows);
    }
    out.push_str(FOOT);
    out
}

fn conversations(out: &mut String, shown: &Shown) {
    out.push_str(
        "<h2>Conversations</h2><table><tr><th>No.<th>Model<th>Requests<th>Edits<th>Agent sent<th>Sent on<th>Billed<th>Without gateway\
         <th>From the cache<th>Tokens over the last requests</tr>",
    );
    for (number, it) in shown.conversations.iter().take(CONVERSATIONS) {
        let rows: Vec<&Row> = shown
            .rows
            .iter()
            .filter(|row| row.conversation == Some(*number))
            .collect();
        let _ = write!(
            out,
            "<tr><td>{number}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}</tr>",
            escape(&it.model),
            it.requests,
            it.edits,
            thousands(it.window.0),
            thousands(it.window.1),
            dollars(it.dollars, it.usage),
            dollars(it.passing, it.usage),
            percent(it.usage.cache_read, it.usage.prompt()),
            course(&rows)
        );
    }
    out.push_str(
        "</table><p class=note>Agent sent, sent on: tokens of the last request. Gray: sent by the agent. Blue: sent to the provider. A step down in blue is an edit.</p>",
    );
}

/// Two lines: what the agent has sent, and what went on.
fn course(rows: &[&Row]) -> String {
    if rows.len() < 2 {
        return String::new();
    }
    let most = rows
        .iter()
        .map(|row| row.facts.before.max(row.facts.after))
        .max()
        .unwrap_or(1)
        .max(1) as f64;
    let line = |figure: &dyn Fn(&Row) -> u64| {
        let last = (rows.len() - 1) as f64;
        let points = rows.iter().enumerate().map(|(at, row)| {
            let (x, y) = (
                at as f64 / last * WIDTH,
                HEIGHT - figure(row) as f64 / most * (HEIGHT - 2.0) - 1.0,
            );
            format!("{x:.1},{y:.1}")
        });
        points.collect::<Vec<_>>().join(" ")
    };
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width={WIDTH} height={HEIGHT} role=img aria-label=\"tokens of the last {} requests\">\
         <polyline class=before points=\"{}\"/><polyline class=after points=\"{}\"/></svg>",
        rows.len(),
        line(&|row| row.facts.before),
        line(&|row| row.facts.after)
    )
}

fn edits(out: &mut String, rows: &[Row]) {
    let told: Vec<&Row> = rows
        .iter()
        .rev()
        .filter(|row| row.facts.edit.is_some() || row.fail_open.is_some() || row.is_sent_again)
        .take(CONVERSATIONS)
        .collect();
    if told.is_empty() {
        return;
    }
    out.push_str(
        "<h2>Edits</h2><table><tr><th>When<th>Conversation<th>Request<th>Reason<th>Agent sent<th>Sent on<th>Expected cost<th>Billed\
         <th>Delay</tr>",
    );
    for row in told {
        let why = match (&row.fail_open, row.is_sent_again, row.facts.edit) {
            (Some(why), ..) => format!("not edited: {why}"),
            (None, true, _) => "refused by the provider, sent again".to_owned(),
            (None, false, why) => explained(why.unwrap_or_default()).to_owned(),
        };
        let number = row.conversation.map_or_else(String::new, |number| number.to_string());
        let expected = row.dollars.and(row.facts.edit_dollars);
        let _ = write!(
            out,
            "<tr><td>{}<td>{number}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{}<td>{:.0} ms</tr>",
            ago(row.at),
            row.facts.step,
            escape(&why),
            thousands(row.facts.before),
            thousands(row.facts.after),
            thousandths(expected),
            thousandths(row.edit_dollars),
            row.added.as_secs_f64() * 1e3
        );
    }
    out.push_str(
        "</table><p class=note>Expected cost, billed: of writing to the cache again what would have been read from it without the edit. What the \
         edit saves, from this request on, is not subtracted.</p>",
    );
}

/// The time since a request, in its largest unit.
fn ago(at: SystemTime) -> String {
    match SystemTime::now().duration_since(at).unwrap_or_default().as_secs() {
        seconds @ 0..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3_600),
    }
}

/// A sum of the bill; none where there was usage and no price is known.
fn dollars(sum: f64, usage: Usage) -> String {
    match sum == 0.0 && usage != Usage::default() {
        true => "–".to_owned(),
        false => format!("${sum:.2}"),
    }
}

/// A small sum, as far as it is known.
fn thousandths(dollars: Option<f64>) -> String {
    dollars.map_or_else(String::new, |dollars| format!("${dollars:.3}"))
}

fn explained(reason: &str) -> &str {
    match reason {
        "full" => "the context window was nearly full",
        "price" => "keeping old outputs cost more than removing them",
        other => other,
    }
}

/// The totals: name, meaning, value.
fn totals(totals: &Totals) -> [(&'static str, &'static str, Value); 9] {
    [
        ("requests", "Requests of conversations.", totals.requests.into()),
        (
            "other_requests",
            "Requests passed through unread.",
            totals.others.into(),
        ),
        ("edits", "Edits of conversations.", totals.edits.into()),
        (
            "fail_opens",
            "Requests that could not be edited.",
            totals.fail_opens.into(),
        ),
        (
            "unwritten",
            "Requests that could not be written to the ledger.",
            totals.unwritten.into(),
        ),
        (
            "sent_again",
            "Requests that were refused and sent again.",
            totals.sent_again.into(),
        ),
        (
            "unpriced",
            "Requests to models with unknown prices.",
            totals.unpriced.into(),
        ),
        ("cost_usd", "Billed cost in US dollars.", totals.dollars.into()),
        (
            "passing_through_usd",
            "Estimated cost without the gateway, in US dollars.",
            totals.passing.into(),
        ),
    ]
}

/// The figures.
pub(crate) fn json(ledger: &Ledger) -> String {
    let shown = ledger.shown(REQUESTS);
    let conversation = |(number, it): &(u64, Conversation)| {
        json!({
            "conversation": number,
            "model": it.model,
            "requests": it.requests,
            "edits": it.edits,
            "tokens_before": it.window.0,
            "tokens_after": it.window.1,
            "usage": usage(it.usage),
            "cost_usd": it.dollars,
            "passing_through_usd": it.passing,
        })
    };
    let mut figures = json!({
        "usage": usage(shown.totals.usage),
        "conversations": shown.conversations.iter().map(conversation).collect::<Vec<_>>(),
        "last_requests": shown.rows.iter().map(line).collect::<Vec<_>>(),
    });
    for (name, _, figure) in totals(&shown.totals) {
        figures[name] = figure;
    }
    format!("{figures:#}\n")
}

/// The figures in Prometheus' text format.
pub(crate) fn metrics(ledger: &Ledger) -> String {
    let all = ledger.totals();
    let usage = all.usage;
    let tokens = [
        (
            "fresh_tokens",
            "Prompt tokens that were not cached.",
            usage.fresh.into(),
        ),
        (
            "cache_read_tokens",
            "Prompt tokens read from the cache.",
            usage.cache_read.into(),
        ),
        (
            "cache_write_tokens",
            "Prompt tokens written to the cache.",
            usage.cache_write.into(),
        ),
        ("output_tokens", "Output tokens.", usage.output.into()),
    ];
    let mut out = String::new();
    for (name, help, figure) in totals(&all).into_iter().chain(tokens) {
        let name = format!("codelet_gateway_{name}_total");
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} counter\n{name} {figure}\n");
    }
    out
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "–".to_owned(),
        whole => format!("{:.0}%", part as f64 * 100.0 / whole as f64),
    }
}

fn thousands(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{:.1}k", tokens as f64 / 1e3),
        _ => format!("{:.2}M", tokens as f64 / 1e6),
    }
}

fn upper(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

const HEAD: &str = r#"<!doctype html>
<html lang=en><meta charset=utf-8><meta http-equiv=refresh content=5><meta name=viewport content="width=device-width">
<title>Codelet gateway</title><link rel=icon href="data:,">
<style>
:root { color-scheme: light dark; --ink: #1c2330; --soft: #667085; --line: #e4e7ec; --page: #fff; --blue: #2563eb; --grey: #98a2b3 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #98a2b3; --line: #2b3342; --page: #12161f; --blue: #6ea0ff; --grey: #667085 } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1100px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem; margin: 0 } h2 { font-size: 1.05rem; margin: 2rem 0 .5rem }
.sum { font-size: 1.1rem; margin: .3rem 0 1.2rem }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(230px, 40vw), 1fr)); gap: .8rem; margin: 0 }
dl div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .8rem }
dt { color: var(--soft) } dd { margin: 0; font-size: 1.25rem; font-variant-numeric: tabular-nums }
table { display: block; overflow-x: auto; border-collapse: collapse; white-space: nowrap; font-variant-numeric: tabular-nums }
th { text-align: left; font-weight: 500; color: var(--soft) } th, td { padding: .35rem 1.2rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: middle }
polyline { fill: none; stroke-width: 1.5 } .before { stroke: var(--grey) } .after { stroke: var(--blue) }
.note { color: var(--soft) } a { color: var(--blue) }
</style>
<h1>Codelet gateway</h1>
"#;

const FOOT: &str = "<p class=note>Tokens of requests are estimated from their bytes; billed tokens are those that the providers report. The cost without the \
gateway is estimated for the same requests with what the gateway removed, up to a full context window, under the same cache rules. The text of conversations is neither stored nor shown. <a href=\"/codelet/figures\">Figures as JSON</a> · <a href=\"/metrics\">metrics</a></p></html>";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_has_sent_is_shown_as_text() {
        assert_eq!(
            escape("<img src=x onerror=\"y\">'&\u{1b}"),
            "&lt;img src=x onerror=&quot;y&quot;&gt;&#39;&amp;\u{fffd}"
        );
    }
}
