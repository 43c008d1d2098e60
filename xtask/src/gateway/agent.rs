//! Simulates an agent sending a recorded session: request by request, with cache marks, and compacting by itself when
//! its context is full.

use super::beside::Beside;
use super::bill::Bill;
use super::paced::Paced;
use super::sessions::Weigher;
use bytes::Bytes;
use codelet_context::message::Role;
use codelet_context::price::PriceCard;
use codelet_context::tokens::{self, Tokens};
use codelet_gateway::Api;
use codelet_gateway::edit::{Edit, Editor};
use codelet_replay::session::Session;
use codelet_transcript::vendor::list_of;
use codelet_transcript::write_items;
use serde_json::{Value, json};

/// An agent compacts when less than this many tokens of the window are left: seven recorded compactions of Claude Code
/// occurred at 155,333 to 171,435 of 200,000, the median at 167,998.
const ROOM: Tokens = 32_000;
/// Bytes of the summary that it lets the model write: the median of those seven.
const SUMMARY: usize = 15_000;
/// Tokens of the next request, since the agent reads its last files again: 39,775 to 70,931, the median 50,045.
const AFTER: Tokens = 50_000;
/// The beginning of its prompt for a summary, from Claude Code, and the prompt's size.
const ASKS: &str = "Your task is to create a detailed summary of the conversation so far";
const ASKS_BYTES: usize = 5_000;
/// Maximum output tokens of a reply.
const REPLY: Tokens = 16_000;

/// A session written in a vendor's format.
pub struct Written<'a> {
    pub session: &'a Session,
    pub api: Api,
    pub card: &'a PriceCard,
    pub window: Tokens,
    /// By message, without system prompts: its items and their tokens.
    items: Vec<(Vec<String>, f64)>,
    pub fixed: Tokens,
    head: String,
    times: Vec<u64>,
}

impl<'a> Written<'a> {
    pub fn new(session: &'a Session, api: Api, card: &'a PriceCard, window: Tokens) -> Self {
        let messages: Vec<_> = session.messages.iter().map(|it| (**it).clone()).collect();
        let is_system = |at: usize| messages[at].role == Role::System;
        let system: Tokens = (0..messages.len())
            .filter(|&at| is_system(at))
            .map(|at| session.scale(tokens::estimate_message(&messages[at])))
            .sum();
        let weigher = Weigher { ratio: session.ratio };
        let items = write_items(&messages, api.format()).into_iter().enumerate();
        let items = items.map(|(at, mut items)| {
            if is_system(at) {
                items.clear();
            }
            let tokens = items.iter().map(|item| weigher.item(item.as_bytes(), api)).sum();
            (items, tokens)
        });
        let items = items.collect();
        let fixed = session.fixed + system;
        let text = "x".repeat(session.estimate(fixed) as usize * 4);
        let system = match api {
            // The marks of Claude Code: on a short block that identifies the agent, and on the long one.
            Api::Anthropic => json!([{"type": "text", "text": "You are an agent.", "cache_control": mark(card)},
                {"type": "text", "text": text, "cache_control": mark(card)}]),
            _ => json!(text),
        };
        let list = list_of(api.format());
        // Without recorded times, requests are half a minute apart.
        let times = session.times().unwrap_or_else(|| {
            (0..session.requests.len() as u64)
                .map(|number| number * 30_000)
                .collect()
        });
        Written {
            session,
            api,
            card,
            window,
            items,
            fixed,
            head: format!(
                "{{\"model\":\"{}\",\"max_tokens\":{REPLY},\"system\":{system},\"{list}\":[",
                card.name
            ),
            times,
        }
    }

    fn output(&self, request: usize) -> Tokens {
        let reply = self.session.requests[request].reply.clone();
        let parts = self.session.messages[reply].iter().flat_map(|message| &message.parts);
        parts.map(|part| self.session.weigh(part)).sum()
    }
}

fn mark(card: &PriceCard) -> Value {
    match card.expires_after().as_secs() {
        3_600 => json!({"type": "ephemeral", "ttl": "1h"}),
        _ => json!({"type": "ephemeral"}),
    }
}

/// The intermediary between an agent and its provider.
#[derive(Clone, Copy)]
pub enum Between<'a> {
    /// Requests pass through.
    Nothing,
    Gateway(&'a Editor),
    Other(&'a Beside),
}

/// A simulated agent.
pub struct Agent<'a> {
    written: &'a Written<'a>,
    between: Between<'a>,
    pub bill: Bill<'a>,
    /// The provider that the requests are sent to, if they are.
    pub paced: Option<Paced<'a>>,
    /// The conversation as the agent holds it, its last item, and the number of recorded messages added so far.
    text: String,
    last: String,
    told: usize,
    pub edits: usize,
    /// The agent's own compactions.
    pub compactions: usize,
    /// Requests that were refused as too long, and shortened.
    pub refused: usize,
}

impl<'a> Agent<'a> {
    pub fn new(written: &'a Written<'a>, between: Between<'a>) -> Self {
        let weigher = Weigher {
            ratio: written.session.ratio,
        };
        Agent {
            written,
            between,
            bill: Bill::new(written.card, written.api, weigher, written.fixed),
            paced: None,
            text: String::new(),
            last: String::new(),
            told: 0,
            edits: 0,
            compactions: 0,
            refused: 0,
        }
    }

    /// Sends the requests to a provider, too.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn sending(mut self) -> std::io::Result<Self> {
        self.paced = Some(Paced::start(self.written.card, self.written.session.ratio)?);
        Ok(self)
    }

    /// The dollars so far, by the computed bill and by that of the provider.
    pub fn dollars(&self) -> [f64; 2] {
        [
            self.bill.dollars,
            self.paced.as_ref().map_or(0.0, |paced| paced.dollars),
        ]
    }

    /// Returns whether the context is so full that the agent compacts before this request.
    pub fn is_full(&self, request: usize) -> bool {
        let written = self.written;
        let end = written.session.requests[request].reply.start;
        let more: f64 = written.items[self.told..end].iter().map(|(_, tokens)| tokens).sum();
        self.bill.context as f64 + more > (written.window - ROOM) as f64
    }

    fn add(&mut self, item: &str) {
        if !self.last.is_empty() {
            self.text.push_str(&self.last);
            self.text.push(',');
        }
        item.clone_into(&mut self.last);
    }

    fn add_up_to(&mut self, end: usize) {
        let written = self.written;
        for item in written.items[self.told..end].iter().flat_map(|(items, _)| items) {
            self.add(item);
        }
        self.told = end;
    }

    /// Makes the request for this reply; returns false if it cannot be made to fit.
    pub fn request(&mut self, request: usize) -> bool {
        let written = self.written;
        let is_full = self.is_full(request);
        let reply = written.session.requests[request].reply.clone();
        self.add_up_to(reply.start);
        let now = written.times[request];
        if is_full && self.bill.context > 0 && !self.compact(now) {
            return false;
        }
        if !self.send(written.output(request), now) {
            return false;
        }
        self.add_up_to(reply.end);
        true
    }

    fn compact(&mut self, now: u64) -> bool {
        let asks = format!("{ASKS}. {}", "x ".repeat(ASKS_BYTES / 2));
        self.add(&said(self.written.api, &asks));
        let output = (tokens::estimate_bytes(SUMMARY) as f64 * self.written.session.ratio) as Tokens;
        if !self.send(output, now) {
            return false;
        }
        self.compactions += 1;
        let left = self.written.session.estimate(AFTER.saturating_sub(self.written.fixed)) as usize * 4;
        let summary = format!(
            "{} was said before. {}",
            self.compactions,
            "y ".repeat(left.max(SUMMARY) / 2)
        );
        self.text.clear();
        self.last = said(self.written.api, &summary);
        true
    }

    fn send(&mut self, output: Tokens, now: u64) -> bool {
        let written = self.written;
        let last = match written.api {
            Api::Anthropic => &marked(&self.last, written.card),
            _ => &self.last,
        };
        let body = Bytes::from([&written.head, &*self.text, last, "]}"].concat());
        let body = match self.between {
            Between::Nothing => Some(body),
            Between::Gateway(editor) => self.edited(editor, body),
            Between::Other(other) => other.edit(&body),
        };
        let Some(body) = body else { return false };
        let is_sent = self.bill.request(&body, output, now, written.window);
        let paced = self.paced.as_mut().filter(|_| is_sent);
        is_sent && paced.is_none_or(|paced| paced.request(&body, output, now).is_ok())
    }

    fn edited(&mut self, editor: &Editor, body: Bytes) -> Option<Bytes> {
        let written = self.written;
        let asked = written.api.into();
        let edited = editor.edit(&asked, &body);
        self.edits += usize::from(edited.facts.edit.is_some());
        let mut sent: Bytes = edited
            .body
            .map_or_else(|| body.clone(), |slices| slices.concat().into());
        loop {
            let prompt = self.bill.weigh(&sent);
            if prompt <= written.window {
                return Some(sent);
            }
            self.refused += 1;
            let smaller = editor.edit_refused(&asked, &body, Some(written.window), Some(prompt))?;
            sent = smaller.body?.concat().into();
        }
    }
}

fn said(api: Api, text: &str) -> String {
    match api {
        Api::Anthropic => json!({"role": "user", "content": [{"type": "text", "text": text}]}).to_string(),
        _ => json!({"role": "user", "content": text}).to_string(),
    }
}

/// Marks the last block of an item, as clients mark the end of a request.
fn marked(item: &str, card: &PriceCard) -> String {
    codelet_transcript::mark_last_block(item.as_bytes(), &mark(card).to_string())
        .and_then(|item| String::from_utf8(item).ok())
        .unwrap_or_else(|| item.to_owned())
}
