//! The tasks that a session has handed on: what they have cost, and their conversations.

use crate::model::bill::Bill;
use codelet_context::body::Body;
use codelet_context::conversation::Conversation;
use codelet_context::recall::Handle;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The tool that hands them on.
pub(crate) const TOOL: &str = "Task";
/// Bytes of conversations of tasks that are kept to be recalled, all together.
const KEPT: usize = 16 * 1024 * 1024;
/// Stands in the place of a conversation that is not kept any more.
const FORGOTTEN: &str =
    "[the conversation of this task is not kept any more: those of newer tasks have taken its room]";

/// Where the bill of a task is read while it works.
pub(crate) type Seat = Arc<Mutex<Bill>>;

/// The bill as it stands.
pub(crate) fn read(seat: &Seat) -> Bill {
    *seat.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks that a session has handed on.
#[derive(Debug, Default)]
pub struct Tasks {
    count: u32,
    bill: Bill,
    /// Bills of those that are not on that one yet.
    tab: Mutex<Vec<Seat>>,
    /// Their conversations that are kept, the oldest first, with their bytes.
    kept: VecDeque<(Handle, usize)>,
}

impl Tasks {
    /// How many there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The part of the session's bill that is theirs.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// A bill for one task more.
    pub(crate) fn seat(&self) -> Seat {
        let seat = Seat::default();
        self.tab
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&seat));
        seat
    }

    /// Takes those off the tab that are over, and returns what each has cost.
    pub(crate) fn settle(&mut self) -> Vec<Bill> {
        let tab = std::mem::take(self.tab.get_mut().unwrap_or_else(PoisonError::into_inner));
        let spent: Vec<Bill> = tab.iter().map(read).collect();
        for spent in &spent {
            self.count += 1;
            self.bill = self.bill.plus(spent);
        }
        spent
    }

    /// Keeps the conversation of one, and lets go of the oldest ones where all of them take too much room. Returns where it is.
    pub(crate) fn keep(&mut self, transcript: &Body, conversation: &mut Conversation) -> String {
        let handle = conversation.keep(transcript, TOOL, "kept");
        self.kept.retain(|(kept, _)| *kept != handle);
        self.kept.push_back((handle.clone(), transcript.len()));
        let mut bytes: usize = self.kept.iter().map(|(_, bytes)| bytes).sum();
        while bytes > KEPT
            && self.kept.len() > 1
            && let Some((oldest, freed)) = self.kept.pop_front()
        {
            conversation.forget(&oldest, FORGOTTEN);
            bytes -= freed;
        }
        kept(&handle)
    }
}

/// Where the whole conversation of a task is.
pub(crate) fn kept(handle: &Handle) -> String {
    format!("[the whole conversation of this task · recall {handle}]")
}
