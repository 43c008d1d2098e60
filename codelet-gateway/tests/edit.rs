//! Requests of growing conversations, as clients send them, through one editor or several.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use codelet_context::economics::Preset;
use codelet_context::price;
use codelet_gateway::Api;
use codelet_gateway::edit::{Edit, Edited, Editor, Facts, Settings};
use codelet_transcript::vendor;
use serde_json::{Value, json};

const ALL: [Api; 4] = [Api::Anthropic, Api::Openai, Api::Responses, Api::Gemini];

fn editor(window: u64) -> Editor {
    under(Preset::Faithful, window)
}

/// One that edits nothing before the window is full.
fn full(window: u64) -> Editor {
    under(Preset::Off, window)
}

fn under(preset: Preset, window: u64) -> Editor {
    Editor::new(Settings {
        preset,
        window: Some(window),
        windows: |_| None,
        offers_recall: true,
    })
}

/// What a file holds: every time something else, so that nothing can be left out as a repetition.
fn text(random: &mut fastrand::Rng, bytes: usize) -> String {
    let words = [
        "parser", "index", "window", "commit", "handle", "branch", "cursor", "buffer", "socket", "record",
    ];
    let mut text = String::new();
    while text.len() < bytes {
        let (word, number) = (random.choice(words).unwrap(), random.u32(..1_000_000));
        text.push_str(&format!(
            "    let {word}_{number} = {word}::open(\"src/{word}/{number}.rs\")?;\n"
        ));
    }
    text
}

/// What the user says.
fn said(api: Api, words: &str) -> Value {
    match api {
        Api::Anthropic | Api::Openai => json!({"role": "user", "content": words}),
        Api::Responses => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]})
        }
        Api::Gemini => json!({"role": "user", "parts": [{"text": words}]}),
    }
}

/// The items of one step: a reply with a call, and what the call gave. Every eighth begins a turn.
fn step(api: Api, number: usize, random: &mut fastrand::Rng) -> Vec<Value> {
    let (id, path) = (format!("call_{number}"), format!("src/{number}.rs"));
    let words = format!("Now I look at {path}, since step {number} depends on it.");
    let output = text(random, 3_000);
    let prompt = format!("Next, please mend number {number}.");
    let mut items = match api {
        Api::Anthropic => vec![
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": format!("What does {path} do?"), "signature": "c2ln"},
                {"type": "text", "text": words},
                {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": output}]}]}),
        ],
        Api::Openai => vec![
            json!({"role": "assistant", "content": words, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "read", "arguments": json!({"path": path}).to_string()}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": output}),
        ],
        Api::Responses => vec![
            json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "encrypted_content": "eHg="}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}),
            json!({"type": "function_call", "call_id": id, "name": "shell", "arguments": json!({"command": format!("cat {path}")}).to_string()}),
            json!({"type": "function_call_output", "call_id": id, "output": output}),
        ],
        Api::Gemini => vec![
            json!({"role": "model", "parts": [{"text": words},
                {"functionCall": {"name": "read_file", "args": {"path": path}}, "thoughtSignature": "c2ln"}]}),
            json!({"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": output}}}]}),
        ],
    };
    if number % 8 == 7 {
        let done = format!("Number {number} is mended: {path} lost a line.");
        items.push(match api {
            Api::Anthropic => json!({"role": "assistant", "content": [{"type": "text", "text": done}]}),
            Api::Openai => json!({"role": "assistant", "content": done}),
            Api::Responses => {
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": done}]})
            }
            Api::Gemini => json!({"role": "model", "parts": [{"text": done}]}),
        });
        items.push(said(api, &prompt));
    }
    items
}

fn request(api: Api, items: &[Value]) -> Bytes {
    let system = "You mend programs.";
    let request = match api {
        Api::Anthropic => json!({"model": "claude-opus-5-5", "max_tokens": 1_000, "system": system, "stream": true,
            "tools": [{"name": "Read", "input_schema": {"type": "object"}}], "messages": items}),
        Api::Openai => json!({"model": "gpt-5.4", "messages": items, "stream": true, "max_completion_tokens": 1_000}),
        Api::Responses => {
            json!({"model": "gpt-5.4", "instructions": system, "input": items, "store": false, "max_output_tokens": 1_000})
        }
        Api::Gemini => json!({"systemInstruction": {"parts": [{"text": system}]}, "contents": items,
            "generationConfig": {"maxOutputTokens": 1_000}}),
    };
    // `serde_json::to_vec` is generic, so it would be compiled here, unoptimised, and take most of the test's time.
    request.to_string().into()
}

/// The requests of a conversation of so many steps, one a step.
fn requests(api: Api, steps: usize) -> Vec<Bytes> {
    let mut random = fastrand::Rng::with_seed(7);
    let first = "Please find out why the parser loses a line. Do not change the tests.";
    let mut items = vec![said(api, first)];
    let mut all = vec![request(api, &items)];
    for number in 0..steps {
        items.extend(step(api, number, &mut random));
        all.push(request(api, &items));
    }
    all
}

fn sent(edited: &Edited, body: &Bytes) -> Vec<u8> {
    edited
        .body
        .as_ref()
        .map_or_else(|| body.to_vec(), |slices| slices.concat())
}

fn list(api: Api, sent: &[u8]) -> Vec<Value> {
    let request: Value = serde_json::from_slice(sent).unwrap();
    request[vendor::list_of(api.format())].as_array().unwrap().clone()
}

/// The requests of somebody who often says more before the model has answered, so that what came of a reply comes in two requests.
fn interrupted(api: Api, steps: usize) -> Vec<Bytes> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut items = vec![said(api, "Please find out why the parser loses a line.")];
    let mut all = Vec::new();
    for number in 0..steps {
        items.extend(step(api, number, &mut random));
        all.push(request(api, &items));
        if random.bool() {
            items.push(said(api, &format!("Wait: is it not line {number}?")));
            all.push(request(api, &items));
        }
    }
    all
}

/// Another conversation that is everywhere as long as this one.
fn twin(body: &Bytes) -> Bytes {
    let swapped = body.iter().map(|byte| match byte {
        b'8' => b'9',
        b'9' => b'8',
        other => *other,
    });
    swapped.collect::<Vec<u8>>().into()
}

/// Room for two conversations with the texts that they show, and for none, in bytes.
const LITTLE: usize = 1_000_000;
const LEAST: usize = 0;

/// Two conversations in turn, some 300 requests in the longest case: each through an editor that sees nothing else, and both through three that are started anew now and
/// then and get them as it comes; with room for all of it, for what is shown, and for hardly anything. They are alike but for their words, or for where their clients put marks.
#[test]
fn the_same_conversation_is_sent_alike_whichever_server_gets_it() {
    type Pair = fn(&Bytes) -> [Bytes; 2];
    let twins: Pair = |body| [body.clone(), twin(body)];
    let marks: Pair = |body| [&[0][..], &[0, 2]].map(|back| marked(body, back, &json!({"type": "ephemeral"})));
    for (api, steps, name, pair) in [
        (Api::Anthropic, 100, "twins", twins),
        (Api::Anthropic, 50, "marks", marks),
        (Api::Openai, 50, "twins", twins),
        (Api::Responses, 50, "twins", twins),
        (Api::Gemini, 50, "twins", twins),
    ] {
        let alone = [editor(32_000), editor(32_000).remembering(LEAST)];
        let replica = |chosen: usize| match chosen {
            0 => editor(32_000),
            1 => editor(32_000).remembering(LITTLE),
            _ => editor(32_000).remembering(LEAST),
        };
        let mut several = [0, 1, 2].map(replica);
        let mut random = fastrand::Rng::with_seed(11);
        let (mut number, mut edits) = (0, [0, 0]);
        for body in interrupted(api, steps) {
            for (which, body) in pair(&body).iter().enumerate() {
                let usual = alone[which].edit(&api.into(), body);
                edits[which] = usual.facts.edits;
                let chosen = random.usize(..several.len());
                if random.u8(..10) == 0 {
                    several[chosen] = replica(chosen);
                }
                assert!(
                    sent(&several[chosen].edit(&api.into(), body), body) == sent(&usual, body),
                    "{api:?}, {name}, request {number}"
                );
                number += 1;
            }
        }
        assert!(
            number * 10 >= steps * 28 && edits.iter().all(|&edits| edits * 25 >= steps),
            "{number} requests, {edits:?} edits"
        );
    }
}

#[test]
fn what_there_is_no_room_for_changes_no_byte_and_no_figure() {
    for (api, preset) in ALL
        .iter()
        .flat_map(|&api| [(api, Preset::Faithful), (api, Preset::Off)])
    {
        let (one, other) = (under(preset, 32_000), under(preset, 32_000).remembering(LEAST));
        let mut edits = 0;
        for (number, body) in requests(api, 80).iter().enumerate() {
            let (whole, bare) = (one.edit(&api.into(), body), other.edit(&api.into(), body));
            assert!(sent(&whole, body) == sent(&bare, body), "{api:?}, request {number}");
            let facts = Facts {
                conversation: whole.facts.conversation,
                ..bare.facts
            };
            assert_eq!(facts, whole.facts, "{api:?}, request {number}");
            edits = edits.max(facts.edits);
        }
        assert!(edits > 1, "{api:?}, {preset:?}: {edits} edits");
    }
}

#[test]
fn a_text_for_which_there_was_no_room_is_there_after_the_next_request() {
    // Room for one of the two with its texts.
    let one = editor(24_000).remembering(900_000);
    let all = requests(Api::Anthropic, 40);
    let is_text = |text: String| text.contains("::open(");
    let mut dropped = 0;
    for pair in all.windows(2) {
        let edited = one.edit(&Api::Anthropic.into(), &pair[0]);
        let said = String::from_utf8(sent(&edited, &pair[0])).unwrap();
        let handle = said.split(" · `codelet recall ").nth(1);
        let Some(handle) = handle.and_then(|rest| rest.split('`').next()) else {
            continue;
        };
        one.edit(&Api::Anthropic.into(), &twin(&pair[0]));
        if one.recall(handle).is_empty() {
            dropped += 1;
            one.edit(&Api::Anthropic.into(), &pair[1]);
            assert!(one.recall(handle).pop().is_some_and(is_text), "{:?}", edited.facts);
        }
    }
    assert!(dropped > 2, "{dropped} dropped");
}

#[test]
fn between_edits_each_request_extends_the_one_before_and_all_are_valid_and_fit() {
    for api in ALL {
        let one = editor(32_000);
        let mut before: Vec<Value> = Vec::new();
        let (mut edits, mut steps) = (0, 0);
        for (number, body) in requests(api, 100).iter().enumerate() {
            let edited = one.edit(&api.into(), body);
            assert_eq!(edited.facts.passed, None, "{api:?}, request {number}");
            assert!(
                edited.facts.after <= 32_000,
                "{api:?}, request {number}: {:?}",
                edited.facts
            );
            let bytes = sent(&edited, body);
            let request: Value = serde_json::from_slice(&bytes).unwrap();
            let faults = vendor::check(&request, api.format());
            assert!(faults.is_empty(), "{api:?}, request {number}: {faults:?}");
            let items = list(api, &bytes);
            match edited.facts.edit {
                Some(_) => edits += 1,
                None => assert!(items.starts_with(&before), "{api:?}, request {number}"),
            }
            before = items;
            steps += 1;
        }
        assert!(
            edits > 0 && edits * 8 <= steps,
            "{api:?}: {edits} edits in {steps} requests"
        );
    }
}

#[test]
fn a_client_that_asks_for_a_shorter_reply_gets_the_conversation_as_it_was() {
    let most = |body: &Bytes, tokens: u64| -> Bytes {
        let mut request: Value = serde_json::from_slice(body).unwrap();
        for name in ["max_tokens", "max_completion_tokens", "max_output_tokens"] {
            if let Some(most) = request.get_mut(name) {
                *most = tokens.into();
            }
        }
        if let Some(config) = request.get_mut("generationConfig") {
            config["maxOutputTokens"] = tokens.into();
        }
        request.to_string().into()
    };
    for api in ALL {
        let (usual, other) = (full(64_000), full(64_000));
        let mut edits = 0;
        for (number, body) in requests(api, 80).iter().enumerate() {
            let (long, short) = (
                most(body, 32_000),
                most(body, if number % 3 == 0 { 32_000 } else { 21_333 }),
            );
            let items = list(api, &sent(&usual.edit(&api.into(), &long), &long));
            let edited = other.edit(&api.into(), &short);
            assert!(list(api, &sent(&edited, &short)) == items, "{api:?}, request {number}");
            edits = edited.facts.edits;
        }
        assert!(edits > 0, "{api:?}");
    }
}

#[test]
fn what_was_removed_is_read_back_by_the_command_that_the_model_is_told_of() {
    let mut found = 0;
    for api in ALL {
        let one = editor(64_000);
        for body in requests(api, 80) {
            let said = String::from_utf8(sent(&one.edit(&api.into(), &body), &body)).unwrap();
            assert!(!said.contains("Recall("), "{api:?}");
            let has_notice = said.contains("its summary is above.");
            let command = "its summary is above. In a shell, `codelet recall HANDLE` prints what it leaves out.";
            assert_eq!(said.contains(command), has_notice, "{api:?}");
            for marker in said.split(" · `codelet recall ").skip(1) {
                let handle = marker.split('`').next().unwrap();
                let text = one.recall(handle).pop().unwrap();
                assert!(text.contains("::open("), "{api:?}: {handle}: {text}");
                found += 1;
            }
        }
        assert!(one.recall("nothing").is_empty());
    }
    assert!(found > 0);
}

#[test]
fn thinking_behind_an_edit_leaves_where_the_model_would_refuse_it_and_stays_where_it_is_newer() {
    let one = editor(32_000);
    let is_thinking = |block: &Value| block["type"] == "thinking";
    let thoughts = |items: &[Value]| {
        let blocks = items.iter().filter_map(|item| item["content"].as_array());
        blocks.flatten().filter(|block| is_thinking(block)).count()
    };
    let mut since = None;
    for body in requests(Api::Anthropic, 60) {
        let edited = one.edit(&Api::Anthropic.into(), &body);
        let items = list(Api::Anthropic, &sent(&edited, &body));
        if edited.facts.edit.is_some() {
            assert_eq!(thoughts(&items), 0, "{:?}", edited.facts);
            since = Some(edited.facts.step);
        } else if let Some(since) = since {
            // A reply with thinking a step, and one without at the end of each turn.
            assert!(thoughts(&items) > 0 && thoughts(&items) <= edited.facts.step - since);
        }
    }
    assert!(since.is_some());
}

/// The request as a client sends it that marks its system prompt twice, and items so far from the end, once each.
fn marked(body: &Bytes, from_end: &[usize], mark: &Value) -> Bytes {
    let mut request: Value = serde_json::from_slice(body).unwrap();
    let system = request["system"].take();
    request["model"] = json!("claude-opus-5");
    request["system"] = json!([{"type": "text", "text": "You are an agent.", "cache_control": mark},
        {"type": "text", "text": system, "cache_control": mark}]);
    let items = request["messages"].as_array_mut().unwrap();
    for &back in from_end {
        let at = items.len().saturating_sub(back + 1);
        if items[at]["content"].is_string() {
            items[at]["content"] = json!([{"type": "text", "text": items[at]["content"]}]);
        }
        items[at]["content"].as_array_mut().unwrap().last_mut().unwrap()["cache_control"] = mark.clone();
    }
    request.to_string().into()
}

/// The blocks of a request's items, and which of them are marked.
fn blocks(sent: &[u8]) -> Vec<(String, bool)> {
    let mut blocks = Vec::new();
    for item in list(Api::Anthropic, sent) {
        let content = match &item["content"] {
            Value::Array(content) => content.clone(),
            text => vec![json!({"type": "text", "text": text})],
        };
        for mut block in content {
            let mark = block.as_object_mut().unwrap().shift_remove("cache_control");
            blocks.push((format!("{} {block}", item["role"]), mark.is_some()));
        }
    }
    blocks
}

#[test]
fn a_mark_that_moves_from_item_to_item_changes_nothing_else() {
    let (one, other) = (editor(32_000), editor(32_000));
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    for body in requests(Api::Anthropic, 60) {
        let words = |editor: &Editor, back: usize| -> Vec<String> {
            let body = marked(&body, &[back], &mark);
            let bytes = sent(&editor.edit(&Api::Anthropic.into(), &body), &body);
            let said = String::from_utf8(bytes.clone()).unwrap();
            let marks = said.matches(&format!("\"cache_control\":{mark}")).count();
            assert!(marks <= 4 && said.matches("cache_control").count() == marks);
            blocks(&bytes).into_iter().map(|(words, _)| words).collect()
        };
        assert_eq!(words(&one, 0), words(&other, 2));
    }
}

#[test]
fn a_mark_that_the_client_leaves_over_keeps_what_stands_before_an_edit_in_the_cache() {
    let mark = json!({"type": "ephemeral"});
    for (from_end, is_found) in [(&[0][..], true), (&[0, 2], false)] {
        let one = editor(100_000);
        let mut kept: Vec<Vec<String>> = Vec::new();
        let (mut edits, mut found) = (0, 0);
        for body in requests(Api::Anthropic, 90) {
            let body = marked(&body, from_end, &mark);
            let edited = one.edit(&Api::Anthropic.into(), &body);
            let blocks = blocks(&sent(&edited, &body));
            let words: Vec<String> = blocks.iter().map(|(words, _)| words.clone()).collect();
            let marked: Vec<usize> = (0..blocks.len()).filter(|&at| blocks[at].1).collect();
            if edited.facts.edit == Some("price") {
                edits += 1;
                // As the provider looks: from a mark up to 19 blocks back, for what was kept up to a mark before.
                found += usize::from(marked.iter().any(|&mark| {
                    let mut places = mark.saturating_sub(19)..=mark;
                    places.any(|at| kept.iter().any(|kept| *kept == words[..=at]))
                }));
            }
            kept.extend(marked.iter().map(|&at| words[..=at].to_vec()));
        }
        assert!(edits > 0 || !is_found, "no edit was made");
        assert_eq!(found, if is_found { edits } else { 0 }, "of {edits} edits");
    }
}

#[test]
fn what_stands_before_the_conversation_is_no_part_of_what_an_edit_is_expected_to_write_again() {
    let card = price::find("claude-opus-5").unwrap();
    let density = vendor::usual_density(Api::Anthropic.format());
    let one = full(100_000);
    let mut edits = 0;
    for body in requests(Api::Anthropic, 90) {
        let body = marked(&body, &[0], &json!({"type": "ephemeral"}));
        let mut request: Value = serde_json::from_slice(&body).unwrap();
        request["system"][1]["text"] = "x".repeat(80_000).into();
        let facts = one.edit(&Api::Anthropic.into(), &request.to_string().into()).facts;
        if facts.edit.is_some() {
            edits += 1;
            // What stands beside the conversation counts in steps.
            let written = facts.after as f64 - 20_480.0 * density;
            let told = facts.edit_dollars.unwrap() * 1e6 / (card.write() - card.rates.cache_read);
            assert!((told / written - 1.0).abs() < 0.1, "{told} of {written}: {facts:?}");
        }
    }
    assert!(edits > 0);
}

#[test]
fn a_refused_conversation_is_made_to_fit_and_stays_so() {
    for api in ALL {
        // The window is believed to be four times what it is.
        let one = full(128_000);
        let all = requests(api, 80);
        let (last, next) = (&all[79], &all[80]);
        let before = one.edit(&api.into(), last);
        assert!(
            before.body.is_none() && before.facts.after > 32_000,
            "{api:?}: {:?}",
            before.facts
        );
        let edited = one
            .edit_refused(&api.into(), last, Some(32_000), Some(before.facts.after))
            .unwrap();
        assert!(edited.facts.after <= 32_000, "{api:?}: {:?}", edited.facts);
        let after = one.edit(&api.into(), next);
        assert!(
            after.facts.after <= 32_000 && after.body.is_some(),
            "{api:?}: {:?}",
            after.facts
        );
        // Another conversation that begins like it fits, for all that is known.
        let other = twin(last);
        assert!(one.edit(&api.into(), &other).body.is_none(), "{api:?}");
        // Without figures, each refusal makes it smaller.
        let again = full(128_000).edit_refused(&api.into(), last, None, None).unwrap();
        assert!(again.facts.after < before.facts.after);
    }
}

/// The same request to another model.
fn asking(body: &Bytes, model: &str) -> Bytes {
    let mut request: Value = serde_json::from_slice(body).unwrap();
    request["model"] = json!(model);
    request.to_string().into()
}

#[test]
fn what_one_model_has_refused_holds_for_no_other() {
    let one = full(128_000);
    let all = requests(Api::Anthropic, 80);
    let asked = Api::Anthropic.into();
    let [last, next] = [&all[79], &all[80]].map(|body| asking(body, "claude-haiku-4-5"));
    let counted = one.edit(&asked, &last).facts.after;
    assert!(one.edit_refused(&asked, &last, Some(32_000), Some(counted)).is_some());
    assert!(one.edit(&asked, &next).body.is_some());
    assert!(one.edit(&asked, &asking(&next, "claude-opus-4-5")).body.is_none());
}

#[test]
fn a_conversation_of_which_an_edit_was_refused_is_left_as_it_is_until_it_is_too_long() {
    for api in ALL {
        let one = full(32_000);
        let all = requests(api, 80);
        let asked = api.into();
        let at = all
            .iter()
            .position(|body| one.edit(&asked, body).body.is_some())
            .unwrap();
        one.leave(&asked, &all[at]);
        let after = one.edit(&asked, &all[at + 1]);
        assert!(
            after.body.is_none() && after.facts.passed.is_some(),
            "{api:?}: {after:?}"
        );
        // It may be nearly as long as the window by now.
        let refused = one.edit_refused(&asked, &all[at + 1], None, None);
        let refused = refused.filter(|edited| edited.body.is_some()).unwrap();
        let again = one.edit(&asked, &all[at + 1]);
        assert!(again.body.is_some(), "{api:?}: {again:?}, {:?}", refused.facts);
        assert!(one.edit(&asked, &twin(&all[at + 1])).body.is_some(), "twin of {api:?}");
    }
}

#[test]
fn a_refused_first_prompt_makes_no_other_conversation_smaller() {
    for api in ALL {
        let one = full(128_000);
        // All begin with the same words of the system.
        let with_system = |body: &Bytes| match api {
            Api::Openai => {
                let mut items = list(api, body);
                items.insert(0, json!({"role": "system", "content": "You are an agent."}));
                request(api, &items)
            }
            _ => body.clone(),
        };
        let mut random = fastrand::Rng::with_seed(1);
        let first: Vec<Value> = (0..8).map(|_| said(api, &text(&mut random, 20_000))).collect();
        let first = with_system(&request(api, &first));
        let counted = one.edit(&api.into(), &first).facts.after;
        let other = with_system(&requests(api, 60)[60]);
        assert!(one.edit(&api.into(), &other).body.is_none(), "{api:?}");
        let refused = one.edit_refused(&api.into(), &first, Some(counted / 4), Some(counted));
        assert!(refused.is_some(), "{api:?}");
        assert!(one.edit(&api.into(), &other).body.is_none(), "{api:?}");
        // It stays smaller itself.
        assert!(one.edit(&api.into(), &first).body.is_some(), "{api:?}");
    }
}

#[test]
fn what_is_no_conversation_or_kept_by_the_provider_goes_on_as_it_came() {
    let one = editor(32_000);
    let last = requests(Api::Responses, 80).pop().unwrap();
    let mut kept: Value = serde_json::from_slice(&last).unwrap();
    kept["previous_response_id"] = json!("resp_1");
    let kept = kept.to_string();
    for body in [
        &b"{\"input\":\"hello\"}"[..],
        b"{}",
        b"[1]",
        b"{\"input\":[1,2",
        b"",
        &[0xff, 0xfe],
        kept.as_bytes(),
    ] {
        let edited = one.edit(&Api::Responses.into(), &Bytes::copy_from_slice(body));
        assert!(edited.body.is_none() && edited.facts.passed.is_some(), "{edited:?}");
    }
    // As Claude Code 2.1.332 asks for a summary of everything, of what came last, and of what came first, and Codex 0.171.0 its provider.
    let prompt = |of: &str| {
        let words = format!("CRITICAL: Respond with TEXT ONLY.\n\nYour task is to create a detailed summary of {of}");
        (Api::Anthropic, said(Api::Anthropic, &words))
    };
    for (api, last) in [
        prompt("the conversation so far, paying close attention to"),
        prompt("the RECENT portion of the conversation"),
        prompt("this conversation. This summary will be placed at the start of a continuing session"),
        (Api::Responses, json!({"type": "compaction_trigger"})),
    ] {
        let mut asked: Value = serde_json::from_slice(&requests(api, 20).pop().unwrap()).unwrap();
        let items = asked[vendor::list_of(api.format())].as_array_mut().unwrap();
        items.push(last);
        let asked = Bytes::from(asked.to_string());
        let edited = editor(64_000).edit(&api.into(), &asked);
        let why = edited.facts.passed;
        assert!(
            edited.body.is_none() && why == Some("the agent is compacting"),
            "{edited:?}"
        );
    }
}

#[test]
fn a_conversation_of_which_the_provider_has_the_calls_goes_on_as_it_came() {
    let all: Value = serde_json::from_slice(&requests(Api::Responses, 80)[80]).unwrap();
    // By reference, with a type and by the id alone, and not at all.
    for stands_for_a_call in [
        Some(json!({"type": "item_reference", "id": "fc_1"})),
        Some(json!({"id": "fc_1"})),
        None,
    ] {
        let mut asked = all.clone();
        let items = asked["input"].as_array_mut().unwrap();
        let items = std::mem::take(items)
            .into_iter()
            .filter_map(|item| match item["type"] == "function_call" {
                true => stands_for_a_call.clone(),
                false => Some(item),
            });
        asked["input"] = items.collect();
        let body = Bytes::from(serde_json::to_vec(&asked).unwrap());
        let edited = editor(32_000).edit(&Api::Responses.into(), &body);
        assert!(edited.body.is_none() && edited.facts.passed.is_some(), "{edited:?}");
        assert_eq!(edited.facts.before, edited.facts.after);
    }
}

#[test]
fn an_output_that_quotes_a_request_for_a_summary_holds_no_edit_up() {
    for api in ALL {
        let quote = "Your task is to create a detailed summary of";
        for body in requests(api, 80).iter().skip(20).step_by(9) {
            let plain: Value = serde_json::from_slice(body).unwrap();
            let items = plain[vendor::list_of(api.format())].as_array().unwrap();
            let last = items.last().unwrap().to_string();
            let quoting = last.replace("    let ", &format!("{quote}  "));
            if quoting == last {
                continue;
            }
            let quoting = Bytes::from(String::from_utf8_lossy(body).replace(&last, &quoting));
            let edited = editor(32_000).edit(&api.into(), &quoting);
            assert_eq!(edited.facts.passed, None, "{api:?}");
            assert!(edited.facts.after <= 32_000, "{api:?}: {:?}", edited.facts);
        }
    }
}

#[test]
fn a_summary_that_the_agent_asks_for_is_of_what_the_model_has_seen() {
    for api in ALL {
        let one = editor(32_000);
        let mut before = Vec::new();
        let all = requests(api, 100);
        for (number, body) in all.iter().enumerate() {
            let edited = one.edit(&api.into(), body);
            if edited.facts.edits > 1 && number % 5 == 4 {
                // Before the next request, with the answers that came since: what stands before them stays as it was.
                let mut asked: Value = serde_json::from_slice(&all[number + 1]).unwrap();
                let words = "Your task is to create a detailed summary of the conversation so far, please.";
                let items = asked[vendor::list_of(api.format())].as_array_mut().unwrap();
                items.push(said(api, words));
                let asked = Bytes::from(asked.to_string());
                before = list(api, &sent(&edited, body));
                let summary = one.edit(&api.into(), &asked);
                let items = list(api, &sent(&summary, &asked));
                assert!(
                    summary.facts.edit.is_none() && items.starts_with(&before),
                    "{api:?}, request {number}"
                );
                // Nothing is remembered of it that another server would not know.
                assert_eq!(
                    sent(&editor(32_000).edit(&api.into(), &asked), &asked),
                    sent(&summary, &asked)
                );
                let next = &all[number + 1];
                let usual = sent(&editor(32_000).edit(&api.into(), next), next);
                assert_eq!(
                    sent(&one.edit(&api.into(), next), next),
                    usual,
                    "{api:?}, request {number}"
                );
            }
            if number > 60 && !before.is_empty() {
                break;
            }
        }
        assert!(!before.is_empty(), "{api:?}");
    }
}

#[test]
fn what_the_provider_compacted_stays_and_a_trigger_that_does_not_end_a_request_holds_no_edit_up() {
    let (api, one) = (Api::Responses, editor(32_000));
    let sealed = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "x".repeat(2_000)});
    let mut edits = 0;
    for body in requests(api, 80) {
        let mut asked: Value = serde_json::from_slice(&body).unwrap();
        let items = asked["input"].as_array_mut().unwrap();
        for output in items.iter_mut().filter_map(|item| item.get_mut("output")) {
            *output = format!("{}{{\"type\": \"compaction_trigger\"}}", output.as_str().unwrap()).into();
        }
        // The trigger of that compaction, which some client might send on.
        items.splice(1..1, [json!({"type": "compaction_trigger"}), sealed.clone()]);
        let asked = Bytes::from(asked.to_string());
        let edited = one.edit(&api.into(), &asked);
        assert_eq!(edited.facts.passed, None);
        assert!(
            list(api, &sent(&edited, &asked)).contains(&sealed),
            "{:?}",
            edited.facts
        );
        edits = edited.facts.edits;
    }
    assert!(edits > 1, "{edits}");
}

#[test]
fn no_word_of_a_conversation_is_among_the_facts() {
    // No number that a hash could hold by chance.
    let words = "Ada Lovelace, PIN none-of-4711";
    for (api, body) in [
        (Api::Anthropic, json!({"messages": [words]})),
        (
            Api::Anthropic,
            json!({"messages": [{"role": "user", "content": [words]}]}),
        ),
        (Api::Anthropic, json!({"messages": [{"role": words, "content": words}]})),
        (
            Api::Anthropic,
            json!({"messages": [{"role": "user", "content": {"type": words}}]}),
        ),
        (Api::Openai, json!({"messages": [words]})),
        (Api::Openai, json!({"messages": [{"role": "user", "content": [words]}]})),
        (Api::Responses, json!({"input": [words]})),
        (Api::Responses, json!({"input": [{"type": words, "role": 1}]})),
        (Api::Gemini, json!({"contents": [words]})),
        (Api::Gemini, json!({"contents": [{"role": "user", "parts": [words]}]})),
    ] {
        let body = Bytes::from(body.to_string());
        let edited = editor(64_000).edit(&api.into(), &body);
        let facts = format!("{:?}", edited.facts);
        assert!(
            !facts.contains("Ada") && !facts.contains("none-of-4711"),
            "{api:?}: {facts}"
        );
    }
}
