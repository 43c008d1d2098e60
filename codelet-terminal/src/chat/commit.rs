//! `/commit`: shows the files with a message that the model proposes; the user accepts it, edits it or drops it.

use super::Chat;
use crate::commits;
use crate::front::{Activity, Front};
use crate::render::look::Role;
use codelet_agent::commit::{Committable, Made};
use codelet_agent::permission::{Gate as _, Permission};
use std::path::PathBuf;
use std::sync::Arc;

/// A commit that was shown to the user.
pub(crate) struct Proposed {
    commit: Committable,
    /// The proposed message; empty if there is none.
    message: String,
}

impl<F: Front> Chat<F> {
    pub(super) async fn commit(&mut self, arguments: &str) {
        let permission = self.reach.gate.permission();
        if permission <= Permission::Read {
            let why = match permission {
                Permission::Plan => "Not committed: plan mode is on; /plan off leaves it.",
                _ => "Not committed: permission `read` allows no changes; /permission edit does.",
            };
            return self.refuse(Role::Warning, why);
        }
        match commits::wanted(arguments) {
            commits::Wanted::Propose(words) => self.propose(words).await,
            commits::Wanted::Accept(written) => self.accept(written).await,
        }
    }

    /// Shows what would be committed, with the model's message.
    async fn propose(&mut self, words: &str) {
        self.proposed = None;
        let Some(commit) = self.committable().await else {
            return;
        };
        let asked = self.run(Activity::Commit, async |session, interrupt, listener| {
            session.propose_message(&commit, words, interrupt, listener).await
        });
        let asked = asked.await;
        if asked.was_interrupted {
            return self.interrupted(true);
        }
        let message = match asked.done {
            Some(Ok(message)) => commits::with_co_author(&message, self.reach.co_author.as_deref()),
            Some(Err(why)) => {
                self.say(Role::Warning, &format!("No message was proposed: {why}."));
                String::new()
            }
            None => return,
        };
        self.show(Proposed { commit, message });
    }

    /// Commits what was shown, with its message or the given one.
    async fn accept(&mut self, written: &str) {
        let shown = self.proposed.take();
        let message = match (&shown, written) {
            (Some(shown), "") => shown.message.clone(),
            (_, written) => written.to_owned(),
        };
        let Some(commit) = self.committable().await else {
            return;
        };
        if message.trim().is_empty() {
            self.refuse(
                Role::Warning,
                "Write the message after /commit accept, or use /commit to have one proposed.",
            );
            return self.proposed = shown;
        }
        // Written into an input that already held the command.
        if let Some(("/commit", rest)) = message.trim_start().split_once(char::is_whitespace) {
            self.refuse(Role::Warning, "Not committed: the message begins with /commit.");
            if let commits::Wanted::Accept(message) = commits::wanted(rest.trim_start()) {
                self.fill(message);
            }
            return self.proposed = shown;
        }
        let why = match &shown {
            Some(shown) if shown.commit == commit => None,
            Some(_) => Some("Not committed: files, hooks or the branch have changed. This would be committed now:"),
            None => Some("Not committed yet. This would be committed:"),
        };
        if let Some(why) = why {
            self.say(Role::Warning, why);
            return self.show(Proposed { commit, message });
        }
        let (world, made, told) = (Arc::clone(&self.reach.world), self.made(), message.clone());
        let committed = self.run(Activity::Commit, async |_, interrupt, _| {
            world
                .git_commit(commit.clone(), made, message.clone(), interrupt.clone())
                .await
        });
        let committed = committed.await;
        match committed.done {
            Some(Ok(made)) => self.committed(&commit, &made, &told),
            Some(Err(why)) => {
                self.refuse(Role::Error, &why);
                let message = told;
                self.fill(&message);
                self.proposed = Some(Proposed { commit, message });
            }
            None => {}
        }
        self.interrupted(committed.was_interrupted);
    }

    fn committed(&mut self, commit: &Committable, made: &Made, message: &str) {
        let look = self.front.look();
        self.front.print(commits::committed(&look, commit, made, message));
        if let Some(changed) = &made.changed {
            self.say(Role::Warning, &format!("During the commit, something {changed}."));
        }
        self.session.tell_commit(made);
    }

    /// Returns what can be committed now; reports why if there is nothing.
    async fn committable(&mut self) -> Option<Committable> {
        let (world, made) = (Arc::clone(&self.reach.world), self.made());
        let looked = self.run(Activity::Git, async |_, interrupt, _| {
            world.git_committable(made, interrupt.clone()).await
        });
        let looked = looked.await;
        self.interrupted(looked.was_interrupted);
        match looked.done {
            Some(Ok(commit)) if !looked.was_interrupted => Some(commit),
            Some(Err(why)) if !looked.was_interrupted => {
                self.refuse(Role::Warning, &why);
                None
            }
            _ => None,
        }
    }

    /// Shows it to the user.
    fn show(&mut self, proposed: Proposed) {
        let look = self.front.look();
        let is_shut_in = self.reach.gate.permission() != Permission::All;
        self.front.print(commits::lines(&look, &proposed.commit, is_shut_in));
        if self.fill(&proposed.message) {
            self.say(Role::Dim, commits::FILLED);
        } else if !proposed.message.is_empty() {
            self.front.print(commits::message(&look, &proposed.message));
            self.say(Role::Dim, commits::LISTED);
        }
        self.proposed = Some(proposed);
    }

    fn fill(&mut self, message: &str) -> bool {
        self.front.fill(&format!("/commit accept\n{message}"))
    }

    /// The canonical paths of the files that tools of this session have written.
    fn made(&self) -> Vec<PathBuf> {
        let world = &self.reach.world;
        let directory = world.places().directory;
        let facts = self.session.conversation().facts();
        let written = facts.files.iter().filter(|file| file.is_changed);
        written
            .filter_map(|file| world.resolve(&directory.join(&*file.path)))
            .collect()
    }
}
