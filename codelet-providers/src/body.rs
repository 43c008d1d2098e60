//! The body of a request: fields around the conversation, which the vendor formats write unchanged.

use crate::cache_control;
use crate::catalogue::{self, Thinks};
use crate::efforts::{anthropic_budget, gemini_budget};
use crate::headers::DROPS_THINKING;
use crate::host::Host;
use crate::sent_steps::{self, Conversion, SentStep, SentSteps};
use crate::settings::{Settings, Thinking};
use crate::ways::Way;
use crate::wire::Wire;
use bytes::Bytes;
use codelet_agent::model::{Request, ToolSpec};
use codelet_context::message::{Extra, Message, Part, Role};
use codelet_context::tokens::Tokens;
use codelet_transcript::{Document, Format, Maker, Retelling, ids, pictures, write};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The placeholder for an image, for a model that does not accept images.
const UNSEEN: &str = "[an image, left out: this model sees none]";

/// The reason why writing cannot fail.
const WRITTEN: &str = "all four forms of a request are written";

impl Settings {
    /// Returns the request in the vendor's format as slices; `sent` keeps those that the next request shares.
    pub(crate) fn slices(&self, request: &Request, sent: &mut SentSteps) -> Vec<Bytes> {
        let conversion = Conversion {
            wants_reasoning: self.wants_reasoning(),
            carries_marks: self.carries().is_some(),
        };
        let steps = sent.begin(&request.messages, conversion, |messages| self.step(messages));
        let (head, marked) = self.head(request, &steps);
        sent.write(&head, steps, marked).expect(WRITTEN)
    }

    /// Returns the request as one text, for inspection.
    pub(crate) fn body(&self, request: &Request) -> String {
        let (document, _) = self.head(request, &[self.step(&request.messages)]);
        write(&document, document.format).expect(WRITTEN)
    }

    /// Returns the document of the first step of a request, with cache marks, and for each other step that carries any
    /// its messages with them.
    fn head(&self, request: &Request, steps: &[SentStep]) -> (Document, Vec<Option<Vec<Message>>>) {
        let mut marked: Vec<Option<Vec<Message>>> = vec![None; steps.len()];
        let mut marks_tools = false;
        if let Some(carries) = self.carries() {
            let written: Vec<&Message> = steps.iter().flat_map(|step| &step.written).collect();
            let [edge, next] = [request.edge, request.next_edit].map(|at| sent_steps::place_of(steps, at?));
            let mark = cache_control::of(self.lifetime);
            for (mut message, part) in cache_control::places(&written, edge, next, carries) {
                for (step, marked) in steps.iter().zip(&mut marked) {
                    if message < step.written.len() {
                        let messages = marked.get_or_insert_with(|| step.written.clone());
                        cache_control::mark(&mut messages[message].parts[part], &mark);
                        break;
                    }
                    message -= step.written.len();
                }
            }
            marks_tools = written.first().is_none_or(|first| first.role != Role::System);
        }
        let document = Document {
            format: format(self.wire),
            messages: marked[0].take().unwrap_or_else(|| steps[0].written.clone()),
            envelope: self.envelope(request, marks_tools),
            warnings: Vec::new(),
        };
        (document, marked)
    }

    /// Returns the fields of the request around the conversation.
    fn envelope(&self, request: &Request, marks_tools: bool) -> Map<String, Value> {
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
        envelope
    }

    /// Learns from the server's rejection of this request how the request must be written.
    pub(crate) fn learn(&self, said: &str, body: &str) -> Option<Way> {
        let Ok(Value::Object(sent)) = serde_json::from_str(body) else {
            return None;
        };
        self.ways.learn(said, &sent)
    }

    /// Returns whether replies with tool calls must include the thinking field, even if empty: DeepSeek from V4 on and
    /// Kimi reject a request without it, even if another model made the reply or there was no thinking.
    fn wants_reasoning(&self) -> bool {
        self.wire == Wire::Chat
            && (self.ways.has(Way::WithReasoning)
                || self.thinking != Thinking::Off && catalogue::wants_reasoning(&self.model))
    }

    /// Returns the maker of the replies to these requests.
    pub(crate) fn maker(&self) -> Maker {
        Maker {
            form: format(self.wire),
            model: format!("{}/{}", self.asked.vendor, self.asked.model),
        }
    }

    /// Returns the predicate for parts that can carry a cache mark; `None` if the vendor accepts no marks.
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

    /// Returns messages in the wire's form. Texts are shared, not copied. Content of another model is included without
    /// what only that model's vendor can verify.
    fn step(&self, messages: &[Arc<Message>]) -> SentStep {
        let mut out: Vec<Message> = Vec::with_capacity(messages.len());
        let mut places = Vec::with_capacity(messages.len());
        let own = self.maker();
        let wants_reasoning = self.wants_reasoning();
        let mut retelling = Retelling::new(|maker: &Maker| *maker == own);
        for message in messages {
            places.push(out.len());
            let Some(mut message) = retelling.message(Message::clone(message)) else {
                continue;
            };
            if message.role == Role::System {
                match out.last_mut() {
                    Some(last) if last.role == Role::System => {
                        last.parts.append(&mut message.parts);
                        continue;
                    }
                    // Only the first can be separate from the conversation, and two vendors have no place for later
                    // ones.
                    Some(_) if matches!(self.wire, Wire::Anthropic | Wire::Gemini) => message.role = Role::User,
                    _ => {}
                }
            }
            if wants_reasoning {
                with_reasoning(&mut message);
            }
            self.pictures(&mut message);
            ids::spell(&mut message, format(self.wire));
            // A system prompt of one text would be written as a plain string, which Gemini rejects.
            message.bare &= self.wire != Wire::Gemini;
            if self.carries().is_some() {
                // Only a list of parts can carry a mark; a text written as a list stays one after the mark has moved
                // on.
                message.bare = false;
                if self.wire == Wire::Chat {
                    self.results_in_parts(&mut message);
                }
            }
            out.push(message);
        }
        SentStep::new(messages, out, places)
    }

    fn results_in_parts(&self, message: &mut Message) {
        for part in &mut message.parts {
            if let Part::ToolResult(result) = part {
                result.bare &= result.output.is_empty();
            }
        }
    }

    /// Removes images for models that do not accept them, and moves them out of tool results for vendors that do not
    /// accept them there.
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
            // The minimum budget is 1,024.
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
        // The only model that accepts an effort together with a budget.
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
            // The conversation is kept locally, not by the vendor.
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

    /// Sets the session id for vendors that route a session's requests to the same cache. The field accepts 64
    /// characters.
    fn put_session(&self, fields: &mut Map<String, Value>, request: &Request) {
        if self.vendor == "openai" && !request.session.is_empty() {
            let session: String = request.session.chars().take(64).collect();
            fields.insert("prompt_cache_key".to_owned(), Value::from(session));
        }
    }
}

/// The field for thinking.
const REASONING: &str = "reasoning_content";

/// Adds an empty thinking block to a reply that has tool calls but no thinking.
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

/// Returns whether to ask the vendor to drop thinking after messages that a compaction has changed, which it would
/// otherwise reject; a header, or Bedrock's body, must say so too. Only the vendor and the clouds that serve its models
/// are known to support it.
pub(crate) fn drops_thinking(vendor: &str, wire: Wire, model: &str) -> bool {
    wire == Wire::Anthropic && vendor == "anthropic" && codelet_transcript::vendor::binds_thinking(model)
}

/// Returns the conversation format of a wire.
pub(crate) fn format(wire: Wire) -> Format {
    match wire {
        Wire::Anthropic => Format::Anthropic,
        Wire::Chat => Format::Openai,
        Wire::Responses => Format::Responses,
        Wire::Gemini => Format::Gemini,
    }
}

/// Limits a budget so that 1,024 tokens remain for the answer, unless the total is too small.
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

/// Inserts placeholders for the conversation. Fields that can change between requests come after them.
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
            // Strict mode is the default here and supports only a part of JSON Schema.
            Wire::Responses => json!({"type": "function", "name": name, "description": description,
                "parameters": parameters, "strict": false}),
        }
    };
    specs.iter().map(one).collect()
}

#[cfg(test)]
pub(crate) mod tests;
