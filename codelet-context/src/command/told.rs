//! What is told of a line that ran: not the files that it writes before it runs something.

use super::Script;
use crate::testrun::Line;

/// What is told of a line.
pub(super) struct Told {
    /// How it is written, where it is not the whole line.
    pub text: Option<Box<str>>,
    /// The number of the first command that is told of.
    pub first: usize,
}

impl Told {
    /// Of `cat <<EOF > a.py`, a text, and `python a.py` it is `python a.py`, and the whole line without the text where a
    /// check stands before it.
    pub fn of(line: &str, script: &Script) -> Told {
        let written = script
            .commands
            .iter()
            .filter(|command| !command.simple.outputs.is_empty());
        let texts = written
            .flat_map(|command| &command.simple.documents)
            .filter(|document| !document.text.is_empty());
        let (mut shown, mut shown_to, mut last) = (String::new(), 0, None);
        for document in texts {
            shown.push_str(&line[shown_to..document.start]);
            shown.push_str("…\n");
            shown_to = document.start + document.text.len();
            last = Some(document);
        }
        let Some(last) = last else {
            return Told { text: None, first: 0 };
        };
        let behind = line[last.end..].trim();
        if !behind.is_empty() && Line::of(&script.commands[..last.next]).checks.is_empty() {
            return Told {
                text: Some(behind.into()),
                first: last.next,
            };
        }
        shown.push_str(&line[shown_to..]);
        Told {
            text: Some(shown.into()),
            first: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::command::CommandLine;
    use proptest::prelude::*;

    #[test]
    fn of_a_line_that_writes_a_file_first_what_ran_is_told() {
        for (line, expected) in [
            ("cat > a.py <<EOF\nx\nEOF\npytest a.py", "pytest a.py"),
            (
                "pytest && cat > a.py <<EOF\nx\nEOF\nls",
                "pytest && cat > a.py <<EOF\n…\nEOF\nls",
            ),
            ("cat > a <<A\nx\nA\ncat > b <<B\ny\nB\nmake test", "make test"),
            ("cat > a <<A\nx\nA\n", "cat > a <<A\n…\nA\n"),
            ("python - <<EOF\nprint(1)\nEOF", "python - <<EOF\nprint(1)\nEOF"),
            ("pytest -k 'a << b'", "pytest -k 'a << b'"),
            // The text stands in the line before, too.
            ("pytest x\ncat > a <<A\nx\nA\nls", "pytest x\ncat > a <<A\n…\nA\nls"),
        ] {
            assert_eq!(CommandLine::new(line).told(), expected, "{line}");
        }
    }

    #[test]
    fn what_a_line_was_an_attempt_at_is_what_is_told_of_it() {
        let is_probe = |line: &str| CommandLine::new(line).attempt().is_probe;
        assert!(is_probe("tee a.py <<EOF > b.py\nx\nEOF\ncat a.py"));
        assert!(!is_probe("tee a.py <<EOF > b.py\nx\nEOF\npython a.py"));
        assert!(!is_probe("tee a.py <<EOF\nx\nEOF\ncat a.py"));
    }

    proptest! {
        #[test]
        fn no_line_is_too_odd(line in r#"(cat |<<A|<<-B|<<''|\nA\n|\n\tB\n|\n\n|> a|x|é|cargo test| && |;|\n|\(|\)|'){0,24}"#) {
            let read = CommandLine::new(&line);
            let told = read.told();
            prop_assert!(told == line || told.contains('…') || line.ends_with(told) || line.trim_end().ends_with(told));
        }
    }
}
