//! The features of a segment, the input of the scorer; here those that its block alone decides.

use super::block::{Block, Segment, Speaker};
use super::kind::CallKind;
use super::look::{self, LOOKS};
use super::word::LISTS;

/// The names of the features, in the order of their values. `R_` features apply to tool output, by the kind of the
/// call; `C_` features to calls. Word shares are weighted by rarity: `reuse` is the share of words that the model uses
/// later, `userw` of those that the user used before, `follow` of those in the next speech, `lastq` of those in the
/// last two prompts.
#[rustfmt::skip]
pub const FEATURES: [&str; 71] = [
    "one", "U", "U_first", "U_long", "S", "S_closing", "T", "C", "C_head", "C_edit", "C_doc", "R_read", "R_doc",
    "R_find", "R_git", "R_shell", "err", "w_decide", "w_find", "w_fail", "w_wish", "w_done", "w_hedge", "o_fail", "after_head",
    "id", "num", "long_num", "caps", "paren", "tick", "heading", "bullet", "bold", "colon", "quest", "codekw", "fence", "tiny",
    "seg1", "fill", "dup", "flag1", "commit", "codey", "prose", "len", "len2", "pos", "late", "deep", "last2", "last2_out", "last_agent", "after_err", "newest", "blklen",
    "blklen_talk", "blklen_user", "blklen_said", "blklen_call", "blklen_shell", "blklen_file", "blk_short", "reuse", "userw",
    "follow", "lastq", "reuse_out", "follow_out", "rarity",
];

/// The index of a feature.
pub(super) const fn at(name: &str) -> usize {
    look::place(&FEATURES, name)
}

/// The index of the first look among the features.
const LOOK: usize = at(LOOKS[0]);
/// The share of common words above which a line of tool output reads like prose.
const PROSE: f32 = 0.2;

/// Receives the non-zero features of a segment one by one.
pub(crate) trait Sink {
    /// Adds the value of the feature at this index.
    fn add(&mut self, feature: usize, value: f32);
}

/// Adds the features that depend only on the block, for the segment at this position in it: they never change.
pub(crate) fn of_text(sink: &mut impl Sink, block: &Block, place: usize, segment: &Segment) {
    let mut looks = segment.looks;
    while looks != 0 {
        sink.add(LOOK + looks.trailing_zeros() as usize, 1.0);
        looks &= looks - 1;
    }
    if block.speaker == Speaker::Call && place == 0 {
        sink.add(const { at("C_head") }, 1.0);
    }
    let reads_like_prose = block.speaker.says() || segment.prose > PROSE;
    let mut listed = |on: u8, feature| {
        if segment.lists & on != 0 {
            sink.add(feature, 1.0);
        }
    };
    listed(const { list("decide") }, const { at("w_decide") });
    listed(const { list("wish") }, const { at("w_wish") });
    if reads_like_prose {
        listed(const { list("find") }, const { at("w_find") });
        listed(const { list("fail") }, const { at("w_fail") });
        listed(const { list("done") }, const { at("w_done") });
        listed(const { list("hedge") }, const { at("w_hedge") });
    } else {
        listed(const { list("fail") }, const { at("o_fail") });
    }
    let segments = length(block);
    let place = if block.speaker == Speaker::Record { 0 } else { place };
    if segments > 3 && place + 3 > segments {
        sink.add(const { at("last2") }, 1.0);
        if block.speaker == Speaker::Tool {
            sink.add(const { at("last2_out") }, 1.0);
        }
    }
    if block.speaker == Speaker::Tool && block.kind == CallKind::Agent && place + 3 >= segments {
        sink.add(const { at("last_agent") }, 1.0);
    }
    sink.add(const { at("deep") }, log(1 + place) / 3.0);
    sink.add(const { at("codey") }, segment.codeness);
    sink.add(const { at("prose") }, segment.prose * 2.0);
    let length = log((segment.end - segment.start) as usize + 10) - 4.3;
    sink.add(const { at("len") }, length);
    sink.add(const { at("len2") }, length * length);
}

fn log(number: usize) -> f32 {
    libm::logf(number as f32)
}

/// The length of a block in segments, as used by the length features. A record counts as 1: its segments were selected
/// from a whole part.
pub(super) fn length(block: &Block) -> usize {
    match block.speaker {
        Speaker::Record => 1,
        _ => block.segments.len(),
    }
}

/// The bit of a word list.
const fn list(name: &str) -> u8 {
    1 << look::place(&LISTS, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_has_one_name_and_its_place() {
        assert_eq!(&FEATURES[LOOK..LOOK + LOOKS.len()], LOOKS);
        let mut names = FEATURES.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FEATURES.len());
    }
}
