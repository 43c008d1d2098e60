//! The session's conversation: what is promised of appending, compacting, taking back, pinning and reading back.

use crate::common::{answers, assert_valid, conversation_of, prompts, read, result, run, says};
use codelet_context::body::Body;
use codelet_context::compact::FateKind;
use codelet_context::conversation::{Conversation, Due, Refusal, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Message, Nature, Origin, Part, ReminderKind, Role, Text, ToolResult};
use codelet_context::pin::Pin;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::reminder;
use codelet_context::summary_request::Failure;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;
use codelet_context::validate::validate;
use codelet_context::view::View;
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

const ASKED: Signals = Signals {
    is_asked: true,
    is_wished: false,
    is_cold: false,
};

/// About so many bytes of output, unlike any other.
fn output(seed: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 80);
    let mut number = seed as u64;
    while text.len() < bytes {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!(
            "src/part_{:x}.rs:{}: let field_{:x} = load({});\n",
            number >> 52,
            number % 977,
            number >> 40,
            number % 71
        ));
    }
    text
}

fn step(number: usize, bytes: usize) -> [Message; 2] {
    let id = format!("call_{number}");
    [
        says(vec![read(&id, &format!("src/file_{number}.rs"))]),
        answers(vec![result(&id, output(number, bytes))]),
    ]
}

/// Steps of one prompt.
fn conversation(steps: usize, bytes: usize, window: Tokens) -> Conversation {
    let mut messages = vec![Message::system("Be brief."), Message::user("Make the parser faster.")];
    messages.extend((0..steps).flat_map(|number| step(number, bytes)));
    conversation_of(messages, window)
}

fn shown(conversation: &Conversation) -> Vec<Arc<Message>> {
    conversation.view().messages.clone()
}

fn says_somewhere(conversation: &Conversation, words: &str) -> bool {
    format!("{:?}", conversation.view().messages).contains(words)
}

fn summary(conversation: &Conversation) -> String {
    let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Summary => Some(text.body.to_string()),
        _ => None,
    });
    texts.collect()
}

/// Every text and parameter of the history, which is all that a handle may stand for.
fn said(messages: &[Arc<Message>]) -> HashSet<String> {
    fn add(part: &Part, all: &mut HashSet<String>) {
        match part {
            Part::Text(text) => drop(all.insert(text.body.to_string())),
            Part::Thinking(thinking) => drop(all.insert(thinking.body.to_string())),
            Part::Image(image) => drop(all.insert(image.data.to_string())),
            Part::ToolCall(call) => drop(all.insert(call.parameters.json().to_string())),
            Part::ToolResult(result) => {
                all.extend(result.error.iter().map(Body::to_string));
                result.output.iter().for_each(|part| add(part, all));
            }
            Part::Opaque(opaque) => drop(all.insert(opaque.value.to_string())),
        }
    }
    let mut all = HashSet::new();
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.for_each(|part| add(part, &mut all));
    all
}

/// The handles of everything that a view shows cut.
fn handles(messages: &[Arc<Message>]) -> HashSet<String> {
    fn named(text: &Text, all: &mut HashSet<String>) {
        all.extend(text.cut.iter().map(|handle| handle.to_string()));
    }
    let mut all = HashSet::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match part {
            Part::Text(text) => named(text, &mut all),
            Part::ToolCall(call) => all.extend(call.cut.iter().map(|handle| handle.to_string())),
            Part::ToolResult(result) => result.texts().for_each(|text| named(text, &mut all)),
            _ => {}
        }
    }
    all
}

/// A session as a loop lives it: several outputs a step, each bounded as it comes in; they are looked at in the first view
/// that holds them, and the words that stand at the head in every view.
fn live_through(window: Tokens, ratio: f64, bytes: usize, at_once: usize, preset: Preset) -> usize {
    let instructions = "Never touch the public interface. ".repeat(40);
    let rules = "Write British English. ".repeat(30);
    let config = CompactionConfig::new(window).reserving(window / 20);
    let economics = Economics::new(codelet_context::price::usual()).preset(preset);
    let mut conversation = Conversation::new(config, window / 20).under(economics);
    conversation.append(Message::system(instructions.as_str()));
    let reminder = Part::text_from(Origin::Reminder(ReminderKind::Instructions), rules.as_str());
    conversation.append(Message::new(
        Role::User,
        vec![reminder, Part::text("Read all of it and tell what is slow.")],
    ));
    let one = (window as usize * 4 / 8).min(window as usize / at_once);
    let mut compactions = 0;
    for number in 0..60 {
        let ids: Vec<String> = (0..at_once).map(|call| format!("call_{number}_{call}")).collect();
        let calls = ids.iter().map(|id| read(id, &format!("src/{id}.rs"))).collect();
        conversation.append(says(calls));
        let outputs = ids.iter().enumerate().map(|(call, id)| {
            let whole = Body::new(output(number * 10 + call, bytes));
            let mut answer = ToolResult::new(id.as_str(), Some(true), "");
            answer.output = vec![Part::Text(conversation.bounded(whole, (one * 2 / 3, one / 3), "Read"))];
            Part::ToolResult(answer)
        });
        let results = answers(outputs.collect());
        conversation.append(results.clone());
        if let Some(due) = conversation.decide(Signals::default()) {
            let notice = conversation.compact(due).unwrap();
            assert!(notice.after < notice.before, "{notice}");
            compactions += 1;
        }
        let estimate: Tokens = conversation
            .view()
            .messages
            .iter()
            .map(|message| estimate_message(message))
            .sum();
        let prompt = ((estimate + window / 20) as f64 * ratio) as Tokens;
        assert!(prompt <= window, "{prompt} of {window}");
        let view = shown(&conversation);
        let place = format!("window {window}, {at_once} of {bytes} bytes, step {number}");
        assert!(
            view.iter().any(|message| **message == results),
            "{place}: an output that was never seen is cut"
        );
        let says = |words: &str| {
            let texts = view.iter().flat_map(|message| &message.parts);
            texts
                .filter(|part| matches!(part, Part::Text(text) if text.body.as_str() == words))
                .count()
        };
        assert_eq!(says(&instructions), 1, "{place}: the system prompt");
        assert_eq!(says(&rules), 1, "{place}: the reminder");
        assert_eq!(says("Read all of it and tell what is slow."), 1, "{place}: the prompt");
        let usage = Usage::from_exclusive(prompt, 0, 0, 10);
        conversation.reported(Report {
            usage,
            reasoning: 0,
            is_whole: true,
        });
    }
    compactions
}

#[test]
fn an_output_that_the_model_has_not_seen_stays_whole_and_so_does_what_stands_at_the_head() {
    for window in [16_000, 32_000, 64_000, 200_000] {
        for (bytes, at_once) in [
            (6_000, 1),
            (6_000, 3),
            (12_000, 1),
            (20_000, 1),
            (20_000, 4),
            (60_000, 2),
        ] {
            for (ratio, preset) in [(1.0, Preset::Off), (1.3, Preset::Off), (1.0, Preset::Faithful)] {
                live_through(window, ratio, bytes, at_once, preset);
            }
        }
    }
    assert!(live_through(32_000, 1.0, 12_000, 1, Preset::Off) > 3);
}

#[test]
fn between_edit_points_the_view_only_grows_at_its_end() {
    let mut conversation = conversation(30, 4_000, 20_000);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let mut before = shown(&conversation);
    for number in 100..120 {
        for message in step(number, 500) {
            conversation.append(message);
            let after = shown(&conversation);
            assert_eq!(after.len(), before.len() + 1);
            assert!(before.iter().zip(&after).all(|(a, b)| Arc::ptr_eq(a, b)));
            before = after;
        }
        let _ = conversation.decide(Signals::default());
        conversation.state("a model", 0);
    }
}

#[test]
fn a_view_after_undo_is_the_view_before_and_what_came_since() {
    let mut conversation = conversation(40, 4_000, 20_000);
    let before = shown(&conversation);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let between = step(100, 4_000);
    between.iter().for_each(|message| conversation.append(message.clone()));
    let middle = shown(&conversation);
    conversation.compact_to(3_000, Reason::Asked).unwrap();
    conversation.append(Message::assistant("done"));

    assert!(conversation.undo_compact());
    let done = Arc::new(Message::assistant("done"));
    assert_eq!(shown(&conversation), [middle, vec![done.clone()]].concat());
    assert!(conversation.undo_compact());
    let since = between.into_iter().map(Arc::new).chain([done]).collect();
    assert_eq!(shown(&conversation), [before, since].concat());
    assert_eq!(shown(&conversation), conversation.history().messages());
    assert!(!conversation.undo_compact(), "there is nothing left to take back");
    assert!(conversation.edits().iter().all(|edit| edit.is_undone));
}

#[test]
fn who_asks_far_below_the_aim_has_a_clearly_smaller_conversation_once() {
    let mut conversation = conversation(40, 4_000, 1_000_000);
    let before = conversation.occupancy();
    let first = conversation.fates();
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(notice.changed && notice.after < before / 2, "{notice}");
    assert!(first.iter().any(|fate| fate.kind != FateKind::Kept));

    // Asked again, with next to nothing said since, there is no edit that would only cost the cache.
    conversation.append(Message::assistant("It is faster now."));
    let stands = shown(&conversation);
    let again = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(
        !again.changed && again.to_string().starts_with("Nothing to compact:"),
        "{again}"
    );
    assert_eq!((shown(&conversation), conversation.edits().len()), (stands, 1));

    // What is said after that is compacted as what came before it was.
    for message in (100..140).flat_map(|number| step(number, 4_000)) {
        conversation.append(message);
    }
    let before = conversation.occupancy();
    let later = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(later.changed && later.after < before / 4 * 3, "{later}");
    assert!(later.after >= notice.after / 2, "{later}");
}

#[test]
fn a_conversation_of_a_few_words_has_nothing_to_compact() {
    let messages = ["One.", "Two.", "Three."]
        .into_iter()
        .flat_map(|words| [Message::user(words), Message::assistant("Done.")]);
    let mut conversation = conversation_of(messages.collect::<Vec<_>>(), 200_000);
    let stands = shown(&conversation);
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(!notice.changed, "{notice}");
    assert_eq!((shown(&conversation), conversation.edits().len()), (stands, 0));
}

#[test]
fn an_edit_and_its_undo_are_told_in_the_figures_of_the_window() {
    let mut conversation = conversation(40, 4_000, 20_000);
    let before = conversation.occupancy();
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert_eq!((notice.before, notice.after), (before, conversation.occupancy()));
    // What nobody has counted anew comes back as it was.
    assert!(conversation.undo_compact());
    assert_eq!(conversation.occupancy(), before);
    conversation.compact(Due::whole(Reason::Asked)).unwrap();
    // A prompt that an agent keeps to itself, say, or pictures: what is counted is far from what was estimated.
    conversation.sending(false);
    let report = Report {
        usage: Usage::from_exclusive(90_000, 0, 0, 5),
        reasoning: 0,
        is_whole: true,
    };
    conversation.replied(Message::assistant("done"), report);
    let compacted = conversation.occupancy();
    assert!(conversation.undo_compact());
    assert!(conversation.occupancy() > compacted);
    // What is said of the window from here on is the same number.
    assert_eq!(conversation.occupancy(), conversation.state("a model", 0).current);
}

#[test]
fn a_handle_that_was_shown_is_answered_after_every_later_compaction_and_undo() {
    let mut conversation = conversation(30, 6_000, 20_000);
    let mut ever = HashSet::new();
    for round in 0..3 {
        conversation.compact_to(1_800 - 300 * round, Reason::Asked).unwrap();
        ever.extend(handles(&conversation.view().messages));
        step(200 + round as usize, 6_000)
            .into_iter()
            .for_each(|message| conversation.append(message));
    }
    while conversation.undo_compact() {}
    let said = said(conversation.history().messages());
    assert!(!ever.is_empty());
    for handle in ever {
        let whole = conversation.recall(&handle, None).unwrap();
        assert!(said.contains(whole), "{handle}");
        assert_eq!(conversation.recall(&handle, Some(2..7)), Some(&whole[2..7]));
    }
    assert_eq!(conversation.recall("nobody", None), None);
}

#[test]
fn what_was_removed_says_which_compaction_removed_it_and_why() {
    let mut conversation = conversation(30, 6_000, 20_000);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let number = conversation.history().messages().len();
    let first = output(0, 6_000);
    let (handle, _) = conversation
        .archive()
        .iter()
        .find(|(_, removed)| removed.body.as_str() == first)
        .unwrap();
    let handle = handle.to_string();
    conversation.append(Message::assistant("on"));
    conversation.compact_to(2_000, Reason::Asked).unwrap();
    let why = conversation.why(&handle).unwrap();
    let (compaction, edit) = why.edit.unwrap();
    assert_eq!((compaction, edit.reason, edit.at), (1, Reason::Full, number));
    assert_eq!(&*why.removed.tool, "Read");
    let kept = conversation.keep(&Body::new("a long output"), "Bash", "bounded");
    assert_eq!(conversation.why(kept.as_str()).unwrap().edit, None);
    assert_eq!(conversation.recall(kept.as_str(), Some(2..6)), Some("long"));
}

#[test]
fn what_came_back_and_is_removed_again_was_removed_by_the_later_compaction() {
    let mut conversation = conversation(30, 6_000, 20_000);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let first = output(0, 6_000);
    let handle = |conversation: &Conversation| {
        let mut all = conversation.archive().iter();
        let found = all.find(|(_, removed)| removed.body.as_str() == first);
        found.map(|(handle, _)| handle.to_string()).unwrap()
    };
    let handle = handle(&conversation);
    assert!(conversation.undo_compact());
    assert!(conversation.why(&handle).unwrap().edit.unwrap().1.is_undone);
    conversation.append(Message::assistant("on"));
    conversation.compact(Due::whole(Reason::Asked)).unwrap();
    let (compaction, edit) = conversation.why(&handle).unwrap().edit.unwrap();
    assert_eq!((compaction, edit.reason, edit.is_undone), (2, Reason::Asked, false));
}

#[test]
fn what_is_small_already_is_told_anew_for_what_the_user_asks_about() {
    let mut conversation = conversation(30, 6_000, 20_000);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let size = conversation.shown().tokens;
    // Among the last lines of an old output.
    let old = output(3, 6_000);
    let (_, asked) = old.lines().nth(100).unwrap().split_once("let ").unwrap();
    let asked = asked.split(' ').next().unwrap();
    assert!(!says_somewhere(&conversation, asked));
    conversation.attend_to(Some(asked));
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(notice.changed && conversation.shown().tokens <= size);
    assert!(says_somewhere(&conversation, asked));
}

#[test]
fn who_asks_in_a_nearly_empty_window_loses_no_line_of_a_prompt() {
    let mut conversation = conversation(0, 0, 1_000_000);
    let wishes: String = (0..120)
        .map(|number| format!("{number}. The form has a field for the name of tenant {number}, and checks it.\n"))
        .collect();
    for message in [
        Message::user(wishes.as_str()),
        Message::assistant("All of that is built."),
    ] {
        conversation.append(message);
    }
    for message in (0..12).flat_map(|number| step(number, 4_000)) {
        conversation.append(message);
    }
    conversation.append(Message::user("And now the second page."));
    conversation.append(Message::assistant("It is there."));
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(notice.changed, "{notice}");
    assert_eq!(
        wishes.lines().find(|line| !says_somewhere(&conversation, line)),
        None,
        "{notice}"
    );
}

#[test]
fn a_file_that_the_user_asks_about_is_quoted_though_none_of_its_lines_names_it() {
    let conversation = conversation(30, 6_000, 200_000);
    let old = output(3, 6_000);
    let quoted = |asked: Option<&str>| {
        let mut conversation = conversation.clone();
        conversation.attend_to(asked);
        conversation.compact_to(6_000, Reason::Asked).unwrap();
        old.lines().filter(|line| says_somewhere(&conversation, line)).count()
    };
    let (usual, asked) = (quoted(None), quoted(Some("keep src/file_3.rs")));
    assert!(asked > 2 * usual + 10, "{asked} lines, {usual} as usual");
    assert_eq!(quoted(Some("please keep it")), usual, "nothing is named");
}

#[test]
fn pins_survive_three_compactions_word_for_word() {
    let mut conversation = conversation(4, 300, 60_000);
    let pinned_result = conversation.history().messages().len() - 1;
    conversation.append(Message::assistant(
        "The key is: never call flush() twice.\nNot even in tests.",
    ));
    let pinned_answer = conversation.history().messages().len() - 1;
    assert!(conversation.pin(Pin::Message(pinned_result)));
    assert!(conversation.pin(Pin::Message(pinned_answer)));
    assert!(conversation.pin(Pin::Text("tabs, not spaces".into())));
    assert!(!conversation.pin(Pin::Message(usize::MAX)), "there is no such message");
    for round in 0..3 {
        for number in 0..40 {
            step(1_000 * (round + 1) + number, 4_000)
                .into_iter()
                .for_each(|message| conversation.append(message));
        }
        let notice = match round {
            1 => conversation.compact_with_answer(Due::whole(Reason::Asked), Ok("1. Main goal: speed".into())),
            _ => conversation.compact(Due::whole(Reason::Full)),
        };
        assert!(notice.unwrap().changed);
        for index in [pinned_result, pinned_answer] {
            let message = &conversation.history().messages()[index];
            assert!(
                conversation.view().messages.contains(message),
                "round {round}: {message:?}"
            );
        }
        assert!(summary(&conversation).contains("tabs, not spaces"), "round {round}");
        assert_valid(conversation.view());
    }
    assert_eq!(conversation.pins().len(), 3);
    assert!(conversation.unpin(&Pin::Message(pinned_answer)));
    step(9_000, 9_000)
        .into_iter()
        .for_each(|message| conversation.append(message));
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let message = &conversation.history().messages()[pinned_answer];
    assert!(!conversation.view().messages.contains(message));
}

#[test]
fn pins_larger_than_the_target_are_shortened_with_a_handle() {
    let mut conversation = conversation(10, 40_000, 30_000);
    for index in 3..20 {
        conversation.pin(Pin::Message(index));
    }
    conversation.append(Message::assistant("These are the parts."));
    let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
    assert!(notice.after <= conversation.config().target(), "{notice}");
    assert!(!handles(&conversation.view().messages).is_empty());
    let results = conversation
        .view()
        .messages
        .iter()
        .flat_map(|message| message.tool_results());
    assert_eq!(results.count(), 10, "each of them is still there");
    assert_valid(conversation.view());
}

#[test]
fn three_compactions_over_a_growing_conversation_keep_the_facts_of_its_first_part() {
    let mut conversation = conversation(0, 0, 40_000);
    let mut number = 0;
    conversation.append(says(vec![run("first", "cargo test --test grammar")]));
    conversation.append(answers(vec![result("first", "test result: ok. 7 passed; 0 failed")]));
    let target = conversation.config().target();
    for _ in 0..3 {
        while conversation.decide(Signals::default()).is_none() {
            for message in step(number, 3_000) {
                conversation.append(message);
            }
            number += 1;
        }
        let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
        assert!(notice.after <= target && notice.warnings.is_empty(), "{notice}");
        assert!(says_somewhere(&conversation, "Make the parser faster."));
        let summary = summary(&conversation);
        assert!(summary.contains("cargo test --test grammar"), "{summary}");
        assert_eq!(
            summary.matches("Summary of the earlier part").count(),
            1,
            "no summary of a summary"
        );
        assert!(summary.contains("file_0.rs"), "{summary}");
        let own = |message: &Arc<Message>| {
            message
                .parts
                .iter()
                .any(|part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Summary | Origin::Notice)))
        };
        assert!(
            !conversation.history().messages().iter().any(own),
            "the engine never reads its own words"
        );
    }
    assert_eq!(conversation.edits().len(), 3);
}

#[test]
fn a_session_of_one_prompt_and_300_steps_never_passes_its_window() {
    for (window, reserved, most) in [(32_000, 4_000, 120), (200_000, 8_000, 16)] {
        let config = CompactionConfig::new(window).reserving(reserved);
        let mut conversation = Conversation::new(config, 1_500);
        conversation.append(Message::system("Be brief."));
        conversation.append(Message::user("Make the parser faster."));
        let mut after_last: Vec<Arc<Message>> = Vec::new();
        for number in 0..300 {
            if let Some(due) = conversation.decide(Signals::default()) {
                let notice = conversation.compact(due).unwrap();
                assert!(notice.changed, "{notice}");
                // What the model has not seen yet comes on top.
                let unseen = (20_000 / 4 + 200) * 5 / 4;
                assert!(notice.after <= conversation.config().target() + unseen, "{notice}");
            } else {
                let view = shown(&conversation);
                assert!(view.starts_with(&after_last));
            }
            after_last = shown(&conversation);
            assert_eq!(
                conversation.decide(Signals::default()),
                None,
                "step {number}: one is enough"
            );
            let state = conversation.state("a model", 0);
            assert!(state.percent_used <= 100.0, "step {number}: {state:?}");
            // A vendor whose tokens are smaller than the estimate has it, most of them cached.
            let prompt = (conversation.shown().tokens + 1_500) * 5 / 4;
            let [call, results] = step(number, 20_000);
            let usage = Usage::from_inclusive(prompt, prompt * 9 / 10, 30);
            conversation.replied(
                call,
                Report {
                    usage,
                    reasoning: 0,
                    is_whole: true,
                },
            );
            conversation.append(results);
        }
        let count = conversation.edits().len();
        assert!(
            (1..=most).contains(&count),
            "{count} compactions in a window of {window}"
        );
    }
}

#[test]
fn the_figures_after_a_compaction_are_an_estimate_on_the_basis_of_the_notice() {
    let mut conversation = conversation(30, 6_000, 30_000);
    let report = Report {
        usage: Usage::from_inclusive(60_000, 50_000, 100),
        reasoning: 10,
        is_whole: true,
    };
    conversation.replied(Message::assistant("well"), report);
    let notice = conversation.compact(Due::whole(Reason::Full)).unwrap();
    let tokens = conversation.tokens();
    assert!(tokens.is_estimate);
    assert_eq!((tokens.input, tokens.cache_read), (notice.after, 50_000));
    assert_eq!(tokens.billed, report.usage);
    assert_eq!(conversation.state("a model", 0).current, notice.after);
    let words = notice.took(Duration::from_millis(3)).to_string();
    assert!(
        words.starts_with("Context compacted: ") && words.ends_with(" · kept 1 turn · 3 ms · /undo-compact"),
        "{words}"
    );
}

#[test]
fn a_user_who_asks_in_a_small_conversation_is_told_that_there_is_nothing_to_do() {
    let mut conversation = conversation(2, 100, 200_000);
    let before = shown(&conversation);
    assert_eq!(conversation.decide(Signals::default()), None);
    assert_eq!(conversation.decide(ASKED).map(Due::reason), Some(Reason::Asked));
    let notice = conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(
        !notice.changed && notice.to_string().starts_with("Nothing to compact:"),
        "{notice}"
    );
    assert_eq!(shown(&conversation), before);
    assert!(!conversation.undo_compact());
}

#[test]
fn what_cannot_be_made_to_fit_ends_in_a_clear_error_and_never_in_a_loop() {
    let mut messages = vec![Message::system("s".repeat(400))];
    for number in 0..600 {
        messages.push(Message::user(format!("Prompt number {number}.")));
        messages.push(Message::assistant("ok"));
    }
    let mut conversation = conversation_of(messages, 2_000);
    // Prompts fold, but not those that are pinned.
    (0..200).for_each(|number| assert!(conversation.pin(Pin::Message(1 + 2 * number))));
    let mut refusal = None;
    let mut tries = 0;
    while let Some(due) = conversation.decide(Signals::default()) {
        tries += 1;
        assert!(tries <= 3, "a loop");
        match conversation.compact(due) {
            Ok(notice) => assert!(!notice.warnings.is_empty(), "{notice}"),
            Err(error) => {
                refusal = Some(error);
                break;
            }
        }
    }
    assert!(matches!(refusal, Some(Refusal::Stuck(_))), "{refusal:?}");
    let before = shown(&conversation);
    assert!(matches!(
        conversation.compact(Due::whole(Reason::Full)),
        Err(Refusal::Stuck(_))
    ));
    assert_eq!(shown(&conversation), before);
    conversation.configure(CompactionConfig::new(200_000));
    assert_eq!(
        conversation.decide(Signals::default()),
        None,
        "a larger window mends it"
    );
}

#[test]
fn a_provider_that_refuses_again_and_again_ends_in_an_error() {
    for named in [None, Some(100_000)] {
        let mut conversation = conversation(60, 6_000, 200_000);
        let mut last = Tokens::MAX;
        let mut requests = 0;
        let error = loop {
            requests += 1;
            assert!(requests <= 5, "a loop");
            conversation.refused(named, None);
            assert_eq!(
                conversation.decide(Signals::default()).map(Due::reason),
                Some(Reason::Refused)
            );
            match conversation.compact(Due::whole(Reason::Refused)) {
                Ok(notice) => assert!(notice.after < last, "each try is smaller: {notice}"),
                Err(error) => break error,
            }
            last = conversation.state("a model", 0).current;
        };
        assert!(matches!(error, Refusal::Stuck(_)), "{error}");
        conversation.configure(CompactionConfig::new(1_000_000));
        assert_eq!(
            conversation.decide(Signals::default()),
            None,
            "a model with a larger window mends it"
        );
        assert!(conversation.compact(Due::whole(Reason::Asked)).is_ok());
    }
}

#[test]
fn what_is_computed_anew_when_going_back_is_what_it_was() {
    let mut back = conversation(40, 4_000, 20_000);
    let mut twin = back.clone();
    let earlier = back.earlier();
    for message in step(900, 4_000) {
        back.append(message);
    }
    back.compact(Due::whole(Reason::Full)).unwrap();
    back.restore(earlier);
    for conversation in [&mut back, &mut twin] {
        conversation.append(Message::user("And the writer."));
        conversation.compact(Due::whole(Reason::Full)).unwrap();
    }
    assert_eq!(shown(&back), shown(&twin));
    assert_eq!(back.facts(), twin.facts());
    assert_eq!(back.history().messages(), twin.history().messages());
}

#[test]
fn going_back_to_before_a_prompt_keeps_what_the_user_and_the_provider_have_settled_since() {
    let mut conversation = conversation(40, 4_000, 20_000);
    let (before, earlier) = (shown(&conversation), conversation.earlier());
    conversation.append(Message::user("And the writer."));
    conversation.pin(Pin::Text("never touch the release branch".into()));
    conversation.pin(Pin::Message(conversation.history().messages().len() - 1));
    conversation.attend_to(Some("release"));
    let dear = Economics {
        preset: Preset::Off,
        ..Economics::default()
    };
    conversation.set_economics(dear.clone());
    conversation.configure(CompactionConfig::new(30_000));
    conversation.compact(Due::whole(Reason::Asked)).unwrap();
    let handle = conversation.archive().iter().next().unwrap().0.to_string();
    let limit = |conversation: &Conversation| conversation.state("a model", 0).capacity;
    let settled = limit(&conversation);
    conversation.restore(earlier);
    assert_eq!(shown(&conversation), before);
    assert_eq!(
        conversation.pins(),
        [Pin::Text("never touch the release branch".into())],
        "the message is gone"
    );
    assert_eq!(conversation.economics(), &dear);
    assert_eq!(limit(&conversation), settled);
    let removal = conversation.why(&handle).unwrap();
    let (number, edit) = removal.edit.unwrap();
    assert!(number == 1 && edit.reason == Reason::Asked && edit.is_undone);
    conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert!(summary(&conversation).contains("never touch the release branch"));
    assert!(!conversation.edits().last().unwrap().is_undone);
}

#[test]
fn a_compaction_waits_for_answers_that_may_still_come() {
    let mut conversation = conversation(30, 6_000, 20_000);
    let calls = says(vec![run("a", "ls"), run("b", "pwd")]);
    conversation.append(calls);
    conversation.append(answers(vec![result("b", "/")]));
    let before = shown(&conversation);
    assert_eq!(
        conversation.compact(Due::whole(Reason::Full)),
        Err(Refusal::OpenCalls(1))
    );
    assert_eq!(shown(&conversation), before);
    conversation.append(answers(vec![result("a", "src")]));
    assert!(conversation.compact(Due::whole(Reason::Full)).unwrap().changed);
    assert_valid(conversation.view());
}

#[test]
fn a_prompt_ends_the_wait_for_answers() {
    let mut conversation = conversation(30, 6_000, 20_000);
    conversation.append(says(vec![run("a", "ls")]));
    conversation.append(Message::user("stop"));
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    assert_valid(conversation.view());
}

#[test]
fn a_model_written_summary_is_used_and_a_failed_one_is_replaced_and_told() {
    let table = [
        (Ok("1. Main goal: a faster parser".into()), None),
        (Ok("  ".into()), Some("the model's summary was empty")),
        (Err(Failure::Cut), Some("cut at")),
        (Err(Failure::Failed("status 500".into())), Some("status 500")),
    ];
    for (answer, told) in table {
        let mut conversation = conversation(40, 4_000, 30_000);
        let request = conversation.summary_request();
        assert!(
            request.messages.starts_with(&conversation.view().messages),
            "it reads the cache"
        );
        let notice = conversation
            .compact_with_answer(Due::whole(Reason::Full), answer)
            .unwrap();
        let words = notice.to_string();
        let summary = summary(&conversation);
        assert_eq!(summary.contains("1. Main goal: a faster parser"), told.is_none());
        assert!(summary.contains("\nQuoted, shortened"));
        match told {
            Some(told) => assert!(words.contains(told), "{words}"),
            None => assert!(!words.contains("warning"), "{words}"),
        }
        assert_valid(conversation.view());
    }
}

#[test]
fn superseded_reminders_leave_the_view_at_an_edit_point_and_not_before() {
    let mut conversation = Conversation::new(CompactionConfig::new(60_000), 0);
    conversation.append(Message::system("Be brief."));
    for turn in 0..30 {
        let status = format!("on branch work, {turn} files changed\n{}", "M src/lib.rs\n".repeat(100));
        let rules = if turn < 20 { "be good" } else { "be kind" };
        let contents = [
            (ReminderKind::Instructions, rules),
            (ReminderKind::GitStatus, status.as_str()),
        ];
        if let Some(message) = reminder::update(&conversation.view().messages, &contents) {
            conversation.append(message);
        }
        conversation.append(Message::user(format!("Prompt {turn}.")));
        step(turn, 5_000)
            .into_iter()
            .for_each(|message| conversation.append(message));
        conversation.append(Message::assistant("done"));
    }
    let reminders = |conversation: &Conversation| {
        let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
        let reminders = parts.filter_map(|part| match part {
            Part::Text(text) if matches!(text.origin, Origin::Reminder(_)) => Some(text.body.to_string()),
            _ => None,
        });
        reminders.collect::<Vec<_>>()
    };
    assert_eq!(reminders(&conversation).len(), 32);
    conversation.compact(Due::whole(Reason::Full)).unwrap();
    let left = reminders(&conversation);
    assert_eq!(left.len(), 2, "{left:#?}");
    assert!(left[0].contains("be kind") && !left[0].contains("note="));
    assert!(left[1].contains("29 files changed"));
    assert_eq!(prompts(conversation.view()).len(), 30);
    assert!(
        conversation
            .archive()
            .iter()
            .any(|(_, removed)| removed.body.as_str().contains("be good"))
    );
    assert_valid(conversation.view());
}

#[test]
fn the_last_message_of_a_compacted_view_is_never_the_assistants() {
    let mut conversation = conversation(30, 6_000, 20_000);
    conversation.append(Message::assistant("All done."));
    conversation.compact(Due::whole(Reason::Asked)).unwrap();
    assert_eq!(conversation.view().messages.last().unwrap().role, Role::User);
}

#[derive(Clone, Debug)]
enum Op {
    Append(usize),
    Compact(Tokens),
    Select,
    Answer,
    Undo,
    Pin(usize),
    PinText(String),
    Unpin(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..12usize).prop_map(Op::Append),
        4 => prop_oneof![0..200u64, 200..6_000u64, 6_000..60_000u64].prop_map(Op::Compact),
        1 => Just(Op::Select),
        1 => Just(Op::Answer),
        3 => Just(Op::Undo),
        2 => (0..80usize).prop_map(Op::Pin),
        1 => "[a-z ]{0,40}".prop_map(Op::PinText),
        1 => (0..4usize).prop_map(Op::Unpin),
    ]
}

/// The same messages, but for replies that the vendor has not finished: those are closed when something else is said.
fn assert_same(shown: &[Arc<Message>], expected: &[Arc<Message>]) {
    let is_pending = |part: &Part| matches!(part, Part::Opaque(opaque) if opaque.nature == Nature::Pending);
    assert_eq!(shown.len(), expected.len());
    for (shown, expected) in shown.iter().zip(expected) {
        let may_close = expected.role == Role::Assistant && expected.parts.iter().any(is_pending);
        let is_alike = may_close && shown.parts.len() == expected.parts.len();
        assert!(shown == expected || is_alike, "{shown:?} for {expected:?}");
    }
}

/// `is_exact`: nothing in the source needs mending, so every handle stands for something that was said.
fn keeps_its_promises(source: &[Arc<Message>], ops: Vec<Op>, is_exact: bool) {
    let mut conversation = Conversation::new(CompactionConfig::new(20_000), 100);
    let mut left = source.iter().cloned();
    // The views that undo must bring back, and where what was appended since begins.
    let mut earlier: Vec<(Vec<Arc<Message>>, usize)> = Vec::new();
    let mut ever: HashSet<String> = HashSet::new();
    let mut appended: Vec<Arc<Message>> = Vec::new();
    let mut ever_said: HashSet<String> = HashSet::new();
    for op in ops {
        let before = shown(&conversation);
        let edits = conversation.edits().len();
        let mut compacted =
            |conversation: &mut Conversation, done: Result<codelet_context::notice::Notice, Refusal>| match done {
                Ok(notice) if notice.changed => {
                    assert!(notice.after < notice.before);
                    assert_eq!(conversation.edits().len(), edits + 1);
                    earlier.push((before.clone(), conversation.view().messages.len()));
                    assert_valid(conversation.view());
                    assert_eq!(conversation.tokens().input, notice.after);
                    if is_exact {
                        pins_are_there(conversation, &before);
                    }
                }
                _ => {
                    assert_eq!(shown(conversation), before, "what changed nothing changed nothing");
                    assert_eq!(conversation.edits().len(), edits);
                }
            };
        match op {
            Op::Append(count) => {
                let more: Vec<_> = left.by_ref().take(count).collect();
                more.iter().for_each(|message| conversation.append(message.clone()));
                assert_same(&shown(&conversation), &[before, more].concat());
            }
            Op::Compact(tokens) => {
                let done = conversation.compact_to(tokens, Reason::Asked);
                compacted(&mut conversation, done);
            }
            Op::Select => {
                let done = conversation.compact(Due::whole(Reason::Asked));
                compacted(&mut conversation, done);
            }
            Op::Answer => {
                let answer = Ok("1. Main goal: none".into());
                let done = conversation.compact_with_answer(Due::whole(Reason::Cold), answer);
                compacted(&mut conversation, done);
            }
            Op::Undo => match earlier.pop() {
                Some((old, end)) => {
                    assert!(conversation.undo_compact());
                    assert_same(&shown(&conversation), &[old, before[end..].to_vec()].concat());
                }
                None => assert!(!conversation.undo_compact()),
            },
            Op::Pin(index) => {
                let may = index < conversation.history().messages().len()
                    && !conversation.pins().contains(&Pin::Message(index));
                assert_eq!(conversation.pin(Pin::Message(index)), may);
            }
            Op::PinText(text) => drop(conversation.pin(Pin::Text(text))),
            Op::Unpin(number) => {
                if let Some(pin) = conversation.pins().get(number).cloned() {
                    assert!(conversation.unpin(&pin));
                }
            }
        }
        let whole = View {
            messages: conversation.history().messages().to_vec(),
            ..View::default()
        };
        if validate(&whole).is_empty() {
            assert_valid(conversation.view());
        }
        let tokens: Tokens = codelet_context::compact::Size::of(&conversation.view().messages).tokens;
        assert_eq!(conversation.shown().tokens, tokens);
        ever.extend(handles(&conversation.view().messages));
        let history = conversation.history().messages();
        assert!(history.starts_with(&appended), "the history is only ever appended to");
        ever_said.extend(said(&history[appended.len()..]));
        appended.extend_from_slice(&history[appended.len()..]);
        for handle in &ever {
            let whole = conversation.recall(handle, None);
            let is_fold = || {
                let kept = conversation.archive().get(handle);
                kept.is_some_and(|kept| &*kept.tool == "prompts")
            };
            assert!(
                whole.is_some_and(|whole| !is_exact || ever_said.contains(whole) || is_fold()),
                "{handle}"
            );
        }
        prompts_survive(&conversation);
    }
}

/// What the user has said is there word for word, or under a handle that is shown.
fn prompts_survive(conversation: &Conversation) {
    let view = &conversation.view().messages;
    let handles = handles(view);
    let recalled = handles.iter().filter_map(|handle| conversation.recall(handle, None));
    let there: HashSet<&str> = view
        .iter()
        .flat_map(|message| own_words(message))
        .chain(recalled)
        .collect();
    let history = conversation.history().messages().iter();
    for words in history.flat_map(|message| own_words(message)) {
        let is_there = there.contains(words) || there.iter().any(|text| text.contains(words));
        assert!(is_there, "a prompt is gone: {words:?}");
    }
}

fn own_words(message: &Message) -> impl Iterator<Item = &str> {
    let parts = message.parts.iter().filter(|_| message.role == Role::User);
    parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own && !text.body.is_blank() => Some(text.body.as_str()),
        _ => None,
    })
}

/// What a pinned message that was in sight says, asks for and answers is there word for word, or cut with a handle to the
/// whole.
fn pins_are_there(conversation: &Conversation, before: &[Arc<Message>]) {
    let view = &conversation.view().messages;
    let shown = said(view);
    let cut = handles(view);
    let cut: HashSet<&str> = cut
        .iter()
        .filter_map(|handle| conversation.recall(handle, None))
        .collect();
    for pin in conversation.pins() {
        let Pin::Message(index) = pin else { continue };
        let message = &conversation.history().messages()[*index];
        if before.contains(message) {
            let parts = message.parts.iter().filter(|part| !matches!(part, Part::Thinking(_)));
            let without_thinking = Message::new(message.role, parts.cloned().collect());
            for words in said(&[Arc::new(without_thinking)]) {
                let is_there = words.trim().is_empty() || shown.contains(&words) || cut.contains(words.as_str());
                assert!(is_there, "pinned message {index} lost {words:?}");
            }
        }
    }
}

/// 1,500 in a test run, `CODELET_CASES` on demand.
fn cases() -> u32 {
    let asked = std::env::var("CODELET_CASES").ok().and_then(|cases| cases.parse().ok());
    asked.unwrap_or(1_500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn whatever_is_done_to_a_session_its_promises_hold(source in crate::common::session(), ops in prop::collection::vec(op(), 1..25)) {
        keeps_its_promises(&source.messages, ops, true);
    }

    #[test]
    fn whatever_is_done_to_a_broken_conversation_its_promises_hold(
        source in crate::common::anything(), ops in prop::collection::vec(op(), 1..25),
    ) {
        keeps_its_promises(&source.messages, ops, false);
    }
}
