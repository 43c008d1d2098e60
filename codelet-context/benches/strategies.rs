//! Measures the strategies over 4,000 messages and 10.9 MB, with the data of each message computed beforehand.
#![allow(missing_docs)]

use codelet_context::message::{Action, ActionKind, Message, Part, Role, Thinking, ToolCall, ToolResult};
use codelet_context::strategy::{PIPELINE, StrategyLimits, apply_all, apply_with, bytes};
use codelet_context::validate::validate;
use codelet_context::view::View;
use divan::{Bencher, counter::BytesCount};
use std::sync::Arc;

fn main() {
    divan::main();
}

/// A small deterministic number generator, so that each run measures the same conversation.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// 4,000 messages, 10.9 MB: 20 prompts, and steps that read, search and run. Some repeat earlier reads, some repeat
/// output, some print runs of alike lines.
fn conversation() -> View {
    let mut numbers = Numbers(7);
    let mut messages = vec![Message::system("You are a coding agent.")];
    let mut outputs: Vec<String> = Vec::new();
    for step in 0..1_990 {
        if step % 100 == 0 {
            messages.push(Message::user(
                "Please make the failing tests pass and say what you changed.",
            ));
        }
        let id = format!("toolu_{:06}", messages.len());
        let file = format!("src/part_{}.rs", numbers.below(300));
        let (tool, action) = match numbers.below(3) {
            0 => ("Read", Action::on(ActionKind::Read, [file.as_str()])),
            1 => ("Grep", Action::on(ActionKind::Search, [file.as_str()])),
            _ => ("Bash", Action::command(&format!("cargo test --test {file}"))),
        };
        let output = match numbers.below(20) {
            0 if !outputs.is_empty() => outputs[numbers.below(outputs.len() as u64) as usize].clone(),
            1 => (0..130)
                .map(|i| format!("test module_{i}::case_{} ... ok\n", numbers.below(99)))
                .collect(),
            _ => {
                let lines = 15 + numbers.below(30) * numbers.below(14);
                (0..lines)
                    .map(|i| format!("    let value_{i} = compute({}, {});\n", numbers.below(9_999), i))
                    .collect()
            }
        };
        outputs.push(output.clone());
        let parameters = [("path".to_owned(), file.into())].into_iter().collect();
        let thinking = Thinking {
            body: "I should look at this first.".into(),
            signature: Some("c2lnbmF0dXJl".into()),
            redacted: None,
            is_wanted_back: false,
            extra: Default::default(),
        };
        messages.push(Message::new(
            Role::Assistant,
            vec![
                Part::Thinking(thinking),
                Part::text("Let me look."),
                Part::ToolCall(ToolCall::new(&*id, tool, parameters).doing(action)),
            ],
        ));
        messages.push(Message::results(vec![ToolResult::new(&*id, Some(true), output)]));
    }
    // The last result pads the conversation to the stated size.
    let size: usize = messages.iter().map(bytes).sum();
    if let Some(Part::ToolResult(result)) = messages.last_mut().and_then(|message| message.parts.first_mut()) {
        result.output = vec![Part::text(
            "rest of the file\n".repeat(10_900_000usize.saturating_sub(size) / 17),
        )];
    }
    View::new(messages)
}

fn size(view: &View) -> BytesCount {
    BytesCount::new(view.messages.iter().map(|message| bytes(message)).sum::<usize>())
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn all(bencher: Bencher<'_, '_>) {
    let view = conversation();
    bencher
        .counter(size(&view))
        .with_inputs(|| view.clone())
        .bench_values(|mut view| (apply_all(&mut view), view));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn all_within_200_000_tokens(bencher: Bencher<'_, '_>) {
    let view = conversation();
    let limits = StrategyLimits {
        budget: Some(200_000),
        ..StrategyLimits::default()
    };
    bencher
        .counter(size(&view))
        .with_inputs(|| view.clone())
        .bench_values(|mut view| (apply_with(&mut view, &limits), view));
}

#[divan::bench(sample_count = 100, sample_size = 1)]
fn all_again(bencher: Bencher<'_, '_>) {
    let mut view = conversation();
    apply_all(&mut view);
    bencher
        .with_inputs(|| view.clone())
        .bench_values(|mut view| (apply_all(&mut view), view));
}

#[divan::bench(args = PIPELINE.iter().map(|strategy| strategy.name), sample_count = 50, sample_size = 1)]
fn one(bencher: Bencher<'_, '_>, name: &str) {
    let view = conversation();
    let Some(strategy) = codelet_context::strategy::named(name) else {
        return;
    };
    let limits = StrategyLimits {
        budget: Some(200_000),
        ..StrategyLimits::default()
    };
    bencher
        .with_inputs(|| view.clone())
        .bench_values(|mut view| ((strategy.apply)(&mut view, &limits), view));
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn orphans_16_000(bencher: Bencher<'_, '_>) {
    let orphans = (0..16_000).map(|i| {
        Arc::new(Message::results(vec![ToolResult::new(
            format!("gone_{i}"),
            None,
            "left",
        )]))
    });
    let view = View {
        messages: orphans.collect(),
        ..View::default()
    };
    bencher
        .with_inputs(|| view.clone())
        .bench_values(|mut view| (codelet_context::strategy::pair(&mut view), view));
}

#[divan::bench(sample_count = 50, sample_size = 1)]
fn validate_for_four(bencher: Bencher<'_, '_>) {
    let view = conversation();
    bencher.bench_local(|| validate(&view).len());
}
