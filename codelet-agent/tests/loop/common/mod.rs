//! A session with a scripted model and small tools, for the tests of the loop.
#![allow(dead_code, clippy::unwrap_used)]

use codelet_agent::environment::{Listing, Nowhere, Places, Surroundings};
use codelet_agent::event::Event;
use codelet_agent::interrupt::Interrupt;
use codelet_agent::model::{Billed, Delta, Model, ModelError, Profile, Reply, Request, Silence, Stop, ToolSpec};
use codelet_agent::permission::{Gate, Permission, Rules};
use codelet_agent::run::Ending;
use codelet_agent::scripted::Scripted;
use codelet_agent::session::{Parts, Prompt, Session, Settings};
use codelet_agent::tool::{Call, Looking, Need, Output, Tool};
use codelet_context::message::{Action, ActionKind, Message, Parameters, Part, Role, ToolCall};
use codelet_context::price::{PriceCard, Rates};
use codelet_context::usage::Usage;
use codelet_context::validate::validate;
use codelet_context::view::View;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt as _};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A tool that does what its first parameter says, so that tests read like scripts.
pub struct Does {
    spec: ToolSpec,
    only_looks: bool,
}

impl Does {
    pub fn named(name: &str, only_looks: bool) -> Arc<dyn Tool> {
        let spec = ToolSpec {
            name: name.into(),
            description: "Does what it is told.".into(),
            parameters: json!({"type": "object", "properties": {"what": {"type": "string"}}}),
        };
        Arc::new(Does { spec, only_looks })
    }
}

impl Tool for Does {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn action(&self, parameters: &Parameters) -> Action {
        assert_ne!(parameters.str("what"), Some("break down"));
        let kind = if self.only_looks {
            ActionKind::Read
        } else {
            ActionKind::Change
        };
        Action::on(kind, ["a.rs"])
    }
    fn is_read_only(&self) -> bool {
        self.only_looks
    }
    fn needs(&self, parameters: &Parameters) -> Result<Vec<Need>, String> {
        match parameters.str("what") {
            None => Err("`what` is missing".to_owned()),
            Some("run") => Ok(vec![Need::Run {
                command: "rm -rf /".to_owned(),
                folder: String::new(),
                looks: Looking::Inside,
            }]),
            Some("break down") => panic!("out of ink"),
            Some(what) if what.starts_with("sh ") => Ok(vec![Need::Run {
                command: what["sh ".len()..].to_owned(),
                folder: String::new(),
                looks: Looking::Only,
            }]),
            Some(what) => Ok(match what.strip_prefix("file ") {
                Some(path) if self.only_looks => vec![Need::Read {
                    path: path.into(),
                    is_inside: path.starts_with("/repo/"),
                    is_file: !path.ends_with('/'),
                }],
                Some(path) => vec![Need::Change {
                    path: path.into(),
                    is_inside: path.starts_with("/repo/"),
                    owner: None,
                    diff: String::new(),
                }],
                None => Vec::new(),
            }),
        }
    }
    fn describe(&self, parameters: &Parameters) -> String {
        assert_ne!(parameters.str("what"), Some("break down"));
        parameters.str("what").unwrap_or_default().to_owned()
    }
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let what = call.parameters.str("what").unwrap_or_default();
            match what.split_once(' ').unwrap_or((what, "")) {
                ("panic", why) => panic!("{why}"),
                ("fail", why) => Output::failure(why),
                ("hang", shown) => {
                    if !shown.is_empty() {
                        call.live.show(shown);
                    }
                    std::future::pending().await
                }
                ("wait", _) => {
                    call.interrupt.thrown().await;
                    Output::failure("ended early")
                }
                ("print", bytes) => Output::success("0123456789abcde\n".repeat(bytes.parse::<usize>().unwrap() / 16)),
                ("recall", handle) => match call.conversation.recall(handle, None) {
                    Some(text) => Output::success(text),
                    None => Output::failure("nothing is kept under this handle"),
                },
                _ => Output::success(what),
            }
        })
    }
}

/// A shell whose command prints this.
pub struct Prints(pub &'static str);

impl Tool for Prints {
    fn spec(&self) -> &ToolSpec {
        unreachable!("no model is told of it")
    }
    fn is_read_only(&self) -> bool {
        false
    }
    fn needs(&self, _: &Parameters) -> Result<Vec<Need>, String> {
        Ok(Vec::new())
    }
    fn describe(&self, _: &Parameters) -> String {
        String::new()
    }
    fn call<'a>(&'a self, _: Call<'a>) -> BoxFuture<'a, Output> {
        Box::pin(async { Output::success(self.0) })
    }
}

/// A project in `/repo` with files and a repository that tests can change.
#[derive(Default)]
pub struct Project {
    pub files: Mutex<BTreeMap<PathBuf, String>>,
    pub git: Mutex<Option<String>>,
    /// True if git gives no answer until the user interrupts.
    pub is_slow: bool,
}

impl Surroundings for Project {
    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        let files = self.files.lock().unwrap();
        let is_there =
            files.contains_key(path) || !path.ends_with("SKILL.md") && files.keys().any(|file| file.starts_with(path));
        is_there.then(|| path.to_owned())
    }
    fn is_folder(&self, path: &Path) -> bool {
        let files = self.files.lock().unwrap();
        !files.contains_key(path) && files.keys().any(|file| file.starts_with(path))
    }
    fn text(&self, path: &Path, _: usize) -> Option<(String, u64)> {
        let text = self.files.lock().unwrap().get(path)?.clone();
        let size = text.len() as u64;
        Some((text, size))
    }
    fn list(&self, folder: &Path, _: usize) -> Option<Listing> {
        let files = self.files.lock().unwrap();
        let below = files
            .keys()
            .filter_map(|file| file.strip_prefix(folder).ok()?.iter().next());
        let names: BTreeSet<String> = below.map(|name| name.to_str().unwrap().to_owned()).collect();
        (!names.is_empty()).then(|| Listing {
            names: names.into_iter().collect(),
            is_whole: true,
        })
    }
    fn places(&self) -> Places {
        Places {
            directory: "/repo".into(),
            root: "/repo".into(),
            home: Some("/home/ann".into()),
            ..Places::default()
        }
    }
    fn environment(&self) -> String {
        "platform: linux".to_owned()
    }
    fn git_status(&self, interrupt: Interrupt) -> BoxFuture<'static, Option<String>> {
        let (told, is_slow) = (self.git.lock().unwrap().clone(), self.is_slow);
        Box::pin(async move {
            if is_slow {
                interrupt.thrown().await;
            }
            told
        })
    }
}

pub fn profile(window: u64) -> Profile {
    Profile {
        name: "scripted/one".to_owned(),
        window,
        max_output: window / 10,
        sees_images: false,
        price: Some(PriceCard::flat(
            "scripted/one",
            Rates {
                input: 1.0,
                output: 10.0,
                cache_read: 0.1,
                cache_write: 1.25,
                cache_write_1h: 2.0,
            },
        )),
        is_unknown: false,
    }
}

pub fn says(text: &str) -> Result<Reply, ModelError> {
    Ok(Reply::of(Message::assistant(text)))
}

/// Returns a reply with one call of this tool for each item.
pub fn calls(tool: &str, whats: &[&str]) -> Result<Reply, ModelError> {
    let parts = whats.iter().enumerate().map(|(at, what)| {
        let parameters = json!({ "what": what }).as_object().cloned().unwrap();
        Part::ToolCall(ToolCall::new(format!("call_{at}"), tool, parameters))
    });
    Ok(Reply::of(Message::new(Role::Assistant, parts.collect())))
}

pub fn stopped(text: &str, stop: Stop) -> Result<Reply, ModelError> {
    let mut reply = Reply::of(if text.is_empty() {
        Message::new(Role::Assistant, Vec::new())
    } else {
        Message::assistant(text)
    });
    reply.stop = stop;
    Ok(reply)
}

pub fn costing(reply: Result<Reply, ModelError>, prompt: u64, output: u64) -> Result<Reply, ModelError> {
    reply.map(|mut reply| {
        reply.billed = Billed {
            usage: Usage::from_exclusive(prompt, 0, 0, output),
            ..Billed::default()
        };
        reply
    })
}

/// A session, its requests so far, and the events its listener received.
pub struct Stage {
    pub session: Session,
    pub requests: Arc<Mutex<Vec<Request>>>,
    pub heard: Vec<Event>,
    pub interrupt: Interrupt,
}

impl Stage {
    pub fn of(model: Scripted, settings: Settings) -> Self {
        let rules = Rules {
            permission: Permission::Edit,
            allow: Vec::new(),
            deny: Vec::new(),
        };
        Stage::with(Arc::new(rules), Arc::new(Nowhere), model, settings)
    }

    /// Creates a stage with this gate.
    pub fn behind(model: Scripted, settings: Settings, gate: Arc<dyn Gate>) -> Self {
        Stage::with(gate, Arc::new(Nowhere), model, settings)
    }

    pub fn within(world: Arc<dyn Surroundings>, model: Scripted, settings: Settings) -> Self {
        let rules = Rules {
            permission: Permission::Edit,
            allow: Vec::new(),
            deny: Vec::new(),
        };
        Stage::with(Arc::new(rules), world, model, settings)
    }

    fn with(gate: Arc<dyn Gate>, world: Arc<dyn Surroundings>, model: Scripted, settings: Settings) -> Self {
        let requests = model.requests();
        let parts = Parts {
            model: Arc::new(model),
            tools: vec![Does::named("Look", true), Does::named("Do", false)],
            gate,
            world,
        };
        Stage {
            session: Session::new(parts, settings),
            requests,
            heard: Vec::new(),
            interrupt: Interrupt::new(),
        }
    }

    pub fn scripted(answers: impl IntoIterator<Item = Result<Reply, ModelError>>) -> Self {
        Stage::of(Scripted::new(profile(200_000), answers), Settings::default())
    }

    pub async fn prompt(&mut self, text: &str) -> Ending {
        let heard = &mut self.heard;
        let listener = &mut |event: Event| heard.push(event);
        self.session.prompt(Prompt::from(text), &self.interrupt, listener).await
    }

    pub async fn retry(&mut self) -> Option<Ending> {
        let heard = &mut self.heard;
        self.session
            .retry(&Interrupt::new(), &mut |event: Event| heard.push(event))
            .await
    }

    /// Returns the messages of a request without the system prompt and the reminders.
    pub fn asked(&self, number: usize) -> Vec<Arc<Message>> {
        let requests = self.requests.lock().unwrap();
        let is_head = |message: &Arc<Message>| message.role == Role::System || is_reminders(message);
        requests[number]
            .messages
            .iter()
            .filter(|message| !is_head(message))
            .cloned()
            .collect()
    }

    pub fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Checks that each request is valid for every provider; returns how many do not extend the previous one.
    pub fn check_requests(&self) -> usize {
        let requests = self.requests.lock().unwrap();
        for request in requests.iter() {
            let view = View {
                messages: request.messages.clone(),
                ..View::default()
            };
            assert_eq!(validate(&view), []);
        }
        requests
            .windows(2)
            .filter(|pair| !pair[1].messages.starts_with(&pair[0].messages))
            .count()
    }
}

fn is_reminders(message: &Message) -> bool {
    use codelet_context::message::Origin;
    let is_reminder = |part: &Part| matches!(part, Part::Text(text) if matches!(text.origin, Origin::Reminder(_)));
    message.parts.iter().all(is_reminder)
}

pub fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A model that, from the second request on, stays silent until its own time limit.
pub struct Mute {
    pub profile: Profile,
    pub limit: Duration,
    pub asked: AtomicU32,
}

impl Model for Mute {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn silence(&self, _: u64) -> Option<Silence> {
        Some(Silence {
            first: self.limit,
            between: self.limit,
        })
    }

    fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, ModelError>> {
        let is_first = self.asked.fetch_add(1, Ordering::Relaxed) == 0;
        let limit = self.limit;
        stream::once(async move {
            if is_first {
                return calls("Look", &["around"]).map(Delta::Done);
            }
            tokio::time::sleep(limit).await;
            Err(ModelError::Cut {
                said: "nothing came".to_owned(),
                had_begun: false,
            })
        })
        .boxed()
    }
}

pub fn busy(after: Option<u64>) -> Result<Reply, ModelError> {
    Err(ModelError::Busy {
        retry_after: after.map(Duration::from_secs),
        said: "overloaded".to_owned(),
    })
}

pub fn cut() -> Result<Reply, ModelError> {
    Err(ModelError::Cut {
        said: "connection reset".to_owned(),
        had_begun: true,
    })
}
