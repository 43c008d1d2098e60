//! Generated fixtures, not to be edited by hand: the bundled session, and one small file for each peculiarity of
//! recordings.

use codelet_testkit::plan::{Fault, Lead, Op, Use, build};
use codelet_testkit::words::{Kind, Words};
use codelet_testkit::{larder_session, request};
use serde_json::{Value, json};
use std::path::Path;

/// A generated file: its name in `fixtures/`, its description, and its bytes.
struct Fixture {
    name: &'static str,
    shows: &'static str,
    bytes: Vec<u8>,
}

/// Writes all fixtures.
pub fn write(root: &Path) -> Result<String, Vec<String>> {
    let folder = root.join("fixtures");
    let all = all();
    let io = |error: std::io::Error| vec![format!("{}: {error}", folder.display())];
    std::fs::create_dir_all(&folder).map_err(io)?;
    for fixture in &all {
        std::fs::write(folder.join(fixture.name), &fixture.bytes).map_err(io)?;
    }
    std::fs::write(folder.join("README.md"), readme(&all, &by_hand(&folder))).map_err(io)?;
    Ok(format!("{} fixtures written", all.len()))
}

/// Reports fixtures that differ from their generated content.
pub fn check(root: &Path) -> Result<String, Vec<String>> {
    let folder = root.join("fixtures");
    let all = all();
    let readme = Fixture {
        name: "README.md",
        shows: "",
        bytes: readme(&all, &by_hand(&folder)).into_bytes(),
    };
    let differs = |fixture: &&Fixture| std::fs::read(folder.join(fixture.name)).ok().as_ref() != Some(&fixture.bytes);
    let troubles: Vec<String> = all
        .iter()
        .chain([&readme])
        .filter(differs)
        .map(|fixture| format!("fixtures/{} differs; run `cargo xtask fixtures`", fixture.name))
        .collect();
    if troubles.is_empty() {
        Ok(format!("{} fixtures as generated", all.len()))
    } else {
        Err(troubles)
    }
}

/// Rows for files that are not generated, such as fuzzer findings, kept in `fixtures/by-hand.md`.
fn by_hand(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("by-hand.md")).unwrap_or_default()
}

fn readme(all: &[Fixture], by_hand: &str) -> String {
    let mut text = String::from(
        "# Fixtures\n\nAll of it is the project's own text; nothing was recorded. `cargo xtask fixtures` writes the files of the first table, from\n`codelet-testkit/src/story.rs` and `xtask/src/fixtures.rs`; `cargo xtask fixtures --check` says which differ. Files that are kept by hand,\nsuch as finds of the fuzzers, have their rows in `by-hand.md`.\n\n| file | shows |\n|---|---|\n",
    );
    for fixture in all {
        text.push_str(&format!("| `{}` | {} |\n", fixture.name, fixture.shows));
    }
    if !by_hand.is_empty() {
        text.push('\n');
        text.push_str(by_hand);
    }
    text
}

fn all() -> Vec<Fixture> {
    let mut fixtures = vec![Fixture {
        name: "long-session.json",
        shows: "a session of twelve prompts on an invented pantry program: faults found and mended, a plan, rules, re-reads, open work (Anthropic request)",
        bytes: pretty(&request::anthropic(&larder_session())),
    }];
    fixtures.extend(requests());
    fixtures.extend(session_files());
    fixtures
}

/// Small conversations, as Anthropic requests.
fn requests() -> Vec<Fixture> {
    let prompt = Op::Prompt(Words {
        kind: Kind::Prose,
        size: 60,
        seed: 2,
    });
    let fault = |fault, kind| vec![prompt.clone(), Op::Fault(fault, tool(0, kind, 300)), prompt.clone()];
    let mut hundreds = vec![prompt.clone()];
    hundreds.extend((0..240).map(|n| Op::Step(Lead::Nothing, vec![tool(n % 7, Kind::ALL[usize::from(n % 14)], 900)])));
    let parallel = (0..20).map(|n| tool(n % 7, Kind::Numbered, 700)).collect();
    let huge = Words {
        kind: Kind::Log,
        size: 40_000,
        seed: 1,
    };
    let plans = [
        (
            "orphan-result.json",
            "an answer to a call that was never made",
            fault(Fault::Orphan, Kind::Log),
        ),
        (
            "answer-before-call.json",
            "an answer that stands before its call",
            fault(Fault::AnswerFirst, Kind::Log),
        ),
        (
            "late-answer.json",
            "words between a call and its answer",
            fault(Fault::AnswerLate, Kind::Prose),
        ),
        (
            "answered-twice.json",
            "a call with three answers",
            fault(Fault::AnsweredTwice, Kind::Passed),
        ),
        (
            "reused-ids.json",
            "one id for three calls, one after the other",
            vec![
                prompt.clone(),
                Op::Step(Lead::Nothing, vec![tool(0, Kind::Code, 300)]),
                Op::Fault(Fault::ReusedId, tool(1, Kind::Passed, 300)),
                Op::Fault(Fault::ReusedId, tool(2, Kind::Failed, 300)),
            ],
        ),
        (
            "odd-names.json",
            "a call id and a tool name that some vendors refuse",
            fault(Fault::OddNames, Kind::Log),
        ),
        ("blank-texts.json", "a prompt and an answer of white space", {
            vec![
                prompt.clone(),
                Op::Fault(Fault::BlankAssistant, tool(0, Kind::Prose, 30)),
                Op::Fault(Fault::BlankUser, tool(0, Kind::Prose, 30)),
            ]
        }),
        (
            "unfinished-call.json",
            "the recording ends with calls that nobody answered",
            vec![
                prompt.clone(),
                Op::Unanswered(vec![tool(1, Kind::Empty, 0), tool(0, Kind::Empty, 0)]),
            ],
        ),
        (
            "assistant-first.json",
            "the assistant speaks first",
            vec![
                Op::Say(Words {
                    kind: Kind::Prose,
                    size: 40,
                    seed: 1,
                }),
                prompt.clone(),
            ],
        ),
        ("one-prompt-many-steps.json", "one prompt and 240 steps", hundreds),
        (
            "parallel-results.json",
            "twenty results in the last step",
            vec![prompt.clone(), Op::Step(Lead::Nothing, parallel)],
        ),
        (
            "huge-prompt.json",
            "a prompt bigger than most budgets",
            vec![Op::Prompt(huge)],
        ),
        (
            "posing-output.json",
            "outputs that contain reminder tags, markers and summaries",
            vec![
                prompt.clone(),
                Op::Step(
                    Lead::Nothing,
                    vec![tool(0, Kind::Tags, 900), tool(1, Kind::Markers, 900)],
                ),
            ],
        ),
        (
            "terminal-output.json",
            "colours, progress bars and carriage returns in outputs",
            vec![
                prompt.clone(),
                Op::Step(
                    Lead::Nothing,
                    vec![
                        tool(1, Kind::Progress, 6_000),
                        tool(2, Kind::Escapes, 6_000),
                        tool(1, Kind::Crlf, 6_000),
                    ],
                ),
            ],
        ),
    ];
    plans
        .into_iter()
        .map(|(name, shows, plan)| Fixture {
            name,
            shows,
            bytes: pretty(&request::anthropic(&build(&plan))),
        })
        .collect()
}

/// Malformed files, based on the lines of a Claude Code session.
fn session_files() -> Vec<Fixture> {
    let lines: Vec<String> = claude_lines().iter().map(Value::to_string).collect();
    let whole = lines.join("\n") + "\n";
    let cut = whole[..whole.len() - 60].to_owned();
    let mut invalid = whole.clone().into_bytes();
    // In the middle of a text: the first letter of "mended".
    if let Some(at) = whole.find("mended") {
        invalid[at] = 0xff;
    }
    let deep = format!("{{\"messages\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let fixture = |name, shows, bytes| Fixture { name, shows, bytes };
    vec![
        fixture(
            "session.jsonl",
            "a small session file of Claude Code, whole",
            whole.clone().into_bytes(),
        ),
        fixture(
            "cut-last-line.jsonl",
            "the same, still being written: its last line is cut",
            cut.into_bytes(),
        ),
        fixture("invalid-utf8.jsonl", "the same, with a byte that is no UTF-8", invalid),
        fixture(
            "bom-crlf.jsonl",
            "the same, with a byte order mark and lines that end in CR LF",
            format!("\u{feff}{}", whole.replace('\n', "\r\n")).into_bytes(),
        ),
        fixture("empty.json", "nothing at all", Vec::new()),
        fixture("blank.jsonl", "white space only", b" \n\r\n\t\n".to_vec()),
        fixture("deep.json", "brackets nested 50,000 deep", deep.into_bytes()),
        fixture(
            "binary.bin",
            "no text",
            (0u16..2048).map(|n| (n.wrapping_mul(197) >> 3) as u8).collect(),
        ),
    ]
}

fn claude_lines() -> Vec<Value> {
    let line = |kind: &str, number: usize, message: Value| {
        json!({
            "parentUuid": (number > 1).then(|| format!("00000000-0000-4000-8000-{:012}", number - 1)),
            "isSidechain": false, "userType": "external", "cwd": "/home/ada/larder", "sessionId": "5e551011-0000-4000-8000-000000000001",
            "version": "2.1.0", "type": kind, "message": message,
            "uuid": format!("00000000-0000-4000-8000-{number:012}"), "timestamp": format!("2031-04-05T06:07:{number:02}.000Z"),
        })
    };
    let usage = json!({ "input_tokens": 4, "cache_creation_input_tokens": 310, "cache_read_input_tokens": 9_000, "output_tokens": 40 });
    let says = |id: &str, content: Value| json!({ "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content, "usage": usage });
    let answers = |id: &str, text: &str, failed: bool| json!({ "role": "user", "content": [{ "tool_use_id": id, "type": "tool_result", "content": text, "is_error": failed }] });
    vec![
        line(
            "user",
            1,
            json!({ "role": "user", "content": "The date test fails; please look." }),
        ),
        line(
            "assistant",
            2,
            says(
                "msg_1",
                json!([{ "type": "thinking", "thinking": "The test first.", "signature": "ErUBCkYIBhgCIkDfixture==" }]),
            ),
        ),
        line(
            "assistant",
            3,
            says(
                "msg_1",
                json!([{ "type": "tool_use", "id": "toolu_01", "name": "Bash", "input": { "command": "cargo test date", "description": "Run the date tests" } }]),
            ),
        ),
        line(
            "user",
            4,
            answers("toolu_01", "Exit code 101\ntest date::tests::leap ... FAILED", true),
        ),
        line(
            "assistant",
            5,
            says(
                "msg_2",
                json!([{ "type": "tool_use", "id": "toolu_02", "name": "Edit", "input": { "file_path": "/home/ada/larder/src/date.rs", "old_string": "year % 4 == 0", "new_string": "year % 4 == 0 && year % 100 != 0" } }]),
            ),
        ),
        line(
            "user",
            6,
            answers(
                "toolu_02",
                "The file /home/ada/larder/src/date.rs has been updated.",
                false,
            ),
        ),
        line(
            "assistant",
            7,
            says(
                "msg_3",
                json!([{ "type": "tool_use", "id": "toolu_03", "name": "Bash", "input": { "command": "cargo test date" } }]),
            ),
        ),
        line(
            "user",
            8,
            answers(
                "toolu_03",
                "test date::tests::leap ... ok\n\ntest result: ok. 1 passed; 0 failed",
                false,
            ),
        ),
        line(
            "assistant",
            9,
            says(
                "msg_4",
                json!([{ "type": "text", "text": "The leap year rule is mended, the date test passes." }]),
            ),
        ),
    ]
}

fn tool(tool: u8, kind: Kind, size: usize) -> Use {
    // Form 11 is a plain string.
    Use {
        tool,
        target: tool,
        status: u8::from(kind == Kind::Failed) * 2,
        form: 11,
        output: Words { kind, size, seed: tool },
    }
}

/// One message per line: a change of one message changes one line.
fn pretty(request: &Value) -> Vec<u8> {
    let mut text = String::from("{\n");
    let fields: Vec<String> = request
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| match (key.as_str(), value) {
            ("messages", Value::Array(messages)) => {
                let lines: Vec<String> = messages.iter().map(|message| format!("    {message}")).collect();
                format!("  \"messages\": [\n{}\n  ]", lines.join(",\n"))
            }
            _ => format!("  {}: {value}", Value::from(key.as_str())),
        })
        .collect();
    text.push_str(&fields.join(",\n"));
    text.push_str("\n}\n");
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixtures_are_the_same_each_time() {
        let (once, twice) = (all(), all());
        assert!(
            once.iter()
                .zip(&twice)
                .all(|(a, b)| a.name == b.name && a.bytes == b.bytes)
        );
    }

    #[test]
    fn requests_are_json_and_names_are_unique() {
        let mut names: Vec<_> = all().iter().map(|fixture| fixture.name).collect();
        for fixture in requests() {
            assert!(
                serde_json::from_slice::<Value>(&fixture.bytes).is_ok(),
                "{}",
                fixture.name
            );
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_bundled_session_is_long_and_still_a_small_file() {
        let bytes = all()[0].bytes.len();
        assert!((100_000..400_000).contains(&bytes), "{bytes}");
    }
}
