//! A blocking client that reads raw bytes and shares no code with the server.

use codelet_testkit::server::{Server, Wire};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// True if the body ended properly.
    pub complete: bool,
}

/// An event: its name and its data.
#[derive(Debug, PartialEq)]
pub struct Event {
    pub name: Option<String>,
    pub data: String,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The events, parsed by the standard for event streams; an incomplete one at the end is dropped.
    pub fn events(&self) -> Vec<Event> {
        let text = self.text().replace("\r\n", "\n");
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let blocks = whole.split("\n\n").filter(|block| !block.is_empty());
        blocks
            .map(|block| {
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.strip_prefix(' ').unwrap_or(value).to_owned())
                };
                Event {
                    name: field("event:"),
                    data: field("data:").unwrap(),
                }
            })
            .collect()
    }

    /// The data of the events, without `[DONE]`.
    pub fn values(&self) -> Vec<Value> {
        let data = self.events().into_iter().map(|event| event.data);
        data.filter(|data| data != "[DONE]")
            .map(|data| serde_json::from_str(&data).unwrap())
            .collect()
    }
}

/// The endpoint of each wire.
pub fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::Chat => "/v1/chat/completions",
        Wire::Responses => "/v1/responses",
        Wire::Gemini => "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
    }
}

/// A request with one prompt.
pub fn hello(wire: Wire) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": true,
            "messages": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Chat => json!({
            "model": "gpt-5", "stream": true, "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Responses => json!({
            "model": "gpt-5", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
            "input": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Gemini => json!({ "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }] }),
    }
}

/// Sends a request and returns the open connection, with nothing read yet.
pub fn send(server: &Server, path: &str, body: &str) -> TcpStream {
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    stream
}

/// Sends a request and reads the response. `None` if the connection is closed without one.
pub fn ask(server: &Server, wire: Wire, body: &Value) -> Option<Answer> {
    receive(send(server, path(wire), &body.to_string()))
}

pub fn get(server: &Server, path: &str) -> Answer {
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    receive(stream).unwrap()
}

/// Reads one response.
pub fn receive(stream: TcpStream) -> Option<Answer> {
    let mut reader = BufReader::new(stream);
    let status = line(&mut reader)?;
    let status = status.split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = Vec::new();
    while let Some(line) = line(&mut reader).filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut answer = Answer {
        status,
        headers,
        body: Vec::new(),
        complete: false,
    };
    if let Some(length) = answer.header("content-length") {
        let length = length.parse().unwrap();
        reader.take(length).read_to_end(&mut answer.body).unwrap();
        answer.complete = answer.body.len() as u64 == length;
        return Some(answer);
    }
    while let Some(size) = line(&mut reader) {
        let size = u64::from_str_radix(&size, 16).unwrap();
        let read = reader.by_ref().take(size).read_to_end(&mut answer.body).unwrap();
        assert_eq!(read as u64, size, "a chunk is whole");
        assert_eq!(line(&mut reader).as_deref(), Some(""));
        if size == 0 {
            answer.complete = true;
            break;
        }
    }
    Some(answer)
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(0) => None,
        Ok(_) => Some(line.trim_end().to_owned()),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
        Err(error) => panic!("{error}"),
    }
}
