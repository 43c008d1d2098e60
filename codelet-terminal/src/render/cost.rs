//! The cost of a session: by kind, the share that the cache saved, and each cache break with its reason.

use super::answers::heading;
use super::figures::{count, dollars, number, percent, short};
use super::look::{Look, Role};
use super::wrap::{Breaking, Wrap, clip, columns, fit};
use codelet_agent::bill::Bill;
use codelet_agent::session::Tasks;
use codelet_context::breaks::{Break, Cause};
use codelet_context::policy::Reason;
use codelet_context::tokens::Tokens;
use ratatui::text::{Line, Span};

/// Newest cache breaks that are listed.
const BREAKS: usize = 20;

/// The bill, a line for each kind of token, each request at its own model's prices. `has_price` is false if the current
/// model's is unknown.
pub fn cost((bill, tasks): (&Bill, &Tasks), has_price: bool, breaks: &[Break], look: &Look) -> Vec<Line<'static>> {
    let kinds = kinds(bill);
    let mut out = vec![total(bill, look)];
    if bill.requests == 0 && bill.estimated == 0.0 && breaks.is_empty() {
        return out;
    }
    out.push(Line::default());
    let figures = kinds.iter().map(|kind| number(kind.1).len()).max();
    let figures = figures.unwrap_or(1);
    for (name, tokens, cost) in kinds {
        let cost = match bill.requests > bill.unpriced || has_price {
            true => format!("  {:>8}", dollars(cost)),
            false => String::new(),
        };
        let line = format!("  {} {:>figures$}{cost}", fit(name, 18), number(tokens));
        out.push(Line::from(clip(line.trim_end(), look.width)));
    }
    let dim = look.style(Role::Dim);
    let mut note = |text: String| out.push(Line::from(Span::styled(clip(&text, look.width), dim)));
    if bill.reasoning > 0 {
        note(format!("  {} of the output was thinking", number(bill.reasoning)));
    }
    if !has_price && bill.requests > 0 {
        note("  the price of this model is unknown".to_owned());
    }
    if bill.estimated > 0.0 {
        let about = dollars(bill.estimated);
        note(format!(
            "  plus about {about}, estimated: the provider did not report usage for every request"
        ));
    } else if bill.unpriced > 0 && bill.unpriced < bill.requests {
        note(format!(
            "  {} of a model without a known price",
            count(bill.unpriced, "request")
        ));
    }
    if tasks.count() > 0 {
        note(of_tasks(tasks, look));
    }
    share(bill, look, &mut out);
    list_breaks(bill, breaks, has_price, look, &mut out);
    out
}

/// The billed kinds: name, tokens, and their cost in US dollars.
fn kinds(bill: &Bill) -> Vec<(&'static str, Tokens, f64)> {
    let (usage, cost) = (bill.usage, bill.cost);
    let of_1h = bill.write_1h.min(usage.cache_write);
    let mut kinds = vec![
        ("fresh input", usage.fresh, cost.fresh),
        ("cache reads", usage.cache_read, cost.cache_read),
        ("cache writes", usage.cache_write - of_1h, cost.cache_write),
    ];
    // Few providers have a one-hour cache.
    if of_1h > 0 {
        kinds.push(("cache writes, 1 h", of_1h, cost.cache_write_1h));
    }
    kinds.push(("output", usage.output, cost.output));
    kinds
}

fn total(bill: &Bill, look: &Look) -> Line<'static> {
    let spent = match bill.requests > bill.unpriced {
        true => dollars(bill.cost.total()),
        false if bill.requests == 0 => "nothing yet".to_owned(),
        false if bill.estimated > 0.0 => "not counted".to_owned(),
        false => "price not known".to_owned(),
    };
    Line::from(vec![
        Span::styled("Cost  ", look.style(Role::Accent)),
        Span::styled(spent, look.style(Role::Strong)),
        Span::raw(format!(
            "{}{}",
            look.pick(" · ", " - "),
            count(bill.requests, "request")
        )),
    ])
}

/// The part of the cost that is due to tasks.
fn of_tasks(tasks: &Tasks, look: &Look) -> String {
    let bill = tasks.bill();
    let dot = look.pick(" · ", " - ");
    let spent = match bill.requests > bill.unpriced {
        true => format!("{} of it ", dollars(bill.cost.total())),
        false => String::new(),
    };
    let (tasks, requests) = (count(u64::from(tasks.count()), "task"), count(bill.requests, "request"));
    format!(
        "  {spent}in {tasks}{dot}{requests}{dot}{} tokens",
        short(bill.usage.total())
    )
}

/// The share of all prompts that was read from the cache.
fn share(bill: &Bill, look: &Look, out: &mut Vec<Line<'static>>) {
    let (read, all) = (bill.usage.cache_read, bill.usage.prompt());
    if all == 0 {
        return;
    }
    let words = format!(
        "{} of all prompts, {} of {} tokens",
        percent(read, all),
        short(read),
        short(all)
    );
    heading("Read from cache", &words, look, out);
    let room = look.width.saturating_sub(4).min(40);
    let full = super::status::bar(read, all, room, look);
    let rest = look.pick("░", ".").repeat(room - columns(&full));
    out.push(Line::from(vec![
        Span::raw("  "),
        Span::styled(full, look.style(Role::Good)),
        Span::styled(rest, look.style(Role::Dim)),
    ]));
}

/// The cache breaks, numbered as the heading counts them: those that rewrote nothing or have not been sent yet have no
/// number.
fn list_breaks(bill: &Bill, breaks: &[Break], has_price: bool, look: &Look, out: &mut Vec<Line<'static>>) {
    // A provider that never reads from its cache has one reason for all of them.
    let is_unread = |it: &&Break| bill.usage.cache_read == 0 && it.cause == Cause::Unplanned;
    let unread = breaks.iter().filter(is_unread).count() as u64;
    let breaks: Vec<&Break> = breaks.iter().filter(|it| !is_unread(it)).collect();
    let counts = |it: &Break| it.rewritten > 0 && it.request <= bill.requests;
    let all = breaks.iter().filter(|it| counts(it)).count();
    let note = match all {
        0 if unread > 0 => count(unread, "time"),
        0 if bill.requests > 0 && bill.usage.cache_read + bill.usage.cache_write == 0 => {
            "the provider reported no use of a cache".to_owned()
        }
        0 if breaks.is_empty() => "none: every request extended the one before it".to_owned(),
        0 => "none so far".to_owned(),
        some => format!("{}, each with its reason", count(some as u64 + unread, "time")),
    };
    heading("Cache misses", &note, look, out);
    if unread > 0 {
        let told = format!(
            "{} read nothing although {} extended the one before: the provider or a proxy in between does not cache",
            count(unread, "request"),
            if unread == 1 { "it" } else { "each" }
        );
        Wrap::indented(look.width, Breaking::Prose).all(look.style(Role::Text), &told, out);
    }
    let (older, newest) = breaks.split_at(breaks.len().saturating_sub(BREAKS));
    let mut number_of = older.iter().filter(|it| counts(it)).count();
    if number_of > 0 {
        out.push(Line::from(Span::styled(
            format!("  {} before", number(number_of as u64)),
            look.style(Role::Dim),
        )));
    }
    for one in newest {
        let sign = match counts(one) {
            true => {
                number_of += 1;
                number_of.to_string()
            }
            false => look.pick("·", "-").to_owned(),
        };
        let first = Span::raw(format!("  {sign:>2}  "));
        let rest = Span::raw(" ".repeat(columns(&first.content)));
        let told = pieces(one, bill.requests, has_price).join(look.pick(" · ", " - "));
        Wrap::new(look.width, Breaking::Prose, vec![first], vec![rest]).all(look.style(Role::Text), &told, out);
    }
}

/// The pieces of a break's description: reason, cost, time, and effect.
fn pieces(one: &Break, requests: u64, has_price: bool) -> Vec<String> {
    let edited = match one.cause {
        Cause::Edit(Reason::Full) => "compacted: the context window was full",
        Cause::Edit(Reason::Price) => "edited to save money",
        Cause::Edit(Reason::Asked) => "compacted by /compact",
        Cause::Edit(Reason::Wished) => "compacted: the model asked for it",
        Cause::Edit(Reason::Refused) => "compacted: the provider refused the request as too long",
        Cause::Edit(Reason::Cold) => "edited",
        Cause::Edit(Reason::Rejected) => "removed what the provider refused",
        Cause::Undone => "undone: removed text is sent again",
        Cause::Cleared => "cleared: none of it is sent again",
        Cause::Model => "switched to another model",
        Cause::Tools => "the tools changed",
        Cause::Expired => "the cache had expired",
        Cause::Unplanned => "unknown reason",
    };
    let mut pieces = match one.is_cold && one.is_edit() {
        true => vec!["the cache had expired".to_owned()],
        false => vec![edited.to_owned()],
    };
    // Without a price, the estimate would use the prices of another model.
    if has_price {
        pieces.extend(cost_of(one));
    }
    pieces.push(match one.request <= requests {
        true => format!("before request {}", number(one.request)),
        false => "before the next request".to_owned(),
    });
    if one.is_cold && one.is_edit() {
        pieces.push(format!("{edited}, at no cost"));
    }
    if one.removed > 0 {
        pieces.push(format!("{} tokens removed", short(one.removed)));
    }
    if one.restored > 0 {
        pieces.push(format!("{} tokens put back", short(one.restored)));
    }
    pieces
}

/// The cost of a break, and its estimate.
fn cost_of(one: &Break) -> Option<String> {
    match one.actual {
        // What is not sent again costs nothing, and no report will follow.
        _ if one.cause == Cause::Cleared => None,
        _ if one.rewritten == 0 && one.predicted == 0.0 => Some("at no cost".to_owned()),
        Some(actual) => Some(format!("{} (estimated {})", dollars(actual), dollars(one.predicted))),
        None => Some(format!("estimated {}", dollars(one.predicted))),
    }
}
