#![allow(clippy::unwrap_used)]

use super::*;
use crate::message::{Part, Role};
use crate::refusal::Refusal;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(super) struct Talk(Vec<Arc<Message>>);

impl Talk {
    pub(super) fn new() -> Self {
        Talk(Vec::new())
    }

    pub(super) fn call(self, action: Action, parameters: Value, success: Option<bool>, output: &str) -> Self {
        self.by("t", action, parameters, success, output)
    }

    pub(super) fn by(
        mut self,
        tool: &str,
        action: Action,
        parameters: Value,
        success: Option<bool>,
        output: &str,
    ) -> Self {
        let id = format!("c{}", self.0.len());
        let call = ToolCall::new(id.as_str(), tool, parameters.as_object().unwrap().clone()).doing(action);
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
    let mut result = ToolResult::new("1", Some(false), "no");
    result.refusal = Some(Refusal::Rule);
    let call = ToolCall::new("1", "run", Default::default()).doing(Action::command("cargo test"));
    let refused = [
        Message::new(Role::Assistant, vec![Part::ToolCall(call)]),
        Message::results(vec![result]),
    ];
    let facts = Facts::gather(&refused.map(Arc::new));
    assert_eq!((facts.tests, facts.errors), (None, Vec::new()));
    for words in [
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

/// Whether the tests that passed before these lines, each with what it says and whether it went well, are told as stale.
fn is_stale_after(lines: &[(&str, &str, bool)]) -> bool {
    let talk = Talk::new()
        .on(ActionKind::Read, "src/seen.py", Some(true))
        .run("pytest", true, "4 passed");
    let talk = lines
        .iter()
        .fold(talk, |talk, (line, says, success)| talk.run(line, *success, says));
    let tests = talk.facts().tests.unwrap();
    assert_eq!(tests.verdict, Verdict::Passed, "{lines:?}");
    tests.is_stale
}

#[test]
fn a_check_is_stale_once_git_has_changed_files_or_nobody_knows_that_it_has_not() {
    for (line, says, success) in [
        ("git pull", "Updating 1a2b..3c4d\nFast-forward\n a.py | 2 +-", true),
        ("git pull --rebase -q && git push -q", "", true),
        (
            "git merge main",
            "Merge made by the 'ort' strategy.\n a.py | 2 +-",
            true,
        ),
        (
            "git merge main",
            "Auto-merging a.py\nCONFLICT (content): Merge conflict in a.py",
            false,
        ),
        (
            "git rebase main",
            "Successfully rebased and updated refs/heads/fix.",
            true,
        ),
        ("git cherry-pick 1a2b3c4", "[fix 1a2b] Other\n 1 file changed", true),
        ("git revert --no-edit HEAD", "[fix 1a2b] Revert", true),
        ("git am < fix.patch", "Applying: Fix", true),
        ("git apply fix.patch", "", true),
        ("git reset --hard origin/main", "HEAD is now at 1a2b3c4 Other", true),
        (
            "git fetch && git merge --ff-only FETCH_HEAD || true",
            "Updating 1a2b..3c4d",
            true,
        ),
        ("gh pr checkout 12", "Switched to branch 'other'", true),
        ("git switch other", "Switched to branch 'other'", true),
        ("git checkout main", "Switched to branch 'main'", true),
        ("git checkout main && git pull -q", "", true),
        ("bash -c 'git pull -q'", "", true),
        (
            "pytest && git pull",
            "4 passed\nUpdating 1a2b..3c4d\nFast-forward",
            true,
        ),
    ] {
        assert!(is_stale_after(&[(line, says, success)]), "{line}: {says}");
    }
    for (line, says, success) in [
        ("git pull", "Already up to date.", true),
        ("git pull --rebase", "Current branch main is up to date.", true),
        (
            "git merge main",
            "fatal: Not possible to fast-forward, aborting.",
            false,
        ),
        (
            "git pull; true",
            "error: Your local changes would be overwritten:\nPlease commit them.\nAborting",
            true,
        ),
        ("git pull || true", "fatal: no upstream", true),
        (
            "git pull --rebase",
            "error: cannot pull with rebase: You have unstaged changes.",
            true,
        ),
        ("git apply --check fix.patch", "", true),
        ("git apply fix.patch", "error: patch does not apply", false),
        ("git rebase -i HEAD~2", "Successfully rebased", true),
        ("git merge-base main HEAD", "1a2b", true),
        ("git fetch", "", true),
        ("git log --merges", "Merge made by me", true),
        ("git commit -am done", "[fix 1a2b] done", true),
        ("git checkout -b next", "Switched to a new branch 'next'", true),
        ("git checkout main && pytest -q; git checkout -", "1 failed", true),
        ("ssh host git pull", "Updating 1a2b..3c4d\nFast-forward", true),
        (
            "git pull && pytest",
            "Updating 1a2b..3c4d\nFast-forward\n4 passed",
            true,
        ),
    ] {
        assert!(!is_stale_after(&[(line, says, success)]), "{line}: {says}");
    }
    let there = ("git checkout main", "Switched to branch 'main'", true);
    let look = ("git log -3", "1a2b", true);
    let back = ("git checkout -", "Switched to branch 'fix'", true);
    assert!(is_stale_after(&[there, look]));
    assert!(!is_stale_after(&[there, look, back]));
}

#[test]
fn what_a_line_has_done_before_it_failed_is_told_with_its_failure() {
    let red = "Exit code 1\nFAIL ui/a.spec.tsx\nTests: 1 failed, 3 passed, 4 total";
    let talk = |line: &str, says: &str| {
        let made = Action::on(ActionKind::Change, ["/w/ui/a.ts"]);
        let talk = Talk::new().call(made, json!({"content": "x"}), Some(true), "ok");
        talk.run(line, false, says)
    };
    for (line, expected) in [
        (
            "mv ui/a.ts ui/b.ts && npm test",
            "/w/ui/a.ts:Deleted /w/ui/b.ts:Created",
        ),
        ("mv ui/a.ts ui/b.ts\nnpm test", "/w/ui/a.ts:Deleted /w/ui/b.ts:Created"),
        ("rm ui/a.ts; npm test", "/w/ui/a.ts:Deleted"),
        (
            "sed -i s/x/y/ src/x.py && npm test",
            "/w/ui/a.ts:Created src/x.py:Edited",
        ),
        (
            "cat > run.py <<'E'\nx\nE\nnpm test",
            "/w/ui/a.ts:Created run.py:Created",
        ),
    ] {
        let talk = talk(line, red);
        let facts = talk.facts();
        let tests = facts.tests.unwrap();
        assert_eq!((tests.verdict, tests.is_stale), (Verdict::Failed, false), "{line}");
        assert_eq!((facts.errors.len(), &*files(&talk)), (1, expected), "{line}");
    }
    let failed = talk(
        "mv ui/a.ts ui/b.ts && npm test",
        "mv: cannot stat 'ui/a.ts': No such file",
    );
    assert_eq!(files(&failed), "/w/ui/a.ts:Created");
}

/// What is known of `src/a.py`, which was looked at, and `src/legacy/b.py`, which was read, after tests have passed and these
/// lines ran; with a `!` where the tests are told as stale.
fn left_by(lines: &[(&str, &str, Option<bool>)]) -> String {
    let talk = Talk::new()
        .run("cat src/a.py", true, "foo = 1")
        .on(ActionKind::Read, "src/legacy/b.py", Some(true))
        .run("pytest -q", true, "9 passed in 0.3s");
    let talk = lines.iter().fold(talk, |talk, (line, says, success)| {
        talk.call(Action::command(line), json!({}), *success, says)
    });
    let mark = if talk.facts().tests.is_some_and(|tests| tests.is_stale) {
        "!"
    } else {
        ""
    };
    let files = files(&talk)
        .replace(":Edited", "+")
        .replace(":Deleted", "-")
        .replace(":Read", "");
    files + mark
}

#[test]
fn files_that_are_changed_without_being_named_are_told_as_far_as_they_are_known() {
    let rename = "s/foo/bar/g";
    for (line, expected) in [
        (format!("sed -i '{rename}' src/*.py"), "src/legacy/b.py src/a.py+!"),
        (format!("sed -i '{rename}' src/{{a,c}}.py"), "src/legacy/b.py src/a.py+!"),
        (format!("perl -pi -e '{rename}' src/*.py"), "src/legacy/b.py src/a.py+!"),
        ("ruby -i -pe 'gsub(/foo/, \"bar\")' src/?.py".into(), "src/legacy/b.py src/a.py+!"),
        ("gawk -i inplace '{ print }' src/*.py".into(), "src/legacy/b.py src/a.py+!"),
        ("sd foo bar src/*.py".into(), "src/legacy/b.py src/a.py+!"),
        ("sd foo bar src/a.py".into(), "src/legacy/b.py src/a.py+!"),
        (format!("grep -rl foo src | xargs sed -i '{rename}'"), "src/a.py+ src/legacy/b.py+!"),
        (
            format!("rg -l foo src/legacy | sort | xargs -r -n 1 sed -i '{rename}'"),
            "src/legacy/b.py+!",
        ),
        (
            format!("grep -rl foo src --include='*.py' | xargs -I{{}} sh -c 'sed -i {rename} {{}}'"),
            "src/a.py+ src/legacy/b.py+!",
        ),
        (format!("sed -i '{rename}' $(grep -rl foo src/legacy)"), "src/legacy/b.py+!"),
        (format!("sed -i '{rename}' `git ls-files 'src/legacy/*.py'`"), "src/legacy/b.py+!"),
        (
            format!("find src -name '*.py' -exec sed -i '{rename}' {{}} +"),
            "src/a.py+ src/legacy/b.py+!",
        ),
        (
            format!("find src/legacy -name '*.py' -print0 | xargs -0 perl -pi -e '{rename}'"),
            "src/legacy/b.py+!",
        ),
        (format!("fd -e py . src -x sed -i '{rename}'"), "src/a.py+ src/legacy/b.py+!"),
        (
            format!("for f in src/*.py; do sed -i '{rename}' \"$f\"; done"),
            "src/legacy/b.py src/a.py+!",
        ),
        (
            format!("for f in src/a.py src/c.py; do sed -i '{rename}' $f; done"),
            "src/legacy/b.py src/a.py+!",
        ),
        (
            format!("grep -rl foo src/legacy | while read -r f; do sed -i '{rename}' \"$f\"; done"),
            "src/legacy/b.py+!",
        ),
        (
            format!("FILES=$(grep -rl foo src/legacy); sed -i '{rename}' $FILES"),
            "src/legacy/b.py+!",
        ),
        (
            "python3 - <<'EOF'\nimport glob\nfor p in glob.glob('src/*.py'):\n    s=open(p).read()\n    open(p,'w').write(s)\nEOF".into(),
            "src/legacy/b.py src/a.py+!",
        ),
        ("cp /bak/a.py src/a.py".into(), "src/legacy/b.py src/a.py+!"),
        ("cp /bak/*.py src/".into(), "src/legacy/b.py src/a.py+!"),
        ("cp -r /bak/src/. src/".into(), "src/a.py+ src/legacy/b.py+!"),
        ("cp -r /bak/legacy src".into(), "src/legacy/b.py+!"),
        ("rsync -a /bak/src/ src/".into(), "src/a.py+ src/legacy/b.py+!"),
        ("rsync -a --delete -e ssh host:/bak/legacy src".into(), "src/legacy/b.py+!"),
        ("rm -rf src/legacy".into(), "src/legacy/b.py-!"),
        ("rm -rf src".into(), "src/legacy/b.py- src/a.py-!"),
        ("rm src/a.py".into(), "src/legacy/b.py src/a.py-!"),
        ("rm -rf src/leg*".into(), "src/legacy/b.py-!"),
        ("find src -name 'b*' -delete".into(), "src/legacy/b.py-!"),
        ("npx jscodeshift -t t.js src/legacy".into(), "src/legacy/b.py+!"),
        ("ast-grep run -p 'foo' -r 'bar' -U src/legacy".into(), "src/legacy/b.py+!"),
        ("rpl -R foo bar src/legacy".into(), "src/legacy/b.py+!"),
        // Which ones, nobody knows.
        (format!("sed -i '{rename}' \"$FILE\""), "src/legacy/b.py!"),
        (format!("git diff --name-only | xargs sed -i '{rename}'"), "src/legacy/b.py!"),
        (format!("grep -rl foo . | xargs sed -i '{rename}'"), "src/legacy/b.py!"),
        (format!("sed -i '{rename}' lib/*.py"), "src/legacy/b.py!"),
        ("comby 'foo' 'bar' .py -i".into(), "src/legacy/b.py!"),
        ("rm -rf src/other".into(), "src/legacy/b.py!"),
        ("git rm -rq other".into(), "src/legacy/b.py!"),
    ] {
        for success in [Some(true), None] {
            assert_eq!(left_by(&[(&line, "", success)]), expected, "{line}");
        }
    }
}

#[test]
fn what_only_shows_or_fails_or_lies_beside_the_work_changes_nothing() {
    for (line, says, success) in [
        ("sed -n '/foo/p' src/*.py", "foo = 1", Some(true)),
        ("sed 's/foo/bar/' src/*.py", "bar = 1", Some(true)),
        (
            "sed -i s/foo/bar/ src/*.py",
            "sed: can't read src/*.py: No such file or directory",
            Some(false),
        ),
        (
            "sed -i s/foo/bar/ src/*.py",
            "sed: can't read src/*.py: No such file or directory",
            None,
        ),
        (
            "grep -rl foo src | xargs sed -i s/foo/bar/",
            "sed: no input files",
            Some(false),
        ),
        ("grep -rl foo src | xargs sed -n 1p", "", Some(true)),
        ("grep -rl foo src | xargs cat", "foo = 1", Some(true)),
        ("find src -name '*.py' -exec grep foo {} +", "", Some(true)),
        ("for f in src/*.py; do echo $f; done", "", Some(true)),
        ("sed -i s/foo/bar/ /tmp/x/*.py", "", Some(true)),
        ("sed -i s/foo/bar/ dist/*.js", "", Some(true)),
        ("find target -name '*.d' -exec sed -i s/a/b/ {} +", "", Some(true)),
        ("find . -name '*.pyc' -delete", "", Some(true)),
        (
            "rm -rf target dist node_modules .pytest_cache /tmp/src/legacy",
            "",
            Some(true),
        ),
        ("rm -f *.log src/*.orig", "", Some(true)),
        ("rm -rf scratch", "", Some(true)),
        ("rsync -an /bak/src/ src/", "", Some(true)),
        ("rsync -a --dry-run /bak/src/ src/", "", Some(true)),
        ("rsync -a src/ host:/srv/src/", "", Some(true)),
        ("rsync -a src/ /tmp/src/", "", Some(true)),
        ("cp src/a.py /tmp/a.py", "", Some(true)),
        ("cp -n /bak/a.py src/a.py", "", Some(true)),
        (
            "cp /bak/a.py src/a.py",
            "cp: cannot stat '/bak/a.py': No such file or directory",
            None,
        ),
        ("sd -p foo bar src/*.py", "", Some(true)),
        ("npx jscodeshift -d -t t.js src", "12 ok", Some(true)),
        (
            "npx jscodeshift -t t.js src",
            "All done.\nResults:\n0 errors\n0 ok",
            Some(true),
        ),
        ("ast-grep run -p foo src", "src/a.py", Some(true)),
        ("ssh host 'sed -i s/foo/bar/ src/*.py'", "", Some(true)),
        ("echo sed -i s/foo/bar/ src/*.py", "", Some(true)),
        ("git stash list", "stash@{0}: WIP on main", Some(true)),
        ("git stash show -p", "modified: src/a.py", Some(true)),
        ("git stash pop", "No stash entries found.", Some(false)),
        ("git checkout -b next", "Switched to a new branch 'next'", Some(true)),
        ("git switch -c next HEAD", "Switched to a new branch 'next'", Some(true)),
        (
            "git checkout -b next origin/main",
            "fatal: a branch named 'next' already exists",
            Some(false),
        ),
        (
            "git worktree add -b next ../next origin/main",
            "Preparing worktree",
            Some(true),
        ),
        ("git branch next origin/main", "", Some(true)),
        ("git rm --cached src/a.py", "rm 'src/a.py'", Some(true)),
        ("git mv -n src/a.py src/c.py", "", Some(true)),
        (
            "python3 -c \"import glob; print(glob.glob('src/*.py'))\"",
            "",
            Some(true),
        ),
    ] {
        assert_eq!(left_by(&[(line, says, success)]), "src/legacy/b.py", "{line}: {says}");
    }
    // The check came behind it.
    for line in ["sed -i s/foo/bar/ lib/*.py && pytest -q", "git stash pop && pytest -q"] {
        assert_eq!(
            left_by(&[(line, "9 passed in 0.3s", Some(true))]),
            "src/legacy/b.py",
            "{line}"
        );
    }
}

#[test]
fn what_git_fetches_from_elsewhere_makes_checks_stale() {
    let popped = "On branch main\nChanges not staged for commit:\n\tmodified:   src/a.py\nDropped refs/stash@{0}";
    for (line, says, expected) in [
        ("git stash pop", popped, "src/legacy/b.py src/a.py+!"),
        ("git stash apply -q", "", "src/legacy/b.py!"),
        (
            "git checkout -b next origin/main",
            "Switched to a new branch 'next'",
            "src/legacy/b.py!",
        ),
        ("git checkout -B next v1.2", "", "src/legacy/b.py!"),
        ("git switch -c next upstream/main", "", "src/legacy/b.py!"),
        ("git checkout --track origin/next", "", "src/legacy/b.py!"),
    ] {
        for success in [Some(true), None] {
            assert_eq!(left_by(&[(line, says, success)]), expected, "{line}");
        }
    }
    let (stash, pop) = (
        ("git stash", "Saved working directory", Some(true)),
        ("git stash pop", popped, Some(true)),
    );
    assert_eq!(left_by(&[stash, pop]), "src/legacy/b.py", "all is as it was");
    assert_eq!(
        left_by(&[stash, ("sed -i s/x/y/ lib/c.py", "", Some(true)), pop]),
        "src/legacy/b.py lib/c.py+ src/a.py+!"
    );
}

#[test]
fn a_check_is_stale_once_a_formatter_or_a_patch_has_written_or_nobody_knows_that_it_has_not() {
    for (line, says, success) in [
        ("cargo fmt", "", true),
        (
            "black .",
            "reformatted src/seen.py\n\nAll done!\n1 file reformatted, 3 files left unchanged.",
            true,
        ),
        ("ruff format", "1 file reformatted, 3 files left unchanged", true),
        ("ruff check --fix .", "Found 3 errors (2 fixed, 1 remaining).", false),
        ("npx eslint --fix src", "", true),
        (
            "npx eslint --fix src",
            "src/a.ts\n  1:1  error  no\n\n1 problem (1 error, 0 warnings)",
            false,
        ),
        ("npm run lint:fix", "> eslint --fix", true),
        (
            "npx prettier --write src",
            "src/a.ts 20ms\nsrc/b.ts 5ms (unchanged)",
            true,
        ),
        (
            "npx biome check --write .",
            "Checked 5 files in 2ms. Fixed 3 files.",
            true,
        ),
        ("gofmt -w .", "", true),
        ("isort .", "Fixing /w/src/seen.py", true),
        (
            "rubocop -a",
            "3 files inspected, 2 offenses detected, 2 offenses corrected",
            true,
        ),
        ("patch -p1 < other.patch", "patching file src/seen.py", true),
        (
            "patch -p1 < other.patch",
            "patching file a.py\npatching file b.py\n1 out of 1 hunk FAILED -- saving rejects to file b.py.rej",
            false,
        ),
        ("unzip -o new.zip", "Archive:  new.zip\n  inflating: src/seen.py", true),
        ("tar xzf new.tgz", "", true),
        ("curl -sSLo src/seen.py https://x/y", "", true),
        ("wget -q -O src/seen.py https://x/y", "", true),
        ("cd src && curl -O https://x/seen.py", "", true),
    ] {
        assert!(is_stale_after(&[(line, says, success)]), "{line}: {says}");
    }
    for (line, says, success) in [
        ("cargo fmt --check", "", true),
        ("black .", "All done!\n4 files left unchanged.", true),
        ("ruff format .", "4 files left unchanged", true),
        ("ruff check --fix .", "All checks passed!", true),
        ("ruff check .", "Found 3 errors.", false),
        ("npx prettier --write src", "src/a.ts 20ms (unchanged)", true),
        (
            "npx prettier --check src",
            "All matched files use Prettier code style!",
            true,
        ),
        (
            "npx biome format --write .",
            "Formatted 5 files in 2ms. No fixes applied.",
            true,
        ),
        ("gofmt -l .", "", true),
        ("eslint --fix-dry-run src", "", true),
        ("cargo fmt", "error: no such command: `fmt`", false),
        ("patch --dry-run -p1 < other.patch", "checking file src/seen.py", true),
        (
            "patch -p1 < other.patch",
            "patching file a.py\nHunk #1 FAILED at 3.\n1 out of 1 hunk FAILED",
            false,
        ),
        ("unzip -l new.zip", "  120  src/seen.py", true),
        ("tar tzf new.tgz", "src/seen.py", true),
        ("cd /tmp && tar xzf new.tgz", "", true),
        ("tar xzf new.tgz -C /opt/tool", "", true),
        ("curl -so /tmp/page.html https://x/y", "", true),
        ("wget https://x/y.tgz", "", true),
        ("echo cargo fmt", "cargo fmt", true),
        ("cargo fmt && pytest", "4 passed", true),
    ] {
        assert!(!is_stale_after(&[(line, says, success)]), "{line}: {says}");
    }
}

#[test]
fn files_that_a_formatter_or_a_patch_names_are_edited_and_those_that_others_changed_are_not() {
    let left = |line: &str, says: &str, success: bool| {
        let talk = Talk::new().on(ActionKind::Read, "/w/src/seen.py", Some(true));
        files(&talk.run(line, success, says))
    };
    for (line, says, success) in [
        (
            "patch -p1 < other.patch",
            "patching file src/seen.py\nHunk #1 succeeded at 40 (offset 2 lines).",
            true,
        ),
        (
            "patch -p1 < other.patch",
            "patching file 'src/seen.py'\nHunk #2 FAILED at 4.\n1 out of 2 hunks FAILED",
            false,
        ),
        ("cd src && patch -p0 -i ../other.patch", "patching file seen.py", true),
        ("black .", "reformatted /w/src/seen.py\n1 file reformatted.", true),
        ("prettier --write src", "src/seen.py 20ms", true),
    ] {
        assert_eq!(left(line, says, success), "/w/src/seen.py:Edited", "{line}");
    }
    for (line, says) in [
        ("git pull", "Updating 1a2b..3c4d\nFast-forward\n src/seen.py | 2 +-"),
        ("unzip -o new.zip", "  inflating: src/seen.py"),
        ("prettier --write src", "src/seen.py 20ms (unchanged)"),
    ] {
        assert_eq!(left(line, says, true), "/w/src/seen.py:Read", "{line}");
    }
}
