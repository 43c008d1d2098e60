//! Pictures, from the real program to what a provider on loopback is sent.
#![allow(clippy::unwrap_used)]

mod common;

use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use common::agent::{Bench, KEY, WIRES, name};
use common::ended;
use serde_json::{Value, json};

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\xdac\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xffV\xc7/\x0d\x00\x00\x00\x00IEND\xaeB`\x82";
/// The same in base64.
const DATA: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP4z8DwHwAFAAH/VscvDQAAAABJRU5ErkJggg==";

/// A bench whose models see, or do not.
fn bench(sees: bool) -> Bench {
    let bench = Bench::new();
    let models: String = WIRES
        .iter()
        .map(|(_, vendor, _)| format!("[models.\"{vendor}/test-model\"]\nsees_images = {sees}\n"))
        .collect();
    bench.settings(&format!("idle_timeout = 5\npatience = 8\n{models}"));
    bench
}

fn put(bench: &Bench, name: &str, bytes: &[u8]) {
    std::fs::write(bench.work.join(name), bytes).unwrap();
}

/// The picture as the vendor takes it.
fn block(wire: Wire, media_type: &str, data: &str) -> Value {
    let url = format!("data:{media_type};base64,{data}");
    match wire {
        Wire::Anthropic => {
            json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})
        }
        Wire::Chat => json!({"type": "image_url", "image_url": {"url": url}}),
        Wire::Responses => json!({"type": "input_image", "image_url": url}),
        Wire::Gemini => json!({"inlineData": {"mimeType": media_type, "data": data}}),
    }
}

/// Whether a value has at least these fields.
fn has(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| value.get(key).is_some_and(|value| has(value, wanted))),
        _ => value == wanted,
    }
}

/// How often something stands in a request.
fn count(value: &Value, wanted: &Value) -> usize {
    let within: usize = match value {
        Value::Object(fields) => fields.values().map(|value| count(value, wanted)).sum(),
        Value::Array(values) => values.iter().map(|value| count(value, wanted)).sum(),
        _ => 0,
    };
    within + usize::from(value.is_object() && has(value, wanted))
}

/// How often the pixel stands in a request.
fn pictures(server: &Server, at: usize, wire: Wire) -> usize {
    let picture = block(wire, "image/png", DATA);
    count(server.record().exchanges[at].request.json(), &picture)
}

#[test]
fn what_the_settings_say_of_a_models_sight_holds_for_what_read_shows_it() {
    for (wire, ..) in WIRES {
        for sees in [true, false] {
            let bench = bench(sees);
            put(&bench, "shot.png", PNG);
            let replies = [
                Reply::call("Read", json!({"file_path": "shot.png"})),
                Reply::text("Seen."),
            ];
            let server = Server::start(wire, Behaviour::replies(replies));
            let output = bench.ask(&server, wire, &["-p", "Read it."]);
            ended(&output, 0);
            assert_eq!(pictures(&server, 1, wire), usize::from(sees), "{} {sees}", name(wire));
            let told = server.record().exchanges[1].request.holds("does not take pictures");
            assert_eq!(told, !sees, "{}", name(wire));
            assert_eq!(server.record().faults(), "", "{}", name(wire));
        }
    }
}

#[test]
fn the_settings_stand_over_what_is_known_of_a_model() {
    let bench = Bench::new();
    put(&bench, "shot.png", PNG);
    for (settings, expected) in [
        ("", 1),
        ("[models.\"anthropic/claude-sonnet-4-5\"]\nsees_images = false\n", 0),
    ] {
        bench.settings(settings);
        let replies = [
            Reply::call("Read", json!({"file_path": "shot.png"})),
            Reply::text("Seen."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let model = ["--model", "anthropic/claude-sonnet-4-5", "--base-url", &server.base()];
        let mut command = bench.command(&[&model[..], &["-p", "Read it."]].concat());
        ended(&command.env("ANTHROPIC_API_KEY", KEY).output().unwrap(), 0);
        assert_eq!(pictures(&server, 1, Wire::Anthropic), expected, "{settings}");
    }
}
