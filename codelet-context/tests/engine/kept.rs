//! What stays whatever the budget: the user's words, what is pinned, what is left to do, and thinking that belongs to calls.

use crate::common::{answers, result, run, says, thinks};
use codelet_context::compact::{Compaction, FateKind, Options, Target, compact, compact_with};
use codelet_context::conversation::{Conversation, Signals};
use codelet_context::history::History;
use codelet_context::message::{
    Action, ActionKind, Extra, Message, Origin, Part, Role, Thinking, ToolCall, ToolResult,
};
use codelet_context::policy::CompactionConfig;
use codelet_context::strategy::apply_all;
use codelet_context::tokens::estimate_message;
use codelet_context::view::View;
use serde_json::{Map, json};

fn output(seed: usize, lines: usize) -> String {
    let line = |line: usize| {
        let number = (seed * 7_919 + line * 104_729) % 999_983;
        format!("src/part_{number}.rs:{line}: let field_{number} = load({line});\n")
    };
    (0..lines).map(line).collect()
}

fn step(number: usize, lines: usize) -> [Message; 2] {
    let id = format!("c{number}");
    let call = says(vec![run(&id, &format!("./look {number}"))]);
    [call, answers(vec![result(&id, output(number, lines))])]
}

fn prompt(number: usize) -> String {
    format!(
        "Prompt {number}: {}",
        "please mind the umlauts in the names, too. ".repeat(7)
    )
}

/// So many turns of one step, each prompt about 80 tokens long.
fn chat(turns: usize) -> History {
    let turn = |number| std::iter::once(Message::user(prompt(number))).chain(step(number, 60));
    (0..turns).flat_map(turn).collect()
}

fn own_words(done: &Compaction) -> Vec<&str> {
    let parts = done.view.messages.iter().filter(|message| message.role == Role::User);
    let texts = parts.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Own => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Its record and, behind the kept steps, how things stand.
fn summary(done: &Compaction) -> String {
    let parts = done.view.messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == Origin::Summary => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn prompts_that_fit_into_the_budget_stay_verbatim_however_many_they_are() {
    let history = chat(120);
    for budget in [14_000, 20_000, 40_000] {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.after.tokens <= budget);
        let whole = own_words(&done)
            .into_iter()
            .filter(|words| words.starts_with("Prompt "));
        let said: Vec<String> = (0..120).map(prompt).collect();
        assert_eq!(whole.collect::<Vec<_>>(), said, "at {budget}");
    }
}

#[test]
fn a_prompt_that_is_hardly_longer_than_its_marker_is_never_cut_for_quoted_lines() {
    const SAID: [&str; 3] = [
        "Please make the pantry list sort by the date on the jar, and keep the pool at 5 whatever else changes in it.",
        "Forget the cache completely: delete app/cache.py, its tests and whatever imports it, and say what you have found.",
        "Which jars are listed twice, and what does the log of the last import say about those with the walnut labels?",
    ];
    let mut messages = Vec::new();
    for (at, said) in SAID.into_iter().enumerate() {
        messages.push(Message::user(said));
        messages.extend(step(at, 600));
    }
    let history: History = messages.into_iter().collect();
    for budget in [250, 300, 400, 500, 700, 1_000] {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.after.tokens <= budget, "{} for {budget}", done.after.tokens);
        let words = own_words(&done);
        assert_eq!(words[..3], SAID, "for {budget}");
    }
}

#[test]
fn a_huge_prompt_is_cut_and_the_short_ones_beside_it_are_not() {
    let mut messages: Vec<Message> = vec![Message::user(format!("Read this.\n{}", output(1, 2_000)))];
    messages.extend(step(1, 100));
    messages.push(Message::user("And now the tests."));
    messages.extend(step(2, 100));
    let history: History = messages.into_iter().collect();
    for budget in [1_200, 3_000, 9_000] {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.after.tokens <= budget, "{} for {budget}", done.after.tokens);
        let words = own_words(&done);
        assert!(
            words[0].starts_with("Read this.") && words[0].contains("recall"),
            "{}",
            words[0]
        );
        assert_eq!(words[1], "And now the tests.");
    }
}

#[test]
fn of_a_prompt_that_was_cut_no_line_that_is_left_is_quoted_again_however_long() {
    let line = |number: usize| {
        let column = |at: usize| format!("`--option-{number}-{at}` sets what the build_{number}_{at} does, ");
        (0..10).map(column).collect::<String>()
    };
    let table: String = (0..40).map(|number| line(number) + "\n").collect();
    let history: History = [Message::user(format!("Which of these do we use?\n{table}"))]
        .into_iter()
        .chain((0..3).flat_map(|number| step(number, 60)))
        .chain([Message::user("And which of them do we need?")])
        .collect();
    let done = compact(&history, Target::Budget(3_000));
    let own = own_words(&done).join("\n");
    let left = |number: &usize| own.lines().any(|shown| shown == line(*number));
    let left: Vec<usize> = (0..40).filter(left).collect();
    assert!((2..40).contains(&left.len()), "{left:?}");
    let told = summary(&done);
    for number in left {
        let quoted: Vec<&str> = (0..10)
            .filter_map(|at| {
                let option = format!("`--option-{number}-{at}`");
                let is_title = |line: &&str| line.starts_with("# Turn ") || line.starts_with("Newest prompt");
                let mut lines = told.lines().filter(|line| !is_title(line));
                lines.find(|line| line.contains(&option))
            })
            .collect();
        assert_eq!(quoted, [""; 0], "line {number} contains an API key");
    }
}

/// A call with thinking in the open before it, as vendors of the Chat form send it.
fn thought(number: usize, is_wanted_back: bool) -> [Message; 2] {
    let [call, answer] = step(number, 40);
    let mut parts = vec![Part::Thinking(Thinking {
        body: format!("I had better look at number {number}.").as_str().into(),
        signature: None,
        redacted: None,
        is_wanted_back,
        extra: Default::default(),
    })];
    parts.extend(call.parts.iter().cloned());
    [says(parts), answer]
}

fn calls_and_thoughts(messages: &[std::sync::Arc<Message>]) -> (usize, usize) {
    let of = |is: fn(&Part) -> bool| {
        let with_calls = messages.iter().filter(|message| message.calls().next().is_some());
        with_calls.filter(|message| message.parts.iter().any(is)).count()
    };
    (
        of(|part| matches!(part, Part::ToolCall(_))),
        of(|part| matches!(part, Part::Thinking(_))),
    )
}

#[test]
fn thinking_that_a_vendor_wants_back_beside_its_calls_stays_with_them_and_other_open_thinking_goes() {
    for wanted in [true, false] {
        let mut messages = vec![Message::user("Look at everything.")];
        (0..40).for_each(|number| messages.extend(thought(number, wanted)));
        let history: History = messages.clone().into_iter().collect();
        let done = compact(&history, Target::Budget(6_000));
        let (calls, thoughts) = calls_and_thoughts(&done.view.messages);
        assert!(calls > 0);
        assert_eq!(thoughts, if wanted { calls } else { 0 });
        // A finished turn is no different to these vendors.
        messages.push(Message::assistant("Done."));
        messages.push(Message::user("Thanks. And the rest?"));
        let mut view = View::new(messages);
        apply_all(&mut view);
        let (calls, thoughts) = calls_and_thoughts(&view.messages);
        assert_eq!(thoughts, if wanted { calls } else { 0 });
    }
}

#[test]
fn thinking_that_its_vendor_keeps_under_an_id_stays_with_what_rests_on_it() {
    let mut messages = vec![Message::user("Look at everything.")];
    for number in 0..40 {
        let [mut call, answer] = thought(number, false);
        let id = json!({"id": format!("rs_{number}"), "type": "reasoning", "summary": []});
        if let (Some(Part::Thinking(thinking)), serde_json::Value::Object(fields)) = (call.parts.first_mut(), id) {
            thinking.extra = Extra::new(fields);
        }
        messages.extend([call, answer]);
    }
    let done = compact(&messages.into_iter().collect(), Target::Budget(6_000));
    let (calls, thoughts) = calls_and_thoughts(&done.view.messages);
    assert!(calls > 0 && calls == thoughts, "{calls} calls, {thoughts} thoughts");
}

#[test]
fn encrypted_thinking_that_leaves_can_be_read_back() {
    let mut messages = vec![Message::user("Look at everything.")];
    for number in 0..30 {
        let [call, answer] = step(number, 60);
        let secret = format!("c2VjcmV0LW51bWJlci0{number:04}");
        let mut parts = vec![Part::Thinking(Thinking {
            body: "".into(),
            signature: None,
            redacted: Some(secret.as_str().into()),
            is_wanted_back: false,
            extra: Default::default(),
        })];
        parts.extend(call.parts.iter().cloned());
        messages.extend([says(parts), answer]);
    }
    let done = compact(&messages.into_iter().collect(), Target::Budget(3_000));
    let shown = format!("{:?}", done.view.messages);
    for number in 0..30 {
        let secret = format!("c2VjcmV0LW51bWJlci0{number:04}");
        let kept = done
            .view
            .archive
            .iter()
            .any(|(_, removed)| removed.body.as_str() == secret);
        assert!(kept || shown.contains(&secret), "number {number}");
    }
}

#[test]
fn a_pinned_file_keeps_its_lines_and_what_does_not_fit_has_a_handle() {
    let file: String = (0..400)
        .map(|line| format!("## rule {line}\n\tkeep it {line}\n"))
        .collect();
    let notes = ["tabs, not spaces", &file];
    let mut options = Options::new(Target::Budget(8_000));
    options.texts = &notes;
    let done = compact_with(&chat(60), &options);
    assert!(done.after.tokens <= 8_000);
    let told = summary(&done);
    assert!(told.contains("Pinned: tabs, not spaces\n"), "{told}");
    assert!(
        told.contains("\n ## rule 0\n\tkeep it 0\n ## rule 1\n"),
        "told from headings, on lines of their own: {told}"
    );
    assert!(
        told.contains("\tkeep it 399\n"),
        "the end as well as the beginning: {told}"
    );
    let handle = told.split("[pinned ").nth(1).unwrap().split(']').next().unwrap();
    assert_eq!(done.view.archive.recall(handle, None), Some(file.as_str()));
    options.target = Target::Budget(30_000);
    let roomy = compact_with(&chat(160), &options);
    let told = summary(&roomy);
    assert!(
        (0..400).all(|line| told.contains(&format!("\tkeep it {line}\n"))),
        "whole where there is room"
    );
}

#[test]
fn a_pinned_file_that_a_kept_prompt_shows_is_not_told_again() {
    let file: String = (0..40).map(|line| format!("keep rule {line}\n")).collect();
    let texts = [file.as_str()];
    let sent = Message::user(format!("The user has pinned this:\n{file}"));
    let turn = |number| std::iter::once(Message::user(prompt(number))).chain(step(number, 60));
    let history: History = std::iter::once(sent).chain((0..60).flat_map(turn)).collect();
    let mut options = Options::new(Target::Budget(12_000));
    options.texts = &texts;
    let times = |done: &Compaction| format!("{:?}", done.view.messages).matches("keep rule 39").count();
    let roomy = compact_with(&history, &options);
    assert!(own_words(&roomy).iter().any(|words| words.contains(&file)));
    assert_eq!(times(&roomy), 1);
    // Where the prompt has lost it, the summary tells it.
    options.target = Target::Budget(1_600);
    let tight = compact_with(&history, &options);
    assert!(!own_words(&tight).iter().any(|words| words.contains(&file)));
    assert!(summary(&tight).contains("[pinned "), "{}", summary(&tight));
}

#[test]
fn the_open_list_is_told_whole_and_what_has_no_room_is_counted() {
    let items = |count: usize| {
        let items: Vec<_> = (0..count)
            .map(|item| json!({"content": format!("step {item} of the migration"), "status": "pending"}))
            .collect();
        let parameters = Map::from_iter([("todos".to_owned(), items.into())]);
        let call = ToolCall::new("todo", "Todo", parameters).doing(Action::on(ActionKind::Todo, []));
        let mut messages = vec![
            Message::user("Migrate everything."),
            says(vec![Part::ToolCall(call)]),
            answers(vec![result("todo", "ok")]),
        ];
        (0..60).for_each(|number| messages.extend(step(number, 60)));
        messages.into_iter().collect::<History>()
    };
    for written in [None, Some("The goal is to migrate everything.")] {
        let mut options = Options::new(Target::Budget(4_000));
        options.written = written;
        let done = compact_with(&items(40), &options);
        let told = summary(&done);
        assert!(
            (0..40).all(|item| told.contains(&format!("To do: step {item} of the migration"))),
            "{told}"
        );
        let done = compact_with(&items(190), &options);
        assert!(done.after.tokens <= 4_000);
        let told = summary(&done);
        let listed = told.lines().filter(|line| line.starts_with("To do: ")).count();
        assert!(
            listed >= 20 && told.contains(&format!("To do, and not listed here: {} more", 190 - listed)),
            "{listed}: {told}"
        );
    }
}

#[test]
fn signed_thinking_of_the_turn_under_way_stays_with_the_steps_that_stay() {
    let mut messages = vec![Message::user("Look at everything.")];
    for number in 0..30 {
        let [call, answer] = step(number, 60);
        let mut parts = vec![thinks(&format!("number {number}"), Some("c2ln"))];
        parts.extend(call.parts.iter().cloned());
        messages.extend([says(parts), answer]);
    }
    let weight: u64 = messages.iter().map(estimate_message).sum();
    let done = compact(&messages.into_iter().collect(), Target::Budget(weight / 4));
    let (calls, thoughts) = calls_and_thoughts(&done.view.messages);
    assert!(calls > 0 && calls == thoughts, "{calls} and {thoughts}");
}

fn picture(number: usize) -> Part {
    Part::Image(codelet_context::message::Image {
        media_type: "image/png".into(),
        data: format!("cGljdHVyZQ{number:04}").repeat(500).as_str().into(),
        is_url: false,
        extra: Default::default(),
    })
}

fn has(done: &Compaction, part: &Part) -> bool {
    done.view.messages.iter().any(|message| message.parts.contains(part))
}

#[test]
fn the_pictures_of_the_newest_prompt_stay_while_outputs_can_give_way() {
    let mut messages = vec![Message::user("Look at everything.")];
    messages.extend(step(0, 400));
    messages.push(Message::assistant("Done."));
    let mut all = vec![Part::text("What is wrong in these?")];
    all.extend((0..3).map(picture));
    messages.push(Message::new(Role::User, all));
    let history: History = messages.into_iter().collect();
    let weight: u64 = history.messages().iter().map(|message| estimate_message(message)).sum();
    let shown = |budget| {
        let done = compact(&history, Target::Budget(budget));
        assert!(
            done.changed && done.after.tokens <= budget,
            "{} of {budget}",
            done.after.tokens
        );
        [0, 1, 2].map(|number| has(&done, &picture(number)))
    };
    assert_eq!(shown(weight - 400), [true; 3]);
    assert_eq!(shown(6_000), [true; 3]);
    // One by one, the first one first.
    assert_eq!(shown(4_500), [false, true, true]);
    assert_eq!(shown(2_500), [false, false, true]);
    assert_eq!(shown(1_200), [false; 3]);
}

#[test]
fn earlier_pictures_take_the_room_that_nothing_else_needs() {
    let mut messages = Vec::new();
    for number in 0..6 {
        messages.push(Message::new(Role::User, vec![Part::text("And this?"), picture(number)]));
        messages.push(Message::assistant("A leaf."));
    }
    messages.push(Message::user("Thanks. Which was the largest?"));
    let history: History = messages.into_iter().collect();
    let weight: u64 = history.messages().iter().map(|message| estimate_message(message)).sum();
    let done = compact(&history, Target::Budget(weight - 1_500));
    assert_eq!((0..6).filter(|&number| has(&done, &picture(number))).count(), 5);
    assert!(!has(&done, &picture(0)));
}

#[test]
fn lines_of_an_output_are_shown_in_it_beside_a_picture_and_other_texts() {
    for beside in [picture(7), Part::text(output(3, 40))] {
        let Part::ToolResult(mut answer) = result("c0", output(0, 400)) else {
            panic!("it is a result");
        };
        answer.output.insert(0, beside);
        let messages = [
            Message::user("Look at everything."),
            says(vec![run("c0", "./look")]),
            answers(vec![Part::ToolResult(answer)]),
            Message::assistant("Done."),
            Message::user("Go on."),
        ];
        let history: History = messages.into_iter().collect();
        let done = compact(&history, Target::Budget(4_000));
        assert!((3_000..=4_000).contains(&done.after.tokens), "{}", done.after.tokens);
        let results = done.view.messages.iter().flat_map(|message| message.tool_results());
        let longest = results.flat_map(|result| result.texts()).map(|text| text.body.as_str());
        let longest = longest.max_by_key(|text| text.len()).unwrap_or_default();
        let marker = longest.lines().position(|line| line.contains(" · recall "));
        assert!(marker.is_some_and(|at| at > 50), "{longest}");
        let whole = output(0, 400);
        let foreign = |line: &&str| !whole.contains(line.trim_end_matches('…')) && !line.contains(" · recall ");
        assert_eq!(longest.lines().filter(|line| *line != "…").find(foreign), None);
    }
}

#[test]
fn a_summary_that_says_nothing_is_left_out_where_nothing_is_read_back() {
    let messages = [
        Message::user(output(0, 300)),
        Message::assistant("Done."),
        Message::user("Go on."),
    ];
    let history: History = messages.into_iter().collect();
    for (reading_back, count) in [("", 0), ("Run `restore HANDLE`.", 2)] {
        let options = Options {
            reading_back: Some(reading_back),
            ..Options::new(Target::Budget(600))
        };
        let done = compact_with(&history, &options);
        assert!(done.after.tokens <= 600);
        let own = |part: &&Part| matches!(part, Part::Text(text) if text.origin != Origin::Own);
        let parts = done.view.messages.iter().flat_map(|message| &message.parts);
        assert_eq!(parts.filter(own).count(), count, "{:?}", done.view.messages);
    }
}

#[test]
fn of_many_pictures_the_newest_stay_and_the_oldest_give_way() {
    let mut messages = Vec::new();
    for number in 0..20 {
        let words = Part::text(format!("And what is wrong in picture {number}?"));
        messages.push(Message::new(Role::User, vec![words, picture(number)]));
        messages.extend(step(number, 200));
    }
    let done = compact(&messages.clone().into_iter().collect(), Target::Budget(20_000));
    assert!(done.after.tokens <= 20_000);
    let is_shown = |number| {
        done.view
            .messages
            .iter()
            .any(|message| message.parts.contains(&picture(number)))
    };
    let shown: Vec<bool> = (0..20).map(is_shown).collect();
    assert!(shown[19] && shown[18] && !shown[0], "{shown:?}");
    assert!(shown.is_sorted(), "from some picture on all are there: {shown:?}");
    let alone = compact(&messages.into_iter().collect(), Target::Budget(5_000));
    assert!(alone.after.tokens <= 5_000);
    assert!(own_words(&alone).contains(&"And what is wrong in picture 19?"));
}

#[test]
fn the_outputs_of_the_last_step_stay_whole_under_a_budget_that_holds_them_with_ease() {
    let mut messages = vec![Message::user("Look at everything.")];
    (0..100).for_each(|number| messages.extend(step(number, 60)));
    let last = step(100, 400);
    messages.extend(last.clone());
    let history: History = messages.into_iter().collect();
    let weight = estimate_message(&last[1]);
    let done = compact(&history, Target::Budget(weight * 9));
    assert!(done.changed && done.view.messages.iter().any(|message| **message == last[1]));
    // Nobody has seen them: up to the share of the kept steps, they stay whole as well.
    for (budget, whole) in [(weight * 2, false), (weight * 3, true)] {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.after.tokens <= budget);
        let is_whole = done.view.messages.iter().any(|message| **message == last[1]);
        assert_eq!(is_whole, whole);
    }
    let mut messages = history
        .messages()
        .iter()
        .map(|message| Message::clone(message))
        .collect::<Vec<_>>();
    messages.push(Message::assistant("Seen."));
    let done = compact(&messages.into_iter().collect(), Target::Budget(weight * 3));
    assert!(!done.view.messages.iter().any(|message| **message == last[1]));
}

#[test]
fn how_what_was_removed_is_read_back_is_said_in_the_callers_words_and_within_the_budget() {
    let mut messages = vec![Message::user("Look at everything.")];
    (0..60).for_each(|number| messages.extend(step(number, 60)));
    let history: History = messages.into_iter().collect();
    let words = format!("Run `restore {} HANDLE`.", "long/".repeat(60));
    for (said, reading_back) in [
        ("Recall(handle) reads back what it leaves out.", None),
        (words.as_str(), Some(words.as_str())),
        ("", Some("")),
    ] {
        for budget in [600, 1_000, 3_000] {
            let options = Options {
                reading_back,
                ..Options::new(Target::Budget(budget))
            };
            let done = compact_with(&history, &options);
            assert!(done.after.tokens <= budget, "{} of {budget}", done.after.tokens);
            let texts = done.view.messages.iter().flat_map(|message| &message.parts);
            let own = texts.filter_map(|part| match part {
                Part::Text(text) if text.origin != Origin::Own => Some(text.body.as_str()),
                _ => None,
            });
            let own = own.collect::<String>();
            assert!(own.contains(said), "{own}");
            assert_eq!(own.contains("Recall("), reading_back.is_none(), "{own}");
        }
    }
}

#[test]
fn a_conversation_tells_how_what_was_removed_is_read_back_in_the_callers_words() {
    let end = |conversation: Conversation| {
        let mut conversation = conversation;
        conversation.append(Message::user("Look at everything."));
        (0..60).for_each(|number| {
            step(number, 60)
                .into_iter()
                .for_each(|message| conversation.append(message))
        });
        let due = conversation.decide(Signals::default()).unwrap();
        conversation.compact(due).unwrap();
        let Some(Part::Text(text)) = conversation.view().messages.last().and_then(|last| last.parts.last()) else {
            panic!("{:?}", conversation.view());
        };
        text.body.as_str().to_owned()
    };
    let talk = || Conversation::new(CompactionConfig::new(8_000), 0);
    let usual = end(talk());
    let notice = usual
        .strip_suffix(" Recall(handle) reads back what it leaves out.")
        .unwrap();
    assert_eq!(end(talk().reading_back("Run it.")), format!("{notice} Run it."));
    assert_eq!(end(talk().reading_back("")), notice);
}

#[test]
fn outputs_that_were_bounded_as_they_came_are_cut_before_anything_that_stands_at_the_head() {
    let instructions = "Never touch the public interface. ".repeat(60);
    let mut conversation = Conversation::new(CompactionConfig::new(200_000), 0);
    conversation.append(Message::system(instructions.as_str()));
    conversation.append(Message::user("Look at everything."));
    for number in 0..20 {
        let id = format!("c{number}");
        conversation.append(says(vec![run(&id, &format!("./look {number}"))]));
        let mut result = ToolResult::new(id.as_str(), Some(true), "");
        let shown = conversation.bounded(output(number, 2_000).into(), (12_000, 4_000), "Bash");
        assert!(shown.cut.is_some());
        result.output = vec![Part::Text(shown)];
        conversation.append(answers(vec![Part::ToolResult(result)]));
    }
    for budget in [1_600, 2_500, 4_000] {
        let options = Options {
            archive: Some(conversation.archive()),
            ..Options::new(Target::Budget(budget))
        };
        let done = compact_with(conversation.history(), &options);
        assert!(done.after.tokens <= budget, "{} of {budget}", done.after.tokens);
        let first = done.view.messages[0].parts.first();
        assert!(
            matches!(first, Some(Part::Text(text)) if text.body.as_str() == instructions),
            "{budget}: {first:?}"
        );
    }
}

#[test]
fn a_file_that_was_changed_is_listed_whatever_else_says_its_name() {
    let run = |id: &str, command: &str| {
        let parameters = json!({"command": command}).as_object().unwrap().clone();
        ToolCall::new(id, "Bash", parameters).doing(Action::command(command))
    };
    let read = |id: &str, path: &str| {
        let parameters = json!({"file_path": path}).as_object().unwrap().clone();
        ToolCall::new(id, "Read", parameters).doing(Action::on(ActionKind::Read, [path]))
    };
    let parameters = json!({"file_path": "/w/app/db.py", "old_string": "a = 1", "new_string": "a = 2"});
    let edit = ToolCall::new("e", "Edit", parameters.as_object().unwrap().clone())
        .doing(Action::on(ActionKind::Change, ["/w/app/db.py"]));
    let mut messages = vec![Message::user("Mend the pool.")];
    let mut exchange = |call: ToolCall, answer: String| {
        let id = call.id.clone();
        messages.push(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        messages.push(Message::results(vec![ToolResult::new(id, Some(true), answer)]));
    };
    exchange(read("r", "/w/app/db.py"), output(1, 300));
    exchange(edit, String::from("done"));
    exchange(run("d", "git diff app/db.py"), output(2, 100));
    exchange(run("t", "pytest -q"), String::from("3 passed in 0.1s"));
    for number in 0..12 {
        let path = format!("/zz/lib/f{number}.rs");
        exchange(read(&format!("l{number}"), &path), output(number + 3, 300));
    }
    let history: History = messages.into_iter().collect();
    for budget in [1_500, 2_000, 3_000, 4_500, 5_000, 6_500, 8_000] {
        let done = compact(&history, Target::Budget(budget));
        let told = summary(&done);
        assert!(
            told.contains("Files changed so far: /w/app/db.py"),
            "at {budget}:\n{told}"
        );
    }
}

#[test]
fn of_what_a_harness_says_again_the_newest_stays_whole_and_the_older_can_be_read_back() {
    let complaint = "Please always provide exactly one action in your answer. ".repeat(12);
    let mut messages = vec![Message::user("Make the parser keep comments.")];
    for number in 0..3 {
        messages.extend(step(number, 200));
        messages.push(Message::user(complaint.clone()));
    }
    messages.extend(step(3, 200));
    messages.push(Message::assistant("Comments are kept."));
    let done = compact(&messages.into_iter().collect(), Target::Budget(3_000));
    let words = own_words(&done);
    assert_eq!(
        words.iter().filter(|words| **words == complaint).count(),
        1,
        "{words:#?}"
    );
    let pointers: Vec<&&str> = words.iter().filter(|words| words.starts_with("[prompt, ")).collect();
    assert_eq!(pointers.len(), 2, "{words:#?}");
    for pointer in pointers {
        let handle = pointer.rsplit_once("recall ").unwrap().1.trim_end_matches(']');
        assert_eq!(done.view.archive.get(handle).unwrap().body.as_str(), complaint);
    }
}

#[test]
fn of_a_message_that_is_cut_the_parts_that_stand_are_told_apart() {
    let mut history = History::new();
    history.append(Message::user("Look at both."));
    history.append(says(vec![run("long", "./look long"), run("short", "./look short")]));
    let (long, short) = (result("long", output(1, 4_000)), result("short", "one line of it"));
    history.append(answers(vec![long, short]));
    let fates = compact(&history, Target::Budget(4_000)).fates;
    assert_eq!(fates[2].kind, FateKind::Shortened);
    assert_eq!(
        [fates[2].of_part(0), fates[2].of_part(1)],
        [FateKind::Shortened, FateKind::Kept]
    );
    assert_eq!(fates[0].of_part(0), FateKind::Kept);
}

#[test]
fn a_long_answer_leaves_room_for_what_the_session_was_about() {
    let mut messages: Vec<Message> = Vec::new();
    for number in 0..20 {
        messages.push(Message::user(prompt(number)));
        messages.extend(step(number, 60));
        messages.push(says(vec![Part::text(format!("Part {number} is done."))]));
    }
    let plan: Vec<String> = (0..120)
        .map(|number| format!("{number}. Move field_{number} of the walnut into part {number}."))
        .collect();
    messages.push(Message::user("How would you go on?"));
    messages.push(says(vec![Part::text(plan.join("\n"))]));
    messages.push(Message::user("Yes, do it."));
    let history: History = messages.into_iter().collect();
    for budget in (2_800..6_000).step_by(200) {
        let done = compact(&history, Target::Budget(budget));
        assert!(done.after.tokens <= budget, "{} for {budget}", done.after.tokens);
        assert!(summary(&done).contains("is done."), "{budget}: {}", summary(&done));
        let answer = done
            .view
            .messages
            .iter()
            .rfind(|message| message.role == Role::Assistant)
            .unwrap();
        let Some(Part::Text(answer)) = answer.parts.first() else {
            panic!("{answer:?}")
        };
        assert!(answer.body.as_str().starts_with("0. Move field_0"), "{budget}");
        if let Some(handle) = &answer.cut {
            assert_eq!(
                done.view.archive.get(handle.as_str()).unwrap().body.as_str(),
                plan.join("\n")
            );
        }
    }
}

#[test]
fn what_the_user_decided_is_told_where_there_is_room_for_little_else() {
    let questions = [
        "Which store?", "Who may read it?", "How long is it kept?", "Who pays?", "Where?",
    ];
    let ask = |number: usize| {
        let id = format!("ask{number}");
        let asked: Map<_, _> = [("question".to_owned(), json!(questions[number]))]
            .into_iter()
            .collect();
        let call = ToolCall::new(id.as_str(), "AskUser", asked).doing(Action::on(ActionKind::Ask, []));
        let answer = format!("damson {number}, as it is near and nobody has to be told of it twice in one year");
        [says(vec![Part::ToolCall(call)]), answers(vec![result(&id, answer)])]
    };
    let fail = |check: &&str| {
        let failed = ToolResult::new(
            *check,
            Some(false),
            "error: no such damson in the store that was asked for",
        );
        [says(vec![run(check, check)]), answers(vec![Part::ToolResult(failed)])]
    };
    let mut messages = vec![Message::user(prompt(0))];
    messages.extend((0..questions.len()).flat_map(ask));
    messages.extend(
        ["cargo test", "cargo build", "cargo clippy", "cargo fmt --check"]
            .iter()
            .flat_map(fail),
    );
    messages.extend((0..60).flat_map(|number| step(number, 60)));
    let history: History = messages.into_iter().collect();
    let done = compact(&history, Target::Budget(3_000));
    for (number, question) in questions.iter().enumerate() {
        for told in [*question, &*format!("damson {number}, as it is near")] {
            assert!(summary(&done).contains(told), "{told}\n{}", summary(&done));
        }
    }
}

/// A turn whose last reply proposes something, and one of many steps that this prompt has begun.
fn proposal(proposed: &str, prompt: &str) -> History {
    let first =
        std::iter::once(Message::user("Look through the shop.")).chain((0..20).flat_map(|number| step(number, 40)));
    let reply = [Message::assistant(proposed), Message::user(prompt)];
    first
        .chain(reply)
        .chain((20..50).flat_map(|number| step(number, 40)))
        .collect()
}

/// What the assistant says before the newest prompt.
fn said_before_the_newest_prompt(done: &Compaction) -> Option<&str> {
    let newest = done.view.messages.iter().rposition(|message| message.is_prompt())?;
    let before = &done.view.messages[newest.checked_sub(1)?];
    let mut texts = before.parts.iter().map(|part| match part {
        Part::Text(text) => Some(text.body.as_str()),
        _ => None,
    });
    texts.next_back().flatten().filter(|_| before.role == Role::Assistant)
}

const PROPOSAL: &str =
    "Of three things I would do:\n1. round half to even in `price.rs`;\n2. drop the cache;\n3. rename `shop`.\nWhich?";

#[test]
fn the_reply_that_a_short_prompt_answers_stays_word_for_word_however_much_came_since() {
    for budget in [2_000, 4_000, 12_000] {
        let done = compact(&proposal(PROPOSAL, "do 1 and 2"), Target::Budget(budget));
        assert_eq!(said_before_the_newest_prompt(&done), Some(PROPOSAL), "{budget}");
        assert!(
            done.after.tokens <= budget && done.warnings.is_empty(),
            "{:?}",
            done.warnings
        );
        // And the second time.
        let shown = done.view.messages.iter().map(|message| Message::clone(message));
        let again = compact(&shown.collect::<History>(), Target::Budget(budget - 500));
        assert_eq!(said_before_the_newest_prompt(&again), Some(PROPOSAL), "{budget}");
    }
}

#[test]
fn a_prompt_that_says_itself_what_to_do_needs_no_reply_before_it() {
    let prompt =
        "Round half to even wherever a price is made, and say in the log which prices were rounded. ".repeat(6);
    let done = compact(&proposal(PROPOSAL, &prompt), Target::Budget(4_000));
    assert_eq!(said_before_the_newest_prompt(&done), None);
}

#[test]
fn of_a_long_reply_that_a_short_prompt_answers_beginning_and_end_stay_and_a_handle() {
    let items: String = (1..400)
        .map(|item| format!("{item}. rename part_{item} to piece_{item}\n"))
        .collect();
    let done = compact(&proposal(&items, "yes"), Target::Budget(6_000));
    let said = said_before_the_newest_prompt(&done).unwrap();
    assert!(
        said.starts_with("1. rename part_1 ") && said.ends_with("piece_399\n"),
        "{said}"
    );
    // Behind its beginning stands what is quoted of the rest.
    let (before, end) = said.rsplit_once("]\n").unwrap();
    assert!(end.len() < 6_000 * 2 / 10 + 100 && before.len() < 6_000 * 3, "{said}");
    let handle = said.split_once(" · recall ").unwrap().1.split_once(']').unwrap().0;
    assert_eq!(done.view.archive.recall(handle, None), Some(items.as_str()));
}

#[test]
fn a_prompt_that_interrupts_work_answers_no_reply() {
    let [call, answer] = step(0, 400);
    let mut history: History = [Message::user("Look."), call, answer, Message::user("stop")]
        .into_iter()
        .collect();
    (1..30)
        .flat_map(|number| step(number, 40))
        .for_each(|message| history.append(message));
    let done = compact(&history, Target::Budget(3_000));
    assert_eq!(said_before_the_newest_prompt(&done), None);
}

#[test]
fn of_a_long_edit_that_is_cut_the_new_lines_stay() {
    let lines = |changed: &str| {
        let line = |at: usize| match at {
            60 => format!("    {changed}\n"),
            _ => format!("    let value_{at} = compute(input_{at}, {at});\n"),
        };
        (0..120).map(line).collect::<String>()
    };
    let parameters =
        json!({"file_path": "/w/pool.rs", "old_string": lines("close(pool);"), "new_string": lines("drain(pool)?;")});
    let edit = ToolCall::new("e", "Edit", parameters.as_object().unwrap().clone())
        .doing(Action::on(ActionKind::Change, ["/w/pool.rs"]));
    let mut messages = vec![Message::user("Look at everything.")];
    (0..40).for_each(|number| messages.extend(step(number, 60)));
    messages.push(says(vec![Part::ToolCall(edit)]));
    messages.push(answers(vec![result("e", "The file was updated.".to_owned())]));
    let done = compact(&messages.into_iter().collect(), Target::Budget(3_000));
    assert!(done.after.tokens <= 3_000);
    let mut calls = done.view.messages.iter().flat_map(|message| message.calls());
    let edit = calls.find(|call| &*call.id == "e").expect("the last step stays");
    let shown = |name: &str| edit.parameters.str(name).unwrap_or_default().to_owned();
    assert_eq!(shown("file_path"), "/w/pool.rs");
    assert!(
        shown("new_string").contains("    drain(pool)?;"),
        "{}",
        shown("new_string")
    );
    assert!(!shown("new_string").contains("value_59"), "{}", shown("new_string"));
    assert!(shown("old_string").len() <= 160, "{}", shown("old_string"));
    let handle = edit.cut.as_ref().expect("it was cut");
    let whole = done.view.archive.get(handle.as_str()).expect("it can be read back");
    assert!(whole.body.as_str().contains("value_59") && whole.body.as_str().contains("close(pool);"));
}
