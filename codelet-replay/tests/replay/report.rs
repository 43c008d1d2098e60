//! The page: it states what was replayed, and nothing in a recording becomes markup.

use crate::common::*;
use codelet_context::conversation::Conversation;
use codelet_context::economics::Preset;
use codelet_context::message::Part;
use codelet_context::policy::CompactionConfig;
use codelet_context::price;
use codelet_context::usage::Usage;
use codelet_replay::policy::Policy;
use codelet_replay::report::{Live, Told, page};
use codelet_replay::run::Step;
use codelet_replay::totals::{Played, totals};
use proptest::prelude::*;

const POLICIES: [Policy; 3] = [Policy::Never, Policy::MaskTen, Policy::Preset(Preset::Thrifty)];

#[test]
fn the_figures_of_the_page_are_those_of_the_run() {
    let session = session("figures", 60, |step| format!("src/part_{step}.rs"));
    let report = report_of(&session, 200_000, &POLICIES);
    let html = page(&report);
    let (tags, text) = read(&html);
    let count = |name: &str, class: &str| {
        let is = |tag: &&crate::common::Tag| {
            tag.name == name
                && tag
                    .attribute("class")
                    .is_some_and(|of| of.split(' ').any(|of| of == class))
        };
        tags.iter().filter(is).count()
    };
    assert_eq!(count("svg", "plot"), 2 * POLICIES.len());
    assert!(count("g", "edit") > 10);
    let data = figures(&tags);
    for course in &report.courses {
        let sums = course.run.sums();
        for figure in [
            sums.peak as f64,
            sums.cost(),
            sums.dollars.cache_read,
            sums.dollars.write(),
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

/// The costs and savings of edits must add up to the actual difference in cost.
#[test]
fn what_edits_cost_and_saved_explains_the_difference_in_dollars() {
    let mut session = session("sums", 60, |step| format!("src/part_{step}.rs"));
    for request in &mut session.requests {
        request.began = None;
    }
    let report = report_of(&session, 200_000, &[Policy::Never, Policy::Clear, Policy::MaskTen]);
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
        page.len() < 3_000_000 && short.len() < 1_200_000,
        "{} {}",
        page.len(),
        short.len()
    );
    assert!(page.contains("6,001 requests in 240 columns"));
    assert!(page.contains("Requests under faithful (CSV, the first 5,000 of 6,001)"));
}

#[test]
fn a_conversation_without_requests_has_a_page_too() {
    let text = br#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let session = codelet_replay::session::Session::new("greeting", codelet_transcript::record(text, None).unwrap());
    let (_, text) = read(&page(&report_of(&session, 200_000, &[])));
    assert!(text.contains("The recording contains no request"));
    let (_, text) = read(&page(&report_of(&session, 200_000, &POLICIES)));
    assert!(text.contains("The recording contains no request"));
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
    assert!(text.contains("10 sessions in total"));
    assert!(text.contains(&format!("{low:.3}")) && text.contains(&format!("{high:.3}")));
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
    let report = live.report(&conversation, &told, Vec::new());
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
    assert!(text.contains("Codelet · current session") && text.contains("30 requests sent"));
    assert!(!text.contains("Simulated"));
    assert!(report.handles.values().all(|handle| text.contains(handle.as_str())));

    let unpriced = Told { card: None, ..told };
    assert!(live.session(&conversation, &unpriced).is_none());
    let (_, text) = read(&page(&live.report(&conversation, &unpriced, Vec::new())));
    assert!(text.contains("The price of the model is unknown"));
}

#[test]
fn a_live_session_is_compared_with_what_it_would_have_cost_under_each_policy() {
    let (live, conversation) = live(60);
    let report = live_report(&live, &conversation, &POLICIES);
    let names: Vec<&str> = report.courses.iter().map(|course| &*course.name).collect();
    assert_eq!(names, ["as billed", "never", "mask-10", "thrifty"]);
    let billed = &report.courses[0].run;
    for course in &report.courses[1..] {
        assert_eq!(course.run.steps.len(), billed.steps.len(), "{}", course.name);
        let (of, is) = (course.run.steps[0].usage.prompt(), billed.steps[0].usage.prompt());
        assert_eq!(of, is, "the first request is the same under all");
    }
    // Nothing was edited in the first half, and text sizes are calibrated from usage, so until then nothing differs.
    let prompts = |steps: &[Step]| -> u64 { steps[..30].iter().map(|step| step.usage.prompt()).sum() };
    let (never, is) = (prompts(&report.courses[1].run.steps), prompts(&billed.steps));
    assert!(never.abs_diff(is) * 100 <= is, "{never} {is}");
    for course in &report.courses[1..] {
        assert_eq!(
            course.run.sums().usage.output,
            billed.sums().usage.output,
            "replies are what they were billed"
        );
    }

    let html = page(&report);
    let (tags, text) = read(&html);
    assert!(text.contains("Dollars under each policy"));
    assert!(text.contains("without edits until the context window is full"));
    let cost = |at: usize| report.courses[at].run.sums().cost();
    let data = figures(&tags);
    for course in &report.courses {
        assert!(data.contains(&course.run.sums().cost()), "{}", course.name);
    }
    assert!(
        data.contains(&(cost(3) / cost(1))),
        "shares are of the simulation without edits"
    );
    assert!(
        !data.contains(&(cost(0) / cost(1))),
        "a bill is no share of a simulation"
    );
}

#[test]
fn a_request_that_was_never_billed_is_not_counted() {
    let (mut live, conversation) = live(4);
    live.sending(&conversation, None);
    live.sending(&conversation, None);
    live.billed(
        Usage {
            fresh: 100,
            cache_read: 0,
            cache_write: 0,
            output: 1,
        },
        0,
        None,
    );
    live.billed(
        Usage {
            fresh: 100,
            cache_read: 0,
            cache_write: 0,
            output: 1,
        },
        0,
        None,
    );
    let told = Told {
        title: "t",
        model: "m",
        card: None,
    };
    assert_eq!(
        live.report(&conversation, &told, Vec::new()).courses[0].run.steps.len(),
        5
    );
    let fresh = Live::new(0).report(&Conversation::new(CompactionConfig::new(10_000), 0), &told, Vec::new());
    let (_, text) = read(&page(&fresh));
    assert!(text.contains("No request was sent yet"));
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
