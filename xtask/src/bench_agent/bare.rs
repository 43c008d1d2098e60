//! A minimal agent loop: keeps its messages as the JSON that it sends, posts them, runs the one call of the response,
//! and appends call and output. No permissions, limits, display, counting or compaction.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Command;

/// Runs until a response has no call. `address` is the host and port of the server.
pub fn run(address: &str) -> Result<String, Vec<String>> {
    work(address).map_err(|error| vec![error.to_string()])?;
    Ok(String::new())
}

fn work(address: &str) -> std::io::Result<()> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let (mut answers, mut requests) = (BufReader::new(stream.try_clone()?), stream);
    let mut body =
        br#"{"model":"bench","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Read everything."}]}"#
            .to_vec();
    loop {
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        requests.write_all(head.as_bytes())?;
        requests.write_all(&body)?;
        let Some(call) = call(&mut answers)? else { return Ok(()) };
        let output = output(&call)?;
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": output});
        body.truncate(body.len() - "]}".len());
        body.push(b',');
        serde_json::to_writer(&mut body, &json!({"role": "assistant", "content": [call]}))?;
        body.push(b',');
        serde_json::to_writer(&mut body, &json!({"role": "user", "content": [result]}))?;
        body.extend_from_slice(b"]}");
    }
}

/// Reads a response to its end and extracts its call.
fn call(answer: &mut impl std::io::BufRead) -> std::io::Result<Option<Value>> {
    let (mut call, mut input) = (None, String::new());
    for line in answer.lines() {
        let line = line?;
        if line == "0" {
            break;
        }
        let Some(event) = line.strip_prefix("data: ") else {
            continue;
        };
        let event: Value = serde_json::from_str(event)?;
        if event["content_block"]["type"] == "tool_use" {
            call = Some(event["content_block"].clone());
        }
        input.push_str(event["delta"]["partial_json"].as_str().unwrap_or_default());
    }
    // The empty line after the last chunk.
    answer.read_line(&mut String::new())?;
    let Some(mut call) = call else { return Ok(None) };
    call["input"] = serde_json::from_str(&input)?;
    Ok(Some(call))
}

fn output(call: &Value) -> std::io::Result<String> {
    let parameter = |name: &str| call["input"][name].as_str().unwrap_or_default();
    match call["name"].as_str() {
        Some("Read") => std::fs::read_to_string(parameter("file_path")),
        _ => {
            let done = Command::new("bash").args(["-c", parameter("command")]).output()?;
            Ok(String::from_utf8_lossy(&done.stdout).into_owned())
        }
    }
}
