//! A gate that asks the user about anything that the rules do not permit, and remembers grants for the session.

pub use crate::permission::grant::Grant;
use crate::permission::grant::grants;
use crate::permission::need::{Looking, Need};
use crate::permission::orders;
use crate::permission::{
    self, Asked, Gate, Permission, Rules, Verdict, allows, allows_call, allows_fetch, allows_other,
};
use codelet_context::refusal;
use futures_util::future::BoxFuture;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

#[cfg(test)]
mod tests;

/// The answer to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// Yes, this once.
    Once,
    /// Yes, and to everything that the question's [grants](Question::grants) cover, for the rest of the session.
    Always,
    /// No, with an optional reason, which the model is told.
    No(Option<String>),
    /// Nobody could answer, for this reason. The model is told that, and not that the user refused.
    Unasked(String),
}

/// Saves patterns for the session's project beyond the session; returns where they are and how to revoke them, or why
/// they cannot be saved.
pub type Keep = Arc<dyn Fn(&[String]) -> Result<String, String> + Send + Sync>;

#[derive(Clone)]
struct Keeper(Keep);

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// A question to the user.
#[derive(Debug)]
pub struct Question {
    /// The id of the call in question.
    pub call: Arc<str>,
    /// The task that makes the call; `None` if the session itself does.
    pub task: Option<String>,
    /// The tool.
    pub tool: String,
    /// The call in one line.
    pub description: String,
    /// The needs not yet permitted; all of them if a hook requires the question.
    pub needs: Vec<Need>,
    /// The reason to ask whatever the rules permit, from a hook; raw text.
    pub wary: Option<String>,
    /// The session's permission at the time of the question.
    pub permission: Permission,
    /// The grants of [`Word::Always`].
    pub grants: Vec<Grant>,
    /// The patterns that could be saved for the project, as editable text; `None` if there are none.
    pub proposal: Option<String>,
    state: Arc<Mutex<State>>,
    answer: oneshot::Sender<Word>,
}

impl Question {
    /// Returns whether the answer is no longer needed: the call was interrupted, or its needs were permitted meanwhile.
    pub fn is_moot(&self) -> bool {
        self.answer.is_closed() || self.wary.is_none() && lock(&self.state).open(&self.needs).is_empty()
    }

    /// Answers the question.
    pub fn answer(self, word: Word) {
        if word == Word::Always {
            lock(&self.state).grants.extend(self.grants);
        }
        // The receiver is gone if the call was interrupted.
        let _ = self.answer.send(word);
    }

    /// Parses patterns, if they can be saved for the project and permit the call in question.
    ///
    /// # Errors
    /// Says why not.
    pub fn patterns(&self, text: &str) -> Result<Vec<String>, String> {
        permission::patterns(text, &self.needs)
    }

    /// Permits the call, and from now on everything in this project that matches these [patterns](Self::patterns).
    /// Returns where they are saved and how to revoke them; if they cannot be saved, they hold for this session.
    pub fn keep(self, patterns: Vec<String>) -> String {
        let keeper = lock(&self.state).keeper.clone();
        let kept = match keeper {
            Some(Keeper(keep)) => keep(&patterns),
            None => Err("you have no settings file".to_owned()),
        };
        let shown: Vec<&str> = patterns
            .iter()
            .map(|pattern| permission::without_definition(pattern))
            .collect();
        let shown = shown.join(", ");
        let mut state = lock(&self.state);
        // In a read-only session, patterns from settings have no effect, but a grant by the user does.
        if kept.is_err() || state.rules.permission <= Permission::Read {
            state.grants.extend(patterns.iter().cloned().map(Grant::Commands));
        }
        if kept.is_ok() {
            state.rules.allow.extend(patterns);
        }
        drop(state);
        // The receiver is gone if the call was interrupted.
        let _ = self.answer.send(Word::Once);
        match kept {
            Ok(told) => format!("always allowed in this project: {shown} ({told})"),
            Err(why) => format!("permitted for this session only: {shown} · it could not be saved: {why}"),
        }
    }
}

#[derive(Debug)]
struct State {
    rules: Rules,
    /// The permission before plan mode, during plan mode: grants from then apply again afterwards.
    before_plan: Option<Permission>,
    grants: Vec<Grant>,
    keeper: Option<Keeper>,
}

impl State {
    /// Returns the needs that are not permitted.
    fn open(&self, needs: &[Need]) -> Vec<Need> {
        let is_open = |need: &&Need| {
            let is_granted = self.grants.iter().any(|grant| grant.covers(need)) || self.allows(need);
            self.rules.objection(need).is_some() && (!is_granted || self.is_out_of_question(need))
        };
        needs.iter().filter(is_open).cloned().collect()
    }

    /// Returns whether nobody can permit this now: in plan mode, everything but reading.
    fn is_out_of_question(&self, need: &Need) -> bool {
        self.rules.permission == Permission::Plan && !need.only_looks()
    }

    /// Returns whether all patterns together allow a need: a line of several commands may need several of them.
    fn allows(&self, need: &Need) -> bool {
        let granted = self.grants.iter().filter_map(|grant| match grant {
            Grant::Commands(pattern) => Some(pattern),
            _ => None,
        });
        let patterns: Vec<String> = self.patterns().iter().chain(granted).cloned().collect();
        match need {
            // Permitting a kind of command does not permit it to change files that other programs obey.
            Need::Run { command, folder, looks } => {
                allows(&patterns, command, !folder.is_empty(), *looks == Looking::Inside)
                    && orders::changed_by(command, folder).is_none()
            }
            Need::Call { tool, definition, .. } => allows_call(&patterns, tool, definition),
            Need::Fetch { host, .. } => allows_fetch(&patterns, host),
            _ => false,
        }
    }

    /// Marks each call whose tool was permitted with a different definition.
    fn compare(&self, needs: &mut [Need]) {
        for need in needs {
            let Need::Call {
                tool,
                definition,
                is_changed,
                ..
            } = need
            else {
                continue;
            };
            *is_changed = allows_other(self.patterns(), tool, definition)
                || self.grants.iter().any(|grant| match grant {
                    Grant::Tool(granted, known) => granted == tool && known != definition,
                    Grant::Commands(pattern) => allows_other(std::slice::from_ref(pattern), tool, definition),
                    _ => false,
                });
        }
    }

    /// Returns the patterns from settings, if they apply: a read-only session runs nothing without asking.
    fn patterns(&self) -> &[String] {
        match self.rules.permission {
            Permission::Plan | Permission::Read => &[],
            Permission::Edit | Permission::All => &self.rules.allow,
        }
    }
}

/// The gate of an attended session. Clones share the same gate.
#[derive(Clone, Debug)]
pub struct Asking {
    state: Arc<Mutex<State>>,
    questions: mpsc::UnboundedSender<Question>,
}

impl Asking {
    /// Creates a gate with these rules, and the receiver of its questions.
    pub fn new(rules: Rules) -> (Self, mpsc::UnboundedReceiver<Question>) {
        let (questions, asked) = mpsc::unbounded_channel();
        let state = State {
            rules,
            before_plan: None,
            grants: Vec::new(),
            keeper: None,
        };
        let state = Arc::new(Mutex::new(state));
        (Asking { state, questions }, asked)
    }

    /// Lets the gate save patterns for the project.
    pub fn keeping(self, keep: Keep) -> Self {
        lock(&self.state).keeper = Some(Keeper(keep));
        self
    }

    /// Sets the permission from now on. Narrowing it revokes the session's grants, except for plan mode.
    pub fn permit(&self, permission: Permission) {
        let mut state = lock(&self.state);
        let before = state.before_plan.unwrap_or(state.rules.permission);
        if permission == Permission::Plan {
            state.before_plan = Some(before);
        } else {
            if permission < before {
                state.grants.clear();
            }
            state.before_plan = None;
        }
        state.rules.permission = permission;
    }

    /// Returns the permission after plan mode: the one before it, or the default in a session that started with it.
    pub fn behind_plan(&self) -> Permission {
        let before = lock(&self.state).before_plan;
        before.filter(|before| *before != Permission::Plan).unwrap_or_default()
    }

    /// Returns the applicable patterns from settings, and the session's grants.
    pub fn granted(&self) -> (Vec<String>, Vec<Grant>) {
        let state = lock(&self.state);
        (state.patterns().to_vec(), state.grants.clone())
    }
}

impl Gate for Asking {
    fn permission(&self) -> Permission {
        lock(&self.state).rules.permission
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn given(&self, needs: &[Need]) -> Vec<Need> {
        let state = lock(&self.state);
        let lacks = state.grants.iter().filter_map(|grant| match grant {
            Grant::With(_, lack) | Grant::LineWith(_, lack) => Some(lack),
            _ => None,
        });
        let mut given: Vec<Need> = Vec::new();
        for lack in lacks {
            for need in needs {
                let Need::Run { command, folder, .. } = need else {
                    continue;
                };
                let with = Need::RunWith {
                    command: command.clone(),
                    folder: folder.clone(),
                    lack: lack.clone(),
                };
                if !given.contains(&with) && state.grants.iter().any(|grant| grant.covers(&with)) {
                    given.push(with);
                }
            }
        }
        given
    }

    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict> {
        Box::pin(async move {
            let denial = |need| lock(&self.state).rules.denial(need);
            if let Some(denial) = asked.needs.iter().find_map(denial) {
                return Verdict::No(denial);
            }
            let open = lock(&self.state).open(asked.needs);
            if open.is_empty() && asked.wary.is_none() {
                return Verdict::Yes;
            }
            let objection = |need: &Need| {
                let state = lock(&self.state);
                state
                    .is_out_of_question(need)
                    .then(|| state.rules.objection(need))
                    .flatten()
            };
            if let Some(objection) = open.iter().find_map(objection) {
                return Verdict::No(objection);
            }
            // An answer to a hook's question permits the call once; otherwise the next such call would bypass the hook.
            let mut needs = match asked.wary {
                Some(_) => asked.needs.to_vec(),
                None => open,
            };
            lock(&self.state).compare(&mut needs);
            let (answer, answered) = oneshot::channel();
            let can_keep = lock(&self.state).keeper.is_some();
            let question = Question {
                call: asked.call.into(),
                proposal: permission::proposal(&needs).filter(|_| can_keep && asked.wary.is_none()),
                task: asked.task.map(str::to_owned),
                wary: asked.wary.map(str::to_owned),
                permission: lock(&self.state).rules.permission,
                tool: asked.tool.to_owned(),
                description: asked.description.to_owned(),
                grants: asked.wary.map_or_else(|| grants(&needs), |_| Vec::new()),
                needs,
                state: Arc::clone(&self.state),
                answer,
            };
            if self.questions.send(question).is_err() {
                return Verdict::No("nobody can answer".to_owned());
            }
            match answered.await {
                Ok(Word::Once | Word::Always) => Verdict::Yes,
                Ok(Word::No(reason)) => Verdict::No(refusal::by_user(reason.as_deref())),
                Ok(Word::Unasked(why)) => Verdict::No(why),
                Err(_) => Verdict::No("nobody can answer".to_owned()),
            }
        })
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
