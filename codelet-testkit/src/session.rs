//! Long, plausible sessions, the same on every machine, for benchmarks and limits.

use crate::prng::Prng;
use crate::project::Project;
use crate::scribe::Scribe;
use codelet_context::message::Message;

/// The parameters of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spec {
    /// The number of the assistant's steps; each is two messages.
    pub steps: usize,
    /// Average bytes of a file read; other results are smaller.
    pub result_bytes: usize,
    /// The number of user prompts, spread evenly; at least one.
    pub prompts: usize,
    /// The seed.
    pub seed: u64,
}

const PROMPTS: [&str; 8] = [
    "The totals are wrong when a packet is listed twice. Find out why and mend it, with a test.",
    "Please go through the module and simplify what can be simplified. Keep the public names.",
    "A user reports that empty files crash the import. Reproduce it first.",
    "Add the missing documentation, and note every place that could panic.",
    "Make it faster; the list takes seconds with ten thousand items.",
    "Rename what is unclear. Never touch the file format.",
    "Write the tests that are missing for the edges: nothing, one, very many.",
    "Go on with the next open point of your list.",
];
const SAYINGS: [&str; 8] = [
    "I look at the callers first.",
    "This is where the number comes from.",
    "The test shows it: the last row is counted twice.",
    "Now the other place that uses it.",
    "That was not it; the value is already wrong before.",
    "Small change, then the tests.",
    "I check that nothing else depends on the order.",
    "Good. On to the next.",
];

/// A session of this length: reading, searching, editing and testing an invented project.
pub fn session(spec: Spec) -> Vec<Message> {
    let mut prng = Prng::new(spec.seed);
    let modules = (spec.steps / 8).clamp(6, 200);
    let mut scribe = Scribe::new(Project::generate(modules, spec.result_bytes, &mut prng));
    scribe.system("You are a coding agent in a terminal. Work in small steps and run the tests after each change.");
    let prompts = spec.prompts.clamp(1, spec.steps.max(1));
    let mut at = 0;
    for prompt in 0..prompts {
        let end = spec.steps * (prompt + 1) / prompts;
        scribe.prompt(None, &format!("{} ({})", PROMPTS[prompt % PROMPTS.len()], prompt + 1));
        let mut work = Work::default();
        while at < end {
            work.step(&mut scribe, &mut prng, at, spec.result_bytes);
            at += 1;
        }
        // The last turn is unfinished.
        if prompt + 1 < prompts {
            scribe.answer("Done: the tests pass, and the change is small.");
        }
    }
    scribe.messages
}

/// The state of the assistant's work, which stays with one file for a while.
#[derive(Default)]
struct Work {
    path: String,
    changed: bool,
    failing: Option<String>,
}

impl Work {
    fn step(&mut self, scribe: &mut Scribe, prng: &mut Prng, number: usize, bytes: usize) {
        if self.path.is_empty() || prng.chance(12) {
            let paths = scribe.project.paths();
            self.path = paths[prng.below(paths.len())].to_owned();
        }
        if prng.chance(35) {
            scribe.say(prng.pick(&SAYINGS));
        }
        match prng.below(100) {
            _ if self.changed => self.test(scribe, prng, number),
            _ if self.failing.is_some() => self.change(scribe, prng, number),
            0..40 => self.read(scribe, prng, bytes),
            40..52 => {
                let word = self.path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
                scribe.grep(&format!("{word}("));
            }
            52..72 => self.change(scribe, prng, number),
            72..80 => scribe.run("git status --short", true, format!(" M {}\n", self.path)),
            80..84 => scribe.run("cargo build 2>&1 | tail -40", true, progress(prng, bytes / 2)),
            84..88 => scribe.todo(&[('x', "read it"), ('>', "mend it"), (' ', "write the test")]),
            88..94 => scribe.together(|scribe| {
                let paths: Vec<String> = scribe.project.paths().into_iter().map(str::to_owned).collect();
                for _ in 0..2 + prng.below(3) {
                    let path = &paths[prng.below(paths.len())];
                    scribe.read_lines(path, 1, 30);
                }
            }),
            _ => self.test(scribe, prng, number),
        }
    }

    fn read(&self, scribe: &mut Scribe, prng: &mut Prng, bytes: usize) {
        let lines = scribe.project.line_count(&self.path);
        match prng.chance(60) {
            true => scribe.read(&self.path),
            false => {
                let from = 1 + prng.below(lines);
                scribe.read_lines(&self.path, from, from + bytes / 40);
            }
        }
    }

    fn change(&mut self, scribe: &mut Scribe, prng: &mut Prng, number: usize) {
        let text = scribe.project.text(&self.path);
        let lines: Vec<&str> = text.lines().filter(|line| line.len() > 24).collect();
        let old = lines
            .get(prng.below(lines.len()))
            .copied()
            .unwrap_or_default()
            .to_owned();
        let indent = &old[..old.len() - old.trim_start().len()];
        scribe.edit(
            &self.path,
            &old,
            &format!("{indent}// Change {number}: see the test.\n{old}"),
        );
        self.changed = true;
    }

    fn test(&mut self, scribe: &mut Scribe, prng: &mut Prng, number: usize) {
        let module = self.path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        let tests = scribe.project.tests();
        let name = tests.iter().find(|name| name.starts_with(&format!("{module}::")));
        self.failing = name
            .filter(|_| self.changed && self.failing.is_none() && prng.chance(40))
            .cloned();
        self.changed = false;
        match &self.failing {
            Some(name) => {
                let why = format!(
                    "thread '{name}' panicked at {}:{}:9:\nassertion `left == right` failed\n  left: {number}\n right: 0",
                    self.path,
                    20 + number % 200
                );
                scribe.test(
                    &format!("cargo test {module}"),
                    &format!("{module}::"),
                    &[(name.as_str(), &why)],
                );
            }
            None => scribe.test(&format!("cargo test {module}"), &format!("{module}::"), &[]),
        }
    }
}

/// The output of a build whose progress overwrites itself.
fn progress(prng: &mut Prng, bytes: usize) -> String {
    let mut text = String::new();
    let mut done = 0;
    while text.len() < bytes {
        done += 1;
        let bar = "=".repeat(done % 30);
        text.push_str(&format!(
            "\r\u{1b}[36m  Building\u{1b}[0m [{bar}>] {done}/240: crate-{}",
            prng.below(90)
        ));
    }
    text.push_str("\r    Finished `dev` profile [unoptimized + debuginfo] target(s) in 9.31s\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use codelet_context::tokens::estimate_message;

    const SPEC: Spec = Spec {
        steps: 200,
        result_bytes: 4_000,
        prompts: 3,
        seed: 1,
    };

    #[test]
    fn a_session_is_as_long_as_asked_and_the_same_each_time() {
        let messages = session(SPEC);
        assert_eq!(messages, session(SPEC));
        let prompts = messages.iter().filter(|m| m.is_prompt()).count();
        assert_eq!(prompts, 3);
        // A system prompt, prompts, two answers at the end of turns, two messages per step.
        assert_eq!(messages.len(), 1 + 3 + 2 + 400);
        let tokens: u64 = messages.iter().map(estimate_message).sum();
        assert!((50_000..400_000).contains(&tokens), "{tokens}");
    }

    #[test]
    fn every_call_is_answered_directly_after() {
        for pair in session(SPEC).windows(2) {
            let calls: Vec<_> = pair[0].calls().map(|call| call.id.clone()).collect();
            let answers: Vec<_> = pair[1].tool_results().map(|result| result.call_id.clone()).collect();
            assert_eq!(calls, answers);
        }
    }

    #[test]
    fn tests_fail_and_pass_again_after_a_change() {
        let messages = session(SPEC);
        let statuses: Vec<_> = messages
            .iter()
            .flat_map(|m| m.tool_results())
            .map(|r| r.success)
            .collect();
        assert!(statuses.contains(&Some(false)));
        assert!(statuses.contains(&Some(true)));
    }
}
