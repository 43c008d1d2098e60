//! What a policy does between two requests, and the compaction that all of them share.

use crate::policy::Settings;
use crate::session::Session;
use codelet_context::conversation::{Conversation, Due, Report};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use std::sync::Arc;

/// The moment before a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Tokens of the request as things stand.
    pub tokens: Tokens,
    /// When it is made, in milliseconds.
    pub now: u64,
    /// The cache has expired.
    pub is_cold: bool,
}

/// Edits one session. The player appends what was said, asks for edits before each request, and reports what it cost.
pub trait Editor {
    /// Something was said that is no reply.
    fn append(&mut self, message: &Arc<Message>);

    /// A reply came, in one message or several.
    fn replied(&mut self, reply: &[Arc<Message>], report: Report);

    /// Edits what has been sent, if the policy wants to; says why.
    fn edit(&mut self, moment: &Moment) -> Option<&'static str>;

    /// The request does not fit: compacts. Says no where nothing came of it.
    fn compact(&mut self, moment: &Moment) -> bool;

    /// The request goes out as it stands.
    fn sending(&mut self, _is_cold: bool) {}

    /// What would be sent.
    fn shown(&self) -> &[Arc<Message>];

    /// How many messages at the front are surely those of the last request.
    fn same(&self) -> usize;

    /// Requests before which the policy would edit, and did not since the session is too long for that.
    fn left_out(&self) -> u64 {
        0
    }

    /// The message before which the next edit will change nothing, where the policy knows: a cache mark is put there.
    fn edge(&self) -> Option<usize>;
}

/// A conversation that is compacted by the engine when it is full. It is built when that happens for the first time,
/// since most sessions never come to it.
///
/// The engine estimates as it does everywhere; window and budget are given to it in estimated tokens, so that they mean
/// what they mean to the player.
pub struct Full<'a> {
    session: &'a Session,
    config: CompactionConfig,
    conversation: Option<Conversation>,
    /// How many messages of the session were said.
    said: usize,
}

impl<'a> Full<'a> {
    pub fn new(session: &'a Session, settings: &Settings) -> Self {
        let mut config = CompactionConfig::new(session.estimate(settings.window));
        config = config.reserving(session.estimate(settings.reserved));
        Full {
            session,
            config,
            conversation: None,
            said: 0,
        }
    }

    /// A message of the session was said.
    pub fn append(&mut self, message: &Arc<Message>) {
        self.said += 1;
        if let Some(conversation) = &mut self.conversation {
            conversation.append(message.clone());
        }
    }

    /// Compacts; what is shown afterwards, or nothing where it became no smaller.
    pub fn compact(&mut self) -> Option<&[Arc<Message>]> {
        let (session, config) = (self.session, self.config);
        let conversation = self.conversation.get_or_insert_with(|| {
            let mut conversation = Conversation::new(config, session.estimate(session.fixed));
            for message in &session.messages[..self.said] {
                conversation.append(message.clone());
            }
            conversation
        });
        let notice = conversation.compact(Due::whole(Reason::Full)).ok()?;
        notice.changed.then(|| conversation.view().messages.as_slice())
    }
}
