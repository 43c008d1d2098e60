#![allow(clippy::unwrap_used)]

use super::*;
use crate::message::{Part, Role};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) struct Talk(Vec<Arc<Message>>);

impl Talk {
    pub(super) fn new() -> Self {
        Talk(Vec::new())
    }

    pub(super) fn call(mut self, action: Action, parameters: Value, success: Option<bool>, output: &str) -> Self {
        let id = format!("c{}", self.0.len());
        let call = ToolCall::new(id.as_str(), "t", parameters.as_object().unwrap().clone()).doing(action);
        self.0
            .push(Arc::new(Message::new(Role::Assistant, vec![Part::ToolCall(call)])));
        self.0.push(Arc::new(Message::results(vec![ToolResult::new(
            id.as_str(),
            success,
            output,
        )])));
        self
    }

    pub(super) fn on(self, kind: ActionKind, path: &str, success: Option<bool>) -> Self {
        self.call(Action::on(kind, [path]), json!({}), success, "x")
    }

    pub(super) fn run(self, line: &str, success: bool, output: &str) -> Self {
        self.call(Action::command(line), json!({}), Some(success), output)
    }

    pub(super) fn user(mut self, words: &str) -> Self {
        self.0.push(Arc::new(Message::user(words)));
        self
    }

    pub(super) fn say(mut self, words: &str) -> Self {
        self.0.push(Arc::new(Message::assistant(words)));
        self
    }

    pub(super) fn facts(&self) -> Facts {
        Facts::gather(&self.0)
    }
}

pub(super) fn files(talk: &Talk) -> String {
    let shown = talk
        .facts()
        .files
        .into_iter()
        .map(|file| format!("{}:{:?}", file.path, file.state));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_last_check_of_each_kind_is_known_with_its_command() {
    let talk = Talk::new()
        .run("cargo test", false, "1 failed")
        .run("cargo build", true, "")
        .run("cargo test -p core", true, "");
    let facts = talk.facts();
    let tests = facts.tests.unwrap();
    assert_eq!(
        (tests.command.as_str(), tests.verdict),
        ("cargo test -p core", Verdict::Passed)
    );
    assert_eq!(facts.build.unwrap().verdict, Verdict::Passed);
    assert_eq!(facts.lint, None);
}

#[test]
fn a_command_that_the_user_refused_has_not_failed() {
    for words in [
        "The user doesn't want to proceed with this tool use.",
        "[Request interrupted by user]",
        "Compiling a\nCompiling b\n\nCommand aborted",
    ] {
        let facts = Talk::new().run("cargo test", false, words).facts();
        assert_eq!((facts.tests, facts.errors), (None, Vec::new()), "{words}");
    }
    let facts = Talk::new().run("cargo test", false, "1 failed: the user denied");
    assert_eq!(facts.facts().errors.len(), 1);
}

#[test]
fn a_check_is_stale_once_files_are_changed() {
    let talk = Talk::new()
        .run("cargo test", true, "")
        .on(ActionKind::Read, "a", Some(true));
    let is_stale = |talk: &Talk| talk.facts().tests.unwrap().is_stale;
    assert!(!is_stale(&talk));
    let talk = talk.on(ActionKind::Change, "a", Some(false));
    assert!(!is_stale(&talk), "the change could not be made");
    let talk = talk.on(ActionKind::Change, "a", Some(true));
    assert!(is_stale(&talk));
    assert!(!is_stale(&talk.run("cargo test", true, "")));
}

#[test]
fn an_error_is_open_until_the_same_check_succeeds_on_no_less() {
    let open = |runs: &[(&str, bool)]| {
        let talk = runs
            .iter()
            .fold(Talk::new(), |talk, (line, success)| talk.run(line, *success, "boom"));
        talk.facts()
            .errors
            .into_iter()
            .map(|error| error.command)
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(open(&[("cargo test", false)]), ["cargo test"]);
    assert_eq!(open(&[("cargo test", false), ("cargo test -q", true)]), none);
    assert_eq!(
        open(&[("cargo test", false), ("cargo test parser", true)]),
        ["cargo test"]
    );
    assert_eq!(open(&[("cargo test parser", false), ("cargo test", true)]), none);
    for (failed, narrower) in [
        ("pytest tests/a.py tests/b.py", "pytest tests/a.py"),
        ("pytest", "pytest -k test_almond"),
        ("go test ./a ./b", "go test ./a"),
    ] {
        assert_eq!(open(&[(failed, false), (narrower, true)]), [failed]);
        assert_eq!(open(&[(narrower, false), (failed, true)]), none);
        // What the narrower run shows is told as that.
        let facts = Talk::new().run(failed, false, "boom").run(narrower, true, "ok").facts();
        assert_eq!(facts.tests.unwrap().command, narrower);
    }
    assert_eq!(open(&[("cargo test", false), ("cargo build", true)]), ["cargo test"]);
    assert_eq!(open(&[("./deploy a", false), ("ls", true)]), ["./deploy a"]);
    assert_eq!(open(&[("./deploy a", false), ("./deploy b", true)]), none);
    assert_eq!(open(&[("grep x y", false)]), none);
    assert_eq!(open(&[("cargo test", false), ("cargo test", false)]), ["cargo test"]);
}

#[test]
fn an_error_whose_command_ran_again_and_came_to_nothing_known_is_from_before() {
    let rerun = |runs: &[(&str, Option<bool>, &str)]| {
        let talk = runs.iter().fold(Talk::new(), |talk, (line, success, output)| {
            talk.call(Action::command(line), json!({}), *success, output)
        });
        let errors = talk.facts().errors.into_iter();
        errors.map(|error| error.is_rerun).collect::<Vec<_>>()
    };
    let failed = ("cargo test", None, "test result: FAILED. 1 passed; 1 failed");
    assert_eq!(rerun(&[failed]), [false]);
    assert_eq!(rerun(&[failed, ("cargo test", None, "Compiling a")]), [true]);
    assert_eq!(rerun(&[failed, ("cargo test parser", None, "Compiling a")]), [false]);
    assert_eq!(rerun(&[failed, ("cargo test", None, "Compiling a"), failed]), [false]);
    let deploy = ("./deploy", Some(false), "no such host");
    assert_eq!(rerun(&[deploy, ("./deploy", None, "…")]), [true]);
    assert_eq!(rerun(&[deploy, ("ls", None, "a")]), [false]);
}

#[test]
fn a_script_that_was_written_here_is_a_test_only_if_it_tests_something() {
    let script = |text: &str, output: &str, success| {
        let line = format!("cat <<'EOF' > test_invalid.py\nimport re\n{text}\nEOF\npython test_invalid.py");
        Talk::new().run(&line, success, output).facts()
    };
    assert_eq!(script("print(re.match('a','b'))", "None", true).tests, None);
    assert_eq!(script("print(re.match('a','b'))", "Traceback: x", false).tests, None);
    let tested = script("assert re.match('a','b')", "", true).tests.unwrap();
    assert_eq!(
        (tested.command.as_str(), tested.verdict),
        ("python test_invalid.py", Verdict::Passed)
    );
    let closed = script("run_all()", "Ran 3 tests in 0.1s\n\nOK (3 passed)", true).tests;
    assert_eq!(closed.unwrap().verdict, Verdict::Passed);
    let failed = script("run_all()", "test a failed\n2 passed, 1 failed", false);
    assert_eq!(failed.tests.unwrap().verdict, Verdict::Failed);
    // Written in a step of its own, and then run.
    let talk = Talk::new().call(
        Action::on(ActionKind::Change, ["/w/test_a.py"]),
        json!({"content": "print(1)"}),
        Some(true),
        "ok",
    );
    assert_eq!(talk.run("python test_a.py", true, "1").facts().tests, None);
    assert!(Talk::new().run("python test_a.py", true, "1").facts().tests.is_some());
}

#[test]
fn broken_checks_outlive_commands_that_were_given_up() {
    let talk = (0..30).fold(Talk::new().run("cargo test", false, "1 failed"), |talk, number| {
        talk.run(&format!("./try{number}"), false, "no")
    });
    let errors = talk.facts().errors;
    assert_eq!(errors.len(), super::errors::ERRORS);
    assert_eq!(errors[0].command, "cargo test");
    assert_eq!(errors[super::errors::ERRORS - 1].command, "./try29");
}

#[test]
fn an_error_is_open_until_the_same_is_done_not_something_else_with_the_same_program() {
    let open = |failed: &str, done: &str| {
        let talk = Talk::new().run(failed, false, "no").run(done, true, "done");
        !talk.facts().errors.is_empty()
    };
    assert!(open("npm publish", "npm install"));
    assert!(open("npm run publish", "npm run build-docs"));
    assert!(open("sudo docker push app", "docker ps"));
    for (failed, done) in [
        ("npm publish", "npm publish --dry-run"),
        ("git push origin topic-1", "git push --dry-run origin topic-1"),
        ("python migrate.py", "python -V"),
        ("php artisan migrate", "php -v"),
        ("kubectl apply -f deploy/a.yaml", "kubectl apply -f deploy/b.yaml"),
        ("aws s3 cp out.tar s3://b/out.tar", "aws s3 ls"),
    ] {
        assert!(open(failed, done), "{failed}; {done}");
    }
    assert!(!open(
        "kubectl apply -f deploy/a.yaml",
        "kubectl apply -f deploy/a.yaml --wait"
    ));
    assert!(!open("npm publish", "npm --quiet publish"));
    assert!(!open("docker push app", "cd app && sudo docker push"));
    assert!(!open("sleep 60", "sleep 5"));
    assert!(!open("curl https://a", "curl -s https://b"));
}

#[test]
fn the_todo_list_is_that_of_the_last_call_that_wrote_it() {
    let todo = || Action::on(ActionKind::Todo, []);
    let talk = Talk::new()
        .call(
            todo(),
            json!({"todos": [{"content": "a", "status": "pending"}]}),
            Some(true),
            "ok",
        )
        .call(
            todo(),
            json!({"todos": [{"content": "b", "status": "pending"}]}),
            Some(false),
            "refused",
        );
    let facts = talk.facts();
    assert_eq!(
        facts.todo.items().map(|item| item.text.as_str()).collect::<Vec<_>>(),
        ["a"]
    );
}

proptest! {
    #[test]
    fn gathering_message_by_message_equals_gathering_at_once(steps in proptest::collection::vec((0usize..6, any::<Option<bool>>()), 0..40)) {
        let lines = ["cargo test", "make", "cargo test a", "ls", "./x", "pytest | tail"];
        let talk = steps.iter().fold(Talk::new(), |talk, (line, success)| {
            talk.call(Action::command(lines[*line]), json!({}), *success, "2 failed tests passed\nerror: é")
        });
        let mut gatherer = Gatherer::new();
        for (number, message) in talk.0.iter().enumerate() {
            gatherer.append(message);
            prop_assert_eq!(gatherer.facts(), Facts::gather(&talk.0[..=number]));
        }
        prop_assert!(gatherer.facts().errors.len() <= errors::ERRORS);
    }
}
