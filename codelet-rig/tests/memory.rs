//! Memories that keep everything and give back what fits.
#![allow(clippy::unwrap_used)]

mod made;

use codelet_rig::{CompactedMemory, CompactionPolicy, Demoted, EstimatedTokens, Recalled, Settings};
use futures_util::FutureExt as _;
use proptest::collection::vec;
use proptest::prelude::*;
use rig_core::id::ConversationId;
use rig_core::memory::{ConversationMemory, InMemoryConversationMemory};
use rig_core::message::*;
use rig_memory::{
    CompactingMemory, DemotingPolicyMemory, MemoryPolicy, PolicyMemory, SlidingWindowMemory, TokenCounter,
};
use serde_json::json;
use std::collections::BTreeSet;

const WINDOW: u64 = 20_000;

fn id() -> ConversationId {
    "one".into()
}

fn load(memory: &impl ConversationMemory) -> Vec<Message> {
    memory.load(&id()).now_or_never().unwrap().unwrap()
}

fn append(memory: &impl ConversationMemory, messages: Vec<Message>) {
    memory.append(&id(), messages).now_or_never().unwrap().unwrap();
}

fn output(run: usize, step: usize) -> String {
    (0..50)
        .map(|line| format!("run {run} step {step} line {line} has a word\n"))
        .collect()
}

/// A run of so many steps, each of them thought about at this provider.
fn run(number: usize, steps: usize, provider: &str) -> Vec<Message> {
    let mut messages = vec![Message::user(format!("Look at all parts, for the {number}th time."))];
    let origin = Origin::new("anthropic.messages", provider, "claude-opus-5-5");
    for step in 0..steps {
        let thought = AssistantContent::reasoning("On.")
            .with_native(json!({"type": "thinking", "thinking": "On.", "signature": "c2ln"}));
        let name = ToolName::new("look").unwrap();
        let call = ToolCall::from_wire(
            format!("call_{number}_{step}"),
            ToolFunction::new(name, json!({"step": step})),
        );
        let result = call.result(vec![ToolResultContent::text(output(number, step))]);
        let turn = AssistantMessage::new(vec![thought, AssistantContent::ToolCall(call)]).with_origin(origin.clone());
        messages.extend([turn.into(), Message::tool_results(vec![result])]);
    }
    messages.push(Message::assistant("All seen."));
    messages
}

fn tokens(messages: &[Message]) -> u64 {
    let counter = EstimatedTokens::new(Settings::window(WINDOW));
    messages.iter().map(|message| counter.count(message) as u64).sum()
}

fn handles(text: &str) -> BTreeSet<String> {
    let found = text
        .split("recall ")
        .skip(1)
        .map(|rest| rest.chars().take_while(char::is_ascii_alphanumeric).collect());
    found.filter(|handle: &String| handle.len() >= 6).collect()
}

#[test]
fn what_is_loaded_fits_and_is_a_function_of_what_is_stored() {
    let memory = CompactedMemory::new(InMemoryConversationMemory::new(), Settings::window(WINDOW));
    let (mut stored, mut before, mut breaks) = (Vec::new(), Vec::new(), 0);
    for number in 0..12 {
        let said = run(number, 5, "anthropic");
        stored.extend(said.clone());
        append(&memory, said.clone());
        let loaded = load(&memory);
        assert_eq!(load(memory.inner()), stored, "the store keeps everything");
        assert!(tokens(&loaded) <= WINDOW - 4_096, "{number}: {}", tokens(&loaded));
        let anew = CompactedMemory::new(memory.inner().clone(), Settings::window(WINDOW));
        assert_eq!(load(&anew), loaded, "{number}");
        if tokens(&stored) < WINDOW / 2 {
            assert_eq!(loaded, stored);
        }
        let is_extended = loaded.starts_with(&before) && loaded[before.len()..] == said;
        breaks += usize::from(!is_extended);
        before = loaded;
    }
    assert!((1..6).contains(&breaks), "{breaks}");
    // Everything is read back, by the handles in sight or by its words.
    let text = serde_json::to_string(&before).unwrap();
    let recall = memory.recall(&id());
    assert!(!handles(&text).is_empty());
    for handle in handles(&text) {
        let asked = Recalled::handle(&handle);
        assert!(recall.read(&asked).is_ok(), "{handle}");
    }
    for (number, step) in (0..12).flat_map(|number| (0..5).map(move |step| (number, step))) {
        let whole = output(number, step);
        if text.contains(&serde_json::to_string(&whole).unwrap()) {
            continue;
        }
        let asked = Recalled::search(format!("run {number} step {step} line 49 "));
        let found = recall.read(&asked).unwrap();
        let asked = Recalled::handle(found.split(' ').next().unwrap().to_owned());
        assert!(recall.read(&asked).unwrap().contains(&whole), "{number} {step}");
    }
    memory.clear(&id()).now_or_never().unwrap().unwrap();
    assert_eq!(load(&memory), []);
    assert!(recall.read(&Recalled::handle("anything")).is_err());
}

#[test]
fn reasoning_behind_an_edit_stays_where_its_provider_drops_it_and_goes_where_that_refuses_it() {
    for (provider, stays) in [("anthropic", true), ("another", false)] {
        let memory = CompactedMemory::new(InMemoryConversationMemory::new(), Settings::window(WINDOW));
        let mut said = run(0, 40, provider);
        said.pop();
        append(&memory, said.clone());
        let loaded = load(&memory);
        assert!(loaded.len() < said.len());
        let thinks = |message: &Message| {
            matches!(message, Message::Assistant(turn)
                if turn.content.iter().any(|block| matches!(block, AssistantContent::Reasoning(_))))
        };
        assert_eq!(loaded.iter().any(thinks), stays, "{provider}");
    }
}

#[test]
fn a_policy_shapes_as_the_memory_does_and_says_what_it_took_out() {
    let store = InMemoryConversationMemory::new();
    let settings = || Settings::window(WINDOW);
    let policy = PolicyMemory::new(store.clone(), CompactionPolicy::new(settings()));
    let memory = CompactedMemory::new(store.clone(), settings());
    let demoted = Demoted::new(settings(), 2_000);
    let demoting = DemotingPolicyMemory::new(store.clone(), CompactionPolicy::new(settings()), demoted.clone());
    for number in 0..8 {
        append(&store, run(number, 6, "anthropic"));
        assert_eq!(load(&policy), load(&memory));
        assert_eq!(load(&demoting), load(&memory));
    }
    let stored = load(&store);
    let (kept, out) = policy.policy().apply_with_demoted(stored.clone()).unwrap();
    assert!(!out.is_empty() && stored.starts_with(&out));
    // All behind what was taken out is kept as it was.
    let rest = &stored[out.len()..];
    assert!(kept.windows(rest.len()).any(|kept| kept == rest));
    let asked = Recalled::search("run 0 step 0 line 7 ".to_owned());
    assert!(policy.policy().recall().read(&asked).is_ok());
    assert!(demoted.recall(&id()).read(&asked).is_ok());
    assert!(demoted.recall(&"two".into()).read(&asked).is_err());
}

#[test]
fn a_sliding_window_has_a_summary_of_all_that_left_it() {
    let settings = Settings::window(WINDOW).tokens_per_four_bytes(1.0);
    let demoted = Demoted::new(settings, 1_500);
    let store = InMemoryConversationMemory::new();
    let memory = CompactingMemory::new(store, SlidingWindowMemory::last_messages(6), demoted.clone());
    for number in 0..6 {
        append(&memory, run(number, 4, "anthropic"));
        let loaded = load(&memory);
        let Message::User { content } = &loaded[0] else {
            panic!()
        };
        let [UserContent::Text(summary)] = &content[..] else {
            panic!()
        };
        assert!(summary.text.len() < 8_000, "{}", summary.text.len());
        for earlier in 0..number {
            assert!(
                summary.text.contains(&format!("for the {earlier}th time")),
                "{number}: {}",
                summary.text
            );
        }
        for handle in handles(&summary.text) {
            let asked = Recalled::handle(&handle);
            assert!(demoted.recall(&id()).read(&asked).is_ok(), "{handle}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_stored_is_loaded_alike_by_who_has_seen_it_grow(
        messages in vec(made::message(), 1..30), window in 200u64..6_000, steps in vec(1usize..6, 30)
    ) {
        let store = InMemoryConversationMemory::new();
        let memory = CompactedMemory::new(store.clone(), Settings::window(window).reserving(100));
        let mut rest = &messages[..];
        for step in steps {
            let (said, left) = rest.split_at(step.min(rest.len()));
            append(&memory, said.to_vec());
            let loaded = load(&memory);
            let anew = CompactedMemory::new(store.clone(), Settings::window(window).reserving(100));
            prop_assert_eq!(load(&anew), loaded);
            rest = left;
        }
        prop_assert_eq!(load(&store), messages);
    }
}
