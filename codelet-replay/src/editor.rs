//! The edits of a policy between two requests, and the compaction that all policies share.

use crate::session::Session;
use crate::settings::Settings;
use codelet_context::conversation::{Conversation, Due, Report};
use codelet_context::message::Message;
use codelet_context::policy::{CompactionConfig, Reason};
use codelet_context::tokens::Tokens;
use std::cell::RefCell;
use std::sync::Arc;

/// The moment before a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Tokens of the request without an edit.
    pub tokens: Tokens,
    /// The time of the request, in milliseconds.
    pub now: u64,
    /// True if the cache has expired.
    pub is_cold: bool,
}

/// Edits one session. The player appends messages, asks for edits before each request, and reports its cost.
pub trait Editor {
    /// Appends a message that is not a reply.
    fn append(&mut self, message: &Arc<Message>);

    /// Appends a reply, in one message or several.
    fn replied(&mut self, reply: &[Arc<Message>], report: Report);

    /// Edits what has been sent, if the policy wants to; returns the reason.
    fn edit(&mut self, moment: &Moment) -> Option<&'static str>;

    /// Compacts, as the request does not fit. Returns false if that changed nothing.
    fn compact(&mut self, moment: &Moment) -> bool;

    /// Notes that the request is sent unchanged.
    fn sending(&mut self, _is_cold: bool) {}

    /// Returns what would be sent.
    fn shown(&self) -> &[Arc<Message>];

    /// Returns the number of messages at the front that are certainly those of the last request.
    fn same(&self) -> usize;

    /// Returns the index of the message before which the next edit changes nothing, if known: a cache mark is set
    /// there.
    fn edge(&self) -> Option<usize>;
}

/// A session as read by the engine and never compacted: the same for every policy, so that it is read once for all of
/// them. It is read when a window is full for the first time, since most sessions never fill it.
pub struct Unedited<'a> {
    session: &'a Session,
    config: CompactionConfig,
    /// The part read so far, and its number of messages.
    read: RefCell<(Conversation, usize)>,
}

impl<'a> Unedited<'a> {
    /// Starts a session under these settings, with nothing read yet.
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

    /// Returns the conversation after `said` messages.
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

/// A conversation that the engine compacts when it is full.
///
/// The engine estimates as everywhere; window and budget are passed in estimated tokens, so that they mean the same as
/// to the player.
pub struct Full<'a> {
    unedited: &'a Unedited<'a>,
    /// The conversation as of its last compaction, and the number of messages read.
    conversation: Option<(Conversation, usize)>,
    /// The number of messages so far.
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

    /// Appends a message of the session.
    pub fn append(&mut self) {
        self.said += 1;
    }

    /// Compacts; returns the new view, or `None` if it became no smaller.
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
