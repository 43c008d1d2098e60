//! What a policy does between two requests, and the compaction that all of them share.

use crate::policy::Settings;
use crate::session::Session;
use codelet_context::conversation::{Conversation, Due, Report};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use std::cell::RefCell;
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

/// What was said of a session, read by the engine and compacted by nobody yet: the same for every policy, so that it is read
/// once for all of them. It is read when one is full for the first time, since most sessions never come to it.
pub struct Unedited<'a> {
    session: &'a Session,
    config: CompactionConfig,
    /// As far as it was read, in messages of the session.
    read: RefCell<(Conversation, usize)>,
}

impl<'a> Unedited<'a> {
    /// Nothing read yet of a session that is played under these settings.
    pub fn new(session: &'a Session, settings: &Settings) -> Self {
        let mut config = CompactionConfig::new(session.estimate(settings.window));
        config = config.reserving(session.estimate(settings.reserved));
        let none = Conversation::new(config, session.estimate(session.fixed));
        Unedited {
            session,
            config,
            read: RefCell::new((none, 0)),
        }
    }

    /// The conversation when so many messages were said.
    fn at(&self, said: usize) -> Conversation {
        let read = &mut *self.read.borrow_mut();
        if read.1 > said {
            *read = (
                Conversation::new(self.config, self.session.estimate(self.session.fixed)),
                0,
            );
        }
        let (conversation, known) = read;
        for message in &self.session.messages[*known..said] {
            conversation.append(message.clone());
        }
        *known = said;
        conversation.clone()
    }
}

/// A conversation that is compacted by the engine when it is full.
///
/// The engine estimates as it does everywhere; window and budget are given to it in estimated tokens, so that they mean
/// what they mean to the player.
pub struct Full<'a> {
    unedited: &'a Unedited<'a>,
    /// What was read of the session until it was compacted last, in messages.
    conversation: Option<(Conversation, usize)>,
    /// How many messages of the session were said.
    said: usize,
}

impl<'a> Full<'a> {
    pub fn new(unedited: &'a Unedited<'a>) -> Self {
        Full {
            unedited,
            conversation: None,
            said: 0,
        }
    }

    /// A message of the session was said.
    pub fn append(&mut self) {
        self.said += 1;
    }

    /// Compacts; what is shown afterwards, or nothing where it became no smaller.
    pub fn compact(&mut self) -> Option<&[Arc<Message>]> {
        let (unedited, said) = (self.unedited, self.said);
        let (conversation, read) = self.conversation.get_or_insert_with(|| (unedited.at(said), said));
        for message in &unedited.session.messages[*read..said] {
            conversation.append(message.clone());
        }
        *read = said;
        let notice = conversation.compact(Due::whole(Reason::Full)).ok()?;
        notice.changed.then(|| conversation.view().messages.as_slice())
    }
}
