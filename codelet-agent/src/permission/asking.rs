//! A gate that asks a person about what the rules do not permit, and remembers what was permitted for the session.

use crate::permission::need::{Lack, Looking, Need};
use crate::permission::orders;
use crate::permission::{
    self, Asked, Gate, Permission, Rules, Verdict, allows, allows_call, allows_fetch, allows_other, pattern_for,
};
use codelet_context::refusal;
use futures_util::future::BoxFuture;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

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

/// What may be permitted for the rest of a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grant {
    /// Command lines that this pattern fits, as for [`allows`], or tools of servers.
    Commands(String),
    /// This command line and no other.
    Line(String),
    /// Looking at this, and if it is a folder at whatever lies in it.
    Look(PathBuf),
    /// Changing files in this folder.
    Change(PathBuf),
    /// Calling this tool of a server, with whatever parameters, as long as it has this definition.
    Tool(String, String),
    /// Fetching from this host at addresses that are not long.
    Host(String),
    /// Running command lines with what the sandbox does not give: those that these patterns fit together.
    With(Vec<String>, Lack),
    /// The same for this command line and no other.
    LineWith(String, Lack),
}

impl Grant {
    /// What it is about, and what that may be done with, in words.
    pub fn named(&self) -> (String, &'static str) {
        match self {
            Grant::Commands(pattern) if permission::is_of_hosts(pattern) => (pattern.clone(), "may be fetched from"),
            Grant::Commands(pattern) if permission::is_of_calls(pattern) => (pattern.clone(), "may be called"),
            Grant::Commands(pattern) => (pattern.clone(), "may be run"),
            Grant::Line(line) => (line.clone(), "may be run, exactly as written"),
            Grant::Look(folder) => (folder.display().to_string(), "may be read"),
            Grant::Change(folder) => (folder.display().to_string(), "may be changed"),
            Grant::Tool(tool, _) => (tool.clone(), "may be called"),
            Grant::Host(host) => (host.clone(), "may be fetched from, by short addresses"),
            Grant::With(patterns, lack) => (format!("{} with {}", patterns.join(" && "), lack.named()), "may be run"),
            Grant::LineWith(line, lack) => (
                format!("{line} with {}", lack.named()),
                "may be run, exactly as written",
            ),
        }
    }

    fn covers(&self, need: &Need) -> bool {
        match (self, need) {
            (Grant::Line(line), Need::Run { command, .. }) => line == command,
            (Grant::Look(folder) | Grant::Change(folder), Need::Read { path, .. }) => path.starts_with(folder),
            // Who may change a folder's files may not therefore change what git, or a shell, does there.
            (Grant::Change(folder), Need::Change { path, owner, .. }) => path.starts_with(folder) && owner.is_none(),
            (Grant::Tool(granted, known), Need::Call { tool, definition, .. }) => {
                granted == tool && known == definition
            }
            (Grant::Host(granted), Need::Fetch { host, is_long, .. }) => granted == host && !is_long,
            (Grant::With(patterns, given), Need::RunWith { command, folder, lack }) => {
                given == lack
                    && allows(patterns, command, !folder.is_empty(), true)
                    && orders::changed_by(command, folder).is_none()
            }
            (Grant::LineWith(line, given), Need::RunWith { command, lack, .. }) => given == lack && line == command,
            _ => false,
        }
    }
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

/// What "always" means for these needs.
fn grants(needs: &[Need]) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    for need in needs {
        let more = match need {
            Need::Run { command, folder, .. } if orders::changed_by(command, folder).is_some() => Vec::new(),
            Need::Run { command, .. } => match pattern_for(command) {
                Some(patterns) => patterns.into_iter().map(Grant::Commands).collect(),
                None => vec![Grant::Line(command.clone())],
            },
            // What is outside of the sandbox is permitted as it was read, and nothing like it.
            Need::RunWith {
                command,
                lack: lack @ Lack::Freedom,
                ..
            } => vec![Grant::LineWith(command.clone(), lack.clone())],
            Need::RunWith { command, folder, .. } if orders::changed_by(command, folder).is_some() => Vec::new(),
            Need::RunWith { command, lack, .. } => match pattern_for(command) {
                Some(patterns) => vec![Grant::With(patterns, lack.clone())],
                None => vec![Grant::LineWith(command.clone(), lack.clone())],
            },
            Need::Read { path, is_file, .. } => match path.parent() {
                Some(_) if *is_file => vec![Grant::Look(folder(path))],
                Some(_) => vec![Grant::Look(path.clone())],
                // It would be a grant for every file of the machine.
                None => Vec::new(),
            },
            Need::Change { owner: Some(_), .. } => Vec::new(),
            Need::Change { path, .. } => vec![Grant::Change(folder(path))],
            Need::Call { tool, definition, .. } => vec![Grant::Tool(tool.clone(), definition.clone())],
            Need::Fetch { is_long: true, .. } => Vec::new(),
            Need::Fetch { host, .. } => vec![Grant::Host(host.clone())],
        };
        for grant in more {
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
    }
    grants
}

/// The folder that a file lies in; never the root of everything.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.parent().is_some() => folder.to_owned(),
        _ => path.to_owned(),
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::permission::need::Owner;

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
        let tells_of_change =
            |question: &Question| matches!(&question.needs[..], [Need::Call { is_changed: true, .. }]);
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

    /// What is asked about when these are called under a gate whose settings do or do not take anything.
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
        assert_eq!(told, "permitted in this project: python3 -m pytest * · in the settings");
        assert_eq!(gate.judge(asked(&run("python3 -m pytest a.py"))).await, Verdict::Yes);
        gate.permit(Permission::Read);
        gate.permit(Permission::Edit);
        assert_eq!(gate.judge(asked(&run("python3 -m pytest a.py"))).await, Verdict::Yes);
        // Also where the settings permit nothing by themselves.
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

    #[test]
    fn a_folder_is_granted_and_nothing_beside_it() {
        let grant = Grant::Change(PathBuf::from("/work/notes"));
        let change = |path: &str, owner| Need::Change {
            path: PathBuf::from(path),
            is_inside: false,
            owner,
            diff: String::new(),
        };
        assert!(grant.covers(&change("/work/notes/a.md", None)));
        assert!(!grant.covers(&change("/work/notes2/a.md", None)));
        for owner in [Owner::Git, Owner::Codelet, Owner::Home, Owner::Obeyed("runs in CI")] {
            let need = change("/work/notes/.git/config", Some(owner));
            assert!(!grant.covers(&need));
            assert_eq!(grants(&[need]), []);
        }
        assert_eq!(folder(Path::new("/passwd")), Path::new("/passwd"));
    }
}
