//! Pictures that a prompt mentions, from the real program to what a provider on loopback is sent.

use crate::common::agent::{Bench, KEY, WIRES, name};
use crate::common::pty::{Piped, Session};
use crate::common::{ended, refused, stderr, stdout};
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::{Value, json};
use std::process::{Output, Stdio};

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

/// Whether these words stand verbatim in a message of the user's.
fn said(server: &Server, at: usize, words: &str) -> bool {
    server.record().exchanges[at].request.user_texts().contains(&words)
}

fn answers(count: usize) -> Vec<Reply> {
    (0..count)
        .map(|number| Reply::text(format!("Answer {number}.")))
        .collect()
}

/// Asks a model that sees, and gives back what it was sent too.
fn asked(bench: &Bench, prompt: &str) -> (Output, Server) {
    let server = Server::start(Wire::Anthropic, Behaviour::replies(answers(1)));
    let output = bench.ask(&server, Wire::Anthropic, &["-p", prompt]);
    (output, server)
}

#[test]
fn a_picture_that_a_prompt_mentions_reaches_the_model_on_every_wire() {
    for (wire, ..) in WIRES {
        let bench = bench(true);
        put(&bench, "shot.png", PNG);
        let server = Server::start(wire, Behaviour::replies(answers(1)));
        let output = bench.ask(&server, wire, &["-p", "What is on @shot.png?"]);
        ended(&output, 0);
        assert_eq!(stderr(&output).matches("shot.png").count(), 0, "{}", stderr(&output));
        assert_eq!(pictures(&server, 0, wire), 1, "{}", name(wire));
        assert!(said(&server, 0, "What is on @shot.png?"), "{}", name(wire));
        assert_eq!(server.record().faults(), "", "{}", name(wire));
    }
}

#[test]
fn it_is_still_there_after_the_conversation_was_compacted() {
    for (wire, ..) in WIRES {
        let bench = bench(true);
        put(&bench, "shot.png", PNG);
        bench.file("log.txt", &"a line of a long log\n".repeat(2_000));
        let mut steps = 0;
        let server = Server::start(
            wire,
            Behaviour::answering(move |_| {
                steps += 1;
                match steps {
                    ..=12 => Reply::call(
                        "Read",
                        json!({"file_path": "log.txt", "offset": steps * 40, "limit": 700}),
                    ),
                    _ => Reply::text("Done."),
                }
            }),
        );
        let args = ["-p", "Find what @shot.png shows in the log.", "--window", "40000"];
        let (result, output) = bench.result(&server, wire, &args);
        ended(&output, 0);
        let compactions = result["compactions"].as_array().unwrap();
        assert!(compactions.iter().any(|it| it["changed"] == true), "{}", name(wire));
        let last = server.record().exchanges.len() - 1;
        assert_eq!(pictures(&server, last, wire), 1, "{}", name(wire));
        assert!(
            said(&server, last, "Find what @shot.png shows in the log."),
            "{}",
            name(wire)
        );
        assert_eq!(server.record().faults(), "", "{}", name(wire));
    }
}

#[test]
fn a_picture_is_known_by_its_bytes_and_found_where_the_prompt_says() {
    let bench = bench(true);
    put(&bench, "my shot.png", PNG);
    put(&bench, "unnamed", PNG);
    std::fs::create_dir(bench.work.join("sub")).unwrap();
    put(&bench, "sub/shot.png", PNG);
    std::fs::write(bench.home.join("shot.png"), PNG).unwrap();
    std::os::unix::fs::symlink(bench.home.join("shot.png"), bench.work.join("link.png")).unwrap();
    let absolute = format!("@{}", bench.work.join("unnamed").display());
    for prompt in [
        "@\"my shot.png\"",
        "Look at @unnamed.",
        "(see @sub/shot.png)",
        "@~/shot.png, please",
        "@link.png",
        "once @unnamed and again @./unnamed",
        &absolute,
    ] {
        let (output, server) = asked(&bench, prompt);
        ended(&output, 0);
        assert_eq!(pictures(&server, 0, Wire::Anthropic), 1, "{prompt}");
        assert!(said(&server, 0, prompt), "{prompt}");
    }
    for (bytes, media_type) in [
        (
            &b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0\xff\xda\0\x08\x01\x01\0\0?\0\x12\xff\xd9"[..],
            "image/jpeg",
        ),
        (
            b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;",
            "image/gif",
        ),
        (
            b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0",
            "image/webp",
        ),
    ] {
        put(&bench, "any.png", bytes);
        let (output, server) = asked(&bench, "@any.png");
        ended(&output, 0);
        let picture = json!({"type": "image", "source": {"media_type": media_type}});
        assert_eq!(
            count(server.record().exchanges[0].request.json(), &picture),
            1,
            "{media_type}"
        );
    }
}

#[test]
fn what_is_no_picture_stays_words() {
    let bench = bench(true);
    bench.file("notes.md", "words");
    let prompt = "Read @notes.md, ask @alice and me@home.png, look into @src/ and write @new.md";
    let (output, server) = asked(&bench, prompt);
    ended(&output, 0);
    assert!(
        !stderr(&output).contains('@') && stderr(&output).lines().count() == 1,
        "{}",
        stderr(&output)
    );
    let any = json!({"type": "image"});
    assert_eq!(count(server.record().exchanges[0].request.json(), &any), 0);
    assert!(said(&server, 0, prompt));
}

#[test]
fn a_picture_that_cannot_be_had_ends_a_run_before_it_costs_anything() {
    let bench = bench(true);
    bench.file("words.png", "words");
    put(&bench, "large.png", &[PNG, &vec![0; 4_000_000]].concat());
    std::fs::create_dir(bench.work.join("folder.png")).unwrap();
    for (prompt, words) in [
        ("What is on @gone.png?", "gone.png: there is no such file"),
        (
            "What is on @words.png?",
            "words.png: this is not a supported image format",
        ),
        ("What is on @large.png?", "the limit is 3,932,160 bytes"),
        ("What is on @folder.png?", "folder.png: this is a folder"),
    ] {
        let (output, server) = asked(&bench, prompt);
        refused(&output, &[words, "without the @"]);
        assert!(server.record().exchanges.is_empty());
    }
}

#[test]
fn a_model_that_takes_no_pictures_gets_the_words_and_the_user_one_notice() {
    let bench = bench(false);
    put(&bench, "a.png", PNG);
    put(&bench, "b.png", PNG);
    for (wire, ..) in WIRES {
        let server = Server::start(wire, Behaviour::replies(answers(1)));
        let output = bench.ask(&server, wire, &["-p", "Compare @a.png and @b.png."]);
        ended(&output, 0);
        let notices: Vec<&str> = stderr(&output)
            .lines()
            .filter(|line| line.contains("to accept images"))
            .collect();
        assert_eq!(notices.len(), 1, "{}", stderr(&output));
        assert!(
            notices[0].contains("a.png, b.png") && notices[0].contains("sees_images = true"),
            "{notices:?}"
        );
        assert!(said(&server, 0, "Compare @a.png and @b.png."));
        assert!(!server.record().exchanges[0].request.holds(DATA));
        assert!(!server.record().exchanges[0].request.holds("[an image"));
    }
}

#[test]
fn what_is_piped_in_beside_a_prompt_is_data_and_attaches_nothing() {
    let bench = bench(true);
    put(&bench, "shot.png", PNG);
    let server = Server::start(Wire::Anthropic, Behaviour::replies(answers(1)));
    let mut command = bench.asking(&server, Wire::Anthropic, &["-p", "What is this?"]);
    bench.file("mail", "see @shot.png and @gone.png\n");
    let mail = std::fs::File::open(bench.work.join("mail")).unwrap();
    let output = command.stdin(Stdio::from(mail)).output().unwrap();
    ended(&output, 0);
    assert_eq!(stdout(&output), "Answer 0.\n");
    assert_eq!(pictures(&server, 0, Wire::Anthropic), 0);
    assert!(server.record().exchanges[0].request.holds("see @shot.png"));
}

#[test]
fn a_session_in_lines_takes_pictures_and_says_what_goes_and_what_does_not() {
    let bench = bench(true);
    put(&bench, "shot.png", PNG);
    let server = Server::start(Wire::Anthropic, Behaviour::replies(answers(2)));
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("What is on @shot.png and @gone.png?");
    piped.wait("Answer 0.");
    piped.say("Thank you.");
    piped.wait("Answer 1.");
    piped.close();
    assert_eq!(piped.end(), 0);
    let text = piped.text();
    assert!(text.contains("Attached shot.png"), "{text}");
    assert!(
        text.contains("gone.png: there is no such file. The prompt was sent without it."),
        "{text}"
    );
    assert_eq!(pictures(&server, 0, Wire::Anthropic), 1);
    // It stays where it was said.
    assert_eq!(pictures(&server, 1, Wire::Anthropic), 1);
    assert!(said(&server, 0, "What is on @shot.png and @gone.png?"));
    assert_eq!(server.record().faults(), "");
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
        ("[models.\"anthropic/claude-sonnet-5-5\"]\nsees_images = false\n", 0),
    ] {
        bench.settings(settings);
        let replies = [
            Reply::call("Read", json!({"file_path": "shot.png"})),
            Reply::text("Seen."),
        ];
        let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
        let model = ["--model", "anthropic/claude-sonnet-5-5", "--base-url", &server.base()];
        let mut command = bench.command(&[&model[..], &["-p", "Read it."]].concat());
        ended(&command.env("ANTHROPIC_API_KEY", KEY).output().unwrap(), 0);
        assert_eq!(pictures(&server, 1, Wire::Anthropic), expected, "{settings}");
    }
}

#[test]
fn another_model_in_the_same_session_is_shown_what_it_can_see() {
    let bench = Bench::new();
    bench.settings("idle_timeout = 5\n[models.\"anthropic/seeing\"]\nsees_images = true\n");
    put(&bench, "shot.png", PNG);
    let read = || Reply::call("Read", json!({"file_path": "shot.png"}));
    let replies = [read(), Reply::text("Blind."), read(), Reply::text("Seen.")];
    let server = Server::start(Wire::Anthropic, Behaviour::replies(replies));
    let mut piped = Piped::start(&bench, &server, &[]);
    piped.say("Read @shot.png");
    piped.wait("Blind.");
    piped.say("/model anthropic/seeing");
    piped.say("Read it again: @shot.png");
    piped.wait("Seen.");
    piped.close();
    assert_eq!(piped.end(), 0);
    assert!(
        piped
            .text()
            .contains("anthropic/test-model is not known to accept images"),
        "{}",
        piped.text()
    );
    let shown: Vec<usize> = (0..4).map(|at| pictures(&server, at, Wire::Anthropic)).collect();
    assert_eq!(shown, [0, 0, 1, 2]);
}
