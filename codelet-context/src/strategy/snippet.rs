//! Strategy `snippet`: reduces long outputs outside the recent window to their head and tail.

use super::{Replacement, StrategyCount, StrategyLimits, answers, make, recent_window, whole};
use crate::message::Part;
use crate::message::cut;
use crate::message::view::View;

/// The name in reports.
pub(crate) const NAME: &str = "snippet";

/// The minimum bytes of an output that is cut.
const SMALLEST: usize = 4_096;

/// The bytes kept at either end.
const END: usize = 1_024;

/// Cuts each long text of an output in the middle, at line boundaries. If alike lines were counted in it, the original
/// is cut, so that there is one marker and one handle.
pub(crate) fn keep_head_and_tail(view: &mut View, limits: &StrategyLimits) -> StrategyCount {
    let View { messages, archive } = view;
    let old = &messages[..recent_window(messages, limits)];
    let mut edits = Vec::new();
    for answer in answers(old) {
        for (block, piece) in answer.result.output.iter().enumerate() {
            let Part::Text(text) = piece else { continue };
            if text.body.len() < SMALLEST {
                continue;
            }
            let Some(body) = whole(text, archive).cloned() else {
                continue;
            };
            let cut = cut::in_the_middle(&body, (END, END), &answer.what("output"), NAME, archive);
            edits.extend(cut.map(|cut| Replacement {
                message: answer.message,
                part: answer.part,
                block,
                with: Part::Text(text.cut_to(cut)),
            }));
        }
    }
    make(view, edits)
}
