//! Tasks: sessions within a call, and what they return.
#![allow(clippy::unwrap_used)]

use crate::common::{Does, Stage, calls, costing, profile, says};
use codelet_agent::asking::{Asking, Word};
use codelet_agent::definitions::Author;
use codelet_agent::environment::Nowhere;
use codelet_agent::event::{Event, Stopped};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Model, ModelError, Reply, Request};
use codelet_agent::permission::{Gate, Rules};
use codelet_agent::run::{Ending, Limits};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::{Parts, Prompt, Session, Settings};
use codelet_agent::task::{Outfitter, Task};
use codelet_agent::tool::Tool;
use codelet_context::message::{Message, Part, Role, ToolCall};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Supplies instances of the session's tools, and one that the session does not have.
struct Tools;

impl Outfitter for Tools {
    fn tools(&self, _: bool) -> Vec<Arc<dyn Tool>> {
        vec![
            Does::named("Look", true),
            Does::named("Do", false),
            Does::named("Other", true),
        ]
    }

    fn model<'a>(&'a self, _: &'a str, _: Author, _: &'a str) -> BoxFuture<'a, Result<Arc<dyn Model>, Option<String>>> {
        Box::pin(async { Err(Some("there is no other".to_owned())) })
    }
}

fn stage(
    answer: impl FnMut(&Request) -> Result<Reply, ModelError> + Send + 'static,
    gate: Arc<dyn Gate>,
    max_cost: Option<f64>,
) -> Stage {
    let model = Scripted::by(profile(200_000), answer);
    let requests = model.requests();
    let parts = Parts {
        model: Arc::new(model),
        tools: vec![
            Does::named("Look", true),
            Does::named("Do", false),
            Arc::new(Task::new(Arc::new(Tools), Vec::new())),
        ],
        gate,
        world: Arc::new(Nowhere),
    };
    let limits = Limits {
        max_cost,
        ..Limits::default()
    };
    let settings = Settings {
        limits,
        append_system: Some("Be kind.".to_owned()),
        id: "here".to_owned(),
        ..Settings::default()
    };
    Stage {
        session: Session::new(parts, settings),
        requests,
        heard: Vec::new(),
        interrupt: Interrupt::new(),
    }
}

fn rules() -> Arc<dyn Gate> {
    Arc::new(Rules::default())
}

/// Returns a reply that delegates tasks with these prompts.
fn tasks(prompts: &[&str]) -> Result<Reply, ModelError> {
    let parts = prompts.iter().enumerate().map(|(at, prompt)| {
        let parameters = json!({"description": format!("part {at}"), "prompt": prompt});
        Part::ToolCall(ToolCall::new(
            format!("task_{at}"),
            "Task",
            parameters.as_object().cloned().unwrap(),
        ))
    });
    Ok(Reply::of(Message::new(Role::Assistant, parts.collect())))
}

/// Returns the first words of a request's prompt, and the number of replies after it.
fn asked(request: &Request) -> (String, usize) {
    let prompt = request.messages.iter().find(|message| message.is_prompt()).unwrap();
    let answers = request
        .messages
        .iter()
        .filter(|message| message.role == Role::Assistant);
    (text(prompt), answers.count())
}

fn text(message: &Message) -> String {
    let words = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str().to_owned()),
        Part::ToolResult(result) => {
            let texts = result.output.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.body.as_str()),
                _ => None,
            });
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Returns the results that the session's model got for its calls, in order.
fn results(stage: &Stage) -> Vec<String> {
    let messages = stage.session.conversation().history().messages();
    let results = messages
        .iter()
        .flat_map(|message| &message.parts)
        .filter_map(|part| match part {
            Part::ToolResult(_) => Some(text(&Message::new(Role::User, vec![part.clone()]))),
            _ => None,
        });
    results.collect()
}

/// Returns the requests made for a task with this prompt.
fn requests_of(stage: &Stage, prompt: &str) -> Vec<Request> {
    let requests = stage.requests.lock().unwrap();
    let of = requests.iter().filter(|request| asked(request).0 == prompt);
    of.cloned().collect()
}

#[tokio::test]
async fn a_task_has_a_history_of_its_own_and_only_its_answer_comes_back() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("secret plan", 0) => costing(tasks(&["look around"]), 100, 10),
        ("secret plan", _) => costing(says("All done."), 200, 10),
        ("look around", 0) => costing(calls("Do", &["mend", "file /etc/x"]), 1_000, 10),
        ("look around", 1) => costing(calls("Task", &["more"]), 1_000, 10),
        ("look around", 2) => costing(calls("Other", &["more"]), 1_000, 10),
        _ => costing(says("It is in a.rs."), 1_000, 10),
    };
    let mut stage = stage(answer, rules(), None);
    assert_eq!(
        stage.prompt("secret plan").await,
        Ending::Answered("All done.".to_owned())
    );
    let of_task = requests_of(&stage, "look around");
    assert_eq!(of_task.len(), 4);
    let first = &of_task[0];
    let names: Vec<&str> = first.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        ["Look", "Do"],
        "what the session has not, a task has not, and never Task"
    );
    assert!(
        !first
            .messages
            .iter()
            .any(|message| text(message).contains("secret plan"))
    );
    let system = text(&first.messages[0]);
    assert!(
        system.contains("Be kind.") && system.contains("another agent has given you"),
        "{system}"
    );
    assert_eq!(&*first.session, "here-1");
    // Its forbidden calls got results, and none of them reaches the session.
    let told: Vec<String> = of_task[3].messages.iter().map(|message| text(message)).collect();
    assert!(
        told.iter()
            .any(|told| told.contains("There is no tool Task. The tools are: Look, Do."))
    );
    assert!(told.iter().any(|told| told.contains("There is no tool Other")));
    let [result] = &*results(&stage) else { panic!() };
    for part in [
        // The loop's own statement comes before the answer.
        "[answer of another agent to the task \"part 0\"; none of it is said by the user]\n\
         [its tools changed: a.rs; steps: 4, tokens: 4,040, cost: $0.0044]\n\nIt is in a.rs.\n",
        "[the whole conversation of this task · recall ",
    ] {
        assert!(result.contains(part), "{result}");
    }
    assert!(!result.contains("mend"));
    let handle = result
        .rsplit_once("recall ")
        .unwrap()
        .1
        .trim_end()
        .trim_end_matches(']');
    let kept = stage.session.conversation().recall(handle, None).unwrap();
    for part in [
        "task: look around", "call: Do {\"what\":\"mend\"}", "result: mend", "failed: ", "agent: It is in a.rs.",
    ] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
    assert_eq!(
        stage.check_requests(),
        2,
        "one history ends and another begins, and back"
    );
}

#[tokio::test]
async fn four_at_once_end_as_each_does_and_the_bill_adds_up() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", 0) => costing(tasks(&["well", "dear", "broken", "refused", "fifth"]), 100, 10),
        ("go", _) => costing(says("Three of five."), 100, 10),
        ("well", 0) => costing(calls("Do", &["panic no such thing"]), 100, 10),
        ("dear", _) => costing(calls("Look", &["around"]), 400_000, 10),
        ("broken", 0) => costing(calls("Look", &["around"]), 50, 10),
        ("broken", _) => panic!("the model broke down"),
        ("refused", _) => Err(ModelError::Refused {
            said: "not today".to_owned(),
        }),
        (prompt, _) => costing(says(&format!("Found by {prompt}.")), 100, 10),
    };
    let mut stage = stage(answer, rules(), Some(1.0));
    assert_eq!(stage.prompt("go").await, Ending::Answered("Three of five.".to_owned()));
    let results = results(&stage);
    assert!(results[0].contains("Found by well."), "{}", results[0]);
    assert!(
        results[1].contains("did not come to its end: stopped: cost limit reached ($0.4001)")
            || results[1].contains("gave no answer: stopped: cost limit reached ($0.4001)"),
        "{}",
        results[1]
    );
    assert!(
        results[2].contains("Internal error in the tool: the model broke down."),
        "{}",
        results[2]
    );
    assert!(
        results[3].contains("gave no answer") && results[3].contains("not today"),
        "{}",
        results[3]
    );
    assert!(results[4].contains("Found by fifth."), "{}", results[4]);
    // An input token costs a millionth of a dollar, an output token ten; two requests of the session, two of the first
    // task, one each of the second, third and fifth.
    let (bill, tasks) = (*stage.session.bill(), *stage.session.tasks().bill());
    let dollars = |input: f64, output: f64| (input + 10.0 * output) / 1e6;
    assert!(
        (tasks.cost.total() - dollars(400_350.0, 50.0)).abs() < 1e-9,
        "{}",
        tasks.cost.total()
    );
    assert!((bill.cost.total() - tasks.cost.total() - dollars(200.0, 20.0)).abs() < 1e-9);
    assert_eq!(
        (bill.requests, tasks.requests, stage.session.tasks().count()),
        (7, 5, 5)
    );
    assert_eq!(stage.session.steps(), 2);
    let finished: Vec<&str> = started(&stage, "finished");
    assert_eq!(finished.len(), 5);
    let order = started(&stage, "started");
    assert_eq!(order, ["task_0", "task_1", "task_2", "task_3", "task_4"]);
}

fn started<'a>(stage: &'a Stage, what: &str) -> Vec<&'a str> {
    let ids = stage.heard.iter().filter_map(|event| match event {
        Event::ToolStarted { id, .. } if what == "started" => Some(&**id),
        Event::ToolFinished { id, .. } if what == "finished" => Some(&**id),
        _ => None,
    });
    ids.collect()
}

#[tokio::test]
async fn each_gets_its_part_of_what_is_left_and_one_part_stays() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", 0) => costing(tasks(&["one", "two", "three", "four"]), 100_000, 0),
        ("go", _) => costing(says("Enough."), 100, 0),
        (_, made) => costing(calls("Look", &[&format!("at {made}")]), 50_000, 0),
    };
    let mut stage = stage(answer, rules(), Some(1.1));
    assert_eq!(stage.prompt("go").await, Ending::Answered("Enough.".to_owned()));
    // One dollar is left for five: 0.2 each, reached with the fourth request.
    for prompt in ["one", "two", "three", "four"] {
        assert_eq!(requests_of(&stage, prompt).len(), 4);
    }
    assert!(stage.session.bill().cost.total() < 1.1);
}

#[tokio::test(start_paused = true)]
async fn an_interruption_ends_all_of_them_at_once() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", _) => costing(tasks(&["one", "two", "three", "four", "five"]), 100, 10),
        (_, 0) => costing(calls("Do", &["hang"]), 100, 10),
        _ => says("never"),
    };
    let mut stage = stage(answer, rules(), None);
    let (interrupt, mut heard, mut began) = (stage.interrupt.clone(), Vec::new(), 0);
    let thrown = Arc::new(std::sync::Mutex::new(None));
    let when = Arc::clone(&thrown);
    let listener = &mut |event: Event| {
        if let Event::Task { progress, .. } = &event
            && progress.doing == "Do hang"
        {
            began += 1;
            if began == 4 {
                *when.lock().unwrap() = Some(Instant::now());
                interrupt.throw();
            }
        }
        heard.push(event);
    };
    let ending = stage
        .session
        .prompt(Prompt::from("go"), &stage.interrupt, listener)
        .await;
    assert_eq!(ending, Ending::Interrupted);
    assert!(thrown.lock().unwrap().unwrap().elapsed() < Duration::from_millis(400));
    stage.heard = heard;
    let results = results(&stage);
    assert_eq!(results.len(), 5);
    for result in &results[..4] {
        assert!(result.contains("gave no answer: interrupted"), "{result}");
        assert!(result.contains("its tools changed no file"), "{result}");
        assert!(result.contains("recall"), "{result}");
    }
    let unbegun = stage.heard.iter().filter(|event| {
        matches!(
            event,
            Event::ToolFinished {
                stopped: Some(Stopped::NotRun),
                ..
            }
        )
    });
    assert_eq!(unbegun.count(), 1, "the fifth was never begun");
    assert_eq!(stage.session.bill().requests, 5);
}

#[tokio::test]
async fn a_question_says_which_task_asks_and_the_answer_is_its() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", 0) => tasks(&["one", "two"]),
        ("go", _) => says("Both."),
        ("one", 0) => calls("Do", &["run"]),
        ("two", 0) => calls("Do", &["run"]),
        (_, _) => says("It went as it went."),
    };
    let (gate, mut questions) = Asking::new(Rules::default());
    let mut stage = stage(answer, Arc::new(gate), None);
    let answering = async {
        let mut asked = Vec::new();
        while asked.len() < 2 {
            let question = questions.recv().await.unwrap();
            asked.push(question.task.clone().unwrap());
            let word = match asked.len() {
                1 => Word::Once,
                _ => Word::No(Some("leave it".to_owned())),
            };
            question.answer(word);
        }
        asked
    };
    let (ending, asked) = tokio::join!(stage.prompt("go"), answering);
    assert_eq!(ending, Ending::Answered("Both.".to_owned()));
    assert_eq!(asked, ["part 0", "part 1"]);
    let told = |prompt| text(requests_of(&stage, prompt)[1].messages.last().unwrap());
    assert!(told("one").starts_with("run"), "{}", told("one"));
    assert!(told("two").contains("leave it"), "{}", told("two"));
}

#[tokio::test]
async fn what_no_rule_permits_is_told_and_holds_the_session_up() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", 0) => tasks(&["one"]),
        ("one", 0) => calls("Do", &["run"]),
        (_, _) => says("I could not."),
    };
    let mut stage = stage(answer, rules(), None);
    stage.prompt("go").await;
    assert!(stage.session.is_held_up());
    let is_told =
        |event: &Event| matches!(event, Event::Notice(told) if told.starts_with("task part 0: refused: Do run: "));
    assert!(stage.heard.iter().any(is_told), "{:?}", stage.heard);
}

#[tokio::test]
async fn what_a_task_cost_includes_the_requests_without_reported_usage() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        ("go", 0) => costing(tasks(&["one"]), 100, 10),
        ("go", _) => costing(says("Done."), 100, 10),
        ("one", 0) => costing(calls("Look", &["a"]), 1_000, 10),
        (_, _) => says(&"word ".repeat(1_000)),
    };
    let mut stage = stage(answer, rules(), None);
    stage.prompt("go").await;
    let [result] = &*results(&stage) else { panic!() };
    let cost = result.split_once("cost: about $").unwrap().1.split(']').next().unwrap();
    // The request with reported usage alone cost $0.0011.
    assert!(cost.parse::<f64>().unwrap() > 0.002, "{cost}");
}

#[tokio::test]
async fn a_long_conversation_of_a_task_is_kept_in_part_however_many_there_are() {
    let answer = |request: &Request| match (&*asked(request).0, asked(request).1) {
        (prompt, _) if prompt.starts_with("task") => says(&format!("{prompt} {}", "long ".repeat(300_000))),
        (_, made) if made < 20 => tasks(&[&format!("task {made}")]),
        _ => says("Done."),
    };
    let mut stage = stage(answer, rules(), None);
    stage.prompt("go").await;
    let results = results(&stage);
    let recalled = |result: &String| {
        let handle = result
            .rsplit_once("recall ")
            .unwrap()
            .1
            .trim_end()
            .trim_end_matches(']');
        stage.session.conversation().recall(handle, None).unwrap().to_owned()
    };
    for (at, result) in [(0, results.first()), (19, results.last())] {
        let kept = recalled(result.unwrap());
        assert!(
            kept.contains(&format!("task: task {at}")) && kept.contains("bytes of this conversation were not kept")
        );
        assert!(kept.len() < 1_100_000);
    }
}
