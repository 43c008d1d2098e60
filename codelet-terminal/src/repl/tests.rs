//! Keys in, wishes out.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::decision::{Alternative, Decision};
use codelet_agent::asking::Asking;
use codelet_agent::permission::{Asked, Gate as _, Rules, Verdict};
use codelet_agent::tool::{Looking, Need};
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

struct At {
    repl: Repl,
    now: Instant,
}

impl At {
    fn new() -> Self {
        At {
            repl: Repl::new(),
            now: Instant::now(),
        }
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    fn key(&mut self, key: Key) -> Vec<Act> {
        self.wait(1);
        self.repl.typed(Typed::Key(key), self.now)
    }

    fn code(&mut self, code: KeyCode) -> Vec<Act> {
        self.key(Key::plain(code))
    }

    fn write(&mut self, text: &str) -> Vec<Act> {
        text.chars().flat_map(|c| self.code(KeyCode::Char(c))).collect()
    }
}

#[test]
fn enter_sends_and_nothing_is_not_sent() {
    let mut at = At::new();
    assert_eq!(at.code(KeyCode::Enter), []);
    at.write("hello");
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("hello".to_owned())]);
    assert!(at.repl.editor.is_empty());
}

#[test]
fn alt_enter_and_a_backslash_make_a_new_line() {
    let mut at = At::new();
    at.write("one");
    at.key(Key {
        alt: true,
        ..Key::plain(KeyCode::Enter)
    });
    at.write("two\\");
    assert_eq!(at.code(KeyCode::Enter), []);
    at.write("three");
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("one\ntwo\nthree".to_owned())]);
}

#[test]
fn esc_interrupts_what_runs_and_keeps_what_is_written() {
    let mut at = At::new();
    at.write("half a thought");
    at.repl.doing = Activity::Run;
    assert_eq!(at.code(KeyCode::Esc), [Act::Interrupt]);
    assert_eq!(at.repl.editor.text(), "half a thought");
    at.repl.doing = Activity::Nothing;
    assert_eq!(at.code(KeyCode::Esc), []);
    assert!(at.repl.editor.is_empty());
}

#[test]
fn ctrl_c_clears_then_leaves_the_second_time() {
    let mut at = At::new();
    at.write("x");
    assert_eq!(at.key(Key::ctrl('c')), []);
    assert_eq!(at.key(Key::ctrl('c')), []);
    assert!(at.repl.hint.is_some());
    at.wait(5_000);
    assert_eq!(at.key(Key::ctrl('c')), []);
    assert_eq!(at.key(Key::ctrl('c')), [Act::Leave]);
}

#[test]
fn ctrl_c_that_interrupts_is_never_the_first_of_two_that_leave() {
    let mut at = At::new();
    at.repl.doing = Activity::Run;
    assert_eq!(at.key(Key::ctrl('c')), [Act::Interrupt]);
    assert_eq!(at.key(Key::ctrl('c')), [Act::Interrupt]);
    at.repl.doing = Activity::Nothing;
    assert_eq!(at.key(Key::ctrl('c')), []);
    assert_eq!(at.repl.hint, Some("Ctrl-C again to quit"));
    assert_eq!(at.key(Key::ctrl('c')), [Act::Leave]);
}

#[test]
fn what_is_queued_comes_back_with_up_and_after_an_interruption() {
    let mut at = At::new();
    at.repl.queue("one".to_owned());
    at.repl.queue("two".to_owned());
    at.code(KeyCode::Up);
    assert_eq!(at.repl.editor.text(), "two");
    assert_eq!(at.repl.queued().collect::<Vec<_>>(), ["one"]);
    assert!(at.repl.give_back().is_empty());
    assert_eq!(at.repl.editor.text(), "one\ntwo");
}

#[test]
fn what_is_queued_is_changed_in_one_place_whatever_is_being_written() {
    let mut at = At::new();
    at.repl.queue("delete branch foo".to_owned());
    at.write("and");
    at.code(KeyCode::Up);
    assert_eq!(at.repl.editor.text(), "delete branch foo");
    assert_eq!(at.repl.queued().count(), 0);
    at.write("bar");
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("delete branch foobar".to_owned())]);
    at.code(KeyCode::Up);
    at.code(KeyCode::Up);
    assert_eq!(at.repl.editor.text(), "and", "what was being written is lost");
}

#[test]
fn commands_that_were_typed_ahead_are_not_mixed_into_a_text() {
    let mut at = At::new();
    for said in ["one", "/compact", "!ls", "two"] {
        at.repl.queue(said.to_owned());
    }
    assert_eq!(at.repl.give_back(), ["/compact", "!ls"]);
    assert_eq!(at.repl.editor.text(), "one\ntwo");
    at.repl.editor.set("");
    at.repl.queue("/compact".to_owned());
    assert!(at.repl.give_back().is_empty());
    assert_eq!(at.repl.editor.text(), "/compact");
}

#[test]
fn a_command_is_completed_first_and_sent_once_it_is_whole_or_chosen() {
    let mut at = At::new();
    at.write("/und");
    at.code(KeyCode::Tab);
    assert_eq!(at.repl.editor.text(), "/undo-compact ");
    at.repl.editor.set("");
    at.write("/undo-");
    assert_eq!(at.code(KeyCode::Enter), []);
    assert_eq!(at.repl.editor.text(), "/undo-compact ");
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("/undo-compact ".to_owned())]);
    // An entry selected with the arrow keys is chosen.
    at.write("/un");
    at.code(KeyCode::Down);
    let sent = at.code(KeyCode::Enter);
    assert!(
        matches!(&sent[..], [Act::Send(said)] if said.starts_with("/un")),
        "{sent:?}"
    );
}

#[test]
fn a_file_is_completed_once_the_names_are_there() {
    let mut at = At::new();
    let acts = at.write("see @mai");
    assert!(acts.contains(&Act::WantFiles));
    at.repl
        .take_files(vec!["src/main.rs".to_owned(), "src/lib.rs".to_owned()]);
    assert_eq!(at.code(KeyCode::Enter), []);
    assert_eq!(at.repl.editor.text(), "see @src/main.rs ");
}

#[test]
fn a_file_name_that_is_written_whole_is_sent_with_one_enter() {
    let mut at = At::new();
    at.repl
        .take_files(vec!["src/main.rs".to_owned(), "src/lib.rs".to_owned()]);
    at.write("/pin @src/main.rs");
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("/pin @src/main.rs".to_owned())]);
    // Only the end of the name is typed: Enter completes it first.
    at.write("/pin @main.rs");
    assert_eq!(at.code(KeyCode::Enter), []);
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("/pin @src/main.rs ".to_owned())]);
    // Another suggestion is selected.
    at.repl.take_files(vec!["a.rs".to_owned(), "la.rs".to_owned()]);
    at.write("@a.rs");
    at.code(KeyCode::Down);
    assert_eq!(at.code(KeyCode::Enter), []);
    assert_eq!(at.repl.editor.text(), "@la.rs ");
}

/// Asks a question at the gate; returns the call's verdict.
fn question(act: impl FnOnce(&mut At)) -> (At, Option<Verdict>) {
    kept_question(|_| Ok(String::new()), act)
}

/// The same, with a callback for patterns saved for the project.
fn kept_question(
    keep: impl Fn(&[String]) -> Result<String, String> + Send + Sync + 'static,
    act: impl FnOnce(&mut At),
) -> (At, Option<Verdict>) {
    let (gate, mut questions) = Asking::new(Rules::default());
    let gate = gate.keeping(Arc::new(keep));
    let needs = [Need::Run {
        command: "cargo test".to_owned(),
        folder: String::new(),
        looks: Looking::Inside,
    }];
    let mut judged = pin!(gate.judge(Asked {
        call: "call_1",
        task: None,
        tool: "Bash",
        description: "cargo test",
        needs: &needs,
        wary: None,
    }));
    let mut context = Context::from_waker(Waker::noop());
    assert!(judged.as_mut().poll(&mut context).is_pending());
    let mut at = At::new();
    at.repl.doing = Activity::Run;
    at.repl.ask(questions.try_recv().unwrap());
    assert!(at.repl.question(at.now).is_some());
    act(&mut at);
    match judged.as_mut().poll(&mut context) {
        Poll::Ready(verdict) => (at, Some(verdict)),
        Poll::Pending => (at, None),
    }
}

#[test]
fn a_question_is_answered_each_way() {
    let no = |why: &str| Some(Verdict::No(why.to_owned()));
    for (keys, verdict) in [
        ("y", Some(Verdict::Yes)),
        ("y \r", Some(Verdict::Yes)),
        ("a \r", Some(Verdict::Yes)),
        ("n", no("the user said no")),
        ("a n", no("the user said no")),
        ("a", None),
        ("a\u{1b}\r", None),
        ("\r\r", None),
        ("x", None),
    ] {
        let (_, said) = question(|at| {
            at.wait(1_000);
            for c in keys.chars() {
                match c {
                    ' ' => at.wait(400),
                    '\r' => drop(at.code(KeyCode::Enter)),
                    '\u{1b}' => drop(at.code(KeyCode::Esc)),
                    c => drop(at.code(KeyCode::Char(c))),
                }
            }
            at.wait(400);
            at.repl.settle(at.now);
        });
        assert_eq!(said, verdict, "{keys:?}");
    }
    let (_, said) = question(|at| {
        at.wait(1_000);
        at.write("r");
        at.wait(400);
        at.write("use make");
        at.code(KeyCode::Enter);
    });
    assert_eq!(said, no("the user said no, and: use make"));
}

#[test]
fn what_is_kept_for_the_project_is_read_and_changed_before_it_is_taken() {
    /// The patterns saved after these keys; `|` is a pause.
    fn kept(keys: &str) -> (Vec<Vec<String>>, Option<Verdict>) {
        let store: Arc<std::sync::Mutex<Vec<Vec<String>>>> = Arc::default();
        let into = Arc::clone(&store);
        let keep = move |patterns: &[String]| {
            into.lock().unwrap().push(patterns.to_vec());
            Ok("kept".to_owned())
        };
        let (_, said) = kept_question(keep, |at| {
            at.wait(1_000);
            for c in keys.chars() {
                match c {
                    '|' => at.wait(400),
                    '\r' => drop(at.code(KeyCode::Enter)),
                    '\u{8}' => drop(at.code(KeyCode::Backspace)),
                    '\u{1b}' => drop(at.code(KeyCode::Esc)),
                    c => drop(at.code(KeyCode::Char(c))),
                }
                at.repl.settle(at.now);
            }
        });
        (store.lock().unwrap().clone(), said)
    }
    // Enter before anybody could have read the patterns does nothing but show a hint.
    let (at, _) = question(|at| {
        at.wait(1_000);
        at.code(KeyCode::Char('p'));
        at.wait(360);
        assert_eq!(at.code(KeyCode::Enter), []);
    });
    assert!(at.repl.hint.is_some_and(|hint| hint.contains("read the pattern first")));
    let none: [[&str; 1]; 0] = [];
    for (keys, patterns, is_answered) in [
        ("p||\r", vec!["cargo test *"], true),
        ("p|\r|\r", vec!["cargo test *"], true),
        ("p||\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}*\r", vec!["cargo *"], true),
        ("p||x\r\u{8}\r", vec!["cargo test *"], true),
        // An Enter that came with the letter, or patterns that do not permit the call.
        ("p\r", vec![], false),
        ("p|\r", vec![], false),
        ("p||x\r", vec![], false),
        ("p||\u{1b}\r", vec![], false),
        ("please go on\r", vec![], false),
        ("p||\u{1b}|y|", vec![], true),
    ] {
        let (kept, said) = kept(keys);
        match patterns.is_empty() {
            true => assert_eq!(kept, none, "{keys:?}"),
            false => assert_eq!(kept, [patterns], "{keys:?}"),
        }
        assert_eq!(said.is_some(), is_answered, "{keys:?}");
    }
}

#[test]
fn keys_that_were_on_their_way_answer_nothing() {
    let (at, said) = question(|at| {
        at.write("yany");
    });
    assert_eq!((at.repl.editor.text().as_str(), said), ("yany", None));
    // Repeating the same letter is an answer that came too early: it neither answers nor is sent.
    let (at, said) = question(|at| {
        at.write("yyy");
        at.wait(1_000);
        at.repl.settle(at.now);
    });
    assert_eq!((at.repl.editor.text().as_str(), said), ("", None));
    let (at, said) = question(|at| {
        at.write("yy");
        at.write("es");
        at.wait(1_000);
        at.repl.settle(at.now);
    });
    assert_eq!((at.repl.editor.text().as_str(), said), ("yyes", None));
    let (at, said) = question(|at| {
        at.repl.editor.set("half ");
        at.wait(1_000);
        at.write("y");
    });
    assert_eq!((at.repl.editor.text().as_str(), said), ("half y", None));
    let (_, said) = question(|at| {
        at.wait(1_000);
        at.repl.typed(Typed::Paste("y\n".to_owned()), at.now);
    });
    assert_eq!(said, None);
    // Letters followed by more are typed text, however slowly, and so is a paste without brackets.
    for (text, pause, written) in [
        ("also this", 120, "also this"),
        ("yes, but", 300, "yes, but"),
        ("a\rn", 1, "an"),
    ] {
        let (at, said) = question(|at| {
            at.wait(1_000);
            for c in text.chars() {
                at.wait(pause);
                at.code(if c == '\r' { KeyCode::Enter } else { KeyCode::Char(c) });
            }
            at.wait(1_000);
            at.repl.settle(at.now);
        });
        assert_eq!((at.repl.editor.text().as_str(), said), (written, None));
    }
}

/// Types after a question that has been visible for a second: the letter, then the text `pause` milliseconds later at
/// typing speed, then these keys.
fn typed_after(letter: char, pause: u64, text: &str, then: &[KeyCode]) -> (At, Option<Verdict>) {
    question(|at| {
        at.wait(1_000);
        at.code(KeyCode::Char(letter));
        at.wait(pause);
        for c in text.chars() {
            at.code(KeyCode::Char(c));
            at.wait(120);
        }
        for code in then {
            at.code(*code);
        }
    })
}

#[test]
fn a_yes_or_no_in_full_answers_with_enter() {
    let no = Verdict::No("the user said no".to_owned());
    // The text, the milliseconds before each of its keys and before Enter, the answer, and what is sent instead.
    for (text, pause, before_enter, expected, sent) in [
        ("yes", 150, 150, Some(Verdict::Yes), None),
        ("No", 120, 900, Some(no), None),
        // Anything else is a message, and what comes in one burst is a paste.
        ("yes!", 150, 150, None, Some("yes!")),
        ("nope", 150, 150, None, Some("nope")),
        ("yes", 1, 1, None, Some("yes")),
    ] {
        let mut acts = Vec::new();
        let (at, said) = question(|at| {
            at.wait(1_000);
            for c in text.chars() {
                at.wait(pause);
                at.code(KeyCode::Char(c));
            }
            at.wait(before_enter);
            acts = at.code(KeyCode::Enter);
        });
        assert_eq!((said, at.repl.editor.text().as_str()), (expected, ""), "{text} {pause}");
        let send = acts.iter().find_map(|act| match act {
            Act::Send(said) => Some(said.as_str()),
            _ => None,
        });
        assert_eq!(send, sent, "{text} {pause}");
    }
    // A word that was begun before the question could be read is none.
    let (at, said) = question(|at| {
        at.write("ye");
        at.wait(1_000);
        at.write("s");
        at.wait(200);
        at.code(KeyCode::Enter);
    });
    assert_eq!((said, at.repl.editor.text().as_str()), (None, ""));
}

#[test]
fn a_reason_is_written_once_its_line_has_opened() {
    for pause in [360, 1_000] {
        let (at, said) = typed_after('r', pause, "not now", &[KeyCode::Enter]);
        let no = Verdict::No("the user said no, and: not now".to_owned());
        assert_eq!((said, at.repl.editor.text().as_str()), (Some(no), ""), "{pause}");
    }
    // Enter opens the reason at once; only a second Enter refuses without one.
    let (at, said) = typed_after('r', 100, "", &[KeyCode::Enter]);
    assert_eq!(said, None);
    assert!(at.repl.field().is_some());
    let (_, said) = typed_after('r', 100, "", &[KeyCode::Enter, KeyCode::Enter]);
    assert_eq!(said, Some(Verdict::No("the user said no".to_owned())));
}

#[test]
fn a_message_that_begins_like_an_answer_is_still_there_to_be_sent() {
    // The user begins to type without having noticed the question.
    for text in [
        "remove it", "Remove it", "run yarn again", "no tabs", "yes, but", "always", "put it there",
    ] {
        let (first, rest) = text.split_at(1);
        for then in [&[][..], &[KeyCode::Enter]] {
            let (at, said) = typed_after(first.chars().next().unwrap(), 120, rest, then);
            assert!(said.is_none() && at.repl.field().is_none(), "{text}");
            let left = if then.is_empty() { text } else { "" };
            assert_eq!(at.repl.editor.text(), left);
        }
    }
    // The same before the question takes answers.
    let (at, said) = question(|at| {
        at.wait(100);
        at.write("remove it");
    });
    assert_eq!((said, at.repl.editor.text().as_str()), (None, "remove it"));
    // The letter alone is no typed text.
    for key in [KeyCode::Esc, KeyCode::Backspace] {
        let (at, said) = typed_after('r', 120, "", &[key]);
        assert_eq!((said, at.repl.editor.text().as_str()), (None, ""));
        assert!(at.repl.field().is_none());
    }
}

#[test]
fn a_reason_that_was_left_comes_back_with_up() {
    let (mut at, said) = question(|at| {
        at.wait(1_000);
        at.write("r");
        at.wait(400);
        at.write("use make");
        assert_eq!(at.code(KeyCode::Esc), []);
        assert!(at.repl.hint.is_some() && at.repl.editor.is_empty());
        at.write("y");
        at.wait(400);
        at.repl.settle(at.now);
    });
    assert_eq!(said, Some(Verdict::Yes));
    at.code(KeyCode::Up);
    assert_eq!(at.repl.editor.text(), "use make");
}

#[test]
fn a_reason_whose_question_is_gone_is_what_is_being_written() {
    let mut at = At::new();
    {
        let (gate, mut questions) = Asking::new(Rules::default());
        let needs = [Need::Run {
            command: "cargo test".to_owned(),
            folder: String::new(),
            looks: Looking::Inside,
        }];
        let mut judged = Box::pin(gate.judge(Asked {
            call: "call_1",
            task: None,
            tool: "Bash",
            description: "cargo test",
            needs: &needs,
            wary: None,
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(judged.as_mut().poll(&mut context).is_pending());
        at.repl.ask(questions.try_recv().unwrap());
        assert!(at.repl.question(at.now).is_some());
        at.wait(1_000);
        at.write("r");
        at.wait(400);
        at.write("not n");
        // The asking call is gone.
        drop(judged);
    }
    assert!(at.repl.question(at.now).is_none());
    at.write("ow");
    assert_eq!(at.repl.editor.text(), "not now");
}

#[test]
fn keys_of_the_input_do_not_leave_while_a_reason_is_written() {
    let (at, said) = question(|at| {
        at.wait(1_000);
        at.write("r");
        at.wait(400);
        at.write("use makes");
        at.code(KeyCode::Left);
        assert_eq!(at.key(Key::ctrl('d')), []);
        assert_eq!(at.key(Key::ctrl('g')), []);
        assert_eq!(at.key(Key::ctrl('r')), []);
        assert!(at.repl.editor.searching().is_none());
        assert_eq!(at.repl.field().unwrap().typed(), "use make");
    });
    assert_eq!(said, None);
    drop(at);
}

#[test]
fn what_was_cleared_comes_back_with_up() {
    for clear in [Key::plain(KeyCode::Esc), Key::ctrl('c')] {
        let mut at = At::new();
        at.write("a long thought");
        at.key(clear);
        assert!(at.repl.editor.is_empty());
        assert_eq!(at.repl.hint, Some("cleared · Up restores it"));
        at.code(KeyCode::Up);
        assert_eq!(at.repl.editor.text(), "a long thought");
    }
}

/// The outcome of a decision between two letters after these keys, one millisecond apart; a space waits until a letter
/// has settled.
fn decision(keys: &str) -> (At, Option<char>) {
    let alternatives = vec![Alternative::new('b', "both"), Alternative::new('n', "nothing")];
    let (decision, mut answered) = Decision::new("Go back?".to_owned(), alternatives);
    let mut at = At::new();
    at.repl.doing = Activity::Deciding;
    at.repl.decide(decision, at.now);
    for key in keys.chars() {
        match key {
            ' ' => {
                at.wait(500);
                at.repl.settle(at.now);
            }
            '\r' => drop(at.code(KeyCode::Enter)),
            'P' => drop(at.repl.typed(Typed::Paste("b".to_owned()), at.now)),
            key => drop(at.code(KeyCode::Char(key))),
        }
    }
    (at, answered.try_recv().ok())
}

#[test]
fn a_decision_is_made_by_a_letter_that_stands_alone_and_by_nothing_else() {
    for (keys, answer, written) in [
        (" b ", Some('b'), ""),
        (" n ", Some('n'), ""),
        // Too early: the letter is neither an answer nor text.
        ("b ", None, ""),
        ("b b ", Some('b'), ""),
        // Part of typed or pasted text.
        (" be ", None, "be"),
        (" b\r ", None, "b"),
        (" x ", None, "x"),
        (" P ", None, "b"),
        (" xb ", None, "xb"),
        // Enter alone is no answer.
        (" \r\r ", None, ""),
    ] {
        let (at, answered) = decision(keys);
        assert_eq!(
            (answered, at.repl.editor.text().as_str()),
            (answer, written),
            "{keys:?}"
        );
    }
}

#[test]
fn who_leaves_a_decision_or_no_longer_waits_for_it_has_the_keys_back() {
    let (mut at, _) = decision(" ");
    let alternatives = vec![Alternative::new('b', "both")];
    let (decision, answered) = Decision::new("Go back?".to_owned(), alternatives);
    at.repl.decide(decision, at.now);
    at.wait(1_000);
    assert_eq!(at.code(KeyCode::Esc), [Act::Interrupt]);
    drop(answered);
    at.write("b");
    assert!(at.repl.deciding().is_none());
    assert_eq!(at.repl.editor.text(), "b");
    at.repl.fill("the prompt", at.now);
    assert_eq!(at.repl.editor.text(), "the prompt");
    at.code(KeyCode::Up);
    assert_eq!(at.repl.editor.text(), "b", "what stood there is not lost");
}

#[test]
fn an_enter_that_was_on_its_way_does_not_send_what_was_filled_in() {
    let mut at = At::new();
    at.write("half a thou");
    at.repl.fill("/commit accept\nOne", at.now);
    assert_eq!(at.repl.editor.text(), "/commit accept\nOne");
    assert_eq!(at.code(KeyCode::Enter), []);
    assert_eq!(
        at.repl.settles_at(at.now),
        at.repl.filled.map(|filled| filled + STARTLED)
    );
    at.wait(500);
    at.repl.settle(at.now);
    assert_eq!(at.repl.hint, Some(SENDS));
    assert_eq!(at.code(KeyCode::Enter), [Act::Send("/commit accept\nOne".to_owned())]);
    assert_eq!(at.repl.hint, None);
    // The unsent draft is not lost.
    (0..3).for_each(|_| drop(at.code(KeyCode::Up)));
    assert!(
        at.repl.editor.text().contains("half a thou"),
        "{}",
        at.repl.editor.text()
    );
}
