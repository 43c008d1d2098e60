//! A gate that asks a person about what the rules do not permit, and remembers what was permitted for the session.

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

/// What somebody says to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// This once.
    Once,
    /// This, and whatever the [grants](Question::grants) of the question name, for the rest of the session.
    Always,
    /// No, and for what reason; the model is told.
    No(Option<String>),
    /// Nobody could say anything, and why. The model is told that, and not that the user has said so.
    Unasked(String),
}

/// Keeps patterns for the session's project beyond the session; says where they stand and how they are taken back, or why they cannot be kept.
pub type Keep = Arc<dyn Fn(&[String]) -> Result<String, String> + Send + Sync>;

#[derive(Clone)]
struct Keeper(Keep);

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}

/// Something that a person is asked.
#[derive(Debug)]
pub struct Question {
    /// The id of the call that it is about.
    pub call: Arc<str>,
    /// The task whose call it is; none where the session itself makes it.
    pub task: Option<String>,
    /// The tool.
    pub tool: String,
    /// The call in one line.
    pub description: String,
    /// What is not permitted yet; all of it where a hook wants a person asked.
    pub needs: Vec<Need>,
    /// Why a person is asked whatever the rules permit, as a hook says; texts as they came.
    pub wary: Option<String>,
    /// How far the session goes as this is asked.
    pub permission: Permission,
    /// What [`Word::Always`] permits.
    pub grants: Vec<Grant>,
    /// The patterns that could be kept for the project, as a text to be changed; `None` where none can be.
    pub proposal: Option<String>,
    state: Arc<Mutex<State>>,
    answer: oneshot::Sender<Word>,
}

impl Question {
    /// Whether nobody needs the answer any more: the call was interrupted, or what it needs was permitted meanwhile.
    pub fn is_moot(&self) -> bool {
        self.answer.is_closed() || self.wary.is_none() && lock(&self.state).open(&self.needs).is_empty()
    }

    /// Answers.
    pub fn answer(self, word: Word) {
        if word == Word::Always {
            lock(&self.state).grants.extend(self.grants);
        }
        // A call that was interrupted meanwhile needs no answer.
        let _ = self.answer.send(word);
    }

    /// The patterns of a text, if they can be kept for the project and permit what is asked.
    ///
    /// # Errors
    /// Says why not.
    pub fn patterns(&self, text: &str) -> Result<Vec<String>, &'static str> {
        permission::patterns(text, &self.needs)
    }

    /// Permits it, and from now on what these [patterns](Self::patterns) fit, in this project. Says where that stands and how it is taken
    /// back; where it cannot be kept, it holds for this session.
    pub fn keep(self, patterns: Vec<String>) -> String {
        let keeper = lock(&self.state).keeper.clone();
        let kept = match keeper {
            Some(Keeper(keep)) => keep(&patterns),
            None => Err("you have no settings file".to_owned()),
        };
        let shown = patterns.join(", ");
        let mut state = lock(&self.state);
        // What the settings permit does not hold in a session that only looks; what somebody has just permitted does.
        if kept.is_err() || state.rules.permission <= Permission::Read {
            state.grants.extend(patterns.iter().cloned().map(Grant::Commands));
        }
        if kept.is_ok() {
            state.rules.allow.extend(patterns);
        }
        drop(state);
        // A call that was interrupted meanwhile needs no answer.
        let _ = self.answer.send(Word::Once);
        match kept {
            Ok(told) => format!("permitted in this project: {shown} · {told}"),
            Err(why) => format!("permitted for this session only: {shown} · it could not be saved: {why}"),
        }
    }
}

#[derive(Debug)]
struct State {
    rules: Rules,
    /// What held before plan mode, while that holds: grants of then hold again behind it.
    before_plan: Option<Permission>,
    grants: Vec<Grant>,
    keeper: Option<Keeper>,
}

impl State {
    /// What of this is not permitted.
    fn open(&self, needs: &[Need]) -> Vec<Need> {
        let is_open = |need: &&Need| {
            let is_granted = self.grants.iter().any(|grant| grant.covers(need)) || self.allows(need);
            self.rules.objection(need).is_some() && (!is_granted || self.is_out_of_question(need))
        };
        needs.iter().filter(is_open).cloned().collect()
    }

    /// Whether nobody can permit this now: in plan mode all but a look.
    fn is_out_of_question(&self, need: &Need) -> bool {
        self.rules.permission == Permission::Plan && !need.only_looks()
    }

    /// A line of several commands may fit several patterns together.
    fn allows(&self, need: &Need) -> bool {
        let granted = self.grants.iter().filter_map(|grant| match grant {
            Grant::Commands(pattern) => Some(pattern),
            _ => None,
        });
        let patterns: Vec<String> = self.patterns().iter().chain(granted).cloned().collect();
        match need {
            // Who permits a kind of command has not therefore permitted what gives orders to others.
            Need::Run { command, folder, looks } => {
                allows(&patterns, command, !folder.is_empty(), *looks == Looking::Inside)
                    && orders::changed_by(command, folder).is_none()
            }
            Need::Call { tool, definition, .. } => allows_call(&patterns, tool, definition),
            Need::Fetch { host, .. } => allows_fetch(&patterns, host),
            _ => false,
        }
    }

    /// Notes of each call whether it is of a tool that somebody has permitted when it had another definition.
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

    /// The patterns of the settings, as far as they hold: a session that only looks runs nothing unasked.
    fn patterns(&self) -> &[String] {
        match self.rules.permission {
            Permission::Plan | Permission::Read => &[],
            Permission::Edit | Permission::All => &self.rules.allow,
        }
    }
}

/// The gate of a session that somebody watches. A clone is the same gate.
#[derive(Clone, Debug)]
pub struct Asking {
    state: Arc<Mutex<State>>,
    questions: mpsc::UnboundedSender<Question>,
}

impl Asking {
    /// A gate with these rules, and where its questions arrive.
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

    /// The same gate, where what is permitted can be kept for the project.
    pub fn keeping(self, keep: Keep) -> Self {
        lock(&self.state).keeper = Some(Keeper(keep));
        self
    }

    /// Lets them go as far as this from now on. What was granted for the session is taken back where it becomes narrower, but for a plan.
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

    /// How far they may go once plan mode is over: as far as before it, and in a session that has begun with it, as usual.
    pub fn behind_plan(&self) -> Permission {
        let before = lock(&self.state).before_plan;
        before.filter(|before| *before != Permission::Plan).unwrap_or_default()
    }

    /// The patterns of the settings that hold, and what was granted in this session.
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
            // A word that is given because of a hook permits this once, or the next such call would pass by the hook.
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
