//! Sessions to report on, and a page parser that is stricter than any browser.

#![allow(dead_code, clippy::unwrap_used)]

use codelet_context::conversation::{Conversation, Report as Bill};
use codelet_context::economics::Economics;
use codelet_context::message::{Action, ActionKind, Message, Part, Role, ToolCall, ToolResult};
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::price;
use codelet_context::usage::Usage;
use codelet_replay::play::play;
use codelet_replay::policy::{Policy, Settings};
use codelet_replay::report::{Live, Report, Told, played};
use codelet_replay::session::Session;
use serde_json::{Map, json};

/// Returns a conversation of one prompt in which `steps` files are read, named by `name`.
pub fn session(title: &str, steps: usize, name: impl Fn(usize) -> String) -> Session {
    let mut messages = vec![json!({"role": "user", "content": format!("look at {}", name(0))})];
    for step in 0..steps {
        let id = format!("c{step}");
        let lines: String = (0..40)
            .map(|line| format!("{line}: let value_{step}_{line} = {};\n", line * step))
            .collect();
        messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("Reading number {step}.")},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": name(step)}},
        ]}));
        messages
            .push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": lines}]}));
    }
    messages.push(json!({"role": "assistant", "content": "All were read."}));
    let text = json!({"system": "You are terse.", "messages": messages}).to_string();
    let mut session = Session::new(title, codelet_transcript::record(text.as_bytes(), None).unwrap());
    // A request each minute, with a pause in the middle after which every cache has expired.
    let pause = session.requests.len() / 2;
    for (at, request) in session.requests.iter_mut().enumerate() {
        let pause = if at >= pause { 1_800_000 } else { 0 };
        request.began = Some(1_700_000_000_000 + at as u64 * 60_000 + pause);
    }
    session
}

/// Returns the report of a session replayed under these policies.
pub fn report_of(session: &Session, window: u64, policies: &[Policy]) -> Report {
    let settings = Settings::new(window, price::usual());
    let runs = policies
        .iter()
        .map(|&policy| play(session, policy, &settings))
        .collect();
    played(session, "test", runs, &settings)
}

/// Returns a live session of this many steps, edited once in the middle.
pub fn live(steps: usize) -> (Live, Conversation) {
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
        live.billed(usage, 0, Some(&price::usual()));
        let path = format!("src/part_{step}.rs");
        let call = ToolCall::new(format!("c{step}"), "Read", Map::new()).doing(Action::on(ActionKind::Read, [&*path]));
        let reply = Message::new(Role::Assistant, vec![Part::ToolCall(call)]);
        conversation.replied(
            reply,
            Bill {
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

/// Returns the report of a live session, with its cost under these policies.
pub fn live_report(live: &Live, conversation: &Conversation, policies: &[Policy]) -> Report {
    let card = price::usual();
    let told = Told {
        title: "Read everything, please.",
        model: "some-model",
        card: Some(&card),
    };
    let (session, settings) = live.session(conversation, &told).unwrap();
    let runs = policies.iter().map(|&policy| play(&session, policy, &settings));
    live.report(conversation, &told, runs.collect())
}

/// Formats a figure as pages do.
pub fn grouped(value: u64) -> String {
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

/// The start tag of an element.
#[derive(Clone, PartialEq, Debug)]
pub struct Tag {
    pub name: String,
    pub attributes: Vec<(String, String)>,
}

impl Tag {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(of, _)| of == name)
            .map(|(_, value)| &**value)
    }
}

/// Returns the exact figures that a page stores with the displayed ones.
pub fn figures(tags: &[Tag]) -> Vec<f64> {
    tags.iter()
        .filter_map(|tag| tag.attribute("data-value"))
        .map(|value| value.parse().unwrap())
        .collect()
}

/// Returns the elements and the text of a page. Panics if an element is not closed, an end tag does not match, or a
/// markup character is not escaped.
pub fn read(page: &str) -> (Vec<Tag>, String) {
    const VOID: [&str; 2] = ["meta", "input"];
    const RAW: [&str; 2] = ["script", "style"];
    let mut rest = page.strip_prefix("<!DOCTYPE html>\n").unwrap();
    let (mut tags, mut text, mut open) = (Vec::<Tag>::new(), String::new(), Vec::<String>::new());
    while let Some(at) = rest.find('<') {
        words(&rest[..at], &mut text);
        rest = &rest[at + 1..];
        if let Some(closing) = rest.strip_prefix('/') {
            let end = closing.find('>').unwrap();
            assert_eq!(open.pop().as_deref(), Some(&closing[..end]));
            rest = &closing[end + 1..];
            text.push('\n');
            continue;
        }
        let end = rest.find('>').unwrap();
        let tag = tag(&rest[..end]);
        rest = &rest[end + 1..];
        if RAW.contains(&&*tag.name) {
            let end = rest.find(&format!("</{}>", tag.name)).unwrap();
            rest = &rest[end..];
        }
        if !VOID.contains(&&*tag.name) {
            open.push(tag.name.clone());
        }
        tags.push(tag);
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(rest.trim(), "");
    (tags, text)
}

fn tag(inside: &str) -> Tag {
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
    let mut attributes = Vec::new();
    while !rest.is_empty() {
        let (name, value) = rest.split_once("=\"").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name}");
        let (value, after) = value.split_once('"').unwrap();
        let mut plain = String::new();
        words(value, &mut plain);
        attributes.push((name.to_owned(), plain));
        rest = after.strip_prefix(' ').unwrap_or(after);
    }
    Tag {
        name: name.to_owned(),
        attributes,
    }
}

fn words(escaped: &str, text: &mut String) {
    assert!(!escaped.contains(['"', '\'', '>']), "{escaped}");
    let plain = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ];
    let mut rest = escaped;
    while let Some(at) = rest.find('&') {
        text.push_str(&rest[..at]);
        let (name, means) = plain.iter().find(|(name, _)| rest[at..].starts_with(name)).unwrap();
        text.push_str(means);
        rest = &rest[at + name.len()..];
    }
    text.push_str(rest);
}

/// A name that tries to inject a script.
pub const HOSTILE: &str = "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">'\"]]>--><!--\u{202e}gpj.\u{2066}\0\x1b[31m&lt;";
