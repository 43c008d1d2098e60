//! Runs a session's hooks on the agent loop's events and combines their answers.

use super::written::{Hook, Matcher};
use super::{answer, occasion};
use crate::paint::{clean, clip};
use crate::place::Place;
use crate::transcript::Transcript;
use codelet_agent::hooks::{Hooks, Objection, Occasion, Said};
use codelet_agent::interrupt::Interrupt;
use codelet_agent::session::Session;
use codelet_tools::Reach;
use codelet_tools::hook::Command;
use futures_util::future::{self, BoxFuture};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The maximum context passed to the model per occasion, in bytes; a single hook's context is limited further.
const CONTEXT: usize = 40_000;
/// Columns of a command in a notice.
const SHOWN: usize = 60;

/// Session information for hooks.
struct About {
    /// The session's name.
    session: String,
    /// Returns the path of the transcript, if one is written.
    transcript: Box<dyn Fn() -> Option<PathBuf> + Send + Sync>,
    /// The working directory.
    directory: PathBuf,
    /// The permissions of the session's tools; runs hooks as tools run commands.
    reach: Reach,
}

/// A hook that runs longer than this is named.
const SLOW: Duration = Duration::from_secs(1);

/// The hooks that a session waits for, with the times at which they began.
#[derive(Clone, Default)]
pub struct Waits(Arc<Mutex<Vec<(u64, String, Instant)>>>);

impl Waits {
    /// Returns the hook that has been running for longest, and for how long, if that is long.
    pub fn slow(&self) -> Option<(String, Duration)> {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, name, began) = waits.first()?;
        let ran = began.elapsed();
        (ran >= SLOW).then(|| (name.clone(), ran))
    }

    /// Adds a hook until the result is dropped.
    fn begin(&self, name: String) -> Waiting<'_> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = waits.last().map_or(0, |(last, ..)| last + 1);
        waits.push((number, name, Instant::now()));
        Waiting { waits: self, number }
    }
}

/// The wait for a hook.
struct Waiting<'a> {
    waits: &'a Waits,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waits = self.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.retain(|(number, ..)| *number != self.number);
    }
}

/// The hooks of a session.
pub struct Runner(Arc<Inner>);

struct Inner {
    hooks: Vec<(Hook, Matcher)>,
    about: About,
    /// Problems already reported to the user.
    told: Mutex<HashSet<(usize, String)>>,
    /// Messages for the user at the next occasion.
    pending: Mutex<Vec<String>>,
    waits: Waits,
}

impl Runner {
    /// Registers these hooks with a session, if there are any. `transcript` is the session's transcript; `waits` holds the
    /// hooks that the session waits for.
    pub fn serve(
        hooks: Vec<Hook>,
        session: &mut Session,
        transcript: Option<&Transcript>,
        (place, reach): (&Place, Reach),
        waits: Waits,
    ) {
        // Invalid matchers were reported when they were read.
        let matched = hooks.into_iter().filter_map(|hook| {
            let matcher = Matcher::new(&hook.matcher).ok()?;
            Some((hook, matcher))
        });
        let hooks: Vec<(Hook, Matcher)> = matched.collect();
        if hooks.is_empty() {
            return;
        }
        let tools: Vec<String> = session.tools().iter().map(|tool| tool.name.to_string()).collect();
        let pending = hooks
            .iter()
            .filter_map(|(hook, matcher)| miswritten(hook, matcher, &tools));
        let pending = Mutex::new(pending.collect());
        let about = About {
            session: session.id().to_owned(),
            transcript: match transcript {
                Some(transcript) => Box::new(transcript.named()),
                None => Box::new(|| None),
            },
            directory: place.directory.clone(),
            reach,
        };
        session.hooked_by(Arc::new(Runner(Arc::new(Inner {
            hooks,
            about,
            told: Mutex::default(),
            pending,
            waits,
        }))));
    }
}

/// Returns the notice of a matcher that matches no tool because of upper and lower case.
fn miswritten(hook: &Hook, matcher: &Matcher, tools: &[String]) -> Option<String> {
    let Matcher::Names(names) = matcher else { return None };
    if !hook.event.ends_with("ToolUse") || tools.iter().any(|tool| matcher.fits(tool)) {
        return None;
    }
    let meant = |tool: &&String| names.iter().any(|name| name.eq_ignore_ascii_case(tool));
    let meant = tools.iter().find(meant)?;
    Some(format!(
        "the matcher {:?} of a hook of {} matches no tool; did you mean {meant}?",
        hook.matcher, hook.event
    ))
}

impl Inner {
    /// Returns the indices of the hooks for an occasion, each command once.
    fn chosen(&self, occasion: &Occasion<'_>) -> Vec<usize> {
        let (event, kind) = (occasion.name(), occasion::kind(occasion));
        let mut chosen: Vec<usize> = Vec::new();
        for (at, (hook, matcher)) in self.hooks.iter().enumerate() {
            let fits = hook.event == event && (!occasion::has_kinds(event) || matcher.fits(&kind));
            let is_same = |other: &usize| {
                let (other, _) = &self.hooks[*other];
                (&other.command, other.wants_freedom) == (&hook.command, hook.wants_freedom)
            };
            if fits && !chosen.iter().any(is_same) {
                chosen.push(at);
            }
        }
        chosen
    }

    /// Returns a hook's standard input.
    fn input(&self, occasion: &Occasion<'_>) -> String {
        let about = &self.about;
        let mut fields = occasion::fields(occasion);
        fields.insert("session_id".to_owned(), about.session.as_str().into());
        if let Some(transcript) = (about.transcript)() {
            fields.insert("transcript_path".to_owned(), transcript.to_string_lossy().into());
        }
        fields.insert("cwd".to_owned(), about.directory.to_string_lossy().into());
        fields.insert(
            "permission_mode".to_owned(),
            occasion::mode(about.reach.permission()).into(),
        );
        fields.insert("hook_event_name".to_owned(), occasion.name().into());
        serde_json::Value::Object(fields).to_string()
    }

    async fn run(&self, event: &'static str, chosen: &[usize], input: String, interrupt: &Interrupt) -> Said {
        let runs = chosen.iter().map(|&at| self.one(event, at, input.clone(), interrupt));
        let mut said = Said::default();
        let answers = future::join_all(runs).await;
        let ends = answers.iter().any(|(_, answer)| answer.ends);
        for (at, mut answer) in answers {
            let name = self.named(at);
            if ends {
                answer.objection = None;
            }
            said.objection = stronger(said.objection, answer.objection);
            let room = CONTEXT.saturating_sub(said.context.iter().map(String::len).sum());
            let (fits, over): (Vec<_>, Vec<_>) = answer.context.into_iter().partition(|words| words.len() <= room);
            said.context.extend(fits);
            said.notices.extend(
                over.iter()
                    .map(|_| format!("the output of {name} was ignored: hooks printed too much at once")),
            );
            said.notices
                .extend(answer.message.map(|message| format!("{name} says: {message}")));
            said.notices
                .extend(answer.changed.map(|changed| format!("{name} {changed}")));
            if let Some(trouble) = answer.trouble.filter(|trouble| self.is_new(at, trouble)) {
                said.notices.push(format!("{name} {trouble}"));
            }
        }
        said
    }

    async fn one(
        &self,
        event: &'static str,
        at: usize,
        input: String,
        interrupt: &Interrupt,
    ) -> (usize, answer::Answer) {
        let (hook, _) = &self.hooks[at];
        let command = Command {
            line: hook.command.clone(),
            input,
            timeout: hook.timeout,
            is_free: hook.wants_freedom,
        };
        let answer = match self.about.reach.run_hook(command, interrupt).await {
            Ok(ended) => answer::Answer {
                changed: ended.changed.clone(),
                ..answer::read(event, &ended)
            },
            Err(why) => answer::Answer {
                trouble: Some(format!("was not run: {}", clean(&why))),
                ..answer::Answer::default()
            },
        };
        (at, answer)
    }

    /// Returns whether this kind of problem with a hook has not been reported yet.
    fn is_new(&self, at: usize, trouble: &str) -> bool {
        let kind: String = trouble.chars().take_while(|c| *c != ':').collect();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert((at, kind))
    }

    fn named(&self, at: usize) -> String {
        let (hook, _) = &self.hooks[at];
        format!("the {} hook `{}`", hook.event, clip(&clean(&hook.command), SHOWN))
    }

    fn pending(&self) -> Vec<String> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the stronger of two objections; the first if they are equal.
fn stronger(one: Option<Objection>, other: Option<Objection>) -> Option<Objection> {
    match (one, other) {
        (Some(Objection::Ask(_)) | None, deny @ Some(Objection::Deny(_))) => deny,
        (None, other) => other,
        (one, _) => one,
    }
}

impl Hooks for Runner {
    fn tell<'a>(&'a self, occasion: Occasion<'a>, interrupt: &'a Interrupt) -> BoxFuture<'a, Said> {
        Box::pin(async move {
            let chosen = self.0.chosen(&occasion);
            let mut said = match chosen.is_empty() {
                true => Said::default(),
                false => {
                    let first = &self.0.hooks[chosen[0]].0;
                    let named = format!("{} hook: {}", first.event, clip(&clean(&first.command), SHOWN));
                    let _waiting = self.0.waits.begin(named);
                    self.0
                        .run(occasion.name(), &chosen, self.0.input(&occasion), interrupt)
                        .await
                }
            };
            said.notices.splice(0..0, self.0.pending());
            said
        })
    }

    fn notify(&self, occasion: Occasion<'_>) {
        let chosen = self.0.chosen(&occasion);
        if chosen.is_empty() {
            return;
        }
        let (inner, event, input) = (Arc::clone(&self.0), occasion.name(), self.0.input(&occasion));
        tokio::spawn(async move {
            let said = inner.run(event, &chosen, input, &Interrupt::new()).await;
            let mut pending = inner.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.extend(said.notices);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_that_misses_every_tool_by_its_case_is_told() {
        let tools = ["Bash", "Edit"].map(str::to_owned);
        for (event, matcher, meant) in [
            ("PreToolUse", "bash", Some("did you mean Bash?")),
            ("PostToolUse", "edit|MultiEdit", Some("did you mean Edit?")),
            ("PreToolUse", "Bash|edit", None),
            ("PreToolUse", "NotebookEdit", None),
            ("PreToolUse", "bash.*", None),
            ("SessionStart", "bash", None),
        ] {
            let hook = Hook {
                event,
                matcher: matcher.to_owned(),
                command: "true".to_owned(),
                timeout: std::time::Duration::from_secs(1),
                wants_freedom: false,
            };
            let Ok(matched) = Matcher::new(matcher) else { panic!() };
            let told = miswritten(&hook, &matched, &tools);
            assert_eq!(told.is_some(), meant.is_some(), "{matcher}");
            assert!(
                told.unwrap_or_default().contains(meant.unwrap_or_default()),
                "{matcher}"
            );
        }
    }

    #[test]
    fn who_says_no_wins_over_who_wants_to_ask() {
        let (deny, ask) = (
            || Some(Objection::Deny("no".into())),
            || Some(Objection::Ask("?".into())),
        );
        for (one, other, wins) in [
            (None, None, None),
            (ask(), None, ask()),
            (None, ask(), ask()),
            (ask(), deny(), deny()),
            (deny(), ask(), deny()),
        ] {
            assert_eq!(stronger(one, other), wins);
        }
    }
}
