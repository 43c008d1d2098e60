//! Benchmarks the gateway's added latency, memory and throughput: the real program between clients and a provider that
//! responds at once.

use crate::process::{self, Held};
use crate::program;
use codelet_testkit::server::{Behaviour, Reply, Server, Wire};
use serde_json::json;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// Concurrent conversations.
const CONVERSATIONS: [usize; 4] = [1, 20, 100, 200];
/// Measured requests, of each kind.
const MEASURED: usize = 400;
/// Steps of a conversation that comes to 200,000 tokens, by the gateway's own estimate, while it is measured.
const STEPS: usize = 128;
/// Steps of one of 100,000 tokens.
const HALF: usize = 70;
/// Steps that are measured of a conversation, at least and at most: there is an edit among so many.
const FEWEST: usize = 24;
/// Maximum measured steps of a conversation.
const MORE: usize = 32;
/// Steps of the longest conversation in the screenshot.
const DRAWN: usize = 150;
/// Bytes read per step.
const PIECE: usize = 3_800;
/// Clients that send small requests as fast as possible, and for how long.
const CLIENTS: usize = 16;
const FAST: Duration = Duration::from_secs(4);

/// The cache mark on the end of a request.
const MARK: &str = "\"cache_control\":{\"type\":\"ephemeral\"}";
/// The provider's response.
const EVENTS: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\
    \"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":90,\"output_tokens\":1}}}\n\n\
    event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

/// Measures the release build if `is_shipped`, otherwise the one that the tests use.
pub fn run(root: &Path, is_shipped: bool) -> Result<String, Vec<String>> {
    let built = built(root, is_shipped);
    measure(root, &built).map_err(|error| vec![format!("{}: {error}", built.display())])
}

fn built(root: &Path, is_shipped: bool) -> PathBuf {
    program::target(root).join(if is_shipped { "dist/codelet" } else { "debug/codelet" })
}

/// Writes a screenshot of the gateway's page after a few conversations to `docs/pictures`.
pub fn draw(root: &Path) -> Result<String, Vec<String>> {
    let file = root.join("docs/pictures/gateway.png");
    match draw_page(root, &file) {
        Ok(true) => Ok(format!("drawn: {}", file.display())),
        Ok(false) => Err(vec!["the browser has drawn nothing".to_owned()]),
        Err(error) => Err(vec![error.to_string()]),
    }
}

fn draw_page(root: &Path, file: &Path) -> std::io::Result<bool> {
    let behaviour = Behaviour::answering(|_| Reply::text("The next piece, please."));
    let provider = Server::start(Wire::Anthropic, behaviour.tokens_per_four_bytes(1.4).unchecked());
    let address = provider
        .url()
        .trim_start_matches("http://")
        .parse()
        .map_err(std::io::Error::other)?;
    let gateway = Gateway::start(&built(root, false), address)?;
    let talk = Talk::new(root, DRAWN)?;
    for task in ["Move the parser", "Find the leak", "Write the notes of the release"] {
        let (mut client, first) = (Connection::new(gateway.address)?, first(task));
        let steps = DRAWN - task.len() * 2;
        (1..steps).try_for_each(|step| client.ask("/v1/messages", &first, &talk.steps[..talk.ends[step]]))?;
    }
    let _ = std::fs::remove_file(file);
    let mut browser = Command::new("chromium");
    browser
        .args([
            "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1240",
        ])
        .arg(format!("--screenshot={}", file.display()))
        .arg(format!("http://{}/codelet", gateway.address));
    process::run(browser, Duration::from_secs(60)).map_err(std::io::Error::other)?;
    Ok(file.exists())
}

fn measure(root: &Path, codelet: &Path) -> std::io::Result<String> {
    let provider = provider()?;
    let talk = Talk::new(root, STEPS + MORE)?;
    let mut told = format!(
        "{:>13} {:<22} {:>9} {:>9} {:>13} {:>11}\n",
        "conversations", "200k tokens", "p50 ms", "p99 ms", "processor ms", "MB resident"
    );
    for count in CONVERSATIONS {
        let gateway = Gateway::start(codelet, provider)?;
        for (name, address, path) in [
            ("straight", provider, "/v1/messages"),
            ("passed through unread", gateway.address, "/v1/elsewhere"),
            ("through the gateway", gateway.address, "/v1/messages"),
        ] {
            let spent = || gateway.processor_time();
            let (times, spent) = talk.take_turns((address, path), count, STEPS, &spent)?;
            let (p50, p99) = (at(&times, 0.5), at(&times, 0.99));
            let _ = writeln!(
                told,
                "{count:>13} {name:<22} {p50:>9.2} {p99:>9.2} {:>13.2} {:>11}",
                spent.as_secs_f64() * 1e3 / times.len() as f64,
                gateway.resident()?
            );
        }
    }
    for (tokens, steps) in [("100k", HALF), ("125k", STEPS / 2 + FEWEST)] {
        let gateway = Gateway::start(codelet, provider)?;
        let empty = gateway.resident()?;
        talk.take_turns((gateway.address, "/v1/messages"), 200, steps - FEWEST + 1, &|| {
            gateway.processor_time()
        })?;
        let full = gateway.resident()?;
        let _ = writeln!(
            told,
            "200 conversations of {tokens} tokens: {full} MB resident, {empty} MB at the start"
        );
    }
    let gateway = Gateway::start(codelet, provider)?;
    for (name, to) in [("straight", provider), ("through the gateway", gateway.address)] {
        let times = talk.ask_at_once(to, 200, STEPS / 2)?;
        let (p50, p99) = (at(&times, 0.5), at(&times, 0.99));
        let _ = writeln!(
            told,
            "200 conversations of 100k tokens in the same moment, {name}: p50 {p50:.0} ms, p99 {p99:.0} ms"
        );
    }
    let straight = fast(provider)?;
    let through = fast(gateway.address)?;
    let _ = write!(
        told,
        "small requests: {through:.0} a second, {straight:.0} without, from {CLIENTS} clients on the same cores"
    );
    Ok(told)
}

/// The quantile of sorted times, in milliseconds.
fn at(times: &[Duration], share: f64) -> f64 {
    let time = times.get((times.len() as f64 * share) as usize);
    time.map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

/// A conversation shared by all clients except for its first text.
struct Talk {
    steps: String,
    /// The end of each step.
    ends: Vec<usize>,
}

impl Talk {
    /// Steps that read pieces of this workspace's sources.
    fn new(root: &Path, steps: usize) -> std::io::Result<Self> {
        let sources = sources(&root.join("codelet-context/src"), steps * PIECE)?;
        let mut talk = Talk {
            steps: String::new(),
            ends: vec![0],
        };
        for (step, piece) in sources.as_bytes().chunks(PIECE).take(steps).enumerate() {
            let call = json!({"type": "tool_use", "id": format!("toolu_{step:06}"), "name": "Read",
                "input": {"file_path": format!("src/piece_{step}.rs")}});
            let output = json!({"type": "tool_result", "tool_use_id": format!("toolu_{step:06}"),
                "content": String::from_utf8_lossy(piece)});
            let reply = json!({"role": "assistant", "content": [call]});
            let answer = json!({"role": "user", "content": [output]});
            let _ = write!(talk.steps, ",{reply},{answer}");
            talk.ends.push(talk.steps.len());
        }
        Ok(talk)
    }

    /// Runs `count` conversations, each on its own connection, one request after the other, each a step longer than the
    /// previous one. Returns the response times in ascending order, and the increase of `spent` meanwhile. Requests
    /// before a conversation is known are not counted. If there are few conversations, others follow them.
    fn take_turns(
        &self,
        (to, path): (SocketAddr, &str),
        count: usize,
        steps: usize,
        spent: &dyn Fn() -> std::io::Result<Duration>,
    ) -> std::io::Result<(Vec<Duration>, Duration)> {
        let (mut times, mut all_spent) = (Vec::new(), Duration::ZERO);
        for life in 0.. {
            let task = |number: usize| first(&format!("Task {number} of {life}"));
            let mut clients = Vec::new();
            for number in 0..count {
                let mut client = Connection::new(to)?;
                client.ask(path, &task(number), &self.steps[..self.ends[steps - 1]])?;
                clients.push(client);
            }
            let before = spent()?;
            for turn in 0..count * (MEASURED / count).clamp(FEWEST, MORE) {
                let (number, step) = (turn % count, steps + turn / count);
                let first = task(number);
                let began = Instant::now();
                clients[number].ask(path, &first, &self.steps[..self.ends[step]])?;
                times.push(began.elapsed());
            }
            all_spent += spent()?.saturating_sub(before);
            if times.len() >= MEASURED {
                break;
            }
        }
        times.sort_unstable();
        Ok((times, all_spent))
    }
}

impl Talk {
    /// Sends a request of many known conversations at the same moment; returns the response times in ascending order.
    fn ask_at_once(&self, to: SocketAddr, count: usize, steps: usize) -> std::io::Result<Vec<Duration>> {
        let start = Barrier::new(count);
        let one = |number: usize| -> std::io::Result<Duration> {
            let first = first(&format!("Burst {number}"));
            let known = Connection::new(to).and_then(|mut it| {
                it.ask("/v1/messages", &first, &self.steps[..self.ends[steps - 1]])?;
                Ok(it)
            });
            // Failed clients must reach the barrier too.
            start.wait();
            let mut connection = known?;
            let began = Instant::now();
            connection.ask("/v1/messages", &first, &self.steps[..self.ends[steps]])?;
            Ok(began.elapsed())
        };
        let times: std::io::Result<Vec<Duration>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|number| {
                    scope.spawn({
                        let one = &one;
                        move || one(number)
                    })
                })
                .collect();
            let broken = |_| Err(std::io::Error::other("a client panicked"));
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(broken))
                .collect()
        });
        let mut times = times?;
        times.sort_unstable();
        Ok(times)
    }
}

/// At least this many bytes of sources, if there are as many; always the same.
fn sources(folder: &Path, least: usize) -> std::io::Result<String> {
    let (mut text, mut folders) = (String::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<_> = std::fs::read_dir(folder)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        paths.sort();
        for path in paths {
            match path.extension() {
                None => folders.push(path),
                Some(kind) if kind == "rs" && text.len() < least => text.push_str(&std::fs::read_to_string(path)?),
                Some(_) => {}
            }
        }
    }
    Ok(text)
}

fn first(task: &str) -> String {
    let system = format!(
        "[{{\"type\":\"text\",\"text\":\"{}\",{MARK}}}]",
        "You read one piece after the other. ".repeat(200)
    );
    format!(
        "{{\"model\":\"claude-opus-4-5\",\"max_tokens\":16000,\"stream\":true,\"system\":{system},\
         \"messages\":[{{\"role\":\"user\",\"content\":\"{task}\"}}"
    )
}

/// A client with one connection.
struct Connection {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

impl Connection {
    fn new(to: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream: BufReader::new(stream),
            host: to,
        })
    }

    /// Sends a request whose message list consists of `first` and `steps`, and reads the response to its end.
    fn ask(&mut self, path: &str, first: &str, steps: &str) -> std::io::Result<()> {
        // The end is marked for the cache, as by clients.
        let end = "]}";
        let (steps, end) = match steps.strip_suffix("}]}") {
            Some(steps) => (steps, format!(",{MARK}}}]}}{end}")),
            None => (steps, end.to_owned()),
        };
        let length = first.len() + steps.len() + end.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nanthropic-version: 2023-06-01\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            self.host
        );
        let stream = self.stream.get_mut();
        stream.write_all(format!("{head}{first}").as_bytes())?;
        stream.write_all(steps.as_bytes())?;
        stream.write_all(end.as_bytes())?;
        read(&mut self.stream).map(|_| ())
    }
}

/// Reads a request or a response to its end; returns false if there is none.
fn read(from: &mut BufReader<TcpStream>) -> std::io::Result<bool> {
    let (mut length, mut is_chunked, mut line) = (0, false, String::new());
    loop {
        line.clear();
        if from.read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let lower = line.trim_end().to_ascii_lowercase();
        if lower.is_empty() {
            break;
        }
        if let Some(told) = lower.strip_prefix("content-length: ") {
            length = told.parse().map_err(std::io::Error::other)?;
        }
        is_chunked |= lower == "transfer-encoding: chunked";
    }
    while is_chunked {
        line.clear();
        from.read_line(&mut line)?;
        let chunk = u64::from_str_radix(line.trim_end(), 16).map_err(std::io::Error::other)?;
        skip(from, chunk + 2)?;
        is_chunked = chunk > 0;
    }
    skip(from, length)
}

/// Skips this many bytes; returns whether there were as many.
fn skip(from: &mut BufReader<TcpStream>, bytes: u64) -> std::io::Result<bool> {
    let read = std::io::copy(&mut from.by_ref().take(bytes), &mut std::io::sink())?;
    Ok(read == bytes)
}

/// Starts a provider that responds to each request at once.
fn provider() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{EVENTS}",
                    EVENTS.len()
                );
                let mut stream = BufReader::new(stream);
                while matches!(read(&mut stream), Ok(true)) && stream.get_mut().write_all(answer.as_bytes()).is_ok() {}
            });
        }
    });
    Ok(address)
}

/// The program while it is measured.
struct Gateway {
    process: Held,
    address: SocketAddr,
}

impl Gateway {
    fn start(codelet: &Path, provider: SocketAddr) -> std::io::Result<Self> {
        let child = Command::new(codelet)
            .args([
                "gateway",
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                &format!("anthropic=http://{provider}"),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut process = Held(child);
        let mut line = String::new();
        if let Some(output) = process.0.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line.split("http://").nth(1).and_then(|rest| rest.split(". ").next());
        let address = address.and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| std::io::Error::other(format!("no address in {line:?}")))?;
        Ok(Gateway { process, address })
    }

    /// Its CPU time.
    fn processor_time(&self) -> std::io::Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.0.id()))?;
        // After the name: user and system time, in hundredths of a second.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
        Ok(Duration::from_millis(10 * ticks.sum::<u64>()))
    }

    /// Its resident memory, in megabytes.
    fn resident(&self) -> std::io::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        Ok(kilobytes.unwrap_or_default() / 1_024)
    }
}

/// The number of small requests answered per second.
fn fast(to: SocketAddr) -> std::io::Result<f64> {
    let count = Arc::new(AtomicUsize::new(0));
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let count = count.clone();
            thread::spawn(move || -> std::io::Result<()> {
                let mut client = Connection::new(to)?;
                while began.elapsed() < FAST {
                    let turn = count.fetch_add(1, Ordering::Relaxed);
                    client.ask("/v1/messages", &first(&format!("Task {number}, {turn}")), "")?;
                }
                Ok(())
            })
        })
        .collect();
    for client in clients {
        client
            .join()
            .map_err(|_| std::io::Error::other("a client panicked"))??;
    }
    Ok(count.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
}
