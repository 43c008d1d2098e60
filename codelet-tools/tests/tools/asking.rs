//! The permissions granted by answering "always", with the tools' real needs.

use crate::trial::{Trial, block_on, to_read};
use codelet_agent::asking::{Asking, Question, Word};
use codelet_agent::permission::{Asked, Gate, Permission, Rules};
use codelet_context::message::Parameters;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

/// A session in which every question is answered with "always".
struct Watched {
    trial: Trial,
    gate: Asking,
    questions: UnboundedReceiver<Question>,
}

impl Watched {
    fn new() -> Watched {
        let (gate, questions) = Asking::new(Rules::default());
        let trial = Trial::new(Permission::Edit);
        std::fs::create_dir_all(trial.outside.join("docs/deep")).unwrap();
        std::fs::write(trial.outside.join("docs/a.md"), "a").unwrap();
        std::fs::write(trial.outside.join("key"), "k").unwrap();
        Watched { trial, gate, questions }
    }

    /// Returns whether this call causes a question.
    fn asks(&mut self, tool: &str, parameters: Value) -> bool {
        let parameters = Parameters::new(parameters.as_object().unwrap().clone());
        let needs = self.trial.tool(tool).needs(&parameters).unwrap();
        let judged = self.gate.judge(Asked {
            call: "call_1",
            task: None,
            tool,
            description: "something",
            needs: &needs,
            wary: None,
        });
        block_on(async {
            tokio::select! {
                biased;
                _ = judged => false,
                question = self.questions.recv() => {
                    question.unwrap().answer(Word::Always);
                    true
                }
            }
        })
    }

    fn outside(&self, name: &str) -> String {
        self.trial.outside.join(name).display().to_string()
    }
}

#[test]
fn a_refusal_of_a_command_that_only_looks_names_the_reason_that_holds() {
    let trial = Trial::with(Permission::Edit, |options| {
        let own = options.workspace.join("bin");
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("rg"), "#!/bin/sh\n").unwrap();
        let path = std::env::join_paths([own, "/usr/bin".into(), "/bin".into()]).unwrap();
        options.env = vec![("PATH".into(), path)];
    });
    let objection = |command: &str| {
        let parameters = Parameters::new(json!({"command": command}).as_object().unwrap().clone());
        let needs = trial.tool("Bash").needs(&parameters).unwrap();
        needs.iter().find_map(|need| Rules::default().objection(need))
    };
    let own = trial.workspace.join("bin/rg");
    let foreign = format!("`rg` is {}, not a program of the system; that needs", own.display());
    for (command, reason) in [
        (
            "cat /etc/hostname",
            "it reads /etc/hostname, which is outside the workspace; that needs",
        ),
        (
            "ls; head ../x",
            "it reads ../x, which is outside the workspace; that needs",
        ),
        ("rg add", &foreign),
        ("rg --version", &foreign),
        ("git status", "there is no git repository in the workspace"),
        ("true && make", "commands need the option `--allow PATTERN`"),
    ] {
        let told = objection(command).unwrap();
        assert!(told.starts_with(reason), "{command}: {told}");
    }
    // What is not installed needs no permission: the shell says so.
    for command in ["ls", "sh --version", "no-such-program --version"] {
        assert_eq!(objection(command), None, "{command}");
    }
}

#[test]
fn nobody_is_asked_about_what_only_looks_within_the_workspace() {
    let mut watched = Watched::new();
    std::fs::create_dir_all(watched.trial.workspace.join("sub")).unwrap();
    std::fs::write(watched.trial.workspace.join("sub/a.txt"), "a").unwrap();
    std::os::unix::fs::symlink(watched.outside("key"), watched.trial.workspace.join("link")).unwrap();
    std::os::unix::fs::symlink(&watched.trial.outside, watched.trial.workspace.join("sub/out")).unwrap();
    for line in [
        "ls -la",
        "cat sub/a.txt | head -3",
        "cat sub/*.txt",
        "find . -name '*.txt' | sed -n 1,5p",
        "cd sub && cat a.txt",
        "grep -n /users/ sub/a.txt || true",
    ] {
        assert!(!watched.asks("Bash", json!({"command": line})), "{line}");
    }
    let (key, above) = (watched.outside("key"), "../outside/key".to_owned());
    for line in [
        format!("cat {key}"),
        format!("cat {above}"),
        format!("grep -f{key} sub/a.txt"),
        format!("rg --file={key} sub"),
        "cat link".to_owned(),
        "cd sub && cat out/key".to_owned(),
        "cat out/key || cd sub; cat out/key".to_owned(),
        "ls sub/out".to_owned(),
        format!("cd sub; cd .; cd .; cd .; cat {key}"),
        // Nothing exists there yet.
        format!("tail -F {}", watched.outside("new")),
    ] {
        assert!(watched.asks("Bash", json!({"command": line})), "{line}");
    }
}

#[test]
fn a_look_is_asked_about_where_it_may_see_more_of_the_users_than_the_workspace() {
    // A home among the system's files, which every read-only command may read; and a home with dot files, alone and
    // with other commands.
    let lib = |options: &mut codelet_tools::Options| options.home = Some("/usr/lib".into());
    let home = |options: &mut codelet_tools::Options| options.home = Some(options.workspace.clone());
    for (asks, line, trial) in [
        (true, "ls", Trial::with(Permission::Edit, lib)),
        (false, "ls", Trial::with(Permission::Edit, home)),
        (true, "cat .netrc", Trial::with(Permission::Edit, home)),
        (true, "mkdir a; ls", Trial::with(Permission::Edit, home)),
    ] {
        std::fs::write(trial.workspace.join(".netrc"), "key").unwrap();
        let (gate, questions) = Asking::new(Rules {
            allow: vec!["mkdir *".to_owned()],
            ..Rules::default()
        });
        let mut watched = Watched { trial, gate, questions };
        assert_eq!(watched.asks("Bash", json!({"command": line})), asks, "{line}");
    }
}

#[test]
fn always_for_a_folder_permits_what_is_in_it_and_nothing_beside_it() {
    for (tool, pattern) in [("LS", ""), ("Grep", "x"), ("Glob", "*.md")] {
        let mut watched = Watched::new();
        let (docs, a, deep, key, above) = (
            watched.outside("docs"),
            watched.outside("docs/a.md"),
            watched.outside("docs/deep"),
            watched.outside("key"),
            watched.outside(""),
        );
        assert!(watched.asks(tool, json!({"path": docs, "pattern": pattern})), "{tool}");
        for (permitted, parameters) in [
            ("LS", json!({"path": docs})),
            ("LS", json!({"path": deep})),
            ("Read", to_read(a)),
            ("Grep", json!({"path": docs, "pattern": "x"})),
        ] {
            assert!(!watched.asks(permitted, parameters), "{tool}, then {permitted}");
        }
        assert!(watched.asks("Read", to_read(key)), "{tool}");
        assert!(watched.asks("LS", json!({"path": format!("{above}/..")})), "{tool}");
    }
}

#[test]
fn always_for_a_file_permits_its_folder_and_for_nothing_at_all_that_name_alone() {
    let mut watched = Watched::new();
    let (a, deep, missing, key) = (
        watched.outside("docs/a.md"),
        watched.outside("docs/deep"),
        watched.outside("missing"),
        watched.outside("key"),
    );
    assert!(watched.asks("Read", to_read(a)));
    assert!(!watched.asks("LS", json!({"path": deep})));
    assert!(watched.asks("LS", json!({"path": missing})));
    assert!(!watched.asks("LS", json!({"path": missing})));
    assert!(watched.asks("Read", to_read(key)));
}

#[test]
fn always_for_the_root_of_everything_permits_nothing() {
    let mut watched = Watched::new();
    assert!(watched.asks("LS", json!({"path": "/"})));
    assert!(watched.asks("LS", json!({"path": "/"})));
    let key = watched.outside("key");
    assert!(watched.asks("Read", to_read(key)));
}

#[test]
fn always_for_a_program_permits_nothing_that_it_may_be_told_to_run() {
    for (line, other) in [
        ("/usr/bin/git status", "/usr/bin/git -c 'alias.x=!sh evil.sh' x"),
        ("./node_modules/.bin/npm test", "./node_modules/.bin/npm exec evil"),
        ("python3.12 -VV", "python3.12 evil.py"),
        (
            "/usr/bin/perl5.36-x86_64-linux-gnu -v",
            "/usr/bin/perl5.36-x86_64-linux-gnu evil.pl",
        ),
        ("pypy3 -VV", "pypy3 evil.py"),
        ("nodejs -v", "nodejs evil.js"),
        ("mawk -W version", "mawk -f evil.awk"),
        ("uvx ruff", "uvx evil"),
        ("git bisect log", "git bisect run sh evil.sh"),
        ("git submodule status", "git submodule foreach 'sh evil.sh'"),
        ("git rebase --abort", "git rebase --exec 'sh evil.sh' main"),
        ("docker compose ps", "docker compose run x sh evil.sh"),
        ("uv tool list", "uv tool run evil"),
        ("sort -o y x", "sort --compress-program=./evil.sh -o y x"),
        ("gcc -c a.c", "gcc -wrapper ./evil.sh -c a.c"),
        ("git log --output=x", "git log --output=main.rs"),
        ("git fetch", "git fetch --upload-pack=./evil.sh"),
        ("make", "make --eval='$(shell ./evil.sh)'"),
    ] {
        let mut watched = Watched::new();
        assert!(watched.asks("Bash", json!({"command": line})), "{line}");
        assert!(!watched.asks("Bash", json!({"command": line})), "{line}");
        assert!(watched.asks("Bash", json!({"command": other})), "{line}, then {other}");
    }
    // Sandboxed commands stay permitted with other arguments.
    for (line, other) in [
        ("/usr/bin/git add a", "/usr/bin/git add b"),
        ("mkdir a", "mkdir b"),
        ("cargo run", "cargo run -q"),
    ] {
        let mut watched = Watched::new();
        assert!(watched.asks("Bash", json!({"command": line})), "{line}");
        assert!(!watched.asks("Bash", json!({"command": other})), "{line}, then {other}");
    }
}
