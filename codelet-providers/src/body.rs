//! The body of a request: settings around the conversation, which the formats write as it came.

use crate::address::DROPS_THINKING;
use crate::cache_control::{self, Lifetime};
use crate::catalogue::{self, Thinks};
use crate::efforts::{anthropic_budget, gemini_budget};
use crate::host::Host;
use crate::vendor::Wire;
use crate::ways::{Way, Ways};
use bytes::Bytes;
use codelet_agent::model::{Request, ToolSpec};
use codelet_context::message::{Extra, Message, Part, Role};
use codelet_context::tokens::Tokens;
use codelet_transcript::{Document, Encoded, Format, Maker, Retelling, ids, pictures, write, write_slices};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a model that sees no pictures is told instead of one.
const UNSEEN: &str = "[an image, left out: this model sees none]";

/// Why writing cannot fail.
const WRITTEN: &str = "all four forms of a request are written";

/// The shortest answer that every vendor can be asked for, in tokens.
const LEAST_OUTPUT: Tokens = 16;

/// How much a model is to think.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Thinking {
    /// As the vendor does by default; a model that decides itself how much is let to.
    #[default]
    Usual,
    /// Not at all, where that can be asked for.
    Off,
    /// With an effort in the vendor's words: `low`, `medium`, `high` and others.
    Effort(String),
    /// With up to so many tokens.
    Budget(Tokens),
}

/// Everything that a request says beside the conversation; the same for a whole session.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub wire: Wire,
    /// The cloud that serves it, if it is not the vendor itself.
    pub host: Option<Host>,
    /// Who is asked, and under which name of the model; a cloud and its name where one serves it.
    pub asked: Asked,
    /// The vendor's own name of the model: its rules hold whoever serves it.
    pub model: String,
    pub vendor: &'static str,
    pub max_output: Tokens,
    pub sees_images: bool,
    /// The catalogue lists the model; else how it thinks is a guess.
    pub is_listed: bool,
    pub thinks: Thinks,
    pub thinking: Thinking,
    pub shows_thinking: bool,
    pub lifetime: Lifetime,
    /// How its server wants requests written, as far as it has said so.
    pub ways: Arc<Ways>,
}

/// Who is asked, and for what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub vendor: &'static str,
    pub model: String,
}

impl Settings {
    /// The request in the vendor's form, in slices; `encoded` keeps those that the next request shares.
    pub(crate) fn slices(&self, request: &Request, encoded: &mut Encoded) -> Vec<Bytes> {
        write_slices(&self.document(request), encoded).expect(WRITTEN)
    }

    /// The same as one text, for whoever looks into it.
    pub(crate) fn body(&self, request: &Request) -> String {
        let document = self.document(request);
        write(&document, document.format).expect(WRITTEN)
    }

    fn document(&self, request: &Request) -> Document {
        let (mut messages, [edge, next]) = self.messages(request);
        let marks_tools = match self.carries() {
            Some(carries) => cache_control::place(&mut messages, edge, next, self.lifetime, carries),
            None => false,
        };
        let mut tools = tools(&request.tools, self.wire);
        if marks_tools
            && self.wire == Wire::Anthropic
            && let Some(Value::Object(last)) = tools.last_mut()
        {
            last.insert("cache_control".to_owned(), cache_control::of(self.lifetime));
        }
        let max_output = request.max_output.unwrap_or(self.max_output).max(1);
        let mut envelope = match self.wire {
            Wire::Anthropic => self.anthropic(tools, max_output),
            Wire::Chat => self.chat(tools, max_output, request),
            Wire::Responses => self.responses(tools, max_output, request),
            Wire::Gemini => self.gemini(tools, max_output),
        };
        if let Some(host) = self.host {
            host.rewrite(self.wire, &mut envelope);
        }
        self.ways.apply(&mut envelope);
        Document {
            format: format(self.wire),
            messages,
            envelope,
            warnings: Vec::new(),
        }
    }

    /// Takes note of how a server that has refused this request in these words wants it written.
    pub(crate) fn learn(&self, said: &str, body: &str) -> Option<Way> {
        let Ok(Value::Object(sent)) = serde_json::from_str(body) else {
            return None;
        };
        self.ways.learn(said, &sent)
    }

    /// Whether replies that call tools have to bring their thinking back, be there any or not: DeepSeek from V4 on and Kimi
    /// refuse a request without the field, also where another model has made the reply or nothing was thought.
    fn wants_reasoning(&self) -> bool {
        self.wire == Wire::Chat
            && (self.ways.has(Way::WithReasoning)
                || self.thinking != Thinking::Off && catalogue::wants_reasoning(&self.model))
    }

    /// The longest answer to ask for where only its counts are read, on the wires that send them last. A budget for thinking
    /// has to fit below the limit, and a request that thinks otherwise is another one to Anthropic's cache.
    pub(crate) fn idle_output(&self) -> Option<Tokens> {
        let has_budget = self.vendor == "openrouter" && !matches!(self.thinking, Thinking::Usual | Thinking::Off);
        match self.wire {
            Wire::Chat if has_budget => None,
            Wire::Chat | Wire::Responses => Some(LEAST_OUTPUT),
            // These count with the first word.
            Wire::Anthropic | Wire::Gemini => None,
        }
    }

    /// Whether the model may think: because it is asked to, or because nothing here keeps it from it.
    pub(crate) fn lets_think(&self) -> bool {
        match (&self.thinking, self.thinks) {
            (_, Thinks::Never) => false,
            // It takes no word for not at all.
            (_, Thinks::Level) => true,
            (Thinking::Off, _) => false,
            // On this wire it thinks only if a number is named.
            (Thinking::Usual, Thinks::Budget) => self.wire != Wire::Anthropic,
            _ => true,
        }
    }

    /// Who makes the replies to these requests.
    pub(crate) fn maker(&self) -> Maker {
        Maker {
            form: format(self.wire),
            model: format!("{}/{}", self.asked.vendor, self.asked.model),
        }
    }

    /// What can carry a mark for the cache; none where the vendor takes no marks.
    fn carries(&self) -> Option<fn(&Part) -> bool> {
        match self.wire {
            _ if self.ways.has(Way::WithoutMarks) => None,
            Wire::Anthropic => Some(cache_control::is_block),
            Wire::Chat if self.vendor == "openrouter" && self.model.starts_with("anthropic/") => {
                Some(cache_control::is_words)
            }
            _ => None,
        }
    }

    /// The messages as the wire takes them, and where the two edges of the request are among them. Texts are shared, not copied.
    /// What another model has said is told without what only that model's vendor can check.
    fn messages(&self, request: &Request) -> (Vec<Message>, [Option<usize>; 2]) {
        let mut out: Vec<Message> = Vec::with_capacity(request.messages.len());
        let mut edges = [None; 2];
        let wanted = [request.edge, request.next_edit];
        let note = |edges: &mut [Option<usize>; 2], at: usize, here: usize| {
            for (edge, wanted) in edges.iter_mut().zip(wanted) {
                if wanted == Some(at) {
                    *edge = Some(here);
                }
            }
        };
        let own = self.maker();
        let wants_reasoning = self.wants_reasoning();
        let mut retelling = Retelling::new(|maker: &Maker| *maker == own);
        for (index, message) in request.messages.iter().enumerate() {
            note(&mut edges, index, out.len());
            let Some(mut message) = retelling.message(Message::clone(message)) else {
                continue;
            };
            if message.role == Role::System {
                match out.last_mut() {
                    Some(last) if last.role == Role::System => {
                        last.parts.append(&mut message.parts);
                        continue;
                    }
                    // Only the first can stand beside the conversation, and two vendors have no other place for one.
                    Some(_) if matches!(self.wire, Wire::Anthropic | Wire::Gemini) => message.role = Role::User,
                    _ => {}
                }
            }
            if wants_reasoning {
                with_reasoning(&mut message);
            }
            self.pictures(&mut message);
            ids::spell(&mut message, format(self.wire));
            // A system prompt that is one text would be written as a plain string, which Gemini does not take.
            message.bare &= self.wire != Wire::Gemini;
            if self.carries().is_some() {
                // Only a list of parts can carry a mark; a text that was one stays one when the mark has moved on.
                message.bare = false;
                if self.wire == Wire::Chat {
                    self.results_in_parts(&mut message);
                }
            }
            out.push(message);
        }
        note(&mut edges, request.messages.len(), out.len());
        (out, edges)
    }

    fn results_in_parts(&self, message: &mut Message) {
        for part in &mut message.parts {
            if let Part::ToolResult(result) = part {
                result.bare &= result.output.is_empty();
            }
        }
    }

    /// Pictures only where they are seen, and within answers only where the vendor takes them there.
    fn pictures(&self, message: &mut Message) {
        if self.sees_images {
            if !pictures::stand_in_answers(format(self.wire)) {
                pictures::show_below(message);
            }
            return;
        }
        let unseen = |part: &mut Part| {
            if matches!(part, Part::Image(_)) {
                *part = Part::text(UNSEEN);
            }
        };
        for part in &mut message.parts {
            match part {
                Part::ToolResult(result) => result.output.iter_mut().for_each(unseen),
                part => unseen(part),
            }
        }
    }

    fn anthropic(&self, tools: Vec<Value>, max_output: Tokens) -> Map<String, Value> {
        let mut fields = begin(&[("model", json!(self.asked.model)), ("stream", json!(true))]);
        put_tools(&mut fields, tools);
        places(&mut fields, &["system", "messages"]);
        fields.insert("max_tokens".to_owned(), json!(max_output));
        let mut thinking = match (&self.thinking, self.thinks) {
            (Thinking::Off, Thinks::Adaptive | Thinks::Budget) => Some(json!({"type": "disabled"})),
            (Thinking::Usual | Thinking::Effort(_), Thinks::Adaptive) => Some(json!({"type": "adaptive"})),
            (Thinking::Budget(_), Thinks::Adaptive) => Some(json!({"type": "adaptive"})),
            // 1,024 is the least that is taken.
            (Thinking::Budget(tokens), Thinks::Budget) if max_output > 1_024 => {
                Some(json!({"type": "enabled", "budget_tokens": within(*tokens, max_output)}))
            }
            (Thinking::Effort(effort), Thinks::Budget) if max_output > 1_024 => {
                Some(json!({"type": "enabled", "budget_tokens": within(anthropic_budget(effort), max_output)}))
            }
            _ => None,
        };
        if let (Some(Value::Object(thinking)), true) =
            (&mut thinking, self.shows_thinking && self.thinks == Thinks::Adaptive)
            && thinking["type"] != "disabled"
        {
            thinking.insert("display".to_owned(), json!("summarized"));
        }
        if let Some(Value::Object(thinking)) = &mut thinking
            && thinking["type"] == "adaptive"
            && drops_thinking(self.vendor, self.wire, &self.model)
        {
            thinking.insert(
                "block_binding".to_owned(),
                json!({"prefix_mismatch_behavior": "drop_block"}),
            );
            if self.host == Some(Host::Bedrock) {
                fields.insert("anthropic_beta".to_owned(), json!([DROPS_THINKING]));
            }
        }
        put(&mut fields, "thinking", thinking);
        // The one model that takes an effort beside a number of tokens.
        let has_effort = self.thinks == Thinks::Adaptive || self.model.starts_with("claude-opus-4-5");
        if let (Thinking::Effort(effort), true) = (&self.thinking, has_effort) {
            fields.insert("output_config".to_owned(), json!({ "effort": effort }));
        }
        fields
    }

    fn chat(&self, tools: Vec<Value>, max_output: Tokens, request: &Request) -> Map<String, Value> {
        let mut fields = begin(&[
            ("model", json!(self.asked.model)),
            ("stream", json!(true)),
            ("stream_options", json!({"include_usage": true})),
        ]);
        put_tools(&mut fields, tools);
        places(&mut fields, &["messages"]);
        let limit = if self.vendor == "openai" {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        fields.insert(limit.to_owned(), json!(max_output));
        match (&self.thinking, self.vendor) {
            (Thinking::Usual, _) => {}
            (Thinking::Effort(effort), "openrouter") => {
                put(&mut fields, "reasoning", Some(json!({ "effort": effort })))
            }
            (Thinking::Budget(tokens), "openrouter") => {
                put(&mut fields, "reasoning", Some(json!({ "max_tokens": tokens })))
            }
            (Thinking::Off, "openrouter") => put(&mut fields, "reasoning", Some(json!({ "enabled": false }))),
            (Thinking::Off, "deepseek") => put(&mut fields, "thinking", Some(json!({ "type": "disabled" }))),
            (Thinking::Off, "openai" | "ollama") => put(&mut fields, "reasoning_effort", Some(json!("none"))),
            (Thinking::Effort(effort), _) => put(&mut fields, "reasoning_effort", Some(json!(effort))),
            (Thinking::Budget(_) | Thinking::Off, _) => {}
        }
        self.put_session(&mut fields, request);
        fields
    }

    fn responses(&self, tools: Vec<Value>, max_output: Tokens, request: &Request) -> Map<String, Value> {
        let mut fields = begin(&[
            ("model", json!(self.asked.model)),
            ("stream", json!(true)),
            // The conversation is here, not with the vendor.
            ("store", json!(false)),
        ]);
        put_tools(&mut fields, tools);
        places(&mut fields, &["instructions", "input"]);
        fields.insert("max_output_tokens".to_owned(), json!(max_output));
        if self.thinks != Thinks::Never {
            if self.vendor == "openai" {
                fields.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
            }
            let mut reasoning = Map::new();
            match &self.thinking {
                Thinking::Effort(effort) => put(&mut reasoning, "effort", Some(json!(effort))),
                Thinking::Off => put(&mut reasoning, "effort", Some(json!("none"))),
                Thinking::Usual | Thinking::Budget(_) => {}
            }
            put(&mut reasoning, "summary", self.shows_thinking.then(|| json!("auto")));
            put(
                &mut fields,
                "reasoning",
                (!reasoning.is_empty()).then_some(Value::Object(reasoning)),
            );
        }
        self.put_session(&mut fields, request);
        fields
    }

    fn gemini(&self, tools: Vec<Value>, max_output: Tokens) -> Map<String, Value> {
        let mut fields = Map::new();
        if !tools.is_empty() {
            fields.insert("tools".to_owned(), json!([{ "functionDeclarations": tools }]));
        }
        places(&mut fields, &["systemInstruction", "contents"]);
        let mut config = begin(&[("maxOutputTokens", json!(max_output))]);
        let mut thinking = Map::new();
        match (&self.thinking, self.thinks) {
            (Thinking::Effort(effort), Thinks::Level) => put(&mut thinking, "thinkingLevel", Some(json!(effort))),
            (Thinking::Effort(effort), Thinks::Budget) => {
                put(&mut thinking, "thinkingBudget", Some(json!(gemini_budget(effort))))
            }
            (Thinking::Budget(tokens), Thinks::Budget) => put(&mut thinking, "thinkingBudget", Some(json!(tokens))),
            (Thinking::Off, Thinks::Budget) => put(&mut thinking, "thinkingBudget", Some(json!(0))),
            _ => {}
        }
        if self.shows_thinking && self.thinks != Thinks::Never {
            thinking.insert("includeThoughts".to_owned(), json!(true));
        }
        put(
            &mut config,
            "thinkingConfig",
            (!thinking.is_empty()).then_some(Value::Object(thinking)),
        );
        fields.insert("generationConfig".to_owned(), Value::Object(config));
        fields
    }

    /// Names the session to a vendor that brings requests of one session to one cache. It takes 64 letters.
    fn put_session(&self, fields: &mut Map<String, Value>, request: &Request) {
        if self.vendor == "openai" && !request.session.is_empty() {
            let session: String = request.session.chars().take(64).collect();
            fields.insert("prompt_cache_key".to_owned(), Value::from(session));
        }
    }
}

/// The field for thinking.
const REASONING: &str = "reasoning_content";

/// Puts an empty thought on a reply that calls tools and has none.
fn with_reasoning(message: &mut Message) {
    let has_thought = || message.parts.iter().any(|part| matches!(part, Part::Thinking(_)));
    if message.role != Role::Assistant || message.calls().next().is_none() || has_thought() {
        return;
    }
    let extra = message.extra.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut extra: Map<String, Value> = extra.collect();
    extra.entry(REASONING).or_insert_with(|| Value::from(""));
    message.extra = Extra::new(extra);
}

/// Whether the vendor is asked to leave out thinking that stands behind messages that a compaction has changed, which it would
/// refuse otherwise; its header has to say so, too, or Bedrock's body. Nobody but the vendor itself and the clouds that serve its models
/// is known to understand that.
pub(crate) fn drops_thinking(vendor: &str, wire: Wire, model: &str) -> bool {
    wire == Wire::Anthropic && vendor == "anthropic" && codelet_transcript::vendor::binds_thinking(model)
}

/// The form that a wire's conversations are written in.
pub(crate) fn format(wire: Wire) -> Format {
    match wire {
        Wire::Anthropic => Format::Anthropic,
        Wire::Chat => Format::Openai,
        Wire::Responses => Format::Responses,
        Wire::Gemini => Format::Gemini,
    }
}

/// A budget that leaves room for an answer: 1,024 tokens, unless the whole is hardly larger.
fn within(budget: Tokens, max_output: Tokens) -> Tokens {
    budget.min(max_output.saturating_sub(1_024)).max(1_024)
}

fn begin(fields: &[(&str, Value)]) -> Map<String, Value> {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value);
    }
}

/// Where the conversation comes. What can change from request to request stands behind it.
fn places(fields: &mut Map<String, Value>, names: &[&str]) {
    fields.extend(names.iter().map(|name| ((*name).to_owned(), Value::Null)));
}

fn put_tools(fields: &mut Map<String, Value>, tools: Vec<Value>) {
    put(fields, "tools", (!tools.is_empty()).then_some(Value::Array(tools)));
}

fn tools(specs: &[ToolSpec], wire: Wire) -> Vec<Value> {
    let one = |spec: &ToolSpec| {
        let (name, description, parameters) = (&*spec.name, &*spec.description, &spec.parameters);
        match wire {
            Wire::Anthropic => json!({"name": name, "description": description, "input_schema": parameters}),
            Wire::Gemini => json!({"name": name, "description": description, "parametersJsonSchema": parameters}),
            Wire::Chat => json!({"type": "function",
                "function": {"name": name, "description": description, "parameters": parameters}}),
            // Strict is the default here and takes only a part of what a schema can say.
            Wire::Responses => json!({"type": "function", "name": name, "description": description,
                "parameters": parameters, "strict": false}),
        }
    };
    specs.iter().map(one).collect()
}

#[cfg(test)]
pub(crate) mod tests;
