//! Strategy `dedup`: of equal outputs, the newest stays, and the older ones become pointers to it.

use super::{StrategyCount, StrategyLimits, answers, content, make, pointer};
use crate::message::view::View;
use crate::text::body::Body;
use crate::text::hash::QuickMap;

/// The name in reports.
pub(crate) const NAME: &str = "dedup";

/// The minimum bytes of an output that is worth a pointer: a pointer takes about 70, and readers of the text have to
/// look elsewhere. Shorter outputs are not reported as repeats, either.
pub(crate) const SMALLEST: usize = 256;

/// Replaces each block of an output, text or picture, with a pointer to the newest equal one, whichever tool it came
/// from. Equality is byte for byte; the hash only finds candidates.
pub(crate) fn point_to_the_newest_copy(view: &mut View, _: &StrategyLimits) -> StrategyCount {
    const WHY: &str = "same as a newer one";
    let View { messages, archive } = view;
    let mut newest: QuickMap<(bool, u64), Body> =
        QuickMap::with_capacity_and_hasher(messages.len() / 2, Default::default());
    let mut edits = Vec::new();
    for answer in answers(messages).iter().rev() {
        for (block, piece) in answer.result.output.iter().enumerate().rev() {
            let Some((body, length, noun)) = content(piece, archive).filter(|(body, ..)| body.len() >= SMALLEST) else {
                continue;
            };
            let body = body.clone();
            let key = (noun == "image", body.hash());
            match newest.get(&key) {
                Some(newer) if *newer == body => {
                    edits.extend(pointer(answer, block, (&body, length, noun), (WHY, NAME), archive));
                }
                Some(_) => {}
                None => {
                    newest.insert(key, body);
                }
            }
        }
    }
    make(view, edits)
}
