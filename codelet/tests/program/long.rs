//! Long tasks against windows that the server enforces: no request is refused, none is invalid, nothing is lost, and whoever
//! writes the summaries, or fails to, the task is carried to its end.

use crate::common::agent::{Bench, KEY, WIRES, name};
use crate::common::{ended, stdout};
use codelet_offline::check::check;
use codelet_testkit::server::{Behaviour, Fault, Growth, Record, Reply, Request, Server, Stop, Trouble, Window, Wire};
use codelet_transcript::Format;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, OnceLock};

/// A text of about 20 KB that is like no other: prose, code, a log or a table, by its number.
fn varied(number: usize) -> String {
    const WORDS: [&str; 24] = [
        "harbour", "ledger", "window", "signal", "copper", "morning", "engine", "paper", "valley", "thread", "bridge",
        "winter", "garden", "motor", "silver", "answer", "ticket", "shadow", "record", "castle", "letter", "button",
        "planet", "ribbon",
    ];
    let mut state = number as u64 * 7_919 + 17;
    let mut next = |most: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let mut text = String::new();
    let size = 17_000 + number * 37 % 3_000;
    while text.len() < size {
        let mut word = || WORDS[next(24) as usize];
        let (one, two, three) = (word(), word(), word());
        let (a, b) = (next(10_000), next(1_000));
        text += &match number % 4 {
            0 => format!("The {one} of the {two} was seen at the {three}, {a} paces from gate {b}.\n"),
            1 => format!("    let {one}_{b} = {two}({a}, \"{three}\")?;\n"),
            2 => format!(
                "2026-11-{:02} {a:05} WARN {one}: {two} took {b} ms in {three}\n",
                b % 28 + 1
            ),
            _ => format!("| {one} | {two} {a} | {three} | {b} |\n"),
        };
    }
    text
}

/// What a model sees of a long task, request by request, as a provider does.
#[derive(Default)]
struct Sight {
    /// The system prompt and the reminders of the first request.
    standing: Option<(Vec<String>, Vec<String>)>,
    /// What of them is missing or changed, by request.
    lost: Vec<String>,
    /// The newest result of each request behind the first, with the request's number.
    newest: Vec<(usize, String)>,
    /// Handles that were asked for, with all results that were in sight then; none where words were searched for.
    recalled: Vec<Option<(String, String)>>,
    /// How often a summary was asked for.
    summaries: usize,
}

impl Sight {
    fn look(&mut self, request: &Request) {
        let texts = request.user_texts();
        let is_reminder = |text: &&&str| text.starts_with("<system-reminder");
        let reminders: Vec<String> = texts
            .iter()
            .filter(is_reminder)
            .map(|text| (*text).to_owned())
            .collect();
        let system = request.view().system.clone();
        match &self.standing {
            None => {
                assert!(!system.is_empty() && reminders.len() >= 2, "{texts:?}");
                self.standing = Some((system, reminders));
            }
            Some((first, standing)) => {
                if *first != system {
                    self.lost.push(format!("request {}: the system prompt", request.number));
                }
                for reminder in standing.iter().filter(|reminder| !texts.contains(&reminder.as_str())) {
                    let head: String = reminder.chars().take(60).collect();
                    self.lost.push(format!("request {}: {head:?}", request.number));
                }
            }
        }
        if let Some((_, newest)) = request.results().last() {
            self.newest.push((request.number, (*newest).to_owned()));
        }
    }

    /// A handle as a model finds one: the last word in the brackets of a heading or of a marker that stands for a text.
    /// One that was asked for before is in sight again.
    fn handle(&self, request: &Request) -> Option<String> {
        let is_new = |handle: &str| self.recalled.iter().flatten().all(|(asked, _)| asked != handle);
        let in_brackets = |text: &str| -> Option<String> {
            text.split("[Read ").skip(1).find_map(|rest| {
                let inside = rest.split_once(']')?.0;
                let handle = inside.rsplit(' ').next()?;
                let is_handle =
                    handle.len() >= 6 && handle.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
                (is_handle && is_new(handle) && !inside.contains('\n')).then(|| handle.to_owned())
            })
        };
        let summaries = request.user_texts();
        // A marker in the place of a whole result; one in the middle of a result leaves the rest in sight.
        let results = request.results();
        let markers = results
            .iter()
            .map(|(_, text)| *text)
            .filter(|text| text.starts_with("[Read "));
        summaries.into_iter().chain(markers).find_map(in_brackets)
    }

    /// The handle that the newest result, an answer to a search, begins with.
    fn found(request: &Request) -> Option<String> {
        let results = request.results();
        let (handle, _) = results.last()?.1.split_once(" · Read, ")?;
        Some(handle.to_owned())
    }
}

fn is_for_a_summary(request: &Request) -> bool {
    let last = request.last_user_text().unwrap_or_default();
    last.contains("is about to be shortened")
}

/// A task of so many steps that each read another text, against a window that the server enforces.
struct Long {
    wire: Wire,
    real: u64,
    configured: u64,
    told: bool,
    steps: usize,
    /// What the server counts for four bytes: four where each byte is a token, as in digits and hex.
    density: f64,
    /// The answer to each request for a summary; none where the model is not asked for any.
    summary: Option<fn() -> Reply>,
}

impl Long {
    fn label(&self) -> String {
        format!(
            "{}, {} of {}, {} dense",
            name(self.wire),
            self.real,
            self.configured,
            self.density
        )
    }

    /// Carries it to its end and checks each request; returns what was seen, and the lines of the run.
    fn run(&self) -> (Sight, Vec<Value>) {
        let label = self.label();
        let bench = Bench::new();
        for number in 0..self.steps {
            bench.file(&format!("part_{number:03}.txt"), &varied(number));
        }
        let sight = Arc::new(Mutex::new(Sight::default()));
        let (seen, steps, summary) = (sight.clone(), self.steps, self.summary);
        let (mut step, mut wanted) = (0, 0);
        let answer = move |request: &Request| {
            if is_for_a_summary(request) {
                return summary.unwrap()();
            }
            let mut seen = seen.lock().unwrap();
            seen.look(request);
            step += 1;
            // In the second third, in the last, and shortly before the end.
            wanted += usize::from([steps / 2, steps * 3 / 4, steps - 8].contains(&step));
            let recalled = seen.recalled.iter().flatten().count();
            if recalled < wanted {
                // Where nothing in sight stands for what was removed, it is searched for.
                let found = seen.recalled.last() == Some(&None);
                let handle = if found {
                    Sight::found(request)
                } else {
                    seen.handle(request)
                };
                let Some(handle) = handle else {
                    assert!(!found, "nothing was found: {:?}", request.results().last());
                    seen.recalled.push(None);
                    // Prose, and another one each time: what was given back is in sight for a while.
                    let text = varied((steps / 32 + wanted) * 4);
                    let line = text.lines().nth(40).unwrap_or_default();
                    return Reply::call("Recall", json!({ "search": line }));
                };
                let in_sight = request
                    .results()
                    .iter()
                    .map(|(_, text)| *text)
                    .collect::<Vec<_>>()
                    .join("\n");
                seen.recalled.push(Some((handle.clone(), in_sight)));
                return Reply::call("Recall", json!({ "handle": handle }));
            }
            if step >= steps {
                return Reply::text("All read.");
            }
            Reply::call("Read", json!({"file_path": format!("part_{:03}.txt", step - 1)}))
        };
        let limit = Window::of(self.real);
        let limit = if self.told { limit } else { limit.untold() };
        let server = Server::start(
            self.wire,
            Behaviour::answering(answer)
                .window(limit)
                .tokens_per_four_bytes(self.density),
        );
        let configured = self.configured.to_string();
        let by = self.summary.map_or("template", |_| "model");
        let args = ["-p", "Read it all.", "--window", &configured, "--summary", by];
        let output = bench.ask(&server, self.wire, &[&args[..], &["--output", "stream-json"]].concat());
        ended(&output, 0);
        let lines = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap());
        let lines: Vec<Value> = lines.collect();
        let result = lines.last().unwrap();
        assert_eq!(result["answer"], "All read.", "{label}");
        let record = server.record();
        assert_eq!(record.faults(), "", "{label}");
        self.check_requests(&record);
        let steps = record
            .exchanges
            .iter()
            .filter(|exchange| !is_for_a_summary(&exchange.request));
        let refused = steps.clone().filter(|exchange| exchange.status != Some(200)).count();
        let allowed = if self.real == self.configured { 0 } else { 3 };
        assert!(refused <= allowed, "{label}: {refused} were refused");
        let compactions = result["compactions"].as_array().unwrap();
        assert!(compactions.len() >= 2, "{label}: {compactions:?}");
        if self.density > 1.0 {
            assert!(
                compactions.len() * 2 < self.steps,
                "{label}: {} compactions",
                compactions.len()
            );
        }
        assert!(
            compactions.iter().all(|compaction| compaction["changed"] == true),
            "{label}"
        );
        // Each request extends the one before it, but for those right behind a compaction.
        let mut is_behind = vec![];
        let mut is_compacted = false;
        for line in &lines {
            match line["type"].as_str() {
                Some("compacted") => is_compacted = true,
                Some("asking") => is_behind.push(std::mem::take(&mut is_compacted)),
                _ => {}
            }
        }
        let breaks = steps.map(|exchange| matches!(exchange.growth, Growth::Breaks(_)));
        assert_eq!(breaks.collect::<Vec<bool>>(), is_behind, "{label}");
        let mut sight = std::mem::take(&mut *sight.lock().unwrap());
        let summaries = record
            .exchanges
            .iter()
            .filter(|exchange| is_for_a_summary(&exchange.request));
        for exchange in summaries {
            // It extends what was sent, so that it is read from the cache.
            assert!(!matches!(exchange.growth, Growth::Breaks(_)), "{label}");
            sight.summaries += 1;
        }
        self.check_recalls(&sight, &lines);
        eprintln!(
            "{label}: {} requests, {refused} refused, {} compactions, slowest {:.1} ms",
            record.exchanges.len(),
            compactions.len(),
            compactions.iter().filter_map(|c| c["ms"].as_f64()).fold(0.0, f64::max)
        );
        (sight, lines)
    }

    /// `codelet check` finds nothing in what was sent either: in the requests behind an edit, and in every sixth of the others.
    fn check_requests(&self, record: &Record) {
        let form = match self.wire {
            Wire::Anthropic => Format::Anthropic,
            Wire::Chat => Format::Openai,
            Wire::Responses => Format::Responses,
            Wire::Gemini => Format::Gemini,
        };
        let mut checked = 0;
        for (number, exchange) in record.exchanges.iter().enumerate() {
            let is_edited = matches!(exchange.growth, Growth::Breaks(_));
            let body = &exchange.request.body;
            if (is_edited || number % 6 == 0) && !body.is_empty() {
                assert_eq!(
                    check(body, Some(form)),
                    Ok(Vec::new()),
                    "{}: request {number}",
                    self.label()
                );
                checked += 1;
            }
        }
        assert!(checked >= self.steps / 6, "{}: {checked}", self.label());
    }

    /// What `Recall` gave back is what a result had said, and was in sight no more.
    fn check_recalls(&self, sight: &Sight, lines: &[Value]) {
        let label = self.label();
        let tools = &lines.last().unwrap()["tools"];
        assert_eq!(sight.recalled.iter().flatten().count(), 3, "{label}");
        let calls = sight.recalled.len();
        assert_eq!(
            tools["Recall"],
            json!({"calls": calls, "failed": 0}),
            "{label}: {tools}"
        );
        let finished: Vec<&Value> = lines.iter().filter(|line| line["type"] == "tool_finished").collect();
        let recalls = finished.iter().enumerate().filter(|(_, line)| line["tool"] == "Recall");
        for ((at, line), asked) in recalls.zip(&sight.recalled) {
            let Some((handle, in_sight)) = asked else { continue };
            let given = line["output"].as_str().unwrap();
            // A long one is given in pieces, and says so at its end.
            let given = given.rsplit_once("\n[bytes ").map_or(given, |(piece, _)| piece);
            assert!(given.len() > 10_000, "{label}: {handle} gave {given}");
            let printed = finished[..at].iter().filter_map(|line| line["output"].as_str());
            let sent = sight.newest.iter().map(|(_, text)| text.as_str());
            let is_whole = |said: &str| said.starts_with(given) && (said.len() == given.len() || given.len() >= 19_900);
            assert!(printed.chain(sent).any(is_whole), "{label}: {handle} gave {given}");
            let middle = given.lines().nth(given.lines().count() / 2).unwrap();
            assert!(!in_sight.contains(middle), "{label}: {handle} was in sight");
        }
    }
}

impl Long {
    /// The tasks that a window has to bear: four windows for a long one, and the other wires for a shorter one.
    fn tasks() -> Vec<Long> {
        let windows = [
            (200_000, 200_000, true),
            (32_000, 32_000, true),
            (32_000, 200_000, true),
            (60_000, 200_000, false),
        ];
        let long = |wire: Wire, steps: usize, (real, configured, told): (u64, u64, bool)| Long {
            wire,
            real,
            configured,
            told,
            steps,
            density: 1.0,
            summary: None,
        };
        let on_anthropic = windows.map(|window| long(Wire::Anthropic, 300, window));
        let others = WIRES[1..].iter().map(|(wire, ..)| long(*wire, 60, windows[1]));
        // Text of three and a half tokens to four bytes is Korean, of four digits.
        let dense = [(Wire::Anthropic, 131_072, 4.0), (Wire::Chat, 200_000, 3.5)];
        let dense = dense.map(|(wire, window, density)| Long {
            density,
            ..long(wire, 60, (window, window, true))
        });
        on_anthropic.into_iter().chain(others).chain(dense).collect()
    }

    /// All of them, run at once and once for all tests: what was seen, and the lines of each run.
    fn all() -> &'static [(Long, Sight, Vec<Value>)] {
        static ALL: OnceLock<Vec<(Long, Sight, Vec<Value>)>> = OnceLock::new();
        let run = |task: Long| {
            let (sight, lines) = task.run();
            (task, sight, lines)
        };
        ALL.get_or_init(|| {
            std::thread::scope(|scope| {
                let running: Vec<_> = Long::tasks()
                    .into_iter()
                    .map(|task| scope.spawn(move || run(task)))
                    .collect();
                running.into_iter().map(|thread| thread.join().unwrap()).collect()
            })
        })
    }

    /// What `check` has to say against each of them.
    fn against_all(check: impl Fn(&Long, &Sight, &[Value]) -> Vec<String>) -> Vec<String> {
        let said = |(task, sight, lines): &(Long, Sight, Vec<Value>)| {
            let label = task.label();
            let said = check(task, sight, lines).into_iter();
            said.map(|said| format!("{label}: {said}")).collect::<Vec<String>>()
        };
        Long::all().iter().flat_map(said).collect()
    }

    /// The newest results that are not whole in the first request that holds them, whatever the window: of a long one, its
    /// beginning and its end, as it is bounded where it enters.
    fn not_whole(&self, sight: &Sight, lines: &[Value]) -> Vec<String> {
        let printed = lines.iter().filter(|line| line["type"] == "tool_finished");
        let printed = printed.map(|line| line["output"].as_str().unwrap());
        let mut said = Vec::new();
        let mut before = 0;
        for ((number, shown), whole) in sight.newest.iter().zip(printed) {
            // Where a request was refused in between, the first that held it is not this one.
            let is_first = std::mem::replace(&mut before, *number) + 1 == *number;
            // An eighth of the window, four bytes a token, at most; what is cut in the middle stops at a line's end.
            let bound = 51_200.min(self.real as usize * 4 / 8);
            let same = |one: &str, other: &str| {
                one.bytes()
                    .zip(other.bytes())
                    .take_while(|(one, other)| one == other)
                    .count()
            };
            let reversed = |text: &str| text.chars().rev().collect::<String>();
            let kept = same(shown, whole) + same(&reversed(shown), &reversed(whole));
            let is_whole = shown == whole || (whole.len() > bound && kept + 1_000 >= bound);
            if is_first && !is_whole {
                said.push(format!(
                    "request {number}: {} of {} bytes are shown",
                    shown.len(),
                    whole.len()
                ));
            }
        }
        said
    }
}

#[test]
fn three_hundred_steps_never_meet_the_limit_that_the_server_enforces() {
    // What each run is checked for as it runs.
    assert_eq!(Long::all().len(), Long::tasks().len());
}

#[test]
fn in_each_of_three_hundred_requests_the_system_prompt_and_the_reminders_stand_as_they_were() {
    let lost = Long::against_all(|_, sight, _| sight.lost.clone());
    assert!(
        lost.is_empty(),
        "{} are lost, such as: {:#?}",
        lost.len(),
        &lost[..lost.len().min(8)]
    );
}

#[test]
fn each_result_is_whole_in_the_first_request_that_holds_it() {
    let cut = Long::against_all(Long::not_whole);
    assert!(
        cut.is_empty(),
        "{} are not, such as: {:#?}",
        cut.len(),
        &cut[..cut.len().min(8)]
    );
}

/// A summary model that fails in one way, on the long task, in a window that is smaller than it is said to be. `tries` is how
/// often a summary is asked for at a compaction.
fn goes_on_without_the_summary(failing: fn() -> Reply, told: &str, tries: usize) {
    let task = Long {
        wire: Wire::Anthropic,
        real: 32_000,
        configured: 200_000,
        told: true,
        steps: 100,
        density: 1.0,
        summary: Some(failing),
    };
    let (sight, lines) = task.run();
    // At two compactions, and then no more.
    assert_eq!(sight.summaries, 2 * tries);
    assert_eq!(sight.lost, Vec::<String>::new());
    let said = |line: &&Value| line.to_string().contains("from now on a template is used");
    assert_eq!(
        lines
            .iter()
            .filter(|line| line["type"] == "notice")
            .filter(said)
            .count(),
        1
    );
    let warned = lines.iter().filter(|line| line["type"] == "compacted");
    let warned = warned.filter(|line| line.to_string().contains(told)).count();
    // The first is made because of a refusal, and the request for its summary would be refused as well.
    let refused = usize::from(told.contains("did not fit"));
    assert_eq!(warned, 2 + refused, "{told:?}");
}

#[test]
fn a_summary_model_that_answers_500_costs_six_tries_and_nothing_else() {
    goes_on_without_the_summary(|| Reply::status(500), "the provider gave no summary", 3);
}

#[test]
fn a_summary_request_that_is_too_long_is_not_made_again() {
    let refused = || Reply::new().failing(Fault::Error(0, Trouble::TooLong));
    goes_on_without_the_summary(refused, "did not fit into the window", 1);
}

#[test]
fn an_empty_summary_is_none() {
    goes_on_without_the_summary(Reply::new, "the model's summary was empty", 3);
}

#[test]
fn a_summary_that_is_cut_is_none() {
    let cut = || Reply::text("1. Main goal: to read").stopping(Stop::Length);
    goes_on_without_the_summary(cut, "the model's summary was cut", 3);
}

#[test]
fn a_summary_whose_stream_breaks_off_is_none() {
    let cut = || Reply::text("1. Main goal: to read it all").failing(Fault::Cut(3));
    goes_on_without_the_summary(cut, "the provider gave no summary", 3);
}

#[test]
fn a_model_that_thinks_writes_a_summary() {
    // By its settings, or by what it has shown so far: nobody lists the last one.
    let models = [
        (Wire::Anthropic, "anthropic/claude-opus-5-5"),
        (Wire::Responses, "openai/gpt-5.4"),
        (Wire::Chat, "openai-chat/one-that-nobody-knows"),
    ];
    for (wire, model) in models {
        let bench = Bench::new();
        for number in 0..40 {
            bench.file(&format!("part_{number:03}.txt"), &varied(number));
        }
        let mut step = 0;
        let answer = move |request: &Request| {
            if is_for_a_summary(request) {
                let thinks = Reply::new().thinks("What has been read so far?");
                return match request.view().max_output {
                    Some(..=1_500) | None => thinks.stopping(Stop::Length),
                    Some(_) => thinks.says("1. Main goal: to read of the seventeen harbours."),
                };
            }
            step += 1;
            match step {
                40.. => Reply::text("All read."),
                _ => Reply::new()
                    .thinks("The next one.")
                    .calls("Read", json!({"file_path": format!("part_{:03}.txt", step - 1)})),
            }
        };
        let window = Window::of(60_000).with_output();
        let server = Server::start(wire, Behaviour::answering(answer).window(window));
        let base = server.base();
        let args = [
            "--model", model, "--base-url", &base, "-p", "Read it.", "--window", "60000",
        ];
        let mut command = bench.command(&[&args[..], &["--summary", "model", "--output", "json"]].concat());
        command.env("ANTHROPIC_API_KEY", KEY).env("OPENAI_API_KEY", KEY);
        let output = command.output().unwrap();
        ended(&output, 0);
        let result: Value = serde_json::from_str(stdout(&output)).unwrap();
        let compactions = result["compactions"].as_array().unwrap();
        assert!(!compactions.is_empty(), "{model}");
        for compaction in compactions {
            assert_eq!(compaction["warnings"], json!([]), "{model}");
        }
        let record = server.record();
        assert_eq!(record.faults(), "", "{model}");
        assert!(
            record.exchanges.iter().all(|exchange| exchange.status == Some(200)),
            "{model}"
        );
        let last = &record.exchanges.last().unwrap().request;
        let texts = last.user_texts().join("\n");
        assert!(texts.contains("seventeen harbours"), "{model}: {texts}");
    }
}
