//! Strategy `dedup`: of equal outputs, the newest stays, and the older ones become pointers to it.

use super::{Edit, Limits, StrategyCount, answers, make, shown, whole};
use crate::message::cut;
use crate::message::view::View;
use crate::message::{Part, Text};
use crate::text::body::Body;
use crate::text::hash::QuickMap;

/// The name in reports.
pub(crate) const NAME: &str = "dedup";

/// The minimum bytes of an output that is worth a pointer: a pointer takes about 70, and readers of the text have to
/// look elsewhere. Shorter outputs are not reported as repeats, either.
pub(crate) const SMALLEST: usize = 256;

/// Replaces each block of an output, text or picture, with a pointer to the newest equal one, whichever tool it came
/// from. Equality is byte for byte; the hash only finds candidates.
pub(crate) fn point_to_the_newest_copy(view: &mut View, _: &Limits) -> StrategyCount {
    const WHY: &str = "same as a newer one";
    let View { messages, archive } = view;
    let mut newest: QuickMap<(bool, u64), Body> =
        QuickMap::with_capacity_and_hasher(messages.len() / 2, Default::default());
    let mut edits = Vec::new();
    for answer in answers(messages).iter().rev() {
        for (block, piece) in answer.result.output.iter().enumerate().rev() {
            let (body, length, noun) = match piece {
                Part::Text(text) => match whole(text, archive) {
                    Some(body) => (body.clone(), text.body.len(), "output"),
                    None => continue,
                },
                Part::Image(image) if !image.is_url => (image.data.clone(), image.data.len(), "image"),
                _ => continue,
            };
            if body.len() < SMALLEST {
                continue;
            }
            let key = (noun == "image", body.hash());
            match newest.get(&key) {
                Some(newer) if *newer == body => {
                    let pointer = cut::pointer(&body, length, &answer.what(noun), WHY, NAME, archive);
                    edits.extend(pointer.map(|pointer| Edit {
                        message: answer.message,
                        part: answer.part,
                        block,
                        with: match piece {
                            Part::Text(text) => shown(text, pointer),
                            _ => shown(&Text::new("", Default::default()), pointer),
                        },
                    }));
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
