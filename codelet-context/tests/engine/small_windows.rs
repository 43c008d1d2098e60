//! Sessions in windows that their instructions, their tools or their prompts nearly fill.

use crate::common::{answers, read, result, says};
use codelet_context::compact::Warning;
use codelet_context::conversation::{Conversation, Refusal, Signals};
use codelet_context::message::{Message, Origin, Part, ReminderKind, Role};
use codelet_context::policy::CompactionConfig;
use codelet_context::reminder;
use codelet_context::tokens::Tokens;

/// What tools and a system prompt weigh in a small agent.
const TOOLS: Tokens = 1_900;
const SYSTEM_BYTES: usize = 2_400;

fn rules(bytes: usize) -> String {
    let mut text: String = (0..bytes / 40)
        .map(|rule| format!("- rule {rule}: always be kind to {} people.\n", rule * 7))
        .collect();
    text.truncate(bytes);
    text
}

/// A session that begins with instructions of so many bytes, in a window that keeps a quarter for answers.
fn session(window: Tokens, tools: Tokens, bytes: usize) -> Conversation {
    let config = CompactionConfig::new(window).reserving(window / 4);
    let mut conversation = Conversation::new(config, tools);
    conversation.append(Message::system("Be careful. ".repeat(SYSTEM_BYTES / 12)));
    let instructions = reminder::render(ReminderKind::Instructions, &rules(bytes));
    let environment = reminder::render(ReminderKind::Environment, "It is Linux.");
    conversation.append(Message::new(Role::User, vec![instructions, environment]));
    conversation.append(Message::user("Read the file, piece by piece."));
    conversation
}

/// What came of a session of steps that read so many bytes each: its compactions, or why it ended.
struct Lived {
    compactions: usize,
    /// How often the user was told that instructions were cut.
    told: usize,
    /// The largest share of the limit that a compaction left in use.
    fullest: f64,
}

fn live(conversation: &mut Conversation, steps: usize, bytes: usize) -> Result<Lived, Refusal> {
    let mut lived = Lived {
        compactions: 0,
        told: 0,
        fullest: 0.0,
    };
    let limit = conversation.config().limit();
    for number in 0..steps {
        let id = format!("call_{number}");
        conversation.append(says(vec![read(&id, "big.txt")]));
        let line = |line: usize| format!("line {} of a big file with some words\n", number * 1_000 + line);
        let output: String = (0..bytes / 38).map(line).collect();
        conversation.append(answers(vec![result(&id, output)]));
        if let Some(due) = conversation.decide(Signals::default()) {
            let notice = conversation.compact(due)?;
            lived.compactions += 1;
            lived.told += notice
                .warnings
                .iter()
                .filter(|it| **it == Warning::InstructionsCut)
                .count();
            lived.fullest = lived.fullest.max(notice.after as f64 / limit as f64);
        }
    }
    Ok(lived)
}

/// What is shown of the instructions.
fn shown(conversation: &Conversation) -> String {
    let kind = Origin::Reminder(ReminderKind::Instructions);
    let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if text.origin == kind => Some(text.body.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn instructions_that_nearly_fill_a_window_leave_room_to_work() {
    for (window, bytes) in [
        (8_192, 12_600),
        (8_192, 14_800),
        (8_192, 17_000),
        (8_192, 34_000),
        (16_384, 25_500),
        (16_384, 34_000),
        (16_384, 60_000),
        (32_768, 90_000),
    ] {
        let mut conversation = session(window, TOOLS, bytes);
        let steps = 30;
        let lived = live(&mut conversation, steps, 1_200).unwrap();
        assert!(
            lived.fullest <= 0.81,
            "{window}, {bytes}: clearly below, not {}",
            lived.fullest
        );
        assert!(
            (1..=steps / 2).contains(&lived.compactions),
            "{window}, {bytes}: {} compactions",
            lived.compactions
        );
        assert!(lived.told <= 1, "{window}, {bytes}: told {} times", lived.told);
        let shown = shown(&conversation);
        assert!(
            shown.contains("- rule 0: ") && shown.ends_with("</system-reminder>"),
            "{shown}"
        );
        if shown.contains("recall") {
            assert_eq!(lived.told, 1, "{window}, {bytes}");
            let handle = shown.split("recall ").nth(1).unwrap();
            let handle = handle.split([']', ' ', '\n']).next().unwrap();
            assert!(conversation.recall(handle, None).unwrap().contains(&rules(bytes)));
        } else {
            assert!(shown.contains(&rules(bytes)));
        }
    }
}

#[test]
fn instructions_stay_whole_while_the_room_beside_them_is_enough() {
    for (window, bytes) in [(8_192, 1_500), (32_768, 12_000), (200_000, 40_000)] {
        let mut conversation = session(window, TOOLS, bytes);
        let lived = live(&mut conversation, 60, window as usize / 6).unwrap();
        assert!(lived.compactions > 0 && lived.told == 0, "{window}");
        assert!(shown(&conversation).contains(&rules(bytes)), "{window}");
    }
}

#[test]
fn steps_that_fill_the_window_each_do_not_end_a_session_whose_requests_fit() {
    for bytes in [400, 3_000, 11_000, 16_000] {
        let mut conversation = session(8_192, TOOLS, 20_000);
        let lived = live(&mut conversation, 40, bytes).unwrap();
        assert!(lived.fullest <= 1.0, "{bytes}: {}", lived.fullest);
    }
}

#[test]
fn what_cannot_fit_names_the_heaviest_of_what_stays() {
    let mut conversation = session(8_192, 7_000, 20_000);
    let told = live(&mut conversation, 4, 1_200).err().unwrap().to_string();
    assert!(
        told.contains("the tool definitions 7,000") && told.contains("use fewer MCP servers"),
        "{told}"
    );
}
