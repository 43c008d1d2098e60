//! The player on conversations constructed so that the outcome can be worked out by hand.

use codelet_context::economics::Preset;
use codelet_context::message::{Action, ActionKind, Message, Origin, Part, Role, ToolCall, ToolResult};
use codelet_context::price::{self, PriceCard};
use codelet_context::usage::Usage;
use codelet_replay::check::check;
use codelet_replay::play::play;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::run::{Cause, Run};
use codelet_replay::session::Session;
use codelet_transcript::{Billed, Document, Format, Recorded, Recording};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Returns a session of one prompt and calls that read files: each entry is the length of a result in bytes, and the
/// name that the call asks for.
fn reading(steps: &[(usize, &str)]) -> Recording {
    let mut messages = vec![Message::user("Find the fault.")];
    for (number, (bytes, asked)) in steps.iter().enumerate() {
        let id = format!("call_{number}");
        let path = Value::from(format!("src/{asked}"));
        let call = ToolCall::new(id.as_str(), "Read", Map::from_iter([("path".to_owned(), path)]));
        let call = call.doing(Action::on(ActionKind::Read, [*asked]));
        messages.push(Message::new(Role::Assistant, vec![Part::ToolCall(call)]));
        let line = format!("// see step_{number}_notes.rs for more of this\n");
        let output: String = line.chars().cycle().take(*bytes).collect();
        messages.push(Message::results(vec![ToolResult::new(id, Some(true), output)]));
    }
    messages.push(Message::assistant("done"));
    recording(messages)
}

fn recording(messages: Vec<Message>) -> Recording {
    Recording {
        document: Document {
            format: Format::Corpus,
            messages,
            envelope: Map::new(),
            warnings: Vec::new(),
        },
        requests: Vec::new(),
    }
}

/// Adds a time for each request, in seconds.
fn timed(mut recording: Recording, seconds: &[u64]) -> Recording {
    let replies = recording.document.messages.iter().enumerate();
    let replies = replies.filter(|(_, message)| message.role == Role::Assistant);
    recording.requests = replies
        .zip(seconds)
        .map(|((reply, _), second)| Recorded {
            reply,
            began: Some(second * 1_000),
            model: None,
            billed: None,
        })
        .collect();
    recording
}

fn settings() -> Settings {
    Settings::new(200_000, price::usual())
}

fn edits(run: &Run) -> usize {
    run.steps.iter().filter(|step| step.edit.is_some()).count()
}

#[test]
fn never_editing_reads_everything_but_the_growth() {
    let session = Session::new("s", reading(&[(4_000, "a.rs"), (8_000, "b.rs"), (400, "c.rs")]));
    let run = play(&session, Policy::Never, &settings());
    assert_eq!(run.steps.len(), 4);
    let mut held = 0;
    for step in &run.steps {
        assert_eq!((step.usage.fresh, step.usage.cache_read), (0, held));
        assert_eq!(step.usage.prompt(), step.occupancy.total());
        assert_eq!((step.broken, step.edit), (None, None));
        held = step.usage.prompt();
    }
    assert_eq!(run.sums().recall(), 1.0);
    assert_eq!(run.sums().refetch, 0.0);
}

#[test]
fn a_pause_longer_than_entries_live_is_a_cold_break() {
    let session = Session::new("s", timed(reading(&[(4_000, "a.rs"), (4_000, "b.rs")]), &[0, 10, 311]));
    assert!(session.is_timed());
    let run = play(&session, Policy::Never, &settings());
    let causes: Vec<_> = run
        .steps
        .iter()
        .map(|step| step.broken.map(|broken| broken.cause))
        .collect();
    assert_eq!(causes, [None, None, Some(Cause::Cold)]);
    let lost = run.steps[2].broken.map(|broken| broken.lost);
    assert_eq!(lost, Some(run.steps[1].usage.prompt()));
    let hour = Settings::new(200_000, price::find("1h").unwrap().clone());
    assert!(
        play(&session, Policy::Never, &hour)
            .steps
            .iter()
            .all(|step| step.broken.is_none())
    );
}

#[test]
fn masking_all_but_ten_begins_with_the_eleventh_result_and_never_ends() {
    let steps: Vec<(usize, &str)> = vec![(6_000, "a.rs"); 14];
    let session = Session::new("s", reading(&steps));
    let run = play(&session, Policy::MaskTen, &settings());
    let edited: Vec<usize> = (0..run.steps.len())
        .filter(|&at| run.steps[at].edit.is_some())
        .collect();
    // The request that carries result 11 is the twelfth.
    assert_eq!(edited, [11, 12, 13, 14]);
    for &at in &edited {
        assert_eq!(run.steps[at].broken.map(|broken| broken.cause), Some(Cause::Planned));
    }
    let never = play(&session, Policy::Never, &settings());
    let saved = never.steps[14].usage.prompt() - run.steps[14].usage.prompt();
    let result = session.weigh(&session.messages[2].parts[0]);
    assert!((3 * result..5 * result).contains(&saved), "{saved}");
}

#[test]
fn clearing_waits_for_its_trigger() {
    let small: Vec<(usize, &str)> = vec![(12_000, "a.rs"); 12];
    let session = Session::new("s", reading(&small));
    assert_eq!(edits(&play(&session, Policy::Clear, &settings())), 0);
    let large: Vec<(usize, &str)> = vec![(40_000, "a.rs"); 12];
    let session = Session::new("s", reading(&large));
    let run = play(&session, Policy::Clear, &settings());
    for step in run.steps.iter().filter(|step| step.edit.is_some()) {
        let edit = step.edit.unwrap();
        assert!(edit.before > 100_000 && edit.after < edit.before);
    }
    assert!(edits(&run) >= 1);
    assert!(run.steps.iter().all(|step| step.usage.prompt() <= 100_000));
}

#[test]
fn every_policy_keeps_within_the_window_by_compacting() {
    let steps: Vec<(usize, &str)> = vec![(16_000, "a.rs"); 60];
    let session = Session::new("s", reading(&steps));
    let settings = Settings::new(100_000, price::usual());
    for &policy in Policy::ALL {
        let run = play(&session, policy, &settings);
        let sums = run.sums();
        assert_eq!(sums.overflows, 0, "{policy:?}");
        assert!(sums.peak <= settings.limit(), "{policy:?}: {}", sums.peak);
        assert!(sums.edits > 0, "{policy:?}");
        assert_eq!(sums.unplanned, 0, "{policy:?}");
    }
}

#[test]
fn what_was_masked_and_is_asked_for_later_is_a_miss_and_costs_a_second_reading() {
    let mut steps: Vec<(usize, &str)> = vec![(6_000, "a.rs"); 14];
    // The first result, masked long ago, is the only one that names this file.
    steps.push((400, "step_0_notes.rs"));
    let session = Session::new("s", reading(&steps));
    let at = 14;
    let never = play(&session, Policy::Never, &settings());
    assert_eq!(never.steps[at].shown, never.steps[at].referred);
    assert!(never.steps[at].referred >= 3);
    let masked = play(&session, Policy::MaskTen, &settings());
    assert_eq!(masked.steps[at].referred, never.steps[at].referred);
    assert!(masked.steps[at].shown + 3 <= masked.steps[at].referred);
    let source = session.weigh(&session.messages[2].parts[0]);
    let usage = Usage {
        fresh: 0,
        cache_read: masked.steps[at].usage.prompt(),
        cache_write: source + 80,
        output: 80,
    };
    let card = price::usual();
    let expected = 0.5 * card.cost(usage, card.write_1h(usage));
    assert!((masked.steps[at].refetch - expected).abs() < 1e-9);
    let careless = Settings {
        refetch: 0.0,
        ..settings()
    };
    assert_eq!(play(&session, Policy::MaskTen, &careless).sums().refetch, 0.0);
}

#[test]
fn the_off_preset_costs_what_never_editing_does_before_the_window_is_full() {
    let session = Session::new("s", reading(&[(9_000, "a.rs"), (9_000, "b.rs"), (9_000, "c.rs")]));
    let never = play(&session, Policy::Never, &settings());
    let off = play(&session, Policy::Preset(Preset::Off), &settings());
    assert_eq!(off.steps, never.steps);
}

#[test]
fn tiers_make_a_long_prompt_dearer_in_every_part() {
    let card = price::find("tier-5x").unwrap();
    let usage = Usage::from_exclusive(10_000, 20_000, 100_000, 1_000);
    let cost = |usage| card.cost_by_kind(usage, card.write_1h(usage));
    let dollars = cost(usage);
    assert!((dollars.total() - card.cost(usage, 0)).abs() < 1e-9);
    let shorter = cost(Usage::from_exclusive(10_000, 20_000, 10_000, 1_000));
    assert!((dollars.write() - 5.0 * shorter.write()).abs() < 1e-9);
}

#[test]
fn an_agents_own_summary_is_left_out_and_the_bills_tell_what_text_weighs() {
    let mut recording = reading(&[(4_000, "a.rs"), (4_000, "b.rs"), (4_000, "c.rs")]);
    let estimates: Vec<u64> = recording
        .document
        .messages
        .iter()
        .map(codelet_context::tokens::estimate_message)
        .collect();
    // Twice the estimate, and 30,000 tokens outside the messages of every request.
    let mut notes = Vec::new();
    for (reply, message) in recording.document.messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let prompt = 30_000 + 2 * estimates[..reply].iter().sum::<u64>();
            notes.push(Recorded {
                reply,
                began: Some(reply as u64 * 1_000),
                model: Some("claude-opus-4-6".into()),
                billed: Some(Billed {
                    usage: Usage::from_exclusive(0, prompt, 0, 5),
                    hour: 0,
                }),
            });
        }
    }
    recording.requests = notes;
    let session = Session::new("s", recording);
    assert!(session.is_calibrated);
    assert!((session.ratio - 2.0).abs() < 0.01, "{}", session.ratio);
    assert!(session.fixed.abs_diff(30_000) < 50, "{}", session.fixed);
}

/// Returns usage as a provider would report it for prompts of these sizes, at these seconds.
fn billed(bills: &[(u64, u64, u64)]) -> Recording {
    let mut recording = reading(&vec![(400, "a.rs"); bills.len()]);
    recording.requests = bills
        .iter()
        .enumerate()
        .map(|(number, &(seconds, read, write))| Recorded {
            reply: 1 + 2 * number,
            began: Some(seconds * 1_000),
            model: Some("claude-opus-4-6".into()),
            billed: Some(Billed {
                usage: Usage::from_exclusive(0, write, read, 1),
                hour: 0,
            }),
        })
        .collect();
    recording
}

#[test]
fn the_check_predicts_what_a_faithful_vendor_bills() {
    let bills = [
        (0, 0, 20_000),
        (9, 20_000, 500),
        (60, 20_500, 700),
        (400, 0, 21_300),
        (410, 21_300, 10),
    ];
    let check = check(&Session::new("s", billed(&bills)), &settings()).unwrap();
    assert_eq!((check.requests, check.warm_heads, check.lost), (5, 0, 0));
    assert!(check.blind_error().abs() < 1e-9, "{check:?}");
    assert!(check.told_error().abs() < 1e-9, "{check:?}");
}

#[test]
fn the_check_is_not_told_how_much_was_read_and_says_what_no_recording_tells() {
    // A head of 8,000 was warm at the start, and the messages were lost once though nothing had expired.
    let bills = [
        (0, 8_000, 12_000),
        (9, 20_000, 500),
        (20, 8_000, 13_000),
        (30, 21_000, 10),
    ];
    let check = check(&Session::new("s", billed(&bills)), &settings()).unwrap();
    assert_eq!((check.warm_heads, check.lost), (1, 1));
    assert!(check.told_error().abs() < 1e-9, "{check:?}");
    assert!(check.blind_error().abs() > 0.05, "{check:?}");
}

#[test]
fn the_check_starts_from_what_the_first_request_found_in_the_cache() {
    let bills = [
        (0, 8_000, 12_000),
        (9, 20_000, 500),
        (400, 0, 21_000),
        (410, 21_000, 10),
    ];
    let check = check(&Session::new("s", billed(&bills)), &settings()).unwrap();
    assert_eq!((check.warm_heads, check.lost), (1, 0));
    assert!(check.blind_error().abs() < 1e-9, "{check:?}");
}

#[test]
fn the_bill_of_a_reply_behind_a_compaction_is_of_the_compacted_prompt() {
    // The second reply directly follows the first, except for the agent's own summary, which is left out.
    let mut recording = billed(&[(0, 0, 60_000), (9, 8_000, 12_000), (20, 20_000, 500)]);
    let summary = Message::new(Role::User, vec![Part::text_from(Origin::Summary, "It read a.rs.")]);
    recording.document.messages[2] = summary;
    let session = Session::new("s", recording);
    let compacted: Vec<bool> = session
        .requests
        .iter()
        .map(|request| request.after_compaction)
        .collect();
    let prompts = session
        .requests
        .iter()
        .map(|request| request.billed.map(|billed| billed.usage.prompt()));
    assert_eq!(prompts.collect::<Vec<_>>(), [Some(20_000), Some(20_500), None]);
    assert_eq!(compacted, [true, false, false]);
    let found = check(&session, &settings()).unwrap();
    assert!(found.blind_error().abs() < 1e-9, "{found:?}");
}

#[test]
fn a_prompt_that_became_shorter_was_cut_at_its_end_and_is_found_up_to_there() {
    let bills = [(0, 8_000, 12_000), (9, 20_000, 500), (20, 20_000, 400)];
    let found = check(&Session::new("s", billed(&bills)), &settings()).unwrap();
    assert!(found.blind_error().abs() < 1e-9, "{found:?}");
}

#[test]
fn a_session_without_bills_is_not_checked() {
    let session = Session::new("s", reading(&[(400, "a.rs")]));
    assert_eq!(check(&session, &settings()), None);
}

fn cards() -> impl Strategy<Value = PriceCard> {
    prop::sample::select(vec!["5m", "1h", "no-write-fee", "read-0.05", "tier-5x", "free"])
        .prop_map(|name| price::find(name).unwrap().clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn whatever_is_played_the_figures_add_up(
        sizes in prop::collection::vec(0usize..30_000, 0..30),
        gaps in prop::collection::vec(0u64..800, 31),
        card in cards(),
        window in 20_000u64..300_000,
    ) {
        let steps: Vec<(usize, &str)> = sizes.iter().map(|&size| (size, "a.rs")).collect();
        let seconds: Vec<u64> = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
        let session = Session::new("s", timed(reading(&steps), &seconds));
        let settings = Settings::new(window, card);
        for &policy in Policy::ALL {
            let run = play(&session, policy, &settings);
            match run.refused {
                None => prop_assert_eq!(run.steps.len(), session.requests.len()),
                Some(refused) => {
                    prop_assert_eq!(run.steps.len(), refused.step);
                    prop_assert!(refused.tokens > window);
                }
            }
            for step in &run.steps {
                prop_assert_eq!(step.usage.prompt(), step.occupancy.total());
                prop_assert!(step.shown <= step.referred);
                prop_assert!(step.usage.prompt() <= window);
                let hour = settings.card.lifetime == price::Lifetime::Hour;
                let cost = settings.card.cost(step.usage, if hour { step.usage.cache_write } else { 0 });
                prop_assert!((step.dollars.total() - cost).abs() < 1e-9);
            }
            prop_assert_eq!(&play(&session, policy, &settings), &run);
        }
    }
}
