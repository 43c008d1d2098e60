//! Valid cursor positions: not inside a unit such as an emoji or the placeholder of a paste.

use unicode_segmentation::UnicodeSegmentation as _;

/// The valid cursor positions in a text, in characters, from 0 to the text's end.
#[derive(Debug)]
pub(super) struct Things(Vec<usize>);

impl Things {
    /// The positions of a text in which each of these marks is a unit.
    pub fn of<'a>(text: &str, marks: impl Iterator<Item = &'a str>) -> Self {
        let mut places = vec![0];
        let mut at = 0;
        for cluster in text.graphemes(true) {
            at += cluster.chars().count();
            places.push(at);
        }
        for mark in marks {
            let length = mark.chars().count();
            for (byte, _) in text.match_indices(mark) {
                let from = text[..byte].chars().count();
                places.retain(|&place| place <= from || place >= from + length);
            }
        }
        Things(places)
    }

    /// The last position at or before this one.
    pub fn before(&self, at: usize) -> usize {
        let behind = self.0.partition_point(|&place| place <= at);
        self.0[..behind].last().copied().unwrap_or(0)
    }

    /// The first position at or after this one.
    pub fn behind(&self, at: usize) -> usize {
        let from = self.0.partition_point(|&place| place < at);
        self.0.get(from).or(self.0.last()).copied().unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_a_flag_a_letter_with_marks_and_a_paste_are_one_thing_each() {
        let text = "a👨‍👩‍👧🇩🇪e\u{323}\u{301}[pasted 9 lines]\nb";
        let things = Things::of(text, ["[pasted 9 lines]"].into_iter());
        assert_eq!(things.0, [0, 1, 6, 8, 11, 27, 28, 29]);
        assert_eq!((things.before(3), things.behind(3)), (1, 6));
        assert_eq!((things.before(6), things.behind(6)), (6, 6));
        assert_eq!((things.before(20), things.behind(20)), (11, 27));
        assert_eq!((things.before(90), things.behind(90)), (29, 29));
    }
}
