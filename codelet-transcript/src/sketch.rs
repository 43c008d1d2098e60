//! A conversation as tests compare it: one line for each part.

use crate::{Billed, Document, ReadError, Recording, Warning};
use codelet_context::message::{Origin, Part, Role};
use std::fmt::Write;

/// Checks the lines of a file read with this reader, ignoring white space at the ends of lines.
#[track_caller]
pub(crate) fn check(read: fn(&[u8]) -> Result<Recording, ReadError>, file: &str, expected: &str) {
    check_odd(read, file, expected, &[]);
}

/// Checks the lines of a file with anomalies, and its warnings.
#[track_caller]
pub(crate) fn check_odd(
    read: fn(&[u8]) -> Result<Recording, ReadError>,
    file: &str,
    expected: &str,
    warnings: &[Warning],
) {
    let document = read(file.as_bytes()).unwrap_or_else(|error| panic!("{error}")).document;
    let trim = |text: &str| text.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
    assert_eq!(trim(&sketch(&document)), trim(expected));
    assert_eq!(document.warnings, warnings);
}

/// Returns one line per part: speaker, origin and text. A dash separates a message from one of the same role before it.
pub(crate) fn sketch(document: &Document) -> String {
    let mut lines = String::new();
    let mut before = None;
    for message in &document.messages {
        if before == Some(message.role) {
            lines.push_str("-\n");
        }
        before = Some(message.role);
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        for part in &message.parts {
            writeln!(lines, "{}", line(role, part)).expect("a string takes every text");
        }
    }
    lines
}

fn line(role: &str, part: &Part) -> String {
    match part {
        Part::Text(text) => {
            let origin = match text.origin {
                Origin::Own => "",
                Origin::Injected => " (injected)",
                Origin::Summary => " (summary)",
                Origin::Reminder(_) | Origin::Notice => " (?)",
            };
            format!("{role}{origin}: {}", text.body.as_str().replace('\n', "|"))
        }
        Part::Thinking(thinking) => {
            let proof = thinking.signature.as_deref().map(|proof| format!(" signed {proof}"));
            let sealed = thinking.redacted.as_deref().map(|sealed| format!(" sealed {sealed}"));
            let vendor = thinking
                .extra
                .get(crate::extra::VENDOR)
                .and_then(|vendor| vendor.as_str());
            format!(
                "thinking{}{}{}: {}",
                vendor.map(|vendor| format!(" of {vendor}")).unwrap_or_default(),
                proof.unwrap_or_default(),
                sealed.unwrap_or_default(),
                thinking.body
            )
        }
        Part::Image(image) => format!("{role} image: {} {}", image.media_type, image.data),
        Part::ToolCall(call) => format!("call {}: {} {}", call.id, call.tool, call.parameters.json()),
        Part::ToolResult(result) => {
            let success = match result.success {
                Some(true) => "ok",
                Some(false) => "failed",
                None => "unknown",
            };
            let output: Vec<String> = result
                .output
                .iter()
                .map(|part| match part {
                    Part::Text(text) => text.body.as_str().replace('\n', "|"),
                    other => line("its", other),
                })
                .collect();
            format!("result {} {success}: {}", result.call_id, output.join(" + "))
        }
        Part::Opaque(opaque) => format!("{role} {}: {}", opaque.kind, opaque.value),
    }
}

/// Returns for each request the index of its reply, its time, and its prompt tokens if usage was recorded.
pub(crate) fn told(recording: &Recording) -> Vec<(usize, Option<u64>, Option<u64>)> {
    let requests = recording.requests.iter();
    let prompt = |billed: Billed| billed.usage.prompt();
    requests
        .map(|request| (request.reply, request.began, request.billed.map(prompt)))
        .collect()
}
