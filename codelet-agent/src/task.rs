//! Tasks: work that the model delegates to a session of its own, of which only the answer returns.
//!
//! [`Task`] is a tool like any other; the session lends it what it needs ([`Lent`]): the model, the gate, the world and
//! the tools. It runs a second [`Session`] within the call. Its cost is on the bill of the lending session, even if it
//! is interrupted or crashes.

mod agents;
mod told;

pub use agents::AGENTS;

use crate::environment::definitions::{Author, Definition};
use crate::environment::journal::{Journal, Mark};
use crate::interrupt::{self, Interrupt};
use crate::model::{Model, ToolSpec};
use crate::permission::need::Need;
use crate::permission::{Asked, Gate, Permission, Verdict};
use crate::run::settings::Settings;
use crate::run::{Ending, Limits};
use crate::session::prompt::Prompt;
use crate::session::{GRACE, Parts, Session};
use crate::tool::event::{Event, Listen, Progress};
use crate::tool::hooks::{Hooks, Occasion, Said};
use crate::tool::skills;
use crate::tool::tasks::{Seat, TOOL, kept, read};
use crate::tool::{Call, Lent, Live, Output, Tool};
use agents::Agent;
use codelet_context::message::{ActionKind, Parameters};
use codelet_context::policy::CompactAt;
use codelet_text::short::{clip, on_one_line};
use futures_util::future::BoxFuture;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The parameter that names a defined agent, if there are any.
const AGENT: &str = "subagent_type";
/// The maximum number of steps of a task, unless the session's own limit is lower.
const STEPS: u32 = 50;
/// The maximum length of a task's name, in characters.
const LONGEST_NAME: usize = 60;
/// The time for a task's session to end what it started, so that the outer session still receives its answer.
const TASK_GRACE: Duration = GRACE.saturating_sub(Duration::from_millis(20));
/// The maximum number of notices to the user per task.
const MOST_TOLD: usize = 8;

/// Text appended to the system prompt of a task's session.
const BRIEF: &str = "You work on one task that another agent has given you. Nobody answers questions. It gets your last answer and nothing \
    else: say there what you found or changed, with paths, and what is open.";

/// Supplies tasks with tools and models. The loop does not know how to make them.
pub trait Outfitter: Send + Sync {
    /// Returns fresh instances of the session's own tools, for a model that does or does not accept images: they have
    /// exactly the same permissions, now and whenever those change, and share nothing else with them, neither the files
    /// they have seen nor the shell's directory.
    fn tools(&self, sees_images: bool) -> Vec<Arc<dyn Tool>>;

    /// Returns the model that a definition by this author names, in a session with the model `current`.
    ///
    /// # Errors
    /// Says in a sentence for the user why it is not used; `None` if there is no reason to mention it.
    fn model<'a>(
        &'a self,
        name: &'a str,
        author: Author,
        current: &'a str,
    ) -> BoxFuture<'a, Result<Arc<dyn Model>, Option<String>>>;
}

/// The `Task` tool.
pub struct Task {
    spec: ToolSpec,
    outfitter: Arc<dyn Outfitter>,
    agents: Vec<Definition>,
    /// The number of tasks started.
    begun: AtomicUsize,
    /// What the user was told about models of definitions.
    told: Mutex<HashSet<String>>,
}

impl Task {
    /// Creates the tool; this outfitter supplies its tasks, which may use one of these agents.
    pub fn new(outfitter: Arc<dyn Outfitter>, agents: Vec<Definition>) -> Self {
        let mut description = include_str!("task/task.md").trim_end().to_owned();
        let mut parameters = json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "its name, 3-6 words"},
                "prompt": {"type": "string"},
            },
            "required": ["description", "prompt"],
        });
        if let Some((list, named_by)) = agents::told(&agents) {
            description.push_str(&list);
            parameters["properties"][AGENT] = named_by;
        }
        Task {
            spec: ToolSpec {
                name: TOOL.into(),
                description: description.into(),
                parameters,
            },
            outfitter,
            agents,
            begun: AtomicUsize::new(0),
            told: Mutex::default(),
        }
    }

    /// Returns the tools of a task: fresh instances of those that the session has, and those of servers as they are.
    fn tools(&self, lent: &Lent<'_>, agent: Option<&Agent>, sees_images: bool) -> Vec<Arc<dyn Tool>> {
        let has = |tool: &Arc<dyn Tool>| lent.own.iter().any(|own| own.spec().name == tool.spec().name);
        let fresh = self.outfitter.tools(sees_images).into_iter().filter(has);
        fresh
            .chain(lent.served.iter().cloned())
            // The task's session has its own tool for skills.
            .filter(|tool| &*tool.spec().name != skills::TOOL)
            .filter(|tool| !tool.works_apart() && agent.is_none_or(|agent| agent.has(tool)))
            .collect()
    }

    /// Returns the model of a task; `None` if the user interrupts meanwhile.
    async fn model(
        &self,
        agent: Option<&Agent>,
        lent: &Lent<'_>,
        interrupt: &Interrupt,
        told: &mut Vec<String>,
    ) -> Option<Arc<dyn Model>> {
        let current = lent.model;
        let Some((name, author)) = agent.and_then(|agent| agent.model.as_ref()) else {
            return Some(Arc::clone(current));
        };
        let found = tokio::select! {
            biased;
            () = interrupt.thrown() => return None,
            found = self.outfitter.model(name, *author, &current.profile().name) => found,
        };
        Some(found.unwrap_or_else(|why| {
            let mut before = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.extend(why.filter(|why| before.insert(why.clone())));
            Arc::clone(current)
        }))
    }

    async fn carry_out(&self, name: &str, prompt: &str, lent: Lent<'_>, call: &Call<'_>) -> Output {
        let wanted = call.parameters.str(AGENT).unwrap_or_default();
        let agent = match agents::named(wanted, &self.agents, &**lent.world) {
            Ok(agent) => agent,
            Err(why) => return Output::failure(why),
        };
        let mut told = Vec::new();
        let Some(model) = self.model(agent.as_ref(), &lent, &call.interrupt, &mut told).await else {
            return Output::failure(interrupt::MARK);
        };
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let parts = Parts {
            tools: self.tools(&lent, agent.as_ref(), model.profile().sees_images),
            model,
            gate: Arc::new(Named {
                gate: Arc::clone(lent.gate),
                task: name.to_owned(),
            }),
            world: Arc::clone(lent.world),
        };
        let mut session = Session::new(parts, settings(&lent, agent.as_ref(), number));
        let seat = lent.tasks.seat();
        session.seat = Some(Arc::clone(&seat));
        session.grace = TASK_GRACE;
        session.inherited = lent.narrowed.concat();
        session.journal = lent.journal.cloned();
        if let Some(hooks) = lent.hooks {
            session.hooked_by(Arc::new(OfCalls(Arc::clone(hooks))));
        }
        let mut teller = Teller {
            name,
            live: &call.live,
            seat,
            journal: lent.journal.map(|journal| (Arc::clone(journal), journal.mark())),
            place: lent.world.places().directory,
            changing: HashMap::new(),
            changed: HashSet::new(),
            step: 0,
            progress: Progress::default(),
            told: Vec::new(),
        };
        told.iter().for_each(|told| teller.tell(told));
        let ending = session.prompt(Prompt::from(prompt), &call.interrupt, &mut teller).await;
        let (told, place) = (teller.told, lent.world.places().directory);
        let transcript = told::transcript(name, &session);
        // This call must not change the conversation; a copy of the archive assigns the same handle.
        let handle = call.conversation.archive().clone().keep(&transcript, TOOL, "kept");
        let answer = told::answer(name, &ending, &session, &place) + &kept(&handle) + "\n";
        let mut output = match ending {
            Ending::Answered(_) => Output::success(answer),
            _ => Output::failure(answer),
        };
        output.transcript = Some(transcript);
        output.held_up = session.held_up;
        output.notices = told;
        output
    }
}

/// Returns the settings of a task's session: those of the parent session, with limits of its own.
fn settings(lent: &Lent<'_>, agent: Option<&Agent>, number: usize) -> Settings {
    let Limits {
        max_steps, patience, ..
    } = lent.settings.limits;
    let appended = lent.settings.append_system.as_deref();
    let behind = appended
        .into_iter()
        .chain([BRIEF])
        .chain(agent.map(|agent| &*agent.behind));
    Settings {
        limits: Limits {
            max_steps: Some(max_steps.unwrap_or(STEPS).min(STEPS)),
            max_cost: lent.share,
            patience,
        },
        // Nobody else could compact it.
        compact_at: match lent.settings.compact_at {
            CompactAt::Never => CompactAt::Full,
            at => at,
        },
        append_system: Some(behind.collect::<Vec<_>>().join("\n")),
        id: format!("{}-{number}", lent.settings.id),
        ..lent.settings.clone()
    }
}

/// Returns the task's name for people.
fn name(parameters: &Parameters) -> String {
    let named = parameters.str("description").unwrap_or_default();
    let named = match parameters.str(AGENT).filter(|agent| !agent.trim().is_empty()) {
        Some(agent) => format!("{}: {named}", agent.trim()),
        None => named.to_owned(),
    };
    let line: String = on_one_line(&named).take(LONGEST_NAME + 1).collect();
    clip(line.trim(), LONGEST_NAME).into_owned()
}

/// Returns a required, non-blank text parameter.
fn text<'a>(parameters: &'a Parameters, name: &str) -> Result<&'a str, String> {
    let text = parameters.str(name).filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("`{name}` is missing: a text"))
}

impl Tool for Task {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn works_apart(&self) -> bool {
        true
    }

    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        text(parameters, "description")?;
        text(parameters, "prompt")?;
        // Each call within the task is judged when it is made.
        Ok(Vec::new())
    }

    fn describe(&self, parameters: &Parameters) -> String {
        name(parameters)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let Some(lent) = call.lent else {
                return Output::failure("a task can only be handed on by a session");
            };
            match text(call.parameters, "prompt") {
                Ok(prompt) => self.carry_out(&name(call.parameters), prompt, lent, &call).await,
                Err(why) => Output::failure(why),
            }
        })
    }
}

/// The parent session's hooks, limited to events of calls and compactions: the task's prompt and answer are the model's
/// business.
struct OfCalls(Arc<dyn Hooks>);

impl Hooks for OfCalls {
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said> {
        match occasion {
            Occasion::SessionStart { .. } | Occasion::UserPromptSubmit { .. } | Occasion::Stop { .. } => {
                Box::pin(std::future::ready(Said::default()))
            }
            occasion => self.0.tell(occasion, interrupt),
        }
    }

    fn notify(&self, occasion: Occasion<'_>) {
        self.0.notify(occasion);
    }
}

/// A gate that names the task in each question.
struct Named {
    gate: Arc<dyn Gate>,
    task: String,
}

impl Gate for Named {
    fn judge<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Verdict> {
        self.gate.judge(Asked {
            task: Some(&self.task),
            ..asked
        })
    }

    fn permission(&self) -> Permission {
        // The task's session reads as in plan mode, but does not make the plan.
        self.gate.permission().max(Permission::Read)
    }

    fn can_ask(&self) -> bool {
        self.gate.can_ask()
    }

    fn given(&self, needs: &[Need]) -> Vec<Need> {
        self.gate.given(needs)
    }
}

/// Shows a task's progress, and collects notices for the user.
struct Teller<'a> {
    name: &'a str,
    live: &'a Live,
    seat: Seat,
    /// The session's journal, and the moment at which the task began.
    journal: Option<(Arc<dyn Journal>, Mark)>,
    place: PathBuf,
    /// The files that running calls change, by the calls' ids, and those that have been changed.
    changing: HashMap<Arc<str>, Vec<String>>,
    changed: HashSet<String>,
    /// The latest step requested.
    step: u32,
    progress: Progress,
    told: Vec<String>,
}

impl Teller<'_> {
    fn tell(&mut self, what: &str) {
        let told = format!("task {}: {what}", self.name);
        if self.told.len() < MOST_TOLD && !self.told.contains(&told) {
            self.told.push(told);
        }
    }
}

impl Teller<'_> {
    /// Notes the files of a call that starts or has ended.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::ToolStarted { id, action, .. } if action.kind == ActionKind::Change => {
                let files = action.paths.iter().map(|path| told::shown(path, &self.place));
                self.changing.insert(Arc::clone(id), files.collect());
            }
            Event::ToolFinished { id, success, .. } => {
                let files = self.changing.remove(id).unwrap_or_default();
                let Some((journal, began)) = self.journal.as_ref().filter(|_| *success && !files.is_empty()) else {
                    return;
                };
                self.changed.extend(files);
                // Other tasks may work at the same time.
                let mut files = journal.changed(*began, journal.mark());
                files.retain(|file| self.changed.contains(&file.name));
                self.progress.files = files;
            }
            _ => {}
        }
    }
}

impl Listen for Teller<'_> {
    fn on(&mut self, event: Event) {
        let before = self.progress.clone();
        self.follow(&event);
        let doing = match event {
            Event::Asking { step, .. } => {
                (self.step, self.progress.steps) = (step, step.saturating_sub(1));
                Some("waiting for the model".to_owned())
            }
            Event::Thinking(_) => Some("thinking".to_owned()),
            Event::Text(_) => Some("writing".to_owned()),
            Event::Waiting { cause, .. } => Some(cause),
            Event::ToolStarted { tool, description, .. } => {
                self.progress.steps = self.step;
                Some(format!("{tool} {description}").trim_end().to_owned())
            }
            Event::Billed { .. } => {
                self.progress.bill = read(&self.seat);
                None
            }
            Event::Over(Ending::Answered(_)) => {
                self.progress.steps = self.step;
                None
            }
            Event::Refused { tool, description, why } => {
                let what = format!("{tool} {description}");
                self.tell(&format!("refused: {}: {why}", what.trim_end()));
                None
            }
            Event::Notice(notice) => {
                self.tell(&notice);
                None
            }
            _ => None,
        };
        if let Some(doing) = doing {
            self.progress.doing = doing;
        }
        if self.progress != before {
            self.live.progress(self.progress.clone());
        }
    }
}
