//! The report of a session that is under way: what was sent and billed, request by request, with the engine's own ledger.

use super::played::{LARGEST, LARGEST_FILED, ages, course};
use super::{Course, Edit, Report};
use crate::policy::{Policy, Settings};
use crate::prompt::Prompt;
use crate::run::{Broken, Cause, Dollars, Edited, Run, Step};
use crate::session::Session;
use codelet_context::breaks::{self, Break};
use codelet_context::conversation::Conversation;
use codelet_context::inspect::{self, Inspection};
use codelet_context::message::{Message, Part};
use codelet_context::price::{Lifetime, PriceCard};
use codelet_context::tokens::{self, Tokens};
use codelet_context::usage::Usage;
use codelet_transcript::{Billed, Recorded};
use std::collections::HashMap;
use std::sync::Arc;

/// What a session has sent so far. It is told of each request and of each bill, and keeps a few numbers of each.
#[derive(Clone, Debug)]
pub struct Live {
    prompt: Prompt,
    sent: Vec<Sent>,
    open: Option<Open>,
    /// How many requests the session's ledger had counted before the first of these.
    counted: Option<u64>,
    earlier: Earlier,
}

/// A request that was billed.
#[derive(Clone, Debug)]
struct Sent {
    step: Step,
    /// Its answer is no part of the conversation.
    is_beside: bool,
}

/// The request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its reply's place in the history.
    reply: usize,
    /// When it began.
    began: Option<u64>,
    is_beside: bool,
}

/// What was billed before a session's conversation began anew.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Earlier {
    /// Requests.
    pub requests: u64,
    /// What they cost, in US dollars.
    pub dollars: f64,
}

/// What a live session is called and costs.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// What it is called.
    pub title: &'a str,
    /// The model that is asked.
    pub model: &'a str,
    /// What its tokens cost, where that is known.
    pub card: Option<&'a PriceCard>,
}

impl Live {
    /// Nothing sent. `fixed` is what stands in every request beside the messages, in tokens.
    pub fn new(fixed: Tokens) -> Self {
        Live {
            prompt: Prompt::new(fixed),
            sent: Vec::new(),
            open: None,
            counted: None,
            earlier: Earlier::default(),
        }
    }

    /// The same session with nothing said: what was billed before is still told of, as one sum.
    pub fn begins_anew(&mut self, fixed: Tokens) {
        let dollars: f64 = self.sent.iter().map(|sent| sent.step.dollars.total()).sum();
        let earlier = Earlier {
            requests: self.earlier.requests + self.sent.len() as u64,
            dollars: self.earlier.dollars + dollars,
        };
        *self = Live {
            earlier,
            ..Live::new(fixed)
        };
    }

    /// A request goes out with this view. `began` is the time in milliseconds since 1970-01-01 UTC. A request that was
    /// never billed is forgotten when the next goes out.
    pub fn sending(&mut self, conversation: &Conversation, began: Option<u64>) {
        let weigh = |part: &Part| tokens::estimate_part(part);
        self.prompt.update(&conversation.view().messages, 0, weigh);
        self.goes_out(conversation, began, false);
    }

    /// A request goes out whose answer will be no part of the conversation: one for a summary, or one that keeps the cache
    /// from expiring. It holds nearly what the last one did.
    pub fn sending_beside(&mut self, conversation: &Conversation, began: Option<u64>) {
        self.goes_out(conversation, began, true);
    }

    fn goes_out(&mut self, conversation: &Conversation, began: Option<u64>, is_beside: bool) {
        self.counted.get_or_insert(conversation.requests());
        self.open = Some(Open {
            reply: conversation.history().messages().len(),
            began,
            is_beside,
        });
    }

    /// That request was billed, with so many tokens written for an hour, at the prices of this card; none where nobody knows
    /// them.
    pub fn billed(&mut self, usage: Usage, hour: Tokens, card: Option<&PriceCard>) {
        let Some(open) = self.open.take() else { return };
        let occupancy = self.prompt.occupancy();
        self.sent.push(Sent {
            step: Step {
                reply: open.reply,
                began: open.began,
                occupancy: occupancy.scaled_to(usage.prompt()),
                usage,
                dollars: card.map_or_else(Dollars::default, |card| Dollars::with(card, usage, hour)),
                broken: None,
                edit: None,
                refetch: 0.0,
                referred: 0,
                shown: 0,
            },
            is_beside: open.is_beside,
        });
    }

    fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.sent.iter().map(|sent| &sent.step)
    }

    /// The request behind a break, counted from 0; none where it was made in an earlier conversation, or is yet to be made. The
    /// ledger counts the requests whose prompts were counted.
    fn place(&self, it: &Break) -> Option<usize> {
        let number = it.request.checked_sub(self.counted? + 1)?;
        let mut counted = self.steps().enumerate().filter(|(_, step)| step.usage.prompt() > 0);
        let (at, _) = counted.nth(usize::try_from(number).ok()?)?;
        Some(at)
    }

    /// What was said so far, to be played under policies as a recording of it would be. Nothing where no request was
    /// answered yet, or where the price of the model is not known: there would be no dollars to compare.
    pub fn session(&self, conversation: &Conversation, told: &Told<'_>) -> Option<(Session, Settings)> {
        let card = told.card?;
        let answered = self.sent.iter().filter(|sent| !sent.is_beside);
        let notes = answered.map(|Sent { step, .. }| Recorded {
            reply: step.reply,
            began: step.began,
            model: None,
            billed: Some(Billed {
                usage: step.usage,
                hour: match card.lifetime {
                    Lifetime::Hour => step.usage.cache_write,
                    Lifetime::FiveMinutes => 0,
                },
            }),
            without_thinking: false,
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

    /// Tokens for each estimated token, by the last request of the conversation.
    fn ratio(&self) -> f64 {
        let last = self.sent.iter().rev().find(|sent| !sent.is_beside);
        match (last, self.prompt.tokens()) {
            (Some(last), estimate) if estimate > 0 => last.step.usage.prompt() as f64 / estimate as f64,
            _ => 1.0,
        }
    }

    /// The report as things stand. `runs` are those of [`Live::session`] under policies that it is compared with.
    pub fn report(&self, conversation: &Conversation, told: &Told<'_>, runs: Vec<Run>) -> Report {
        let economics = conversation.economics();
        let card = told.card.unwrap_or(&economics.card);
        let settings = settings(conversation, card);
        let mut run = Run {
            policy: Policy::Preset(economics.preset),
            steps: self.steps().cloned().collect(),
            refused: None,
            left_out: 0,
        };
        let ledger = conversation.breaks().iter();
        let ledger = ledger.filter_map(|it| Some((self.place(it)?, it)));
        let edits = edits(&mut run, ledger);
        let history = conversation.history().messages();
        let contents = inspect::inspect(history, &[], LARGEST_FILED);
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
            beside: self.sent.iter().filter(|sent| sent.is_beside).count() as u64,
            earlier: self.earlier,
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

/// The conditions of the session.
fn settings(conversation: &Conversation, card: &PriceCard) -> Settings {
    let config = conversation.config();
    Settings {
        reserved: config.reserved(),
        ..Settings::new(config.window(), card.clone())
    }
}

/// Puts the breaks of the ledger where they belong, and returns the edits among them.
fn edits<'a>(run: &mut Run, ledger: impl Iterator<Item = (usize, &'a Break)>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let requests = run.steps.len();
    for (at, it) in ledger {
        let step = &mut run.steps[at];
        let cause = match it.cause {
            _ if it.is_cold => Cause::Cold,
            breaks::Cause::Edit(_) | breaks::Cause::Undone | breaks::Cause::Cleared => Cause::Planned,
            breaks::Cause::Model | breaks::Cause::Tools => Cause::Elsewhere,
            breaks::Cause::Expired => Cause::Cold,
            breaks::Cause::Unplanned => Cause::Unplanned,
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

/// Under which handles the largest items can be read back: of those that were removed from what is sent.
fn handles(
    conversation: &Conversation,
    history: &[Arc<Message>],
    contents: &Inspection,
) -> HashMap<(usize, usize), String> {
    let mut kept: HashMap<u64, Vec<(&str, &str)>> = HashMap::new();
    for (handle, removed) in conversation.archive().iter() {
        let named = (handle.as_str(), removed.body.as_str());
        kept.entry(removed.body.hash()).or_default().push(named);
    }
    let find = |part: &Part| {
        let texts: Vec<_> = match part {
            Part::Text(text) => vec![&text.body],
            Part::Thinking(thinking) => vec![&thinking.body],
            Part::ToolResult(result) => result.texts().map(|text| &text.body).collect(),
            _ => Vec::new(),
        };
        texts.into_iter().find_map(|body| {
            let alike = kept.get(&body.hash())?;
            let (handle, _) = alike.iter().find(|(_, text)| *text == body.as_str())?;
            Some((*handle).to_owned())
        })
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
