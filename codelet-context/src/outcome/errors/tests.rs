use super::super::tests::Talk;
use crate::message::ActionKind;

fn open(talk: &Talk) -> Vec<String> {
    let errors = talk.facts().errors.into_iter().filter(|error| !error.is_past);
    errors.map(|error| error.command).collect()
}

fn past(talk: &Talk) -> Vec<String> {
    let errors = talk.facts().errors.into_iter().filter(|error| error.is_past);
    errors.map(|error| error.command).collect()
}

const NONE: [&str; 0] = [];
const CLI: &str = "....F\nFAILED tests/test_cli.py::test_lists - AssertionError: x\n1 failed, 63 passed in 9s";
const MONEY: &str = "F\nFAILED tests/test_money.py::test_q - AssertionError: y\n1 failed in 1s";

fn mended(talk: Talk) -> Talk {
    talk.on(ActionKind::Change, "src/cli.py", Some(true))
}

#[test]
fn a_failure_is_over_once_all_that_it_names_has_passed() {
    let failed = || mended(Talk::new().run("pytest -q", false, CLI));
    for line in [
        "pytest -q tests/test_cli.py",
        "pytest tests/test_cli.py::test_lists",
        "pytest -k lists",
        "pytest --lf",
    ] {
        assert_eq!(open(&failed().run(line, true, "3 passed")), NONE, "{line}");
    }
    for line in [
        "pytest -q tests/test_money.py",
        "pytest -k money",
        "pytest -m fast",
        "pytest -q tests/test_cli.py -k other",
        "ruff check .",
    ] {
        assert_eq!(open(&failed().run(line, true, "3 passed")), ["pytest -q"], "{line}");
    }
}

#[test]
fn of_several_that_failed_each_may_pass_by_itself_and_all_have_to() {
    let both = "FAILED tests/a.py::test_a - x\nFAILED tests/b.py::test_b - x\n2 failed, 3 passed";
    let talk = Talk::new()
        .run("pytest", false, both)
        .run("pytest tests/a.py", true, "");
    assert_eq!(open(&talk), ["pytest"]);
    assert_eq!(open(&talk.run("pytest tests/b.py", true, "")), NONE);
    // What is counted and not listed is not known to have passed.
    let cut = "FAILED tests/a.py::test_a - x\n2 failed, 3 passed";
    let talk = Talk::new().run("pytest", false, cut).run("pytest tests/a.py", true, "");
    assert_eq!(open(&talk), ["pytest"]);
}

#[test]
fn a_wider_run_that_fails_elsewhere_is_over_what_failed_before() {
    let narrow = "pytest -q tests/test_money.py";
    let failed = || mended(Talk::new().run(narrow, false, MONEY));
    assert_eq!(open(&failed().run("pytest -q", false, CLI)), ["pytest -q"]);
    let both = format!("{MONEY}\n{CLI}")
        .replace("1 failed in 1s", "")
        .replace("1 failed, 63", "2 failed, 62");
    assert_eq!(open(&failed().run("pytest -q", false, &both)), [narrow, "pytest -q"]);
    for (line, output) in [
        ("pytest -x", CLI),
        ("pytest --maxfail=1", CLI),
        (
            "pytest",
            "ERROR tests/test_cli.py - ImportError\n!!! Interrupted: 1 error during collection !!!\n1 error in 1s",
        ),
        ("pytest", "....F\n5 failed, 63 passed"),
        ("pytest", "FAILED tests/test_cli.py::test_lists\n5 failed, 63 passed"),
        ("pytest tests/test_cli.py", CLI),
        ("npm test", CLI),
    ] {
        let talk = failed().run(line, false, output);
        assert_eq!(open(&talk), [narrow, line], "{output}");
    }
    // Cargo ends with the first binary in which a test fails.
    let cargo =
        "test a::b ... FAILED\ntest result: FAILED. 2 passed; 1 failed\nerror: test failed, to rerun pass `--lib`";
    let talk = Talk::new()
        .run(
            "cargo test --test cli",
            false,
            "test lists ... FAILED\ntest result: FAILED. 0 passed; 1 failed",
        )
        .run("cargo test", false, cargo);
    assert_eq!(open(&talk), ["cargo test --test cli", "cargo test"]);
    let on = cargo.replace("error: test failed, to rerun pass `--lib`", "");
    let talk = Talk::new()
        .run(
            "cargo test money::",
            false,
            "test money::sum_adds ... FAILED\ntest result: FAILED. 0 passed; 1 failed",
        )
        .run("cargo test --no-fail-fast", false, &on);
    assert_eq!(open(&talk), ["cargo test --no-fail-fast"]);
}

#[test]
fn what_failed_turns_ago_is_past_where_the_like_has_passed_since_it_was_mended() {
    let turns = |talk: Talk, count: usize| {
        (0..count).fold(talk, |talk, _| {
            talk.say("Done.").user("go on").on(ActionKind::Read, "z", Some(true))
        })
    };
    let types = "npx tsc --noEmit --skipLibCheck";
    let failed = || {
        Talk::new().user("go").run(
            types,
            false,
            "../tui/test/chat.ts(28,2): error TS2739: Type 'A' is missing it.",
        )
    };
    let mended = || failed().on(ActionKind::Change, "packages/tui/test/chat.ts", Some(true));
    let built = |talk: Talk| talk.run("npm run build 2>&1 | tail -3", true, "");
    assert_eq!(
        (open(&turns(built(mended()), 1)), past(&built(mended()))),
        (vec![types.to_owned()], vec![])
    );
    assert_eq!(
        (open(&turns(built(mended()), 2)), past(&turns(built(mended()), 2))),
        (vec![], vec![types.to_owned()])
    );
    for talk in [
        // Nothing of what it names was changed.
        built(failed().on(ActionKind::Change, "packages/tui/other.ts", Some(true))),
        // Nothing of its kind passed, or elsewhere.
        mended(),
        mended().run("npm test", true, "3 passed"),
        mended()
            .run("cd other && npm run build", false, "no")
            .run("npm run build -- a.ts", true, ""),
    ] {
        assert_eq!(open(&turns(talk, 5)).first().map(String::as_str), Some(types));
    }
    // A narrower run of the same that leaves out what failed is none of the like.
    let both = "FAILED tests/a.py::test_a - x\nFAILED tests/b.py::test_b - x\n2 failed, 3 passed";
    let talk = Talk::new()
        .user("go")
        .run("pytest", false, both)
        .on(ActionKind::Change, "tests/a.py", Some(true))
        .run("pytest tests/a.py", true, "");
    assert_eq!(open(&turns(talk, 9)), ["pytest"]);
    // A session of one turn forgets, too.
    let long = (0..super::CALLS).fold(built(mended()), |talk, _| talk.on(ActionKind::Read, "z", Some(true)));
    assert_eq!(past(&long), [types]);
}

#[test]
fn a_file_that_a_failure_names_is_known_however_its_path_is_written() {
    let is_past = |named: &str, changed: &str| {
        let talk = Talk::new()
            .user("go")
            .run("npx tsc", false, &format!("{named}(3,1): error TS1: no"))
            .on(ActionKind::Change, changed, Some(true))
            .run("npm run build", true, "");
        let later = (0..3).fold(talk, |talk, _| {
            talk.say("Done.").user("go on").on(ActionKind::Read, "z", Some(true))
        });
        !past(&later).is_empty()
    };
    for (named, changed) in [
        ("src/a.ts", "/w/src/a.ts"),
        ("/w/src/a.ts", "src/a.ts"),
        ("../../lib/a.ts", "lib/a.ts"),
        ("./src/../lib/a.ts", "lib//a.ts"),
        ("C:\\w\\a.ts", "/c/w/a.ts"),
        ("lib/a.ts", "lib"),
    ] {
        assert!(is_past(named, changed), "{named} {changed}");
    }
    for (named, changed) in [
        ("src/a.ts", "src/aa.ts"),
        ("src/a.ts", "xsrc/a.ts"),
        ("lib2/a.ts", "lib"),
    ] {
        assert!(!is_past(named, changed), "{named} {changed}");
    }
}

#[test]
fn a_command_that_was_given_up_is_open_no_longer_than_its_turn() {
    for line in [
        "git rev-parse x && git switch -c y-1",
        "npx tsx -e 'x()'",
        "curl -s https://h/x | jq .a+.b",
        "npm install left-pad",
    ] {
        let talk = Talk::new().user("go").run(line, false, "error: no");
        assert_eq!(open(&talk), [line]);
        let talk = talk.run("git commit -m x", true, "");
        assert_eq!(open(&talk), [line]);
        let answered = talk.say("It is done.");
        assert_eq!(open(&answered), NONE, "{line}");
        let next = answered.user("Next.").on(ActionKind::Read, "z", Some(true));
        assert_eq!(open(&next), NONE, "{line}");
    }
    // What a reply announces ends no turn.
    let talk = Talk::new()
        .user("go")
        .run("npm install x", false, "no")
        .run("git commit -m x", true, "");
    assert_eq!(
        open(&talk.say("Now the tests.").run("pytest", true, "")),
        ["npm install x"]
    );
}

#[test]
fn what_a_turn_has_ended_with_is_told_in_the_next_one() {
    let talk = Talk::new()
        .user("Make the docs.")
        .run("docker compose up -d", false, "sphinx: no such theme")
        .run("cat conf.py", true, "x")
        .say("The theme is missing.")
        .user("Leave it.");
    assert_eq!(open(&talk), ["docker compose up -d"]);
    let talk = talk.on(ActionKind::Read, "z", Some(true)).say("Fine.").user("Next.");
    assert_eq!(open(&talk), NONE);
}

#[test]
fn what_was_to_change_something_outside_is_never_forgotten_until_it_is_done() {
    let talk = Talk::new()
        .user("Deploy it.")
        .run("kubectl apply -f k8s/", false, "error: You must be logged in")
        .run(
            "alembic upgrade head",
            false,
            "FAILED: Target database is not up to date.",
        )
        .run("git commit -am x", true, "")
        .say("Neither works.")
        .user("Leave the deploy, look at the models.")
        .on(ActionKind::Read, "z", Some(true));
    let both = ["kubectl apply -f k8s/", "alembic upgrade head"];
    assert_eq!(open(&talk), both);
    let talk = talk.say("Seen.").user("Next.").on(ActionKind::Read, "z", Some(true));
    assert_eq!(open(&talk), both);
    let talk = talk.run("kubectl apply --server-side -f k8s", true, "applied");
    assert_eq!(open(&talk), [both[1]]);
}

#[test]
fn a_conflict_is_over_once_it_was_committed_or_given_up() {
    let conflict = "CONFLICT (content): Merge conflict in src/app.py\nAutomatic merge failed; fix conflicts and then commit the result.";
    let made = "[feature/x 77aa001] Merge remote-tracking branch";
    let pushed = format!("{made}\nerror: failed to push some refs");
    let after = |failed: &str, says: &str, line: &str, success, said: &str| {
        let talk = Talk::new().user("go").run(failed, false, says);
        open(&talk.run(line, success, said))
    };
    for failed in [
        "git merge origin/main",
        "git fetch && git merge feature/y",
        "git pull",
        "git stash pop",
        "git stash apply",
        "git cherry-pick abc123",
        "git revert abc123",
        "git rebase origin/main",
    ] {
        for line in [
            "git add -A && git commit --no-edit",
            "git commit -am 'Merge main'",
            "git add -A && git commit --no-edit && pytest",
            "git merge --continue",
            "git -c core.editor=true rebase --continue",
            "git cherry-pick --abort",
        ] {
            assert_eq!(after(failed, conflict, line, true, made), NONE, "{failed}; {line}");
        }
        let push = "git commit --no-edit && git push";
        assert_eq!(after(failed, conflict, push, false, &pushed), [push], "{failed}");
        for (line, said) in [
            ("git add -A", ""),
            ("git status", "You have unmerged paths."),
            (
                "git commit --no-edit || true",
                "error: Committing is not possible because you have unmerged files.",
            ),
        ] {
            assert_eq!(after(failed, conflict, line, true, said), [failed], "{failed}; {line}");
        }
    }
    // What was refused is still to be done.
    let refused = "error: Your local changes to the following files would be overwritten by merge:\nAborting";
    assert_eq!(
        after("git pull", refused, "git commit -am wip", true, "[x 1a2b3c4] wip"),
        ["git pull"]
    );
    assert_eq!(
        after("git push", "rejected", "git commit -am wip", true, "[x 1a2b3c4] wip"),
        ["git push"]
    );
}

#[test]
fn turns_in_which_nothing_was_done_make_no_failure_older() {
    let said = |talk: Talk| {
        ["ok", "go on", "what now?"]
            .into_iter()
            .fold(talk.say("The push failed."), |talk, words| {
                talk.user(words).say("Fine.")
            })
    };
    let push = Talk::new()
        .user("Ship it.")
        .run("git push", false, "remote: Permission denied")
        .run("ssh-add -l", false, "The agent has no identities.");
    assert_eq!(open(&said(push)), ["git push", "ssh-add -l"]);
    let types = Talk::new()
        .user("go")
        .run("npx tsc", false, "src/a.ts(3,1): error TS1: no")
        .on(ActionKind::Change, "src/a.ts", Some(true))
        .run("npm run build", true, "");
    assert_eq!(open(&said(types)), ["npx tsc"]);
}

#[test]
fn a_command_is_over_where_the_same_thing_was_done_otherwise() {
    let failed = "git rev-parse --short HEAD origin/main && git checkout -b fix/publish origin/main";
    let talk = Talk::new()
        .user("go")
        .run(failed, false, "fatal: Needed a single revision");
    assert_eq!(
        open(&talk.run("git fetch origin && git checkout -b fix/publish FETCH_HEAD", true, "")),
        NONE
    );
}

#[test]
fn a_runner_that_shows_what_it_runs_is_over_what_that_covers() {
    let go = "--- FAIL: TestReplay (0.1s)\n    r_test.go:7: got [3 1]\nFAIL\nFAIL\tacme/journal\t2.3s\nFAIL";
    let vitest = "Tests  1 failed | 3 passed (4)";
    for (failed, output, line, passed) in [
        (
            "go test ./journal 2>&1 | tail -20",
            go,
            "make test",
            "go test ./...\nok  \tacme/api\t0.2s\nok  \tacme/journal\t2.2s",
        ),
        (
            "cd cmd && go test -v 2>&1 | grep -A 20 FAIL",
            go,
            "mise run test 2>&1 | tail -25",
            "[test] $ go test ./...\nok  \tacme/cmd\t0.2s",
        ),
        (
            "npx vitest run src/cart.test.ts",
            vitest,
            "npm test",
            "> vitest run\n\n Test Files  12 passed (12)\n      Tests  88 passed (88)",
        ),
        (
            "go test ./x -run TestA -v",
            go,
            "mise run test:ci",
            "[test:ci] $ go test -tags=integration -race ./...\nok  \tacme/x\t0.2s",
        ),
        (
            "go test ./x -tags integration",
            go,
            "mise run test:ci",
            "[test:ci] $ go test -tags=integration -race ./...\nok  \tacme/x\t0.2s",
        ),
        (
            "npx eslint src/a.ts",
            "✖ 1 problem (1 error, 0 warnings)",
            "npm run lint",
            "> shop@1.0.0 lint\n> eslint .",
        ),
        (
            "npx tsc --noEmit",
            "src/a.ts(3,1): error TS2304: no",
            "npm run typecheck",
            "> tsc --noEmit",
        ),
        // What it runs is cut away, and what it shows to have passed is not.
        (
            "go test ./journal 2>&1 | tail -20",
            go,
            "make check",
            "ok  \tacme/journal\t2.2s",
        ),
        (
            "cd services && go test ./... 2>&1 | tail -20",
            go,
            "make check",
            "ok  \tacme/journal\t2.2s",
        ),
        (
            "go test ./session -run TestA 2>&1",
            "session/a_test.go:4:2: \"context\" imported and not used\nFAIL\tacme/session [build failed]",
            "mise run test | tail",
            "ok  \tacme/session\t0.1s",
        ),
    ] {
        let talk = Talk::new().run(failed, !failed.contains('|'), output);
        let talk = match open(&talk)[..] {
            [] => Talk::new().run(failed, false, output),
            _ => talk,
        };
        assert_eq!(open(&talk).len(), 1, "{failed}");
        assert_eq!(open(&talk.run(line, true, passed)), NONE, "{failed}: {line}");
    }
}

#[test]
fn a_runner_that_runs_less_or_something_else_is_over_nothing() {
    let go = "--- FAIL: TestReplay (0.1s)\nFAIL\nFAIL\tacme/journal\t2.3s\nFAIL";
    for (failed, output, line, passed) in [
        (
            "go test ./journal",
            go,
            "make test",
            "go test ./api\nok  \tacme/api\t0.2s",
        ),
        (
            "go test ./journal",
            go,
            "make test",
            "go test ./... || true\nok  \tacme/api\t0.2s",
        ),
        ("go test ./journal", go, "make test", "ok  \tacme/api\t0.2s"),
        (
            "go test ./journal",
            go,
            "make test",
            "go test -run TestOther ./...\nok  \tacme/journal\t0.2s",
        ),
        (
            "go test -tags=e2e ./journal",
            go,
            "mise run test",
            "[test] $ go test ./...\n1 passed",
        ),
        (
            "npx vitest run src/cart.test.ts",
            "1 failed",
            "npm test",
            "> jest\n88 passed",
        ),
        (
            "npx vitest run src/cart.test.ts",
            "1 failed",
            "npm test",
            "88 passed, run > vitest run for more",
        ),
        (
            "cd api && pytest",
            "1 failed",
            "cd web && make test",
            "pytest\n88 passed",
        ),
        (
            "go test ./... 2>&1 | tail -3",
            go,
            "make check",
            "ok  \tacme/journal\t2.2s",
        ),
        ("go test ./journal", go, "make lint", "go test ./...x\nok"),
    ] {
        let talk = Talk::new().run(failed, false, output).run(line, true, passed);
        assert_eq!(open(&talk), [failed], "{line}: {passed}");
    }
}

#[test]
fn what_was_checked_with_the_work_put_aside_changes_nothing() {
    let saved = "Saved working directory and index state WIP on main: 1 a";
    let failed = || {
        Talk::new().on(ActionKind::Change, "src/a.ts", Some(true)).run(
            "npm run lint",
            false,
            "src/a.ts:3:1 error\n2 problems",
        )
    };
    let lint = |talk: &Talk| {
        talk.facts()
            .lint
            .map(|check| (check.command, check.verdict, check.is_stale))
    };
    let told = Some(("npm run lint".to_owned(), super::super::Verdict::Failed, false));
    let once = failed().run(
        "git stash && npm run lint 2>&1 | tail -5; git stash pop",
        true,
        &format!("{saved}\nChecked 272 files."),
    );
    assert_eq!((open(&once), lint(&once)), (vec!["npm run lint".to_owned()], told));
    let twice = failed().run("git stash", true, saved);
    let twice = twice
        .run("npm run lint", true, "")
        .run("git stash pop", true, "Dropped refs/stash@{0}");
    assert_eq!(open(&twice), ["npm run lint"]);
    assert_eq!(lint(&twice).unwrap().1, super::super::Verdict::Failed);
    // That it fails without the work, too, is no failure of the work.
    let before = Talk::new().run("git stash && npm test; git stash pop", false, "1 failed");
    assert_eq!((open(&before), before.facts().tests), (vec![], None));
    assert_eq!(open(&twice.run("npm run lint", true, "")), NONE);
}

#[test]
fn of_checks_in_one_line_the_one_that_failed_is_open() {
    let lint = "a.go:3:1: Default returns interface (ireturn)\n1 issues:";
    let talk = Talk::new().run("go build ./... && golangci-lint run", false, lint);
    let facts = talk.facts();
    assert_eq!(facts.build.unwrap().verdict, super::super::Verdict::Passed);
    assert_eq!(facts.lint.unwrap().verdict, super::super::Verdict::Failed);
    assert_eq!(open(&talk.run("golangci-lint run", true, "")), NONE);
    // What has not begun is not told of, and what ended the line is open until it succeeds.
    let line = "npx tsc --noEmit && npx jest";
    let talk = Talk::new().run(line, false, "src/a.ts(3,1): error TS2304: no");
    assert_eq!((open(&talk), talk.facts().tests), (vec![line.to_owned()], None));
    assert_eq!(open(&talk.run("npx tsc --noEmit", true, "")), NONE);
}

#[test]
fn a_check_that_could_not_be_run_has_not_failed_and_hides_no_failure() {
    let refused = "> lint\nerror: unknown option '--apply'\nUsage: ultracite lint [options]";
    let talk = Talk::new()
        .run("npm run format && npm run lint -- --apply || true", true, refused)
        .run("npm run check", true, "Checked 677 files. No fixes applied.");
    let facts = talk.say("Clean.").facts();
    assert_eq!(
        (facts.lint.map(|lint| lint.verdict), facts.errors.len()),
        (Some(crate::verdict::Verdict::Passed), 0)
    );
    const MISSING: &str = "bash: pytest: command not found";
    let facts = Talk::new().run("pytest -q", false, MISSING).facts();
    assert_eq!((facts.tests, facts.errors.len()), (None, 1));
    assert!(!facts.errors[0].is_check(), "told as a command");
    assert_eq!(facts.errors[0].lines, [MISSING]);
    let failed = || Talk::new().run("pytest -q", false, CLI);
    let facts = failed().run("pytest -q", false, MISSING).facts();
    assert_eq!(
        facts.tests.map(|fact| fact.verdict),
        Some(crate::verdict::Verdict::Failed)
    );
    assert_eq!(facts.errors.iter().filter(|error| error.is_check()).count(), 1);
    // Once it runs, that is over, whatever comes of it.
    let unrun = || Talk::new().run("pytest -q", false, MISSING);
    assert_eq!(open(&unrun().run("python -m pytest tests", true, "3 passed")), NONE);
    assert_eq!(
        open(&unrun().run("pytest tests/a.py", false, MONEY)),
        ["pytest tests/a.py"]
    );
    assert_eq!(open(&unrun().run("pytest -q", false, MISSING)), ["pytest -q"]);
    let followed = unrun().run("ls", true, "a").user("go on");
    assert_eq!(open(&followed.run("ls", true, "a").user("on")), NONE);
}

#[test]
fn a_run_that_fails_elsewhere_shows_which_single_tests_pass_again() {
    let one = "test a::one ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored; 3 filtered out";
    let two = "test a::one ... ok\ntest data::zwei ... FAILED\n\ntest result: FAILED. 4 passed; 1 failed; 0 ignored\n\n\
               error: test failed, to rerun pass `--lib`";
    let talk = mended(Talk::new().run("cargo test one", false, one));
    assert_eq!(open(&talk.run("cargo test", false, two)), ["cargo test"]);
    let pytest = "tests/a.py::test_a FAILED [100%]\nFAILED tests/a.py::test_a - x\n1 failed in 1s";
    let other = "tests/a.py::test_a PASSED [ 10%]\ntests/b.py::test_b FAILED [ 20%]\nFAILED tests/b.py::test_b - x\n\
                 !!!!!! stopping after 1 failures !!!!!!\n1 failed, 1 passed in 1s";
    let talk = mended(Talk::new().run("pytest -v -x tests/a.py", false, pytest));
    assert_eq!(open(&talk.run("pytest -v -x", false, other)), ["pytest -v -x"]);
    // What has failed again, has failed in one of two places, or is of another folder has not passed.
    let again = format!("test a::one ... ok\n{two}\ntest a::one ... FAILED");
    let failed = || mended(Talk::new().run("cargo test one", false, one));
    assert_eq!(open(&failed().run("cargo test", false, &again)).len(), 2);
    assert_eq!(open(&failed().run("cd other && cargo test", false, two)).len(), 2);
    assert_eq!(open(&failed().run("cargo test -p other", false, two)).len(), 2);
}

#[test]
fn a_test_of_the_same_name_in_another_package_is_over_nothing() {
    let cargo = "test tests::parses ... FAILED\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored\n\n\
                 error: test failed, to rerun pass `-p cart --lib`";
    let passed = "test tests::parses ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored";
    let python = "FAILED tests/test_init.py::test_loads - x\n1 failed, 3 passed in 1s";
    let python_passed = "tests/test_init.py::test_loads PASSED [100%]\n1 passed in 0.1s";
    let jest = "FAIL src/a.test.ts\n  ● a › b\n\nTests: 1 failed, 3 passed, 4 total";
    let jest_passed = "PASS src/a.test.ts (5.1 s)\nTests: 4 passed, 4 total";
    for (failed, output, line, shown, is_over) in [
        ("cargo test -p cart", cargo, "cargo test -p shop", passed, false),
        ("cargo test --workspace", cargo, "cargo test -p shop", passed, false),
        ("cargo test --workspace", cargo, "cargo test -p cart", passed, true),
        ("cargo test -p cart", cargo, "cargo test", passed, true),
        (
            "cd cart && pytest",
            python,
            "cd shop && pytest -v",
            python_passed,
            false,
        ),
        (
            "cd cart && pytest",
            python,
            "cd /w/cart && pytest -v",
            python_passed,
            true,
        ),
        ("pytest -W error", python, "pytest -v", python_passed, false),
        ("cd cart && npx jest", jest, "cd shop && npx jest", jest_passed, false),
        ("npm test -w cart", jest, "npm test -w shop", jest_passed, false),
        (
            "npx jest",
            &jest.replace("src", "cart/src"),
            "cd cart && npm test",
            jest_passed,
            true,
        ),
        (
            "./gradlew :cart:test",
            "OrderTest > total() FAILED",
            "./gradlew :shop:test",
            "OrderTest > total() PASSED",
            false,
        ),
        (
            "./gradlew :cart:test",
            "OrderTest > total() FAILED",
            "./gradlew test",
            "BUILD SUCCESSFUL",
            true,
        ),
    ] {
        let talk = mended(Talk::new().run(failed, false, output)).run(line, true, shown);
        assert_eq!(open(&talk).is_empty(), is_over, "{failed}: {line}");
        assert!(
            is_over || talk.facts().errors[0].stands(crate::testrun::CheckKind::Test),
            "{failed}: {line}"
        );
    }
}

#[test]
fn what_a_script_runs_alone_may_pass_by_itself() {
    let failed = |script: &str| {
        let output = format!(
            "> shop@1 test\n> {script}\n\nFAIL src/a.test.ts\n  ● a › b\n\nTests: 1 failed, 57 passed, 58 total"
        );
        mended(Talk::new().run("npm test", false, &output))
    };
    let passed = "Tests: 58 passed, 58 total";
    assert_eq!(open(&failed("jest --ci").run("npx jest", true, passed)), NONE);
    assert_eq!(open(&failed("jest").run("npx jest src/a.test.ts", true, passed)), NONE);
    for script in [
        "jest && eslint .",
        "node prepare.js && jest",
        "jest --config jest.int.config.js",
        "vitest",
    ] {
        assert_eq!(
            open(&failed(script).run("npx jest", true, passed)),
            ["npm test"],
            "{script}"
        );
    }
    assert_eq!(
        open(&failed("jest").run("npx jest src/b.test.ts", true, passed)),
        ["npm test"]
    );
}

#[test]
fn tests_that_passed_since_are_told_no_more_however_their_run_was_begun() {
    let failed = "--- FAIL: TestResume_WithTrailer (0.09s)\n    a_test.go:9: bad\nFAIL\nFAIL\tacme.io/x/cmd/cli\t12.839s\nok  \tacme.io/x/redact\t0.2s\nFAIL";
    let passed = "=== RUN   TestResume_WithTrailer\n--- PASS: TestResume_WithTrailer (0.05s)\nPASS\nok  \tacme.io/x/cmd/cli\t1.585s";
    let run = "go test -run TestResume_WithTrailer ./cmd/cli/ -count=1 -v";
    for line in [
        "go test ./...",
        "make test",
        "mise run test:ci",
        "go test ./... 2>&1 | grep -E 'FAIL|PASS|ok'",
        "go test ./... 2>&1 | grep -E 'FAIL|PASS|ok' | head -30",
    ] {
        let talk = mended(Talk::new().run(line, line.contains('|'), failed));
        assert_eq!(open(&talk), [line]);
        assert_eq!(open(&talk.run(run, true, passed)), NONE, "{line}");
    }
    // What hides others says nothing of them.
    for line in [
        "go test ./... 2>&1 | grep -E 'FAIL|PASS|ok' | head -3",
        "go test ./... 2>&1 | grep TestResume",
        "go test ./... 2>&1 | head -30 | grep FAIL",
    ] {
        let talk = mended(Talk::new().run(line, true, failed)).run(run, true, passed);
        assert_eq!(open(&talk), [line]);
        let lines = talk.facts().errors.remove(0).lines;
        assert_eq!(lines, [super::PASSED_SINCE], "{line}");
    }
    // A second test of the package, or another package, is still open.
    for other in [
        "--- FAIL: TestOther (0.1s)\nFAIL\nFAIL\tacme.io/x/cmd/cli\t1s",
        "--- FAIL: TestOther (0.1s)\nFAIL\nFAIL\tacme.io/x/web\t1s",
    ] {
        let both = match other.contains("web") {
            true => format!("{failed}\n{other}"),
            false => failed.replace("FAIL\nFAIL", other),
        };
        let talk = mended(Talk::new().run("make test", false, &both)).run(run, true, passed);
        assert_eq!(open(&talk), ["make test"], "{both}");
    }
}

#[test]
fn a_command_behind_tests_that_passed_is_what_has_failed() {
    use crate::verdict::Verdict::{Failed, Passed, Unknown};
    const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored";
    let rejected = format!("{PASSED}\n ! [rejected] main -> main\nerror: failed to push some refs");
    let line = "cargo test && git push";
    let talk = || Talk::new().run(line, false, &rejected);
    let facts = talk().facts();
    assert_eq!(facts.tests.map(|tests| tests.verdict), Some(Passed));
    assert_eq!(open(&talk()), [line]);
    assert_eq!(facts.errors[0].lines, ["error: failed to push some refs"]);
    assert!(!facts.errors[0].is_check());
    // Whoever does it later has done it.
    for done in ["git push", line, "git pull --rebase && cargo test && git push"] {
        assert_eq!(open(&talk().run(done, true, PASSED)), NONE, "{done}");
    }
    assert_eq!(open(&talk().run("cargo test", true, PASSED)), [line]);

    // A question that was answered with no has not failed, and what has failed in the tests is theirs.
    let tests = |line: &str, output: &str| {
        let talk = Talk::new().run(line, false, output);
        (talk.facts().tests.map(|tests| tests.verdict), open(&talk).len())
    };
    assert_eq!(
        tests("pytest -q; grep -rn TODO src", "9 passed in 0.2s"),
        (Some(Passed), 0)
    );
    assert_eq!(tests("pytest -q; grep -rn TODO src", ""), (Some(Unknown), 0));
    assert_eq!(
        tests(line, "test result: FAILED. 2 passed; 1 failed"),
        (Some(Failed), 1)
    );
}
