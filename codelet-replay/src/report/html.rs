//! Builds HTML: elements are always closed, and text is always escaped.

use codelet_text::short::clip;
use codelet_text::unseen::hides;
use std::fmt::{self, Write};

/// The maximum length of a recording's text on the page, in characters.
pub const LONGEST: usize = 160;

/// A page or a part of one.
#[derive(Default, Debug)]
pub struct Html {
    text: String,
}

impl Html {
    /// Writes an element with the content that `inside` writes.
    pub fn element(&mut self, tag: &str, attributes: &[(&str, &str)], inside: impl FnOnce(&mut Html)) {
        self.open(tag, attributes);
        inside(self);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
    }

    /// Writes an element with a text.
    pub fn line(&mut self, tag: &str, attributes: &[(&str, &str)], text: &str) {
        self.element(tag, attributes, |html| html.text(text));
    }

    /// Writes an element without an end tag, such as `meta`; or an empty one in an image.
    pub fn open(&mut self, tag: &str, attributes: &[(&str, &str)]) {
        self.text.push('<');
        self.text.push_str(tag);
        for (name, value) in attributes {
            self.text.push(' ');
            self.text.push_str(name);
            self.text.push_str("=\"");
            escape(value, &mut self.text);
            self.text.push('"');
        }
        self.text.push('>');
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.text);
    }

    /// Writes a text from a recording: bounded, and isolated so that it cannot reverse the text around it.
    pub fn foreign(&mut self, text: &str) {
        self.line("bdi", &[], &clip(text, LONGEST));
    }

    /// Writes trusted markup that is not text: a script, a style, JSON from [`json`].
    pub fn raw(&mut self, own: &str) {
        self.text.push_str(own);
    }

    /// Writes trusted markup with figures, or with texts that need no escaping, in it.
    pub fn own(&mut self, own: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(own);
    }

    /// Returns the HTML.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Appends a text, escaped for elements and quoted attributes.
fn escape(text: &str, into: &mut String) {
    for c in text.chars() {
        match c {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            '\n' | '\t' => into.push(' '),
            c if is_harmful(c) => into.push('\u{fffd}'),
            c => into.push(c),
        }
    }
}

/// Returns JSON for a `script` element that holds data: nothing in it can end the element.
pub fn json(value: &serde_json::Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c if is_harmful(c) => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
    text
}

/// Returns whether a character is a control character or invisible: with these, a name could imitate another.
pub fn is_harmful(c: char) -> bool {
    c.is_control() || hides(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_cannot_become_markup() {
        let mut html = Html::default();
        html.line(
            "p",
            &[("title", "\"><script>")],
            "</p><script>alert('x')</script>&amp;]]>\u{202e}\0\u{200b}",
        );
        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;]]&gt;\u{fffd}\u{fffd}\u{fffd}</p>"
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(clip("日本語", 3), "日本語");
        assert_eq!(clip("日本語x", 3), "日本…");
        assert_eq!(clip("", 0), "");
    }

    proptest! {
        #[test]
        fn json_says_the_same_and_ends_no_element(text in "(?s).{0,60}") {
            let value = serde_json::json!({ "a": text, "b": "</script><!--" });
            let told = json(&value);
            prop_assert!(!told.contains(['<', '>', '&']));
            let back: serde_json::Value = serde_json::from_str(&told).unwrap();
            let plain = |text: &str| -> String {
                text.chars().map(|c| if is_harmful(c) || c == '\u{fffd}' { ' ' } else { c }).collect()
            };
            prop_assert_eq!(plain(back["a"].as_str().unwrap()), plain(&text));
        }

        #[test]
        fn nothing_that_was_escaped_holds_markup(text in "(?s).{0,80}") {
            let mut html = Html::default();
            html.text(&text);
            let told = html.finish();
            prop_assert!(!told.contains(['<', '>', '"', '\'']));
            prop_assert!(!told.chars().any(is_harmful));
        }
    }
}
