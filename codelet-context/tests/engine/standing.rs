//! What stands at the head of a session stays as it was sent, and so does the prompt that is being answered.

use crate::common::{answers, read, result, says};
use codelet_context::compact::{Options, Target, Warning, compact_with};
use codelet_context::conversation::{Conversation, Refusal, Signals};
use codelet_context::history::History;
use codelet_context::message::{Message, Origin, Part, ReminderKind, Role};
use codelet_context::notice::Notice;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::reminder;
use codelet_context::tokens::Tokens;

const WINDOWS: [Tokens; 7] = [8_000, 16_000, 32_000, 40_000, 48_000, 64_000, 200_000];
/// The share of the trigger below which the next compaction is many steps away.
const CLEARLY_BELOW: f64 = 0.8;

fn tools(window: Tokens) -> Tokens {
    window / 20
}

/// Rules that weigh so much.
fn rules(tokens: Tokens) -> String {
    let mut text: String = (0..tokens / 8)
        .map(|rule| format!("- rule {rule}: be kind to {} people.\n", rule * 7))
        .collect();
    text.truncate(tokens as usize * 4);
    text
}

fn lines(seed: usize, tokens: Tokens) -> String {
    let mut text = String::new();
    for line in seed * 1_000_000.. {
        if text.len() >= tokens as usize * 4 {
            break;
        }
        text.push_str(&format!("line {line} of a big file with {} words\n", line % 977));
    }
    text
}

/// A session in which nothing was asked yet, in a window that keeps a quarter for answers.
fn session(window: Tokens, instructions: &str) -> Conversation {
    let config = CompactionConfig::new(window).reserving(window / 4);
    let mut conversation = Conversation::new(config, tools(window));
    conversation.append(Message::system("Be careful. ".repeat(window as usize / 300)));
    let instructions = reminder::render(ReminderKind::Instructions, instructions);
    let environment = reminder::render(ReminderKind::Environment, "It is Linux.");
    conversation.append(Message::new(Role::User, vec![instructions, environment]));
    conversation
}

/// A prompt, with what git says before it.
fn ask(conversation: &mut Conversation, git: &str, prompt: impl Into<String>) {
    let update = reminder::update(&conversation.view().messages, &[(ReminderKind::GitStatus, git)]);
    if let Some(message) = update {
        conversation.append(message);
    }
    conversation.append(Message::user(prompt.into()));
}

/// What is compacted before the next request, if anything is due.
fn compacted(conversation: &mut Conversation) -> Option<Notice> {
    let due = conversation.decide(Signals::default())?;
    Some(conversation.compact(due).unwrap())
}

fn work(conversation: &mut Conversation, number: usize, tokens: Tokens) -> Option<Notice> {
    let id = format!("call_{number}");
    conversation.append(says(vec![read(&id, "big.txt")]));
    conversation.append(answers(vec![result(&id, lines(number, tokens))]));
    compacted(conversation)
}

/// What the messages may weigh after a compaction that is clearly below the trigger.
fn clearly_below(window: Tokens) -> Tokens {
    let trigger = CompactionConfig::new(window).reserving(window / 4).trigger();
    (trigger as f64 * CLEARLY_BELOW) as Tokens - tools(window)
}

fn texts(conversation: &Conversation, is: impl Fn(Origin) -> bool) -> Vec<String> {
    let parts = conversation.view().messages.iter().flat_map(|message| &message.parts);
    let texts = parts.filter_map(|part| match part {
        Part::Text(text) if is(text.origin) => Some(text.body.to_string()),
        _ => None,
    });
    texts.collect()
}

fn instructions(conversation: &Conversation) -> String {
    let kind = Origin::Reminder(ReminderKind::Instructions);
    texts(conversation, |origin| origin == kind).concat()
}

/// The system prompt and the first reminders, as they are sent.
fn head(conversation: &Conversation) -> String {
    format!("{:?}", &conversation.view().messages[..2])
}

fn tells(notice: &Notice, is: impl Fn(&Warning) -> bool) -> bool {
    notice.warnings.iter().any(is)
}

#[test]
fn instructions_stay_whole_as_long_as_they_fit_beside_what_else_has_to_stay() {
    for window in WINDOWS {
        for share in [0.05, 0.4, 0.65] {
            let rules = rules((clearly_below(window) as f64 * share) as Tokens);
            let mut conversation = session(window, &rules);
            ask(&mut conversation, "clean", "Read the file, piece by piece.");
            let sent = head(&conversation);
            let place = format!("{share} of {window}");
            let mut compactions = 0;
            for number in 0..60 {
                let Some(notice) = work(&mut conversation, number, window / 16) else {
                    continue;
                };
                compactions += 1;
                assert_eq!(head(&conversation), sent, "{place}: compaction {compactions}");
                let fullest = conversation.config().trigger() as f64 * CLEARLY_BELOW;
                assert!(notice.after as f64 <= fullest + 1.0, "{place}: {notice}");
                assert!(
                    !tells(&notice, |it| *it == Warning::InstructionsCut),
                    "{place}: {notice}"
                );
            }
            assert!((3..=30).contains(&compactions), "{place}: {compactions}");
        }
    }
}

#[test]
fn instructions_that_do_not_fit_are_cut_at_one_place_for_the_whole_session() {
    for window in WINDOWS {
        for share in [0.8, 1.0, 1.1] {
            let rules = rules((clearly_below(window) as f64 * share) as Tokens);
            let mut conversation = session(window, &rules);
            let place = format!("{share} of {window}");
            let (mut heads, mut told, mut compactions) = (Vec::new(), 0, 0);
            for number in 0..60 {
                if number % 7 == 0 {
                    let git = format!("{} files changed", "many ".repeat(number));
                    ask(&mut conversation, &git, format!("Read piece {number} of the file."));
                }
                let tokens = window / 10 / (1 + number as Tokens * 7 % 5);
                let Some(notice) = work(&mut conversation, number, tokens) else {
                    continue;
                };
                compactions += 1;
                told += usize::from(tells(&notice, |it| *it == Warning::InstructionsCut));
                if instructions(&conversation).contains("recall") {
                    heads.push(head(&conversation));
                }
            }
            assert!(
                heads.len() >= 3 && compactions <= 30,
                "{place}: {} of {compactions}",
                heads.len()
            );
            heads.dedup();
            assert_eq!((heads.len(), told), (1, 1), "{place}");
            let shown = instructions(&conversation);
            assert!(
                shown.contains("- rule 0: ") && shown.ends_with("</system-reminder>"),
                "{place}"
            );
        }
    }
}

#[test]
fn instructions_that_become_short_again_are_shown_whole() {
    let window = 32_000;
    let mut conversation = session(window, &rules(clearly_below(window)));
    ask(&mut conversation, "clean", "Read the file, piece by piece.");
    (0..20).for_each(|number| drop(work(&mut conversation, number, 2_000)));
    assert!(instructions(&conversation).contains("recall"));
    let shorter = rules(6_000);
    let update = reminder::update(
        &conversation.view().messages,
        &[(ReminderKind::Instructions, shorter.as_str())],
    );
    conversation.append(update.unwrap());
    ask(&mut conversation, "clean", "Read on.");
    (20..40).for_each(|number| drop(work(&mut conversation, number, 2_000)));
    let shown = instructions(&conversation);
    assert!(shown.contains(&shorter) && !shown.contains("recall"), "{shown}");
}

#[test]
fn a_budget_asked_for_outright_is_kept_and_cuts_what_stands_only_where_that_does_not_fit() {
    let rules = rules(4_000);
    let mut conversation = session(64_000, &rules);
    ask(&mut conversation, "clean", "Read the file, piece by piece.");
    (0..12).for_each(|number| drop(work(&mut conversation, number, 1_500)));
    for (budget, is_whole) in [
        (1_500, false),
        (3_000, false),
        (4_300, false),
        (7_500, true),
        (9_000, true),
    ] {
        let options = Options::new(Target::Budget(budget));
        let done = compact_with(conversation.history(), &options);
        assert!(done.after.tokens <= budget, "{} of {budget}", done.after.tokens);
        let parts = done.view.messages.iter().flat_map(|message| &message.parts);
        let shown = parts.filter(|part| matches!(part, Part::Text(text) if text.body.as_str().contains(&rules)));
        assert_eq!(shown.count() == 1, is_whole, "{budget}");
    }
}

#[test]
fn the_prompt_that_is_answered_stays_whole_and_what_cannot_hold_it_is_not_sent() {
    for window in WINDOWS {
        let trigger = CompactionConfig::new(window).reserving(window / 4).trigger();
        for share in [0.3, 0.5, 0.7, 1.0, 1.1, 4.0] {
            let place = format!("{share} of {window}");
            let prompt = format!("Review this.\n{}", lines(7, (trigger as f64 * share) as Tokens));
            let mut conversation = session(window, "Be kind.");
            ask(&mut conversation, "clean", prompt.as_str());
            if share >= 1.0 {
                let due = conversation.decide(Signals::default()).unwrap();
                let refusal = conversation.compact(due).unwrap_err();
                assert!(matches!(refusal, Refusal::DoesNotFit(_)), "{place}: {refusal}");
                // The next one is answered, and what did not fit can be read back.
                conversation.append(Message::user("Then only the first page."));
                let notice = compacted(&mut conversation).unwrap();
                assert!(notice.after < trigger, "{place}: {notice}");
                assert!(
                    conversation
                        .archive()
                        .iter()
                        .any(|(_, removed)| removed.body.as_str() == prompt),
                    "{place}"
                );
                continue;
            }
            let mut compactions = 0;
            for number in 0..40 {
                if let Some(notice) = work(&mut conversation, number, window / 20) {
                    compactions += 1;
                    assert!(notice.changed && notice.after < trigger, "{place}: {notice}");
                }
                let shown = texts(&conversation, |origin| origin == Origin::Own);
                assert!(shown.contains(&prompt), "{place}: step {number}");
            }
            assert!((1..=30).contains(&compactions), "{place}: {compactions} compactions");
        }
    }
}

#[test]
fn a_long_prompt_in_a_long_session_stays_whole_where_it_fits_beside_the_head() {
    for window in WINDOWS {
        let trigger = CompactionConfig::new(window).reserving(window / 4).trigger();
        let mut conversation = session(window, &rules(window / 20));
        ask(&mut conversation, "clean", "Read the file, piece by piece.");
        for number in 0..9 {
            assert_eq!(work(&mut conversation, number, trigger / 20), None);
        }
        conversation.append(Message::assistant("I have read it."));
        let prompt = format!("Review this.\n{}", lines(7, trigger / 2));
        ask(&mut conversation, "dirty", prompt.as_str());
        let notice = compacted(&mut conversation).unwrap();
        assert!(
            texts(&conversation, |origin| origin == Origin::Own).contains(&prompt),
            "{window}: {notice}"
        );
        assert!(
            !tells(&notice, |it| matches!(it, Warning::PromptsCut { .. })),
            "{window}: {notice}"
        );
        assert!(notice.after as f64 <= trigger as f64 * 0.86, "{window}: {notice}");
    }
}

#[test]
fn prompts_that_nobody_answers_do_not_end_a_session() {
    let mut conversation = session(32_000, "Be kind.");
    for number in 0..12 {
        ask(&mut conversation, "clean", lines(number, 20_000));
        if let Some(notice) = compacted(&mut conversation) {
            assert!(
                notice.changed && notice.after < conversation.config().limit(),
                "{notice}"
            );
        }
    }
}

#[test]
fn a_refused_prompt_is_not_sent_again_in_a_piece() {
    let mut conversation = session(64_000, "Be kind.");
    ask(&mut conversation, "clean", lines(7, 40_000));
    assert_eq!(compacted(&mut conversation), None);
    conversation.refused(Some(32_000), None);
    let due = conversation.decide(Signals::default()).unwrap();
    let refusal = conversation.compact(due).unwrap_err().to_string();
    assert!(refusal.contains("the limit for a request is 24,000"), "{refusal}");
}

#[test]
fn a_size_that_is_asked_for_outright_cuts_no_prompt_that_is_answered_and_says_what_is_possible() {
    let history: History = [Message::user(lines(7, 20_000))].into_iter().collect();
    let done = compact_with(&history, &Options::new(Target::Budget(10_000)));
    let smallest = done.warnings.iter().find_map(|warning| match warning {
        Warning::OverBudget { smallest, .. } => Some(*smallest),
        _ => None,
    });
    assert!(
        smallest.is_some_and(|smallest| smallest >= 20_000),
        "{:?}",
        done.warnings
    );
    assert_eq!(*done.view.messages[0], *history.messages()[0]);
    let mut conversation = session(32_000, "Be kind.");
    ask(&mut conversation, "clean", lines(7, 5_000));
    (0..8).for_each(|number| drop(work(&mut conversation, number, 1_000)));
    let notice = conversation.compact_to(9_000, Reason::Asked).unwrap();
    assert!(notice.after <= 9_000, "{notice}");
}
