//! The status line: the current activity and its duration, the occupancy of the context window, and the cost.

use super::clean::clean;
use super::figures::{clock, dollars, percent, short};
use super::look::{Look, Role};
use super::wrap::{clip, clip_line, columns};
use codelet_agent::permission::Permission;
use codelet_context::tokens::Tokens;
use ratatui::text::{Line, Span};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// The share of the limit from which the bar warns.
const CLOSE: f64 = 0.8;
/// Columns of the activity when other parts need room too.
const DOING: usize = 40;
/// The same if every figure then fits; with fewer columns than the second, the activity is meaningless.
const SHORT: usize = 20;
const LEAST: usize = 10;
/// Columns of a shortened model name.
const NAME: usize = 12;

/// The contents of the status line. Unknown parts are omitted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Status {
    /// The current activity and its duration, unless it is a countdown; `None` while the session waits for input.
    pub doing: Option<(String, Option<Duration>)>,
    /// The number of steps of actual progress; the spinner stands still in between.
    pub beats: u64,
    /// `vendor/model`.
    pub model: String,
    /// Tokens that fill the context window, and the limit at which a compaction is due.
    pub tokens: Option<(Tokens, Tokens)>,
    /// The tokens are an estimate that no request has confirmed.
    pub is_estimate: bool,
    /// The session's cost, in US dollars.
    pub dollars: Option<f64>,
    /// Part of the usage has no known price, so the actual cost is higher.
    pub is_partly_unpriced: bool,
    /// Prompt tokens read from the cache, and all prompt tokens.
    pub cached: Option<(Tokens, Tokens)>,
    /// The session's duration.
    pub elapsed: Option<Duration>,
    /// The number of queued prompts.
    pub queued: usize,
    /// The current permission; the default is not shown.
    pub permission: Permission,
}

/// The room for each part.
#[derive(Clone, Copy)]
struct StatusWidths {
    /// Columns of the bar.
    bar: usize,
    /// Columns of the activity.
    doing: usize,
    /// The model is shown with its vendor.
    has_vendor: bool,
    /// Names and times are as short as possible while still distinct.
    is_brief: bool,
    /// The share of the limit is shown as a number beside the bar.
    has_share: bool,
}

impl StatusWidths {
    const WIDE: StatusWidths = StatusWidths {
        bar: 10,
        doing: DOING,
        has_vendor: true,
        is_brief: false,
        has_share: true,
    };
    const USUAL: StatusWidths = StatusWidths {
        bar: 5,
        has_vendor: false,
        ..StatusWidths::WIDE
    };
    const BRIEF: StatusWidths = StatusWidths {
        is_brief: true,
        has_share: false,
        ..StatusWidths::USUAL
    };
    const SHORT: StatusWidths = StatusWidths {
        doing: SHORT,
        ..StatusWidths::USUAL
    };
    const LEAST: StatusWidths = StatusWidths {
        bar: 0,
        doing: SHORT,
        ..StatusWidths::BRIEF
    };
}

/// The rank of the session's duration.
const ELAPSED: u8 = 6;

/// A part of the line; parts of higher rank are dropped first.
struct Part {
    rank: u8,
    spans: Vec<Span<'static>>,
}

impl Status {
    /// The line, never wider than the look. In a narrow terminal the activity and names are shortened first; then the
    /// duration is dropped, then the cache share and the bar. If that is not enough, parts are added by importance as
    /// far as they fit.
    pub fn line(&self, look: &Look) -> Line<'static> {
        for room in [StatusWidths::WIDE, StatusWidths::USUAL] {
            let whole = self.parts(look, room);
            if wide(&whole, look) <= look.width {
                return joined(whole, look);
            }
        }
        let brief = |doing| StatusWidths {
            doing,
            ..StatusWidths::BRIEF
        };
        let over = wide(&self.parts(look, brief(DOING)), look).saturating_sub(look.width);
        let said = self
            .doing
            .as_ref()
            .map_or(0, |(what, _)| columns(&clean(briefly(what), 1)));
        let said = said.min(DOING);
        let left = said.saturating_sub(over);
        if over == 0 || (over < said && left >= said.min(LEAST)) {
            return joined(self.parts(look, brief(left.max(1))), look);
        }
        // The bar is worth more than the duration and the cache share.
        let mut short = self.parts(look, StatusWidths::SHORT);
        for rank in [ELAPSED, 5] {
            if wide(&short, look) > look.width {
                short.retain(|part| part.rank != rank);
            }
        }
        if wide(&short, look) <= look.width {
            return joined(short, look);
        }
        self.filled(look)
    }

    /// The line with whatever fits, the tokens before the model, the model before the cost, and so on; a part that does
    /// not fit leaves its room to the next ones. The duration comes last, after the share of the limit.
    fn filled(&self, look: &Look) -> Line<'static> {
        let with = |ranks: &[u8], room| {
            let mut parts = self.parts(look, room);
            parts.retain(|part| ranks.contains(&part.rank));
            parts
        };
        let mut kept: Vec<u8> = Vec::new();
        let mut room = StatusWidths::LEAST;
        for rank in 0..=ELAPSED {
            if rank == ELAPSED {
                room.has_share = wide(
                    &with(
                        &kept,
                        StatusWidths {
                            has_share: true,
                            ..room
                        },
                    ),
                    look,
                ) <= look.width;
            }
            kept.push(rank);
            // The activity is shown however narrow the line is.
            if rank > 0 && wide(&with(&kept, room), look) > look.width {
                kept.pop();
            }
        }
        room.doing += look.width.saturating_sub(wide(&with(&kept, room), look));
        joined(with(&kept, room), look)
    }

    /// The state as plain words, for screen readers and logs. `took` is the turn's duration.
    pub fn words(&self, took: Duration) -> String {
        let mut words = Vec::new();
        if let Some((current, limit)) = self.tokens {
            let about = if self.is_estimate { "about " } else { "" };
            words.push(format!(
                "window: {about}{} of {} tokens, {}",
                short(current),
                short(limit),
                percent(current, limit)
            ));
        }
        if let Some(spent) = self.dollars {
            let more = if self.is_partly_unpriced { " and more" } else { "" };
            words.push(format!("{}{more} so far", dollars(spent)));
        }
        if let Some((read, all)) = self.cached.filter(|&(_, all)| all > 0) {
            words.push(format!("{} from the cache", percent(read, all)));
        }
        words.push(format!("this turn {}", clock(took)));
        words.join(" - ")
    }

    fn parts(&self, look: &Look, room: StatusWidths) -> Vec<Part> {
        let dim = look.style(Role::Dim);
        let is_brief = room.is_brief;
        let mut parts = Vec::new();
        let mut add = |rank: u8, spans: Vec<Span<'static>>| parts.push(Part { rank, spans });
        match &self.doing {
            Some((what, since)) => {
                let spinner = Span::styled(format!("{} ", spinner(self.beats, look)), look.style(Role::Accent));
                let time = since.map_or_else(String::new, |since| format!(" {}", clock(since)));
                let room = room.doing.min(look.width.saturating_sub(2 + columns(&time)));
                let what = if is_brief { briefly(what) } else { what };
                let what = clip(&clean(what, 1), room);
                add(0, vec![spinner, Span::raw(what), Span::styled(time, dim)]);
            }
            // Until the session's state is known, it takes no input.
            None if self.model.is_empty() => add(0, vec![Span::styled("starting", dim)]),
            None => add(0, vec![Span::styled("ready", dim)]),
        }
        let permission = match self.permission {
            Permission::Plan => Some("plan mode"),
            Permission::Read => Some("permission read"),
            Permission::Edit => None,
            Permission::All => Some("permission all"),
        };
        if let Some(permission) = permission {
            add(1, vec![Span::styled(permission, look.style(Role::Accent))]);
        }
        if self.queued > 0 {
            add(
                1,
                vec![Span::styled(
                    format!("{} queued", self.queued),
                    look.style(Role::Accent),
                )],
            );
        }
        if let Some((current, limit)) = self.tokens {
            add(2, window(current, limit, self.is_estimate, room, look));
        }
        if !self.model.is_empty() {
            // The vendor is dropped before the model's own name is shortened.
            let name = clean(&self.model, 1);
            let own = name.rsplit('/').next().unwrap_or(&name);
            let name = match room {
                StatusWidths { is_brief: true, .. } => clip(without_family(own), NAME),
                StatusWidths { has_vendor: true, .. } => name.into_owned(),
                _ => own.to_owned(),
            };
            add(3, vec![Span::styled(clip(&name, 32), dim)]);
        }
        if let Some(spent) = self.dollars {
            let more = if self.is_partly_unpriced { "+" } else { "" };
            add(4, vec![Span::styled(format!("{}{more}", dollars(spent)), dim)]);
        }
        if let Some((read, all)) = self.cached.filter(|&(_, all)| all > 0) {
            add(5, vec![Span::styled(format!("{} cached", percent(read, all)), dim)]);
        }
        if let Some(elapsed) = self.elapsed {
            let time = match room.is_brief && elapsed >= MINUTE && elapsed < 60 * MINUTE {
                true => format!("{} min", elapsed.as_secs() / 60),
                false => clock(elapsed),
            };
            add(ELAPSED, vec![Span::styled(time, dim)]);
        }
        parts
    }
}

/// The spinner's frame after this many steps.
pub(super) fn spinner(beats: u64, look: &Look) -> &'static str {
    const FINE: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const PLAIN: [&str; 4] = ["|", "/", "-", "\\"];
    match look.is_plain() {
        true => PLAIN[(beats % 4) as usize],
        false => FINE[(beats % 10) as usize],
    }
}

/// A short form of the session's own activities.
fn briefly(what: &str) -> &str {
    match what {
        "waiting for the model" => "waiting",
        "looking for the model" => "connecting",
        "connecting to MCP servers (Esc skips)" => "connecting (Esc skips)",
        "keeping the cache alive" => "keep-alive",
        other => other,
    }
}

/// Turns `claude-sonnet-5` into `sonnet-5`: a family name shared by all models of a vendor distinguishes none.
fn without_family(name: &str) -> &str {
    let is_word = |part: &str| !part.is_empty() && part.chars().all(char::is_alphabetic);
    match name.split_once('-') {
        Some((family, rest)) if is_word(family) && rest.split_once('-').is_some_and(|(own, _)| is_word(own)) => rest,
        _ => name,
    }
}

/// The occupancy of the context window: a bar, the tokens, the limit.
fn window(current: Tokens, limit: Tokens, is_estimate: bool, room: StatusWidths, look: &Look) -> Vec<Span<'static>> {
    let columns = room.bar;
    let share = if limit == 0 { 1.0 } else { current as f64 / limit as f64 };
    let role = match share {
        s if s > 1.0 => Role::Error,
        s if s >= CLOSE => Role::Warning,
        _ => Role::Good,
    };
    let mut spans = Vec::new();
    if columns > 0 {
        let full = bar(current, limit, columns, look);
        let empty = look.pick("░", ".").repeat(columns - super::wrap::columns(&full));
        spans.push(Span::styled(full, look.style(role)));
        spans.push(Span::styled(format!("{empty} "), look.style(Role::Dim)));
    }
    let about = if is_estimate { "~" } else { "" };
    let role = if columns > 0 && role == Role::Good {
        Role::Text
    } else {
        role
    };
    spans.push(Span::styled(format!("{about}{}", short(current)), look.style(role)));
    spans.push(Span::styled(format!("/{}", short(limit)), look.style(Role::Dim)));
    if room.has_share {
        spans.push(Span::styled(format!(" {}", percent(current, limit)), look.style(role)));
    }
    spans
}

/// A bar of at most `columns` columns for `value` of `whole`, to half a column. Zero gives no bar, and any other value
/// a visible one.
pub(super) fn bar(value: u64, whole: u64, columns: usize, look: &Look) -> String {
    if value == 0 || columns == 0 {
        return String::new();
    }
    let halves = match whole {
        0 => columns * 2,
        _ => (u128::from(value.min(whole)) * columns as u128 * 2).div_ceil(u128::from(whole)) as usize,
    };
    match look.is_plain() {
        true => "#".repeat(halves.div_ceil(2)),
        false => "█".repeat(halves / 2) + ["", "▌"][halves % 2],
    }
}

fn wide(parts: &[Part], look: &Look) -> usize {
    let gap = columns(look.pick(" · ", " | "));
    let each = parts
        .iter()
        .map(|part| part.spans.iter().map(|span| columns(&span.content)).sum::<usize>());
    each.sum::<usize>() + gap * parts.len().saturating_sub(1)
}

fn joined(parts: Vec<Part>, look: &Look) -> Line<'static> {
    let mut spans = Vec::new();
    for part in parts {
        if !spans.is_empty() {
            spans.push(Span::styled(look.pick(" · ", " | ").to_owned(), look.style(Role::Dim)));
        }
        spans.extend(part.spans);
    }
    // Only the activity alone on a very narrow line may still be too wide.
    clip_line(Line::from(spans), look.width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::wrap::{line_columns, line_text};
    use proptest::prelude::*;

    fn status() -> Status {
        Status {
            doing: Some(("Bash cargo test".to_owned(), Some(Duration::from_secs(12)))),
            beats: 3,
            model: "anthropic/claude-sonnet-5".to_owned(),
            tokens: Some((41_900, 168_000)),
            dollars: Some(0.42),
            cached: Some((93, 100)),
            elapsed: Some(Duration::from_secs(200)),
            ..Status::default()
        }
    }

    #[test]
    fn a_narrow_line_drops_what_matters_least() {
        let shown = |width| {
            line_text(&status().line(&Look::new(
                width,
                super::super::look::Styles::Colour,
                Default::default(),
            )))
        };
        assert_eq!(
            shown(120),
            "⠸ Bash cargo test 12 s · ██▌░░░░░░░ 41.9k/168k 25 % · anthropic/claude-sonnet-5 · $0.42 · 93 % cached · 3 min 20 s"
        );
        assert_eq!(
            shown(80),
            "⠸ Bash cargo t… 12 s · █▌░░░ 41.9k/168k · sonnet-5 · $0.42 · 93 % cached · 3 min"
        );
        assert_eq!(shown(60), "⠸ Bash cargo test 12 s · 41.9k/168k 25 % · sonnet-5 · $0.42");
        assert_eq!(shown(45), "⠸ Bash cargo test 12 s · 41.9k/168k · $0.42");
        assert_eq!(shown(40), "⠸ Bash cargo test 12 s · 41.9k/168k 25 %");
        assert_eq!(shown(39), "⠸ Bash cargo test 12 s · 41.9k/168k");
        assert_eq!(shown(30), "⠸ Bash cargo test 12 s · $0.42");
        assert_eq!(shown(16), "⠸ Bash car… 12 s");
    }

    #[test]
    fn a_permission_that_is_not_the_usual_one_is_in_the_line() {
        let shown = |permission| {
            let status = Status { permission, ..status() };
            line_text(&status.line(&Look::new(160, super::super::look::Styles::Colour, Default::default())))
        };
        for (permission, told) in [
            (Permission::Plan, "plan mode"),
            (Permission::Read, "permission read"),
            (Permission::All, "permission all"),
        ] {
            assert!(shown(permission).contains(told), "{told}");
        }
        assert!(!shown(Permission::Edit).contains("permission"));
    }

    #[test]
    fn a_narrow_line_tells_the_price_before_the_share() {
        let status = |doing: Option<&str>| Status {
            doing: doing.map(|doing| (doing.to_owned(), Some(Duration::from_secs(3)))),
            model: "anthropic/claude-sonnet-5".to_owned(),
            tokens: Some((2_000, 968_000)),
            dollars: Some(0.003),
            cached: Some((0, 100)),
            elapsed: Some(Duration::from_secs(20)),
            ..Status::default()
        };
        let shown = |doing, width| {
            line_text(&status(doing).line(&Look::new(
                width,
                super::super::look::Styles::Colour,
                Default::default(),
            )))
        };
        assert_eq!(shown(None, 40), "ready · 2.0k/968k · sonnet-5 · $0.003");
        assert_eq!(shown(None, 30), "ready · 2.0k/968k · sonnet-5");
        assert_eq!(
            shown(Some("waiting for the model"), 40),
            "⠋ waiting 3 s · 2.0k/968k · sonnet-5"
        );
        assert_eq!(
            shown(Some("Bash cargo test --workspace --no-fail-fast"), 40),
            "⠋ Bash cargo test --wor… 3 s · 2.0k/968k"
        );
    }

    #[test]
    fn the_bar_shows_something_for_something_and_never_overflows() {
        let look = Look::new(80, super::super::look::Styles::Colour, Default::default());
        let bars = [(0, 100), (1, 1_000_000), (50, 100), (u64::MAX, 3), (1, 0)]
            .map(|(value, whole)| bar(value, whole, 4, &look));
        assert_eq!(bars, ["", "▌", "██", "████", "████"]);
    }

    proptest! {
        #[test]
        fn the_line_is_never_wider_than_the_terminal(
            width in 8usize..200, doing in prop::option::of(".{0,60}"), seconds in any::<u32>(), model in ".{0,50}",
            tokens in prop::option::of((any::<u64>(), any::<u64>())), cost in prop::option::of(any::<f64>()), queued in any::<usize>(),
        ) {
            let status = Status {
                doing: doing.map(|doing| (doing, Some(Duration::from_secs(u64::from(seconds))))),
                model, tokens, dollars: cost, queued, elapsed: Some(Duration::from_secs(9)), cached: tokens,
                ..Status::default()
            };
            let look = Look::plain(width);
            prop_assert!(line_columns(&status.line(&look)) <= width);
        }
    }
}
