//! The contents of the context window: a grid of coloured cells by kind, the largest items, and what a compaction would
//! remove first.

use super::clean::clean;
use super::figures::{number, percent};
use super::items::{Outlook, Scale, first_to_go, largest};
use super::look::{Look, Role, Styles};
use super::status::bar;
use super::wrap::{clip, columns};
use codelet_agent::model::ToolSpec;
use codelet_context::conversation::Conversation;
use codelet_context::inspect::{self, Inspection, Kind};
use codelet_context::tokens::{Tokens, estimate_bytes};
use codelet_context::tracker::TokenState;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Rows of the grid.
const ROWS: usize = 6;
/// Maximum columns of the grid, and columns of a cell.
const COLUMNS: usize = 32;
const CELL: usize = 2;
/// Tools with a colour of their own; the others share one.
const TOOLS: usize = 3;
/// Items that are listed.
const LARGEST: usize = 10;
/// The weight of the tools' definitions in each request, in estimated tokens.
pub fn weight(tools: &[ToolSpec]) -> Tokens {
    let bytes = tools
        .iter()
        .map(|spec| spec.name.len() + spec.description.len() + spec.parameters.to_string().len());
    estimate_bytes(bytes.sum())
}

/// A part of the grid.
#[derive(Clone, PartialEq, Debug)]
struct Share {
    name: String,
    letter: char,
    tokens: Tokens,
    style: Style,
}

/// The contents of a conversation's context window for this model. `tools` is the weight of the tools' definitions in
/// estimated tokens. Takes about as long as two compactions.
pub fn context(conversation: &Conversation, model: &str, tools: Tokens, look: &Look) -> Vec<Line<'static>> {
    let view = &conversation.view().messages;
    let found = inspect::inspect(view, &[], LARGEST);
    let state = conversation.state(model, 0);
    let window = conversation.config().window();
    let scale = Scale::new(found.tokens.saturating_add(tools), state.current);
    let shares = shares(&found, tools, scale, look);
    let free = state.remaining;
    let reserved = window.saturating_sub(state.capacity);
    let mut out = head(&state, window, conversation.tokens().is_estimate, look);
    out.push(Line::default());
    // Read aloud cell by cell, the grid says nothing that the figures below do not.
    if !look.is_plain() {
        out.extend(picture(&shares, free, reserved, look));
        out.push(Line::default());
    }
    out.extend(legend(&shares, free, reserved, window, look));
    let outlook = Outlook::of(conversation);
    largest(&found, view, &outlook, scale, look, &mut out);
    first_to_go((&found, tools), view, &outlook, scale, look, &mut out);
    out
}

fn head(state: &TokenState, window: Tokens, is_guess: bool, look: &Look) -> Vec<Line<'static>> {
    let about = if is_guess { "about " } else { "" };
    let words = format!(
        "{about}{} of {} tokens, {}",
        number(state.current),
        number(state.capacity),
        percent(state.current, state.capacity)
    );
    let title = Span::styled("Context  ", look.style(Role::Accent));
    let mut out = vec![Line::from(vec![
        title,
        Span::raw(clip(&words, look.width.saturating_sub(9))),
    ])];
    let reserved = number(window.saturating_sub(state.capacity));
    let words = format!(
        "{}: context window {}, {reserved} of it reserved for output",
        state.model,
        number(window)
    );
    out.extend(super::answers::paragraph(&words, Role::Dim, look));
    out
}

/// The kinds in the order of a request, the results by tool.
fn shares(found: &Inspection, tools: Tokens, scale: Scale, look: &Look) -> Vec<Share> {
    let mut shares = Vec::new();
    let mut add = |name: &str, letter: char, tokens: Tokens, colour: Color, modifier: Modifier| {
        if tokens > 0 {
            shares.push(Share {
                name: name.to_owned(),
                letter,
                tokens: scale.of(tokens),
                style: ink(look, colour, modifier),
            });
        }
    };
    let none = Modifier::empty();
    for kind in Kind::ALL {
        let share = found.kinds.get(&kind).copied().unwrap_or_default();
        let (letter, colour, modifier) = match kind {
            Kind::System => ('S', Color::Blue, Modifier::BOLD),
            Kind::Reminders => ('R', Color::LightMagenta, none),
            Kind::Prompts => ('P', Color::Cyan, Modifier::BOLD),
            Kind::Injected => ('I', Color::LightMagenta, none),
            Kind::Summaries => ('M', Color::Yellow, none),
            Kind::Answers => ('A', Color::Green, Modifier::BOLD),
            Kind::Thinking => ('T', Color::Green, none),
            Kind::Calls => ('C', Color::LightBlue, none),
            Kind::Images => ('G', Color::LightRed, none),
            Kind::Other => ('O', Color::LightRed, none),
            Kind::Results => {
                by_tool(found, &mut add);
                continue;
            }
        };
        add(kind.name(), letter, share.tokens, colour, modifier);
        if kind == Kind::System {
            add("tools", 'D', tools, Color::Blue, none);
        }
    }
    shares
}

/// The results of the largest tools, and those of all others together. Images in them count as images.
fn by_tool(found: &Inspection, add: &mut impl FnMut(&str, char, Tokens, Color, Modifier)) {
    let all = found.kinds.get(&Kind::Results).copied().unwrap_or_default().tokens;
    let mut tools: Vec<_> = found.tools.iter().filter(|tool| tool.results.tokens > 0).collect();
    tools.sort_by_key(|tool| std::cmp::Reverse(tool.results.tokens));
    let mut left = all;
    const INKS: [(char, Color); TOOLS] = [('1', Color::Red), ('2', Color::Magenta), ('3', Color::LightRed)];
    for (tool, (letter, colour)) in tools.iter().zip(INKS) {
        let tokens = tool.results.tokens.min(left);
        left -= tokens;
        let name = match &*tool.tool {
            "" => "outputs without a call".to_owned(),
            name => format!("results of {}", clean(&clip(name, 30), 1)),
        };
        add(&name, letter, tokens, colour, Modifier::empty());
    }
    add("other results", '4', left, Color::Red, Modifier::DIM);
}

fn ink(look: &Look, colour: Color, modifier: Modifier) -> Style {
    match look.styles {
        Styles::Colour => Style::new().fg(colour).add_modifier(modifier),
        _ => Style::new(),
    }
}

/// Cells that each represent an equal part of the window. Everything present has at least one.
fn picture(shares: &[Share], free: Tokens, reserved: Tokens, look: &Look) -> Vec<Line<'static>> {
    let across = (look.width.saturating_sub(2) / CELL).clamp(2, COLUMNS);
    let cells = across * ROWS;
    let mut weights: Vec<Tokens> = shares.iter().map(|share| share.tokens).collect();
    weights.extend([free, reserved]);
    let counts = cells_for(&weights, cells);
    let dim = look.style(Role::Dim);
    let mut all = Vec::with_capacity(cells);
    for (at, &count) in counts.iter().enumerate() {
        // Without colours the cells are letters.
        let cell = match shares.get(at) {
            Some(share) if look.styles == Styles::Colour => ("■".to_owned(), share.style),
            Some(share) => (share.letter.to_string(), Style::new()),
            None if at == shares.len() => (look.pick("·", ".").to_owned(), dim),
            None => (look.pick("▒", "x").to_owned(), dim),
        };
        all.extend(std::iter::repeat_n(cell, count));
    }
    let row = |cells: &[(String, Style)]| {
        let mut spans: Vec<Span<'static>> = vec![Span::raw("  ")];
        for (cell, style) in cells {
            match spans.last_mut() {
                Some(last) if last.style == *style => last.content.to_mut().push_str(&format!("{cell} ")),
                _ => spans.push(Span::styled(format!("{cell} "), *style)),
            }
        }
        if let Some(last) = spans.last_mut() {
            let kept = last.content.trim_end().len();
            last.content.to_mut().truncate(kept);
        }
        Line::from(spans)
    };
    all.chunks(across).map(row).collect()
}

/// Distributes the cells in proportion to the weights: at least one for each weight above zero, and exactly `cells` in
/// total.
fn cells_for(weights: &[Tokens], cells: usize) -> Vec<usize> {
    let sum: u128 = weights.iter().map(|&weight| u128::from(weight)).sum::<u128>().max(1);
    let mut counts: Vec<usize> = weights
        .iter()
        .map(|&weight| match weight {
            0 => 0,
            weight => ((u128::from(weight) * cells as u128 / sum) as usize).max(1),
        })
        .collect();
    // The largest weight absorbs the rounding error, as it shows least there.
    loop {
        let all: usize = counts.iter().sum();
        let largest = (0..counts.len()).max_by_key(|&at| (counts[at], weights[at]));
        match (all.cmp(&cells), largest) {
            (std::cmp::Ordering::Less, Some(at)) => counts[at] += cells - all,
            (std::cmp::Ordering::Greater, Some(at)) if counts[at] > 1 => counts[at] -= 1,
            _ => return counts,
        }
    }
}

fn legend(shares: &[Share], free: Tokens, reserved: Tokens, window: Tokens, look: &Look) -> Vec<Line<'static>> {
    let dim = look.style(Role::Dim);
    let mut rows: Vec<(String, Style, String, Tokens)> = shares
        .iter()
        .map(|share| {
            let mark = match look.styles {
                Styles::Colour => "■".to_owned(),
                _ => share.letter.to_string(),
            };
            (mark, share.style, share.name.clone(), share.tokens)
        })
        .collect();
    rows.push((look.pick("·", ".").to_owned(), dim, "free".to_owned(), free));
    if reserved > 0 {
        rows.push((
            look.pick("▒", "x").to_owned(),
            dim,
            "reserved for output".to_owned(),
            reserved,
        ));
    }
    let names = rows
        .iter()
        .map(|row| columns(&row.2))
        .max()
        .unwrap_or(0)
        .min(look.width.saturating_sub(20));
    let figures = rows.iter().map(|row| number(row.3).len()).max().unwrap_or(0);
    let most = rows.iter().map(|row| row.3).max().unwrap_or(0);
    let room = look.width.saturating_sub(4 + names + 2 + figures + 7).min(20);
    if look.is_plain() {
        let row = |(_, _, name, tokens): (String, Style, String, Tokens)| {
            let name = super::wrap::fit(&name, names);
            let share = percent(tokens, window);
            Line::from(format!("  {name}  {:>figures$} {share:>5}", number(tokens)))
        };
        return rows.into_iter().map(row).collect();
    }
    rows.into_iter()
        .map(|(mark, style, name, tokens)| {
            let name = super::wrap::fit(&name, names);
            let mut spans = vec![
                Span::raw("  "),
                Span::styled(mark, style),
                Span::raw(format!(
                    " {name}  {:>figures$} {:>5}",
                    number(tokens),
                    percent(tokens, window)
                )),
            ];
            if room >= 5 {
                spans.push(Span::styled(
                    format!(" {}", bar(tokens, most, room, look)).trim_end().to_owned(),
                    style,
                ));
            }
            Line::from(spans)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cells_are_shared_out_to_the_last(weights in prop::collection::vec(prop_oneof![Just(0), 1u64..1_000_000, Just(u64::MAX)], 1..16), cells in 16usize..200) {
            let counts = cells_for(&weights, cells);
            let has_any = weights.iter().any(|&weight| weight > 0);
            prop_assert_eq!(counts.iter().sum::<usize>(), if has_any { cells } else { counts.iter().sum() });
            for (count, weight) in counts.iter().zip(&weights) {
                prop_assert!(*weight == 0 || *count > 0);
                prop_assert!(*weight > 0 || *count == 0 || !has_any);
            }
        }
    }
}
