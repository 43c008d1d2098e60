//! Information that a recording holds about its requests, true or not; and requests that fit into no window.

use crate::common::{figures, read};
use codelet_context::price;
use codelet_context::usage::Usage;
use codelet_replay::check::check;
use codelet_replay::play::play;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::report::{page, played};
use codelet_replay::session::Session;
use codelet_replay::totals::{Played, totals};
use codelet_transcript::{Billed, Recorded, Recording};
use proptest::prelude::*;
use serde_json::json;

/// A recorded request: its second, its model, tokens read and written.
type Note<'a> = (Option<u64>, Option<&'a str>, u64, u64);

fn recording(notes: &[Note<'_>], bytes: usize) -> Recording {
    let mut messages = vec![json!({"role": "user", "content": "Read all of it."})];
    for number in 0..notes.len() {
        let id = format!("c{number}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("src/{number}.rs")}}]}));
        let text = format!("line of {number}\n").repeat(bytes / 12);
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}));
    }
    let text = json!({ "messages": messages }).to_string();
    let mut recording = codelet_transcript::record(text.as_bytes(), None).unwrap();
    let replies = recording.document.messages.iter().enumerate();
    let replies = replies.filter(|(_, message)| message.role == codelet_context::message::Role::Assistant);
    let requests = replies
        .zip(notes)
        .map(|((reply, _), &(second, model, read, write))| Recorded {
            reply,
            began: second.map(|second| 1_700_000_000_000 + second * 1_000),
            model: model.map(Into::into),
            billed: (read.max(write) > 0).then(|| Billed {
                usage: Usage::from_exclusive(0, write, read, 10),
                hour: 0,
            }),
        });
    recording.requests = requests.collect();
    recording
}

fn session(notes: &[Note<'_>]) -> Session {
    Session::new("s", recording(notes, 400))
}

fn settings() -> Settings {
    Settings::new(200_000, price::usual())
}

fn own(text: &str) -> Settings {
    let own = price::parse(text, "own").unwrap();
    Settings {
        own: own.clone(),
        ..Settings::new(200_000, own[0].clone())
    }
}

#[test]
fn each_bill_is_priced_by_the_model_of_its_own_request() {
    let (haiku, opus) = (
        Some("claude-haiku-4-5"),
        Some("us.anthropic.claude-opus-4-5-20251101-v1:0"),
    );
    let mixed = session(&[
        (Some(0), haiku, 0, 20_000),
        (Some(5), opus, 0, 20_100),
        (Some(9), opus, 20_100, 100),
        (Some(12), haiku, 20_000, 300),
    ]);
    let found = check(&mixed, &settings()).unwrap();
    let by_hand =
        (20_000.0 * 1.25 + 20_100.0 * 6.25 + 20_100.0 * 0.5 + 100.0 * 6.25 + 20_000.0 * 0.1 + 300.0 * 1.25) / 1e6;
    assert!((found.billed - by_hand).abs() < 1e-9, "{found:?} {by_hand}");
    // Each model has a separate cache: its first request finds nothing, its second one the entries of the first.
    assert_eq!(
        (found.requests, found.unpriced, found.lost, found.warm_heads),
        (4, 0, 0, 0)
    );
    assert!(found.told_error().abs() < 0.02, "{found:?}");
    assert_eq!(mixed.models(), [("claude-haiku-4-5", 2), (opus.unwrap(), 2)]);
}

#[test]
fn an_unknown_model_is_priced_as_no_other_and_the_page_says_so() {
    let acme = Some("acme-large-9");
    let unknown = session(&[(Some(0), acme, 0, 20_000), (Some(5), acme, 20_000, 100)]);
    assert_eq!(check(&unknown, &settings()), None);
    let runs = vec![play(&unknown, Policy::Never, &settings())];
    let (_, text) = read(&page(&played(&unknown, "test", runs, &settings())));
    assert!(
        text.contains("The price of the recorded model (acme-large-9) is unknown"),
        "{text}"
    );
    assert!(!text.contains("were billed $"), "{text}");

    let some = session(&[
        (Some(0), Some("<synthetic>"), 0, 20_000),
        (Some(5), Some("anthropic/claude-opus-4.5"), 0, 20_100),
        (Some(9), Some("claude-opus-4-5[1m]"), 0, 20_200),
    ]);
    let found = check(&some, &settings()).unwrap();
    assert_eq!((found.requests, found.unpriced), (2, 1));
    assert!((found.billed - 40_300.0 * 6.25 / 1e6).abs() < 1e-9);
    let runs = vec![play(&some, Policy::Never, &settings())];
    let (_, text) = read(&page(&played(&some, "test", runs, &settings())));
    assert!(
        text.contains("1 request to a model without a known price is left out"),
        "{text}"
    );
}

#[test]
fn prices_of_ones_own_are_those_of_the_bills_too() {
    let opus = Some("claude-opus-4-5@20251101");
    let bills = [(Some(0), opus, 0, 20_000), (Some(5), opus, 20_000, 100)];
    let billed = |settings: &Settings, bills: &[Note<'_>]| check(&session(bills), settings).map(|found| found.billed);
    let flat = own("claude-opus-4-5 input=100 output=100 read=100 write=100 marks=4");
    assert!((billed(&flat, &bills).unwrap() - 40_100.0 * 100.0 / 1e6).abs() < 1e-9);
    // A card that names another model leaves this one at its provider's prices, and gives the price of an unknown one.
    let other = own("acme input=100 output=100");
    assert!((billed(&other, &bills).unwrap() - (20_100.0 * 6.25 + 20_000.0 * 0.5) / 1e6).abs() < 1e-9);
    let nameless = bills.map(|(second, _, read, write)| (second, Some("acme-large-9"), read, write));
    assert!((billed(&other, &nameless).unwrap() - 40_100.0 * 100.0 / 1e6).abs() < 1e-9);
    assert_eq!(billed(&settings(), &nameless), None);
}

#[test]
fn a_missing_time_is_that_of_the_request_before_and_without_most_of_them_the_cache_stays_warm() {
    let all: Vec<Note<'_>> = (0..20)
        .map(|at| (Some(at * 30 + at / 10 * 4_000), None, 0, 0))
        .collect();
    let cold = |notes: &[Note<'_>]| play(&session(notes), Policy::Never, &settings()).sums().cold;
    assert_eq!(cold(&all), 1);
    for gap in [0, 1, 9, 10, 19] {
        let mut notes = all.clone();
        notes[gap].0 = None;
        assert_eq!(cold(&notes), 1, "without the time of {gap}");
        let session = session(&notes);
        assert_eq!((session.is_timed(), session.untimed()), (true, 1));
        let runs = vec![play(&session, Policy::Never, &settings())];
        let (_, text) = read(&page(&played(&session, "test", runs, &settings())));
        assert!(text.contains("1 of 20 requests have no time"), "{text}");
    }
    let mut few = all.clone();
    few.iter_mut().step_by(2).for_each(|note| note.0 = None);
    assert!(!session(&few).is_timed());
    assert_eq!(
        cold(&few),
        0,
        "nothing expires where the output says that the cache stays warm"
    );
}

#[test]
fn a_bill_that_cannot_be_true_changes_no_figure() {
    let opus = Some("claude-opus-4-5");
    let plain: Vec<Note<'_>> = (0..12).map(|at| (Some(at * 10), opus, at * 100, 20_000)).collect();
    let sums = |notes: &[Note<'_>]| play(&session(notes), Policy::Never, &settings()).sums();
    let honest = sums(&plain);
    for lie in [1_000_000_000, 10_000_000_000_000_000_000, u64::MAX] {
        let mut notes = plain.clone();
        notes[6].3 = lie;
        let found = session(&notes);
        let of = sums(&notes);
        assert!((of.cost() / honest.cost() - 1.0).abs() < 0.02, "{lie}: {of:?}");
        assert!(check(&found, &settings()).unwrap().billed < 2.0);
    }
}

#[test]
fn a_run_ends_at_a_request_that_no_window_holds_and_has_no_share() {
    let mut notes: Vec<Note<'_>> = vec![(None, None, 0, 0); 8];
    notes[0].3 = 30_000;
    let tight = Settings::new(20_000, price::usual());
    let session = session(&notes);
    let run = play(&session, Policy::Never, &tight);
    let refused = run.refused.unwrap();
    assert_eq!((refused.step, run.steps.len(), run.sums().dollars.total()), (0, 0, 0.0));
    assert!(refused.tokens > 20_000);

    // One that grows until nothing helps, and one that finishes.
    let policies = [Policy::Never, Policy::MaskTen];
    let large = Session::new("large", recording(&vec![(None, None, 0, 0); 8], 2_000));
    let all = [
        Played::new(&session, "x".to_owned(), &policies, &tight),
        Played::new(&large, "x".to_owned(), &policies, &tight),
    ];
    assert_eq!(all[0].ratio(Policy::MaskTen), None);
    let together = totals(&all);
    assert_eq!(
        (together[1].sessions, together[1].refused, together[1].compared),
        (1, 1, 1)
    );
    assert_eq!(together[1].ratio, all[1].ratio(Policy::MaskTen));
    assert_eq!(together[0].sums.cost(), all[1].cost(Policy::Never).unwrap());

    let runs = policies.iter().map(|&policy| play(&session, policy, &tight)).collect();
    let (_, text) = read(&page(&played(&session, "test", runs, &tight)));
    assert!(text.contains("The first request does not fit"), "{text}");
}

#[test]
fn every_column_of_a_chart_is_in_a_table_with_its_peak_and_every_policy_has_its_figures_as_a_file() {
    let session = crate::common::session("columns", 500, |step| format!("src/{step}.rs"));
    let policies = [Policy::Never, Policy::MaskTen, Policy::Clear];
    let report = crate::common::report_of(&session, 200_000, &policies);
    let html = page(&report);
    let (tags, text) = read(&html);
    let data = figures(&tags);
    for course in &report.courses {
        let fullest = course
            .run
            .steps
            .iter()
            .max_by_key(|step| step.occupancy.total())
            .unwrap();
        let times = data
            .iter()
            .filter(|value| **value == fullest.occupancy.total() as f64)
            .count();
        assert!(times >= 2, "{}: the peak is in the table of columns too", course.name);
        assert!(text.contains(&format!("Requests under {} (CSV)", course.name)));
        let file = format!("requests-{}.csv", course.name);
        assert!(
            tags.iter().any(|tag| tag.attribute("download") == Some(&file)),
            "{file}"
        );
    }
    assert!(text.contains("Chart columns: tokens of the largest request"));
    let rows = html.matches("<th scope=\"row\" class=\"figure\"").count();
    assert!(rows >= 3 * 240, "{rows}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_recorded_of_requests_the_figures_are_finite(
        notes in prop::collection::vec((prop::option::of(0u64..10_000), prop::option::of(0usize..4), any::<u64>(), any::<u64>()), 1..12),
        scale in 0u32..64,
    ) {
        let names = ["claude-opus-4-5", "gpt-5.5", "<synthetic>", "acme"];
        let notes: Vec<Note<'_>> = notes
            .iter()
            .map(|&(second, model, read, write)| {
                let (read, write) = (read >> scale, write >> scale);
                (second, model.map(|at| names[at]), read.min(u64::MAX / 4), write.min(u64::MAX / 4))
            })
            .collect();
        let session = session(&notes);
        let played = Played::new(&session, "x".to_owned(), &[Policy::Never, Policy::MaskTen], &settings());
        for (_, sums) in &played.sums {
            prop_assert!(sums.cost().is_finite() && sums.cost() < 1_000.0);
        }
        if let Some(found) = played.check {
            prop_assert!(found.billed.is_finite() && found.blind.is_finite() && found.told.is_finite());
        }
    }
}
