//! Sessions over text that weighs several times its estimate, and refusals: what is counted decides, and what was refused is not
//! sent again as it was.

use crate::common::{answers, read, result, says};
use codelet_context::compact::Warning;
use codelet_context::conversation::{Conversation, Due, Refusal, Report, Signals};
use codelet_context::message::{Message, Part};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;

/// What the definitions of tools weigh: they are counted as they are estimated.
const TOOLS: Tokens = 2_500;

/// What a provider counts: of digits and of each character beyond ASCII's three bytes so many tokens, four letters one.
fn counted(conversation: &Conversation) -> Tokens {
    let weigh = |text: &str| -> usize {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let points = text.bytes().filter(u8::is_ascii_punctuation).count();
        let wide: usize = text.chars().map(char::len_utf8).filter(|&bytes| bytes > 1).sum();
        digits + points + wide * 7 / 8 + (text.len() - digits - points - wide) / 4
    };
    let part = |part: &Part| match part {
        Part::Text(text) => weigh(text.body.as_str()),
        Part::ToolCall(call) => weigh(call.parameters.json().as_str()) + 8,
        Part::ToolResult(result) => 8 + result.texts().map(|text| weigh(text.body.as_str())).sum::<usize>(),
        _ => 0,
    };
    let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
    TOOLS + parts.map(part).sum::<usize>() as Tokens
}

fn digits(number: usize) -> String {
    let row = |row: usize| {
        format!(
            "{},{},{}\n",
            (number + row) * 7_919 % 9_999_991,
            row * 104_729 % 9_999_973,
            number * row
        )
    };
    (0..200).map(row).collect()
}

fn korean(number: usize) -> String {
    (0..60)
        .map(|row| format!("한국어 텍스트 처리 테스트 문장입니다 {} {}\n", number, row * number))
        .collect()
}

fn hex(number: usize) -> String {
    (0..100)
        .map(|row| {
            format!(
                "{:016x}{:016x}\n",
                (number * 97 + row).wrapping_mul(0x9E37_79B9_7F4A_7C15),
                row * number
            )
        })
        .collect()
}

fn session(window: Tokens) -> Conversation {
    let mut conversation = Conversation::new(CompactionConfig::new(window).reserving(32_000), TOOLS);
    conversation.append(Message::system("You are careful. ".repeat(120)));
    conversation.append(Message::user("Read all of it, and say what it comes to."));
    conversation
}

fn report(prompt: Tokens) -> Report {
    Report {
        usage: Usage::from_exclusive(prompt, 0, 0, 20),
        reasoning: 0,
        is_whole: true,
    }
}

/// One step that reads this, counted as it is.
fn step(conversation: &mut Conversation, number: usize, output: String, counts: impl Fn(Tokens) -> Tokens) {
    let id = format!("call_{number}");
    let prompt = counts(counted(conversation));
    conversation.replied(says(vec![read(&id, "data.csv")]), report(prompt));
    conversation.append(answers(vec![result(&id, output)]));
}

#[test]
fn no_request_over_dense_text_passes_the_window_and_compactions_are_steps_apart() {
    for (name, text) in [
        ("digits", digits as fn(usize) -> String),
        ("korean", korean),
        ("hex", hex),
    ] {
        for window in [32_768, 65_536, 131_072, 200_000] {
            let mut conversation = session(window);
            let (mut last, mut compactions) = (None, 0);
            for number in 0..150 {
                step(&mut conversation, number, text(number), |count| count);
                if let Some(due) = conversation.decide(Signals::default()) {
                    let notice = conversation.compact(due).unwrap();
                    assert!(notice.changed, "{name} in {window}, step {number}: {notice}");
                    let count = counted(&conversation);
                    let off = notice.after as f64 / count as f64;
                    assert!(
                        (0.75..1.5).contains(&off),
                        "{name} in {window}: {} told, {count} counted",
                        notice.after
                    );
                    assert!(
                        last.is_none_or(|last| number > last + 1),
                        "{name} in {window}: two steps in a row"
                    );
                    last = Some(number);
                    compactions += 1;
                }
                assert!(counted(&conversation) <= window, "{name} in {window}, step {number}");
            }
            assert!(compactions >= 1, "{name} in {window}");
        }
    }
}

#[test]
fn a_report_in_another_unit_neither_ends_a_session_nor_compacts_it_at_every_step() {
    for factor in [50, 100, 1_000] {
        let mut conversation = session(200_000);
        let mut compactions = 0;
        for number in 0..120 {
            step(
                &mut conversation,
                number,
                "fn main() { call(); }\n".repeat(200),
                |count| count * factor,
            );
            if let Some(due) = conversation.decide(Signals::default()) {
                match conversation.compact(due) {
                    Ok(notice) => compactions += usize::from(notice.changed),
                    Err(refusal) => panic!("{factor}: {refusal}"),
                }
            }
        }
        assert!(compactions < 30, "{factor}: {compactions}");
    }
}

#[test]
fn the_count_that_a_refusal_names_is_believed_and_what_is_sent_next_fits() {
    let window = 60_000;
    let mut conversation = session(200_000);
    for number in 0..30 {
        conversation.append(says(vec![read(&format!("call_{number}"), "data.csv")]));
        conversation.append(answers(vec![result(&format!("call_{number}"), digits(number))]));
    }
    let count = counted(&conversation);
    assert!(count > window, "{count}");
    conversation.refused(Some(window), Some(count));
    let due = conversation.decide(Signals::default()).unwrap();
    assert_eq!(due.reason(), Reason::Refused);
    let notice = conversation.compact(due).unwrap();
    assert_eq!((notice.before, notice.changed), (count, true));
    assert!(counted(&conversation) <= window, "{}", counted(&conversation));
}

#[test]
fn a_refused_request_is_never_sent_again_as_it_was() {
    // The limit is that which was known, or larger, or unknown, and the request was thought to fit.
    for named in [Some(200_000), Some(400_000), None] {
        let mut conversation = session(200_000);
        for number in 0..6 {
            step(&mut conversation, number, digits(number), |count| count);
        }
        for _ in 0..3 {
            let sent = conversation.view().messages.clone();
            conversation.refused(named, None);
            match conversation.compact(conversation.decide(Signals::default()).unwrap()) {
                Ok(notice) => {
                    assert!(notice.changed, "{named:?}: {notice}");
                    assert!(conversation.view().messages != sent);
                }
                Err(refusal) => assert!(
                    matches!(refusal, Refusal::Stuck(_) | Refusal::DoesNotFit(_)),
                    "{refusal}"
                ),
            }
        }
    }
}

#[test]
fn where_a_shorter_answer_is_enough_nothing_need_go() {
    // It asked for 32,000 tokens in a window of 40,000, beside a prompt that fits.
    let mut conversation = session(200_000);
    for number in 0..4 {
        step(&mut conversation, number, digits(number), |count| count);
    }
    let count = counted(&conversation);
    conversation.refused(Some(40_000), Some(count));
    assert!(conversation.config().reserved() == 10_000);
    let notice = conversation.compact(conversation.decide(Signals::default()).unwrap());
    assert!(notice.is_ok(), "{notice:?}");
    assert_eq!(conversation.decide(Signals::default()), None);
}

#[test]
fn that_little_room_is_left_is_said_once_and_by_the_figure_that_decides() {
    let mut conversation = Conversation::new(CompactionConfig::new(8_000).reserving(2_000), 4_400);
    conversation.append(Message::system("You are careful."));
    conversation.append(Message::user("Read it."));
    let (mut told, mut compactions) = (Vec::new(), 0);
    for number in 0..60 {
        // What frames each message weighs more than what it says.
        let prompt = 4_450 + conversation.view().messages.len() as Tokens * 30;
        let id = format!("call_{number}");
        conversation.replied(says(vec![read(&id, "a")]), report(prompt));
        conversation.append(answers(vec![result(&id, format!("x{number}"))]));
        let occupancy = conversation.occupancy();
        if let Some(due) = conversation.decide(Signals::default()) {
            let Ok(notice) = conversation.compact(due) else { break };
            compactions += 1;
            assert_eq!(notice.before, occupancy);
            let close = notice
                .warnings
                .iter()
                .filter(|warning| matches!(warning, Warning::StillClose { .. }));
            told.extend(close.cloned());
            assert!(notice.changed, "{notice}");
        }
    }
    assert!((1..12).contains(&compactions), "{compactions}");
    assert!(told.len() <= 1, "{told:?}");
    assert!(conversation.compact(Due::whole(Reason::Asked)).is_ok());
}
