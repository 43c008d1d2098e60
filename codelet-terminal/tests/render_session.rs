//! Properties of a session's lines: finished ones never change, the spinner moves only with events, and nothing is too
//! wide.
#![allow(clippy::unwrap_used)]

use codelet_agent::event::{Event, Stopped};
use codelet_agent::model::ModelError;
use codelet_agent::run::Ending;
use codelet_agent::tool::Need;
use codelet_context::body::Body;
use codelet_context::message::Action;
use codelet_context::pipe::FailedInPipe;
use codelet_terminal::render::wrap::{line_columns, line_text, rows};
use codelet_terminal::render::{Background, Look, Renderer, Styles};
use proptest::prelude::*;
use ratatui::text::Line;
use std::sync::Arc;
use std::time::Duration;

fn look() -> Look {
    Look::new(80, Styles::Colour, Background::Dark)
}

fn text(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| line_text(line) + "\n").collect()
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The number of bytes that the tool appended to the output.
fn remarks(printed: &str) -> usize {
    printed.find("[exit ").map_or(0, |at| printed.len() - at)
}

fn finished(id: &str, success: bool, printed: &str) -> Event {
    Event::ToolFinished {
        id: Arc::from(id),
        tool: Arc::from("Bash"),
        success,
        failed_in_pipe: Vec::new(),
        bytes: printed.len() as u64,
        elapsed: Duration::from_millis(4),
        printed: Body::new(printed),
        remarks: remarks(printed),
        diff: Arc::from(""),
        stopped: None,
    }
}

fn started(id: &str, description: &str) -> Event {
    Event::ToolStarted {
        id: Arc::from(id),
        tool: Arc::from("Bash"),
        description: description.to_owned(),
        action: Action::default(),
    }
}

#[test]
fn the_spinner_stands_still_while_nothing_happens() {
    let mut renderer = Renderer::new(look());
    renderer.on(&started("a", "sleep 60"), at(1));
    let spinner = |renderer: &Renderer, seconds| line_text(&renderer.status(at(seconds))).chars().next();
    let before = spinner(&renderer, 1);
    assert_eq!(spinner(&renderer, 2), before, "time alone moves nothing");
    let told = line_text(&renderer.status(at(2)));
    assert!(
        told[before.map_or(0, char::len_utf8)..].starts_with(" Bash sleep 60 1 s"),
        "{told}"
    );
    let printed = Event::ToolPrinted {
        id: Arc::from("a"),
        text: "x\n".to_owned(),
    };
    renderer.on(&printed, at(3));
    assert_ne!(spinner(&renderer, 3), before, "what is printed does");
}

#[test]
fn a_session_that_waits_for_its_user_shows_no_spinner() {
    let mut renderer = Renderer::new(look());
    assert!(
        line_text(&renderer.status(at(0))).starts_with("starting"),
        "nothing is known of it yet"
    );
    renderer.set_model("anthropic/test-model");
    renderer.prompt("/cost", at(1));
    let is_busy = |renderer: &Renderer| renderer.status_told(at(1)).doing.is_some();
    assert!(!is_busy(&renderer), "what is done here asks no model");
    renderer.set_busy(Some("waiting for the model"), at(1));
    assert!(is_busy(&renderer));
    renderer.on(&Event::Over(Ending::Answered(String::new())), at(2));
    assert!(line_text(&renderer.status(at(3))).starts_with("ready"));
}

#[test]
fn a_countdown_stands_below_and_leaves_nothing_behind() {
    let mut renderer = Renderer::new(look());
    let waiting = |left| Event::Waiting {
        cause: "busy".to_owned(),
        left: at(left),
        next_try: Some(2),
        first_token: None,
        paused: None,
    };
    assert!(renderer.on(&waiting(3), at(1)).is_empty());
    assert_eq!(text(&renderer.live(5, at(1))), "busy; try 2 in 3 s\n");
    assert!(renderer.on(&waiting(2), at(2)).is_empty());
    assert_eq!(text(&renderer.live(5, at(2))), "busy; try 2 in 2 s\n");
    assert!(renderer.on(&asking(), at(4)).is_empty());
    assert_eq!(text(&renderer.live(5, at(4))), "");
}

fn asking() -> Event {
    Event::Asking {
        step: 1,
        occupancy: 1,
        limit: 2,
    }
}

#[test]
fn the_reason_of_a_wait_is_told_on_three_rows_at_most_with_when_it_ends() {
    let cause = "the connection to the provider failed: the request to 127.0.0.1:7911 failed (unexpected end of file, after which \
                 the server's certificate could not be checked any more, and nobody answered)";
    let (mut rows, mut width) = (Vec::new(), 200);
    while width >= 20 {
        let mut renderer = Renderer::new(look().at_width(width));
        renderer.on(
            &Event::Waiting {
                cause: cause.to_owned(),
                left: at(3),
                next_try: Some(2),
                first_token: None,
                paused: None,
            },
            at(1),
        );
        let shown = renderer.live(10, at(1));
        assert!(shown.iter().all(|row| line_columns(row) <= width), "{}", text(&shown));
        let told = text(&shown).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.len() <= 3 && told.ends_with("; try 2 in 3 s"), "{width}: {told}");
        if width == 80 {
            assert!(told.contains("unexpected end of file"), "{told}");
        }
        rows.push(shown.len());
        width -= 1;
    }
    assert!(rows.is_sorted() && rows.last() == Some(&3), "{rows:?}");
}

#[test]
fn a_provider_that_stops_in_the_middle_of_a_sentence_leaves_it_whole_in_plain_lines() {
    let answer = "The parser keeps each comment that stands before a closing brace, in a list of its own. It is sorted.\n\nThe end.\n";
    let rows = |stalls_at: Option<usize>| {
        let mut renderer = Renderer::new(Look::plain(60));
        let mut shown = String::new();
        let mut print = |lines: Vec<Line<'static>>| shown.push_str(&text(&lines));
        for (at, letter) in answer.char_indices() {
            if stalls_at == Some(at) {
                print(renderer.on(
                    &Event::Waiting {
                        cause: "the provider stopped sending".to_owned(),
                        left: Duration::from_secs(50),
                        next_try: Some(2),
                        first_token: None,
                        paused: None,
                    },
                    Duration::from_secs(1),
                ));
            }
            print(renderer.on(&Event::Text(letter.to_string()), Duration::from_secs(2)));
        }
        print(renderer.on(
            &Event::Over(Ending::Answered(answer.to_owned())),
            Duration::from_secs(3),
        ));
        shown
    };
    let whole = rows(None);
    for (at, _) in answer
        .char_indices()
        .filter(|(at, _)| *at < answer.find("\n").unwrap())
        .skip(1)
    {
        let shown = rows(Some(at));
        let (waits, others): (Vec<&str>, Vec<&str>) = shown.lines().partition(|row| row.starts_with("waiting: "));
        assert_eq!(
            waits,
            ["waiting: the provider stopped sending; try 2 in 50 s"],
            "{at}: {shown}"
        );
        assert_eq!(others.join("\n") + "\n", whole, "{at}: {shown}");
    }
}

#[test]
fn a_wait_that_was_worth_it_leaves_one_line_with_its_reason() {
    let waiting = |cause: &str| Event::Waiting {
        cause: cause.to_owned(),
        left: at(3),
        next_try: Some(2),
        first_token: None,
        paused: None,
    };
    let mut renderer = Renderer::new(look());
    renderer.on(&waiting("429: slow down"), at(1));
    renderer.on(&asking(), at(4));
    renderer.on(&waiting("529: overloaded"), at(5));
    renderer.on(&asking(), at(8));
    let lines = renderer.on(&Event::Text("Here.".to_owned()), at(9));
    assert_eq!(text(&lines).trim(), "waited 6 s: 529: overloaded");
    assert!(renderer.on(&Event::Text(" More.".to_owned()), at(9)).is_empty());
    // A slow answer after the wait adds nothing to it, and an unsuccessful wait is reported by the ending.
    renderer.on(&waiting("it has not answered yet"), at(11));
    assert!(
        renderer
            .on(&Event::Thinking("Hm.".to_owned()), at(12))
            .iter()
            .all(|line| !line_text(line).contains("waited"))
    );
    renderer.on(&waiting("429: slow down"), at(13));
    renderer.on(&asking(), at(14));
    renderer.on(&Event::Over(Ending::Interrupted), at(15));
    let lines = renderer.on(&Event::Text("Again.\n\n".to_owned()), at(16));
    assert!(!text(&lines).contains("waited"), "{}", text(&lines));
}

#[test]
fn what_a_command_prints_is_bounded_while_it_runs_and_after() {
    let mut renderer = Renderer::new(look());
    renderer.on(&started("a", "yes"), at(1));
    for _ in 0..1_000 {
        let printed = Event::ToolPrinted {
            id: Arc::from("a"),
            text: "y\u{1b}[31m\n".repeat(1_000),
        };
        assert!(renderer.on(&printed, at(2)).is_empty());
    }
    let live = renderer.live(50, at(3));
    assert_eq!(live.len(), 5, "the call and the end of its output");
    assert!(!text(&live).contains('\u{1b}'));
    let lines = renderer.on(&finished("a", true, &"y\n".repeat(2_000_000)), at(4));
    assert_eq!(line_text(&lines[0]), "✓ Bash yes · 2,000,000 lines, 4.0 MB · 4 ms");
    assert!(lines.len() <= 5);
}

#[test]
fn a_folded_output_comes_back_whole_in_parts() {
    let mut renderer = Renderer::new(look());
    renderer.on(&started("a", "seq"), at(1));
    let printed: String = (0..100_000).map(|n| format!("{n}\n")).collect();
    renderer.on(&finished("a", true, &printed), at(2));
    let mut unfolding = renderer.unfold().unwrap();
    let (mut shown, mut parts) = (String::new(), 0);
    while let Some(lines) = unfolding.next_lines(renderer.look()) {
        shown.push_str(&text(&lines));
        parts += 1;
    }
    assert!(parts > 5, "no part takes long");
    let words: Vec<&str> = shown.lines().skip(1).map(str::trim).collect();
    assert_eq!(words, printed.lines().collect::<Vec<_>>());
    assert!(renderer.expand().is_some() && renderer.expand().is_none());
}

/// The rendering of a to-do list with these items.
fn listed(printed: &str, success: bool) -> String {
    let mut renderer = Renderer::new(look());
    let mut event = finished("a", success, printed);
    if let Event::ToolFinished { tool, .. } = &mut event {
        *tool = Arc::from("Todo");
    }
    text(&renderer.on(&event, at(1)))
}

#[test]
fn a_list_of_what_is_to_be_done_is_drawn_as_one() {
    assert_eq!(
        listed(
            "[x] find the bug\n[>] write a test [x]\n[ ] run it\nwith care\n[-] rewrite\n",
            true
        ),
        "✓ Todo · 2 of 4 done\n  ☑ find the bug\n  ▶ write a test [x]\n  ☐ run it with care\n  ☒ rewrite\n"
    );
    let many = |sign: &str, from: usize, to: usize| -> String {
        (from..to).map(|number| format!("[{sign}] item {number}\n")).collect()
    };
    let long = listed(&(many("x", 0, 20) + &many(" ", 20, 40)), true);
    assert!(
        long.starts_with("✓ Todo · 20 of 40 done\n  … 20 done\n  ☐ item 20\n"),
        "{long}"
    );
    assert!(long.ends_with("  ☐ item 31\n  … 8 more; /todo shows all\n"), "{long}");
    // Of the finished items, the newest stay where there is room.
    let nearly = listed(&(many("x", 0, 20) + &many(" ", 20, 22)), true);
    assert!(
        nearly.contains("  … 10 done\n  ☑ item 10\n") && nearly.ends_with("item 21\n"),
        "{nearly}"
    );
    // A result that is no list is shown as it is.
    assert!(listed("[the list is empty]\n", true).starts_with("✓ Todo · 1 line"));
    assert!(listed("`todos` is missing", false).contains("failed"));
}

#[test]
fn what_the_tool_says_of_an_output_is_no_line_of_it() {
    for (printed, told) in [
        ("[exit 0, no output]\n", "✓ Bash true · no output · 4 ms\n"),
        (
            "1\n2\n3\n[exit 0, 6 s]\n",
            "✓ Bash true · 3 lines, 6 B · 4 ms\n  1\n  2\n  3\n",
        ),
        (
            "[exit 0, no output]\n[now in src]\n",
            "✓ Bash true · no output · 4 ms\n  [now in src]\n",
        ),
        (
            "gone\n[exit 1, 6 s]\n",
            "✗ Bash true · failed · 4 ms\n  gone\n  [exit 1]\n",
        ),
        // A program's output is shown verbatim, even if it looks like a status.
        ("[ok]\n", "✓ Bash true · 1 line, 5 B · 4 ms\n  [ok]\n"),
    ] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("!", "true"), at(1));
        let success = !printed.contains("exit 1");
        assert_eq!(text(&renderer.on(&finished("!", success, printed), at(2))), told);
        assert!(renderer.unfold().is_none(), "{printed}: all of it is shown");
    }
}

#[test]
fn only_what_was_not_shown_whole_can_be_unfolded() {
    let long = "x".repeat(2 * look().width);
    for (id, printed, is_folded) in [
        ("!", "one\n\ntwo\n".to_owned(), false),
        ("!", "line\n".repeat(24), false),
        ("!", "line\n".repeat(25), true),
        ("!", long, true),
        ("a", "one\ntwo\n".to_owned(), false),
        ("a", "line\n".repeat(4), true),
    ] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started(id, "make"), at(1));
        let print = Event::ToolPrinted {
            id: Arc::from(id),
            text: printed.clone(),
        };
        renderer.on(&print, at(1));
        renderer.on(&finished(id, true, &printed), at(2));
        assert_eq!(renderer.unfold().is_some(), is_folded, "{id} {printed}");
    }
}

#[test]
fn why_a_tool_failed_that_prints_nothing_while_it_runs_is_the_beginning_of_its_answer() {
    let mut renderer = Renderer::new(look());
    renderer.on(&started("a", "a.txt"), at(1));
    let told = text(&renderer.on(
        &finished("a", false, "\nThere are two such places.\nThe first:\n  x\n"),
        at(2),
    ));
    assert_eq!(told, "✗ Bash a.txt · failed · 4 ms\n  There are two such places.\n");
}

#[test]
fn what_was_expanded_last_is_followed_by_the_one_before_until_there_is_a_new_one() {
    let mut renderer = Renderer::new(look());
    let folded = |renderer: &mut Renderer, word: &str| {
        renderer.on(&started("!", "make"), at(1));
        renderer.on(&finished("!", true, &format!("{word}\n").repeat(30)), at(2));
    };
    let next = |renderer: &mut Renderer| text(&renderer.expand().unwrap());
    folded(&mut renderer, "one");
    folded(&mut renderer, "two");
    assert!(next(&mut renderer).contains("two"));
    // The answer goes on meanwhile.
    renderer.on(&Event::Text("Now to the rest. ".to_owned()), at(3));
    assert!(next(&mut renderer).contains("one"));
    renderer.on(&Event::Text("Well.".to_owned()), at(4));
    let mut whole = renderer.unfold().unwrap();
    assert!(text(&whole.next_lines(renderer.look()).unwrap()).contains("one"));
    assert!(renderer.expand().is_none());
    folded(&mut renderer, "three");
    assert!(next(&mut renderer).contains("three"));
}

#[test]
fn how_a_command_ended_stands_below_whatever_of_its_output_is_shown() {
    let noise: String = (1..=9).map(|line| format!("line {line}\n")).collect();
    for (printed, expected) in [
        (
            format!("error: first\n{noise}[exit 3]\n"),
            "  line 7\n  line 8\n  line 9\n  [exit 3]\n",
        ),
        (
            format!("{noise}0 errors\n10 failed\n[exit 1, 4 s]\n"),
            "  line 9\n  0 errors\n  10 failed\n  [exit 1]\n",
        ),
        ("error: only\n[exit 1]\n".to_owned(), "  error: only\n  [exit 1]\n"),
        ("[exit 2]\n".to_owned(), "  [exit 2]\n"),
    ] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("a", "make"), at(1));
        let all = Event::ToolPrinted {
            id: Arc::from("a"),
            text: printed.split_once("[exit").unwrap().0.to_owned(),
        };
        renderer.on(&all, at(1));
        let told = text(&renderer.on(&finished("a", false, &printed), at(2)));
        assert_eq!(told.split_once('\n').unwrap().1, expected, "{printed}");
    }
}

#[test]
fn of_a_long_output_both_ends_are_shown_however_its_lines_are() {
    for printed in [
        "x".repeat(500_000),
        "a word and another ".repeat(20_000),
        format!("first\n{}last\n", "one line\n".repeat(50_000)),
        format!("first\n{}last\n", "\n".repeat(50_000)),
    ] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("a", "make"), at(1));
        renderer.on(&finished("a", true, &printed), at(2));
        let shown = text(&renderer.expand().unwrap());
        assert!(shown.len() < 40_000 && shown.contains("more"), "{}", shown.len());
        assert!(shown.contains("; /more all shows all of it\n"));
        assert!(
            !printed.starts_with("first") || shown.contains("  first\n") && shown.ends_with("  last\n"),
            "{shown}"
        );
        let all = std::iter::from_fn({
            let mut unfolding = renderer.unfold().unwrap();
            move || unfolding.next_lines(&look())
        });
        let letters = |text: &str| text.bytes().filter(u8::is_ascii_lowercase).count();
        let all: String = all.map(|lines| text(&lines)).collect();
        assert!(letters(&all) >= letters(&printed));
    }
}

#[test]
fn a_change_that_is_shown_in_part_can_be_unfolded_whole() {
    let change = |lines: usize| {
        let added: String = (1..=lines).map(|line| format!("+line {line}\n")).collect();
        format!("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,{lines} @@\n{added}")
    };
    for (lines, is_folded) in [(40, false), (41, true), (200, true)] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("a", "new.txt"), at(1));
        let finished = Event::ToolFinished {
            id: Arc::from("a"),
            tool: Arc::from("Write"),
            success: true,
            failed_in_pipe: Vec::new(),
            bytes: 17,
            elapsed: Duration::from_millis(4),
            printed: Body::new("Created new.txt.\n"),
            remarks: 0,
            diff: change(lines).into(),
            stopped: None,
        };
        renderer.on(&finished, at(2));
        let mut unfolding = renderer.unfold().unwrap();
        let mut shown = String::new();
        while let Some(lines) = unfolding.next_lines(renderer.look()) {
            shown.push_str(&text(&lines));
        }
        assert_eq!(shown.contains(&format!("+line {lines}")), is_folded, "{lines}: {shown}");
    }
}

#[test]
fn a_change_that_its_question_showed_is_not_shown_once_more() {
    let diff = |name: &str, line: &str| format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-old\n+{line}\n");
    for (asked, is_shown) in [(Some("new"), false), (Some("other"), true), (None, true)] {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("a", "a.txt"), at(1));
        if let Some(line) = asked {
            let change = Need::Change {
                path: "/work/a.txt".into(),
                is_inside: true,
                owner: None,
                diff: diff("/work/a.txt", line),
            };
            renderer.asked_for("a", &[change]);
        }
        let mut event = finished("a", true, "Changed.\n");
        if let Event::ToolFinished { diff: made, .. } = &mut event {
            *made = diff("a.txt", "new").into();
        }
        let told = text(&renderer.on(&event, at(2)));
        assert!(told.starts_with("✓ Bash a.txt +1 −1"), "{told}");
        assert_eq!(told.contains("+ new"), is_shown, "{told}");
    }
}

#[test]
fn thinking_is_folded_into_one_line_and_can_be_seen() {
    let mut renderer = Renderer::new(look());
    renderer.on(&Event::Thinking("first thought\n".repeat(50)), at(1));
    assert!(text(&renderer.live(10, at(2))).contains("first thought"));
    let lines = renderer.on(&Event::Text("Hello.\n\n".to_owned()), at(3));
    assert_eq!(text(&lines), "Thought for 2.0 s · 700 B\n\nHello.\n");
    let mut unfolding = renderer.unfold().unwrap();
    assert_eq!(unfolding.next_lines(renderer.look()).unwrap().len(), 51);
}

#[test]
fn an_interruption_says_what_was_kept() {
    let mut renderer = Renderer::new(look());
    renderer.prompt("go", at(1));
    renderer.on(&started("a", "ls"), at(2));
    renderer.on(&finished("a", true, "x\n"), at(3));
    renderer.on(&started("b", "sleep 60"), at(4));
    let told = text(&renderer.on(&Event::Over(Ending::Interrupted), at(9)));
    for part in [
        "Bash sleep 60 · interrupted", "after 8.0 s", "your prompt, 1 tool call ·", "type to go on; /retry",
    ] {
        assert!(told.replace("\n  ", " ").contains(part), "{part}: {told}");
    }
    assert!(renderer.status_told(at(9)).doing.is_none());
}

/// The same call, stopped by the user.
fn stopped(id: &str, how: Stopped) -> Event {
    let mut event = finished(id, false, "");
    if let Event::ToolFinished { stopped, .. } = &mut event {
        *stopped = Some(how);
    }
    event
}

#[test]
fn an_interruption_says_of_every_call_whether_it_was_begun() {
    let mut renderer = Renderer::new(look());
    renderer.prompt("go", at(1));
    renderer.on(&started("a", "sleep 60"), at(2));
    let killed = text(&renderer.on(&stopped("a", Stopped::Interrupted), at(3)));
    assert!(killed.contains("Bash sleep 60 · interrupted · 4 ms"), "{killed}");
    assert!(!killed.contains("failed"), "{killed}");
    for id in ["b", "c"] {
        renderer.on(&started(id, "make"), at(3));
        let shown = text(&renderer.on(&stopped(id, Stopped::NotRun), at(9)));
        assert_eq!(shown, "✗ Bash make · not run\n");
    }
    let told = text(&renderer.on(&Event::Over(Ending::Interrupted), at(9)));
    assert!(told.contains("kept: your prompt ·"), "{told}");
}

#[test]
fn who_leaves_is_not_told_what_could_be_said_next() {
    let mut renderer = Renderer::new(look());
    renderer.prompt("go", at(1));
    renderer.leave();
    let told = text(&renderer.on(&Event::Over(Ending::Interrupted), at(9)));
    assert!(
        told.contains("interrupted after 8.0 s") && !told.contains("continue"),
        "{told}"
    );
}

#[test]
fn a_long_paste_is_echoed_in_short() {
    let mut renderer = Renderer::new(look());
    let paste = "a line of it\n".repeat(10_000);
    // With the question on the side of it where it was typed.
    let lines = text(&renderer.prompt(&format!("What is\n{paste}"), at(1)));
    assert_eq!(lines.lines().count(), 13);
    assert!(lines.starts_with("› What is\n  a line of it\n"), "{lines}");
    let lines = text(&renderer.prompt(&format!("{paste}what is this?"), at(1)));
    let end = "  … 10,001 lines, 130.0 kB in all\n  a line of it\n  a line of it\n  what is this?\n";
    assert!(lines.ends_with(end), "{lines}");
    assert_eq!(
        renderer.prompt(&"a line\n".repeat(12), at(1)).len(),
        13,
        "a blank line, and all of it"
    );
    // One line can be as long.
    for line in ["x y z ".repeat(3_000), "x".repeat(100_000)] {
        let lines = text(&renderer.prompt(&format!("{line}end"), at(1)));
        assert_eq!(lines.lines().count(), 1 + 9 + 1 + 3, "{lines}");
        let size = if line.contains(' ') { "18.0 kB" } else { "100.0 kB" };
        assert!(lines.contains(&format!("\n  … {size} in all\n")), "{lines}");
        assert!(lines.ends_with("end\n"), "{lines}");
    }
}

#[test]
fn what_failed_within_a_pipe_is_named_where_the_line_as_a_whole_did_not_fail() {
    let output = "1 failed, 3 passed\n[exit statuses in the pipe: 1, 0]\n";
    let ended = |success: bool, failed_in_pipe: Vec<FailedInPipe>| {
        let mut renderer = Renderer::new(look());
        renderer.on(&started("a", "pytest | tail -1"), at(1));
        let mut event = finished("a", success, output);
        if let Event::ToolFinished {
            failed_in_pipe: failed, ..
        } = &mut event
        {
            *failed = failed_in_pipe;
        }
        text(&renderer.on(&event, at(2)))
    };
    let pytest = FailedInPipe {
        program: Some("pytest".into()),
        status: 1,
    };
    let told = ended(true, vec![pytest.clone()]);
    assert!(
        told.starts_with("! Bash pytest | tail -1 · pytest: exit 1 · 1 line, "),
        "{told}"
    );
    assert!(!told.contains("in the pipe"), "once is enough: {told}");
    let told = ended(false, vec![pytest]);
    assert!(told.starts_with("✗ Bash pytest | tail -1 · failed · "), "{told}");
}

#[test]
fn an_answer_that_starts_over_is_parted_from_the_one_that_was_cut_off() {
    let mut renderer = Renderer::new(look());
    let mut told = text(&renderer.on(&Event::Text("Half of a sent".to_owned()), at(1)));
    told += &text(&renderer.on(&Event::Void, at(2)));
    told += &text(&renderer.on(&asking(), at(3)));
    told += &text(&renderer.on(&Event::Text("A whole one.\n\n".to_owned()), at(4)));
    told += &text(&renderer.on(&Event::Over(Ending::Answered("A whole one.".to_owned())), at(5)));
    assert_eq!(told, "Half of a sent\n… cut off here; retrying\n\nA whole one.\n");
}

#[test]
fn of_an_answer_that_is_cut_off_at_each_try_one_copy_is_printed() {
    let broken = Ending::Provider(ModelError::Cut {
        said: "closed".to_owned(),
        had_begun: true,
    });
    for (last, ending, after) in [
        ("One two", broken.clone(), "error:"),
        ("One two three\n\nfour", broken, "\nOne two three\n\nfour\n\nerror:"),
        ("One", Ending::Interrupted, "\nOne\n\ninterrupted"),
    ] {
        let mut renderer = Renderer::new(look());
        let mut told = String::new();
        for (number, written) in ["One two", "One\n\ntwo\n\n", "One tw", last].into_iter().enumerate() {
            if number > 0 {
                told += &text(&renderer.on(&Event::Void, at(1)));
            }
            told += &text(&renderer.on(&asking(), at(2)));
            told += &text(&renderer.on(&Event::Thinking("Well".to_owned()), at(3)));
            told += &text(&renderer.on(&Event::Text(written.to_owned()), at(4)));
            // What is not printed is shown as it arrives.
            assert!(text(&renderer.live(20, at(4))).contains("One"), "{written}");
        }
        told += &text(&renderer.on(&Event::Over(ending), at(5)));
        let begun = "Thought for 1.0 s · 4 B\n\nOne two\n… cut off here; retrying\n";
        let rest = told.strip_prefix(begun).unwrap_or_else(|| panic!("{told}"));
        let rest = rest.replace("\nThought for 1.0 s · 4 B\n", "");
        assert!(
            rest.starts_with(after) || rest.starts_with(&format!("\n{after}")),
            "{told}"
        );
    }
}

/// Arbitrary events, with hostile texts.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let words = || {
        prop_oneof![
            ".{0,40}",
            "[a-z \n`*|#-]{0,60}",
            Just("\u{1b}[2J\u{202e}\t\u{200b}日本".to_owned())
        ]
    };
    let id = || prop::sample::select(vec!["a", "b", "c"]);
    let event = prop_oneof![
        (any::<u64>(), any::<u64>()).prop_map(|(occupancy, limit)| Event::Asking {
            step: 1,
            occupancy,
            limit
        }),
        words().prop_map(Event::Text),
        words().prop_map(Event::Thinking),
        words().prop_map(|tool| Event::Calling { tool }),
        Just(Event::Void),
        (words(), 0u64..100).prop_map(|(cause, left)| Event::Waiting {
            cause,
            left: at(left),
            next_try: Some(2),
            first_token: (left % 2 == 0).then(|| at(left)),
            paused: None,
        }),
        (id(), words()).prop_map(|(id, description)| started(id, &description)),
        (id(), words()).prop_map(|(id, text)| Event::ToolPrinted {
            id: Arc::from(id),
            text
        }),
        (id(), any::<bool>(), words()).prop_map(|(id, success, printed)| finished(id, success, &printed)),
        words().prop_map(Event::Notice),
        words().prop_map(|said| Event::Over(Ending::Declined(said))),
        Just(Event::Over(Ending::Interrupted)),
    ];
    prop::collection::vec(event, 0..30)
}

proptest! {
    #[test]
    fn whatever_happens_nothing_is_too_wide_or_harmful(events in events(), width in 8usize..90, height in 0usize..12, is_plain in any::<bool>()) {
        let look = Look::new(width, if is_plain { Styles::Plain } else { Styles::Colour }, Background::Light);
        let mut renderer = Renderer::new(look);
        for (second, event) in events.iter().enumerate() {
            let now = at(second as u64);
            // Lines that the answer leaves to the terminal to wrap are covered by the answer's own properties.
            let mut lines: Vec<_> = renderer.on(event, now).into_iter().flat_map(|line| rows(line, width)).collect();
            let live = renderer.live(height, now);
            prop_assert!(live.len() <= height);
            lines.extend(live);
            lines.push(renderer.status(now));
            for line in lines {
                prop_assert!(line_columns(&line) <= width, "{:?} in {width}", line_text(&line));
                let harmful = line_text(&line).chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
                prop_assert!(!harmful, "{:?}", line_text(&line));
            }
        }
    }
}

#[test]
fn the_time_of_a_call_is_its_own_and_not_that_of_the_person_who_is_asked() {
    let mut renderer = Renderer::new(look());
    renderer.on(&started("a", "make"), at(1));
    renderer.set_asked(true, at(2));
    // A call that has not started is shown by its question.
    assert!(!text(&renderer.live(5, at(50))).contains("make"));
    renderer.set_asked(false, at(60));
    assert!(text(&renderer.live(5, at(62))).contains("make · 3 s\n"));
}

#[test]
fn while_the_first_token_is_waited_for_the_status_says_so_with_the_time_and_the_way_out() {
    let mut renderer = Renderer::new(look());
    renderer.on(&asking(), at(1));
    renderer.on(
        &Event::Waiting {
            cause: "the provider has not answered yet".to_owned(),
            left: at(200),
            next_try: None,
            first_token: Some(at(45)),
            paused: None,
        },
        at(46),
    );
    let status = text(&[renderer.status(at(46))]);
    assert!(status.contains("waiting for the first token"), "{status}");
    let below = text(&renderer.live(5, at(46)));
    assert!(
        below.starts_with("waiting for the first token, 45 s · Esc interrupts; giving up in"),
        "{below}"
    );
}

#[test]
fn a_pause_in_an_answer_is_told_as_one_and_what_follows_if_it_does_not_end() {
    for (next_try, told) in [
        (Some(2), "no data for 15 s; if none comes, retry in 4 min 45 s\n"),
        (None, "no data for 15 s; if none comes, giving up in 4 min 45 s\n"),
    ] {
        let mut renderer = Renderer::new(look());
        renderer.on(&asking(), at(1));
        renderer.on(&Event::Text("Half of ".to_owned()), at(2));
        let paused = Event::Waiting {
            cause: "no data from the provider".to_owned(),
            left: at(285),
            next_try,
            first_token: None,
            paused: Some(at(15)),
        };
        renderer.on(&paused, at(17));
        let status = text(&[renderer.status(at(17))]);
        assert!(status.contains("no data 15 s"), "{status}");
        let below = text(&renderer.live(5, at(17)));
        assert!(below.ends_with(told), "{below}");
        renderer.on(&Event::Text("it.".to_owned()), at(18));
        assert!(!text(&renderer.live(5, at(18))).contains("no data"));
    }
}
