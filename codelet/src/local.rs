//! Local model servers: looked up at their usual ports, and asked for their models.

use codelet_providers::vendor;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The timeout for a server on this machine.
const PATIENCE: Duration = Duration::from_millis(150);
/// The size limit of a response, in bytes: a list of models is short.
const MOST: u64 = 256 * 1024;
/// The usual ports of local servers, with the server's name and its vendor name.
pub const USUAL: [(u16, &str, &str); 4] = [
    (8080, "llama.cpp", "llamacpp"),
    (11434, "Ollama", "ollama"),
    (1234, "LM Studio", "lmstudio"),
    (8000, "vLLM", "vllm"),
];

/// A server that responded, and its first model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    port: u16,
    model: String,
}

impl Server {
    /// Returns the command for using this server.
    pub fn command(&self) -> String {
        let usual = USUAL.iter().find(|(port, ..)| *port == self.port);
        let known = usual.filter(|(_, _, name)| vendor::find(name).is_some());
        match known {
            Some((_, _, name)) => format!("codelet --model {name}/{}", self.model),
            None => format!(
                "codelet --model llamacpp/{} --base-url http://127.0.0.1:{}/v1",
                self.model, self.port
            ),
        }
    }
}

/// Returns the servers that respond at these ports, queried in parallel.
pub fn servers(ports: &[u16]) -> Vec<Server> {
    std::thread::scope(|scope| {
        let asked: Vec<_> = ports.iter().map(|&port| scope.spawn(move || ask(port))).collect();
        let answered = asked.into_iter().map(|asked| asked.join().ok().flatten());
        answered.flatten().collect()
    })
}

/// Queries a port. Only a response with a list of models identifies a model server.
fn ask(port: u16) -> Option<Server> {
    let end = Instant::now() + PATIENCE;
    let model = get(port, "/v1/models", end)
        .and_then(|list| first(&list["data"], "id"))
        .or_else(|| get(port, "/api/tags", end).and_then(|list| first(&list["models"], "name")))?;
    Some(Server { port, model })
}

/// Returns the first name in a list. It comes from an arbitrary listener and becomes part of a command, so a name with
/// characters other than letters, digits and a few marks is rejected.
fn first(list: &Value, key: &str) -> Option<String> {
    let is_name = |name: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@+-".contains(c);
        !name.is_empty() && name.len() <= 120 && !name.starts_with('-') && name.chars().all(is_plain)
    };
    let names = list.as_array()?.iter().filter_map(|model| model.get(key)?.as_str());
    names.into_iter().find(is_name).map(str::to_owned)
}

fn get(port: u16, path: &str, end: Instant) -> Option<Value> {
    let left = || {
        end.checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
    };
    let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), left()?).ok()?;
    stream.set_write_timeout(Some(left()?)).ok()?;
    // With HTTP/1.0 a response comes in one piece and ends with the connection.
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        stream.set_read_timeout(Some(left()?)).ok()?;
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(_) => return None,
        }
        if answer.len() as u64 > MOST {
            return None;
        }
        // Some servers keep the connection open regardless.
        if let Some(value) = body(&answer) {
            return Some(value);
        }
    }
    body(&answer)
}

/// Returns the JSON body of a complete response with status 200.
fn body(answer: &[u8]) -> Option<Value> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let status = std::str::from_utf8(&answer[..end]).ok()?.split(' ').nth(1)?;
    if status != "200" {
        return None;
    }
    serde_json::from_slice(&answer[end + 4..]).ok()
}
