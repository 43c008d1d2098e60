//! The page: what it says is what was played, and nothing of a recording becomes a part of it.

#![allow(clippy::unwrap_used)]

mod common;
use codelet_context::conversation::{Conversation, Report};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::price;
use codelet_context::usage::Usage;
use codelet_replay::policy::Policy;
use codelet_replay::report::{Live, Told, page};
use codelet_replay::totals::{Played, totals};
use common::*;
use proptest::prelude::*;
use serde_json::Map;

const POLICIES: [Policy; 3] = [Policy::Never, Policy::MaskTen, Policy::Preset(Preset::Thrifty)];

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut told = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            told.push(',');
        }
        told.push(digit);
    }
    told
}

#[test]
fn the_figures_of_the_page_are_those_of_the_run() {
    let session = session("figures", 60, |step| format!("src/part_{step}.rs"));
    let report = report_of(&session, 200_000, &POLICIES);
    let html = page(&report);
    let (tags, text) = read(&html);
    let count = |name: &str, class: &str| {
        let is = |tag: &&common::Tag| {
            tag.name == name
                && tag
                    .attribute("class")
                    .is_some_and(|of| of.split(' ').any(|of| of == class))
        };
        tags.iter().filter(is).count()
    };
    assert_eq!(count("svg", "plot"), 2 * POLICIES.len());
    assert!(count("g", "edit") > 10);
    let data: Vec<f64> = tags
        .iter()
        .filter_map(|tag| tag.attribute("data-value"))
        .map(|value| value.parse().unwrap())
        .collect();
    for course in &report.courses {
        let sums = course.run.sums();
        for figure in [
            sums.peak as f64,
            sums.cost(),
            sums.dollars.read,
            sums.dollars.write,
            sums.refetch,
            sums.hit_share(),
        ] {
            assert!(data.contains(&figure), "{} {figure}", course.name);
        }
        assert_eq!(course.edits.len() as u64, sums.edits);
    }
    let masked = &report.courses[1];
    assert!(masked.run.sums().cold > 0 && masked.run.sums().planned > 0);
    let edit = masked.edits.iter().max_by_key(|edit| edit.removed()).unwrap();
    assert!(edit.saved > 0.0 && edit.removed() > 0);
    assert!(text.contains(&grouped(edit.removed())));
    let first = &report.courses[report.first];
    assert_eq!(first.name, "thrifty");
    assert!(text.contains(&grouped(first.run.sums().usage.prompt())));
    assert!(text.contains("A simulation of the 61 requests"));
    assert_eq!(html, page(&report), "the same report gives the same bytes");
}

/// What an edit cost and saved must add up to what the run did cost.
#[test]
fn what_edits_cost_and_saved_explains_the_difference_in_dollars() {
    let mut session = session("sums", 60, |step| format!("src/part_{step}.rs"));
    for request in &mut session.requests {
        request.began = None;
    }
    let report = report_of(
        &session,
        200_000,
        &[Policy::Never, Policy::ClearAtLeast, Policy::Protect],
    );
    for course in &report.courses[1..] {
        let (never, sums) = (report.courses[0].run.sums(), course.run.sums());
        let saved: f64 = course.edits.iter().map(|edit| edit.saved - edit.cost).sum();
        let difference = never.dollars.prompt() - sums.dollars.prompt();
        assert!(
            (saved - difference).abs() <= 0.05 * never.dollars.prompt(),
            "{}: {saved} {difference}",
            course.name
        );
    }
}

#[test]
fn nothing_of_a_recording_becomes_markup() {
    let session = session(HOSTILE, 14, |step| format!("{HOSTILE}{step}"));
    let mut report = report_of(&session, 200_000, &POLICIES);
    report.agent = HOSTILE.to_owned();
    report.model = Some(HOSTILE.to_owned());
    report.notes.push(HOSTILE.to_owned());
    let html = page(&report);
    let (tags, text) = read(&html);
    assert!(
        tags.iter()
            .all(|tag| !["img", "iframe", "object", "embed", "link", "form"].contains(&&*tag.name))
    );
    assert!(
        tags.iter()
            .flat_map(|tag| &tag.attributes)
            .all(|(name, _)| !name.starts_with("on") && name != "style")
    );
    assert_eq!(
        tags.iter()
            .filter(|tag| tag.name == "script" && tag.attribute("type").is_none())
            .count(),
        1
    );
    assert!(text.contains("window.pwned=1"));
    let harmful =
        |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    assert!(!html.chars().any(harmful));
}

#[test]
fn a_page_is_bounded_however_long_the_session() {
    let short = page(&report_of(
        &session("short", 400, |step| format!("a{step}")),
        1_000_000,
        &POLICIES,
    ));
    let long = session("long", 6_000, |step| "path/".repeat(200) + &step.to_string());
    let report = report_of(&long, 1_000_000, &[Policy::Never, Policy::Preset(Preset::Faithful)]);
    let page = page(&report);
    read(&page);
    assert!(report.courses[0].run.sums().usage.prompt() > 3_000_000);
    assert!(
        page.len() < 3_000_000 && short.len() < 1_000_000,
        "{} {}",
        page.len(),
        short.len()
    );
    assert!(page.contains("6,001 requests in 240 columns"));
    assert!(page.contains("Files of requests hold the first 5,000."));
}

#[test]
fn a_conversation_without_requests_has_a_page_too() {
    let text = br#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let session = codelet_replay::session::Session::new("greeting", codelet_transcript::record(text, None).unwrap());
    let (_, text) = read(&page(&report_of(&session, 200_000, &[])));
    assert!(text.contains("The recording holds no request"));
    let (_, text) = read(&page(&report_of(&session, 200_000, &POLICIES)));
    assert!(text.contains("The recording holds no request"));
}

#[test]
fn several_sessions_have_intervals() {
    let sessions: Vec<_> = (5..15)
        .map(|steps| session("one", steps * 4, |step| format!("a{step}.rs")))
        .collect();
    let mut report = report_of(&sessions[0], 200_000, &POLICIES);
    let all: Vec<Played> = sessions
        .iter()
        .map(|it| Played::new(it, "test".to_owned(), &POLICIES, &report.settings))
        .collect();
    let together = totals(&all);
    let (low, high) = together[1].interval.unwrap();
    assert!(low < high);
    report.together = Some((all.len(), together));
    let (_, text) = read(&page(&report));
    assert!(text.contains("10 sessions together"));
    assert!(text.contains(&format!("{low:.3}")) && text.contains(&format!("{high:.3}")));
}

/// A live session of so many steps, edited once in the middle.
fn live(steps: usize) -> (Live, Conversation) {
    let economics = Economics::new(price::usual());
    let mut conversation = Conversation::new(CompactionConfig::new(60_000).reserving(4_000), 500).under(economics);
    let mut live = Live::new(500);
    conversation.append(Message::system("You are terse."));
    conversation.append(Message::user("Read everything, please."));
    let mut before = 0;
    for step in 0..steps {
        if step == steps / 2 {
            conversation.compact_to(6_000, Reason::Asked).unwrap();
            before = 0;
        }
        conversation.sending(false);
        live.sending(&conversation, Some(1_700_000_000_000 + step as u64 * 20_000));
        let prompt = 500
            + conversation
                .view()
                .messages
                .iter()
                .map(|message| codelet_context::tokens::estimate_message(message))
                .sum::<u64>();
        let usage = Usage {
            fresh: 0,
            cache_read: before,
            cache_write: prompt - before,
            output: 30,
        };
        before = prompt;
        live.billed(usage);
        let path = format!("src/part_{step}.rs");
        let call = ToolCall::new(format!("c{step}"), "Read", Map::new()).doing(Action::on(ActionKind::Read, [&*path]));
        let reply = Message::new(Role::Assistant, vec![Part::ToolCall(call)]);
        conversation.replied(
            reply,
            Report {
                usage,
                reasoning: 0,
                is_whole: true,
            },
        );
        let output: String = (0..120)
            .map(|line| format!("let value_{step}_{line} = {};\n", line * step))
            .collect();
        conversation.append(Message::results(vec![ToolResult::new(
            format!("c{step}"),
            Some(true),
            &*output,
        )]));
    }
    (live, conversation)
}

#[test]
fn a_live_session_shows_its_bills_its_edits_and_what_can_be_read_back() {
    let (live, conversation) = live(30);
    let card = price::usual();
    let told = Told {
        title: "this session",
        model: "some-model",
        card: Some(&card),
    };
    let report = live.report(&conversation, &told);
    let course = &report.courses[0];
    assert_eq!(course.run.steps.len(), 30);
    for step in &course.run.steps {
        assert_eq!(step.occupancy.total(), step.usage.prompt());
    }
    let ledger = conversation.breaks();
    assert_eq!(course.edits.len(), ledger.iter().filter(|it| it.removed > 0).count());
    assert_eq!(course.edits[0].step, 15);
    assert_eq!(
        (course.edits[0].cost, course.edits[0].actual),
        (ledger[0].predicted, ledger[0].actual)
    );
    assert!(!report.handles.is_empty());
    for ((message, part), handle) in &report.handles {
        let Part::ToolResult(result) = &conversation.history().messages()[*message].parts[*part] else {
            continue;
        };
        let said: Vec<&str> = result.texts().map(|text| text.body.as_str()).collect();
        assert!(said.contains(&conversation.recall(handle, None).unwrap()));
    }
    let (_, text) = read(&page(&report));
    assert!(text.contains("Codelet · live session") && text.contains("30 requests sent"));
    assert!(!text.contains("Simulated"));
    assert!(report.handles.values().all(|handle| text.contains(handle.as_str())));

    let unpriced = live.report(&conversation, &Told { card: None, ..told });
    let (_, text) = read(&page(&unpriced));
    assert!(text.contains("The price of the model is not known"));
}

#[test]
fn a_request_that_was_never_billed_is_not_counted() {
    let (mut live, conversation) = live(4);
    live.sending(&conversation, None);
    live.sending(&conversation, None);
    live.billed(Usage {
        fresh: 100,
        cache_read: 0,
        cache_write: 0,
        output: 1,
    });
    live.billed(Usage {
        fresh: 100,
        cache_read: 0,
        cache_write: 0,
        output: 1,
    });
    let told = Told {
        title: "t",
        model: "m",
        card: None,
    };
    assert_eq!(live.report(&conversation, &told).courses[0].run.steps.len(), 5);
    let fresh = Live::new(0).report(&Conversation::new(CompactionConfig::new(10_000), 0), &told);
    let (_, text) = read(&page(&fresh));
    assert!(text.contains("Nothing was sent yet"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_names_are_pages_hold_together(names in proptest::collection::vec("(?s).{0,40}", 1..8), title in "(?s).{0,300}", window in 4_000u64..300_000) {
        let session = session(&title, names.len(), |step| names[step].clone());
        let html = page(&report_of(&session, window, &POLICIES));
        let (tags, _) = read(&html);
        prop_assert!(tags.iter().flat_map(|tag| &tag.attributes).all(|(name, _)| !name.starts_with("on")));
    }
}
