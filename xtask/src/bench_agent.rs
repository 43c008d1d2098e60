//! Benchmarks the agent's overhead over the provider's time: 200 steps of 20 KB, alternating with a bare loop
//! (`bare.rs`) on the same task.

mod bare;

pub use bare::run as bare_loop;

use crate::program;
use codelet_testkit::server::{Behaviour, End, Exchange, Record, Reply, Server, Window, Wire};
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// The error for a poisoned lock.
const BROKE: &str = "a thread broke down";
/// Steps of the task.
const STEPS: usize = 200;
/// Steps of the task with compactions.
const LONG: usize = 300;
/// The context windows for the task, in tokens.
const WINDOWS: [u64; 2] = [200_000, 32_000];
/// Bytes of each result.
const RESULT: usize = 20_000;
/// The step that the last ones are compared with.
const EARLY: usize = 10;
/// Steps on each side of one, over which the median is taken.
const AROUND: usize = 5;
/// Clock ticks per second in `/proc/PID/stat`: 100 on every Linux.
const TICKS: f64 = 100.0;

/// Number of times that the agent and the bare loop each do the task, alternating.
const TURNS: usize = 3;
/// Maximum ratio of the agent's figures to the bare loop's.
const OF_BARE: f64 = 1.3;
/// Maximum growth of a step's time from beginning to end, in milliseconds.
const GROWTH: f64 = 3.0;
/// Starts over which the median time to the first request is taken, and its maximum, in milliseconds.
const STARTS: usize = 15;
const FIRST: f64 = 20.0;

/// Runs all measurements and returns a table; an error if a limit is exceeded.
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

/// A measurement and its limit.
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
        // Seconds are measured in hundredths.
        let places = if self.unit == "s" { 2 } else { 1 };
        let figure = |value: f64| format!("{value:.places$} {}", self.unit);
        let limit = self.limit.map_or_else(String::new, figure);
        format!("| {} | {} | {limit} |\n", self.what, figure(self.value))
    }
}

fn measure(root: &Path) -> Result<Vec<Row>, String> {
    let built = Command::new("cargo")
        .args(["build", "--profile", "dist", "--quiet", "-p", "codelet"])
        .current_dir(root)
        .status()
        .map_err(|error| error.to_string())?;
    if !built.success() {
        return Err("the build failed".to_owned());
    }
    let program = program::target(root).join("dist/codelet");
    let size = std::fs::metadata(&program).map_err(|error| error.to_string())?.len();
    let texts = texts(root)?;
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let first = |place: &str, is_repository: bool| -> Result<Row, String> {
        let time = first_request(&program, &texts, is_repository)?;
        let what = format!("first request after start in {place}");
        Ok(Row::new(what, ms(time), "ms", Some(FIRST)))
    };
    let mut rows = vec![
        first("a plain folder", false)?,
        first("a git repository of these files", true)?,
        Row::new("binary, stripped", mb(size), "MB", Some(20.0)),
    ];
    for tool in [Tool::Read, Tool::Bash] {
        let Turns { agent, bare } = in_turns(&program, &texts, tool)?;
        let step = |step: usize| {
            let (ours, theirs) = (agent.gap(step), bare.gap(step));
            let what = format!("{tool:?}: step {step} (bare loop: {:.1} ms)", ms(theirs));
            Row::new(what, ms(ours), "ms", Some(ms(theirs) * OF_BARE))
        };
        let (begin, end) = (agent.gap(EARLY), agent.gap(STEPS - AROUND));
        let cpu = format!("{tool:?}: processor time (bare loop: {:.2} s)", bare.cpu);
        rows.extend([
            step(EARLY),
            step(STEPS - AROUND),
            Row::new(
                format!("{tool:?}: more at step {} than at {EARLY}", STEPS - AROUND),
                ms(end.saturating_sub(begin)),
                "ms",
                Some(GROWTH),
            ),
            Row::new(cpu, agent.cpu, "s", Some(bare.cpu * OF_BARE)),
            Row::new(
                format!("{tool:?}: the last request"),
                agent.last_bytes as f64 / 1e6,
                "MB",
                None,
            ),
            Row::new(
                format!("{tool:?}: resident at the first request"),
                mb(agent.rss_first),
                "MB",
                Some(30.0),
            ),
            Row::new(
                format!("{tool:?}: resident at step {STEPS}"),
                mb(agent.rss_last),
                "MB",
                Some(45.0),
            ),
        ]);
    }
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

/// Distinct texts, as many as the longest task has steps: this workspace's own sources, then the same with other names.
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

/// The tool that reads the task's files.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Tool {
    Read,
    Bash,
}

impl Tool {
    /// The call that reads the file of this step, counted from 0.
    fn call(self, step: usize) -> Reply {
        match self {
            Tool::Read => Reply::call("Read", json!({"file_path": format!("file_{step}.rs")})),
            Tool::Bash => Reply::call("Bash", json!({"command": format!("cat file_{step}.rs")})),
        }
    }
}

/// The medians of both after alternating runs.
struct Turns {
    agent: Run,
    bare: Run,
}

fn in_turns(program: &Path, texts: &[String], tool: Tool) -> Result<Turns, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let (mut agents, mut bares) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        // No cost-based compaction, so that requests grow to the end.
        agents.push(task(texts, tool, |place, server| {
            place.command(program, server, "10M", "off")
        })?);
        bares.push(task(texts, tool, |place, server| place.bare(&own, server))?);
    }
    Ok(Turns {
        agent: Run::median(agents),
        bare: Run::median(bares),
    })
}

/// The measurements of one run.
struct Run {
    /// The time from the end of each response to the next complete request.
    gaps: Vec<Duration>,
    rss_first: u64,
    rss_last: u64,
    cpu: f64,
    last_bytes: usize,
}

impl Run {
    /// The median gap around a step.
    fn gap(&self, step: usize) -> Duration {
        median(&self.gaps[step - AROUND..(step + AROUND).min(self.gaps.len())])
    }

    /// The median of several runs, for each step and figure.
    fn median(runs: Vec<Run>) -> Run {
        let middle = |mut figures: Vec<f64>| {
            figures.sort_unstable_by(f64::total_cmp);
            figures.get(figures.len() / 2).copied().unwrap_or_default()
        };
        let of = |figure: fn(&Run) -> f64| middle(runs.iter().map(figure).collect());
        let step = |at: usize| {
            median(
                &runs
                    .iter()
                    .filter_map(|run| run.gaps.get(at).copied())
                    .collect::<Vec<_>>(),
            )
        };
        Run {
            gaps: (0..STEPS).map(step).collect(),
            rss_first: of(|run| run.rss_first as f64) as u64,
            rss_last: of(|run| run.rss_last as f64) as u64,
            cpu: of(|run| run.cpu),
            last_bytes: of(|run| run.last_bytes as f64) as usize,
        }
    }
}

/// The time from the end of each response to the next request.
fn gaps(record: &Record) -> Vec<Duration> {
    let exchanges = record.exchanges.windows(2);
    let gap = |pair: &[Exchange]| match pair[0].end {
        End::Finished(at) => pair[1].arrived.saturating_duration_since(at),
        _ => Duration::ZERO,
    };
    exchanges.map(gap).collect()
}

fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A temporary directory with a file for each step.
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

    /// Makes it a git repository, with one commit of all files and a later change.
    fn commit(&self) -> Result<(), String> {
        // `git status` rereads files as new as the index in full; those of a real repository are older.
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
            // Isolates from the user's git settings.
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
                "-p", "Read everything.", "--output", "json", "--model", "anthropic/bench",
            ])
            .args(["--window", window, "--base-url", base.as_str()])
            .args(["--policy", economics])
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

    /// The bare loop on the same task.
    fn bare(&self, own: &Path, server: &Server) -> Command {
        let mut command = Command::new(own);
        command
            .args(["bare-loop", server.url().trim_start_matches("http://")])
            .current_dir(&self.work)
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

/// The durations of the compactions in a long task with a window enforced by the server, in milliseconds, in order.
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

/// The time from the program's start to its first request, in a directory with all texts.
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

/// Runs the task with this command.
fn task(texts: &[String], tool: Tool, command: impl Fn(&Workspace, &Server) -> Command) -> Result<Run, String> {
    let place = Workspace::new(texts)?;
    // The process's figures at the first and the last request, read while it waits for the response.
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
            _ => tool.call(step - 1),
        }
    };
    let behaviour = Behaviour::answering(answer).window(Window::of(10_000_000)).unchecked();
    let server = Server::start(Wire::Anthropic, behaviour);
    // The lock is held until the pid is known, so that the first request waits for it.
    let mut known = pid.lock().map_err(|_| BROKE.to_owned())?;
    let child = command(&place, &server).spawn().map_err(|error| error.to_string())?;
    *known = Some(child.id());
    drop(known);
    let done = child.wait_with_output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let record = server.record();
    let figures = figures.lock().map_err(|_| BROKE.to_owned())?.clone();
    let [(rss_first, _), (rss_last, cpu)] = figures[..] else {
        return Err("the process was gone before it could be looked at".to_owned());
    };
    Ok(Run {
        gaps: gaps(&record),
        rss_first,
        rss_last,
        cpu,
        last_bytes: record.exchanges.last().map_or(0, |last| last.request.body.len()),
    })
}

/// Resident memory of a process, in bytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// CPU seconds used by a process and the children that it has waited for.
fn processor(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields
        .skip(11)
        .take(4)
        .filter_map(|field| field.parse::<u64>().ok())
        .sum();
    ticks as f64 / TICKS
}
