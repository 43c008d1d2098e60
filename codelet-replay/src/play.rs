//! Replays a session under a policy, request by request.

use crate::cache::{Cache, Rules};
use crate::editor::{Editor, Moment, Unedited};
use crate::policy::Policy;
use crate::prompt::{Change, Prompt};
use crate::run::{Broken, Cause, Edited, Refused, Run, Step};
use crate::session::Session;
use crate::settings::Settings;
use codelet_context::conversation::Report;
use codelet_context::message::{Message, Part};
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use std::collections::HashMap;
use std::sync::Arc;

/// The size of a call that reads something again, in tokens: a name and a path or a handle.
const CALL: Tokens = 80;
/// The number of requests for which content that was read again stays in the window, so that it is not read once more.
const STAYS: usize = 10;

/// Replays a session, up to the first request that does not fit into the window whatever is done. If most requests have
/// no time in the recording, the cache stays warm; see [`Session::times`].
pub fn play(session: &Session, policy: Policy, settings: &Settings) -> Run {
    play_one(session, policy, settings, &Unedited::new(session, settings))
}

/// Replays a session under each policy, as [`play`] does; work that is the same for all of them is done once.
pub fn play_all<'a>(
    session: &'a Session,
    policies: impl IntoIterator<Item = Policy> + 'a,
    settings: &'a Settings,
) -> impl Iterator<Item = Run> + 'a {
    let unedited = Unedited::new(session, settings);
    let policies = policies.into_iter();
    policies.map(move |policy| play_one(session, policy, settings, &unedited))
}

fn play_one<'a>(session: &'a Session, policy: Policy, settings: &Settings, unedited: &Unedited<'a>) -> Run {
    let weigh = |part: &Part| session.weigh(part);
    let mut editor = policy.editor(session, settings, unedited);
    let mut cache = Cache::new(Rules::of(&settings.card));
    let mut prompt = Prompt::new(session.fixed);
    let mut memory = Memory::new(session);
    let mut steps = Vec::with_capacity(session.requests.len());
    let (mut said, mut now, mut left, mut sent) = (0, 0, 0, 0);
    let times = session.times();
    let mut refused = None;
    for (number, request) in session.requests.iter().enumerate() {
        for message in &session.messages[said..request.reply.start] {
            editor.append(message);
        }
        now = times.as_ref().map_or(0, |times| times[number]).max(now);

        let mut bring = |editor: &dyn Editor, prompt: &mut Prompt| {
            let change = prompt.update(editor.shown(), editor.same(), weigh);
            memory.update(&change, &prompt.messages()[change.kept..]);
            change.kept
        };
        let mut same = bring(&*editor, &mut prompt).min(sent);
        let mut moment = Moment {
            tokens: prompt.tokens(),
            now,
            is_cold: cache.is_cold(now),
        };
        let mut edit = None;
        if let Some(reason) = editor.edit(&moment) {
            same = same.min(bring(&*editor, &mut prompt));
            edit = edited(reason, &moment, &prompt, same < sent);
            moment.tokens = prompt.tokens();
        }
        if prompt.tokens() > settings.limit() && editor.compact(&moment) {
            same = same.min(bring(&*editor, &mut prompt));
            edit = edited("full", &moment, &prompt, true).or(edit);
        }

        if prompt.tokens() > settings.window {
            // A provider refuses it and bills nothing, and a session cannot continue from there.
            refused = Some(Refused {
                step: number,
                tokens: prompt.tokens(),
            });
            break;
        }
        editor.sending(moment.is_cold);
        let places = prompt.places_before(same);
        let marks = marks(&prompt, editor.edge(), same);
        let mut bill = cache.send(&prompt, &marks, places, now);
        let reply = &session.messages[request.reply.clone()];
        let estimate = || reply.iter().flat_map(|message| &message.parts).map(weigh).sum();
        bill.usage.output = request.reply_tokens.unwrap_or_else(estimate);
        let lost = std::mem::replace(&mut left, bill.kept).saturating_sub(bill.usage.cache_read);
        let cause = match () {
            () if bill.is_cold => Cause::Cold,
            () if same < sent => Cause::Planned,
            () => Cause::Unplanned,
        };
        let look = memory.look(number, prompt.tokens(), settings);
        steps.push(Step {
            reply: request.reply.start,
            began: request.began,
            occupancy: prompt.occupancy(),
            usage: bill.usage,
            dollars: settings
                .card
                .cost_by_kind(bill.usage, settings.card.write_1h(bill.usage)),
            broken: (lost > 0).then_some(Broken { cause, lost }),
            edit,
            refetch: look.refetch,
            referred: look.referred,
            shown: look.shown,
        });
        sent = prompt.messages().len();
        said = request.reply.end;
        editor.replied(
            reply,
            Report {
                usage: bill.usage,
                reasoning: 0,
                is_whole: true,
            },
        );
    }
    Run { policy, steps, refused }
}

fn edited(reason: &'static str, moment: &Moment, prompt: &Prompt, is_change: bool) -> Option<Edited> {
    is_change.then_some(Edited {
        reason,
        before: moment.tokens,
        after: prompt.tokens(),
    })
}

/// Returns where a request is marked: after the system prompt, at the edge of the policy's next edit, at the end of its
/// common prefix with the request before, and at its end. In counts of positions.
fn marks(prompt: &Prompt, edge: Option<usize>, common: usize) -> Vec<usize> {
    let mut marks = Vec::with_capacity(4);
    for place in [
        Some(prompt.system_places()),
        Some(prompt.places()),
        Some(prompt.places_before(common)),
        edge.map(|edge| prompt.places_before(edge)),
    ]
    .into_iter()
    .flatten()
    {
        if !marks.contains(&place) {
            marks.push(place);
        }
    }
    marks
}

/// The items that the request shows, and content that was read again.
struct Memory<'a> {
    session: &'a Session,
    /// For each item, the number of messages in the prompt that hold it.
    counts: Vec<u32>,
    /// The last request at which a source was read again.
    fetched: HashMap<(u32, u32), usize>,
}

#[derive(Default)]
struct Look {
    refetch: f64,
    referred: u32,
    shown: u32,
}

impl<'a> Memory<'a> {
    fn new(session: &'a Session) -> Self {
        Memory {
            session,
            counts: vec![0; session.references.item_count()],
            fetched: HashMap::new(),
        }
    }

    /// Records which messages left the prompt, and which were added.
    fn update(&mut self, change: &Change, come: &[Arc<Message>]) {
        change.gone.iter().for_each(|message| self.count(message, false));
        come.iter().for_each(|message| self.count(message, true));
    }

    fn count(&mut self, message: &Arc<Message>, is_come: bool) {
        let counts = &mut self.counts;
        self.session.references.for_each(message, |item| {
            let count = &mut counts[item as usize];
            *count = if is_come { *count + 1 } else { count.saturating_sub(1) };
        });
    }

    /// Finds what the reply to a request refers to, and the cost of reading again what is not shown.
    fn look(&mut self, request: usize, prompt: Tokens, settings: &Settings) -> Look {
        let mut look = Look::default();
        let mut again = 0;
        for reference in &self.session.references.by_request[request] {
            look.referred += reference.weight;
            if self.counts[reference.item as usize] > 0 {
                look.shown += reference.weight;
                continue;
            }
            let is_there = |&at: &usize| request - at <= STAYS;
            if self.fetched.get(&reference.source).is_none_or(|at| !is_there(at)) {
                self.fetched.insert(reference.source, request);
                let (message, part) = reference.source;
                let source = self.session.messages[message as usize].parts.get(part as usize);
                again += source.map_or(0, |part| self.session.weigh(part));
            }
        }
        if again > 0 {
            let usage = Usage {
                fresh: 0,
                cache_read: prompt,
                cache_write: again + CALL,
                output: CALL,
            };
            look.refetch = settings.chance() * settings.card.cost(usage, settings.card.write_1h(usage));
        }
        look
    }
}
