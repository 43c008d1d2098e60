//! Tools of a source that change while a session lives: between two prompts, and never within one.

use crate::common::{Does, Stage, calls, costing, profile, says};
use codelet_agent::event::Event;
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_agent::tool::{Refreshed, Tool, ToolSource};
use codelet_context::breaks::Cause;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};

/// Offers the tools in `now`; after a refresh, those in `next`.
#[derive(Default)]
struct Offered {
    now: Mutex<Vec<&'static str>>,
    next: Mutex<Option<Vec<&'static str>>>,
    is_slow: bool,
}

impl Offered {
    fn change(&self, names: &[&'static str]) {
        *self.next.lock().unwrap() = Some(names.to_vec());
    }
}

impl ToolSource for Offered {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.now
            .lock()
            .unwrap()
            .iter()
            .map(|name| Does::named(name, false))
            .collect()
    }

    fn refresh(&self) -> BoxFuture<'_, Refreshed> {
        Box::pin(async {
            if self.is_slow {
                std::future::pending::<()>().await;
            }
            let Some(next) = self.next.lock().unwrap().take() else {
                return Refreshed::default();
            };
            *self.now.lock().unwrap() = next;
            Refreshed {
                tools: Some(self.tools()),
                notices: vec!["the tools are others".to_owned()],
            }
        })
    }
}

fn told(stage: &Stage, request: usize) -> Vec<String> {
    let requests = stage.requests.lock().unwrap();
    let names = requests[request].tools.iter().map(|tool| tool.name.to_string());
    names.filter(|name| name.contains("__")).collect()
}

fn notices(stage: &Stage) -> Vec<&str> {
    let notices = stage.heard.iter().filter_map(|event| match event {
        Event::Notice(text) => Some(text.as_str()),
        _ => None,
    });
    notices.filter(|text| text.contains("tools")).collect()
}

#[tokio::test]
async fn tools_change_with_the_next_prompt_and_not_in_the_middle_of_one() {
    let offered = Arc::new(Offered::default());
    *offered.now.lock().unwrap() = vec!["s__echo"];
    let changing = offered.clone();
    let mut number = 0;
    let model = Scripted::by(profile(200_000), move |_| {
        number += 1;
        match number {
            1 => {
                changing.change(&["s__echo", "s__late"]);
                costing(calls("s__echo", &["hello"]), 2_000, 10)
            }
            2 => costing(says("One."), 2_000, 10),
            3 => costing(calls("s__late", &["there"]), 3_000, 10),
            _ => costing(says("Two."), 3_000, 10),
        }
    });
    let mut stage = Stage::of(model, Settings::default());
    stage.session.served_by(offered.clone());
    assert_eq!(stage.prompt("First.").await, Ending::Answered("One.".to_owned()));
    let before = stage.session.overhead();
    assert_eq!(stage.prompt("Second.").await, Ending::Answered("Two.".to_owned()));
    let each: Vec<usize> = (0..4).map(|request| told(&stage, request).len()).collect();
    assert_eq!(each, [1, 1, 2, 2]);
    assert!(stage.session.overhead() > before);
    assert_eq!(notices(&stage), ["the tools are others"]);
    let breaks: Vec<Cause> = stage
        .session
        .conversation()
        .breaks()
        .iter()
        .map(|it| it.cause)
        .collect();
    assert_eq!(breaks, [Cause::Tools]);
}

#[tokio::test]
async fn a_list_that_comes_out_the_same_costs_nothing_and_a_tool_that_is_gone_is_named_as_such() {
    let offered = Arc::new(Offered::default());
    *offered.now.lock().unwrap() = vec!["s__echo"];
    let answers = [
        costing(says("One."), 2_000, 10),
        costing(says("Two."), 2_000, 10),
        costing(calls("s__echo", &["hello"]), 2_000, 10),
        costing(says("Three."), 2_000, 10),
    ];
    let mut stage = Stage::of(Scripted::new(profile(200_000), answers), Settings::default());
    stage.session.served_by(offered.clone());
    stage.prompt("First.").await;
    offered.change(&["s__echo"]);
    stage.prompt("Second.").await;
    assert!(stage.session.conversation().breaks().is_empty());
    assert_eq!(notices(&stage), ["the tools are others"]);
    offered.change(&[]);
    stage.prompt("Third.").await;
    assert_eq!(told(&stage, 3), [""; 0]);
    let requests = stage.requests.lock().unwrap();
    let said = format!("{:?}", requests[3].messages.last().unwrap());
    assert!(said.contains("There is no tool s__echo"), "{said}");
}

#[tokio::test]
async fn a_source_that_does_not_answer_is_left_when_the_user_interrupts() {
    let offered = Offered {
        is_slow: true,
        ..Offered::default()
    };
    let mut stage = Stage::of(Scripted::new(profile(200_000), [says("Never.")]), Settings::default());
    stage.session.served_by(Arc::new(offered));
    stage.interrupt.throw();
    assert_eq!(stage.prompt("Go.").await, Ending::Interrupted);
    assert!(stage.requests.lock().unwrap().is_empty());
}
