//! `/rewind` and `/undo`: previews the changes, asks where keys can answer, and reports the result.

use super::Chat;
use crate::decision::{Alternative, Decision};
use crate::front::{Activity, Front};
use crate::render::figures::count;
use crate::render::look::Role;
use crate::render::rewind;
use codelet_agent::rewind::told::{RewindCommand, USAGE, missing, wanted};
use codelet_agent::rewind::{Preview, Rewound, Scope};

impl<F: Front> Chat<F> {
    pub(super) async fn rewind(&mut self, arguments: &str) {
        match wanted(arguments) {
            RewindCommand::Preview(number) => self.preview(number).await,
            RewindCommand::Go {
                number,
                scope,
                overwrite,
            } => self.go_back(number, scope, overwrite).await,
            // The list only looks at the session and is shown elsewhere.
            RewindCommand::List | RewindCommand::Unknown => self.refuse(Role::Warning, USAGE),
        }
    }

    /// Previews a rewind and asks.
    async fn preview(&mut self, number: usize) {
        let shown = self.run(Activity::Restoring, async |session, _, _| {
            session.rewind_preview(number).await
        });
        let Some(preview) = shown.await.done else { return };
        let Some(preview) = preview else {
            return self.refuse(Role::Warning, &missing(number));
        };
        let look = self.front.look();
        self.front.print(rewind::preview(number, &preview, &look));
        let question = format!("Go back to before prompt {number}?");
        let Some(answer) = self.decide(question, alternatives(&preview)).await else {
            return self.say(Role::Dim, &preview.how(number));
        };
        let scope = match answer {
            Some('b') => Scope::Both,
            Some('c') => Scope::Conversation,
            Some('f') => Scope::Files,
            _ => return self.say(Role::Text, "Nothing was changed."),
        };
        let mut overwrite = false;
        if scope != Scope::Conversation && preview.changed_since() > 0 {
            let files = count(preview.changed_since() as u64, "file");
            let question = format!("Overwrite {files} changed since?");
            match self.decide(question, OVERWRITES.map(of).to_vec()).await {
                Some(Some('o')) => overwrite = true,
                Some(Some('k')) => {}
                _ => return self.say(Role::Text, "Nothing was changed."),
            }
        }
        self.go_back(number, scope, overwrite).await;
    }

    /// Asks for one of these; returns `None` if there are no keys to answer with, and `Some(None)` if the question was
    /// dismissed.
    async fn decide(&mut self, question: String, alternatives: Vec<Alternative>) -> Option<Option<char>> {
        let (decision, answered) = Decision::new(question, alternatives);
        if !self.front.decide(decision) {
            return None;
        }
        let decided = self.run(Activity::Deciding, async |_, interrupt, _| {
            tokio::select! {
                biased;
                () = interrupt.thrown() => None,
                answer = answered => answer.ok(),
            }
        });
        let decided = decided.await;
        self.interrupted(decided.was_interrupted);
        Some(decided.done.flatten())
    }

    async fn go_back(&mut self, number: usize, scope: Scope, overwrite: bool) {
        let rewound = self.run(Activity::Restoring, async |session, _, _| {
            session.rewind(number, scope, overwrite).await
        });
        let Some(rewound) = rewound.await.done else { return };
        let Some(rewound) = rewound else {
            return self.refuse(Role::Warning, &missing(number));
        };
        self.tell_rewound(&rewound);
        if let Some(text) = rewound.prompt.filter(|_| rewound.conversation) {
            self.front.fill(&text);
        }
    }

    /// Undoes the last /clear, /retry or /rewind.
    pub(super) async fn undo(&mut self) {
        let undone = self.run(Activity::Restoring, async |session, _, _| session.undo().await);
        let Some(undone) = undone.await.done else { return };
        let Some(undone) = undone else {
            return self.refuse(Role::Warning, &self.session.nothing_to_undo());
        };
        self.tell_rewound(&undone);
    }

    fn tell_rewound(&mut self, rewound: &Rewound) {
        let (told, failed) = rewound.told();
        self.say(Role::Good, &told);
        for why in failed {
            self.say(Role::Warning, &why);
        }
    }
}

const OVERWRITES: [(char, &str); 3] = [
    ('o', "overwrite them"),
    ('k', "keep them as they are"),
    ('n', "do nothing"),
];

fn of((letter, words): (char, &str)) -> Alternative {
    Alternative::new(letter, words)
}

/// The alternatives; those with files only if there are any.
fn alternatives(preview: &Preview) -> Vec<Alternative> {
    let has_files = preview.covered() + preview.changed_since() > 0;
    let files = |alternative| Some(alternative).filter(|_| has_files);
    let all = [
        files(('b', "both: conversation and files")),
        Some(('c', "conversation")),
        files(('f', "files")),
        Some(('n', "nothing")),
    ];
    all.into_iter().flatten().map(of).collect()
}
