//! The report of a running session: what was sent and billed, request by request, with the engine's own ledger.

use super::played::{LARGEST, ages, course};
use super::{Course, Edit, Report};
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::run::{Broken, Cause, Edited, Run, Step};
use crate::session::Session;
use crate::settings::Settings;
use codelet_context::breaks::{self, Break};
use codelet_context::conversation::Conversation;
use codelet_context::inspect::{self, Inspection};
use codelet_context::message::{Message, Part};
use codelet_context::price::{Cost, PriceCard};
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_transcript::{Billed, Recorded};
use std::collections::HashMap;
use std::sync::Arc;

/// The requests of a session so far. It is notified of each request and of each bill, and keeps a few numbers of each.
#[derive(Clone, Debug)]
pub struct Live {
    prompt: Prompt,
    sent: Vec<Sent>,
    /// The current request, without its usage.
    open: Option<Sent>,
    /// The number of requests that the session's ledger had counted before the first of these.
    counted: Option<u64>,
}

/// A request.
#[derive(Clone, Debug)]
struct Sent {
    step: Step,
    /// Its reply is not part of the conversation.
    is_beside: bool,
}

/// The title, model and prices of a live session.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// The title.
    pub title: &'a str,
    /// The model.
    pub model: &'a str,
    /// The prices of its tokens, if known.
    pub card: Option<&'a PriceCard>,
}

impl Live {
    /// Starts a session. `fixed` is the size of each request outside the messages, in tokens.
    pub fn new(fixed: Tokens) -> Self {
        Live {
            prompt: Prompt::new(fixed),
            sent: Vec::new(),
            open: None,
            counted: None,
        }
    }

    /// Notes that a request is sent with this view. `began` is the time in milliseconds since 1970-01-01 UTC. A request
    /// that was never billed is dropped when the next one is sent.
    pub fn sending(&mut self, conversation: &Conversation, began: Option<u64>) {
        let weigh = |part: &Part| tokens::estimate_part(part);
        self.prompt.update(&conversation.view().messages, 0, weigh);
        self.goes_out(conversation, began, false);
    }

    /// Notes that a request is sent whose reply will not be part of the conversation: one for a summary, or one that
    /// keeps the cache from expiring. It holds nearly the same as the last one.
    pub fn sending_beside(&mut self, conversation: &Conversation, began: Option<u64>) {
        self.goes_out(conversation, began, true);
    }

    fn goes_out(&mut self, conversation: &Conversation, began: Option<u64>, is_beside: bool) {
        self.counted.get_or_insert(conversation.requests());
        self.open = Some(Sent {
            step: Step {
                reply: conversation.history().messages().len(),
                began,
                occupancy: self.prompt.occupancy(),
                usage: Usage::default(),
                dollars: Cost::default(),
                broken: None,
                edit: None,
                refetch: 0.0,
                referred: 0,
                shown: 0,
            },
            is_beside,
        });
    }

    /// Notes the usage of that request, with `hour` tokens cached for an hour, at the prices of this card; `None` if
    /// they are not known.
    pub fn billed(&mut self, usage: Usage, hour: Tokens, card: Option<&PriceCard>) {
        let Some(mut sent) = self.open.take() else { return };
        sent.step.occupancy = sent.step.occupancy.scaled_to(usage.prompt());
        sent.step.usage = usage;
        sent.step.dollars = card.map_or_else(Cost::default, |card| card.cost_by_kind(usage, hour));
        self.sent.push(sent);
    }

    fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.sent.iter().map(|sent| &sent.step)
    }

    /// Returns the index of the request after a break, counted from 0; `None` if it belongs to an earlier conversation,
    /// or has not been sent. The ledger counts the requests whose prompts were counted.
    fn place(&self, it: &Break) -> Option<usize> {
        let number = it.request.checked_sub(self.counted? + 1)?;
        let mut counted = self.steps().enumerate().filter(|(_, step)| step.usage.prompt() > 0);
        let (at, _) = counted.nth(usize::try_from(number).ok()?)?;
        Some(at)
    }

    /// Returns the session so far, to be replayed under policies as its recording would be. `None` if no request has a
    /// reply yet, or if the price of the model is not known: there would be no costs to compare.
    pub fn session(&self, conversation: &Conversation, told: &Told<'_>) -> Option<(Session, Settings)> {
        let card = told.card?;
        let answered = self.sent.iter().filter(|sent| !sent.is_beside);
        let notes = answered.map(|Sent { step, .. }| Recorded {
            reply: step.reply,
            began: step.began,
            model: None,
            billed: Some(Billed {
                usage: step.usage,
                hour: card.write_1h(step.usage),
            }),
        });
        let edited = conversation
            .breaks()
            .iter()
            .filter(|it| it.is_edit())
            .filter_map(|it| Some(self.sent[self.place(it)?].step.reply));
        let edited: Vec<usize> = edited.collect();
        let said = conversation.history().messages();
        let session = Session::under_way(told.title, said, notes.collect(), &edited);
        (!session.requests.is_empty()).then(|| (session, settings(conversation, card)))
    }

    /// Returns the tokens per estimated token, from the last request of the conversation.
    fn ratio(&self) -> f64 {
        let last = self.sent.iter().rev().find(|sent| !sent.is_beside);
        match (last, self.prompt.tokens()) {
            (Some(last), estimate) if estimate > 0 => last.step.usage.prompt() as f64 / estimate as f64,
            _ => 1.0,
        }
    }

    /// Returns the current report. `runs` are those of [`Live::session`] under the policies to compare with.
    pub fn report(&self, conversation: &Conversation, told: &Told<'_>, runs: Vec<Run>) -> Report {
        let economics = conversation.economics();
        let card = told.card.unwrap_or(&economics.card);
        let settings = settings(conversation, card);
        let mut run = Run {
            policy: Policy::Preset(economics.preset),
            steps: self.steps().cloned().collect(),
            refused: None,
        };
        let ledger = conversation.breaks().iter();
        let ledger = ledger.filter_map(|it| Some((self.place(it)?, it)));
        let edits = edits(&mut run, ledger);
        let history = conversation.history().messages();
        let contents = inspect::inspect(history, &[], LARGEST);
        let began = || self.steps().filter_map(|step| step.began);
        Report {
            title: told.title.to_owned(),
            agent: "codelet".to_owned(),
            model: Some(told.model.to_owned()),
            is_live: true,
            is_priced: told.card.is_some(),
            lasted: began().max().zip(began().min()).map(|(last, first)| last - first),
            courses: std::iter::once(Course {
                name: "as billed".to_owned(),
                about: format!("{}, {}", economics.preset.name(), economics.preset.explained()),
                is_billed: true,
                run,
                edits,
            })
            .chain(runs.into_iter().map(|run| course(run, &settings)))
            .collect(),
            settings,
            first: 0,
            handles: handles(conversation, history, &contents),
            ratio: self.ratio(),
            ages: ages(history.len(), &self.steps().map(|step| step.reply).collect::<Vec<_>>()),
            contents,
            check: None,
            unknown: Vec::new(),
            has_bills: false,
            together: None,
            notes: vec![
                "Requests are as the provider billed them; the kinds within each are estimated from bytes and scaled to \
                 the bill."
                    .to_owned(),
            ],
        }
    }
}

fn settings(conversation: &Conversation, card: &PriceCard) -> Settings {
    let config = conversation.config();
    Settings {
        reserved: config.reserved(),
        ..Settings::new(config.window(), card.clone())
    }
}

/// Assigns the breaks of the ledger to their requests, and returns the edits among them.
fn edits<'a>(run: &mut Run, ledger: impl Iterator<Item = (usize, &'a Break)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let requests = run.steps.len();
    for (at, it) in ledger {
        let step = &mut run.steps[at];
        let cause = match it.cause {
            _ if it.is_cold => Cause::Cold,
            breaks::Cause::Edit(_) | breaks::Cause::Undone | breaks::Cause::Cleared => Cause::Planned,
            breaks::Cause::Expired => Cause::Cold,
            breaks::Cause::Model | breaks::Cause::Tools | breaks::Cause::Unplanned => Cause::Unplanned,
        };
        if it.rewritten > 0 {
            let lost = it.rewritten;
            step.broken = Some(Broken { cause, lost });
        }
        if !it.is_edit() {
            continue;
        }
        let after = step.usage.prompt();
        let before = (after + it.removed).saturating_sub(it.restored);
        let reason = it.cause.name();
        step.edit = Some(Edited { reason, before, after });
        let (cost, actual) = it.of_edit();
        edits.push(Edit {
            step: at,
            reason,
            before,
            after,
            cost,
            actual,
            saved: it.saving * (requests - at) as f64,
        });
    }
    edits
}

/// Returns the handles under which the largest items can be read back, for those that were removed from what is sent.
fn handles(
    conversation: &Conversation,
    history: &[Arc<Message>],
    contents: &Inspection,
) -> HashMap<(usize, usize), String> {
    let find = |part: &Part| {
        let texts: Vec<_> = match part {
            Part::Text(text) => vec![&text.body],
            Part::Thinking(thinking) => vec![&thinking.body],
            Part::ToolResult(result) => result.texts().map(|text| &text.body).collect(),
            _ => Vec::new(),
        };
        let mut found = texts
            .into_iter()
            .filter_map(|body| conversation.archive().handle_of(body));
        found.next().map(|handle| handle.as_str().to_owned())
    };
    let places = contents
        .largest
        .iter()
        .take(LARGEST)
        .map(|item| (item.message, item.part));
    places
        .filter_map(|(message, part)| {
            let handle = find(history.get(message)?.parts.get(part)?)?;
            Some(((message, part), handle))
        })
        .collect()
}
