//! What the agent adds to the time of a provider: 200 steps of 20 KB beside a loop that only posts bodies made before.

use codelet_testkit::server::{Behaviour, End, Record, Reply, Server, Window, Wire};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// Steps of the task.
const STEPS: usize = 200;
/// Steps of the task in which conversations are compacted.
const LONG: usize = 300;
/// The windows that it is done in, in tokens.
const WINDOWS: [u64; 2] = [200_000, 32_000];
/// Bytes of each result.
const RESULT: usize = 20_000;
/// Steps around one, over which the median is taken.
const AROUND: usize = 5;
/// A line of `/proc/PID/stat` counts time in hundredths of a second on every Linux.
const TICKS: f64 = 100.0;

/// Starts of which the median is taken for the time to the first request, and how long that may be, in milliseconds.
const STARTS: usize = 15;
const FIRST: f64 = 30.0;

/// Runs the whole, and says what came of it; that is an error where something takes more than it may.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let rows = measure(root).map_err(|error| vec![error])?;
    let mut table = String::from("| what | measured | wanted at most |\n|---|---|---|\n");
    for row in &rows {
        table.push_str(&row.line());
    }
    let over: Vec<&Row> = rows.iter().filter(|row| row.is_over()).collect();
    if over.is_empty() {
        return Ok(table);
    }
    let told = over.iter().map(|row| format!("more than wanted: {}", row.what));
    Err(std::iter::once(table).chain(told).collect())
}

/// A figure and its limit.
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    limit: Option<f64>,
}

impl Row {
    fn new(what: impl Into<String>, value: f64, unit: &'static str, limit: Option<f64>) -> Self {
        Row {
            what: what.into(),
            value,
            unit,
            limit,
        }
    }

    fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.value > limit)
    }

    fn line(&self) -> String {
        let limit = self
            .limit
            .map_or_else(String::new, |limit| format!("{limit} {}", self.unit));
        format!("| {} | {:.1} {} | {limit} |\n", self.what, self.value, self.unit)
    }
}

fn measure(root: &Path) -> Result<Vec<Row>, String> {
    let built = Command::new("cargo")
        .args(["build", "--release", "--quiet", "-p", "codelet"])
        .current_dir(root)
        .status()
        .map_err(|error| error.to_string())?;
    if !built.success() {
        return Err("the release build failed".to_owned());
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let program = target.join("release/codelet");
    let size = std::fs::metadata(&program).map_err(|error| error.to_string())?.len();
    let texts = texts(root)?;
    let agent = agent(&program, &texts)?;
    let bare = bare(&agent.record)?;
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let added = |step: usize, limit: f64| {
        let (ours, theirs) = (median(&agent.record.gaps(step)), median(&bare.gaps(step)));
        let what = format!("added at step {step} (bare loop: {:.1} ms)", ms(theirs));
        Row::new(what, ms(ours.saturating_sub(theirs)), "ms", Some(limit))
    };
    let first = |place: &str, is_repository: bool| -> Result<Row, String> {
        let time = first_request(&program, &texts, is_repository)?;
        let what = format!("first request after start in {place}");
        Ok(Row::new(what, ms(time), "ms", Some(FIRST)))
    };
    let encoding = encoding(&agent.record)?;
    let mut rows = vec![
        Row::new("the last request", agent.last_bytes as f64 / 1e6, "MB", None),
        first("a plain folder", false)?,
        first("a git repository of these files", true)?,
        added(10, 8.0),
        added(STEPS - AROUND, 30.0),
        Row::new("of it, encoding the last request as a whole", ms(encoding), "ms", None),
        Row::new("resident at the first request", mb(agent.rss_first), "MB", Some(30.0)),
        Row::new(
            format!("resident at step {STEPS}"),
            mb(agent.rss_last),
            "MB",
            Some(60.0),
        ),
        Row::new("processor time", agent.cpu, "s", Some(3.0)),
        Row::new("binary, stripped", mb(size), "MB", Some(20.0)),
    ];
    for window in WINDOWS {
        for economics in ["off", "faithful"] {
            let mut times = compactions(&program, &texts, window, economics)?;
            times.sort_unstable_by(f64::total_cmp);
            let (median, slowest) = (times.get(times.len() / 2), times.last());
            let what = format!(
                "compaction in a window of {window}, {economics}: the slowest of {} (median {:.1} ms)",
                times.len(),
                median.copied().unwrap_or_default(),
            );
            rows.push(Row::new(what, slowest.copied().unwrap_or_default(), "ms", Some(10.0)));
        }
    }
    Ok(rows)
}

/// As many texts as the longest task has steps, no two alike: this workspace's own sources, and for the rest of them the same
/// with other names.
fn texts(root: &Path) -> Result<Vec<String>, String> {
    let mut sources = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| error.to_string())? {
            let path = entry.map_err(|error| error.to_string())?.path();
            let is_left_out = path.file_name().is_some_and(|name| name == "target" || name == ".git");
            if path.is_dir() && !is_left_out {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                sources.push(path);
            }
        }
    }
    sources.sort();
    let read = sources.iter().map(std::fs::read_to_string);
    let all: String = read.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let mut texts = Vec::new();
    let mut names = String::from("_");
    while texts.len() < LONG {
        let mut text = String::new();
        for line in all.split_inclusive('\n') {
            text.push_str(&line.replace('_', &names));
            if text.len() >= RESULT {
                texts.push(std::mem::take(&mut text));
            }
        }
        if texts.is_empty() {
            return Err("there are no sources to read".to_owned());
        }
        names.push_str("of_");
    }
    texts.truncate(LONG);
    Ok(texts)
}

struct Run {
    record: Timed,
    rss_first: u64,
    rss_last: u64,
    cpu: f64,
    last_bytes: usize,
}

/// When each request was complete, and when its answer was.
struct Timed {
    arrived: Vec<Instant>,
    finished: Vec<Instant>,
    sizes: Vec<usize>,
    last_body: Arc<[u8]>,
}

impl Timed {
    fn of(record: &Record) -> Self {
        let finished = record.exchanges.iter().map(|exchange| match exchange.end {
            End::Finished(at) => at,
            _ => exchange.arrived,
        });
        Timed {
            arrived: record.exchanges.iter().map(|exchange| exchange.arrived).collect(),
            finished: finished.collect(),
            sizes: record
                .exchanges
                .iter()
                .map(|exchange| exchange.request.body.len())
                .collect(),
            last_body: record
                .exchanges
                .last()
                .map_or_else(|| Arc::from([]), |last| last.request.body.clone()),
        }
    }

    /// From the end of an answer to the next request, for the steps around one.
    fn gaps(&self, step: usize) -> Vec<Duration> {
        let last = self.arrived.len().saturating_sub(1);
        let steps = step.saturating_sub(AROUND).max(1)..(step + AROUND).min(last);
        steps
            .map(|at| self.arrived[at].saturating_duration_since(self.finished[at - 1]))
            .collect()
    }
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A folder with a file for each step, gone with the value.
struct Workspace {
    home: PathBuf,
    work: PathBuf,
}

impl Workspace {
    fn new(texts: &[String]) -> Result<Self, String> {
        let home = std::env::temp_dir().join(format!("codelet-bench-{}", std::process::id()));
        let work = home.join("work");
        std::fs::create_dir_all(&work).map_err(|error| error.to_string())?;
        for (step, text) in texts.iter().enumerate() {
            std::fs::write(work.join(format!("file_{step}.rs")), text).map_err(|error| error.to_string())?;
        }
        Ok(Workspace { home, work })
    }

    /// Makes a repository of it, with one commit of all files and a change since.
    fn commit(&self) -> Result<(), String> {
        // Files as young as the index are read whole by each status, those of a real repository are not.
        let before = SystemTime::now() - Duration::from_secs(60);
        for entry in std::fs::read_dir(&self.work).map_err(|error| error.to_string())? {
            let file = entry.and_then(|entry| File::options().append(true).open(entry.path()));
            file.and_then(|file| file.set_modified(before))
                .map_err(|error| error.to_string())?;
        }
        self.git(&["init", "-q"])?;
        self.git(&["add", "."])?;
        self.git(&["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "All"])?;
        std::fs::write(self.work.join("file_0.rs"), "changed\n").map_err(|error| error.to_string())
    }

    fn git(&self, arguments: &[&str]) -> Result<(), String> {
        let done = Command::new("git")
            .args(arguments)
            .current_dir(&self.work)
            // Whoever measures has settings of their own.
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .output()
            .map_err(|error| error.to_string())?;
        match done.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    }

    /// The program on the task of reading everything.
    fn command(&self, program: &Path, server: &Server, window: &str, economics: &str) -> Command {
        let mut command = Command::new(program);
        let base = server.base();
        command
            .args([
                "-p",
                "Read everything.",
                "--output",
                "json",
                "--model",
                "anthropic/bench",
            ])
            .args(["--window", window, "--base-url", base.as_str()])
            .args(["--economics", economics])
            .current_dir(&self.work)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ANTHROPIC_API_KEY", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
    }
}

/// The compactions of a long task in a window that the server enforces, in milliseconds each, in their order.
fn compactions(program: &Path, texts: &[String], window: u64, economics: &str) -> Result<Vec<f64>, String> {
    let place = Workspace::new(texts)?;
    let mut step = 0;
    let answer = move |_: &codelet_testkit::server::Request| {
        step += 1;
        match step {
            step if step > LONG => Reply::text("Read."),
            _ => Reply::call("Read", json!({"file_path": format!("file_{}.rs", step - 1)})),
        }
    };
    let behaviour = Behaviour::answering(answer).window(Window::of(window)).unchecked();
    let server = Server::start(Wire::Anthropic, behaviour);
    let done = place
        .command(program, &server, &window.to_string(), economics)
        .output()
        .map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let result: Value = serde_json::from_slice(&done.stdout).map_err(|error| error.to_string())?;
    let compactions = result["compactions"]
        .as_array()
        .ok_or("the result tells no compactions")?;
    Ok(compactions.iter().filter_map(|one| one["ms"].as_f64()).collect())
}

/// From the start of the program to its first request, in a folder with all texts.
fn first_request(program: &Path, texts: &[String], is_repository: bool) -> Result<Duration, String> {
    let place = Workspace::new(texts)?;
    if is_repository {
        place.commit()?;
    }
    let times: Result<Vec<Duration>, String> = (0..STARTS)
        .map(|_| {
            let behaviour = Behaviour::answering(|_| Reply::text("Read.")).unchecked();
            let server = Server::start(Wire::Anthropic, behaviour);
            let mut command = place.command(program, &server, "200000", "off");
            let began = Instant::now();
            let done = command.output().map_err(|error| error.to_string())?;
            match server.record().exchanges.first() {
                Some(first) => Ok(first.arrived.saturating_duration_since(began)),
                None => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
            }
        })
        .collect();
    times.map(|times| median(&times))
}

fn agent(program: &Path, texts: &[String]) -> Result<Run, String> {
    let place = Workspace::new(texts)?;
    // The process's figures at the first and at the last request, read while it waits for the answer.
    let figures: Arc<Mutex<Vec<(u64, f64)>>> = Arc::default();
    let pid: Arc<Mutex<Option<u32>>> = Arc::default();
    let (noted, of) = (figures.clone(), pid.clone());
    let mut step = 0;
    let answer = move |_: &codelet_testkit::server::Request| {
        step += 1;
        if (step == 1 || step == STEPS + 1)
            && let (Ok(mut noted), Ok(of)) = (noted.lock(), of.lock())
            && let Some(pid) = *of
        {
            noted.push((resident(pid), processor(pid)));
        }
        match step {
            step if step > STEPS => Reply::text("Read."),
            _ => Reply::call("Read", json!({"file_path": format!("file_{}.rs", step - 1)})),
        }
    };
    let behaviour = Behaviour::answering(answer).window(Window::of(10_000_000)).unchecked();
    let server = Server::start(Wire::Anthropic, behaviour);
    // The lock is held until the number is known, so that the first request waits for it.
    let mut known = pid.lock().map_err(|_| "a thread broke down".to_owned())?;
    let child = place
        // Nothing is set aside for its price, so that requests grow to the end.
        .command(program, &server, "10M", "off")
        .spawn()
        .map_err(|error| error.to_string())?;
    *known = Some(child.id());
    drop(known);
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let record = Timed::of(&server.record());
    let figures = figures.lock().map_err(|_| "a thread broke down".to_owned())?.clone();
    let [(rss_first, _), (rss_last, cpu)] = figures[..] else {
        return Err("the process was gone before it could be looked at".to_owned());
    };
    Ok(Run {
        last_bytes: record.last_body.len(),
        record,
        rss_first,
        rss_last,
        cpu,
    })
}

/// Posts bodies of the same sizes as the agent's, made before, around the steps that are looked at.
fn bare(agent: &Timed) -> Result<Timed, String> {
    let server = Server::start(
        Wire::Anthropic,
        Behaviour::answering(|_| Reply::text("Next.")).unchecked(),
    );
    let address = server.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let looked_at = |at: usize| at <= 10 + AROUND || at + 2 * AROUND >= STEPS - AROUND;
    let bodies: Vec<Vec<u8>> = agent
        .sizes
        .iter()
        .enumerate()
        .map(|(at, &size)| body(if looked_at(at) { size } else { 200 }))
        .collect();
    for body in bodies {
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body))
            .map_err(|error| error.to_string())?;
        read_answer(&mut stream)?;
    }
    Ok(Timed::of(&server.record()))
}

fn body(size: usize) -> Vec<u8> {
    let frame = json!({"model": "m", "max_tokens": 9, "stream": true, "messages": [{"role": "user", "content": ""}]})
        .to_string();
    let fill = "a line of code that says little but is as long as lines are\\n".repeat(size / 61 + 1);
    frame
        .replace(
            "\"content\":\"\"",
            &format!(
                "\"content\":\"{}\"",
                &fill[..size.saturating_sub(frame.len()) / 61 * 61]
            ),
        )
        .into_bytes()
}

/// Reads a chunked answer to its end.
fn read_answer(stream: &mut TcpStream) -> Result<(), String> {
    let mut seen = Vec::new();
    let mut bytes = [0; 65_536];
    while !seen.ends_with(b"0\r\n\r\n") {
        match stream.read(&mut bytes) {
            Ok(0) => return Err("the server hung up".to_owned()),
            Ok(count) => seen.extend_from_slice(&bytes[..count]),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// How long it takes to write the last request anew from its messages.
fn encoding(record: &Timed) -> Result<Duration, String> {
    let document = codelet_transcript::read(&record.last_body, None).map_err(|error| error.to_string())?;
    let times: Result<Vec<Duration>, String> = (0..AROUND)
        .map(|_| {
            let began = Instant::now();
            let text = codelet_transcript::write(&document, document.format).map_err(|error| error.to_string())?;
            std::hint::black_box(text);
            Ok(began.elapsed())
        })
        .collect();
    times.map(|times| median(&times))
}

/// Bytes that a process holds in memory.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Seconds of processor time that a process has used.
fn processor(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / TICKS
}
