//! Edits of files with hidden values. The model has seen a mask instead of each value; the value behind a mask is kept
//! or restored, and never overwritten by the mask.

use crate::replace::{self, Refusal, Replaced};
use crate::secrets::{MASK, Secrets};
use memchr::memmem;
use std::collections::HashMap;
use std::ops::Range;

/// The text behind a mask: a hidden value, or `None` if the file contains the mask itself.
type Value<'a> = Option<&'a str>;

/// A file that contains hidden values.
pub(crate) struct Masked<'a> {
    bytes: &'a [u8],
    /// The values and their positions.
    values: Vec<(Range<usize>, &'a str)>,
}

/// Reasons why nothing was replaced.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Unmade {
    /// The text is missing, or occurs several times.
    Refused(Refusal),
    /// The value behind the mask in this line of the new text is not known.
    Unknown(usize),
}

impl<'a> Masked<'a> {
    /// Returns the file if it contains a hidden value.
    pub(crate) fn of(bytes: &'a [u8], secrets: &'a Secrets) -> Option<Self> {
        let mut values: Vec<(Range<usize>, &str)> = Vec::new();
        for value in secrets.values() {
            let found = memmem::find_iter(bytes, value).map(|at| at..at + value.len());
            let is_free = |range: &Range<usize>| {
                let next = values.partition_point(|(other, _)| other.end <= range.start);
                values.get(next).is_none_or(|(other, _)| range.end <= other.start)
            };
            let found: Vec<_> = found.filter(is_free).map(|range| (range, value)).collect();
            values.extend(found);
            values.sort_by_key(|(range, _)| range.start);
        }
        (!values.is_empty()).then_some(Masked { bytes, values })
    }

    /// The file as it is shown.
    pub(crate) fn shown(&self) -> Vec<u8> {
        self.with(MASK)
    }

    fn with(&self, mask: &str) -> Vec<u8> {
        let mut shown = Vec::with_capacity(self.bytes.len());
        let mut from = 0;
        for (range, _) in &self.values {
            shown.extend_from_slice(&self.bytes[from..range.start]);
            shown.extend_from_slice(mask.as_bytes());
            from = range.end;
        }
        shown.extend_from_slice(&self.bytes[from..]);
        shown
    }

    /// Restores the values in a new text for the whole file.
    ///
    /// # Errors
    /// The line, from 1, with an ambiguous mask: no line of the file is shown like this, or several with different
    /// values are.
    pub(crate) fn restore(&self, new: &str) -> Result<String, usize> {
        let Some(sign) = self.unused(1, &[new]).pop() else {
            return Err(1);
        };
        let marked = self.with(sign.encode_utf8(&mut [0; 4]));
        let marked = String::from_utf8_lossy(&marked);
        let mut values = self.values.iter().map(|(_, value)| *value);
        let lines: Vec<(String, Vec<Value<'_>>)> = marked
            .lines()
            .map(|line| {
                let shown = line.replace(sign, MASK);
                let stood = masks(line, sign).map(|is_hidden| if is_hidden { values.next() } else { None });
                let stood = stood.collect();
                (shown, stood)
            })
            .collect();
        let paired = paired(&lines, new)?;
        Ok(filled(new, &paired))
    }

    /// Works like [`replace::replace`] with texts that contain masks as shown. Text inside a hidden value does not
    /// count as an occurrence.
    ///
    /// # Errors
    /// If nothing can be replaced.
    pub(crate) fn replace(&self, old: &str, new: &str, all: bool) -> Result<Replaced, Unmade> {
        let [sign, open] = self.unused(2, &[old, new])[..] else {
            return Err(Unmade::Refused(Refusal::NotFound));
        };
        let signed = |text: &str, sign: char| text.replace(MASK, sign.encode_utf8(&mut [0; 4]));
        let marked = self.with(sign.encode_utf8(&mut [0; 4]));
        let done = replace::replace(&marked, &signed(old, sign), &signed(new, open), all);
        let (done, is_literal) = match done {
            // The file may contain the mask literally.
            Err(Refusal::NotFound) if old.contains(MASK) => (replace::replace(&marked, old, new, all), true),
            done => (done, false),
        };
        let done = done.map_err(Unmade::Refused)?;
        let at: Vec<usize> = find(&marked, sign);
        let within = |range: &Range<usize>| -> Vec<&str> {
            let from = at.partition_point(|&at| at < range.start);
            let to = at.partition_point(|&at| at < range.end);
            self.values[from..to].iter().map(|(_, value)| *value).collect()
        };
        let mut put: Vec<Value<'_>> = Vec::new();
        for range in done.changed.iter().filter(|_| !is_literal) {
            put.extend(renewed(old, &within(range), new).map_err(Unmade::Unknown)?);
        }
        let is_kept = |at: &usize| {
            let next = done.changed.partition_point(|range| range.end <= *at);
            done.changed.get(next).is_none_or(|range| *at < range.start)
        };
        let kept = at.iter().zip(&self.values).filter(|(at, _)| is_kept(at));
        let mut kept = kept.map(|(_, (_, value))| Some(*value));
        let mut put = put.into_iter();
        // Pairs each sign in the result with the text behind it.
        let mut signs: Vec<(usize, Value<'_>)> = Vec::new();
        signs.extend(
            find(&done.bytes, sign)
                .into_iter()
                .map(|at| (at, kept.next().flatten())),
        );
        signs.extend(find(&done.bytes, open).into_iter().map(|at| (at, put.next().flatten())));
        signs.sort_by_key(|(at, _)| *at);
        let spread = |at: usize| {
            let before = signs.partition_point(|(sign, _)| *sign < at);
            at + before * MASK.len() - before * sign.len_utf8()
        };
        Ok(Replaced {
            places: done.places.iter().map(|p| spread(p.start)..spread(p.end)).collect(),
            bytes: spelled(&done.bytes, &signs, |value| value.unwrap_or(MASK)),
            shown: Some(spelled(&done.bytes, &signs, |_| MASK)),
            changed: done.changed,
        })
    }

    /// Unused characters of equal length in bytes.
    fn unused(&self, count: usize, texts: &[&str]) -> Vec<char> {
        // Private-use characters are rare; a file that uses all of these cannot be edited.
        let private = '\u{f0000}'..='\u{f00ff}';
        let is_unused =
            |sign: &char| !texts.iter().any(|text| text.contains(*sign)) && find(self.bytes, *sign).is_empty();
        private.filter(is_unused).take(count).collect()
    }
}

fn find(bytes: &[u8], sign: char) -> Vec<usize> {
    memmem::find_iter(bytes, sign.encode_utf8(&mut [0; 4])).collect()
}

/// Replaces each sign in the text.
fn spelled<'a>(bytes: &[u8], signs: &[(usize, Value<'a>)], spell: impl Fn(Value<'a>) -> &'a str) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for (at, value) in signs {
        text.extend_from_slice(&bytes[from..*at]);
        text.extend_from_slice(spell(*value).as_bytes());
        // All signs have four bytes.
        from = at + 4;
    }
    text.extend_from_slice(&bytes[from..]);
    text
}

/// The masks in a line whose hidden values are replaced by a sign: true for a hidden value, false for a literal mask.
fn masks(line: &str, sign: char) -> impl Iterator<Item = bool> {
    let hidden = line.match_indices(sign).map(|(at, _)| (at, true));
    let literal = line.match_indices(MASK).map(|(at, _)| (at, false));
    let mut all: Vec<(usize, bool)> = hidden.chain(literal).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, is_hidden)| is_hidden)
}

/// The values behind the masks of a new text that replaces an old one with these values.
fn renewed<'a>(old: &str, values: &[&'a str], new: &str) -> Result<Vec<Value<'a>>, usize> {
    // A single mask before and after is the same value, whatever surrounds it.
    if let ([value], 1) = (values, new.matches(MASK).count()) {
        return Ok(vec![Some(value)]);
    }
    let mut values = values.iter().map(|value| Some(*value));
    let lines: Vec<(String, Vec<Value<'a>>)> = old
        .lines()
        .map(|line| {
            (
                line.to_owned(),
                values.by_ref().take(line.matches(MASK).count()).collect(),
            )
        })
        .collect();
    paired(&lines, new)
}

/// The values behind the masks of a new text: those of the line that was shown the same. If several such lines differ,
/// their number and order must match. The error is the line whose values are unknown.
fn paired<'a>(old: &[(String, Vec<Value<'a>>)], new: &str) -> Result<Vec<Value<'a>>, usize> {
    let mut known: HashMap<&str, Vec<&[Value<'a>]>> = HashMap::new();
    for (line, values) in old.iter().filter(|(_, values)| !values.is_empty()) {
        known.entry(line).or_default().push(values);
    }
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for line in new.lines().filter(|line| line.contains(MASK)) {
        *wanted.entry(line).or_default() += 1;
    }
    let mut used: HashMap<&str, usize> = HashMap::new();
    let mut paired = Vec::new();
    for (number, line) in new.lines().enumerate().filter(|(_, line)| line.contains(MASK)) {
        let Some(lines) = known.get(line) else {
            return Err(number + 1);
        };
        let is_one = lines.iter().all(|values| values == &lines[0]);
        let next = used.entry(line).or_default();
        paired.extend_from_slice(match (is_one, wanted[line] == lines.len()) {
            (true, _) => lines[0],
            (false, true) => lines[*next],
            (false, false) => return Err(number + 1),
        });
        *next += 1;
    }
    Ok(paired)
}

/// Replaces the masks in a text by values.
fn filled(text: &str, values: &[Value<'_>]) -> String {
    let mut pieces = text.split(MASK);
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for (piece, value) in pieces.zip(values) {
        filled.push_str(value.unwrap_or(MASK));
        filled.push_str(piece);
    }
    filled
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    const ONE: &str = "sk-one-0123456789";
    const TWO: &str = "sk-two-9876543210";

    fn secrets() -> Secrets {
        Secrets::new(&[ONE.to_owned(), TWO.to_owned()])
    }

    fn file(shown: &str) -> String {
        shown.replace("<1>", ONE).replace("<2>", TWO)
    }

    /// The contents of a file after it is overwritten with a new text.
    fn written(old: &str, new: &str) -> Result<String, usize> {
        let (old, secrets) = (file(old), secrets());
        let masked = Masked::of(old.as_bytes(), &secrets).unwrap();
        let new = masked.restore(new)?;
        Ok(new.replace(ONE, "<1>").replace(TWO, "<2>"))
    }

    fn edited(file_shown: &str, old: &str, new: &str, all: bool) -> Result<(String, String), Unmade> {
        let (bytes, secrets) = (file(file_shown), secrets());
        let masked = Masked::of(bytes.as_bytes(), &secrets).unwrap();
        let done = masked.replace(old, new, all)?;
        let text = String::from_utf8(done.bytes).unwrap();
        let shown = String::from_utf8(done.shown.unwrap()).unwrap();
        assert_eq!(secrets.hide(&text), shown);
        let places: Vec<&str> = done.places.iter().map(|place| &shown[place.clone()]).collect();
        Ok((text.replace(ONE, "<1>").replace(TWO, "<2>"), places.join("|")))
    }

    #[test]
    fn a_mask_in_a_line_that_was_shown_alike_becomes_its_value_again() {
        let old = "A=<1>\nPORT=1\nB=<2>\n";
        assert_eq!(
            written(old, "B=[secret]\nPORT=2\nA=[secret]"),
            Ok("B=<2>\nPORT=2\nA=<1>".to_owned())
        );
        assert_eq!(written("A=<1>\r\n", "A=[secret]\nC\n"), Ok("A=<1>\nC\n".to_owned()));
        assert_eq!(
            written("[<1>, <2>]\n", "[[secret], [secret]]\n"),
            Ok("[<1>, <2>]\n".to_owned())
        );
        // A line that is omitted is deleted.
        assert_eq!(written(old, "PORT=1\n"), Ok("PORT=1\n".to_owned()));
        // Duplicates with the same value are not ambiguous; and a mask in the file is only a mask.
        assert_eq!(written("a <1>\na <1>\n", "a [secret]\n"), Ok("a <1>\n".to_owned()));
        assert_eq!(
            written("a <1>\nb [secret]\n", "b [secret]\n"),
            Ok("b [secret]\n".to_owned())
        );
        assert_eq!(
            written("key <1>\nkey <2>\n", "key [secret]\nnew\nkey [secret]\n"),
            Ok("key <1>\nnew\nkey <2>\n".to_owned())
        );
    }

    #[test]
    fn a_mask_that_may_stand_for_this_or_that_is_refused_with_its_line() {
        assert_eq!(written("A=<1>\n", "# keys\nB=[secret]\n"), Err(2));
        assert_eq!(written("key <1>\nkey <2>\n", "key [secret]\n"), Err(1));
        assert_eq!(written("key <1>\nkey [secret]\n", "x\nkey [secret]\n"), Err(2));
    }

    #[test]
    fn an_edit_over_a_hidden_value_keeps_it() {
        let (text, places) = edited(
            "A=<1>\nPORT=1\nB=<2>\n",
            "A=[secret]\nPORT=1",
            "A=[secret]\nPORT=2",
            false,
        )
        .unwrap();
        assert_eq!(text, "A=<1>\nPORT=2\nB=<2>\n");
        assert!(places.ends_with("PORT=2"), "{places}");
        for (file, old, new, all, expected) in [
            (
                "A=<1>\r\nP\r\n",
                "A=[secret]\nP",
                "A=[secret]\nQ\nR",
                false,
                "A=<1>\r\nQ\r\nR\r\n",
            ),
            (
                "A=<1>\nB=<2>\n",
                "A=[secret]\nB=[secret]",
                "B=[secret]\nA=[secret]",
                false,
                "B=<2>\nA=<1>\n",
            ),
            // A new name for the same value.
            (
                "x\nA=<1>\n",
                "A=[secret]",
                "export KEY='[secret]'",
                false,
                "x\nexport KEY='<1>'\n",
            ),
            ("a <1>;\nb <2>;\n", "[secret];", "[secret],", true, "a <1>,\nb <2>,\n"),
            ("A=<1>\n", "A=[secret]", "A=", false, "A=\n"),
            // Text inside a value is no occurrence, and a mask in the file is only a mask.
            ("n=0123456789\nA=<1>\n", "0123456789", "7", false, "n=7\nA=<1>\n"),
            ("secret\nA=<1>\n", "secret", "open", true, "open\nA=<1>\n"),
            (
                "x [secret]\nA=<1>\n",
                "x [secret]",
                "y [secret]",
                false,
                "y [secret]\nA=<1>\n",
            ),
        ] {
            assert_eq!(edited(file, old, new, all).unwrap().0, expected, "{old}");
        }
    }

    #[test]
    fn an_edit_with_a_mask_that_stands_for_nothing_known_is_refused() {
        assert_eq!(
            edited("A=<1>\nRUN\n", "RUN", "RUN\nB=[secret]", false),
            Err(Unmade::Unknown(2))
        );
        assert_eq!(
            edited("A=<1>\n", "A=[secret]", "[secret] [secret]", false),
            Err(Unmade::Unknown(1))
        );
        assert_eq!(
            edited("A=<1>\n", "sk-one", "x", false),
            Err(Unmade::Refused(Refusal::NotFound))
        );
        let several = Unmade::Refused(Refusal::Several(vec![1, 2]));
        assert_eq!(edited("a=<1>\nb=<2>\n", "=[secret]", "=", false), Err(several));
    }

    proptest! {
        /// Writing a file as it was shown restores it, and changes to other lines lose no value.
        #[test]
        fn a_file_goes_there_and_back(
            lines in prop::collection::vec("[ab]{0,2}(<1>|<2>|\\[secret\\])?[ab]{0,2}", 1..8),
            from in 0usize..8,
        ) {
            let text = lines.join("\n");
            let (whole, secrets) = (file(&text), secrets());
            let Some(masked) = Masked::of(whole.as_bytes(), &secrets) else { return Ok(()) };
            let shown = String::from_utf8(masked.shown()).unwrap();
            prop_assert_eq!(&*secrets.hide(&whole), &shown);
            prop_assert_eq!(masked.restore(&shown), Ok(whole.clone()));
            let part = shown.lines().skip(from).collect::<Vec<_>>().join("\n");
            if !part.is_empty() {
                let added = format!("{part}\nadded");
                if let Ok(done) = masked.replace(&part, &added, false) {
                    let text = String::from_utf8(done.bytes).unwrap();
                    prop_assert_eq!(text.matches(ONE).count(), whole.matches(ONE).count());
                    prop_assert_eq!(text.replacen("\nadded", "", 1), whole);
                }
            }
        }

        #[test]
        fn any_bytes_are_masked(bytes: Vec<u8>, old in ".{1,4}", new in ".{0,4}", all: bool) {
            let bytes = [ONE.as_bytes(), &bytes].concat();
            let secrets = secrets();
            let masked = Masked::of(&bytes, &secrets).unwrap();
            let _ = masked.restore(&new);
            if let Ok(done) = masked.replace(&old, &new, all) {
                prop_assert!(memmem::find(&done.bytes, ONE.as_bytes()).is_some());
            }
        }
    }
}
