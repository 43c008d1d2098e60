//! An agent's loop on this engine, with everything that an embedder has to say to it. The model and its tool are made up:
//! the one asks for files and ends with a sentence, the other gives long ones. `cargo run -p codelet-context --example agent`.
#![allow(clippy::print_stdout)]

use codelet_context::body::Body;
use codelet_context::conversation::{Conversation, Refusal, Report, Signals};
use codelet_context::economics::{Economics, Preset};
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::CompactionConfig;
use codelet_context::price;
use codelet_context::tokens::{Tokens, estimate_message};
use codelet_context::usage::Usage;
use std::sync::Arc;

/// What a provider makes of a request.
enum Answer {
    Reply(Message, Usage),
    /// It is longer than what the model takes, which is this many tokens.
    TooLong(Tokens),
}

/// Stands in for a provider that takes less than it was believed to take.
struct Model {
    window: Tokens,
    steps: usize,
}

impl Model {
    fn ask(&mut self, messages: &[Arc<Message>]) -> Answer {
        let prompt: Tokens = messages.iter().map(|message| estimate_message(message)).sum();
        if prompt > self.window {
            return Answer::TooLong(self.window);
        }
        self.steps += 1;
        let reply = match self.steps {
            1..=40 => {
                let path = format!("src/part_{}.rs", self.steps);
                let parameters = [("path".to_owned(), path.as_str().into())].into_iter().collect();
                let call = ToolCall::new(format!("call_{}", self.steps), "read", parameters);
                Message::new(Role::Assistant, vec![Part::ToolCall(call)])
            }
            _ => Message::assistant("All parts are alike."),
        };
        let output = estimate_message(&reply);
        Answer::Reply(reply, Usage::from_exclusive(prompt, 0, 0, output))
    }
}

fn read(path: &str) -> Body {
    let line = |number: usize| format!("{number:4} // line {number} of {path}\n");
    (1..2_000).map(line).collect::<String>().into()
}

/// What a tool does, in the engine's notions: facts, anchors and repeated reads rest on it, and no provider says it.
fn action(call: &ToolCall) -> Action {
    let text = |name| call.parameters.str(name).unwrap_or_default();
    match &*call.tool {
        "read" => Action::on(ActionKind::Read, [text("path")]),
        // This agent has none of these.
        "replace" => Action::on(ActionKind::Change, [text("path")]),
        "run" => Action::command(text("line")),
        _ => Action::default(),
    }
}

/// Bytes of an output that are shown of its beginning and of its end.
const SHOWN: (usize, usize) = (6_000, 2_000);

fn run(model: &mut Model) -> Result<Conversation, Refusal> {
    // The window of the model's page, less room for a reply; what is sent beside the messages, such as tools, weighs too.
    let config = CompactionConfig::new(60_000).reserving(4_000);
    // This one compacts when the window is full. With another preset, and the model's own prices, it also edits where that pays.
    let economics = Economics::new(price::usual()).preset(Preset::Off);
    let mut conversation = Conversation::new(config, 1_500).under(economics);
    conversation.append(Message::user("Are all parts alike?"));
    loop {
        // Once before every request, and nowhere else. The clock is the caller's: whether the cache has expired by now.
        let signals = Signals::default();
        if let Some(due) = conversation.decide(signals) {
            println!("{}", conversation.compact(due)?);
        }
        // Up to where the request is to be readable from the cache, for vendors that want marks there.
        let _edges = conversation.sending(signals.is_cold);
        let (mut reply, usage) = match model.ask(&conversation.view().messages) {
            Answer::Reply(reply, usage) => (reply, usage),
            Answer::TooLong(limit) => {
                // It is learned; the next `decide` compacts for it, and `compact` refuses once nothing helps.
                conversation.refused(Some(limit), None);
                continue;
            }
        };
        for part in &mut reply.parts {
            if let Part::ToolCall(call) = part {
                call.action = action(call);
            }
        }
        let calls: Vec<ToolCall> = reply.calls().cloned().collect();
        conversation.replied(
            reply,
            Report {
                usage,
                is_whole: true,
                ..Report::default()
            },
        );
        if calls.is_empty() {
            return Ok(conversation);
        }
        // One message answers all calls, in their order.
        let mut results = Vec::new();
        for call in &calls {
            let output = read(call.parameters.str("path").unwrap_or_default());
            let mut result = ToolResult::new(call.id.clone(), Some(true), "");
            // Long output is bounded before it is ever sent; the whole stays behind its handle.
            result.output = vec![Part::Text(conversation.bounded(output, SHOWN, &call.tool))];
            results.push(result);
        }
        conversation.append(Message::results(results));
    }
}

fn main() -> Result<(), Refusal> {
    let mut model = Model {
        window: 40_000,
        steps: 0,
    };
    let conversation = run(&mut model)?;
    let (shown, said) = (conversation.shown().messages, conversation.history().messages().len());
    println!("{} requests; {shown} of {said} messages are shown", model.steps);
    for (handle, removed) in conversation.archive().newest().take(3) {
        println!("{handle} gives back {} bytes of {}", removed.body.len(), removed.tool);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_on_the_engine_stays_within_a_window_that_it_was_not_told_and_loses_nothing() -> Result<(), Refusal> {
        let mut model = Model {
            window: 40_000,
            steps: 0,
        };
        let conversation = run(&mut model)?;
        assert_eq!(model.steps, 41);
        assert_eq!(conversation.facts().files.len(), 40);
        assert!(conversation.edits().len() > 1);
        let archive = conversation.archive();
        for number in 1..=40 {
            let whole = read(&format!("src/part_{number}.rs"));
            assert!(archive.iter().any(|(_, removed)| removed.body == whole), "{number}");
        }
        Ok(())
    }
}
