//! Skills: their descriptions for the model, and their survival through compactions.

use crate::common::{Project, Stage, profile, says};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{ModelError, Reply};
use codelet_agent::scripted::Scripted;
use codelet_agent::session::Settings;
use codelet_agent::tool::{Refreshed, Tool, ToolSource};
use codelet_context::message::{Message, Origin, Part, ReminderKind, Role, ToolCall};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;

const PATH: &str = "/repo/.claude/skills/pdf/SKILL.md";
const SKILL: &str = "---\ndescription: Fills in forms.\n---\nAlways run fill.py first.\n";

fn read(name: &str) -> Result<Reply, ModelError> {
    let parameters = json!({ "name": name }).as_object().cloned().unwrap();
    let call = Part::ToolCall(ToolCall::new("call", "Skill", parameters));
    Ok(Reply::of(Message::new(Role::Assistant, vec![call])))
}

fn stage(world: &Arc<Project>, window: u64) -> Stage {
    let long: String = (0..2_000)
        .map(|n| format!("Line {n} of the answer is filled in.\n"))
        .collect();
    let model = Scripted::by(profile(window), move |request| {
        let last = request.messages.last().unwrap();
        match (last.tool_results().next(), last.is_prompt()) {
            (None, true) if request.messages.len() < 8 => read("pdf"),
            _ => says(&long),
        }
    });
    let settings = Settings {
        skills: true,
        ..Settings::default()
    };
    Stage::within(world.clone(), model, settings)
}

fn write(world: &Project, path: &str, text: &str) {
    world.files.lock().unwrap().insert(path.into(), text.to_owned());
}

/// Counts the results, and the texts added on the user's side of the view, that contain this.
fn seen(stage: &Stage, wanted: &str) -> usize {
    let view = stage.session.conversation().view();
    let from_user = view.messages.iter().filter(|message| message.role != Role::Assistant);
    let parts = from_user.flat_map(|message| &message.parts);
    let holds = |part: &&Part| match part {
        Part::Text(text) => text.origin == Origin::Injected && text.body.as_str().contains(wanted),
        Part::ToolResult(result) => result.texts().any(|text| text.body.as_str().contains(wanted)),
        _ => false,
    };
    parts.filter(holds).count()
}

#[tokio::test]
async fn skills_that_appear_before_an_interrupted_prompt_have_their_tool() {
    struct Slow;
    impl ToolSource for Slow {
        fn tools(&self) -> Vec<Arc<dyn Tool>> {
            Vec::new()
        }

        fn refresh(&self) -> BoxFuture<'_, Refreshed> {
            Box::pin(std::future::pending())
        }
    }
    let world = Arc::new(Project::default());
    let mut stage = stage(&world, 200_000);
    stage.session.served_by(Arc::new(Slow));
    write(&world, PATH, SKILL);
    stage.interrupt.throw();
    stage.prompt("Go.").await;
    assert!(stage.session.tools().iter().any(|tool| &*tool.name == "Skill"));
}

async fn compact(stage: &mut Stage) {
    let came = stage.session.compact(None, &Interrupt::new(), &mut |_| {}).await;
    came.unwrap();
}

#[tokio::test]
async fn skills_are_told_once_and_the_tool_is_there_while_there_are_any() {
    let world = Arc::new(Project::default());
    let mut stage = stage(&world, 200_000);
    let tools = |stage: &Stage| stage.session.tools().iter().any(|tool| &*tool.name == "Skill");
    stage.prompt("One.").await;
    assert!(!tools(&stage));
    write(&world, PATH, SKILL);
    stage.prompt("Two.").await;
    stage.prompt("Three.").await;
    assert!(tools(&stage));
    let told = |stage: &Stage| {
        let messages = &stage.session.conversation().view().messages;
        let parts = messages.iter().flat_map(|message| &message.parts);
        let of_skills =
            |part: &&Part| matches!(part, Part::Text(text) if text.origin == Origin::Reminder(ReminderKind::Skills));
        parts.filter(of_skills).count()
    };
    assert_eq!(told(&stage), 1);
    world.files.lock().unwrap().clear();
    stage.prompt("Four.").await;
    assert!(!tools(&stage));
    assert_eq!(told(&stage), 2);
}

#[tokio::test]
async fn a_skill_in_use_is_told_again_from_its_file_after_a_compaction() {
    let world = Arc::new(Project::default());
    write(&world, PATH, SKILL);
    let mut stage = stage(&world, 60_000);
    stage.prompt("Fill in the form.").await;
    assert_eq!(seen(&stage, "Always run fill.py first."), 1);
    for number in 0..3 {
        stage.prompt(&format!("More, {number}.")).await;
        compact(&mut stage).await;
        assert_eq!(seen(&stage, "Always run fill.py first."), 1, "{number}");
    }
    let text = SKILL.replace("first", "last");
    write(&world, PATH, &text);
    stage.prompt("And more.").await;
    compact(&mut stage).await;
    assert_eq!(seen(&stage, "Changed since you called Skill.\n"), 1);
    assert!(seen(&stage, "Always run fill.py last.") > 0);
    world.files.lock().unwrap().clear();
    for _ in 0..2 {
        stage.prompt("Even more.").await;
        compact(&mut stage).await;
    }
    // The tool that reads skills is gone, so none is mentioned.
    assert_eq!(
        stage
            .session
            .tools()
            .iter()
            .filter(|tool| &*tool.name == "Skill")
            .count(),
        0
    );
    let asked = stage.requests.lock().unwrap().len();
    assert!(asked >= 7, "{asked}");
}

#[tokio::test]
async fn a_skill_of_which_only_a_part_was_shown_has_not_changed() {
    let world = Arc::new(Project::default());
    let text = format!("{SKILL}{}The last line.\n", "A long line of it.\n".repeat(3_500));
    write(&world, PATH, &text);
    let mut stage = stage(&world, 2_000_000);
    stage.prompt("Fill in the form.").await;
    assert_eq!(seen(&stage, &"A long line of it.\n".repeat(3_500)), 0);
    stage.prompt("More.").await;
    compact(&mut stage).await;
    assert_eq!(seen(&stage, &"A long line of it.\n".repeat(3_500)), 1);
    assert_eq!(seen(&stage, "Changed since you called Skill.\n"), 0);
}

#[tokio::test]
async fn a_skill_that_is_too_long_for_a_window_is_named_and_one_that_is_gone_is_told_to_be() {
    let world = Arc::new(Project::default());
    write(&world, PATH, &format!("{SKILL}{}", "A long line of it.\n".repeat(700)));
    write(&world, "/repo/.claude/skills/other/SKILL.md", SKILL);
    let mut stage = stage(&world, 60_000);
    stage.prompt("Fill in the form.").await;
    stage.prompt("More.").await;
    compact(&mut stage).await;
    assert_eq!(seen(&stage, "The skill pdf has no room here; call Skill again"), 1);
    world.files.lock().unwrap().remove(std::path::Path::new(PATH));
    stage.prompt("More.").await;
    compact(&mut stage).await;
    assert_eq!(seen(&stage, "The skill pdf is gone"), 1);
}
