//! The rows at the bottom of a terminal: streaming output, questions, the queue, the input and the status. In a window
//! with few rows, questions and the input come first.

use crate::answers;
use crate::complete::SHOWN;
use crate::questions::{self, Stand};
use crate::render::Renderer;
use crate::render::clean::clean;
use crate::render::look::{Look, Role};
use crate::render::wrap::{clip, clip_line, columns};
use crate::repl::Repl;
use crate::screen::Frame;
use ratatui::text::{Line, Span};
use std::time::{Duration, Instant};

/// Queued inputs that are shown.
const QUEUED: usize = 3;
/// Below this many columns, queued input is shown without its timing.
const ROOMY: usize = 60;

/// Lays out the current rows: fewer than the window has, each narrower than it. `since` is the session's duration.
pub(crate) fn frame(
    repl: &mut Repl,
    renderer: &Renderer,
    look: &Look,
    (width, height): (u16, u16),
    now: Instant,
    since: Duration,
) -> Frame {
    let width = usize::from(width.saturating_sub(1)).max(2);
    let mut left = usize::from(height.saturating_sub(1)).max(1);

    let is_asked = repl.question(now).is_some() || repl.deciding().is_some();
    let (mut input, cursor) = input(repl, look, width, (usize::from(height) / 2).max(1));
    // With an empty input, a question needs the room more.
    let has_input = !(is_asked && left < 3 && repl.editor.is_empty());
    if !has_input {
        input.clear();
    }
    input.truncate(left);
    left -= input.len();

    let asked = asked(repl, look, now, left);
    left -= asked.len();

    let suggestions = suggestions(repl, look, width, left.min(SHOWN));
    left -= suggestions.len();

    let status = (left > 0).then(|| clip_line(status(repl, renderer, look, since), width));
    left -= usize::from(status.is_some());

    // Streaming output is worth more than the queue.
    let queue = queue(repl, look, width, left.saturating_sub(2));
    left -= queue.len();

    let gap = (left > 0).then(Line::default);
    left -= usize::from(gap.is_some());
    let mut rows = match left {
        0 => Vec::new(),
        room => renderer.live(room, since),
    };
    rows.extend(asked);
    rows.extend(gap);
    rows.extend(queue);
    let above = rows.len();
    rows.extend(input);
    rows.extend(suggestions);
    rows.extend(status);
    let is_hidden = !has_input || repl.field().is_some();
    let cursor = (!is_hidden).then(|| {
        let place = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
        (place(above + cursor.0), place(cursor.1))
    });
    Frame { rows, cursor }
}

/// The rows of the input, at most `most`, and the cursor's position in them.
fn input(repl: &mut Repl, look: &Look, width: usize, most: usize) -> (Vec<Line<'static>>, (usize, usize)) {
    let label = match repl.editor.searching() {
        Some(words) if repl.editor.finds_nothing() => format!("find {}: no match", clean(words, 4)),
        Some(words) => format!("find {}: ", clean(words, 4)),
        None => look.pick("› ", "> ").to_owned(),
    };
    let label = clip(&label, width / 2);
    let indent = columns(&label);
    let (written, (row, column)) = repl.editor.rows(width - indent.min(width - 2));
    let first = (row + 1).saturating_sub(most);
    let shown = written.len().min(first + most);
    let rows = written[first..shown].iter().enumerate().map(|(at, text)| {
        let before = match at + first {
            0 => Span::styled(label.clone(), look.style(Role::Prompt)),
            _ => Span::raw(" ".repeat(indent)),
        };
        Line::from(vec![before, Span::raw(clean(text, 4).into_owned())])
    });
    (rows.collect(), (row - first, indent + column))
}

/// The pending question, in at most `room` rows.
fn asked(repl: &mut Repl, look: &Look, now: Instant, room: usize) -> Vec<Line<'static>> {
    let is_above = repl.is_asked_above;
    let is_answerable = repl.is_answerable(now);
    let is_writing = !repl.editor.is_empty();
    let picked = repl.picked(now);
    let waiting = repl.waiting_questions();
    let field = repl.field().map(|field| field.view(now));
    let Some(question) = repl.question(now) else {
        let is_decidable = repl.is_decidable(now);
        let decision = repl.deciding();
        let Some(decision) = decision else {
            return Vec::new();
        };
        let mut rows = questions::decision(look, decision, (is_decidable, is_writing), room);
        // The question's subject is printed above, and is long.
        if rows.len() < room {
            rows.insert(0, Line::default());
        }
        return rows;
    };
    let stand = Stand {
        is_above,
        is_answerable,
        is_writing,
        picked,
        field,
        waiting,
    };
    questions::options(look, question, stand, room)
}

/// The suggestions, in at most `room` rows that include the selected one.
fn suggestions(repl: &Repl, look: &Look, width: usize, room: usize) -> Vec<Line<'static>> {
    let (candidates, chosen) = repl.candidates();
    let from = (chosen + 1).saturating_sub(room);
    let shown = candidates.iter().enumerate().skip(from).take(room);
    let texts = shown.clone().filter(|(_, candidate)| !candidate.help.is_empty());
    let widest = texts.map(|(_, candidate)| columns(&candidate.text)).max();
    let widest = widest.unwrap_or(0).min(width / 3);
    let row = |(at, candidate): (usize, &crate::complete::Candidate)| {
        let (role, mark) = match at == chosen {
            true => (Role::Accent, "> "),
            false => (Role::Text, "  "),
        };
        let text = Span::styled(format!("{mark}{}", clean(&candidate.text, 4)), look.style(role));
        let gap = " ".repeat(widest.saturating_sub(columns(&candidate.text)) + 2);
        let help = Span::styled(format!("{gap}{}", candidate.help), look.style(Role::Dim));
        clip_line(Line::from(vec![text, help]), width)
    };
    shown.map(row).collect()
}

fn status(repl: &Repl, renderer: &Renderer, look: &Look, since: Duration) -> Line<'static> {
    match repl.hint {
        Some(hint) => Line::from(Span::styled(hint, look.style(Role::Warning))),
        None => renderer.status(since),
    }
}

/// The queue, in at most `room` rows.
fn queue(repl: &Repl, look: &Look, width: usize, room: usize) -> Vec<Line<'static>> {
    let queued: Vec<&str> = repl.queued().collect();
    let row = |text: &&str| {
        let first = text.lines().next().unwrap_or_default();
        let more = match text.contains('\n') {
            true => look.pick(" …", " ..."),
            false => "",
        };
        let what = format!("queued: {}{more}", clean(first, 4));
        // The text matters more than its timing.
        let when = match answers::queued(text, repl.doing) {
            when if width < ROOMY && columns(&what) + columns(when) > width => "",
            when => when,
        };
        let line = clip(&what, width.saturating_sub(columns(when))) + when;
        Line::from(Span::styled(clip(&line, width), look.style(Role::Dim)))
    };
    let mut rows: Vec<Line<'static>> = queued.iter().take(QUEUED).map(row).collect();
    if queued.len() > QUEUED {
        let more = format!("queued: {} more", queued.len() - QUEUED);
        rows.push(Line::from(Span::styled(clip(&more, width), look.style(Role::Dim))));
    }
    rows.truncate(room);
    rows
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::front::Activity;
    use crate::keys::{Key, KeyCode, Typed};
    use crate::render::look::{Background, Styles};
    use crate::render::wrap::{line_columns, line_text};
    use codelet_agent::asking::Asking;
    use codelet_agent::permission::{Asked, Gate as _, Rules};
    use codelet_agent::tool::{Looking, Need};
    use proptest::prelude::*;
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    /// The frame in a window of this size one second after these keys, with a question for this command if there is
    /// one.
    fn shown(size: (u16, u16), command: Option<&str>, picked: &str, act: impl FnOnce(&mut Repl)) -> Frame {
        let look = Look::new(usize::from(size.0) - 1, Styles::Colour, Background::Dark);
        let mut renderer = Renderer::new(look);
        renderer.set_model("anthropic/claude-sonnet-5");
        let mut repl = Repl::new();
        repl.doing = Activity::Run;
        act(&mut repl);
        let (gate, mut questions) = Asking::new(Rules::default());
        let needs = [Need::Run {
            command: command.unwrap_or_default().to_owned(),
            folder: String::new(),
            looks: Looking::Outside,
        }];
        let mut judged = pin!(gate.judge(Asked {
            call: "call_1",
            task: None,
            tool: "Bash",
            description: command.unwrap_or_default(),
            needs: &needs,
            wary: None,
        }));
        let mut now = Instant::now();
        if command.is_some() {
            let polled = judged.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            repl.ask(questions.try_recv().unwrap());
            repl.question(now);
        }
        for key in picked.chars() {
            now += Duration::from_secs(1);
            repl.typed(Typed::Key(Key::plain(KeyCode::Char(key))), now);
        }
        now += Duration::from_millis(500);
        repl.settle(now);
        frame(&mut repl, &renderer, &look, size, now, Duration::from_secs(3))
    }

    fn text(frame: &Frame) -> String {
        frame.rows.iter().map(line_text).collect::<Vec<_>>().join("\n")
    }

    const LONG: &str = "cargo test --workspace --all-features -- --nocapture a_name_of_a_test_that_is_long && ls -l";

    #[test]
    fn in_a_small_window_a_question_is_short() {
        for (size, expected) in [
            ((20, 5), "Allow Bash cargo…?\n[y] [a] [n] [r]\n› \nready · sonnet-5"),
            (
                (40, 5),
                "Allow Bash cargo test --workspace --a…?\n[y] yes [a] always [n] no [r] no, why\n› \nready · anthropic/claude-sonnet-5 · 3 s",
            ),
        ] {
            let shown = text(&shown(size, Some(LONG), "", |_| ()));
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn in_a_narrow_window_what_is_queued_is_named_rather_than_when_it_is_done() {
        let rows = |width| {
            text(&shown((width, 10), None, "", |repl| {
                repl.queue("/compact the rest".to_owned())
            }))
        };
        assert!(rows(40).contains("queued: /compact the rest\n"));
        assert!(rows(80).contains("queued: /compact the rest (runs after this turn)\n"));
    }

    #[test]
    fn before_the_session_has_begun_there_is_no_turn_to_wait_for() {
        for (said, when) in [
            ("/cost", " (runs when the session has started)"),
            ("!ls", " (runs when the session has started)"),
            ("hi", ""),
        ] {
            let rows = text(&shown((80, 10), None, "", |repl| {
                repl.doing = Activity::Servers;
                repl.queue(said.to_owned());
            }));
            assert!(rows.contains(&format!("queued: {said}{when}\n")), "{rows}");
        }
    }

    proptest! {
        #[test]
        fn in_a_window_of_any_size_nothing_overflows_and_a_question_can_be_seen_and_answered(
            width in 20u16..110, height in 2u16..30,
            command in proptest::option::of("[a-z]{1,12}( [a-zü日-]{1,30}){0,12}"),
            written in "[a-z 日é\n]{0,200}",
            queued in proptest::collection::vec("[a-z /]{1,60}", 0..5),
            picked in "[ar]?",
            way in 0usize..4,
        ) {
            let is_empty = way != 1 || written.is_empty();
            let frame = shown((width, height), command.as_deref(), &picked, |repl| {
                for text in &queued {
                    repl.queue(text.clone());
                }
                match way {
                    1 => repl.editor.set(&written),
                    2 if command.is_none() => repl.editor.set("/"),
                    3 if command.is_none() => {
                        repl.take_files((0..20).map(|n| format!("src/a_folder/of_files/file_{n}.rs")).collect());
                        repl.editor.set("look at @f");
                    }
                    _ => {}
                }
            });
            let shown = text(&frame);
            prop_assert!(frame.rows.len() < usize::from(height).max(2), "{shown}");
            for row in &frame.rows {
                prop_assert!(line_columns(row) < usize::from(width), "{:?}", line_text(row));
            }
            if let Some((row, column)) = frame.cursor {
                prop_assert!(usize::from(row) < frame.rows.len() && column < width, "{row} {column}\n{shown}");
            }
            if command.is_some() && is_empty {
                match picked.as_str() {
                    "" => for key in ["[y]", "[n]", "[r]"] {
                        prop_assert!(shown.contains(key), "{key} {shown}");
                    },
                    "a" => prop_assert!(shown.contains("Enter"), "{shown}"),
                    _ => prop_assert!(shown.contains('▏'), "{shown}"),
                }
                prop_assert!(height < 4 || picked == "a" || shown.contains("Allow") || picked == "r", "{shown}");
            } else {
                prop_assert!(frame.cursor.is_some(), "{shown}");
            }
            if matches!(way, 2 | 3) && command.is_none() && picked.is_empty() && height > 3 {
                prop_assert!(shown.contains("> "), "{shown}");
            }
        }
    }
}
