//! Going back to a prompt: the request after that, and what the model is told about files.

use crate::common::{Stage, says};
use codelet_agent::journal::{Change, ChangedFile, Journal, Mark, Restore, Restored};
use codelet_agent::rewind::Scope;
use codelet_context::message::{Message, Part};
use codelet_context::pin::Pin;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex};

/// A journal of one file whose content is a number, with occasional commands.
#[derive(Default)]
struct Counted {
    /// The content at each moment, and whether it came from a command.
    states: Mutex<Vec<(u32, bool)>>,
}

impl Counted {
    fn change(&self, content: u32) {
        self.states.lock().unwrap().push((content, false));
    }

    fn at(&self, mark: Mark) -> u32 {
        let states = self.states.lock().unwrap();
        mark.0.checked_sub(1).map_or(0, |at| states[at].0)
    }
}

impl Journal for Counted {
    fn mark(&self) -> Mark {
        Mark(self.states.lock().unwrap().len())
    }

    fn note_command(&self, _: &str) {
        let now = self.at(self.mark());
        self.states.lock().unwrap().push((now, true));
    }

    fn commands(&self, from: Mark, to: Mark) -> Vec<String> {
        let states = self.states.lock().unwrap();
        let ran = states[from.0..to.0].iter().filter(|(_, is_command)| *is_command);
        ran.map(|_| "make".to_owned()).collect()
    }

    fn changed(&self, from: Mark, to: Mark) -> Vec<ChangedFile> {
        let file = ChangedFile {
            name: "n.txt".to_owned(),
            change: Change::Altered,
            lines: None,
        };
        Some(file)
            .filter(|_| self.at(from) != self.at(to))
            .into_iter()
            .collect()
    }

    fn restores(&self, _: Mark) -> BoxFuture<'static, Vec<Restore>> {
        Box::pin(async { Vec::new() })
    }

    fn restore(&self, to: Mark, _: bool) -> BoxFuture<'static, Vec<Restored>> {
        let changed = self.changed(to, self.mark()).into_iter();
        self.change(self.at(to));
        let restored = changed.map(|file| Restored {
            name: file.name,
            change: file.change,
            done: Ok(()),
        });
        let restored = restored.collect();
        Box::pin(async { restored })
    }

    fn forget_looks(&self) {}
}

/// Returns a stage with three prompts, each of which changed the file once.
async fn stage() -> (Stage, Arc<Counted>) {
    let mut stage = Stage::scripted(["One.", "Two.", "Three.", "Four.", "Five."].map(says));
    let journal = Arc::new(Counted::default());
    stage.session.journalled_by(journal.clone());
    for number in 1..=3 {
        stage.prompt(&format!("Number {number}.")).await;
        journal.change(number);
    }
    (stage, journal)
}

fn view(stage: &Stage) -> Vec<Arc<Message>> {
    stage.session.conversation().view().messages.clone()
}

fn last_words(stage: &Stage) -> String {
    let last = view(stage).pop().unwrap();
    let texts = last.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.body.as_str().to_owned()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn both_go_back_and_forth_and_nothing_has_to_be_told() {
    let (mut stage, journal) = stage().await;
    let all = view(&stage);
    let prompts = stage.session.past_prompts(9);
    let told: Vec<(usize, &str, usize)> = prompts
        .iter()
        .map(|it| (it.number, &*it.text, it.files.len()))
        .collect();
    assert_eq!(told, [(1, "Number 1.", 1), (2, "Number 2.", 1), (3, "Number 3.", 1)]);
    let preview = stage.session.rewind_preview(2).await.unwrap();
    assert_eq!((preview.prompts, preview.steps, preview.calls), (2, 2, 0));
    let rewound = stage.session.rewind(2, Scope::Both, false).await.unwrap();
    assert_eq!(rewound.prompt.as_deref(), Some("Number 2."));
    assert_eq!(journal.at(journal.mark()), 1);
    assert_eq!(last_words(&stage), "One.");
    assert_eq!(stage.session.past_prompts(9).len(), 1);
    assert!(stage.session.rewind(2, Scope::Both, false).await.is_none());
    assert!(stage.session.last_turn().is_none() && stage.retry().await.is_none());
    stage.session.undo().await.unwrap();
    assert_eq!((view(&stage), journal.at(journal.mark())), (all, 3));
    assert_eq!(stage.session.past_prompts(9).len(), 3);
    // A second undo redoes the rewind; a new prompt then follows the first one.
    stage.session.undo().await.unwrap();
    assert_eq!((last_words(&stage).as_str(), journal.at(journal.mark())), ("One.", 1));
    stage.prompt("Another one.").await;
    let asked = stage.asked(3);
    assert!(
        asked
            .iter()
            .all(|message| !format!("{message:?}").contains("Number 2."))
    );
    // Undo also removes what was said since.
    stage.session.undo().await.unwrap();
    assert_eq!(last_words(&stage), "Three.");
}

#[tokio::test]
async fn the_model_is_told_wherever_files_are_not_as_the_conversation_knows_them() {
    let (mut stage, journal) = stage().await;
    stage.session.rewind(2, Scope::Conversation, false).await.unwrap();
    let told = last_words(&stage);
    assert!(
        told.contains("not as it knows them") && told.contains("- n.txt") && !told.contains("Commands"),
        "{told}"
    );
    // The restored conversation knows the file's content, so there is nothing to tell.
    stage.session.undo().await.unwrap();
    assert_eq!(last_words(&stage), "Three.");
    let rewound = stage.session.rewind(3, Scope::Files, false).await.unwrap();
    assert!(!rewound.conversation);
    let told = last_words(&stage);
    assert!(
        told.contains("before the prompt \"Number 3.\"") && told.contains("- n.txt"),
        "{told}"
    );
    assert_eq!(
        (journal.at(journal.mark()), stage.session.past_prompts(9).len()),
        (2, 3)
    );
    stage.session.undo().await.unwrap();
    assert!(last_words(&stage).contains("before the user's last rewind"));
    assert_eq!(journal.at(journal.mark()), 3);
    // Changes by a command since are not reverted.
    journal.note_command("make");
    stage.session.rewind(3, Scope::Both, false).await.unwrap();
    let told = last_words(&stage);
    assert!(
        told.contains("That work included commands") && !told.contains("- n.txt"),
        "{told}"
    );
}

#[tokio::test]
async fn what_is_cleared_or_sent_again_keeps_its_prompts_apart() {
    let (mut stage, journal) = stage().await;
    stage.session.conversation_mut().pin(Pin::Text("no tabs".to_owned()));
    stage.retry().await;
    let prompts = stage.session.past_prompts(9);
    assert_eq!(prompts.len(), 3);
    // The changes of the first try belong to the prompt, too.
    assert_eq!(prompts[2].files.len(), 1);
    stage.session.clear();
    assert!(stage.session.past_prompts(9).is_empty());
    journal.change(9);
    stage.session.undo().await.unwrap();
    assert_eq!(stage.session.past_prompts(9).len(), 3);
    assert!(last_words(&stage).contains("- n.txt"), "cleared work has changed it");
    assert_eq!(stage.session.conversation().pins().len(), 1);
}
