//! The tasks that a session has delegated: their cost and their transcripts.

use crate::model::bill::Bill;
use codelet_context::recall::Handle;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the tool that delegates them.
pub(crate) const TOOL: &str = "Task";
/// A task's bill, shared so that it can be read while the task works.
pub(crate) type Seat = Arc<Mutex<Bill>>;

pub(crate) fn read(seat: &Seat) -> Bill {
    *seat.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tasks that a session has delegated.
#[derive(Debug, Default)]
pub struct Tasks {
    count: u32,
    bill: Bill,
    /// The bills of tasks not yet added to `bill`.
    tab: Mutex<Vec<Seat>>,
}

impl Tasks {
    /// Returns the number of tasks.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the tasks' part of the session's bill.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// Opens a bill for another task.
    pub(crate) fn seat(&self) -> Seat {
        let seat = Seat::default();
        self.tab
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Arc::clone(&seat));
        seat
    }

    /// Closes all open bills and returns the cost of each.
    pub(crate) fn settle(&mut self) -> Vec<Bill> {
        let tab = std::mem::take(self.tab.get_mut().unwrap_or_else(PoisonError::into_inner));
        let spent: Vec<Bill> = tab.iter().map(read).collect();
        for spent in &spent {
            self.count += 1;
            self.bill = self.bill.plus(spent);
        }
        spent
    }
}

/// Returns the line that says where a task's transcript is.
pub(crate) fn kept(handle: &Handle) -> String {
    format!("[the whole conversation of this task · recall {handle}]")
}
