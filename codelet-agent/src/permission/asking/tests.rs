#![allow(clippy::unwrap_used)]

use super::*;

fn run(command: &str) -> Vec<Need> {
    vec![Need::Run {
        command: command.to_owned(),
        folder: String::new(),
        looks: Looking::Inside,
    }]
}

fn asked(needs: &[Need]) -> Asked<'_> {
    Asked {
        call: "call_1",
        task: None,
        tool: "Bash",
        description: "something",
        needs,
        wary: None,
    }
}

#[tokio::test]
async fn what_the_rules_permit_is_not_asked_about() {
    let (gate, mut questions) = Asking::new(Rules {
        permission: Permission::Edit,
        allow: vec!["cargo *".to_owned()],
        deny: Vec::new(),
    });
    assert_eq!(gate.judge(asked(&run("cargo test"))).await, Verdict::Yes);
    assert!(questions.try_recv().is_err());
}

#[tokio::test]
async fn a_session_that_only_looks_asks_about_what_the_settings_permit() {
    let (gate, mut questions) = Asking::new(Rules {
        permission: Permission::Edit,
        allow: vec!["cargo *".to_owned()],
        deny: Vec::new(),
    });
    gate.permit(Permission::Read);
    assert!(gate.granted().0.is_empty());
    let judged = tokio::spawn({
        let gate = gate.clone();
        async move { gate.judge(asked(&run("cargo test"))).await }
    });
    questions.recv().await.unwrap().answer(Word::No(None));
    assert!(matches!(judged.await.unwrap(), Verdict::No(_)));
    gate.permit(Permission::Edit);
    assert_eq!(gate.judge(asked(&run("cargo test"))).await, Verdict::Yes);
}

#[tokio::test]
async fn a_tool_that_its_server_defines_otherwise_is_asked_about_again() {
    let (gate, mut questions) = Asking::new(Rules::default());
    let gate = gate.keeping(Arc::new(|_| Ok("kept".to_owned())));
    let call = |tool: &str, definition: &str| {
        vec![Need::Call {
            server: "files".to_owned(),
            tool: tool.to_owned(),
            definition: definition.to_owned(),
            is_changed: false,
            parameters: "{}".to_owned(),
        }]
    };
    let judge = |needs: Vec<Need>| {
        let gate = gate.clone();
        tokio::spawn(async move { gate.judge(asked(&needs)).await })
    };
    let tells_of_change = |question: &Question| matches!(&question.needs[..], [Need::Call { is_changed: true, .. }]);
    for (tool, is_kept) in [("files__stat", false), ("files__list", true)] {
        let judged = judge(call(tool, "one"));
        let question = questions.recv().await.unwrap();
        assert!(!tells_of_change(&question));
        if is_kept {
            let patterns = question.patterns(question.proposal.as_deref().unwrap()).unwrap();
            question.keep(patterns);
        } else {
            question.answer(Word::Always);
        }
        assert_eq!(judged.await.unwrap(), Verdict::Yes);
        assert_eq!(gate.judge(asked(&call(tool, "one"))).await, Verdict::Yes);
        let judged = judge(call(tool, "two"));
        let question = questions.recv().await.unwrap();
        assert!(tells_of_change(&question), "{tool}");
        question.answer(Word::Always);
        assert_eq!(judged.await.unwrap(), Verdict::Yes);
        assert_eq!(gate.judge(asked(&call(tool, "two"))).await, Verdict::Yes);
    }
}

#[tokio::test]
async fn a_pattern_that_is_always_permitted_is_asked_about_once() {
    let (gate, mut questions) = Asking::new(Rules::default());
    let first = tokio::spawn({
        let gate = gate.clone();
        async move { gate.judge(asked(&run("cargo test -p x && git add a"))).await }
    });
    let second = tokio::spawn({
        let gate = gate.clone();
        async move { gate.judge(asked(&run("cargo test --all"))).await }
    });
    let question = questions.recv().await.unwrap();
    let waiting = questions.recv().await.unwrap();
    let patterns: Vec<Grant> = ["cargo test *", "git add *"]
        .map(|p| Grant::Commands(p.to_owned()))
        .into();
    assert_eq!(question.grants, patterns);
    assert!(!waiting.is_moot());
    question.answer(Word::Always);
    assert_eq!(first.await.unwrap(), Verdict::Yes);
    assert!(waiting.is_moot());
    waiting.answer(Word::Once);
    assert_eq!(second.await.unwrap(), Verdict::Yes);
    assert_eq!(
        gate.judge(asked(&run("git add b && ls -s && cargo test"))).await,
        Verdict::Yes
    );
}

/// Saves a pattern through a gate with these rules; returns the gate, its message, and the saved patterns.
async fn kept(rules: Rules, keeps: bool, text: &str) -> (Asking, String, Vec<Vec<String>>) {
    let written: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let (gate, mut questions) = Asking::new(rules);
    let store = Arc::clone(&written);
    let gate = gate.keeping(Arc::new(move |patterns: &[String]| {
        store.lock().unwrap().push(patterns.to_vec());
        match keeps {
            true => Ok("in the settings".to_owned()),
            false => Err("the disk is full".to_owned()),
        }
    }));
    let judged = tokio::spawn({
        let gate = gate.clone();
        async move { gate.judge(asked(&run("python3 -m pytest -q"))).await }
    });
    let question = questions.recv().await.unwrap();
    assert_eq!(question.proposal.as_deref(), Some("python3 -m pytest *"));
    let patterns = question.patterns(text).unwrap();
    let told = question.keep(patterns);
    assert_eq!(judged.await.unwrap(), Verdict::Yes);
    let written = written.lock().unwrap().clone();
    (gate, told, written)
}

#[tokio::test]
async fn what_is_kept_for_the_project_holds_at_once_and_outlives_a_narrower_permission() {
    let (gate, told, written) = kept(Rules::default(), true, "python3 -m pytest *").await;
    assert_eq!(written, [["python3 -m pytest *"]]);
    assert_eq!(
        told,
        "always allowed in this project: python3 -m pytest * (in the settings)"
    );
    assert_eq!(gate.judge(asked(&run("python3 -m pytest a.py"))).await, Verdict::Yes);
    gate.permit(Permission::Read);
    gate.permit(Permission::Edit);
    assert_eq!(gate.judge(asked(&run("python3 -m pytest a.py"))).await, Verdict::Yes);
    // The same if the settings by themselves permit nothing.
    let only_looks = Rules {
        permission: Permission::Read,
        ..Rules::default()
    };
    let (gate, ..) = kept(only_looks, true, "python3 *").await;
    assert_eq!(gate.judge(asked(&run("python3 -m pytest b.py"))).await, Verdict::Yes);
}

#[tokio::test]
async fn what_cannot_be_kept_holds_for_the_session_and_says_so() {
    let (gate, told, _) = kept(Rules::default(), false, "python3 *").await;
    assert!(
        told.contains("for this session only") && told.ends_with("the disk is full"),
        "{told}"
    );
    assert_eq!(gate.judge(asked(&run("python3 -m pytest a.py"))).await, Verdict::Yes);
    assert_eq!(gate.granted().0, [""; 0]);
}

#[tokio::test]
async fn who_permits_a_kind_of_command_is_asked_about_each_that_changes_what_gives_orders() {
    for allow in ["*", "tee *"] {
        let (gate, mut questions) = Asking::new(Rules {
            permission: Permission::Edit,
            allow: vec![allow.to_owned()],
            deny: Vec::new(),
        });
        assert_eq!(gate.judge(asked(&run("tee notes.md"))).await, Verdict::Yes);
        for _ in 0..2 {
            let judged = tokio::spawn({
                let gate = gate.clone();
                async move { gate.judge(asked(&run("tee AGENTS.md"))).await }
            });
            let question = questions.recv().await.unwrap();
            assert_eq!(question.grants, []);
            question.answer(Word::Always);
            assert_eq!(judged.await.unwrap(), Verdict::Yes);
        }
    }
}

#[tokio::test]
async fn a_no_tells_its_reason() {
    let (gate, mut questions) = Asking::new(Rules::default());
    for (word, told) in [
        (Word::No(None), "the user said no"),
        (
            Word::No(Some("use make.".to_owned())),
            "the user said no, and: use make",
        ),
        (Word::Unasked("nobody can answer".to_owned()), "nobody can answer"),
    ] {
        let judged = tokio::spawn({
            let gate = gate.clone();
            async move { gate.judge(asked(&run("rm -rf target"))).await }
        });
        questions.recv().await.unwrap().answer(word);
        assert_eq!(judged.await.unwrap(), Verdict::No(told.to_owned()));
    }
}

#[tokio::test]
async fn nobody_there_means_no() {
    let (gate, questions) = Asking::new(Rules::default());
    drop(questions);
    assert!(matches!(gate.judge(asked(&run("make"))).await, Verdict::No(_)));
}
