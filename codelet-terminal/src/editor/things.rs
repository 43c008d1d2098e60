//! Where a cursor may stand: not inside what is one thing to whoever sees it, such as an emoji or what stands for a paste.

use unicode_segmentation::UnicodeSegmentation as _;

/// The places in a text where a cursor may stand, counted in characters, from 0 to the text's end.
#[derive(Debug)]
pub(super) struct Things(Vec<usize>);

impl Things {
    /// Of a text in which each of these marks is one thing.
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

    /// The last place at this one or before it.
    pub fn before(&self, at: usize) -> usize {
        let behind = self.0.partition_point(|&place| place <= at);
        self.0[..behind].last().copied().unwrap_or(0)
    }

    /// The first place at this one or behind it.
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
